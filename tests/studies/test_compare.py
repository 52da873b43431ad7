"""The instances follow their definitions; the command prints and writes what brute force finds."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from studies import compare
from studies.__main__ import app
from studies.compare import DELAYS, LOSSES, instance
from studies.numbers import read_numbers
from tarry import schedulers
from tarry.kernel import Purpose, make_key
from tarry.kernel.keyed import normals, uniform

T, SEED, K = 900, 3, 10


def uniforms(seed, count):
    with np.errstate(over="ignore"):
        return np.array([uniform(make_key(seed, Purpose.DELAYS), t) for t in range(1, count + 1)])


def brute_delays(name, seed, horizon):
    t, u = np.arange(1, horizon + 1), uniforms(seed, horizon)  # u is 1 − U
    waits = {
        "fixed": np.full(horizon, 200),
        "geometric": np.floor(np.log(u) / np.log(1 - 1 / 200)),
        "heavy": np.floor(20 * (u ** (-1 / 0.9) - 1)),
        "heavy, finite mean": np.floor(62 * (u ** (-1 / 1.3) - 1)),
        "bursts": np.where((t - 1) // 250 % 2 == 0, 400, 3),
        "zero": np.zeros(horizon),
    }[name]
    return np.minimum(waits, horizon - t).astype(int)


def brute_rows(name, seed, horizon):
    key, blocked = make_key(seed, Purpose.LOSSES), "blocks" in name
    v, z = np.zeros(K), np.zeros((horizon, K))
    with np.errstate(over="ignore"):
        normals(key, 0, v)
        for i in range(horizon):
            normals(key, 1 + (i // 200 if blocked else i), z[i])
    v, z = v / np.linalg.norm(v), z / np.sqrt(K)
    rows = {
        "linear with drift": 0.3 * v + z,
        "adversarial blocks": z,
        "strongly convex i.i.d.": 0.5 * v + 0.5 * z,
        "strongly convex blocks": z + 0.5 * v,
    }[name]
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / (np.maximum(norms, 1) if "convex" in name else norms)


def brute_backlog(waits):
    s = np.arange(waits.size)
    return np.array([np.sum((s < t) & (s + waits >= t)) for t in s])


@pytest.mark.parametrize("name", DELAYS)
def test_delays_follow_their_definition(name):
    made = instance("linear with drift", name, horizon=T, capacity=4)(SEED).delays.values
    np.testing.assert_array_equal(made, brute_delays(name, SEED, T))


@pytest.mark.parametrize("name", LOSSES)
def test_losses_follow_their_definition(name):
    game = instance(name, "zero", horizon=T, capacity=4)(SEED)
    rows, x = brute_rows(name, SEED, T), np.full(K, 0.1)
    for t in (1, 2, 200, 201, T):
        expected = 0.5 * np.sum((x - rows[t - 1]) ** 2) if "convex" in name else rows[t - 1] @ x
        assert game.losses.value(x, t=t) == pytest.approx(expected, rel=1e-12)
    assert game.losses.strong_convexity == ("convex" in name)
    assert (game.domain.radius, game.domain.center.tolist(), game.capacity) == (1.0, [0.0] * K, 4)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="there are no delays named 'slow': choose one of 'fixed', 'geometric'"):
        instance("linear with drift", "slow", horizon=5, capacity=1)


def test_regret_without_a_limit_is_that_of_the_formula():
    horizon, found = 80, []
    for seed in (0, 1):
        rows, waits = (
            make(name, seed, horizon) for make, name in ((brute_rows, "linear with drift"), (brute_delays, "heavy"))
        )
        regrets = []
        for step in (0.25, 1, 4, 16, 64):
            rate, total = step * 2 / np.sqrt(waits.sum() + horizon), 0.0
            for t in range(horizon):
                arrived = np.arange(horizon) + waits < t
                x = -rate * rows[arrived].sum(axis=0)
                total += rows[t] @ x / max(1.0, np.linalg.norm(x))
            regrets.append(total + np.linalg.norm(rows.sum(axis=0)))
        found.append(regrets)
    means = np.mean(found, axis=0)
    best = int(np.argmin(means))
    cell = compare.regret_cell("linear with drift", "heavy", None, "unlimited", 2, horizon)
    assert cell["step"] == compare.STEPS[best]
    assert cell["regret"] == pytest.approx(means[best], rel=1e-9)
    assert cell["standard_error"] == pytest.approx(abs(found[0][best] - found[1][best]) / 2, rel=1e-9)


def test_a_scheduler_without_weights_is_not_held_back_by_its_step(monkeypatch):
    """At the paper's rate drop newest, which sees one round in twelve or so, looks several times as bad."""
    place = ("strongly convex i.i.d.", "fixed", 8, "drop newest", 2, 2_000)
    best = compare.regret_cell(*place)
    monkeypatch.setattr(compare, "STEPS", (1.0,))
    assert best["step"] > 1.0
    assert compare.regret_cell(*place)["regret"] > 2 * best["regret"]


