"""The player we recommend: it asks for no constant that one cannot know live.

Radii are tuned to 1 + σ_max/C, not to the level that is proved for the scheduler's moments, which is larger by a
factor κ: bounds grow by κ at most (docs/theory.md, after row 24, also for what was measured).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tarry import theory
from tarry.checks import as_choice, as_int, as_positive
from tarry.domains.base import Domain
from tarry.game import Game, WeightedGame
from tarry.game.problem import check_tracks
from tarry.learners import DWFTBL, DWFTRL, Adaptive
from tarry.rates import Anytime, BanditRadius, BanditRate, inverse_time
from tarry.schedulers import Always, Bernoulli, Morris, VarOpt
from tarry.tracking import Doubling, Player

INFORMATION = ("clairvoyant", "semi-clairvoyant", "non-clairvoyant")
FEEDBACK = ("gradient", "value")
# What rules of a game are left at where a game is given: they contradict nothing.
DEFAULTS = {"feedback": "gradient", "information": "non-clairvoyant", "preemption": True, "capacity": "unknown"}
Room = int | None | Literal["unknown"]

SAFETY = 8.0  # slots per round that waits, in the mean: at one slot few rounds then find it taken
SATURATION = 1e-3  # the share of rounds that may find no room
SATURATED = "sat at most T/1000 while the backlog keeps to its bound"

# What is proved of gradients, by scheduler; the part of the theorem, the factor of sat and the row follow the losses.
PROVED: dict[type, str] = {
    VarOpt: " at every capacity (docs/theory.md, Theorem 1{part})",
    Morris: ", {factor}·sat on top, " + SATURATED + " (docs/theory.md, Theorem 7, row {row})",
    Always: " for weights 1 (docs/theory.md, (A) and Theorem 4{part})",
}
ANY = " (docs/theory.md, Theorem 4{part})"
# By how much VarOpt's bounds from values grow because radii are tuned below what is proved of its moments.
FACTOR = ", times at most κ = e·T^(1/(C−2))·C/(C−3): up to horizons of e^(C−2) that is e²·C/(C−3), then it grows"


@dataclass(frozen=True, repr=False)
class Recommendation:
    """A player, why it was chosen, and whether a regret bound is proved under the conditions that ``reason`` states.

    ``simulate`` and ``Session`` take it for its player; ``warnings`` stand in a record's.
    """

    player: Player
    reason: str
    is_proved: bool
    warnings: tuple[str, ...] = ()

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
    target: Domain | Game,
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

    *Schedulers*: VarOpt; without preemption Morris, which needs ``backlog``, a guess of it, and the capacity, and of
    which nothing is proved at 1 slot; no limit, no scheduling.

    *Gradients*. Strong convexity given: 1/(λt), proved. Convex: the anytime rate, from the backlog or from VarOpt's
    held weight, proved at every capacity; without acknowledgements and preemption the adaptive rate, not proved.

    *Values*: need ``value_bound``, ``gradient_bound`` and ``capacity``. With acknowledgements and preemption the
    backlog is guessed, and the player restarted when the guess is outgrown; otherwise, or to spare the restarts, give
    ``backlog``, a bound on it. Without a limit it is asked for only for convex losses without acknowledgements. What
    is proved holds up to a factor κ, which ``reason`` states.

    >>> from tarry.domains import Ball
    >>> recommended(Ball(3), strong_convexity=0.5).reason.partition("; ")[2]
    'proved by this project at every capacity (docs/theory.md, Theorem 1c)'
    """
    if isinstance(target, WeightedGame):
        check_tracks(target)
    if isinstance(target, Game):
        if target.sizes is not None:
            raise ValueError(
                "nothing is recommended for rounds of several sizes, since gradients must be bounded by them: play "
                "DWFTRL(domain, rate=Anytime(domain.diameter, c)) where |g_t| ≤ c·b_t, or leave sizes out"
            )
        rules = {"feedback": feedback, "information": information, "preemption": preemption, "capacity": capacity}
        constants = {"strong_convexity": strong_convexity, "gradient_bound": gradient_bound, "value_bound": value_bound}
        return recommended(target.domain, backlog=backlog, **_read(target, rules, constants))
    as_choice(information, "information", INFORMATION)
    as_choice(feedback, "feedback", FEEDBACK)
    slots, guess = capacity, None if backlog is None else as_int(backlog, "backlog")
    if slots is not None and slots != "unknown":
        slots = as_int(slots, 'capacity (None for no limit, "unknown" if gradients are told)', 1)
    is_told = information != "non-clairvoyant"
    if feedback == "gradient":
        scheduler = choose_scheduler(slots, guess, preemption=preemption)
        learner, chosen, proof = _from_gradients(target, scheduler, is_told, strong_convexity, gradient_bound)
        player = Player(learner, scheduler)
    else:
        bounds = spread_on(target, gradient_bound, value_bound)
        if slots == "unknown":
            why = "bandit feedback needs the capacity to choose its radius"
            raise ValueError(f"{why}: give capacity=…, None for no limit")
        player, chosen, proof = _from_values(
            target, *bounds, strong_convexity, slots, guess, is_told=is_told, preemption=preemption
        )
    if _is_crowded(slots, guess) and (feedback == "value" or not preemption):
        return Recommendation(player, f"{chosen}; no regret bound is proved at a capacity of 1", False)
    empty = _emptiness(player.scheduler, slots, guess, feedback)
    if empty or not proof:  # a bound that is above every regret is not stated
        return Recommendation(player, f"{chosen}; no regret bound is proved{empty}", False)
    return Recommendation(player, f"{chosen}; {proof}", True)


