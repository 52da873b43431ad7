"""Schedulers: who is tracked, and what an arrival weighs.

The paper's: Pareto, Bernoulli, Coin, and Proxy with a curve of one's own. This project's own: VarOpt (the
default), Priority, Morris, Thinning. For delays with a known bound: Batching. Without a limit: Always. Naive and
biased, for comparison: DropNewest, DropOldest, Timeout, RandomEvict, Reservoir. For arms, biased by design: Skipping.
"""

from tarry.schedulers.always import Always
from tarry.schedulers.batching import Batching
from tarry.schedulers.bernoulli import Bernoulli
from tarry.schedulers.coin import Coin
from tarry.schedulers.drop_newest import DropNewest
from tarry.schedulers.drop_oldest import DropOldest
from tarry.schedulers.guessing import Guessing
from tarry.schedulers.morris import Morris
from tarry.schedulers.pareto import Pareto
from tarry.schedulers.priority import Priority
from tarry.schedulers.proxy import Proxy
from tarry.schedulers.random_evict import RandomEvict
from tarry.schedulers.reservoir import Reservoir
from tarry.schedulers.skipping import Skipping
from tarry.schedulers.thinning import Thinning
from tarry.schedulers.timeout import Timeout
from tarry.schedulers.varopt import VarOpt

__all__ = [
    "Always",
    "Batching",
    "Bernoulli",
    "Coin",
    "DropNewest",
    "DropOldest",
    "Guessing",
    "Morris",
    "Pareto",
    "Priority",
    "Proxy",
    "RandomEvict",
    "Reservoir",
    "Skipping",
    "Thinning",
    "Timeout",
    "VarOpt",
]
