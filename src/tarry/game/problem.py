"""Games: what is fixed before play."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_bool, as_choice, as_int
from tarry.delays.base import Delays
from tarry.delays.base import Listed as Waits
from tarry.errors import ArgumentError
from tarry.game.hindsight import room_for_best
from tarry.game.rounds import INFORMATION
from tarry.kernel.parameters import equal
from tarry.losses.base import Listed as Rows
from tarry.losses.base import rows_react
from tarry.losses.supervised import Supervised
from tarry.outcomes import html_facts
from tarry.schedulers.naive import as_weights
from tarry.tracking.tally import LARGEST_SIZE, LEAST_SIZE

FEEDBACK = ("gradient", "value", "example")  # what a round may tell


class _Fixed:
    """Hold what both kinds of game have; what takes a pass over all rounds is found once, when asked for."""

    domain: Any
    losses: Any
    delays: Any
    feedback: str
    capacity: int | None
    information: str
    preemption: bool
    queries: int
    sizes: Any

    def __post_init__(self) -> None:
        domain, losses, delays = self.domain, self.losses, self.delays
        as_choice(self.feedback, "feedback", FEEDBACK)
        as_choice(self.information, "information", INFORMATION)
        object.__setattr__(self, "queries", as_int(self.queries, "queries", 1))
        object.__setattr__(self, "preemption", as_bool(self.preemption, "preemption"))
        if self.queries > 1 and self.feedback != "value":
            raise ValueError(
                f"queries={self.queries} are of values, this game gives {self.feedback} feedback: give feedback='value'"
            )
        check_capacity(self.capacity)
        object.__setattr__(self, "capacity", None if self.capacity is None else int(self.capacity))
        if not hasattr(domain, "linear_minimiser") or isinstance(domain, type):
            raise TypeError(f"domain must be made by tarry.domains, for example tarry.domains.Ball(3), got {domain!r}")
        if not hasattr(losses, "rows") or isinstance(losses, type):
            raise TypeError("losses must be made by tarry.losses, for example tarry.losses.Linear(rows)")
        if losses.dimension != domain.dimension:
            raise ValueError(f"losses have {losses.dimension} entries a round, the domain has {domain.dimension}")
        check_delays(delays)
        if delays.reacts and self.information == "clairvoyant":
            raise ValueError(
                f"{type(delays).__name__} decides a delay once its round was admitted or not, which no player knows "
                "before: use information='semi-clairvoyant' or 'non-clairvoyant'"
            )
        if losses.horizon is not None and losses.horizon != delays.horizon:
            raise ValueError(
                f"there are losses for {losses.horizon} rounds and delays for {delays.horizon}: "
                "give as many of one as of the other"
            )
        if self.feedback == "example" and not isinstance(losses, Supervised):
            raise ValueError(
                f"feedback='example' hands over features and label, which {type(losses).__name__} losses do not have: "
                "use LeastSquares, Logistic or another supervised loss, or feedback='gradient'"
            )
        if self.sizes is not None:
            object.__setattr__(self, "sizes", as_sizes(self.sizes, self.horizon, losses))

    def as_met(self, rows: np.ndarray, waits: np.ndarray) -> Any:
        """Return the game with the losses' rows and the delays, where they react, as they were met in play."""
        met: dict[str, Any] = {}
        if rows_react(self.losses):
            met["losses"] = self.losses.with_rows(Rows.make(rows))
        if self.delays.reacts:
            met["delays"] = Waits.make(waits, 0)
        return replace(self, **met) if met else self  # type: ignore[type-var]

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.delays.horizon)

    @property
    def dimension(self) -> int:
        """The number of entries of a play."""
        return int(self.domain.dimension)

    @cached_property
    def gradient_bound(self) -> float:
        """A bound on the gradients of all losses on the domain, infinite where none is known."""
        return float(self.losses.gradient_bound(self.domain))

    @cached_property
    def corner_range(self) -> tuple[float, float] | None:
        """The least and the largest loss of an arm, None where they are not known."""
        return self.losses.corner_range() if hasattr(self.losses, "corner_range") else None

    @cached_property
    def max_delay(self) -> int:
        """The longest delay, 0 where it is not known."""
        return int(getattr(self.delays, "max_delay", 0))

    @property
    def best_action(self) -> SimpleNamespace:
        """What :func:`tarry.game.hindsight.compare` has found out."""
        kept = vars(self)
        if "best_action" not in kept:  # at once: threads that ask at one moment shall not solve for it twice
            kept.setdefault("best_action", room_for_best(self.domain, self.losses, self.horizon))
        return kept["best_action"]  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        # Fields alone: a lock cannot be pickled, and what was found is found again where it is needed.
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(map(equal, *(one.__getstate__().values() for one in (self, other))))

    def __hash__(self) -> int:
        return hash((self.domain, self.losses, self.delays, self.feedback, self.capacity, self.information))

    def _told(self) -> str:
        return self.feedback if self.queries == 1 else f"{self.feedback} ({self.queries} points a round)"

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.horizon} rounds on {type(self.domain).__name__} of R^{self.dimension}, "
            f"{type(self.losses).__name__} losses, {self._told()} feedback)"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Game(_Fixed):
    """The capacity-constrained game with late feedback (the paper's Figure 1).

    Losses and delays are fixed before play. In round t the player plays x_t; the gradient at x_t, or
    the value there, or the whole example (features and label, of supervised losses), comes at the end of
    round t + d_t if the round is tracked then, and at most ``capacity`` rounds are (None: no limit).
    ``information`` says what is learnt about delays:

    * ``"clairvoyant"``: d_t when round t begins;
    * ``"semi-clairvoyant"``: an empty acknowledgement when an untracked round's feedback passes by;
    * ``"non-clairvoyant"``: nothing beyond the feedback itself.

    Without ``preemption`` a tracked round stays until its feedback arrives. With value feedback a round may grant
    several ``queries``: a learner that makes them is told the values at as many points around its play, all at once,
    and the round's loss is their mean.

    ``sizes`` b_t > 0, known when the round begins, are what rounds count for to VarOpt, and to no other scheduler: an
    array, or a function of the round's features where losses have such, else of t. The rate Anytime then expects
    gradients of at most gradient_bound·b_t.

    Losses and delays may react to what was played and tracked (docs/members.md).
    """

    domain: Any
    losses: Any
    delays: Any
    feedback: str = "gradient"
    capacity: int | None = None
    information: str = "semi-clairvoyant"
    preemption: bool = True
    queries: int = 1
    sizes: Any = None

    def __repr__(self) -> str:
        preemptive = "preemptive" if self.preemption else "non-preemptive"
        return f"{super().__repr__()[:-1]}, capacity {self.capacity}, {self.information}, {preemptive})"

    def _repr_html_(self) -> str:
        rows = {
            "rounds": f"{self.horizon:,}",
            "domain": repr(self.domain),
            "losses": type(self.losses).__name__,
            "delays": type(self.delays).__name__,
            "feedback": self._told(),
            "capacity": str(self.capacity),
            "information": self.information,
            "preemption": "allowed" if self.preemption else "forbidden",
        } | ({} if self.sizes is None else {"sizes": f"{self.sizes.min():g} to {self.sizes.max():g}"})
        return html_facts("Game", rows)


