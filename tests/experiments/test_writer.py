"""The writer: what is on the disk when, and what a disk that refuses costs."""

from __future__ import annotations

import os

import pytest
from sweeping import TINY, sweep_of

from tarry.experiments import Folder, parts, run_sweep
from tarry.experiments.parts import Writer, list_parts, sign, sweep_away
from tarry.experiments.play import play_cell


@pytest.fixture
def columns(tmp_path):
    cell = sweep_of(tmp_path).cells[0]
    return play_cell(cell.id, cell.content)


def named(columns, number, seconds=0.0):
    rows = len(columns["cell"])
    return columns | {"cell": [f"{number:032x}"] * rows, "seconds": [seconds] * rows}


def test_long_cells_are_written_at_once_and_short_ones_gathered(tmp_path, columns):
    folder = Folder(tmp_path / "results")
    writer = Writer(folder.parts)
    assert writer.add(named(columns, 1)) == []
    assert list_parts(folder.parts) == []
    assert writer.add(named(columns, 2, 3600.0)) == [f"{1:032x}", f"{2:032x}"]
    assert folder.read().cells == {f"{1:032x}", f"{2:032x}"}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_cells_that_could_not_be_written_stay_gathered(tmp_path, columns, monkeypatch, error):
    folder = Folder(tmp_path / "results")
    writer = Writer(folder.parts)
    writer.add(named(columns, 1))
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", _raising(error))
        with pytest.raises(type(error)):
            writer.flush()
    assert writer.add(named(columns, 2)) == []
    assert writer.flush() == [f"{1:032x}", f"{2:032x}"]
    assert folder.read().cells == {f"{1:032x}", f"{2:032x}"}


def test_an_interrupt_inside_a_write_loses_nothing(tmp_path, monkeypatch):
    sweep, folder = sweep_of(tmp_path), Folder(tmp_path / "results")
    write, met = parts.write_part, []

    def interrupted(*arguments):
        if not met:
            met.append(True)
            raise KeyboardInterrupt
        return write(*arguments)

    monkeypatch.setattr(parts, "write_part", interrupted)
    seen = []
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep, folder, progress=lambda done, _: seen.append(done))
    assert len(folder.read().cells) == seen[-1] == 16


def _raising(error):
    def raise_it(*_):
        raise error

    return raise_it


@pytest.mark.parametrize("fate", ["set aside", "cut"])
def test_a_part_that_another_run_set_aside_is_not_merged_and_stops_nobody(tmp_path, columns, monkeypatch, fate):
    monkeypatch.setattr(parts, "MERGED", 3)
    folder = Folder(tmp_path / "results")
    writer = Writer(folder.parts)
    for number in range(8):
        writer.add(named(columns, number))
        assert writer.flush() == [f"{number:032x}"]
        if number == 1:
            victim = list_parts(folder.parts)[0]
            victim.write_bytes(b"")
            if fate == "set aside":
                folder.set_damaged_aside()
    assert len(folder.read().cells) == 7
    # Of the first three two are left as they are; the next three have become one.
    assert len([path for path in list_parts(folder.parts) if path.stat().st_size]) == 2 + 1 + 2


def test_a_merge_that_fails_keeps_the_news_of_what_is_written(tmp_path, columns, monkeypatch):
    monkeypatch.setattr(parts, "MERGED", 2)
    folder = Folder(tmp_path / "results")
    writer, told = Writer(folder.parts), []
    monkeypatch.setattr(parts, "read_part", _raising(OSError(5, "Input/output error")))
    for number in range(3):
        writer.add(named(columns, number))
        try:
            told += writer.flush()
        except OSError:
            told += writer.flush()
    assert set(told) == folder.read().cells == {f"{number:032x}" for number in range(3)}


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"cell": "a"}', "\udcff"])
def test_a_failure_that_cannot_be_read_is_passed_over(tmp_path, text):
    folder = Folder(tmp_path)
    folder.tidy()
    folder.fail("b" * 32, "it broke")
    (folder.failures / "x.json").write_bytes(text.encode(errors="surrogateescape"))
    assert folder.failed() == {"b" * 32: "it broke"}


@pytest.mark.parametrize("name", ["x", "a-b", "a-1-c", "--", "HOST-b-1", "HOST-²-1"])
def test_half_files_of_others_are_left_alone(tmp_path, name):
    path = tmp_path / f".writing-{name.replace('HOST', sign().split('-')[1])}.tmp"
    path.write_bytes(b"half")
    assert sweep_away(tmp_path) == 0
    assert path.exists()


def test_failed_cells_move_the_progress_to_its_end(tmp_path):
    text = TINY + "[players.coin]\nlearner = { type = 'DWFTRL', rate = 0.1 }\nscheduler = 'Coin'\n"
    sweep, folder, seen = sweep_of(tmp_path, text), Folder(tmp_path / "results"), []
    done = run_sweep(sweep, folder, progress=lambda *said: seen.append(said))
    assert (done.finished, len(done.failed)) == (16, 8)
    assert seen[0] == (0, 24)
    assert seen[-1] == (24, 24)
    assert [one for one, _ in seen] == sorted(one for one, _ in seen)
