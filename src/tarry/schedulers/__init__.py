"""Schedulers: which rounds are tracked, and what an arrival weighs."""

from collections.abc import Callable
from typing import Any

from tarry.schedulers.coins import Batching, Morris, Thinning
from tarry.schedulers.naive import Always, DropNewest, DropOldest, RandomEvict, Reservoir, Skipping, Timeout
from tarry.schedulers.priority import Priority
from tarry.schedulers.proxy import Proxy
from tarry.schedulers.survival import Bernoulli, Coin, DoublingBernoulli, Pareto
from tarry.schedulers.varopt import VarOpt

# Weights of mean 1 given room, then weights of 1 or nothing.
__all__ = ["Batching", "Bernoulli", "Coin", "DoublingBernoulli", "Morris", "Pareto"]
__all__ += ["Priority", "Proxy", "Thinning", "VarOpt"]
__all__ += ["Always", "DropNewest", "DropOldest", "RandomEvict", "Reservoir", "Skipping", "Timeout"]

# What a sweep file or a store may name.
MEMBERS: dict[str, Callable[..., Any]] = {name: globals()[name] for name in __all__}
