"""Games: what is fixed before play, which players a game refuses, and what players assume that a game does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import chain
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_bool, as_choice, as_int
from tarry.delays.base import Delays, delay
from tarry.delays.base import Listed as Waits
from tarry.delays.base import react as react_delays
from tarry.domains import Simplex, project
from tarry.errors import ArgumentError, MemberError, NotGranted
from tarry.game.hindsight import room_for_best
from tarry.game.rounds import CLAIRVOYANT, COUNTED, HELD, INFORMATION, NON, UNCOUNTED, Setting
from tarry.kernel.blame import failing
from tarry.kernel.parameters import equal
from tarry.learners.base import Learner, absorb, restart, rules_of
from tarry.learners.entropic_ftrl import OnSimplex
from tarry.losses.base import Listed as Rows
from tarry.losses.base import as_rows, fetch, gradient, rows_react, value
from tarry.losses.base import react as react_rows
from tarry.losses.supervised import Supervised
from tarry.outcomes import html_facts
from tarry.rates.base import Facts
from tarry.schedulers.base import UNLIMITED, admit, arrive
from tarry.schedulers.naive import Given, as_weights
from tarry.tracking import Player, as_player
from tarry.tracking.tally import LARGEST_SIZE, LEAST_SIZE

# What a round may tell, and a learner that takes it; over experts and arms another.
FEEDBACK = {"gradient": "DWFTRL", "value": "DWFTBL (over arms, Exp3)", "example": "Ridge"}
ON_SIMPLEX = {"gradient": "EntropicFTRL", "value": "Exp3"}


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
    contexts: Any

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
        if self.contexts is not None:
            object.__setattr__(self, "contexts", as_contexts(self.contexts, self.horizon))

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

    ``contexts`` are seen before each play by learners that look at them: an array with one row per round, or a
    generator of rows. Losses and delays may also react to what was played and tracked (docs/members.md).
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
    contexts: Any = None

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
    contexts: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weights", as_weights(self.weights, "weights", self.horizon))


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


def as_contexts(given: Any, horizon: int) -> Any:
    """Return one row of context for each round, from an array or a generator of rows."""
    made = as_rows(given, "contexts")
    if getattr(made, "reacts", False):
        problem = "must be fixed before play, and rows of this type react"
        raise ArgumentError("contexts", problem, type(made).__name__, "let losses or delays react")
    if made.horizon is not None and made.horizon != horizon:
        raise ArgumentError("contexts", f"need one row for each of {horizon} rounds", made.horizon)
    return made


def check_sizes(player: Player) -> None:
    """Raise NotGranted for a player that cannot take rounds of several sizes."""
    learner, scheduler, epochs = player
    if not scheduler.takes_sizes:
        raise NotGranted(
            f"{type(scheduler).__name__} counts every round alike and takes no sizes: use VarOpt, or leave sizes out"
        )
    if epochs.needs_preemption:
        raise NotGranted("doubling counts every round alike and takes no sizes: leave out epochs=, or the sizes")
    if learner.needs_acknowledgements and not learner.takes_sizes:
        raise NotGranted(
            f"{learner.follows[0]} counts pending rounds alike, whatever their sizes: use DWFTRL with the rate Anytime "
            "or a rate that does not follow the backlog, or leave sizes out"
        )


def setting_of(
    player: Player, capacity: int | None, information: str, *, certify: int, hears: bool = True, sized: bool = False
) -> Setting:
    """Return the rules of play as numbers."""
    slots = UNLIMITED if capacity is None else int(capacity)
    asks = any(part.needs_acknowledgements for part in player)  # refused before where nothing answers
    # Acknowledgements tell how many rounds are out, but not their sizes: what is held does.
    known = UNCOUNTED if not asks else HELD if sized or INFORMATION[information] == NON else COUNTED
    return Setting(slots, INFORMATION[information], int(certify), int(hears or known == COUNTED), known)


def check_player(game: Game | WeightedGame, player: Any) -> Player:
    """Return the player of a game: a player, a learner or a function of the game that makes one.

    Raise TypeError for what is neither, and ValueError for a player that does not fit the game.
    """
    if not isinstance(game, (Game, WeightedGame)):
        raise TypeError(f"game must be a Game or a WeightedGame, got {type(game).__name__}")
    given = player(game) if callable(player) else player
    if isinstance(game, WeightedGame):  # not by way of a player with another scheduler, which may refuse the learner
        learner = given if isinstance(given, Learner) else as_player(given).learner
        chosen = Player(learner, Given(np.asarray(game.weights)))
    else:
        chosen = as_player(given)
    rules = {name: getattr(game, name) for name in ("feedback", "capacity", "information", "preemption", "queries")}
    check_grants(chosen, **rules, contexts=0 if game.contexts is None else int(game.contexts.width))
    if game.sizes is not None:
        check_sizes(chosen)
    learner = chosen.learner
    if learner.dimension != game.dimension:
        raise ValueError(f"the learner plays in R^{learner.dimension}, the game in R^{game.dimension}")
    try:
        is_same = learner.domain is game.domain or bool(learner.domain == game.domain)
    except ValueError:  # a user's named tuples of arrays do not compare
        is_same = False
    if not is_same:
        raise ValueError(
            f"the learner plays on {learner.domain!r}, the game is on {game.domain!r}: {_instead(learner)}"
        )
    learner.check_horizon(game.horizon)
    check_verbs(chosen, game.losses, game.delays)
    return chosen


def check_verbs(player: Player, losses: Any = None, delays: Any = None) -> None:
    """Raise TypeError for a user's member that lacks a verb, MemberError for delays below 0."""
    learner, rows = player.learner, getattr(losses, "rows", None)
    asked: list[tuple[Any, tuple[Any, ...]]] = [(learner, (absorb, restart)), (player.scheduler, (admit, arrive))]
    asked += [(learner.domain, (project,)), (losses, (value, gradient))]
    asked += [(rows, (react_rows if rows_react(losses) else fetch,))]
    asked += [(delays, (react_delays if getattr(delays, "reacts", False) else delay,))]
    for member, verbs in asked:
        if member is not None and not type(member).__module__.startswith("tarry."):
            for verb in verbs:
                verb.find(type(member))
            if member is delays:
                _check_values(delays)


