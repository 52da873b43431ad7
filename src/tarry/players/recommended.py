"""The player we recommend: it asks for no constant that one cannot know live.

For gradients the rate follows what is known of the losses. For values (bandit feedback), where restarting is allowed,
nothing about delays need be known: the backlog is guessed and the guess doubled. Elsewhere, or if one is given, a bound
on the backlog tunes radii for good. Without a limit on the tracking set weights are 1, and radii need to know nothing.

Radii are tuned to 1 + σ_max/C, not to the level that is proved for the scheduler's moments, which is larger by a
factor κ: bounds grow by κ at most (docs/theory.md, after row 24, also for what was measured).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tarry import theory
from tarry.checks import as_int, as_positive
from tarry.errors import ArgumentError
from tarry.game import Game
from tarry.learners import DWFTBL, DWFTRL, Adaptive
from tarry.rates import Anytime, BanditRadius, BanditRate, inverse_time
from tarry.schedulers import Always, Bernoulli, Morris, Priority, VarOpt
from tarry.tracking import Doubling, Player

INFORMATION = ("clairvoyant", "semi-clairvoyant", "non-clairvoyant")
FEEDBACK = ("gradient", "value")
Room = int | None | Literal["unknown"]

SAFETY = 8.0  # slots per round that waits, in the mean: at one slot few rounds then find it taken
SATURATION = 1e-3  # the share of rounds that may find no room
SATURATED = "sat at most T/1000 while the backlog keeps to its bound"


@dataclass(frozen=True, repr=False)
class Recommendation:
    """A player, why it was chosen, and whether a regret bound is proved under the conditions that ``reason`` states.

    ``simulate`` and ``Session`` take it for its player.
    """

    player: Player
    reason: str
    is_proved: bool

    @property
    def learner(self) -> Any:
        """The player's learner."""
        return self.player.learner

    @property
    def scheduler(self) -> Any:
        """The player's scheduler."""
        return self.player.scheduler

    @property
    def epochs(self) -> Any:
        """When the player is restarted."""
        return self.player.epochs

    def __repr__(self) -> str:
        return f"Recommendation({type(self.player.scheduler).__name__}, {self.reason})"


def recommended(
    target: Any,
    *,
    feedback: str = "gradient",
    information: str = "non-clairvoyant",
    preemption: bool = True,
    strong_convexity: float | None = None,
    gradient_bound: float | None = None,
    value_bound: float | None = None,
    backlog: int | None = None,
    capacity: Room = "unknown",
) -> Recommendation:
    """Return the player with the best rate that needs no unknowable constant, and on what grounds.

    ``target`` is a domain, or a game, whose domain, constants and rules are read but never its delays. ``capacity`` is
    the number of slots, None for no limit.

    *Schedulers*: VarOpt; Priority at 2 slots; without preemption Morris, which needs ``backlog``, a guess of it, and
    the capacity. At 1 slot nothing is proved; no limit, no scheduling.

    *Gradients*. Strong convexity given: 1/(λt), proved. Convex with acknowledgements: the anytime rate, proved. Convex
    without: the adaptive rate, not proved. Without ``capacity`` the proof is for 3 slots and more.

    *Values*: need ``value_bound``, ``gradient_bound`` and ``capacity``. With acknowledgements and preemption the
    backlog is guessed, and the player restarted when the guess is outgrown; otherwise, or to spare the restarts, give
    ``backlog``, a bound on it. Without a limit it is asked for only for convex losses without acknowledgements. What
    is proved holds up to a factor κ, which ``reason`` states.

    >>> from tarry.domains import Ball
    >>> recommended(Ball(3), strong_convexity=0.5).reason.partition("; ")[2]
    'proved by this project for capacities of at least 3 (docs/theory.md, Theorems 4c and 6)'
    """
    if isinstance(target, Game):
        given = {"feedback": feedback, "information": information, "preemption": preemption, "capacity": capacity}
        _check_rules(target, given)
        constants = {"strong_convexity": strong_convexity, "gradient_bound": gradient_bound, "value_bound": value_bound}
        return _for_game(target, {name: value for name, value in constants.items() if value is not None}, backlog)
    _check_choice(information, "information", INFORMATION)
    _check_choice(feedback, "feedback", FEEDBACK)
    slots, guess = as_room(capacity), None if backlog is None else as_int(backlog, "backlog")
    if feedback == "gradient":
        scheduler = choose_scheduler(slots, guess, preemption=preemption)
        learner = _learner(target, scheduler, information, strong_convexity, gradient_bound)
        return _grounded(Player(learner, scheduler), is_crowded(slots, guess))
    steepest, spread = spread_on(target, gradient_bound, value_bound)
    if slots == "unknown":
        raise ValueError("bandit feedback needs the capacity to choose its radius: give capacity=…, None for no limit")
    known = Values(
        domain=target,
        acknowledged=information != "non-clairvoyant",
        preemption=preemption,
        strong_convexity=strong_convexity,
        gradient_bound=steepest,
        spread=spread,
        backlog=guess,
        capacity=slots,
    )
    return _grounded(Player(*for_values(known)), is_crowded(slots, guess))


