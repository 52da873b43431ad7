"""What cannot be meant is refused with a sentence and a way out."""

from __future__ import annotations

import copy
import pickle
import sqlite3
from pathlib import Path

import polars as pl
import pytest

import tarry
from tarry.errors import StoreError

LATER = {"decided_at": "t", "labelled_at": "u", "label": "y"}


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


def make(**options):
    return tarry.LabelJoin(4, rng=1, **options)


def test_empty_batches_are_nothing():
    join = make()
    join.decide(id="a")
    assert join.decide_many([]) == []
    assert join.decide_many([], ids=[]) == []
    assert join.decide_many(pl.DataFrame({"id": [], "x": []})) == []
    assert join.label_many([], []) == []
    learner = tarry.learners.DWFTRL(tarry.domains.Ball(2), rate=0.5)
    session = tarry.Session(learner, capacity=4, rng=1)
    session.ask("a")
    assert session.ask_many(0).plays.shape == (0, 2)
    assert session.tell_many([], gradients=[]).ids == []
    with pytest.raises(ValueError, match="has used your own ids so far"):
        session.ask_many(1)


def test_columns_of_one_name_are_refused(pandas):
    frame = pandas.DataFrame([[1, 2, 3]], columns=["x", "id", "x"])
    for call in (make().decide_many, make().label_many, lambda log: make().stream(log, **LATER)):
        with pytest.raises(ValueError, match="several columns called 'x'"):
            call(frame)


@pytest.mark.parametrize("features", [{1: "int", "1": "text"}, {"a": [{None: 1, "null": 2}]}, {True: 1, "true": 0}])
def test_keys_that_json_writes_alike_are_kept_apart(features, tmp_path):
    with make(store=f"sqlite:///{tmp_path}/a.db") as join:
        join.decide(features, id="a")
    with tarry.LabelJoin.open(f"sqlite:///{tmp_path}/a.db") as join:
        assert join.label("a", 1).features == features


@pytest.mark.parametrize("how", ["deleted", "replaced", "moved"])
def test_a_file_that_went_away_is_noticed(how, tmp_path):
    path = tmp_path / "a.db"
    with make(store=f"sqlite:///{path}") as join:
        join.decide(id="a")
        kept = tmp_path / "kept.db"
        if how == "replaced":
            with sqlite3.connect(kept) as copied:
                join._turns.store.database.backup(copied)
            copied.close()
            kept.replace(path)
        elif how == "moved":
            path.rename(kept)
        else:
            path.unlink()
        for call in (lambda: join.decide(id="b"), lambda: join.label("a", 1), join.status):
            with pytest.raises(StoreError, match="was deleted, moved or replaced while it was open"):
                call()
        if how == "moved":
            kept.rename(path)
            assert join.status().rounds == 1
            assert join.label("a", 1).label == 1


def test_a_file_that_goes_away_within_a_call_is_noticed(tmp_path):
    path = tmp_path / "a.db"
    with make(store=f"sqlite:///{path}") as join:
        tracker = join._tracker

        def begin_and_move(*_):
            tracker.open("a", None, None)
            path.rename(tmp_path / "kept.db")

        with pytest.raises(StoreError, match="was deleted, moved or replaced"):
            join._turns.change(begin_and_move)
        (tmp_path / "kept.db").rename(path)
        assert join.status().rounds == 0


def test_logs_and_frames_that_are_not_there():
    for log in ("log.csv", Path("log.csv")):
        with pytest.raises(ValueError, match="read the file first"):
            make().stream(log, **LATER)
    lazy = pl.LazyFrame({"id": ["a"], "label": [1]})
    session = tarry.Session(tarry.learners.DWFTRL(tarry.domains.Ball(2), rate=0.5), capacity=4)
    for call in (make().decide_many, make().label_many, session.tell_many, lambda log: make().stream(log, **LATER)):
        with pytest.raises(ValueError, match=r"call \.collect\(\) on it first"):
            call(lazy)


@pytest.mark.parametrize("way", [pickle.dumps, copy.deepcopy, copy.copy])
def test_there_is_one_of_each(way):
    with pytest.raises(TypeError, match=r"cannot be copied or pickled.*LabelJoin\.open\("):
        way(make())


def test_several_ids_as_a_frame(pandas):
    join = make(labels="sum")
    join.decide_many(pl.DataFrame({"id": ["a", "b", "c"]}))
    assert [one.row.id for one in join.finish_many(pl.DataFrame({"id": ["a"]}))] == ["a"]
    assert join.expire_many(pandas.DataFrame({"id": ["b", "c"]})).ids == ["b", "c"]
    with pytest.raises(ValueError, match="no column 'id', only"):
        join.expire_many(pandas.DataFrame({"x": ["b", "c"]}))


def test_ids_that_became_floats(pandas):
    frame = pandas.DataFrame({"id": [1, None], "label": [0, 1]})
    with pytest.raises(TypeError, match=r"got 1\.0: pandas makes such numbers .* that has a gap"):
        make().label_many(frame)


def test_stores_that_are_none():
    with pytest.raises(StoreError, match="a join in memory ends with its object"):
        tarry.LabelJoin.open("memory:")
    for url, hint in {
        Path("p.db"): "write 'sqlite:///p.db'",
        "p.db": "write 'sqlite:///p.db'",
        "SQLITE:///p.db": "in small letters",
    }.items():
        with pytest.raises(ValueError, match=hint):
            make(store=url)
    assert not Path("p.db").exists()


def test_a_batch_names_the_row_that_cannot_be_kept(tmp_path):
    with make(store=f"sqlite:///{tmp_path}/a.db") as join:
        with pytest.raises(ValueError, match=r"row 1: a durable store takes .* got \{2\} as features at \['x'\]"):
            join.decide_many({"id": ["a", "b"], "x": [1.0, {2}]})
        assert join.status().rounds == 0


def test_ids_of_another_type_are_warned_about():
    join = make()
    join.decide_many([{}] * 9, ids=[str(i) for i in range(9)])
    assert join.status().warnings == ()
    assert all(one.row is None for one in join.label_many(list(range(9)), [1.0] * 9))
    assert join.status().warnings[0].startswith("9 of 9 calls named an id that nobody decided under")
    assert join.status().rows()["answered unknown"] == "9"


def test_a_missing_id_is_not_to_be_made_a_text():
    with pytest.raises(TypeError, match="got None: leave out rows without one"):
        make().label(None, 1.0)


@pytest.mark.parametrize("given", ["sqlite:loans.db", "sqlite://loans.db", "loans.db", Path("loans.db")])
def test_a_path_without_its_strokes(given):
    with pytest.raises(ValueError, match=r"for this file write 'sqlite:///loans\.db'"):
        make(store=given)


def test_a_ticket_is_not_its_id():
    join = make()
    ticket = join.decide()
    with pytest.raises(TypeError, match=r"an id must be .*: give ticket\.id, here 1"):
        join.label(ticket, 1)
    assert join.label(ticket.id, 1).label == 1
