"""tarry case: which policy to take on one's own log, in words, as a page and as numbers."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tarry.cli.app import app

RUN = CliRunner()
FEW = ["--seeds", "2", "--capacity", "4", "--model", "logistic"]


def call(*arguments):
    return RUN.invoke(app, [str(a) for a in arguments], env={"COLUMNS": "132"})


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Purchases within a month, hourly visitors; a gap, a text and a date among the features."""
    path = tmp_path_factory.mktemp("case") / "log.csv"
    draw = np.random.default_rng(2)
    decided = [datetime(2024, 1, 1) + timedelta(hours=12 * i) for i in range(160)]
    bought = draw.random(160) < 0.4
    told = [
        d + timedelta(days=float(w)) if b else None
        for d, w, b in zip(decided, draw.random(160) * 20, bought, strict=True)
    ]
    pl.DataFrame(
        {
            "decided_at": decided,
            "labelled_at": told,
            "bought": [1 if b else None for b in bought],
            "age": [None if i == 3 else 20 + i % 40 for i in range(160)],
            "shop": ["north", "south", None, "north"] * 40,
            "since": [datetime(2020, 1, 1) + timedelta(days=i) for i in range(160)],
        }
    ).write_csv(path)
    return path


def test_a_log_in_words_and_as_a_page(log, tmp_path):
    done = call("case", log, "--label", "bought", "--window", "20d", *FEW, "--page", tmp_path / "new" / "case.html")
    assert done.exit_code == 0, done.output
    said = " ".join(done.stdout.split())
    for part in (
        "160 decisions",
        "For logistic take",
        "To report the mean label",
        "behind drop newest",
        "arrival",
        "window",
    ):
        assert part in said
    page = (tmp_path / "new" / "case.html").read_text(encoding="utf-8")
    assert "For logistic take" in page
    assert "VarOpt" in page


def test_features_are_named(log, tmp_path):
    """An id for each row is no feature, and it is said; those that are asked for are the only ones."""
    path = tmp_path / "ids.csv"
    pl.read_csv(log).with_columns(order=pl.Series([f"o-{i}" for i in range(160)])).write_csv(path)
    for said, named in (
        ([], "Features: age, shop, since. Left out, since they name rows or hold lists: order."),
        (["--id", "order"], "Features: age, shop, since."),
        (["--features", "shop, age"], "Features: shop, age."),
        (["--features", "shop", "--features", "age"], "Features: shop, age."),
    ):
        done = call("case", path, "--label", "bought", "--window", "20d", *FEW, *said)
        assert done.exit_code == 0, done.output
        told = " ".join(done.stdout.split())
        assert named in told
        assert ("Left out" in told) == (not said)
        assert "Against no limit" in told


def test_a_line_of_progress_where_there_is_no_screen(log, monkeypatch):
    monkeypatch.setattr("tarry.cli.console.PAUSE", 0.0)
    done = call("case", log, "--label", "bought", "--window", "20d", *FEW)
    assert "streaming: VarOpt, window, logistic" in done.stderr
    assert "streaming" not in done.stdout


def test_in_json_is_what_the_file_says(log, tmp_path):
    out = tmp_path / "new" / "case.json"
    done = call("case", log, "--label", "bought", *FEW, "--window", "20d", "--json", out, "-f", "json")
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert printed == json.loads(out.read_text(encoding="utf-8"))
    table = pl.DataFrame(printed["table"])
    assert table.height == 10
    unlimited = table.filter((pl.col("policy") == "unlimited") & (pl.col("release") == "window"))
    assert unlimited["believed"][0] == pytest.approx(printed["truth"])
    frame = pl.read_csv(log, try_parse_dates=True)
    end = max(frame["decided_at"].max(), frame["labelled_at"].max())
    runs = [frame.sort("decided_at")[first:] for first in (0, 3)]  # of five, three choose settings
    settled = [run.filter(pl.col("decided_at") + timedelta(days=20) <= end)["bought"].fill_null(0) for run in runs]
    assert printed["truth"] == pytest.approx(np.mean([labels.mean() for labels in settled]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label", "sold"], "there is no column 'sold'"),
        (["--label", "bought", "--labelled", "came"], "there is no column 'came'"),
        (["--label", "bought", "--feedback", "came"], "there is no column 'came'"),
        (["--label", "bought", "--window", "soon"], "--window must be a positive length of time"),
        (["--label", "bought", "--window", "30"], "--window needs a unit where the log has dates, got '30': write 30d"),
        (["--label", "bought", "--window", "9d", "--capacity", "none"], "--capacity must be a number of slots"),
        (["--label", "bought", "--window", "9d", "--model", "oracle"], "--model must be one of"),
        (["--label", "bought", "--page", "case.txt"], "a page is written as .html"),
        (["--label", "bought"], "the log has no 'labelled_at' in"),
        (["--label", "bought", "--missing", "end"], "every settled decision has the label 1"),
        (["--label", "bought", "--missing", "nought"], "--missing must be one of"),
        (["--label", "bought", "--window", "9d", "--missing", "x"], "--missing must be a finite number"),
        (["--label", "bought", "--window", "9d", "--features", "age,size"], "there is no column 'size'"),
        (["--label", "bought", "--window", "9d", "--features", "bought"], "--features must be known when"),
        (["--label", "bought", "--capacity", "4", "--capacity", "9"], "--capacity is given more than once, got '4, 9'"),
        (["--label", "shop", "--window", "9d"], "the column 'shop' holds String"),
    ],
)
def test_refusals(log, arguments, message):
    done = call("case", log, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_no_such_file(tmp_path):
    done = call("case", tmp_path / "none.csv", "--label", "y")
    assert done.exit_code == 2
    assert "there is no file" in done.stderr
