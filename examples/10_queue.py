"""A few tickets stay open for ever, and few are open at once: slots follow the backlog, not the longest delay.

The study stands beside the library: run this from the root of a checkout, as `python -m examples.10_queue`.
"""

import logging

from studies.cases import queue_case
from studies.measure import believe

logging.getLogger("tarry").setLevel(logging.ERROR)
case = queue_case(first=20_000)
print(case.stream.facts)
print(f"true rate of refunds {case.stream.mean:.1f} %; {case.capacity} slots")
for policy in case.policies:
    if policy.name in ("VarOpt", "Bernoulli (calibrated)", "Bernoulli (by d_max)", "drop oldest", "time out"):
        rate = believe(case.stream, policy, case.capacity, seeds=24)
        print(f"{policy.name:22} {rate.mean:4.1f} %, one run ± {rate.deviation:.1f}")
