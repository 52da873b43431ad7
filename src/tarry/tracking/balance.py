"""The best health check there is: weights that arrived plus weights still held equal the rounds played.

It holds on every path for VarOpt, up to rounding, and for nobody else here.
"""

from __future__ import annotations

from math import isnan, log2, nan

from tarry.errors import BrokenInvariant
from tarry.schedulers.base import held
from tarry.tracking.player import Player, State
from tarry.tracking.tally import FORFEITED, WEIGHT


def balance(player: Player, state: State, t: int) -> float:
    """Arrived, forfeited and held weight per round; NaN for schedulers without the identity."""
    holding = float(held(player.scheduler, state.scheduler))
    if holding < 0 or t == 0:
        return nan
    return (float(state.tally.sums[WEIGHT] + state.tally.sums[FORFEITED]) + holding) / t


def check_balance(player: Player, state: State, t: int) -> None:
    """Raise BrokenInvariant where the identity should hold and does not."""
    found = balance(player, state, t)
    if isnan(found) or abs(found - 1.0) <= 1e-9 * max(1.0, log2(t)):
        return
    raise BrokenInvariant(
        f"after round {t} the weights that arrived and are held sum to {found * t}, not {t}: "
        "the state is corrupted, or this is a defect worth reporting"
    )
