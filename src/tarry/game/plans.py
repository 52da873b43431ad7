"""Who plays what under which seed, and what is measured when it is over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tarry.checks import as_int
from tarry.game.draws import Recorded, draws_for
from tarry.game.engine import Outcome, Stop, Task
from tarry.game.problem import Game, WeightedGame, check_grants, setting_of
from tarry.game.regret import Comparator, comparator
from tarry.game.world import BOOKS, RATE
from tarry.learners import Euclidean
from tarry.learners.actions import OnSimplex
from tarry.learners.doubts import Facts, doubts_of
from tarry.results import Certificate, Fate
from tarry.schedulers.given import Given
from tarry.tracking import Player, Terms, terms_of
from tarry.tracking.certificate import certificate, parts_of
from tarry.tracking.tally import UNCERTIFIED


class Options(NamedTuple):
    """What ``simulate`` was asked to keep."""

    draws: Recorded | None
    checkpoints: int
    keep_rounds: bool
    allow_large: bool
    threads: int


class Plan(NamedTuple):
    """One seed's game, player and checkpoints, and the constants of its certificate, if it has one."""

    game: Any
    player: Player
    rounds: np.ndarray
    terms: Terms | None
    facts: Facts

    @property
    def doubts(self) -> tuple[str, ...]:
        """What the player assumes and the game does not have."""
        return doubts_of(self.player.learner, self.facts)

    def _hears(self, options: Options) -> bool:
        """Ends of untracked rounds are played out only where a member counts them, or for the log."""
        return options.keep_rounds or any(part.needs_acknowledgements for part in self.player)

    def task(self, seed: int, options: Options) -> Task:
        """The same for the engine."""
        game, certify = self.game, UNCERTIFIED if self.terms is None else self.terms.sizes
        return Task(
            player=self.player,
            setting=setting_of(game.capacity, game.information, certify=certify, hears=self._hears(options)),
            draws=draws_for(seed, options.draws, self.player, game.horizon),
            losses=game.losses,
            delays=game.delays,
            feedback=game.feedback,
            rounds=self.rounds,
            keep_rounds=options.keep_rounds,
            allow_large=options.allow_large,
            threads=options.threads,
        )


class Measured(NamedTuple):
    """A finished seed: what happened, the best fixed action, the bound at checkpoints, the certificate at the end."""

    seed: int
    outcome: Outcome
    best: Comparator
    bounds: np.ndarray
    certificate: Certificate | None


class Plans:
    """Plans by seed; a game that does not depend on the seed is planned, and its comparator found, once."""

    def __init__(
        self, game: Any, build: Callable[[int], Any] | None, player: Any, checkpoints: int, bound: bool
    ) -> None:
        if game is not None and build is not None:
            raise ValueError("give a game or games, a function of the seed, and not both")
        self._build, self._player = build, player
        self._checkpoints, self._bound = as_int(checkpoints, "checkpoints", 1), bound
        self._shared = None if build is not None else self._plan(game)
        self._best: Comparator | None = None
        self._lock = threading.Lock()

    def of(self, seed: int) -> Plan:
        """The plan of a seed."""
        return self._shared if self._shared is not None else self._plan(self._build(seed))  # type: ignore[misc]

    def _plan(self, game: Any) -> Plan:
        if not isinstance(game, (Game, WeightedGame)):
            raise TypeError(f"game must be a Game or a WeightedGame, got {type(game).__name__}")
        actor = _actor(game, self._player)
        facts = Facts(game, actor.scheduler)
        terms = _terms(game, actor, facts) if self._bound else None
        return Plan(game, actor, checkpoint_rounds(game.horizon, self._checkpoints), terms, facts)

    def measure(self, seed: int, plan: Plan, outcome: Outcome, stop: Stop) -> Measured:
        """Compare a finished seed with the best fixed action and with the bound."""
        if self._shared is None:
            best = _best(plan, stop)
        else:
            with self._lock:
                if self._best is None:
                    self._best = _best(plan, stop)
                best = self._best
        return Measured(seed, outcome, best, _bounds(plan.terms, outcome), _certificate(plan.terms, outcome))


def _best(plan: Plan, stop: Stop) -> Comparator:
    game = plan.game
    return comparator(game.domain, game.losses, game.horizon, plan.rounds, stopped=stop.is_set)


def _terms(game: Any, actor: Player, facts: Facts) -> Terms | None:
    """The constants of a certificate, from the losses; what they do not bound is observed."""
    curvature, restarts = game.losses.strong_convexity, actor.epochs.needs_preemption
    terms = terms_of(actor.learner, strong_convexity=curvature, restarts=restarts)
    if terms is None:
        return None
    if isinstance(actor.learner.norm, Euclidean):  # the norm in which losses bound their gradients
        terms = terms._replace(gradient_bound=facts.steepest)
    if game.feedback == "value":
        terms = terms._replace(value_bound=float(game.losses.value_bound(game.domain)))
    return terms


def _actor(game: Any, player: Any) -> Player:
    chosen = player(game) if callable(player) else player
    if isinstance(game, WeightedGame):
        learner = chosen.learner if isinstance(chosen, Player) else chosen
        actor = Player(learner, Given(np.asarray(game.weights)))
    else:
        actor = chosen if isinstance(chosen, Player) else Player(chosen)
    check_grants(
        actor,
        feedback=game.feedback,
        capacity=game.capacity,
        information=game.information,
        preemption=game.preemption,
        queries=game.queries,
    )
    if actor.learner.dimension != game.dimension:
        raise ValueError(f"the learner plays in R^{actor.learner.dimension}, the game in R^{game.dimension}")
    if not _same(actor.learner.domain, game.domain):
        raise ValueError(
            f"the learner plays on {actor.learner.domain!r}, the game is on {game.domain!r}: {_elsewhere(actor)}"
        )
    actor.learner.check_horizon(game.horizon)
    return actor


def _elsewhere(actor: Player) -> str:
    """The way out where learner and game do not share a domain."""
    learner = actor.learner
    while learner.base is not None:
        learner = learner.base
    if not isinstance(learner, OnSimplex):
        return "build the learner on game.domain"
    return (
        f"{type(learner).__name__} is for experts or arms, so play it on tarry.domains.Simplex({learner.dimension}), "
        "or use DWFTRL or DOGD (values: DWFTBL) on game.domain"
    )


def _same(one: Any, other: Any) -> bool:
    try:
        return one is other or bool(one == other)
    except ValueError:  # named tuples of arrays that do not compare
        return False


def checkpoint_rounds(horizon: int, most: int) -> np.ndarray:
    """Rounds to write down: half evenly spaced, half by powers so that the start shows; always the last."""
    even = np.linspace(1, horizon, min(max(most - most // 2, 2), horizon))
    early = np.geomspace(1, horizon, min(max(most // 2, 1), horizon))
    rounds = np.unique(np.round(np.concatenate((even, early))).astype(np.int64))
    return rounds if most > 1 else rounds[-1:]


def _bounds(terms: Terms | None, outcome: Outcome) -> np.ndarray:
    """The bound at each checkpoint over the rounds that have arrived; NaN where none applies."""
    if terms is None:
        return np.full(outcome.rounds.size, np.nan)
    return parts_of(terms, outcome.curve[:, BOOKS:], outcome.curve[:, RATE]).bound


def _certificate(terms: Terms | None, outcome: Outcome) -> Certificate | None:
    if terms is None:
        return None
    last, used = outcome.curve[-1], int(outcome.tally.fates[Fate.USED])
    return certificate(terms, last[BOOKS:], float(last[RATE]), used)
