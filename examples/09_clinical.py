"""Deaths are reported at once, survival after a year: the one-year mortality as each policy estimates it.

With so few patients weights have a price, too: see the last column, and `python -m studies clinical`.
The study stands beside the library: run this from the root of a checkout, as `python -m examples.09_clinical`.
"""

import logging

from studies.cases import clinical_case
from studies.measure import measure

logging.getLogger("tarry").setLevel(logging.ERROR)
case = clinical_case()
print(case.stream.facts)
print(f"true one-year mortality {case.stream.mean:.1f} %; {case.capacity} slots")
for policy in case.policies:
    if policy.name in ("unlimited", "VarOpt", "Bernoulli (paper)", "drop newest", "drop oldest", "time out"):
        found = measure(case.stream, policy, case.capacity, seeds=50)
        spread = f"± {found.believed.deviation:4.1f}" if policy.is_random else "      "
        print(f"{policy.name:18} {found.believed.mean:5.1f} % {spread}, regret {found.progressive.mean:5,.0f} %²")
