"""Players that are half made are refused with the way out, and restarts are spoken of."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.learners import DWFTBL, DWFTRL
from tarry.rates import BanditRadius, DoublingRate, inverse_time
from tarry.schedulers import DoublingBernoulli

BALL = tarry.domains.Ball(2)
PLAIN = DWFTRL(BALL, rate=0.1)
TOTAL = DWFTRL(BALL, rate=DoublingRate(2.0, 1.0))


@pytest.mark.parametrize(
    ("learner", "scheduler", "over", "sentence"),
    [
        (
            PLAIN,
            DoublingBernoulli(),
            None,
            r'^DoublingBernoulli follows a guess that nobody makes: give epochs=Doubling\("backlog"\)',
        ),
        (
            PLAIN,
            DoublingBernoulli(),
            "total",
            r"DoublingBernoulli follows a guess that Doubling\('total'\) does not make",
        ),
        (TOTAL, None, None, r'^DoublingRate follows .* epochs=Doubling\("total"\) or epochs=Doubling\("pair"\)'),
        (TOTAL, None, "backlog", "DoublingRate follows a guess that"),
        (DWFTBL(BALL, DoublingRate(2.0, 1.0), 0.5), None, None, "DoublingRate follows"),
    ],
)
def test_a_guess_that_nobody_makes(learner, scheduler, over, sentence):
    with pytest.raises(ValueError, match=sentence):
        tarry.Player(learner, scheduler, None if over is None else tarry.Doubling(over))


def test_a_join_cannot_follow_a_guess():
    with pytest.raises(ValueError, match="DoublingBernoulli follows a guess that nobody makes"):
        tarry.LabelJoin(capacity=4, scheduler=DoublingBernoulli())


@pytest.mark.parametrize(
    ("epochs", "shown"),
    [
        (tarry.Doubling(), "Doubling('total')"),
        (tarry.Doubling("pair"), "Doubling('pair')"),
        (tarry.Doubling("backlog"), "Doubling('backlog', first=0)"),
        (tarry.Doubling("backlog", first=2), "Doubling('backlog', first=2)"),
    ],
)
def test_doubling_shows_what_it_guesses(epochs, shown):
    assert repr(epochs) == shown
    assert eval(shown, {"Doubling": tarry.Doubling}) == epochs


def _record(player, delay=30):
    delays = tarry.delays.fixed(horizon=200, delay=delay)
    return tarry.simulate(tarry.Game(BALL, tarry.losses.Linear(np.ones((200, 2))), delays, capacity=64), player)


def test_restarts_that_drop_rounds_are_mentioned():
    restarted = _record(tarry.Player(TOTAL, epochs=tarry.Doubling()))
    assert restarted.weights.mean[0] < 0.9
    assert [f"mean weight is {restarted.weights.mean[0]:.2f}" in text for text in restarted.warnings] == [True]
    assert "by design" in restarted.warnings[0]
    assert _record(tarry.Player(TOTAL, epochs=tarry.Doubling()), delay=0).warnings == ()
    assert _record(tarry.Player(PLAIN)).warnings == ()


def test_restarts_that_nobody_heeds_are_mentioned():
    pointless = _record(tarry.Player(PLAIN, epochs=tarry.Doubling("backlog", first=9)))
    assert [text.startswith("nothing follows the guesses") for text in pointless.warnings] == [True]
    heeded = DWFTBL(BALL, inverse_time(1.0), BanditRadius.for_backlog(1.0, 2.0, 64, curved=True))
    session = tarry.Session(
        tarry.Player(heeded, epochs=tarry.Doubling("backlog")), capacity=64, information="semi-clairvoyant"
    )
    assert session.status().warnings == ()


def test_a_session_mentions_restarts_too():
    player = tarry.Player(TOTAL, epochs=tarry.Doubling())
    session = tarry.Session(player, capacity=8, information="semi-clairvoyant", rng=1)
    asked = [session.ask() for _ in range(12)]
    for one in asked:
        session.tell(one.id, gradient=[1.0, 0.0])
    assert any("by design" in text for text in session.status().warnings)


@pytest.mark.parametrize(
    ("scheduler", "options", "sentence"),
    [
        (tarry.schedulers.Thinning(), {}, "but this game, session or join is non-clairvoyant: use VarOpt"),
        (tarry.schedulers.VarOpt(), {"preemption": False}, "which this game, session or join forbids: use Morris"),
        (tarry.schedulers.Always(), {"preemption": False}, "use Morris"),
        (tarry.schedulers.Batching(5), {"preemption": False, "capacity": 1}, r"raise it, or use Bernoulli\(prob"),
    ],
)
def test_refusals_of_sessions_speak_of_sessions(scheduler, options, sentence):
    with pytest.raises(ValueError, match=sentence) as refused:
        tarry.Session(tarry.Player(PLAIN, scheduler), **{"capacity": 4, **options})
    assert "the game" not in str(refused.value)


def test_an_epsilon_below_zero():
    with pytest.raises(ValueError, match=r"epsilon must be finite and not negative, got -0\.5"):
        tarry.schedulers.Morris(-0.5)
