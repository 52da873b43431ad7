"""The games and players of Table 1, and three controls that a line has to catch.

Rounds come in busy spells and quiet ones. In a busy spell feedback is S rounds late, in a quiet one it is there at
once; one straggler may wait for half the game. So d_tot, σ_max and d_max are moved apart: by how many spells there
are, by S, by the straggler. All losses are of one coordinate.

* ``convex``: |x − ½| in busy rounds and c|x + ½| in quiet ones, c so small that these are half as strong in all. The
  best action is ½. Who stands still pays in every round; who steps too far keeps jumping over ½; who hears of quiet
  rounds more often than of busy ones, and does not weigh, goes to −½.
* ``curved``: ½(x − a_t)², a_t = ¾, −¾, ¾, … in busy spells, one after the other, and 0, 1, 0, … in quiet rounds. The
  best action is ¼, the mean; the same three fail for the same reasons.
* ``signs``: a sign drawn for each S + 1 rounds, whose losses come when these are over. Nothing can be learnt.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial
from math import pow, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry import delays, losses, players
from tarry.domains import Ball
from tarry.game import Game
from tarry.game.hindsight import Comparator, losses_up_to
from tarry.learners import DFTBL, DOGD, DWFTBL, DWFTRL, OnePoint
from tarry.rates import Anytime, BanditRadius, BestOfBoth, Constant, Sequence, inverse_time
from tarry.schedulers import DropNewest, VarOpt
from tarry.tracking import Player, as_player

DOMAIN = Ball(1)
SLOTS = 4  # of the control that weighs nothing, where the player itself has no limit: σ_max ≥ 4C for it too
FAST, STILL = 30.0, 1e-9  # what controls multiply the rate by


class Setting(NamedTuple):
    """Give the numbers of a game: T, the delay S in busy spells, the share of busy rounds, and the capacity C."""

    horizon: int
    spell: int
    share: float = 0.5
    capacity: int | None = None
    straggler: bool = False


class Facts(NamedTuple):
    """Hold what rates are made of; ``harmonic`` is Σ_t (½ + σ_t)/t."""

    T: float
    d_tot: float
    sigma_max: float
    d_max: float
    C: float
    harmonic: float

    @property
    def crowding(self) -> float:
        """Return 1 + σ_max/C."""
        return 1.0 + self.sigma_max / self.C


def cycle_of(at: Setting) -> int:
    """Return the rounds of a busy spell and the quiet one after it."""
    return round(2 * at.spell / at.share)


def first_round(at: Setting, seed: int) -> int:
    """Return where in a cycle the game of a seed begins."""
    return int(np.random.default_rng(seed).integers(cycle_of(at)))


def layout(at: Setting, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Return of every round the delay, whether it is busy, and the number of its cycle, which begins at random."""
    cycle = cycle_of(at)
    shifted = np.arange(at.horizon) + first_round(at, seed)
    busy = shifted % cycle < 2 * at.spell
    late = np.where(busy, at.spell, 0)
    if at.straggler:
        late[0] = at.horizon // 2
    return np.minimum(late, np.arange(at.horizon)[::-1]), busy, shifted // cycle


def facts_of(at: Setting, game: str) -> Facts:
    """Return the quantities of a setting, from the game of seed 0."""
    room = np.inf if at.capacity is None else float(at.capacity)
    return _facts(at._replace(capacity=None), game)._replace(C=room)


@lru_cache(maxsize=256)
def _facts(at: Setting, game: str) -> Facts:
    waits = delays_of(at, game, 0)
    late = np.asarray(waits.values)
    backlog = waits.backlog()
    harmonic = float(np.sum((0.5 + backlog) / np.arange(1, at.horizon + 1)))
    return Facts(at.horizon, float(late.sum()), float(backlog.max()), float(late.max()), np.inf, harmonic)


def delays_of(at: Setting, game: str, seed: int) -> Any:
    if game == "signs":
        return delays.fixed(horizon=at.horizon, delay=at.spell)
    return delays.array(layout(at, seed)[0])


def losses_of(at: Setting, game: str, seed: int) -> Any:
    """Return the losses of a seed, a window of those that all its seeds share: cycles begin at random."""
    if game == "signs":
        return losses.Linear(losses.Drawn(1, block=at.spell + 1, finish="sphere", rng=seed))
    start, sign = first_round(at, seed), 1.0 - 2.0 * (seed % 2)
    whole = _all_losses(at._replace(capacity=None, straggler=False), game, start % 2, sign)
    rows = whole.rows.values[start : start + at.horizon]
    return type(whole).make(type(whole.rows).make(rows), *whole[1:])


