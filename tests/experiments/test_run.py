"""Runs: what is played, what is kept, what is played again."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sweeping import TINY, collected, sweep_of, tables_of

import tarry
from tarry.experiments import Folder, run_sweep, standing
from tarry.experiments.columns import CELLS, CURVES, RUNS
from tarry.experiments.engines import Outcome, Threads
from tarry.experiments.parts import MERGED, Writer, list_parts, read_part
from tarry.experiments.play import build_game, build_player, play_cell


def finished(folder):
    """Cell, and how long it took: that tells whether it was played again."""
    frames = Folder(folder).read(["cell", "seconds"]).frames
    return dict(pl.concat(frames).iter_rows()) if frames else {}


def test_a_sweep_is_played_once(tmp_path):
    sweep, folder = sweep_of(tmp_path), Folder(tmp_path / "results")
    first = run_sweep(sweep, folder)
    assert (first.found, first.finished, first.failed) == (0, 16, {})
    before = finished(folder.path)
    again = run_sweep(sweep, folder)
    assert (again.found, again.finished, again.failed) == (16, 0, {})
    assert finished(folder.path) == before
    tables = folder.tables()
    assert tables.cells.height == 16
    assert tables.runs.height == 24
    assert sorted(tables.runs.group_by("cell").len()["len"].to_list()) == [1] * 8 + [2] * 8


def test_what_is_written_is_what_simulate_says(tmp_path):
    sweep = sweep_of(tmp_path)
    tables_of(sweep, tmp_path / "results")
    tables = Folder(tmp_path / "results").tables()
    assert tables.cells.columns == [*CELLS, "axis_mean"]
    assert tables.runs.columns == list(RUNS)
    assert tables.curves.columns == list(CURVES)
    chosen = tables.cells.filter(pl.col("player") == "paper", capacity=4, axis_mean=6, first_seed=0)
    plain = json.loads(chosen["content"].item())
    assert plain["seeds"] == [0, 1]
    record = tarry.simulate(
        None,
        lambda game: tarry.players.convex(game),
        [0, 1],
        games=lambda seed: tarry.Game(
            tarry.domains.Ball(2),
            tarry.losses.Linear(tarry.losses.drifting(2, rng=seed)),
            tarry.delays.geometric(horizon=60, mean=6, rng=seed),
            capacity=4,
        ),
        checkpoints=4,
    )
    runs = tables.runs.filter(pl.col("cell") == chosen["cell"].item())
    curves = tables.curves.filter(pl.col("cell") == chosen["cell"].item())
    assert runs["seed"].to_list() == [0, 1]
    assert runs["regret"].to_list() == record.regret.tolist()
    assert runs["loss"].to_list() == record.loss.tolist()
    assert runs.select("used", "untracked", "saturated", "preempted", "expired", "pending").rows() == [
        tuple(row) for row in record.fates.tolist()
    ]
    assert runs["variance"].to_list() == [one.variance for one in record.certificates]
    assert curves["regret"].to_list() == record.curve["regret"].to_list()
    assert curves["bound"].to_list() == record.curve["bound"].to_list()
    np.testing.assert_allclose(curves["loss"].to_numpy(), record.loss_at.ravel(), rtol=0)
    assert runs["scheduler_played"].unique().to_list() == ["Pareto"]


def test_a_game_that_nothing_draws_is_the_same_for_every_seed():
    game = {"domain": {"type": "Ball"}, "delays": {"type": "bursts"}, "feedback": "gradient", "capacity": 4}
    game |= {"information": "semi-clairvoyant", "queries": 1, "preemption": True, "horizon": 50, "dimension": 2}
    fixed = game | {"losses": {"type": "Linear", "rows": {"type": "drifting", "rng": 5}}}
    drawn = game | {"losses": {"type": "Linear", "rows": {"type": "drifting"}}}
    assert not build_game(fixed, 0)[1]
    assert build_game(drawn, 0)[1]
    assert build_game(fixed, 0)[0].losses.row(3).tolist() == build_game(fixed, 1)[0].losses.row(3).tolist()
    assert build_game(drawn, 0)[0].losses.row(3).tolist() != build_game(drawn, 1)[0].losses.row(3).tolist()
    content = {"game": fixed, "player": {"learner": {"type": "OGD.falling"}, "scheduler": {"type": "VarOpt"}}}
    rest = {"seeds": [0, 7], "checkpoints": 2, "bound": True}
    columns = play_cell("a", json.dumps(content | rest))
    assert columns["max_backlog"] == [build_game(fixed, 3)[0].delays.max_backlog] * 2
    assert columns["seed"] == [0, 7]


def test_more_seeds_and_values_recompute_nothing(tmp_path):
    tables_of(sweep_of(tmp_path), tmp_path / "results")
    before = finished(tmp_path / "results")
    wider = (
        TINY.replace("seeds = 3", "seeds = 4").replace("[3, 6]", "[3, 6, 9]").replace("players.paper", "players.new")
    )
    sweep = sweep_of(tmp_path, wider, "wider")
    done = run_sweep(sweep, Folder(tmp_path / "results"))
    # Of the old cells those with seeds 0 and 1 remain: 2 players, 2 capacities, 2 means.
    assert (done.found, done.finished) == (8, 24 - 8)
    after = finished(tmp_path / "results")
    assert {cell: after[cell] for cell in before} == before


def test_another_player_leaves_the_rest_alone(tmp_path):
    tables_of(sweep_of(tmp_path), tmp_path / "results")
    changed = sweep_of(tmp_path, TINY.replace("rate = 0.1", "rate = 0.2"))
    done = run_sweep(changed, Folder(tmp_path / "results"))
    assert (done.found, done.finished) == (8, 8)
    tables = Folder(tmp_path / "results").tables()
    assert tables.runs["cell"].n_unique() == 16  # the old rate's cells are there, and not in the tables


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_damaged_parts_are_found_and_played_again(tmp_path, damage):
    sweep, folder = sweep_of(tmp_path), Folder(tmp_path / "results")
    run_sweep(sweep_of(tmp_path, TINY.replace("[3, 6]", "[3]"), "half"), folder)
    run_sweep(sweep, folder)
    write = collected(folder.path)
    victim, *others = list_parts(folder.parts)
    assert others
    data = bytearray(victim.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 1
    victim.write_bytes({"flip": bytes(data), "cut": bytes(data[:-7]), "empty": b""}[damage])
    assert read_part(victim) is None
    found = standing(sweep, folder)
    assert found.damaged == 1
    assert found.missing == 8
    done = run_sweep(sweep, folder)
    assert (done.found, done.finished) == (8, 8)
    assert collected(folder.path) == write
    assert standing(sweep, folder).damaged == 0
    assert [path.stem for path in folder.parts.glob("*.damaged")] == [victim.stem]


def test_failures_are_told_and_tried_again(tmp_path):
    text = TINY + "[players.coin]\nlearner = { type = 'DWFTRL', rate = 0.1 }\nscheduler = 'Coin'\n"
    sweep, folder = sweep_of(tmp_path, text), Folder(tmp_path / "results")
    done = run_sweep(sweep, folder)
    assert done.finished == 16
    assert len(done.failed) == 8
    assert all("needs each delay when its round begins" in sentence for sentence in done.failed.values())
    assert standing(sweep, folder).failed == done.failed
    again = run_sweep(sweep, folder)
    assert (again.finished, again.failed) == (0, done.failed)
    folder.forgive(list(done.failed))
    assert standing(sweep, folder).failed == {}


class Interrupted(Threads):
    """Ctrl-C after some cells."""

    def play(self, contents):
        for number, outcome in enumerate(super().play(contents)):
            if number == 5:
                raise KeyboardInterrupt
            yield outcome


def test_an_interrupt_keeps_what_is_finished(tmp_path):
    sweep, folder = sweep_of(tmp_path), Folder(tmp_path / "results")
    seen = []
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep, folder, Interrupted(1), progress=lambda done, total: seen.append((done, total)))
    kept = finished(folder.path)
    assert 0 < len(kept) < 16
    assert seen[-1] == (len(kept), 16)
    assert run_sweep(sweep, folder).finished == 16 - len(kept)
    assert collected(folder.path) == tables_of(sweep, tmp_path / "other")


def test_many_parts_are_merged(tmp_path):
    cell = sweep_of(tmp_path).cells[0]
    columns = play_cell(cell.id, cell.content)
    writer, names = Writer(tmp_path / "parts"), [f"{i:032x}" for i in range(MERGED + 3)]
    for name in names:
        writer.add(columns | {"cell": [name] * len(columns["cell"])})
        assert writer.flush() == [name]
    assert len(list_parts(tmp_path / "parts")) == 4
    folder = Folder(tmp_path)
    assert folder.read().cells == set(names)
    # A writer killed between writing the merged part and removing the old ones leaves cells twice.
    writer.add(columns | {"cell": [names[0]] * len(columns["cell"])})
    writer.flush()
    assert sum(frame.height for frame in folder.read().frames) == len(names) * len(columns["cell"])


def test_a_players_facts_come_from_its_game():
    game = tarry.Game(
        tarry.domains.Ball(2, radius=2.0),
        tarry.losses.Linear(tarry.losses.drifting(2, rng=1)),
        tarry.delays.fixed(horizon=50, delay=7),
        capacity=8,
    )
    spec = {
        "learner": {"type": "DWFTRL", "rate": {"type": "Anytime", "waiting": 2.5}},
        "scheduler": {"type": "Morris.for_backlog", "backlog": "game.max_backlog"},
    }
    player = build_player(spec, game)
    assert player.learner.rate == tarry.rates.Anytime(4.0, 1.0, waiting=2.5)
    assert player.scheduler == tarry.schedulers.Morris.for_backlog(7, 8)


def test_an_outcome_without_columns_or_error_is_no_failure(tmp_path):
    class Idle:
        def play(self, contents):
            yield from (Outcome(cell, None) for cell in contents)

    sweep = sweep_of(tmp_path)
    assert run_sweep(sweep, Folder(tmp_path / "results"), Idle()) == (0, 0, {})


def test_the_folder_keeps_what_was_run(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "seeds.toml").write_text("seeds = 1\n# few\n")
    (tmp_path / "base.toml").write_text("include = ['parts/seeds.toml']\ncheckpoints = 3\n\n\n")
    text = "include = ['base.toml', 'parts/seeds.toml']\n" + TINY.replace("seeds = 3\n", "")
    sweep, folder = sweep_of(tmp_path, text), Folder(tmp_path / "results")
    assert folder.text() == ""
    (tmp_path / "tiny.toml").unlink()  # what counts is what was read when the sweep was listed
    run_sweep(sweep, folder)
    base, few = "include = ['parts/seeds.toml']\ncheckpoints = 3", "seeds = 1\n# few"
    assert folder.text() == f"{text.rstrip()}\n\n# --- base.toml ---\n{base}\n\n# --- seeds.toml ---\n{few}\n"


def test_a_sweep_that_lies_in_its_own_folder_is_not_written_over(tmp_path):
    (tmp_path / "base.toml").write_text("seeds = 1\n")
    text = "include = ['base.toml']\n" + TINY.replace("seeds = 3\n", "")
    run_sweep(sweep_of(tmp_path, text, name="sweep"), Folder(tmp_path))
    assert (tmp_path / "sweep.toml").read_text() == text
