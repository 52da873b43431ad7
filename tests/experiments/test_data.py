"""Arrays from files: known by their bytes, and looked for where a parameter's value stands."""

from __future__ import annotations

import numpy as np
import pytest
from sweeping import sweep_of

from tarry.experiments.play import play_cell

DATA = """
seeds = 1
[games.log]
capacity = 4
delays = { type = "array", values = { file = "data/log.csv", columns = ["wait"] } }
domain = { type = "Ball", dimension = 2 }
[games.log.losses]
type = "LeastSquares"
features = { file = "data/rows.npy" }
labels = { file = "data/log.csv", columns = ["y"] }
[players.plain]
learner = { type = "DWFTRL", rate = 0.1 }
"""


@pytest.fixture
def data(tmp_path):
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "rows.npy", np.arange(20.0).reshape(10, 2) / 20)
    lines = ["y,wait", *(f"{i / 10},{i % 4}" for i in range(10))]
    (tmp_path / "data" / "log.csv").write_text("\n".join(lines))
    return tmp_path


def test_arrays_from_files(data):
    (cell,) = sweep_of(data, DATA).cells
    columns = play_cell(cell.id, cell.content)
    assert columns["horizon"] == [10]
    assert columns["total_delay"] == [sum(min(i % 4, 9 - i) for i in range(10))]
    assert cell.columns["delays"] == "array(values=log.csv)"


def test_data_are_known_by_their_bytes(data):
    (cell,) = sweep_of(data, DATA).cells
    (data / "data" / "log.csv").rename(data / "moved.csv")
    (moved,) = sweep_of(data, DATA.replace("data/log.csv", "moved.csv")).cells
    assert moved.id == cell.id
    assert moved.content != cell.content
    (data / "moved.csv").write_text((data / "moved.csv").read_text().replace("0.5,1", "0.5,2"))
    (changed,) = sweep_of(data, DATA.replace("data/log.csv", "moved.csv")).cells
    assert changed.id != cell.id
    with pytest.raises(ValueError, match="has changed since the sweep was listed"):
        play_cell(moved.id, moved.content)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("data/rows.npy", "data/row.npy", "games.log.losses.features.file: "),
        ("data/rows.npy", "rows.txt", "must end in one of .npy, .csv, .parquet, got 'rows.txt'"),
        ("columns", "column", "there is no key of a file 'column', did you mean 'columns'?"),
    ],
)
def test_files_that_are_wrong(data, old, new, sentence):
    with pytest.raises(ValueError) as refused:
        sweep_of(data, DATA.replace(old, new))
    assert sentence in str(refused.value)
    assert str(refused.value).startswith("tiny.toml: games.log.")


def test_file_and_type_are_names_like_others(data):
    """Data stand where a parameter's value does: what games, players and axes are called does not matter."""
    (one,) = sweep_of(data, DATA).cells
    named = DATA.replace("games.log", "games.file").replace("players.plain", "players.file")
    assert [cell.id for cell in sweep_of(data, named).cells] == [one.id]
    for axis in ("axes.file = [0.1]\n", "blocks = [{axes = {file = [0.1]}}]\n"):
        text = axis + DATA.replace("rate = 0.1", "rate = 'axis.file'")
        assert [cell.id for cell in sweep_of(data, text).cells] == [one.id]
    rows = "axes.rows = [{file = 'data/rows.npy'}]\n"
    for axis in (rows, f"[[blocks]]\n{rows}"):
        text = DATA.replace('{ file = "data/rows.npy" }', "'axis.rows'")
        text = text + axis if axis.startswith("[[") else axis + text
        assert [cell.id for cell in sweep_of(data, text).cells] == [one.id]


def test_a_column_that_is_not_there(data):
    (cell,) = sweep_of(data, DATA.replace('["wait"]', '["wat"]')).cells
    with pytest.raises(ValueError, match=r"log\.csv: there is no column 'wat', did you mean 'wait'"):
        play_cell(cell.id, cell.content)
