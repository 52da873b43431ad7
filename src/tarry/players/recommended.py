"""The player we recommend: it asks for no constant that one cannot know live."""

from __future__ import annotations

from typing import Any

from tarry.checks import as_int, as_positive
from tarry.game import Game
from tarry.learners import DWFTBL, DWFTRL, Adaptive
from tarry.players.scheduling import Room, as_room, choose_scheduler, is_crowded, standing
from tarry.players.values import Values, factor_of, for_values, spread_on, tuning_of
from tarry.rates import Anytime, inverse_time
from tarry.schedulers import Bernoulli, Morris
from tarry.tracking import Player

INFORMATION = ("clairvoyant", "semi-clairvoyant", "non-clairvoyant")
FEEDBACK = ("gradient", "value")


class Recommended(Player, init=False):
    """A player that says why it was chosen and whether a bound is proved for it."""

    __slots__ = ()

    @property
    def is_proved(self) -> bool:
        """Whether somebody has proved a regret bound, under the conditions that ``reason`` states."""
        return not isinstance(self.learner, Adaptive)

    @property
    def reason(self) -> str:
        """Which rate was chosen, its standing, and the conditions of what is proved."""
        chosen, proof = self._grounds()
        return f"{chosen}; {proof if self.is_proved else 'no regret bound is proved'}"

    def _grounds(self) -> tuple[str, str]:
        if isinstance(self.learner, DWFTBL):
            chosen, row = tuning_of(self.learner, self.epochs)
            return chosen, f"proved (docs/theory.md, row {row}){factor_of(self.learner, self.scheduler)}"
        if isinstance(self.learner, Adaptive):
            return "adaptive rate from the gradients seen", ""
        if isinstance(self.learner.rate, Anytime):
            return "anytime rate from the observed backlog", standing(self.scheduler, curved=False)
        return "rate 1/(λt) for strongly convex losses", standing(self.scheduler, curved=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self.scheduler).__name__}, {self.reason})"


class Tentative(Recommended, init=False):
    """A recommended player at a single slot, where nothing is proved of any scheduler."""

    __slots__ = ()

    @property
    def is_proved(self) -> bool:
        """No."""
        return False

    @property
    def reason(self) -> str:
        """Which rate was chosen, and why it has no standing."""
        return f"{self._grounds()[0]}; no regret bound is proved at a capacity of 1"


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
) -> Player:
    """The player with the best rate that needs no unknowable constant.

    ``target`` is a domain, or a game, whose domain, constants and rules are read but never its delays. ``capacity`` is
    the number of slots, None for no limit. ``reason`` and ``is_proved`` say on what grounds.

    *Schedulers*: VarOpt; Priority at 2 slots; without preemption Morris, which needs ``backlog``, a guess of it, and
    the capacity. At 1 slot nothing is proved (a :class:`Tentative` player); no limit, no scheduling.

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
    kind = Tentative if is_crowded(slots, guess) else Recommended
    if feedback == "gradient":
        scheduler = choose_scheduler(slots, guess, preemption=preemption)
        return kind(_learner(target, scheduler, information, strong_convexity, gradient_bound), scheduler)
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
    return kind(*for_values(known))


def _for_game(game: Game, given: dict[str, float], backlog: int | None) -> Player:
    """By the game's own rules, and its constants where none is given."""
    constants = {
        "strong_convexity": float(game.losses.strong_convexity) or None,
        "gradient_bound": float(game.losses.gradient_bound(game.domain)),
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
    """Refuse rules that contradict the game's; defaults contradict nothing."""
    defaults = {"feedback": "gradient", "information": "non-clairvoyant", "preemption": True, "capacity": "unknown"}
    for name, value in given.items():
        if value not in (defaults[name], getattr(game, name)):
            raise ValueError(f"the game has {name}={getattr(game, name)!r}, got {value!r}: leave it out")


def _check_choice(value: str, name: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


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
