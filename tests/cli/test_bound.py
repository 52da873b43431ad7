"""tarry bound: a table or JSON of every bound that follows."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tarry import theory
from tarry.cli.app import app

CONVEX = [
    "--horizon",
    "10000",
    "--capacity",
    "32",
    "--total-delay",
    "1000000",
    "--diameter",
    "2",
    "--gradient-bound",
    "1",
]


def call(*arguments):
    return CliRunner().invoke(app, ["bound", *arguments], env={"COLUMNS": "120"})


def test_the_table_shows_the_bounds():
    done = call(*CONVEX)
    assert done.exit_code == 0, done.output
    game = {"diameter": 2.0, "gradient_bound": 1.0, "horizon": 10_000, "total_delay": 1_000_000}
    assert f"{theory.pareto_bound(**game, capacity=32):,.0f}" in done.stdout
    assert f"{theory.varopt_bound(**game):,.0f}" in done.stdout
    assert "GDT = 20,000" in done.stdout
    assert "strongly convex" not in done.stdout


def test_json_has_the_same_numbers():
    read = json.loads(call(*CONVEX, "-f", "json").stdout)
    assert read["trivial"] == 20_000
    assert {row["scheduler"] for row in read["bounds"]} == {"Pareto", "VarOpt", "Priority", "Morris"}
    assert read["constants"]["capacity"] == 32


def test_horizon_and_capacity_are_enough():
    done = call("--horizon", "10000", "--capacity", "16")
    assert done.exit_code == 0, done.output
    for mean in (4, 64, 1024):
        units = {"diameter": 1.0, "gradient_bound": 1.0, "horizon": 10_000, "total_delay": mean * 10_000}
        assert f"{theory.varopt_bound(**units):,.0f}" in done.stdout
        assert f"delay {mean:,}" in done.stdout
    assert "10,000 GD holds for every player" in " ".join(done.stdout.split())
    rows = json.loads(call("--horizon", "10000", "--capacity", "16", "-f", "json").stdout)["bounds"]
    assert {row["mean_delay"] for row in rows} == {4, 16, 64, 256, 1024}


def test_batches_need_a_longest_delay():
    read = json.loads(call(*CONVEX, "--max-delay", "400", "-f", "json").stdout)
    game = {"diameter": 2.0, "gradient_bound": 1.0, "horizon": 10_000, "total_delay": 1_000_000}
    batches = [row["value"] for row in read["bounds"] if row["scheduler"] == "Batching"]
    assert batches == [theory.batching_bound(**game, max_delay=400, capacity=32)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--horizon", "100", "--capacity", "4", "--diameter", "2"], "no bound follows from these constants"),
        ([*CONVEX, "--max-backlog", "50"], "has a total delay between"),
        ([*CONVEX[:-1], "-1"], "--gradient-bound must be positive"),
        (["--capacity", "4"], "--horizon"),
        (["--horizon", "0", "--capacity", "4"], "--horizon must be a whole number of at least 1"),
        (
            [*CONVEX, "--strong-convexity", "1.5"],
            "--strong-convexity 1.5 and gradients up to 1 allow a diameter",
        ),
        ([*CONVEX, "--max-delay", "50"], "has a total delay between 50 and 498725, got 1000000"),
    ],
)
def test_refusals(arguments, sentence):
    done = call(*arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr


def test_a_longest_delay_adds_batching():
    game = {"diameter": 2.0, "gradient_bound": 1.0, "horizon": 10_000, "total_delay": 1_000_000, "max_delay": 150}
    read = json.loads(call(*CONVEX, "--max-delay", "150", "-f", "json").stdout)
    (batching,) = (row for row in read["bounds"] if row["scheduler"] == "Batching")
    assert batching["value"] == theory.batching_bound(**game, capacity=32)
    assert read["constants"]["max_delay"] == 150


def test_one_slot_is_one_too_few_for_priority():
    done = call(*CONVEX[:3], "1", *CONVEX[4:])
    assert "Priority's bound needs a capacity of at least 2, got 1" in " ".join(done.stdout.split())
