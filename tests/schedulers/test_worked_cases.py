"""The worked cases, replayed with recorded draws through ``simulate``."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry import schedulers
from tarry.schedulers import varopt
from tarry.schedulers.base import RecordedLosers
from tarry.testing import follow
from tests.conftest import worked_cases


def replay(scheduler, case, draws, information="semi-clairvoyant"):
    horizon = len(case["delays"])
    domain = tarry.domains.Ball(1)
    game = tarry.Game(
        domain=domain,
        losses=tarry.losses.Linear(np.ones((horizon, 1))),
        delays=tarry.delays.array(case["delays"]),
        capacity=case["C"],
        information=information,
    )
    player = tarry.Player(tarry.learners.DWFTRL(domain, rate=0.1), scheduler)
    return tarry.simulate(game, player, draws=draws, keep_rounds=True, bound=False)


def retell(record):
    """S_t at the start of t, S_t after preemption, who entered, who was preempted when, arrivals."""
    horizon = record.horizon
    start, inner, admitted, preempted_at, arrivals = [], [], [False] * horizon, [None] * horizon, []
    tracked: set[int] = set()
    events = record.events().rows()
    for t in range(1, horizon + 1):
        mine = [(event, s, weight) for at, event, s, weight in events if at == t]
        start.append(sorted(tracked))
        for event, s, _ in mine:
            if event == "preempted":
                tracked.remove(s)
                preempted_at[s - 1] = t
        inner.append(sorted(tracked))
        for event, s, weight in mine:
            if event == "entered":
                tracked.add(s)
                admitted[s - 1] = True
            elif event == "feedback":
                tracked.remove(s)
                arrivals.append([t, s, weight])
            elif event == "expired":
                arrivals.append([t, s, 0.0])
    return start, inner, admitted, preempted_at, arrivals


def assert_close(found, expected):
    expected = np.asarray(expected, dtype=float)
    assert np.all(np.abs(np.asarray(found) - expected) <= 1e-9 * np.maximum(1, np.abs(expected)))


PAPER = {
    "pareto": lambda case: schedulers.Pareto(),
    "bernoulli": lambda case: schedulers.Bernoulli(max_backlog=case["sigma_max"]),
    "pareto_bernoulli": lambda case: schedulers.Coin(),
}


@pytest.mark.parametrize(("case", "expected"), worked_cases("wrapper"))
def test_wrapper(case, expected):
    name = case["scheduler"]
    proxies = [np.inf if d == "inf" else d for d in case["dprime"]]
    told = "clairvoyant" if name == "pareto_bernoulli" else "semi-clairvoyant"
    record = replay(PAPER[name](case), case, tarry.Recorded(proxy_delays=proxies), told)
    _, inner, admitted, preempted_at, arrivals = retell(record)
    weights = record.rounds()["weight"].to_numpy()
    if told == "clairvoyant":
        # Who knows the delays needs no acknowledgement: its zero placeholders follow from them.
        due = [(s + d, s) for s, d in enumerate(case["delays"], start=1)]
        arrivals = [[t, s, weights[s - 1]] for t, s in sorted(due)]
    assert inner == expected["S"]
    assert admitted == expected["admitted"]
    assert preempted_at == expected["preempted_at"]
    assert (weights > 0).tolist() == expected["observed"]
    assert_close(weights, expected["weights"])
    assert_close(arrivals, expected["arrival_order"])


@pytest.mark.parametrize(("case", "expected"), worked_cases("ours"))
def test_ours(case, expected):
    if case["scheduler"] == "varopt":
        scheduler = schedulers.VarOpt()
        draws = tarry.Recorded(lost=[lost or 0 for lost in case["lost"]])
    elif case["scheduler"] == "priority":
        scheduler, draws = schedulers.Priority(allow_single=True), tarry.Recorded(uniforms=case["uniforms"])
    else:
        scheduler, draws = schedulers.Morris(case["epsilon"]), tarry.Recorded(uniforms=case["uniforms"])
    record = replay(scheduler, case, draws, "non-clairvoyant")
    start, inner, admitted, _, _ = retell(record)
    weights = record.rounds()["weight"].to_numpy()
    assert start == expected["S"]
    assert_close(weights, expected["weights"])
    if "admitted" in expected:
        assert admitted == expected["admitted"]
    if "observed" in expected:
        assert (weights > 0).tolist() == expected["observed"]
    if "evicted" in expected:
        assert evicted(start, inner, admitted, case["C"]) == expected["evicted"]


def evicted(start, inner, admitted, capacity):
    lost = []
    for t, (before, after) in enumerate(zip(start, inner, strict=True), start=1):
        gone = sorted(set(before) - set(after))
        lost.append(gone[0] if gone else (None if admitted[t - 1] else t))
        assert (lost[-1] is None) == (len(before) < capacity)
    return lost


VAROPT = [case for case in worked_cases("ours") if case.values[0]["scheduler"] == "varopt"]


@pytest.mark.parametrize(("case", "expected"), VAROPT)
def test_varopt_threshold(case, expected, monkeypatch):
    found = [None] * len(case["delays"])
    choose = varopt.choose_loser

    def spy(source, state, t, first, theta, size):
        found[t - 1] = theta
        return choose(source, state, t, first, theta, size)

    monkeypatch.setattr(varopt, "choose_loser", spy)
    lost = np.array([lost or 0 for lost in case["lost"]], dtype=np.int64)
    follow(schedulers.VarOpt(), case["delays"], capacity=case["C"], draws=RecordedLosers(lost))
    assert [theta is None for theta in found] == [theta is None for theta in expected["theta"]]
    assert_close([theta or 0 for theta in found], [theta or 0 for theta in expected["theta"]])


@pytest.mark.parametrize(("case", "expected"), worked_cases("tails"))
def test_tails(case, expected):
    capacity = case["C"]
    if case["scheduler"] == "bernoulli":
        scheduler = schedulers.Bernoulli(max_backlog=case["sigma_max"])
        assert_close(scheduler.survival(1, 0, capacity), expected["p"])
    else:
        scheduler = schedulers.Pareto()
        tail = [scheduler.survival(t, case["d"], capacity) for t in case["rounds"]]
        assert_close(tail, expected["tail"])