def _grounded(player: Player, is_crowded: bool) -> Recommendation:
    """Return the player with the grounds it is recommended on; where the set is crowded, nothing is proved."""
    chosen, proof = _grounds(player)
    if is_crowded:
        return Recommendation(player, f"{chosen}; no regret bound is proved at a capacity of 1", False)
    return Recommendation(player, f"{chosen}; {proof or 'no regret bound is proved'}", bool(proof))


def _grounds(player: Player) -> tuple[str, str]:
    """Return which rate was chosen, and what is proved of it, if anything."""
    learner, scheduler = player.learner, player.scheduler
    if isinstance(learner, DWFTBL):
        chosen, row = tuning_of(learner, player.epochs)
        return chosen, f"proved (docs/theory.md, row {row}){factor_of(learner, scheduler)}"
    if isinstance(learner, Adaptive):
        return "adaptive rate from the gradients seen", ""
    if isinstance(learner.rate, Anytime):
        return "anytime rate from the observed backlog", standing(scheduler, curved=False)
    return "rate 1/(λt) for strongly convex losses", standing(scheduler, curved=True)


def _for_game(game: Game, given: dict[str, float], backlog: int | None) -> Recommendation:
    """Recommend by the game's own rules, and its constants where none is given."""
    constants = {
        "strong_convexity": float(game.losses.strong_convexity) or None,
        "gradient_bound": game.gradient_bound,
        "value_bound": float(game.losses.value_bound(game.domain)) if game.feedback == "value" else None,
    }
    return recommended(
        game.domain,
        feedback=game.feedback,
        information=game.information,
        preemption=game.preemption,
        backlog=backlog,
        capacity=game.capacity,
        **constants | given,
    )


def _check_rules(game: Game, given: dict[str, Any]) -> None:
    """Raise ValueError for rules that contradict the game's; defaults contradict nothing."""
    defaults = {"feedback": "gradient", "information": "non-clairvoyant", "preemption": True, "capacity": "unknown"}
    for name, value in given.items():
        if value not in (defaults[name], getattr(game, name)):
            raise ValueError(f"the game has {name}={getattr(game, name)!r}, got {value!r}: leave it out")