@dataclass(frozen=True, repr=False, eq=False)
class WeightedGame(_Fixed):
    """The delayed and weighted game on its own (the paper's Figure 2), for a bare learner.

    Every round's feedback arrives, with the weight the caller gives; no set is tracked.
    """

    domain: Any
    losses: Any
    delays: Any
    weights: ArrayLike
    feedback: str = "gradient"
    capacity: None = field(default=None, init=False)
    information: str = field(default="semi-clairvoyant", init=False)
    preemption: bool = field(default=True, init=False)
    queries: int = 1
    sizes: None = field(default=None, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weights", as_weights(self.weights, "weights", self.horizon))


BARE = (
    "a WeightedGame takes a bare learner, since all feedback arrives with the game's weights, and nothing is scheduled "
    "or restarted"
)


def check_tracks(game: Any) -> None:
    """Raise TypeError for what is no game in which a player tracks rounds."""
    if isinstance(game, WeightedGame):
        raise TypeError(f"{BARE}: give simulate a learner such as DWFTRL(domain, rate=…), or make a Game")
    if not isinstance(game, Game):
        raise TypeError(f"game must be a Game, got {type(game).__name__}")


def check_capacity(capacity: int | None) -> None:
    """Raise ArgumentError for what is not a whole number of at least 1, or None."""
    if capacity is not None:
        as_int(capacity, "capacity (None for no limit)", 1)


def check_delays(delays: Any, may_react: bool = True) -> None:
    """Raise TypeError for what are no delays, ValueError for those that react where nothing is played."""
    if not isinstance(delays, Delays):
        raise TypeError("delays must be made by tarry.delays, for example tarry.delays.array(values)")
    if delays.reacts and not may_react:
        raise ValueError(
            f"{type(delays).__name__} reacts to plays, and nothing is played here: simulate a game, and give "
            "record.played_game(seed).delays"
        )


def as_sizes(given: Any, horizon: int, losses: Any = None) -> np.ndarray:
    """Return one size for each round, from numbers or from a function of the round's features, or of t."""
    if callable(given):
        known = (lambda t: losses.row(t)[: losses.dimension]) if isinstance(losses, Supervised) else lambda t: t
        given = [given(known(t)) for t in range(1, horizon + 1)]  # the label, which stands last, is not known yet
    try:
        sizes = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sizes must be real numbers, one for each round: {error}") from error
    if sizes.shape != (horizon,):
        raise ValueError(f"sizes need one entry for each of {horizon} rounds, got shape {sizes.shape}")
    bad = np.flatnonzero(~((sizes >= LEAST_SIZE) & (sizes <= LARGEST_SIZE)))  # NaN too
    if bad.size:
        problem = "must be positive and finite, between 1e-100 and 1e100"
        raise ArgumentError(f"the size of round {bad[0] + 1}", problem, float(sizes[bad[0]]))
    sizes.setflags(write=False)
    return sizes
