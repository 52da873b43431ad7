"""tarry plan: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json

import polars as pl
import pytest
from marking import slow_but
from typer.testing import CliRunner

from tarry.cli.app import app

RUN = CliRunner()
MODEL = ["plan", "--model", "geometric", "--mean", "10", "--horizon", "300", "--seeds", "2", "--scheduler", "VarOpt"]
FEW = ["--capacity", "4", "--capacity", "8"]


def call(*arguments):
    return RUN.invoke(app, [str(a) for a in arguments], env={"COLUMNS": "120"})


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    times = [f"2024-03-{1 + i // 24:02d}T{i % 24:02d}:00:00" for i in range(200)]
    ends = [*times[7:], *["2024-04-01T00:00:00"] * 7]
    pl.DataFrame({"decided_at": times, "feedback_at": ends}).write_csv(path)
    return path


@pytest.mark.slow
def test_a_model_in_words():
    done = call(*MODEL, "--per-day", "480", "--target", "40%")
    assert done.exit_code == 0, done.output
    assert "300 decisions" in done.stdout
    assert "By rate (Little's law): 480.0 decisions a day" in done.stdout
    assert "Effective sample size by scheduler" not in done.stdout  # of one scheduler the first table says all
    assert "slots with VarOpt are enough" in done.stdout.replace("\n", " ")


def test_a_log_in_json_is_what_the_file_says(log, tmp_path):
    out = tmp_path / "new" / "plan.json"
    done = call("plan", log, *FEW, "--scheduler", "VarOpt", "--seeds", "2", "--json", out, "-f", "json")
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert printed == json.loads(out.read_text(encoding="utf-8"))
    assert printed["backlog"]["horizon"] == 200
    assert printed["backlog"]["max_backlog"] == 7
    assert [row["capacity"] for row in printed["table"]] == [4, 8]
    assert printed["table"][1]["effective"] == 1.0
    assert "decided_at → feedback_at" in done.stderr


def test_the_column_of_feedback_has_two_names(log):
    options = [*FEW, "--scheduler", "VarOpt", "--seeds", "2", "-f", "json"]
    found = [call("plan", log, name, "feedback_at", *options) for name in ("--feedback", "--labelled")]
    assert found[0].exit_code == 0, found[0].output
    assert found[0].stdout == found[1].stdout


@pytest.mark.parametrize(
    ("name", "begins"), slow_but([("a.svg", b"<svg"), ("a.png", b"\x89PNG")], {("a.svg", b"<svg")})
)
def test_charts(tmp_path, name, begins):
    pytest.importorskip("vl_convert")
    done = call(*MODEL, *FEW, "--chart", tmp_path / name)
    assert done.exit_code == 0, done.output
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_page_needs_no_network(tmp_path):
    pytest.importorskip("vl_convert")
    call(*MODEL, *FEW, "--chart", tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert text.index("(100 bytes each, assumed)") < text.index("are enough")
    assert "<script" not in text
    assert "How many slots?" in text


def test_windows_hold_slots(log):
    """Seven hours to a label: of a window of 12 hours 12 wait, and slots are given back at 7 with --release arrival."""
    rules = ["--scheduler", "VarOpt", "--capacity", "20", "--seeds", "2", "-f", "json"]
    peaks = {}
    for release in ("window", "arrival"):
        for window in ("12h", "5h"):
            done = call("plan", log, *rules, "--window", window, "--missing", "0", "--release", release)
            assert done.exit_code == 0, done.output
            peaks[release, window] = json.loads(done.stdout)["backlog"]["max_backlog"]
    expected = {("window", "12h"): 12, ("arrival", "12h"): 7, ("window", "5h"): 5, ("arrival", "5h"): 5}
    assert peaks == expected
    model = [*MODEL[:5], "--horizon", "300", *rules, "--per-day", "24", "--window", "12h"]
    assert json.loads(call(*model).stdout)["backlog"]["max_backlog"] == 12


@pytest.mark.slow
def test_a_limit_on_the_second_moment():
    done = call(*MODEL, "--max-second-moment", "4", "-f", "json")
    assert json.loads(done.stdout)["target"] == 0.25


def test_parameters_by_name():
    done = call("plan", "--model", "bursts", "--with", "length=20", "--with", "slow=15", *MODEL[5:], *FEW, "-f", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["backlog"]["max_delay"] == 15


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["plan"], "give a log (CSV or Parquet), or a model"),
        (["plan", "nowhere.csv"], "there is no file nowhere.csv"),
        ([*MODEL, "--target", "lots"], "--target must be a share such as 0.5 or 50%, got 'lots'"),
        ([*MODEL, "--target", "120%"], "target must be a share in (0, 1]"),
        ([*MODEL, "--with", "spread"], "--with takes NAME=VALUE"),
        ([*MODEL, *FEW, "--chart", "plan.gif"], "a chart is written as .svg, .png, .html, got 'plan.gif'"),
        ([*MODEL, "--scheduler", "Best"], "there is no policy 'Best'"),
        (["plan", "log.csv", *MODEL[1:]], "give a log or --model, and not both"),
        (["plan", "--model", "gamma"], "there is no model 'gamma'"),
        (["plan", "nowhere.csv", "--chart", "plan.gif"], "a chart is written as .svg, .png, .html"),
        (["plan", "nowhere.csv", "--target", "120%"], "--target must be a share in (0, 1]"),
        (["plan", "nowhere.csv", "--scheduler", "Best"], "'drop newest', 'drop oldest'"),
        (["plan", "nowhere.csv", "--missing", "0"], "--missing must be one of 'refuse', 'drop', 'end'"),
        (["plan", "nowhere.csv", "--release", "window"], "--release is about windows"),
        ([*MODEL, "--window", "3d"], "--window is a length of time, got '3d': say how many decisions a day there are"),
        ([*MODEL, "--month-first"], "--day-first says how a log is read, and --model reads none: leave it out"),
        ([*MODEL, "--missing", "drop"], "--missing says how a log is read, and --model reads none: leave it out"),
        ([*MODEL, "--decided", "at"], "--decided says how a log is read, and --model reads none: leave it out"),
        (["plan", "log.csv", "--mean", "3d"], "--mean is about a model of delays, and a log has delays of its own"),
        (["plan", "log.csv", "--with", "shape=2"], "--with is about a model of delays, and a log has delays"),
        (["plan", "log.csv", "--horizon", "500"], "--horizon is about a model of delays, and a log has delays"),
        ([*MODEL[:3], "--with", "slope=2"], "--with slope=… is no parameter of the model 'geometric'"),
        ([*MODEL, "--per-day", "-3"], "--per-day must be positive"),
        ([*MODEL, "--capacity", "0"], "--capacity must be"),
        ([*MODEL, "--max-second-moment", "0.5"], "at least 1"),
        (
            [*MODEL[:4], "36h"],
            "--mean is a length of time, got '36h': say how many decisions a day there are (per_day=, --per-day)",
        ),
        ([*MODEL[:4], "soon"], "--mean must be a number, or a length of time such as 3d"),
        ([*MODEL[:4], "-2"], "--mean must be positive"),
        ([*MODEL[:3], "--with", "probability=2"], "--with probability=… must be in (0, 1], got 2"),
        ([*MODEL[:3]], "give either mean or probability"),
        (["plan", "--model", "fixed", "--mean", "3"], "--mean is no parameter of the model 'fixed': it takes delay"),
        (["plan", "--model", "fixed"], "--with delay=… is missing: the model 'fixed' takes delay"),
    ],
)
def test_refusals(arguments, sentence):
    done = call(*arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.output