def test_strongly_convex_games_take_the_rate_of_the_paper():
    learner = compare.paper_learner(instance("strongly convex blocks", "heavy", horizon=50, capacity=4)(0))
    assert (learner.rate.scale, learner.rate.exponent) == (1.0, 1.0)


def test_players_are_what_their_names_say():
    game = instance("linear with drift", "fixed", horizon=T, capacity=16)(0)
    made = {name: compare.make_player(name, game) for name in (*compare.SCHEDULERS, *compare.LEARNERS)}
    assert made["Bernoulli (paper)"].scheduler == schedulers.Bernoulli(max_backlog=200)
    assert made["Bernoulli (calibrated)"].scheduler == schedulers.Bernoulli.calibrated(200, 16)
    assert made["Pareto (paper)"].scheduler == schedulers.Pareto(16.0)
    assert made["Pareto (calibrated)"].scheduler == schedulers.Pareto.calibrated(16)
    assert made["Morris"].scheduler == schedulers.Morris.for_backlog(200, 16)
    assert made["Batching"].scheduler == schedulers.Batching(max_delay=200)
    assert made["time out"].scheduler == schedulers.Timeout(15)
    assert made["DoublingBernoulli"].epochs.needs_preemption
    for name, player in made.items():
        assert player.scheduler.is_unbiased == (name not in compare.UNWEIGHTED)
    assert type(made["VarOpt, Adaptive"].learner).__name__ == "Adaptive"
    assert type(made["VarOpt, Anytime"].learner.rate).__name__ == "Anytime"
    assert made["VarOpt, Doubling"].epochs.over == "total"
    assert made["VarOpt"].learner.rate.value == pytest.approx(2 / np.sqrt(brute_delays("fixed", 0, T).sum() + T))


def test_these_schedulers_are_compared():
    """Not Proxy, which is a curve of one's own, nor Skipping, which is for arms; Always is without a limit."""
    game = instance("linear with drift", "fixed", horizon=50, capacity=4)(0)
    named = {type(compare.make_player(name, game).scheduler).__name__ for name in compare.SCHEDULERS}
    weighted = {
        "Batching",
        "Bernoulli",
        "Coin",
        "DoublingBernoulli",
        "Morris",
        "Pareto",
        "Priority",
        "Thinning",
        "VarOpt",
    }
    assert named == weighted | {"DropNewest", "DropOldest", "RandomEvict", "Reservoir", "Timeout"}
    assert [name for name in compare.SCHEDULERS if compare.allow(name, game) != game] == ["Coin"]
    assert compare.make_player("unlimited", dataclasses.replace(game, capacity=None)).scheduler == schedulers.Always()