@lru_cache(maxsize=32)
def _all_losses(at: Setting, game: str, parity: int, sign: float) -> Any:
    """Return losses from the first round of a cycle on, for every start of this parity."""
    cycle = cycle_of(at)
    rounds = np.arange(at.horizon + cycle)
    busy = rounds % cycle < 2 * at.spell
    if game == "curved":
        targets = np.where(busy, 0.75 - 1.5 * (rounds // cycle % 2), (rounds + parity) % 2)
        return losses.Quadratic(sign * targets[:, None])
    strength = np.where(busy, 1.0, 0.5 * at.share / (1.0 - at.share))
    return losses.Absolute(strength[:, None], sign * strength * np.where(busy, 0.5, -0.5))


def best_of(at: Setting, seed: int, made: Any) -> tuple[NDArray[np.int64], Comparator] | None:
    """Return the best fixed action of convex losses after the last round, None where it is not ±½.

    Below ½ busy rounds pull up, quiet ones down: where the former are stronger in all, ½ is the minimum. A general
    search takes a dozen passes over all rounds.
    """
    busy = layout(at, seed)[1]
    if busy.sum() < 0.5 * at.share / (1.0 - at.share) * (~busy).sum():
        return None
    rounds, point = np.array([at.horizon], np.int64), np.array([0.5 - seed % 2])
    return rounds, Comparator(point, losses_up_to(made, point, rounds), 0.0)


_found: dict[tuple[Setting, str, int], dict[str, Any]] = {}  # of games that were played


class Column(NamedTuple):
    """Hold a column of one row of the table: its player, and the rate that is claimed of it.

    ``information`` and ``feedback`` are the game's; ``rate`` gives the claimed growth of a game's facts, ``ceiling``
    the bound with its constant that is proved for this very player, where there is one.
    """

    row: str
    name: str
    game: str
    feedback: str
    make: Callable[[Game], Any]  # a player, or a recommendation of one
    words: str
    rate: Callable[[Facts], float]
    ceiling: Callable[[Game], float] | None = None
    information: str = "semi-clairvoyant"

    def play_game(self, at: Setting, seed: int, game: str = "") -> Game:
        """Return the game of a seed."""
        kind = game or self.game
        made = losses_of(at, kind, seed), delays_of(at, kind, seed)
        rules: dict[str, Any] = {"feedback": self.feedback, "capacity": at.capacity, "information": self.information}
        drawn = Game(DOMAIN, *made, **rules)
        # The same losses meet the player, its controls and other columns: the best fixed action is found once.
        key = at._replace(capacity=None), kind, seed
        if key not in _found:
            _found[key] = {"best_action": drawn.best_action}
            if kind == "convex":
                drawn.best_action.found = best_of(at, seed, drawn.losses)
        vars(drawn).update(_found[key])
        return drawn


@lru_cache(maxsize=256)
def bound_of(column: Column, at: Setting, game: str = "") -> float:
    """Return what is proved of a column's own player in a setting, from the game of seed 0; infinite for values."""
    return np.inf if column.ceiling is None else column.ceiling(column.play_game(at, 0, game))


CONVEX, CURVED = "OCO, convex", "OCO, strongly convex"
BANDIT, BANDIT_CURVED = "BCO, convex", "BCO, strongly convex"
OURS, PRINTED, FREE = "the paper, calibrated", "the paper, as printed", "nothing known"
TUNING = "optimised"  # the printed scheduler has the same orders, and constants that hide them at these sizes


def _bounds(game: Game) -> dict[str, Any]:
    value = float(game.losses.value_bound(DOMAIN))
    return {"gradient_bound": float(game.gradient_bound), "value_bound": value}


def _sizes(game: Game) -> dict[str, Any]:
    return {"horizon": game.horizon, "total_delay": game.delays.total_delay}


def _quanrud(game: Game) -> Player:
    return Player(DOGD.tuned(DOMAIN, float(game.gradient_bound), **_sizes(game)))


def _qiu(game: Game) -> Player:
    return Player(DWFTRL(DOMAIN, BestOfBoth(1.0, float(game.gradient_bound), DOMAIN.diameter)))


def _wan(game: Game) -> Player:
    return Player(DFTBL.tuned(DOMAIN, **_bounds(game), horizon=game.horizon, max_delay=game.delays.max_delay))


def _wan_curved(game: Game) -> Player:
    return Player(DFTBL.strongly_convex(DOMAIN, 1.0, **_bounds(game), horizon=game.horizon))


def _ryabchenko(game: Game) -> Player:
    return Player(OnePoint.ryabchenko(DOMAIN, **_bounds(game), **_sizes(game)))


def _ryabchenko_curved(game: Game) -> Player:
    known = _bounds(game)
    radius = BanditRadius(1.0, known["value_bound"] / known["gradient_bound"], 1.0, curved=True)
    return Player(DWFTBL(DOMAIN, inverse_time(1.0), radius))


def _free(game: Game) -> Player:
    return Player(DWFTRL(DOMAIN, Anytime(DOMAIN.diameter, float(game.gradient_bound))), VarOpt())


def _free_curved(game: Game) -> Player:
    return Player(DWFTRL(DOMAIN, inverse_time(1.0)), VarOpt())


def _root(f: Facts) -> float:
    return sqrt(f.T + 2.0 * f.d_tot)


def _harmonic(f: Facts) -> float:
    return f.harmonic


# Rates from values have terms of different powers, which are added up with the constants of docs/methods.md (at
# k = G = R = r = 1 and M = 1.5) or, of this work, of docs/theory.md: 4 and 17 in front of T^(3/4) and T^(2/3).
def _wan_rate(f: Facts) -> float:
    return sqrt(2.0 * f.T * (5.5 * sqrt(f.T) + 2.0 * f.d_max)) + 3.3 * pow(f.T, 0.75)


def _ryabchenko_rate(f: Facts) -> float:
    return sqrt(6.4 * pow(f.T, 1.5) + 3.0 * f.d_tot) + 2.5 * pow(f.T, 0.75)


def _values_rate(f: Facts) -> float:
    return sqrt(f.T * f.sigma_max) + 4.0 * pow(f.T, 0.75) * pow(1.0 + f.sigma_max / f.C, 0.25)


def _curved_values_rate(f: Facts) -> float:
    return f.sigma_max + 17.0 * pow(f.T, 2 / 3) * pow(1.0 + f.sigma_max / f.C, 1 / 3)


# What is proved of each player of gradients, λ = 1: docs/theory.md, Theorem 1 (b) to (d), (A) and (C); of DOGD
# docs/methods.md. Calibrated players refuse one round at most, in the mean, which costs GD, or 4G²/λ.
def _quanrud_bound(game: Game) -> float:
    return _reach(game) * sqrt(game.horizon + 2.0 * game.delays.total_delay)


def _free_bound(game: Game) -> float:
    return 1.5 * _quanrud_bound(game)


def _calibrated_bound(game: Game) -> float:
    """Return GD√(Σ E[w_t²] + 2d_tot) + GD; the player's rate is D over that root times G."""
    learner = players.convex(game, tuning=TUNING).learner
    return DOMAIN.diameter**2 / float(learner.rate.value) + _reach(game)


def _free_curved_bound(game: Game) -> float:
    backlog, t = game.delays.backlog(), np.arange(1.0, game.horizon + 1.0)
    return float(game.gradient_bound) ** 2 * float(np.sum((0.5 + backlog) / t))


def _calibrated_curved_bound(game: Game) -> float:
    """Return (G²/λ)(Σ (½/p + σ_t)/max(1, t − 1) + 4)."""
    coin = players.strongly_convex(game, tuning=TUNING).scheduler
    before = np.maximum(1.0, np.arange(game.horizon))
    late = float(np.sum((0.5 / float(coin.probability) + game.delays.backlog()) / before))
    return float(game.gradient_bound) ** 2 * (late + 4.0)


def _qiu_bound(game: Game) -> float:
    backlog, t, steepest = game.delays.backlog(), np.arange(1.0, game.horizon + 1.0), float(game.gradient_bound)
    slow = steepest**2 * float(np.sum(backlog[1:] / t[:-1]))
    root = _reach(game) * sqrt(2.0 * game.delays.total_delay)
    return 2.0 * min(slow, root) + 0.5 * steepest**2 * float(np.sum(1.0 / t))


def _reach(game: Game) -> float:
    return float(game.gradient_bound) * DOMAIN.diameter


ROOT = ("√d_tot + √T", _root)
RECONSTRUCTED = ("after wan2024, our reconstruction", "after ryabchenko2026, our reconstruction")

COLUMNS = [
    Column(CONVEX, "after quanrud2015, our constants", "convex", "gradient", _quanrud, *ROOT, _quanrud_bound),
    Column(
        *(CONVEX, OURS, "convex", "gradient", partial(players.convex, tuning=TUNING)),
        *(*ROOT, _calibrated_bound),
    ),
    Column(CONVEX, FREE, "convex", "gradient", _free, *ROOT, _free_bound, information="non-clairvoyant"),
    Column(
        *(CURVED, "after qiu2025, our form", "curved", "gradient", _qiu),
        *("min{Σ σ_t/t, √d_tot} + ln T", _harmonic, _qiu_bound),
    ),
    Column(
        *(CURVED, OURS, "curved", "gradient", partial(players.strongly_convex, tuning=TUNING)),
        *("(σ_max + 1) ln T", _harmonic, _calibrated_curved_bound),
    ),
    Column(
        *(CURVED, FREE, "curved", "gradient", _free_curved, "Σ (½ + σ_t)/t", _harmonic, _free_curved_bound),
        information="non-clairvoyant",
    ),
    Column(BANDIT, RECONSTRUCTED[0], "convex", "value", _wan, "√(T d_max) + T^(3/4)", _wan_rate),
    Column(BANDIT, RECONSTRUCTED[1], "convex", "value", _ryabchenko, "√d_tot + T^(3/4)", _ryabchenko_rate),
    Column(
        *(BANDIT, OURS, "convex", "value", partial(players.bandit_convex, tuning=TUNING)),
        *("√(T σ_max) + T^(3/4) (1 + σ_max/C)^(1/4)", _values_rate),
    ),
    Column(
        *(BANDIT, PRINTED, "convex", "value", players.bandit_convex),
        *("√(T σ_max) + T^(3/4) (1 + σ_max/C)^(1/4)", _values_rate),
    ),
    Column(BANDIT_CURVED, RECONSTRUCTED[0], "curved", "value", _wan_curved, "d_max + T^(2/3)", _curved_values_rate),
    Column(
        *(BANDIT_CURVED, RECONSTRUCTED[1], "curved", "value", _ryabchenko_curved, "σ_max + T^(2/3)"),
        rate=_curved_values_rate,
    ),
    Column(
        *(BANDIT_CURVED, OURS, "curved", "value", partial(players.bandit_strongly_convex, tuning=TUNING)),
        *("σ_max + T^(2/3) (1 + σ_max/C)^(1/3)", _curved_values_rate),
    ),
]

PLAYER = "player"
CONTROLS = ("never moves", "rate × 30", "weighs nothing")


@cache  # until the next seeds are played
def cast(column: Column, at: Setting, seed: int, game: str = "") -> tuple[Game, Player]:
    """Return the game of a seed and the column's player for it; controls are made from both."""
    drawn = column.play_game(at, seed, game)
    return drawn, as_player(column.make(drawn))


def entrant(player: Player, who: str) -> Player:
    """Return the player, or a control of it."""
    if who == "weighs nothing":
        return Player(player.learner, DropNewest())
    if who == PLAYER:
        return player
    return Player(scaled(player.learner, STILL if who == "never moves" else FAST), player.scheduler)


def terms(column: Column, at: Setting, who: str) -> tuple[Column, Setting]:
    """Return under what rules somebody plays: who weighs nothing has slots, and is told of what it lost."""
    if who != "weighs nothing":
        return column, at
    return column._replace(information="semi-clairvoyant"), at._replace(capacity=at.capacity or SLOTS)


def scaled(member: Any, factor: float) -> Any:
    """Return a learner with its rate multiplied by a factor, or a rate that is."""
    fields = member._asdict()
    if "base" in fields:
        fields["base"] = scaled(member.base, factor)
    elif "rate" in fields:
        fields["rate"] = scaled(member.rate, factor)
    elif isinstance(member, Constant):
        fields["value"] *= factor
    elif isinstance(member, Sequence):
        fields["values"] = fields["values"] * factor
    elif isinstance(member, BestOfBoth):  # 1/η = λt + β, and β solves a quadratic whose last term is ``waiting``
        fields |= {"strong_convexity": member.strong_convexity / factor, "waiting": member.waiting / factor**2}
    else:
        fields["scale"] *= factor
    return type(member).make(*fields.values())