def _check_values(delays: Any) -> None:
    """Raise MemberError for a delay below 0, of which nobody could say when it arrives, or that is not told."""
    try:
        found = delays.values
    except Exception as error:
        raise failing(error) or error from error
    if np.any(found < 0):
        t, name = int(np.argmax(found < 0)), type(delays).__name__
        raise MemberError(f"{name}.delay returns {found[t]} in round {t + 1}: the feedback of a round is not early")


def _instead(learner: Any) -> str:
    """Return the way out where learner and game do not share a domain."""
    while learner.base is not None:
        learner = learner.base
    if not isinstance(learner, OnSimplex):
        return "build the learner on game.domain"
    return (
        f"{type(learner).__name__} is for experts or arms, so play it on tarry.domains.Simplex({learner.dimension}), "
        "or use DWFTRL or DOGD (values: DWFTBL) on game.domain"
    )


def check_grants(
    player: Player,
    *,
    feedback: str | None,
    capacity: int | None,
    information: str,
    preemption: bool,
    queries: int = 1,
    contexts: int = 0,
) -> None:
    """Raise NotGranted for a player that needs what the game, session or join does not grant."""
    as_choice(information, "information", INFORMATION)
    check_capacity(capacity)
    as_bool(preemption, "preemption")
    for refusal in _refusals(player, feedback, capacity, information, preemption, queries):
        raise NotGranted(refusal)
    for refusal in _unseen(player.learner, contexts):
        raise NotGranted(refusal)
    player.scheduler.check_capacity(capacity)


def _lacks_backlog(part: Any, scheduler: Any) -> bool:
    """Return whether a part counts pending rounds, and the scheduler does not estimate their number for it."""
    return part.needs_acknowledgements and not (scheduler.conserves_weight and part.takes_held_weight)