def _check_choice(value: str, name: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ArgumentError(name, f"must be one of {', '.join(map(repr, choices))}", value)


def _learner(
    domain: Any, scheduler: Any, information: str, strong_convexity: float | None, gradient_bound: float | None
) -> Any:
    if strong_convexity is not None:
        return DWFTRL(domain, rate=inverse_time(strong_convexity))
    if gradient_bound is None:
        raise ValueError("convex losses need gradient_bound, a bound on the norm of gradients on the domain")
    steepest = as_positive(gradient_bound, "gradient_bound")
    if information == "non-clairvoyant":
        return Adaptive(domain, gradient_bound=steepest)
    waiting = 2.0 + scheduler.epsilon if isinstance(scheduler, Morris) else 2.0
    own = 1.0 / scheduler.probability if isinstance(scheduler, Bernoulli) else 1.0
    return DWFTRL(domain, rate=Anytime(domain.diameter, steepest, own=own, waiting=waiting))


def as_room(capacity: Room) -> Room:
    """Return a capacity, None for no limit, or "unknown"."""
    if capacity is None or capacity == "unknown":
        return capacity
    return as_int(capacity, 'capacity (None for no limit, "unknown" if gradients are told)', 1)


def choose_scheduler(capacity: Room, backlog: int | None, *, preemption: bool) -> Any:
    """Return VarOpt; Priority at two slots, where VarOpt's moments are not proved; without preemption Morris."""
    if capacity is None:
        return Always()
    if preemption:
        return Priority() if capacity == 2 else VarOpt()
    if backlog is None or capacity == "unknown":
        raise ValueError(
            "without preemption the scheduler is Morris, which needs a guess of the backlog and the capacity: "
            "give backlog=… and capacity=…"
        )
    if is_crowded(capacity, backlog):
        return Bernoulli(probability=1 / (SAFETY * (backlog + 1)))
    return Morris.for_backlog(backlog, int(capacity), saturation=SATURATION)


def is_crowded(capacity: Room, backlog: int | None) -> bool:
    """Return whether there is one slot, and rounds wait: nothing is proved then."""
    return capacity == 1 and backlog != 0


def standing(scheduler: Any, *, curved: bool) -> str:
    """Return what is proved of gradients with the anytime rate, or with 1/(λt) if ``curved``."""
    part = "c" if curved else "b"
    if isinstance(scheduler, VarOpt):
        return f"proved by this project for capacities of at least 3 (docs/theory.md, Theorems 4{part} and 6)"
    if isinstance(scheduler, Morris):
        row, more = (16, "(4G²/λ)") if curved else (6, "GD")
        return f"proved by this project, {more}·sat on top, {SATURATED} (docs/theory.md, Theorem 7, row {row})"
    if isinstance(scheduler, Always):
        return f"proved by this project for weights 1 (docs/theory.md, (A) and Theorem 4{part})"
    return f"proved by this project (docs/theory.md, Theorem 4{part})"


class Values(NamedTuple):
    """What is known of a game with values; None: no limit for ``capacity``, unknown for ``backlog``."""

    domain: Any
    acknowledged: bool
    preemption: bool
    strong_convexity: float | None
    gradient_bound: float
    spread: float
    backlog: int | None
    capacity: int | None

    @property
    def curved(self) -> bool:
        return self.strong_convexity is not None


def for_values(known: Values) -> tuple[Any, Any, Any]:
    """Return learner, scheduler and epochs for values."""
    scheduler = choose_scheduler(known.capacity, known.backlog or 0, preemption=known.preemption)
    if known.capacity is None and (known.acknowledged or known.curved):
        return _leveled(known, 1.0), scheduler, None
    if known.backlog is not None:
        return _bounded(known, known.backlog), scheduler, None
    if known.acknowledged and known.preemption and known.capacity is not None:
        # Below C/8 the paper's coin is 1 whatever the guess: smaller first guesses would only cost restarts.
        first = max(1, known.capacity // 8).bit_length() - 1
        return _paper(known, None), scheduler, Doubling("backlog", first=first)
    lacking = "preemption, for restarts empty the tracking set" if known.acknowledged else "acknowledgements"
    raise ValueError(
        "bandit feedback needs a bound on the backlog to choose its radius: give backlog=…; "
        f"guessing it and restarting when it is outgrown would need {lacking}"
    )


def spread_on(domain: Any, gradient_bound: float | None, value_bound: float | None) -> tuple[float, float]:
    """Return G and νk; raise ValueError where a constant is missing."""
    if gradient_bound is None:
        raise ValueError("bandit feedback needs gradient_bound, a bound on the norm of gradients on the domain")
    if value_bound is None:
        raise ValueError("bandit feedback needs value_bound, a bound on the size of losses on the domain")
    if not domain.inner_radius > 0:
        raise ValueError(
            f"bandit feedback needs a ball inside the domain, but {type(domain).__name__} has inner radius 0: "
            "use a full-dimensional domain (parametrise the simplex in its affine hull), or learners over arms: Exp3"
        )
    steepest, largest = as_positive(gradient_bound, "gradient_bound"), as_positive(value_bound, "value_bound")
    spread = theory.spread_of(
        value_bound=largest,
        gradient_bound=steepest,
        inner_radius=domain.inner_radius,
        dimension=domain.dimension,
    )
    return steepest, spread


def _bounded(known: Values, backlog: int) -> DWFTBL:
    """Theorem 5 (b) or (d); convex without acknowledgements, the rates of the paper's theorem."""
    if not (known.curved or known.acknowledged):
        return _paper(known, backlog)
    fits = known.capacity is None or backlog < known.capacity
    return _leveled(known, 1.0 if fits else 1.0 + backlog / (known.capacity or 1))


def _leveled(known: Values, level: float) -> DWFTBL:
    domain = known.domain
    rate = (
        BanditRate(domain.diameter, known.gradient_bound, known.spread, level)
        if known.strong_convexity is None
        else inverse_time(known.strong_convexity)
    )
    return DWFTBL(
        domain, rate=rate, smoothing=BanditRadius(domain.inner_radius, known.spread, level, curved=known.curved)
    )


def _paper(known: Values, backlog: int | None) -> DWFTBL:
    """The paper's rates and radii, at this backlog or, None, at a guess (rows 19 and 26 of docs/theory.md)."""
    domain, crowd = known.domain, (known.spread, known.capacity, backlog)
    rate = (
        BanditRate.for_backlog(domain.diameter, known.gradient_bound, *crowd)
        if known.strong_convexity is None
        else inverse_time(known.strong_convexity)
    )
    smoothing = BanditRadius.for_backlog(domain.inner_radius, *crowd, curved=known.curved)
    return DWFTBL(domain, rate=rate, smoothing=smoothing)


def tuning_of(learner: DWFTBL, epochs: Any) -> tuple[str, int]:
    """Return what rates and radii follow, and the row of docs/theory.md that is about them."""
    curved = not isinstance(learner.rate, BanditRate)
    if epochs.needs_preemption:
        return "radii for a guessed backlog, doubled when outgrown", 26 if curved else 19
    radii = "radii for weights of 1" if _fits(learner.smoothing) else "radii for a bounded backlog"
    if learner.rate.needs_acknowledgements:
        return f"anytime rate from the observed backlog, {radii}", 21
    return (f"rate 1/(λt), {radii}", 27) if curved else ("rate and radii for a bounded backlog", 18)


def factor_of(learner: DWFTBL, scheduler: Any) -> str:
    """Return by how much bounds grow because radii are tuned below what is proved of the scheduler's moments."""
    if _fits(learner.smoothing):
        return ""
    if isinstance(scheduler, VarOpt):
        return (
            ", times at most κ = e·T^(1/(C−2))·C/(C−3) for C ≥ 4, 1.5(e√T+1) for C = 3: up to horizons of e^(C−2) that "
            "is e²·C/(C−3), then it grows"
        )
    if isinstance(scheduler, Priority):
        return ", times at most κ = e√T + 1"
    return f", times at most κ = max{{1, εC}}, with sat on top, {SATURATED}" if isinstance(scheduler, Morris) else ""


def _fits(smoothing: Any) -> bool:
    """Return whether the tracking set cannot fill, so that every weight is 1."""
    return bool(0 < smoothing.level < 2)  # 1 + σ_max/C with σ_max < C; 0 is a level that is guessed
