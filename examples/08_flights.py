"""Real late labels: how late will this flight be? The later it is, the later its label.

The first 20 000 departures of 2013; `tarry case flights` plays the whole year and draws the pictures.
"""

import logging

from tarry.cases import flights_case, measure
from tarry.cases.policies import DROP_NEWEST, DROP_OLDEST, UNLIMITED, VAROPT

logging.getLogger("tarry").setLevel(logging.ERROR)
case = flights_case(first=20_000)
print(case.stream.facts)
print(f"true mean delay {case.stream.mean:.1f} min; {case.capacity} slots")
for policy in (UNLIMITED, VAROPT, DROP_NEWEST, DROP_OLDEST):
    found = measure(case.stream, policy, case.capacity, seeds=8)
    print(
        f"{policy.name:12} believes {found.believed.mean:4.1f} min, regret {found.progressive.mean:5.1f} min², "
        f"last model {found.last.mean:5.1f} min², {found.seen:4.0%} of labels, {found.memory:6,} bytes pending"
    )