def _refusals(
    player: Player, feedback: str | None, capacity: int | None, information: str, preemption: bool, queries: int
) -> Iterator[str]:
    """Yield what the player needs and is not granted: the need, what is granted, the way out."""
    learner, scheduler, epochs = player
    if feedback is not None and learner.feedback != feedback:
        yield (
            f"{type(learner).__name__} learns from {learner.feedback} feedback, this game gives "
            f"{feedback}: use {_taker(feedback, learner)}, or feedback={learner.feedback!r}"
        )
    needed = learner.queries
    if needed > queries:
        yield (
            f"{type(learner).__name__} asks for {needed} values a round, this game or session grants {queries}: "
            f"use {'TwoPoint' if queries > 1 else 'OnePoint or DWFTBL'}, or queries={needed}"
        )
    name, instead = type(scheduler).__name__, "VarOpt" if preemption else "Morris"
    disclosed, here = INFORMATION[information], f"this game, session or join is {information}"
    if epochs.needs_preemption and not preemption:
        yield (
            "doubling empties the tracking set when it restarts, which is preemption, and this game or session forbids "
            "it: give a bound on the backlog instead, or preemption=True"
        )

    if disclosed == NON and _lacks_backlog(epochs, scheduler):
        yield (
            f"doubling over {epochs.over!r} watches the backlog and needs acknowledgements, but {here}: "
            "give a bound on the backlog, use VarOpt with Doubling('total'), or information='semi-clairvoyant'"
        )
    if scheduler.needs_preemption and not preemption:
        yield (
            f"{name} preempts tracked rounds, which this game, session or join forbids: use Morris or Bernoulli, "
            "or preemption=True"
        )
    if scheduler.needs_delays and disclosed != CLAIRVOYANT:
        yield f"{name} needs each delay when its round begins, but {here}: use {instead}, or information='clairvoyant'"
    if scheduler.needs_acknowledgements and disclosed == NON:
        yield (
            f"{name} counts pending rounds and needs acknowledgements, but {here}: "
            f"use {instead}, or information='semi-clairvoyant'"
        )
    if disclosed == NON and _lacks_backlog(learner, scheduler):
        follower, remedy = learner.follows
        if learner.takes_held_weight:
            remedy = f"{remedy}, use VarOpt, whose held weight tells the backlog without them"
        yield (
            f"{follower} follows the backlog and needs acknowledgements, but {here}: "
            f"{remedy}, or information='semi-clairvoyant'"
        )
    if scheduler.needs_unlimited_capacity and capacity is not None:
        yield f"{name} tracks every round and needs capacity=None, got capacity={capacity}: use {instead}"
    room = inf if capacity is None else capacity
    for rule in rules_of(learner):
        if rule.tuned_capacity not in (None, room):
            yield (
                f"{type(rule).__name__} is tuned to a capacity of {rule.tuned_capacity:g}, this game or session has "
                f"{room:g}: give it that capacity"
            )


def _unseen(learner: Learner, width: int) -> Iterator[str]:
    """Yield which contexts, of so many entries, the learner or a base that it wraps looks at and is not shown."""
    name, asked = type(learner).__name__, learner.contexts
    if asked and asked != width:
        shown = f"contexts of {width} entries" if width else "none"
        yield (
            f"{name} looks at contexts of {asked} entries before it plays, and is shown {shown}: give the game "
            f"contexts of shape (horizon, {asked})"
        )
    inner = learner.base
    while inner is not None:
        if inner.contexts and not asked:
            yield f"{name} does not show {type(inner).__name__} the contexts it looks at: play that one alone"
        inner = inner.base


def _taker(feedback: str, learner: Learner) -> str:
    """Return the name of a learner that takes this feedback, where the one given wants another."""
    if isinstance(learner.domain, Simplex) and feedback in ON_SIMPLEX:
        return ON_SIMPLEX[feedback]
    if feedback == "value" and learner.is_movable:
        return f"OnePoint({type(learner).__name__}(…), smoothing) or DWFTBL"
    return FEEDBACK.get(feedback, "another learner")


def assumption_warnings(learner: Learner, facts: Facts) -> tuple[str, ...]:
    """Return the sentences of a learner, of its rates, of what it wraps, and of the scheduler, each once.

    A member, yours too, may have a method ``doubts(facts)`` that yields them: what is assumed, what the game has, the
    way out. Sentences change nothing.
    """
    asked = [(facts.scheduler, facts)]
    while learner.base is not None:
        # A wrapper's rate is its base's, which meets other facts and is asked there.
        asked.append((learner, facts))
        learner, facts = learner.base, facts.for_base(learner)
    asked += [(member, facts) for member in (learner, *rules_of(learner))]
    found = (member.doubts(met) for member, met in asked if hasattr(member, "doubts"))
    return tuple(dict.fromkeys(chain.from_iterable(found)))