def _emptiness(scheduler: Any, capacity: Room, backlog: int | None, feedback: str) -> str:
    """Return why the bound of this scheduler says nothing; an empty string where it does."""
    if not isinstance(capacity, int) or (backlog is not None and backlog < capacity):
        return ""  # every round is tracked, or nothing is known of the slots
    if isinstance(scheduler, Morris):
        return ": a share of all rounds may be refused"
    if feedback == "value" and capacity <= 6:
        return " at a capacity of at most 6: what is known of VarOpt's moments gives more than any regret"
    return ""


def _read(game: Game, rules: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the game's rules, and its constants where none is given; raise ValueError for rules that are not its."""
    for name, value in rules.items():
        if value not in (DEFAULTS[name], getattr(game, name)):
            raise ValueError(f"the game has {name}={getattr(game, name)!r}, got {value!r}: leave it out")
    told = {name: value for name, value in given.items() if value is not None}
    return {name: getattr(game, name) for name in rules} | constants_of(game) | told


def constants_of(game: Game) -> dict[str, Any]:
    """Return what a game's losses tell: curvature, and bounds on gradients and, where they are fed back, on values."""
    return {
        "strong_convexity": float(game.losses.strong_convexity) or None,  # 0 where losses are only convex
        "gradient_bound": game.gradient_bound,
        "value_bound": float(game.losses.value_bound(game.domain)) if game.feedback == "value" else None,
    }


def choose_scheduler(capacity: Room, backlog: int | None, *, preemption: bool) -> Any:
    """Return VarOpt; without preemption Morris, at one slot a coin."""
    if capacity is None:
        return Always()
    if preemption:
        return VarOpt()
    if backlog is None or capacity == "unknown":
        given = {"backlog=…": backlog is not None, "capacity=…": capacity != "unknown"}
        missing = " and ".join(name for name, is_given in given.items() if not is_given)
        raise ValueError(
            "without preemption rounds are admitted by chance, which needs a guess of the backlog and the capacity: "
            f"give {missing}"
        )
    if _is_crowded(capacity, backlog):
        return Bernoulli(probability=1 / (SAFETY * (backlog + 1)))
    return Morris.for_backlog(backlog, int(capacity), saturation=SATURATION)


def choose_for_join(capacity: int | None, backlog: int | None, *, preemption: bool, shards: int = 1) -> Any:
    """Return the scheduler of a join, or of each of its shards; without a limit VarOpt, which may get one later."""
    if capacity is None and preemption:
        return VarOpt()
    each = [None if number is None else number // shards for number in (capacity, backlog)]
    return choose_scheduler(*each, preemption=preemption)


def _is_crowded(capacity: Room, backlog: int | None) -> bool:
    """Return whether there is one slot, and rounds wait: nothing is proved then."""
    return capacity == 1 and backlog != 0


def _from_gradients(
    domain: Domain, scheduler: Any, is_told: bool, strong_convexity: float | None, gradient_bound: float | None
) -> tuple[Any, str, str]:
    """Return the learner, which rate was chosen, and what is proved of it, if anything."""
    proof = "proved by this project" + PROVED.get(type(scheduler), ANY)
    if strong_convexity is not None:
        learner: Any = DWFTRL(domain, rate=inverse_time(strong_convexity))
        return learner, "rate 1/(λt) for strongly convex losses", proof.format(part="c", factor="(4G²/λ)", row=16)
    if gradient_bound is None:
        raise ValueError("convex losses need gradient_bound, a bound on the norm of gradients on the domain")
    steepest = as_positive(gradient_bound, "gradient_bound")
    if not is_told and not scheduler.conserves_weight:
        return Adaptive(domain, gradient_bound=steepest), "adaptive rate from the gradients seen", ""
    # The rate makes up for the weights' second moments: 1 + εσ_t for Morris, 1/p for one coin.
    waiting = 2.0 + scheduler.epsilon if isinstance(scheduler, Morris) else 2.0
    own = 1.0 / scheduler.probability if isinstance(scheduler, Bernoulli) else 1.0
    learner = DWFTRL(domain, rate=Anytime(domain.diameter, steepest, own=own, waiting=waiting))
    source = "observed backlog" if is_told else "weight that is held"
    return learner, f"anytime rate from the {source}", proof.format(part="b", factor="GD", row=6)


def spread_on(domain: Domain, gradient_bound: float | None, value_bound: float | None) -> tuple[float, float]:
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
    radius, k = domain.inner_radius, domain.dimension
    return steepest, theory.spread_of(value_bound=largest, gradient_bound=steepest, inner_radius=radius, dimension=k)


def _from_values(
    domain: Domain,
    steepest: float,
    spread: float,
    strong_convexity: float | None,
    capacity: int | None,
    backlog: int | None,
    *,
    is_told: bool,
    preemption: bool,
) -> tuple[Player, str, str]:
    """Return the player, what rate and radii were chosen, and what is proved of them.

    Theorem 5 (b) or (d), or the paper's rate and radii: for convex losses without acknowledgements, and at a guess.
    """
    scheduler = choose_scheduler(capacity, backlog or 0, preemption=preemption)
    is_curved = strong_convexity is not None
    fits = capacity is None or (backlog is not None and backlog < capacity)  # then every weight is 1
    level, epochs = None, None
    if (is_told or is_curved) and (capacity is None or backlog is not None):
        level = 1.0 if fits or capacity is None or backlog is None else 1.0 + backlog / capacity
        rate_of, row = ("rate 1/(λt)", 27) if is_curved else ("anytime rate from the observed backlog", 21)
        chosen = f"{rate_of}, radii for {'weights of 1' if fits else 'a bounded backlog'}"
    elif backlog is not None:
        chosen, row = "rate and radii for a bounded backlog", 18
    elif is_told and preemption and capacity is not None:
        # Below C/8 the paper's coin is 1 whatever the guess: smaller first guesses would only cost restarts.
        epochs = Doubling("backlog", first=max(1, capacity // 8).bit_length() - 1)
        chosen, row = "radii for a guessed backlog, doubled when outgrown", 26 if is_curved else 19
    else:
        lacking = "preemption, for restarts empty the tracking set" if is_told else "acknowledgements"
        raise ValueError(
            "bandit feedback needs a bound on the backlog to choose its radius: give backlog=…; "
            f"guessing it and restarting when it is outgrown would need {lacking}"
        )
    width, crowd = domain.diameter, (spread, capacity, backlog)
    if level is not None:
        rate: Any = BanditRate(width, steepest, spread, level)
        smoothing = BanditRadius(domain.inner_radius, spread, level, curved=is_curved)
    else:
        rate = BanditRate.for_backlog(width, steepest, *crowd)
        smoothing = BanditRadius.for_backlog(domain.inner_radius, *crowd, curved=is_curved)
    if strong_convexity is not None:
        rate = inverse_time(strong_convexity)
    factor = FACTOR if isinstance(scheduler, VarOpt) and not fits else ""
    player = Player(DWFTBL(domain, rate=rate, smoothing=smoothing), scheduler, epochs)
    return player, chosen, f"proved (docs/theory.md, row {row}){factor}"
