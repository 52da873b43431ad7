"""Recorded draws in place of random ones: how a run is audited or a worked case replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tarry.learners.base import RecordedDirections
from tarry.schedulers.base import RecordedLosers, RecordedProxies, RecordedUniforms
from tarry.tracking import Draws, Player, keyed_draws


@dataclass(frozen=True)
class Recorded:
    """Draws to use instead of the keyed ones; at most one of the first three.

    ``uniforms``: one number in (0, 1] per round, for any scheduler. ``proxy_delays``: −1 (decline),
    a whole number, or inf, for proxy-delay schedulers. ``lost``: the round lost in each round, or 0,
    for VarOpt. ``directions``: one unit vector per round, for bandit learners; for learners over arms the
    vertex to play.
    """

    uniforms: ArrayLike | None = None
    proxy_delays: ArrayLike | None = None
    lost: ArrayLike | None = None
    directions: ArrayLike | None = None


def draws_for(seed: int, recorded: Recorded | None, player: Player, horizon: int) -> Draws:
    """Return the player's draws, keyed by the seed or recorded; raise ValueError for records that do not fit."""
    draws = keyed_draws(seed)
    if recorded is None:
        return draws
    _check_kinds(recorded, player)
    dimension = player.learner.dimension
    schedule: Any = draws.schedule
    directions: Any = draws.directions
    if recorded.uniforms is not None:
        uniforms = _per_round(recorded.uniforms, "uniforms", horizon)
        if np.any((uniforms <= 0) | (uniforms > 1)):
            raise ValueError("recorded uniforms must lie in (0, 1]")
        schedule = RecordedUniforms(uniforms)
    if recorded.proxy_delays is not None:
        schedule = RecordedProxies(_per_round(recorded.proxy_delays, "proxy_delays", horizon))
    if recorded.lost is not None:
        schedule = RecordedLosers(_per_round(recorded.lost, "lost", horizon).astype(np.int64))
    if recorded.directions is not None:
        vectors = np.ascontiguousarray(recorded.directions, dtype=np.float64)
        if vectors.shape != (horizon, dimension):
            raise ValueError(f"directions need shape {(horizon, dimension)}, got {vectors.shape}")
        directions = RecordedDirections(vectors)
    return Draws(schedule, directions)


def _check_kinds(recorded: Recorded, player: Player) -> None:
    given = [n for n in ("uniforms", "proxy_delays", "lost") if getattr(recorded, n) is not None]
    if len(given) > 1:
        raise ValueError(f"record one kind of scheduling draw, got {' and '.join(given)}")
    name = type(player.scheduler).__name__
    if recorded.proxy_delays is not None and "proxy_delays" not in player.scheduler.recorded_draws:
        raise ValueError(f"{name} draws no proxy delays: record uniforms for it")
    if recorded.lost is not None and "lost" not in player.scheduler.recorded_draws:
        raise ValueError(f"{name} loses nobody by draw: record uniforms for it, or use VarOpt")


def _per_round(values: ArrayLike, name: str, horizon: int) -> np.ndarray:
    listed = np.ascontiguousarray(values, dtype=np.float64)
    if listed.shape != (horizon,):
        raise ValueError(f"{name} need one entry for each of {horizon} rounds, got shape {listed.shape}")
    return listed
