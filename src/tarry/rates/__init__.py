"""Rates: learning rates and smoothing radii, fixed in advance or following the game. They see domains only."""

from typing import Any

from tarry.rates.bandit import BanditRadius, BanditRate, from_first_version
from tarry.rates.base import Constant, Power, Rate, Rule, Sequence, inverse_time
from tarry.rates.convex import Anytime, BestOfBoth, DoublingRate
from tarry.rates.unreviewed import EnergyRadius, EnergyRate

MEMBERS: dict[str, Any] = {
    "Anytime": Anytime,
    "BanditRadius": BanditRadius,
    "BanditRate": BanditRate,
    "BestOfBoth": BestOfBoth,
    "Constant": Constant,
    "DoublingRate": DoublingRate,
    "EnergyRadius": EnergyRadius,
    "EnergyRate": EnergyRate,
    "Power": Power,
    "Rule": Rule,
    "Sequence": Sequence,
    "inverse_time": inverse_time,
}
"""Every rate by the name that stores and sweep files use."""

RENAMED = {
    "BacklogRadius": "BanditRadius.for_backlog",
    "BacklogRate": "BanditRate.for_backlog",
    "Doubled": "DoublingRate",
    "LevelRadius": "BanditRadius",
    "LevelRate": "BanditRate",
}
"""Names of the first version, and the constructor that takes the same arguments now."""

__all__ = [
    "Anytime",
    "BanditRadius",
    "BanditRate",
    "BestOfBoth",
    "Constant",
    "DoublingRate",
    "EnergyRadius",
    "EnergyRate",
    "Power",
    "Rate",
    "Rule",
    "Sequence",
    "from_first_version",
    "inverse_time",
]
