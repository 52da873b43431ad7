"""Doubling reproduces the worked cases and is refused where the model forbids it."""

from __future__ import annotations

import numpy as np
import pytest
from casework import agree, domain_of, losses_of, proxies_of, sets_before_admission

import tarry
from tarry.learners import DWFTRL
from tarry.rates import DoublingRate, inverse_time
from tarry.schedulers import DoublingBernoulli, Pareto
from tarry.tracking.doubling import LABEL, enters_epoch, fresh_epochs
from tests.oracles import theory


def _labels(epochs, delays):
    memory, labels, starts = fresh_epochs(), [], []
    for t, pending in enumerate(theory.backlogs(delays), start=1):
        if enters_epoch(epochs, memory, t, int(pending)):
            starts.append(t)
        labels.append(int(memory[LABEL]))
    return labels, starts


@pytest.mark.cases("doubling")
def test_worked_cases(given, expected):
    delays = np.array(given["delays"])
    kind = {"sigma": "backlog", "two_dim": "pair", "one_dim_labels": "total"}[given["kind"]]
    epochs = tarry.Doubling(kind)
    labels, starts = _labels(epochs, delays)
    if kind == "pair":
        labels = [[label // 64, label % 64] for label in labels]
    assert labels == expected["epoch"]
    assert starts == expected["starts"]
    if "losses" not in given:
        return
    domain = domain_of(given["domain"])
    if kind == "pair":
        player = tarry.Player(
            DWFTRL(domain, rate=DoublingRate(given["D"], given["G"]), start=given["start"]), Pareto(), epochs
        )
    else:
        player = tarry.Player(
            DWFTRL(domain, rate=inverse_time(given["lam"]), start=given["start"]), DoublingBernoulli(), epochs
        )
    game = tarry.Game(domain, losses_of(given["losses"]), tarry.delays.array(delays), capacity=given["C"])
    draws = tarry.Recorded(proxy_delays=proxies_of(given["dprime"]))
    record = tarry.simulate(game, player, draws=draws, keep_rounds=True)
    agree(record.plays(), expected["x"])
    agree(record.rounds()["weight"], expected["weights"])
    agree(record.regret[0], expected["regret"])
    assert sets_before_admission(record) == expected["S"]
    assert record.fates.sum() == delays.size


def test_labels_agree_with_theory():
    delays = np.random.default_rng(3).integers(0, 60, 300)
    cut = tarry.delays.array(delays).values
    assert _labels(tarry.Doubling("total"), cut)[0] == np.asarray(theory.total_labels(cut)).tolist()
    assert _labels(tarry.Doubling("backlog"), cut)[0] == np.asarray(theory.backlog_labels(cut)).tolist()


def _player(epochs):
    domain = tarry.domains.Ball(2)
    rate = 0.1 if epochs.over == "backlog" else DoublingRate(2.0, 1.0)
    return domain, tarry.Player(DWFTRL(domain, rate=rate), epochs=epochs)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"preemption": False}, "which is preemption"),
        ({"information": "non-clairvoyant"}, "needs acknowledgements"),
    ],
)
def test_refused_where_the_model_forbids_it(options, sentence):
    domain, player = _player(tarry.Doubling("backlog"))
    player = tarry.Player(player.learner, tarry.schedulers.DoublingBernoulli(), player.epochs)
    game = tarry.Game(
        domain, tarry.losses.Linear(np.ones((9, 2))), tarry.delays.fixed(horizon=9, delay=2), capacity=2, **options
    )
    with pytest.raises(tarry.errors.NotGranted, match=sentence):
        tarry.simulate(game, player)


def test_bad_arguments():
    with pytest.raises(ValueError, match="'everything'"):
        tarry.Doubling("everything")
    with pytest.raises(ValueError, match="over='backlog' only"):
        tarry.Doubling("total", first=2)


@pytest.mark.parametrize("over", ["total", "backlog", "pair"])
def test_live_equals_simulated_through_restarts(over):
    rng = np.random.default_rng(5)
    horizon = 150
    rows, delays = rng.normal(size=(horizon, 2)), tarry.delays.array(rng.integers(0, 40, horizon))
    domain, player = _player(tarry.Doubling(over))
    game = tarry.Game(domain, tarry.losses.Linear(rows), delays, capacity=4)
    record = tarry.simulate(game, player, seeds=[2], keep_rounds=True)
    quiet = tarry.simulate(game, player, seeds=[2])
    assert np.array_equal(record.regret, quiet.regret)
    session = tarry.Session(player, capacity=4, information="semi-clairvoyant", rng=2)
    for t in range(1, horizon + 1):
        assert np.array_equal(session.ask().play, record.plays()[t - 1])
        for s in range(1, t + 1):
            if s + delays.values[s - 1] == t:
                session.tell(s, gradient=rows[s - 1])
    assert list(session.status().fates.values()) == record.fates[0].tolist()
    assert session.status().balance == pytest.approx(1.0)
    assert session.status().certificate.rounds == record.certificates[0].rounds


def test_a_first_guess_spares_restarts():
    delays = np.full(100, 30)
    assert len(_labels(tarry.Doubling("backlog"), delays)[1]) == 6
    assert len(_labels(tarry.Doubling("backlog", first=4), delays)[1]) == 2


def _late(horizon):
    """Delays of 0 or 1, in the second half, whose sum passes powers of two at equal distances (proofs, 9)."""
    passed = np.floor(2.0 ** (np.log2(horizon) / 2 * np.linspace(0, 1, horizon // 2 + 1)))
    late = tarry.delays.array(np.concatenate((np.zeros(horizon // 2), np.diff(passed))).astype(int))
    return tarry.Game(tarry.domains.Ball(1), tarry.losses.Linear(np.ones((horizon, 1))), late)


@pytest.mark.parametrize("horizon", [2**12, 2**14])
def test_two_guesses_can_cost_a_logarithm_and_their_sum_costs_a_constant(horizon):
    game = _late(horizon)
    regret = {}
    for over in ("pair", "total"):
        learner = DWFTRL(game.domain, rate=DoublingRate(2.0, 1.0))
        player = tarry.Player(learner, tarry.schedulers.Always(), tarry.Doubling(over))
        regret[over] = tarry.simulate(game, player, bound=False, checkpoints=1).regret[0]
    least = (np.log2(horizon) / 2 - 1) * 2 * np.sqrt(horizon) / 8
    assert regret["pair"] >= least
    assert regret["total"] < least
    # 2·2^m/8 for each epoch of label m, and less than two rounds for feedback that comes late.
    assert regret["total"] <= 2 * 4 * np.sqrt(horizon + game.delays.total_delay) / 8 + 2 * 8
