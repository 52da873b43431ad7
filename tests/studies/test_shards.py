"""The variance that shards cost: the formula, against weights that were played, equal and unequal loads."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from studies import shards
from studies.__main__ import app
from studies.numbers import read_numbers
from studies.shards import BY_BACKLOG, BY_LOAD, EQUAL, POSITIVE, Case, alone, drawn, excess, measure, predicted

CAPACITY, CROWDING = 64, 4.0
pytestmark = pytest.mark.jit(only=True)  # hundreds of thousands of rounds


def played(case, capacity=CAPACITY, crowding=CROWDING, runs=40):
    slots = case.capacities(capacity, crowding * capacity)
    return slots, measure(case.loads, slots, crowding * capacity, runs, lambda: None, case.waits)


@pytest.fixture(scope="module")
def one():
    return played(Case("one", (1.0,), EQUAL))[1]


@pytest.mark.parametrize(
    "case",
    [
        Case("equal loads", (0.25,) * 4, EQUAL),
        Case("unequal loads", (0.55, 0.15, 0.15, 0.15), EQUAL),
        Case("unequal loads", (0.55, 0.15, 0.15, 0.15), BY_LOAD),
    ],
)
def test_the_formula_holds_within_3_percent(case, one):
    slots, found = played(case)
    ratio = found.steady.mean() / one.steady.mean()
    assert ratio == pytest.approx(predicted(case.loads, slots, CROWDING * CAPACITY), rel=0.03)
    if case == Case("unequal loads", (0.55, 0.15, 0.15, 0.15), EQUAL):
        assert ratio > 1.4, "what unequal loads cost is seen"
        assert ratio != pytest.approx(predicted((0.25,) * 4, slots, CROWDING * CAPACITY), rel=0.03), "the control"


def test_the_formula_itself_holds_near_capacity():
    """Of one join, not a ratio of two: waits that were half a decision longer would add a tenth here."""
    found = measure([1.0], [16], 1.2 * 16, 1000, lambda: None)
    assert found.steady.mean() == pytest.approx(excess(1.2 * 16, 16, 0.0), rel=0.03)


def test_slots_by_load_are_better_than_by_backlog_where_waits_differ(one):
    ratios = {}
    for kind in (BY_BACKLOG, BY_LOAD):
        slots, found = played(Case("waits", (0.5, 0.5), kind, (16.0, 1.0)))
        ratios[kind] = found.steady.mean() / one.steady.mean()
        assert ratios[kind] == pytest.approx(predicted((0.5, 0.5), slots, 256.0, waits=(16.0, 1.0)), rel=0.03)
    assert ratios[BY_LOAD] < 0.8 * ratios[BY_BACKLOG]


@pytest.mark.parametrize(
    ("case", "capacity", "crowding", "runs"),
    [
        (Case("two slots a shard", (1 / 16,) * 16, EQUAL), 32, 4.0, 60),
        (Case("15 near capacity", (0.5, *[0.5 / 15] * 15), EQUAL), 64, 2.0, 150),
        (drawn(2)[1], 96, 1.8, 60),
    ],
)
def test_the_formula_holds_with_few_slots_and_near_capacity(case, capacity, crowding, runs):
    slots, found = played(case, capacity, crowding, runs)
    one = played(Case("one", (1.0,), EQUAL), capacity, crowding, runs)[1]
    backlog = crowding * capacity
    ratio = found.steady.mean() / one.steady.mean()
    assert ratio == pytest.approx(predicted(case.loads, slots, backlog), rel=0.03)


def test_what_is_known_exactly():
    """A single slot has E w² = 1 + 2θ; weight above 1 is what Erlang's system loses; far below capacity, none."""
    for backlog in (2.0, 5.0, 16.0):
        assert excess(backlog, 1) == pytest.approx(2.0 * backlog, rel=0.04)
    assert shards._lost(2.0, 2.0) == pytest.approx(0.4)
    assert shards._lost(1e6, 100.0) == pytest.approx(1.0 - 1e-4)
    assert excess(4e6, 10**6) == pytest.approx(3.0, rel=1e-3), "θ − 1 where slots are many"
    assert excess(20.0, 100) < 1e-9


def test_a_shard_below_its_capacity_adds_nothing():
    alone = measure([1.0], [1000], 40.0, 1, lambda: None)
    assert alone.squares.sum() == 0.0
    assert measure([0.97, 0.03], [10, 40], 40.0, 1, lambda: None).squares.sum() > 0.0


def test_errors_of_sums_have_the_variance_of_the_weights(monkeypatch):
    """For independent labels of any mean, since weights sum to the decisions."""
    monkeypatch.setattr(shards, "BACKLOGS", 13)
    found = measure([0.5, 0.5], [2, 2], 12.0, 300, lambda: None)
    sums = np.mean(found.errors**2) / (POSITIVE * (1 - POSITIVE) * found.squares.mean())
    assert abs(sums - 1.0) < 4 * np.sqrt(2 / 300)


@pytest.mark.parametrize(("by_chance", "off"), [(False, 0.0), (True, -0.035)])
def test_one_shard_as_the_page_says(by_chance, off):
    """Few slots and decisions that come by chance: there the formula is too small, and not where they come evenly."""
    found = np.mean([alone(1, 2.0, by_chance, 250_000, seed) for seed in range(4)])
    assert excess(2.0, 1, float(by_chance)) / found - 1.0 == pytest.approx(off, abs=0.02)


def test_the_command_for_one_shard_keeps_its_table(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.numbers.NUMBERS", tmp_path / "figures.json")
    for name, few in {"SLOTS": (2, 32), "CROWDINGS": (0.5, 4.0), "PARTS": 2}.items():
        monkeypatch.setattr(shards, name, few)
    done = CliRunner().invoke(app, ["shard", "--decisions", "50000", "--write"])
    assert done.exit_code == 0, done.output
    kept = read_numbers()["shard"]
    assert kept["command"] == "python -m studies shard --decisions 50000 --write"
    heads, *rows = (line.strip("| ").split(" | ") for line in kept["values"]["table"])
    assert heads == ["v", "slots", "θ = 0.5", "θ = 4"]
    assert [row[:2] for row in rows] == [["0", "2"], ["0", "32"], ["1", "2"], ["1", "32"]]
    assert rows[1][2] == "–"
    assert all(abs(float(row[3].split()[0])) < 8 for row in rows)
    many = sorted(float(row[3].split()[0]) for row in rows[1::2])
    assert kept["values"]["off"]["32 to 256 slots"] == pytest.approx(many, abs=0.051)


def test_the_command_keeps_its_table_and_the_worst_case(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.numbers.NUMBERS", tmp_path / "figures.json")
    monkeypatch.setattr("studies.shards.CASES", (Case("2 shards", (0.5, 0.5), EQUAL),))
    words = ["shards", "--capacity", "24", "--crowding", "1.5", "--runs", "2", "--random", "1", "--write"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    kept = read_numbers()["shards 24, 1,5"]
    assert kept["command"] == "python -m studies shards --capacity 24 --crowding 1.5 --runs 2 --random 1 --write"
    table, worst = kept["values"]["table"], kept["values"]["worst"]
    assert len(table) == 4
    off = max(abs(float(line.split(" | ")[4].rstrip("%"))) for line in table[1:])
    assert off == pytest.approx(100 * abs(worst["off"]), abs=0.051)
    assert 1 <= worst["smallest"] <= 12