def test_yardsticks():
    found = compare.yardsticks("heavy", 8, 2, 300)
    waits = [brute_delays("heavy", seed, 300) for seed in (0, 1)]
    backlogs = [brute_backlog(one) for one in waits]
    assert found["reference"] == pytest.approx(np.mean([(one.mean() + 1) / 8 for one in backlogs]))
    assert found["limit"] == pytest.approx(np.mean([np.sqrt(one + 1).mean() ** 2 / 8 for one in waits]))
    assert found["share"] == pytest.approx(np.mean([8 / one.max() for one in backlogs]))


@pytest.fixture
def small(monkeypatch):
    """Two delays and one capacity, so that the command ends soon."""
    monkeypatch.setattr(compare, "MOMENT_DELAYS", ("fixed", "zero"))
    monkeypatch.setattr(compare, "CAPACITIES", (8,))


def test_doubling_is_held_against_anytime():
    """Worked: 6 and 8 over 2 and 4."""
    cells = [(8, "VarOpt, Anytime", 2.0), (8, "VarOpt, Doubling", 6.0), (16, "VarOpt, Anytime", 4.0)]
    cells += [(16, "VarOpt, Doubling", 8.0), (16, "VarOpt", 1.0)]
    regrets = [
        {"losses": "drift", "delays": "fixed", "capacity": slots, "player": name, "regret": regret}
        for slots, name, regret in cells
    ]
    assert compare.doubling_values(regrets) == {"drift": [2.0, 3.0]}


def test_the_command(small, tmp_path, monkeypatch):
    monkeypatch.setattr("studies.numbers.NUMBERS", tmp_path / "figures.json")
    file = tmp_path / "new" / "numbers.json"
    done = CliRunner().invoke(app, ["compare", "--seeds", "2", "--horizon", "40", "--json", str(file), "--write"])
    assert done.exit_code == 0, done.output
    numbers = json.loads(file.read_text())
    assert read_numbers()["compare"]["command"] == "python -m studies compare --seeds 2 --horizon 40 --write"
    assert (numbers["seeds"], numbers["horizon"], numbers["moment_horizon"]) == (2, 40, 40)
    entered = len(compare.SCHEDULERS)
    assert len(numbers["moments"]) == 2 * entered
    assert len(numbers["regret"]) == 2 * (1 + entered + 3) + 3 * (1 + entered)
    still = {cell["scheduler"]: cell["moment"] for cell in numbers["moments"] if cell["delays"] == "zero"}
    assert {
        still[name] for name in ("VarOpt", "Priority", "Morris", "Batching", "Bernoulli (paper)") if name in still
    } == {1.0}
    # No label comes before the last play, so every player stays at 0.
    lost = np.mean([np.linalg.norm(brute_rows("adversarial blocks", seed, 40).sum(axis=0)) for seed in (0, 1)])
    blocks = [cell["regret"] for cell in numbers["regret"] if cell["losses"] == "adversarial blocks"]
    np.testing.assert_allclose(blocks, lost)
    assert [one["share"] for one in numbers["yardsticks"]] == [8 / 39, None]
    assert {(one["delays"], one["capacity"]) for one in numbers["regret_yardsticks"]} == {
        ("fixed", 8),
        ("heavy, finite mean", 8),
    }
    assert "Mean E[w²] ± half the 95 % interval, 40 rounds, 2 seeds" in " ".join(done.output.split())
    assert f"{lost:.4g}" in done.output


def test_quick_lowers_seeds_and_rounds(monkeypatch):
    asked = []
    monkeypatch.setattr("studies.compare.run_compare", lambda console, *given: asked.append(given))
    for arguments in ([], ["--quick"], ["--quick", "--seeds", "4"]):
        assert CliRunner().invoke(app, ["compare", *arguments]).exit_code == 0
    assert asked == [(48, 20_000, None), (8, 4000, None), (4, 4000, None)]


def test_a_file_that_cannot_be_written_is_told_before_play(tmp_path):
    done = CliRunner().invoke(app, ["compare", "--json", str(tmp_path)])
    assert done.exit_code == 2
    assert "choose another file with --json" in done.output
