"""tarry report: what it plays again, what it writes, what it refuses."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from sweeping import PAIR
from typer.testing import CliRunner

from tarry.cli.app import app
from tarry.experiments import Folder, load_sweep, run_sweep
from tarry.experiments.play import build_game, build_player
from tarry.experiments.replays import DELAYS, _why, best_of_pieces, head, replay_lines
from tarry.game import simulate
from tarry.reports.view import view, with_baselines

SWEEP = f"""name = "tiny"{PAIR}
[players.wrong]
learner = {{ type = "DWFTRL", rate = 0.1 }}
scheduler = {{ type = "Bernoulli" }}
"""


def call(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "120"})


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "tiny.toml").write_text(SWEEP, encoding="utf-8")
    run_sweep(load_sweep(folder / "tiny.toml"), Folder(folder / "results"))
    return folder


@pytest.fixture(scope="module")
def seen(results):
    return view(*Folder(results / "results").tables())


@pytest.fixture(scope="module")
def replays(seen):
    made, note = replayed(seen)
    assert note == ""
    return made


def replayed(seen):
    return replay_lines(seen.cells, seen.runs, seen.lines, with_baselines(seen).runs, lambda _: None)


@pytest.fixture
def undrawn(monkeypatch):
    """Figures take longest, and other tests look at them."""
    monkeypatch.setattr("tarry.reports.sweeps.Page.svgs", lambda page: {f.name: "<svg></svg>" for f in page.figures})


@pytest.mark.usefixtures("undrawn")
def test_a_page_from_a_folder(results, tmp_path):
    pytest.importorskip("altair")
    done = call("report", results / "results", "--out", tmp_path, "--only", "html", "--only", "tables")
    assert done.exit_code == 0, done.output
    assert done.stdout.split() == [str(tmp_path / name) for name in ("index.html", "tables.md", "tables.tex")]
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "4 of 6 cells are finished" in page
    assert "give max_backlog or probability" in page
    for name in ("regret", "comparators", "timeline", "survival", "tracked", "ledger"):
        assert f'id="{name}"' in page, name


@pytest.mark.usefixtures("undrawn")
def test_the_file_is_shown_and_nothing_is_played_where_that_is_asked(results, tmp_path):
    pytest.importorskip("altair")
    file = results / "tiny.toml"
    done = call("report", results / "results", "--out", tmp_path, "--only", "html", "--no-replay", "--file", file)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert f"tarry sweep run {file}" in page
    assert "[players.fading]" in page
    assert 'id="timeline"' not in page


@pytest.mark.usefixtures("undrawn")
def test_the_file_is_shown_as_it_was_run(results, tmp_path):
    pytest.importorskip("altair")
    done = call("report", results / "results", "--out", tmp_path, "--only", "html", "--no-replay")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "[players.fading]" in page
    assert "tarry sweep run tiny.toml --results" in page


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "holds no results: run a sweep first"),
        (["nowhere", "--only", "gif"], "--only takes html, svg, pdf, png, tables, got 'gif'"),
    ],
)
def test_refusals(tmp_path, arguments, sentence):
    done = call("report", tmp_path / arguments[0], *arguments[1:])
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.output


def test_stays_fill_slots_and_never_overlap(replays):
    assert set(replays.lines) == {"kept", "fading"}
    assert replays.capacity == 3
    assert replays.stays["lane"].max() < 3
    assert replays.tracked["tracked"].max() <= 3
    for (_line, _lane), stays in replays.stays.group_by("line", "lane"):
        ordered = stays.sort("start")
        assert (ordered["start"][1:] >= ordered["stop"][:-1]).all()
    assert (replays.stays["stop"] > replays.stays["start"]).all()
    shown = set(range(replays.first, replays.last + 1))
    for line in replays.lines:
        passed = set(replays.passed.filter(pl.col("line") == line)["t"])
        stays = replays.stays.filter((pl.col("line") == line) & (pl.col("start") > replays.first))
        assert passed | set(stays["start"]) >= shown - {replays.first}
        assert not passed & set(stays["start"])


def test_as_many_are_tracked_as_there_are_stays(replays):
    shown = replays.tracked.filter(pl.col("t").is_between(replays.first, replays.last))
    assert shown.height > 20
    for line, t, tracked in shown.iter_rows():
        mine = replays.stays.filter((pl.col("line") == line) & (pl.col("start") <= t) & (pl.col("stop") > t))
        assert mine.height == tracked
    ends = replays.tracked.filter((pl.col("t") == 300) & (pl.col("line") == "kept"))
    assert ends["tracked"].to_list() == [3]  # what the end of the game cuts short stays to the end


def test_why_a_round_was_passed_over():
    passed = {"t": [5, 6, 7], "tracked": [3, 2, 3]}
    assert _why(passed, 3, {"untracked": 9, "saturated": 0}) == ["untracked"] * 3
    assert _why(passed, 3, {"untracked": 0, "saturated": 9}) == ["saturated"] * 3
    assert _why(passed, 3, {"untracked": 5, "saturated": 4}) == ["", "untracked", ""]


def test_survivals_fall_from_one(replays):
    out = replays.survival.filter(pl.col("line") == DELAYS)["share"].to_numpy()
    assert out[0] > 0.9
    assert np.all(np.diff(out) <= 0)
    assert set(replays.survival["line"]) == {DELAYS, "fading"}


def test_one_piece_is_the_usual_regret(seen, replays):
    runs = seen.runs.filter((pl.col("setting") == replays.setting) & (pl.col("seed") == replays.seed))
    usual = dict(runs.select("line", "regret").iter_rows())
    found = {(line, m): regret for line, m, regret in replays.segments.iter_rows()}
    for line, regret in usual.items():
        assert found[line, 1] == pytest.approx(regret, abs=1e-9)
        along = [found[line, m] for m in (1, 2, 4, 8, 16, 32)]
        assert along == sorted(along)


def test_what_cannot_be_played_again_is_said(seen):
    broken = seen.cells.with_columns(pl.col("content").str.replace("geometric", "gone"))
    made, note = replayed(seen._replace(cells=broken))
    assert made is None
    assert "could not be played again" in note
    assert "gone" in note


@pytest.fixture
def content(seen):
    return json.loads(seen.runs.join(seen.cells.select("cell", "content"), on="cell")["content"][0])


def test_pieces_of_linear_losses_in_closed_form(content):
    game, _ = build_game(content["game"], 5)
    rows = np.array([game.losses.row(t) for t in range(1, 301)])
    for m, least in best_of_pieces(game).items():
        cuts = np.linspace(0, 300, m + 1).astype(int)
        sums = [rows[a:b].sum(axis=0) for a, b in pairwise(cuts)]
        assert least == pytest.approx(-sum(np.linalg.norm(one) for one in sums))


def test_the_head_of_a_game_is_played_as_in_the_whole(content):
    game, _ = build_game(content["game"], 5)
    player = build_player(content["player"], game)
    plays = [simulate(g, player, [5], keep_rounds=True).plays() for g in (game, head(game, 120))]
    assert np.array_equal(plays[0][:120], plays[1])
