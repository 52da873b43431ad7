"""Who is compared: every scheduler, made for a game, and the learners it plays with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tarry import learners, schedulers, theory
from tarry.game import Game
from tarry.tracking import Doubling, Player

SCHEDULERS: dict[str, Callable[[Game, int], Any]] = {
    "VarOpt": lambda game, slots: schedulers.VarOpt(),
    "Priority": lambda game, slots: schedulers.Priority(),
    "Morris": lambda game, slots: schedulers.Morris.for_backlog(game.delays.max_backlog, slots),
    "Thinning": lambda game, slots: schedulers.Thinning(),
    "Batching": lambda game, slots: schedulers.Batching(max_delay=int(game.delays.values.max())),
    "Bernoulli": lambda game, slots: schedulers.Bernoulli(max_backlog=game.delays.max_backlog),
    "Bernoulli, cal.": lambda game, slots: schedulers.Bernoulli.calibrated(game.delays.max_backlog, slots),
    "DoublingBernoulli": lambda game, slots: schedulers.DoublingBernoulli(),
    "Pareto": lambda game, slots: schedulers.Pareto(),
    "Pareto, cal.": lambda game, slots: schedulers.Pareto.calibrated(slots),
    "Coin": lambda game, slots: schedulers.Coin(),
    "DropNewest *": lambda game, slots: schedulers.DropNewest(),
    "DropOldest *": lambda game, slots: schedulers.DropOldest(),
    "RandomEvict *": lambda game, slots: schedulers.RandomEvict(),
    "Reservoir *": lambda game, slots: schedulers.Reservoir(),
    "Timeout *": lambda game, slots: schedulers.Timeout(slots - 1),  # the longest wait that never fills the set
}
UNLIMITED = "unlimited"


def paper_learner(game: Game) -> Any:
    """DW-FTRL with the paper's rate: (D/G)/√(d_tot + T), or 1/(λt) for strongly convex losses."""
    if game.losses.strong_convexity > 0:
        return learners.DWFTRL(game.domain, learners.inverse_time(game.losses.strong_convexity))
    rate = theory.convex_rate(total_delay=game.delays.total_delay, horizon=game.horizon, **scale_of(game))
    return learners.DWFTRL(game.domain, rate)


def scale_of(game: Game) -> dict[str, float]:
    """D and G."""
    return {"diameter": game.domain.diameter, "gradient_bound": game.losses.gradient_bound(game.domain)}


LEARNERS: dict[str, Callable[[Game], Any]] = {
    "VarOpt, Adaptive": lambda game: learners.Adaptive(game.domain, scale_of(game)["gradient_bound"]),
    "VarOpt, Anytime": lambda game: learners.DWFTRL(game.domain, learners.Anytime(**scale_of(game))),
}


def make_player(name: str, game: Game) -> Player:
    """The player of this name for a game: a scheduler with the paper's rate, or VarOpt with a learner of ours."""
    if name in LEARNERS:
        return Player(LEARNERS[name](game), schedulers.VarOpt())
    if game.capacity is None:
        return Player(paper_learner(game), schedulers.Always())
    made = SCHEDULERS[name](game, game.capacity)
    # Its guess of the backlog moves by restarts; every other scheduler here is left alone.
    epochs = Doubling("backlog") if isinstance(made, schedulers.DoublingBernoulli) else None
    return Player(paper_learner(game), made, epochs)


def allow(name: str, game: Game) -> Game:
    """The same game in the information model the scheduler needs: Coin must see delays."""
    return replace(game, information="clairvoyant") if name == "Coin" else game
