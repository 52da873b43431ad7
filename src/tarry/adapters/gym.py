"""Gymnasium: delayed games as environments, played by somebody else's agent.

A step is one round of the loop that simulation runs, with a learner that plays what it is given and writes down what
it hears: there is no other order of events here. Importing this module registers ``tarry/DelayedOCO-v0`` (gradients)
and ``tarry/DelayedBCO-v0`` (values).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tarry.checks import as_int
from tarry.delays import geometric
from tarry.delays.base import delay
from tarry.domains import Ball
from tarry.domains.base import nearest
from tarry.game import Game
from tarry.game.grants import check_grants, check_sizes
from tarry.game.run import Stop, make_run
from tarry.game.world import ENTERED, EXPIRED, FEEDBACK, PREEMPTED
from tarry.kernel.views import alone
from tarry.learners.base import GRADIENT, VALUE, Directions, Learner
from tarry.losses import Quadratic
from tarry.schedulers.base import UNLIMITED, Scheduler
from tarry.tracking import Player, keyed_draws
from tarry.tracking.buffer import flush_buffer

try:
    import gymnasium
    from gymnasium.spaces import Box
except ImportError as error:
    raise ImportError("the Gymnasium adapter needs gymnasium: pip install 'tarry[gym]'") from error

Array = np.ndarray[Any, np.dtype[np.float64]]


class OutsideState(NamedTuple):
    """The play to make, and what arrived in this round: ``heard`` rows of rounds, weights and feedback."""

    rounds: np.ndarray
    weights: np.ndarray
    feedback: np.ndarray
    heard: np.ndarray
    point: np.ndarray


class Outside(Learner):
    """A learner that is elsewhere: it plays what it is handed and keeps what arrives until it is read.

    ``gives`` is 1 for gradients, 0 for values, which are the first number of their row.
    """

    dimension: int
    gives: int

    @property
    def feedback(self) -> str:
        return GRADIENT if self.gives else VALUE

    def allocate(self, slots: int) -> OutsideState:
        rows = slots + 1  # as many as are tracked, and what was withheld
        arrived = np.zeros(rows, np.int64), np.zeros(rows), np.zeros((rows, self.dimension))
        return OutsideState(*arrived, np.zeros(1, np.int64), np.zeros(self.dimension))

    def restart(self, state: OutsideState, t: int, magnitude: float) -> None:
        pass  # what it has learnt is not here

    def absorb(
        self, state: OutsideState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        at = state.heard[0]
        state.heard[0] = at + 1
        state.rounds[at] = s
        state.weights[at] = weight
        for i in range(feedback.size):
            state.feedback[at, i] = feedback[i]


class DelayedGame(gymnasium.Env[Array, Array]):
    """A game with late feedback as an environment; ``game`` may be a function of a seed, asked at every reset.

    The action is the play x_t (the nearest point of the domain is played), the observation the last play. What is
    learnt comes in ``info``: ``feedback``, a list of (round, gradient or value, weight) that arrived in the round or
    was withheld until then (the last round lets go of everything), and ``expired``, untracked rounds whose time has
    come (where the game acknowledges them). Rounds count from 1; ``info`` also has ``round``, ``play``, ``tracked``,
    ``released``, in the clairvoyant model the next round's ``delay``, and with ``reveal_loss`` the ``loss`` f_t(x_t),
    which an agent must not learn from. The reward is −Σ w·f_s(x_s) over the rounds s in ``feedback``, so it tells
    nothing early. Episodes are truncated at the horizon.

    >>> env = gymnasium.make("tarry/DelayedBCO-v0", dimension=2, horizon=50, mean_delay=3.0)
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(np.zeros(2))
    >>> info["round"], info["tracked"], truncated
    (1, True, False)
    """

    metadata = {"render_modes": []}  # Gymnasium asks; there is nothing to look at

    def __init__(
        self, game: Game | Callable[[int], Game], scheduler: Scheduler | str | None = None, *, reveal_loss: bool = False
    ) -> None:
        self._games = game if callable(game) else lambda _seed: game
        self._scheduler, self._reveals_loss = scheduler, reveal_loss
        first = self._games(0)
        if not isinstance(first, Game):
            raise ValueError(f"an environment needs a tarry.Game, or a function from a seed to one, got {first!r}")
        if first.feedback not in (GRADIENT, VALUE):
            raise ValueError(f"an environment's game gives 'gradient' or 'value' feedback, got {first.feedback!r}")
        if first.contexts is not None:
            raise ValueError("an environment shows no contexts: give a game without them")
        self._player(first)  # refuses what the game does not grant, before anybody plays
        # A domain reaches furthest along an axis where a linear function of that axis is least.
        corners = [first.domain.linear_minimiser(sign * row) for sign in (1.0, -1.0) for row in np.eye(first.dimension)]
        low, high = np.min(corners, axis=0), np.max(corners, axis=0)
        self.action_space, self.observation_space = Box(low, high, dtype=np.float64), Box(low, high, dtype=np.float64)

    def _player(self, game: Game) -> Player:
        player = Player(Outside(game.dimension, int(game.feedback == GRADIENT)), self._scheduler)
        rules: dict[str, Any] = {name: getattr(game, name) for name in ("capacity", "information", "preemption")}
        check_grants(player, feedback=game.feedback, **rules)
        if game.sizes is not None:
            check_sizes(player)
        return player

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode: who is tracked, and the game if it is drawn, follow from the seed."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**62))
        self._game = game = self._games(drawn)
        ends = np.array([game.horizon], np.int64)
        # The log is the game's own, and hears also of the ends of untracked rounds.
        self._run = make_run(game, self._player(game), checkpoints=ends, hears=True, keep_rounds=True)
        self._buffers, self._t = self._run.start(keyed_draws(drawn), nodes=game.horizon), 0
        self._advance, self._stacked = self._run.advancing(self._buffers), alone(self._buffers)
        self._owed: dict[int, float] = {}  # the losses of tracked rounds, paid when their feedback comes
        origin = nearest(game.domain, game.domain.center)
        return origin, {"round": 0, "feedback": [], "expired": []} | self._disclosed()

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Play a round; return what is observed, minus its loss, whether the game is over, False, and facts."""
        if not hasattr(self, "_buffers"):
            raise ValueError("no game has begun: call reset() before step()")
        if self._t >= self._game.horizon:
            raise ValueError(f"the game is over after {self._game.horizon} rounds: call reset()")
        try:
            point = np.asarray(action, np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"an action is a point of the domain, an array of numbers, got {action!r}") from None
        play = nearest(self._game.domain, point)
        happened = self._round(play)
        news, loss = self._buffers.state.learner, float(self._buffers.log.losses[self._t - 1])
        of_kind = {kind: [s for found, s, _ in happened if found == kind] for kind in (PREEMPTED, ENTERED, EXPIRED)}
        for s in of_kind[PREEMPTED]:
            self._owed.pop(s, None)
        if of_kind[ENTERED]:
            self._owed[self._t] = loss
        for kind, s, weight in happened:
            if kind == FEEDBACK and weight == 0.0:  # the agent never hears of these
                del self._owed[s]
        heard = int(news.heard[0])
        rounds, weights, rows = news.rounds[:heard].tolist(), news.weights[:heard].tolist(), news.feedback[:heard]
        given = list(rows.copy()) if self._game.feedback == GRADIENT else rows[:, 0].tolist()
        info = {
            "round": self._t,
            "play": play.copy(),
            "tracked": bool(of_kind[ENTERED]),
            "released": of_kind[PREEMPTED],
            "feedback": list(zip(rounds, given, weights, strict=True)),
            "expired": of_kind[EXPIRED],
        }
        if self._reveals_loss:
            info["loss"] = loss
        reward = -sum(w * self._owed.pop(s) for s, w in zip(rounds, weights, strict=True))
        return play, float(reward), False, self._t == self._game.horizon, info | self._disclosed()

    def _round(self, play: Array) -> list[tuple[int, int, float]]:
        """Play one round of the loop; return its events: kind, round and weight."""
        self._t = t = self._t + 1
        buffers = self._buffers
        log, before = buffers.log, int(buffers.log.written[0])
        buffers.state.learner.point[:] = play
        buffers.state.learner.heard[0] = 0
        self._advance(Stop(), t, t)
        self._run.check(self._stacked, t, t)
        # The loop lets go when it begins a round; the agent is told now, and at the end all there is.
        told_in = UNLIMITED if t == self._game.horizon else t
        flush_buffer(buffers.state.buffer, self._run.player, buffers.draws, buffers.state, told_in, False)
        events = (column[before : log.written[0]].tolist() for column in (log.kind, log.s, log.weight))
        return list(zip(*events, strict=True))

    def _disclosed(self) -> dict[str, int]:
        if self._game.information != "clairvoyant" or self._t == self._game.horizon:
            return {}
        return {"delay": int(delay(self._game.delays, self._t + 1))}


