"""tarry sweep and tarry results: from a file to tables."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest
from marking import slow_but
from sweeping import TINY, sweep_of
from typer.testing import CliRunner

from tarry import experiments
from tarry.cli.app import app
from tarry.experiments import Folder, engines, play, run_sweep
from tarry.experiments.engines import Threads
from tarry.experiments.parts import list_parts, read_part, write_part
from tarry.kernel import cache, cuda

RUN = CliRunner()


def call(*arguments):
    return RUN.invoke(app, [str(a) for a in arguments], env={"COLUMNS": "120"})


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


def test_from_plan_to_export(file, tmp_path):
    planned = call("sweep", "plan", file)
    assert planned.exit_code == 0, planned.output
    assert "tiny: 16 cells, 0 finished, 16 to play" in planned.stdout
    assert "1,440 rounds to play" in planned.stdout
    assert "a guess" in planned.stdout
    assert call("sweep", "status", file).exit_code == 1
    early = call("sweep", "resume", file)
    assert early.exit_code == 2
    assert "no results to go on with" in early.stderr
    done = call("sweep", "run", file)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("16 cells finished: out")
    assert done.stderr.strip() == ""  # no terminal, no bar; older versions of rich end it with a line
    again = call("sweep", "resume", file, "--workers", 1)
    assert again.stdout.startswith("0 cells finished, 16 were there")
    told = call("sweep", "status", file, "-f", "json")
    assert told.exit_code == 0
    assert json.loads(told.stdout)["missing"] == 0
    tables = call("sweep", "collect", file, "--out", tmp_path / "tables")
    assert tables.exit_code == 0, tables.output
    assert pl.read_parquet(tmp_path / "tables" / "runs.parquet").height == 24
    for place in (tmp_path / "tables", tmp_path / "out" / "sweeps" / "tiny"):
        shown = call("results", "show", place, "-f", "json")
        assert shown.exit_code == 0, shown.output
        rows = json.loads(shown.stdout)
        assert [(row["player"], row["capacity"], row["axis_mean"], row["runs"]) for row in rows] == [
            (p, c, m, 3) for p in ("plain", "paper") for c in (2, 4) for m in (3, 6)
        ]
    by = call("results", "show", tmp_path / "tables", "--by", "player")
    assert "plain" in by.stdout
    assert " ± " in by.stdout
    said = " ".join(by.stdout.split())
    assert "Rows pool all values of capacity, mean." in said
    assert "Seeds draw" in said
    assert "nan" not in said


def test_jobs_of_an_array_share_the_work(file):
    for i in (1, 2, 3):
        assert call("sweep", "run", file, "--task", f"{i}/3").exit_code == 0
        assert call("sweep", "status", file).exit_code == (0 if i == 3 else 1)
    assert call("sweep", "run", file).stdout.startswith("0 cells finished, 16 were there")


def test_the_device_of_the_file_and_of_the_command(file, monkeypatch):
    def nowhere():
        raise cuda.NoDevice("no GPU answers")

    monkeypatch.setattr(cuda, "find_device", nowhere)
    refused = call("sweep", "run", file, "--device", "cuda")
    assert refused.exit_code == 2
    assert "'cuda' cannot be used here, no GPU answers: 'cpu' and 'auto' play here" in refused.output
    assert "device must be one of" in call("sweep", "run", file, "--device", "gpu").output
    text = file.read_text(encoding="utf-8")
    file.write_text('device = "gpu"\n' + text, encoding="utf-8")
    assert "device: must be 'cpu', 'cuda' or 'auto', got 'gpu'" in call("sweep", "plan", file).output
    file.write_text('device = "cuda"\n' + text, encoding="utf-8")
    assert "no GPU answers" in call("sweep", "run", file).output
    assert call("sweep", "run", file, "--device", "cpu").stdout.startswith("16 cells finished")


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("played")
    run_sweep(sweep_of(folder), Folder(folder / "results"))
    return folder / "results"


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl", "a.parquet"])
def test_exports(played, tmp_path, name):
    done = call("results", "export", played, tmp_path / "new" / name, "--table", "curves")
    assert done.exit_code == 0, done.output
    readers = {".csv": pl.read_csv, ".json": pl.read_json, ".jsonl": pl.read_ndjson, ".parquet": pl.read_parquet}
    frame = readers[(tmp_path / name).suffix](tmp_path / "new" / name)
    assert {"game", "player", "capacity", "axis_mean", "seed", "t", "regret", "bound"} <= set(frame.columns)
    assert frame.group_by("player", "capacity", "axis_mean").agg(pl.col("seed").n_unique())["seed"].to_list() == [3] * 8


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sweep", "run", "gone.toml"], "gone.toml cannot be read"),
        (["sweep", "run", "tiny.toml", "--engine", "ray"], "there is no engine 'ray': take one of dask, processes"),
        (["sweep", "run", "tiny.toml", "--task", "0/3"], "--task must be i/n with i from 1 to n"),
        (["sweep", "run", "tiny.toml", "--scheduler", "tcp://x"], "--scheduler is the address of a Dask cluster"),
        (["results", "show", "nowhere"], "nowhere holds no results: run a sweep first"),
        (["results", "export", "nowhere", "a.txt"], "must end in one of .parquet, .csv"),
    ],
)
def test_refusals(file, arguments, sentence):
    done = call(*arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.output


def test_collecting_what_is_there(file, tmp_path):
    call("sweep", "run", file, "--task", "1/2")
    done = call("sweep", "collect", file)
    assert done.exit_code == 0
    assert done.stderr == "8 cells of 16 not finished and left out\n"
    part = list_parts(tmp_path / "out" / "sweeps" / "tiny" / "parts")[0]  # a slow run writes several
    frame = read_part(part)
    part.unlink()
    is_first = pl.col("cell") == frame["cell"][0]
    write_part(part.parent, frame.with_columns(versions=pl.when(is_first).then(pl.lit("{}")).otherwise("versions")))
    assert "several versions" in call("sweep", "collect", file).stderr


def test_what_an_axis_replaces_is_said(file):
    file.write_text(TINY.replace("[axes]", "[axes]\nlosses = [{type = 'Linear', rows = 'blocks'}]"))
    assert "warning: the axis losses takes the place of losses in games.drift" in call("sweep", "plan", file).stderr


def test_what_will_fail_is_said_before_and_after(file):
    file.write_text(TINY + "[players.coin]\nlearner = {type = 'DWFTRL', rate = 0.1}\nscheduler = 'Coin'\n")
    planned = call("sweep", "plan", file)
    assert planned.stderr.startswith("will fail: drift, coin: Coin needs each delay")
    done = call("sweep", "run", file)
    assert done.exit_code == 1
    assert "16 cells finished, 8 failed" in done.stdout
    assert "failed: drift, coin, {" in done.stderr
    assert "and 7 more: Coin needs each delay" in done.stderr
    assert "Coin needs each delay" in call("sweep", "status", file).stderr


@pytest.mark.skipif(sys.platform == "win32", reason="sends an interrupt")
@pytest.mark.parametrize(
    ("chosen", "place"), slow_but([([], "out/sweeps/tiny"), (["--results", "mine"], "mine")], lambda one: not one[0])
)
def test_an_interrupt_says_how_to_go_on(file, tmp_path, chosen, place):
    file.write_text(TINY.replace("horizon = 60", "horizon = 20000"))
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "tarry", "sweep", "run", str(file), *chosen]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as running:
        deadline = time.monotonic() + 60
        while not (tmp_path / place / "plan.parquet").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    again = " ".join(["tarry sweep resume", str(file), *chosen])
    assert told.lstrip() == f"interrupted; finished cells are kept: {again} goes on\n"


@pytest.mark.parametrize(
    ("chosen", "again"),
    [
        (["--engine", "threads", "--task", "1/1"], ""),
        (["--task", "2/8", "--workers", "3"], " --workers 3 --task 2/8"),
        (["--engine", "processes", "--results", "my results"], " --results 'my results' --engine processes"),
        (["--engine", "dask", "--scheduler", "tcp://a;b"], " --engine dask --scheduler 'tcp://a;b'"),
    ],
)
@pytest.mark.parametrize("command", ["run", "resume"])
def test_what_was_chosen_is_part_of_how_to_go_on(file, tmp_path, monkeypatch, command, chosen, again):
    def interrupt(*_arguments, **_options):
        raise KeyboardInterrupt

    if "dask" in chosen:
        pytest.importorskip("distributed")
    monkeypatch.setattr(experiments, "run_sweep", interrupt)
    for place in ("out/sweeps/tiny", "my results"):
        (tmp_path / place / "parts").mkdir(parents=True)
    done = call("sweep", command, file.rename(tmp_path / "my tiny.toml"), "--results", "out/sweeps/tiny", *chosen)
    place = "" if "--results" in chosen else " --results out/sweeps/tiny"
    told = f"tarry sweep resume '{tmp_path / 'my tiny.toml'}'{place}{again}"
    assert done.stderr.lstrip() == f"interrupted; finished cells are kept: {told} goes on\n"
    assert done.exit_code == 130


def test_what_an_engine_warns_of_is_said(file, monkeypatch):
    class Slow(Threads):
        def play(self, contents):
            logging.getLogger("tarry.experiments.dask").warning("no worker has joined [tcp://a]")
            logging.getLogger("tarry").warning("of the game")
            yield from super().play(contents)

    monkeypatch.setattr(engines, "make_engine", lambda **_: Slow())
    done = call("sweep", "run", file)
    assert done.exit_code == 0
    assert done.stderr.strip() == "no worker has joined [tcp://a]"
    assert logging.getLogger("tarry.experiments").handlers == []


def test_cells_of_other_code_are_told_apart(file, tmp_path, monkeypatch):
    call("sweep", "run", file, "--task", "1/2")
    assert "versions" not in call("sweep", "collect", file).stderr
    ours = cache.source()
    play._versions.cache_clear()
    monkeypatch.setattr(cache, "source_digest", lambda: "f" * 64)
    call("sweep", "run", file)
    play._versions.cache_clear()
    assert "several versions" in call("sweep", "collect", file).stderr
    tables = pl.read_parquet(tmp_path / "out" / "sweeps" / "tiny" / "cells.parquet")
    sources = {json.loads(said)["source"] for said in tables["versions"]}
    assert sources == {"f" * 12, ours}
