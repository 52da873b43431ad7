"""The player we recommend: it asks for no constant that one cannot know live."""

from __future__ import annotations

from typing import Any

from tarry.checks import as_positive, as_whole
from tarry.game import Game
from tarry.learners import DWFTBL, DWFTRL, Adaptive, Anytime, inverse_time
from tarry.players.values import Values, for_values, grounds, spread_on
from tarry.schedulers import Morris, VarOpt
from tarry.tracking import Player

INFORMATION = ("clairvoyant", "semi-clairvoyant", "non-clairvoyant")
FEEDBACK = ("gradient", "value")


class Recommended(Player):
    """A player that says why it was chosen and whether a bound is proved for it."""

    __slots__ = ()

    @property
    def is_proved(self) -> bool:
        """Whether somebody has proved a regret bound."""
        return not isinstance(self.learner, Adaptive)

    @property
    def reason(self) -> str:
        """Which rate was chosen, and its standing."""
        if isinstance(self.learner, DWFTBL):
            return grounds(self.learner, self.epochs)
        if isinstance(self.learner, Adaptive):
            return "adaptive rate from the gradients seen; no regret bound is proved"
        if isinstance(self.learner.rate, Anytime):
            return "anytime rate from the observed backlog; proved by this project (docs/theory.md, Theorem 4b)"
        return "rate 1/(λt) for strongly convex losses; proved by this project (docs/theory.md, Theorem 4c)"

    def __repr__(self) -> str:
        return f"Recommended({type(self.scheduler).__name__}, {self.reason})"


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
    capacity: int | None = None,
    horizon: int | None = None,
) -> Player:
    """The player with the best rate that needs no unknowable constant.

    ``target`` is a domain, or a game, whose domain, constants and rules are read but never its delays.

    *Gradients*: VarOpt (Morris where preemption is forbidden). Strong convexity given: 1/(λt), proved. Convex with
    acknowledgements: the anytime rate, proved. Convex without: the adaptive rate, not proved. Morris needs
    ``backlog``, a guess of the backlog, and the capacity.

    *Values*: need ``value_bound``, ``gradient_bound`` and the capacity (None: no limit). With acknowledgements and
    preemption the backlog is guessed, and the player restarted when the guess is outgrown; otherwise, or to spare
    the restarts, give ``backlog``, a bound on it. All proved (VarOpt up to horizons of e^(C−2); a known ``horizon``
    beyond that replaces it by a coin).

    >>> from tarry.domains import Ball
    >>> recommended(Ball(3), strong_convexity=0.5)
    Recommended(VarOpt, rate 1/(λt) for strongly convex losses; proved by this project (docs/theory.md, Theorem 4c))
    """
    if isinstance(target, Game):
        game = target
        values = game.feedback == "value"
        return recommended(
            game.domain,
            feedback=game.feedback,
            information=game.information,
            preemption=game.preemption,
            strong_convexity=float(game.losses.strong_convexity) or None,
            gradient_bound=float(game.losses.gradient_bound(game.domain)),
            value_bound=float(game.losses.value_bound(game.domain)) if values else None,
            backlog=backlog,
            capacity=game.capacity,
            horizon=game.horizon,
        )
    _check_choice(information, "information", INFORMATION)
    _check_choice(feedback, "feedback", FEEDBACK)
    if feedback == "value":
        bounds = spread_on(target, gradient_bound, value_bound)
        acknowledged = information != "non-clairvoyant"
        known = Values(target, acknowledged, preemption, strong_convexity, *bounds, backlog, capacity, horizon)
        return Recommended(*for_values(known))
    scheduler = VarOpt() if preemption else _morris(backlog, capacity)
    return Recommended(_learner(target, scheduler, information, strong_convexity, gradient_bound), scheduler)


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
    return DWFTRL(domain, rate=Anytime(domain.diameter, steepest, waiting=waiting))


def _morris(backlog: int | None, capacity: int | None) -> Morris:
    if backlog is None or capacity is None:
        raise ValueError(
            "without preemption the scheduler is Morris, which needs a guess of the backlog and the capacity: "
            "give backlog=… and capacity=…"
        )
    return Morris.for_backlog(as_whole(backlog, "backlog"), as_whole(capacity, "capacity", 1))
