"""Real late labels: how late will this flight be? The later it is, the later its label.

The first 20 000 departures of 2013; `python -m studies flights` plays the whole year and draws the pictures.
The study stands beside the library: run this from the root of a checkout, as `python -m examples.08_flights`.
"""

import logging

from studies.cases import flights_case
from studies.measure import FOUR, measure

logging.getLogger("tarry").setLevel(logging.ERROR)
case = flights_case(first=20_000)
print(case.stream.facts)
print(f"true mean delay {case.stream.mean:.1f} min; {case.capacity} slots")
for policy in FOUR:
    found = measure(case.stream, policy, case.capacity, seeds=8)
    print(
        f"{policy.name:12} believes {found.believed.mean:4.1f} min, regret {found.progressive.mean:5.1f} min², "
        f"last model {found.last.mean:5.1f} min², {found.seen:4.0%} of labels, {found.memory:6,} bytes pending"
    )
