"""What a player assumes and the game does not have is said in the record, and changes nothing."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import tarry
from tarry.game.grants import assumption_warnings
from tarry.learners import (
    BOLD,
    DOGD,
    DOGDSC,
    DWFTRL,
    FPL,
    FTL,
    OGD,
    SOLID,
    AdaDelay,
    Adaptive,
    EntropicFTRL,
    Exp3,
    Interleaving,
    OnePoint,
    TsallisFTRL,
)
from tarry.rates import Anytime, BestOfBoth
from tarry.rates.base import Facts

T, LATE = 60, 37
BALL = tarry.domains.Ball(2)
RNG = np.random.default_rng(3)
LINEAR = tarry.losses.Linear(np.tile([0.6, 0.8], (T, 1)))  # gradients of length 1
BENT = tarry.losses.Quadratic(RNG.normal(size=(T, 2)) / 4, strong_convexity=0.5)
DELAYS = tarry.delays.array([LATE if t == 4 else 3 for t in range(T)])
PARETO = tarry.schedulers.Pareto()


def _game(losses=LINEAR, domain=BALL, **changes):
    return tarry.Game(domain, losses, DELAYS, **{"capacity": 50, **changes})


def _arms(low, high, feedback="value", **changes):
    rows = np.full((T, 2), low)
    rows[:, 1] = high
    return _game(tarry.losses.Linear(rows, **changes), tarry.domains.Simplex(2), feedback=feedback)


CASES = [  # the game, what is not right in it, what is, and a part of the sentence
    (_game(BENT), FPL(BALL, 1.0), DOGD(BALL, 0.1), "FPL .* Quadratic losses are not linear: use DOGD"),
    (_game(tarry.losses.Linear(LINEAR.rows, ridge=0.1)), FPL(BALL, 1.0), None, "Linear losses with a ridge are not"),
    (_game(BENT), FTL(BALL, 0.6), FTL(BALL, 0.5), r"strong convexity 0.6, these \(Quadratic\) have 0.5: give"),
    (_game(), FTL(BALL, 0.5), FPL(BALL, 1.0), r"FTL assumes .* 0.5, these \(Linear\) have none: use DOGD"),
    (_game(BENT), DOGDSC(BALL, 1.0), DOGDSC(BALL, 0.5), "DOGDSC assumes"),
    (_game(BENT), SOLID(FTL(BALL, 1.0)), SOLID(FTL(BALL, 0.5)), "FTL assumes"),
    (_game(BENT), BOLD(FTL(BALL, 1.0)), BOLD(FTL(BALL, 0.5)), "FTL assumes"),
    (
        _game(BENT, feedback="value"),
        OnePoint(SOLID(FTL(BALL, 1.0)), 0.1),
        OnePoint(SOLID(FTL(BALL, 0.5)), 0.1),
        "FTL assumes",
    ),
    (_game(BENT), DWFTRL(BALL, BestOfBoth(1.0, 9.0)), DWFTRL(BALL, BestOfBoth(0.5, 9.0)), "BestOfBoth assumes"),
    (_game(), AdaDelay(BALL, 1.0, LATE - 1), AdaDelay(BALL, 1.0, LATE), f"delays of up to {LATE} .* max_delay={LATE}"),
    (_game(), AdaDelay(BALL, 0.9, LATE), AdaDelay(BALL, 1.0, LATE), "give gradient_bound=1, max_delay"),
    (_game(), SOLID(AdaDelay(BALL, 0.9, 0)), SOLID(AdaDelay(BALL, 1.0, 0)), "delays of up to 0 "),
    (_game(), Adaptive(BALL, 0.9), Adaptive(BALL, 1.0), "given gradient_bound=0.9, and gradients may be as long as 1"),
    (_game(), Interleaving(OGD(BALL, 0.1), LATE - 1), Interleaving(OGD(BALL, 0.1), LATE), "use BOLD"),
    (
        _game(),
        tarry.Player(DWFTRL(BALL, Anytime(2.0, 1.0)), PARETO),
        tarry.Player(DWFTRL(BALL, Anytime(2.0, 1.0))),
        "Anytime is not valid with the scheduler Pareto",
    ),
    (_arms(0.0, 100.0), Exp3(2, 0.1), None, r"Exp3 assumes losses in \[0, 1\], these lie in \[0, 100\]: shift"),
    (_arms(-0.5, 1.0), TsallisFTRL(2), None, r"TsallisFTRL .* \[-0.5, 1\]"),
    (_arms(-0.5, 1.0, offsets=np.full(T, 0.5)), Exp3(2, 0.1), None, r"these lie in \[0, 1.5\]"),
    (_arms(0.0, 0.9, ridge=0.4), Exp3(2, 0.1), None, r"these lie in \[0.2, 1.1\]"),
    (_arms(0.0, 1.0), None, Exp3(2, 0.1), ""),
    (_arms(-0.5, 0.5, offsets=np.full(T, 0.5)), None, BOLD(Exp3(2, 0.1)), ""),
]


def _said(game, player):
    chosen = player if isinstance(player, tarry.Player) else tarry.Player(player)
    return assumption_warnings(chosen.learner, Facts(game, chosen.scheduler))


@pytest.mark.parametrize(("game", "wrong", "right", "sentence"), CASES)
def test_doubts(game, wrong, right, sentence):
    if right is not None:
        assert _said(game, right) == ()
    if wrong is not None:
        (found,) = _said(game, wrong)
        assert re.search(sentence, found), found


def test_they_are_in_the_record_and_in_the_log(caplog, monkeypatch):
    monkeypatch.setattr(sys.modules["tarry.game.simulate"], "_said", set())
    record = tarry.simulate(_game(BENT), FPL(BALL, 1.0))
    assert record.warnings[:1] == record.assumption_warnings
    assert "FPL draws its noise once" in record.warnings[0]
    assert "FPL draws its noise once" in caplog.text
    assert tarry.simulate(_game(), FPL(BALL, 1.0)).warnings == ()


def test_what_is_not_known_is_not_doubted():
    unknown = tarry.losses.Callables(value=lambda x, t: 0.0, gradient=lambda x, t: np.zeros(2), dimension=2, horizon=T)
    for learner in (FPL(BALL, 1.0), FTL(BALL, 1.0), AdaDelay(BALL, 1e-3, 0), Adaptive(BALL, 1e-3)):
        assert _said(_game(unknown), learner) == ()
    drawn = tarry.losses.Linear(tarry.losses.drifting(2, rng=1))
    assert _said(_game(drawn, tarry.domains.Simplex(2), feedback="value"), Exp3(2, 0.1)) == ()


def test_feedback_that_is_given_up_is_not_late():
    patient, hasty = tarry.schedulers.Timeout(LATE), tarry.schedulers.Timeout(5)
    learner = Interleaving(OGD(BALL, 0.1), 5)
    assert _said(_game(), tarry.Player(learner, hasty)) == ()
    assert len(_said(_game(), tarry.Player(learner, patient))) == 1


def test_long_tables_are_looked_at_once(monkeypatch):
    asked = []
    bound = tarry.losses.Linear.gradient_bound
    monkeypatch.setattr(tarry.losses.Linear, "gradient_bound", lambda *a: asked.append(1) or bound(*a))
    assert "Adaptive was given" in tarry.simulate(_game(), Adaptive(BALL, 0.9), seeds=3).warnings[0]
    assert len(asked) == 1


@pytest.mark.parametrize(("high", "doubts"), [(1.0, 0), (100.0, 1)])
def test_finite_actions_says_so_for_experts(caplog, high, doubts):
    player = tarry.players.finite_actions(_arms(0.0, high, "gradient"))
    assert isinstance(player.learner, EntropicFTRL)
    assert caplog.text.count("finite_actions assumes losses in [0, 1]") == doubts
    arms = _arms(0.0, high)
    assert len(_said(arms, tarry.players.finite_actions(arms))) == doubts


def test_who_follows_the_sentence_is_not_doubted_again():
    game = _game(tarry.losses.Linear(RNG.normal(size=(T, 2))))
    for learner in (AdaDelay(BALL, 0.1, LATE), Adaptive(BALL, 0.1)):
        (found,) = _said(game, learner)
        bound = float(re.search(r"give gradient_bound=([\d.]+)", found)[1].rstrip("."))
        again = AdaDelay(BALL, bound, LATE) if isinstance(learner, AdaDelay) else Adaptive(BALL, bound)
        assert _said(game, again) == ()


class LightCoin(tarry.schedulers.Bernoulli):
    """A user's, which says nothing of a bias."""

    def arrive(self, state, slot, s, t):
        return 1.5