def standard_game(
    feedback: str = GRADIENT,
    dimension: int = 5,
    horizon: int = 1000,
    capacity: int | None = 16,
    mean_delay: float = 50.0,
    information: str = "semi-clairvoyant",
    scheduler: Scheduler | str | None = None,
    reveal_loss: bool = False,
    **unknown: Any,
) -> DelayedGame:
    """Return a registered environment: quadratic losses about drawn targets on the unit ball, geometric delays."""
    if unknown:
        options = "dimension, horizon, capacity, mean_delay, information, scheduler, reveal_loss"
        raise ValueError(f"there is no option {next(iter(unknown))!r}: the options are {options}")
    dimension, horizon = as_int(dimension, "dimension", 1), as_int(horizon, "horizon", 1)

    def draw(seed: int) -> Game:
        targets = np.random.default_rng(seed).normal(0.2, 0.3, (horizon, dimension))
        waits = geometric(horizon=horizon, mean=mean_delay, rng=seed)
        losses = Quadratic(targets, strong_convexity=1.0)
        return Game(Ball(dimension), losses, waits, feedback, capacity, information)

    return DelayedGame(draw, scheduler, reveal_loss=reveal_loss)


for _name, _feedback in (("OCO", GRADIENT), ("BCO", VALUE)):
    gymnasium.register(
        id=f"tarry/Delayed{_name}-v0", entry_point="tarry.adapters.gym:standard_game", kwargs={"feedback": _feedback}
    )
