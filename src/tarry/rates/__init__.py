"""Rates: learning rates and smoothing radii, fixed in advance or following the game. They see domains only.

A number, a sequence or a function of t stands for a rate wherever one is asked for.
"""

from typing import Any

from tarry.rates.backlog import Anytime, BanditRadius, BanditRate, BestOfBoth, DoublingRate
from tarry.rates.base import Constant, Power, Rate, inverse_time
from tarry.rates.base import Rule as Rule
from tarry.rates.base import Sequence as Sequence

# Of time alone; of the backlog; of the tracking set.
__all__ = ["Constant", "Power", "Rate", "inverse_time"]
__all__ += ["Anytime", "BanditRadius", "BanditRate", "BestOfBoth", "DoublingRate"]

# Arguments become a Rule or a Sequence by themselves; stores and sweep files name them.
MEMBERS: dict[str, Any] = {name: globals()[name] for name in (*__all__, "Rule", "Sequence") if name != "Rate"}
"""Every rate by the name that stores and sweep files use."""