class SaidCoin(LightCoin):
    is_unbiased = False


class FairCoin(tarry.schedulers.Bernoulli):
    """A user's without fault, under another name."""


@pytest.mark.parametrize("capacity", [3, 64])
def test_a_scheduler_whose_weights_are_off_is_told(capacity):
    """Where nothing finds room nothing is owed; what is biased by its own word is not told again."""
    losses = tarry.losses.Linear(tarry.losses.drifting(2, rng=1))
    game = tarry.Game(BALL, losses, tarry.delays.geometric(horizon=600, mean=9, rng=2), capacity=capacity)
    told = {}
    for kind in (LightCoin, SaidCoin, FairCoin):
        for seeds in (4, 12):
            record = tarry.simulate(game, tarry.Player(OGD(BALL, 0.1), kind(probability=0.5)), seeds=seeds)
            told[kind, seeds] = [one for one in record.warnings if "rounds that find room weigh" in one]
    assert re.search(r"weigh 0\.7\d* on average and not 1, .* LightCoin is biased", *told[LightCoin, 12])
    assert not any(told[key] for key in told if key != (LightCoin, 12))  # of 4 seeds chance is not known


def test_a_player_that_restarts_is_owed_less_by_design():
    losses = tarry.losses.Linear(tarry.losses.drifting(2, rng=1))
    game = tarry.Game(BALL, losses, tarry.delays.geometric(horizon=300, mean=9, rng=2), capacity=8)
    player = tarry.Player(OGD(BALL, 0.1), FairCoin(probability=0.5), tarry.Doubling())
    assert not any("is biased" in one for one in tarry.simulate(game, player, seeds=12).warnings)


class Grabber(tarry.schedulers.base.Scheduler):
    """Takes slot 0 over where none is free, and does not say that it preempts."""

    is_unbiased = False

    def admit(self, state, draws, request):
        return max(request.vacancy, 0)

    def arrive(self, state, slot, s, t):
        return 1.0


class Honest(Grabber):
    needs_preemption = True


def test_a_scheduler_that_drops_rounds_says_so():
    rows = np.full((40, 2), 0.1)
    rules = {"domain": tarry.domains.Ball(2), "delays": tarry.delays.fixed(horizon=40, delay=5), "capacity": 2}
    game = tarry.Game(losses=tarry.losses.Linear(rows), **rules)
    for scheduler, is_told in ((Grabber(), True), (Honest(), False)):
        player = tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.1), scheduler)
        told = tarry.simulate(game, player, seeds=2).warnings
        assert any("does not say so: needs_preemption" in one for one in told) == is_told
        contract = tarry.testing.SchedulerContract()
        contract.scheduler = scheduler
        if is_told:
            with pytest.raises(AssertionError, match="needs_preemption = True"):
                contract.test_tracks_pending_rounds_within_capacity()
        else:
            contract.test_tracks_pending_rounds_within_capacity()
