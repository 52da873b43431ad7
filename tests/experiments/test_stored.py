"""What was stored under an earlier list of columns is read; what a later release stored, or nobody, is refused."""

from __future__ import annotations

import polars as pl
import pytest
from sweeping import TINY, sweep_of

from tarry.experiments import Folder, read_tables, run_sweep, standing, write_tables
from tarry.experiments.columns import CELLS, PART, RUNS, SCHEMA
from tarry.experiments.folder import summarise
from tarry.experiments.parts import frame_of, list_parts, read_part, write_part
from tarry.experiments.play import play_cell

TEXT = TINY.replace("seeds = 3", "seeds = 1").replace("[2, 4]", "[2]").replace("[3, 6]", "[3]")


@pytest.fixture
def stored(tmp_path):
    """A sweep of two cells of which the first was stored before there was a column of runs and one of cells."""
    sweep, folder = sweep_of(tmp_path, TEXT), Folder(tmp_path / "results")
    first, second = sweep.contents.items()
    folder.tidy()
    folder.write_plan(sweep)
    write_part(folder.parts, frame_of([play_cell(*first)]).drop("weight_max", "warnings"))
    write_part(folder.parts, frame_of([play_cell(*second)]))
    plan = folder.path / "plan.parquet"
    pl.read_parquet(plan).drop("queries", "combination").write_parquet(plan)
    return sweep, folder


def test_columns_that_came_later_are_null(stored):
    sweep, folder = stored
    tables = folder.tables()
    assert tables.cells.columns == [*CELLS, "axis_mean"]
    assert tables.runs.columns == list(RUNS)
    assert tables.runs["weight_max"].null_count() == 1
    assert tables.cells["queries"].null_count() == tables.cells.height == 2
    assert tables.cells["warnings"].null_count() == 1
    assert summarise(tables).height == 2
    assert folder.read(["weight_max", "cell"]).frames[0].columns == ["cell", "weight_max"]
    assert standing(sweep, folder).finished == 2
    assert run_sweep(sweep, folder).found == 2


def test_gathered_tables_too(stored, tmp_path):
    tables = stored[1].tables()
    write_tables(tables, tmp_path)
    for name, column in (("cells", "queries"), ("runs", "weight_max"), ("curves", "loss")):
        path = tmp_path / f"{name}.parquet"
        pl.read_parquet(path).drop(column).write_parquet(path)
        assert getattr(read_tables(tmp_path), name)[column].is_null().all()


def test_columns_of_a_later_release_are_left_out(stored):
    _, folder = stored
    part = list_parts(folder.parts)[0]
    path = write_part(folder.parts, read_part(part).with_columns(mood=pl.lit("good")))
    assert read_part(path).columns == list(PART)
    assert folder.tables().runs.columns == list(RUNS)


@pytest.mark.parametrize("columns", [None, ["cell"]])
def test_a_later_version_is_refused(stored, columns):
    sweep, folder = stored
    part = list_parts(folder.parts)[0]
    later = write_part(folder.parts, read_part(part).with_columns(schema=pl.lit(SCHEMA + 1)))
    sentence = f"{later.name} has version {SCHEMA + 1} of the columns, and this release knows versions up to {SCHEMA}: "
    with pytest.raises(ValueError) as refused:
        folder.read(columns)
    assert sentence in str(refused.value)
    with pytest.raises(ValueError, match="has version"):
        run_sweep(sweep, folder)


@pytest.mark.parametrize("data", [b"", b"PAR1 nothing PAR1", b"PAR1" + 99 * b"\0"])
def test_a_damaged_plan_is_said_and_written_again(stored, data):
    sweep, folder = stored
    plan = folder.path / "plan.parquet"
    plan.write_bytes(data)
    with pytest.raises(
        ValueError, match=r"plan\.parquet is damaged and cannot be read: tarry sweep run FILE writes it"
    ):
        read_tables(folder.path)
    run_sweep(sweep, folder)
    assert read_tables(folder.path).cells.height == 2


def test_a_damaged_table_is_said(stored, tmp_path):
    write_tables(stored[1].tables(), tmp_path)
    (tmp_path / "runs.parquet").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"runs\.parquet is damaged and cannot be read: tarry sweep collect FILE"):
        read_tables(tmp_path)
