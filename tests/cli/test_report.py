"""tarry report: what it writes, and what it refuses."""

from __future__ import annotations

import pytest
from sweeping import PAIR
from typer.testing import CliRunner

from tarry.cli.app import app
from tarry.experiments import Folder, load_sweep, run_sweep

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
    for name in ("regret", "weights", "fates", "ledger"):
        assert f'id="{name}"' in page, name


@pytest.mark.usefixtures("undrawn")
def test_another_file_is_shown_where_that_is_asked(results, tmp_path):
    pytest.importorskip("altair")
    file = results / "tiny.toml"
    done = call("report", results / "results", "--out", tmp_path, "--only", "html", "--file", file)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert f"tarry sweep run {file}" in page
    assert "[players.fading]" in page


@pytest.mark.usefixtures("undrawn")
def test_the_file_is_shown_as_it_was_run(results, tmp_path):
    pytest.importorskip("altair")
    done = call("report", results / "results", "--out", tmp_path, "--only", "html")
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
