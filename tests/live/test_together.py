"""Calls made together: one commit, the same answers and the same state as one after the other, whoever fails."""

from __future__ import annotations

from functools import partial
from itertools import count, product
from threading import Thread

import pytest

import tarry
from tarry.errors import StoreError, TarryError
from tarry.live.codec import dump
from tarry.live.stores.sqlite import SQLite

CALLS = ("decide", "label", "refused before", "refused at work", "failed after a change")


@pytest.fixture(params=["first", "sum"])
def make(new_store, monkeypatch, request):
    """A function that makes a join whose tracker fails after it has booked, or only gathered, the label of "bad"."""

    address, numbers = new_store("sqlite"), count()

    def made():
        rules = {"rng": 1, "memory": 1000, "durability": "process", "labels": request.param}
        join = tarry.LabelJoin(3, store=address, name=f"j{next(numbers)}", **rules)
        join.decide_many([{"n": i} for i in range(3)], ids=["a", "b", "bad"])
        fate = join._tracker.fate

        def failing(id):
            if id == "bad":
                raise RuntimeError("after a change")
            return fate(id)

        monkeypatch.setattr(join._tracker, "fate", failing)
        return join

    return made


def call_of(join, what, i):
    return {
        "decide": partial(join.decide, {"x": i}, f"d{i}"),
        "label": partial(join.label, "ab"[i % 2], i),
        "refused before": partial(join.label, "a", float("nan")),
        "refused at work": partial(join.decide, None, f"r{i}", delay=3),
        "failed after a change": partial(join.label_many, ["a", "bad"], [1, 1]),
    }[what]


def shown(results):
    return [str(one) if isinstance(one, Exception) else one for one in results]


def one_by_one(calls):
    results = []
    for call in calls:
        try:
            results.append(call())
        except (ValueError, RuntimeError) as error:
            results.append(error)
    return results


@pytest.mark.parametrize("first", CALLS)
def test_every_order_of_calls_gives_what_single_calls_give(make, first):
    for rest in product(CALLS, repeat=2):
        joint, single = make(), make()
        groups = [[call_of(join, what, i) for i, what in enumerate((first, *rest))] for join in (joint, single)]
        assert shown(joint.together(groups[0])) == shown(one_by_one(groups[1]))
        assert dump(joint.export(payloads=True)) == dump(single.export(payloads=True))
        assert joint.tracked() == single.tracked()
        for join in (joint, single):
            join.close()


@pytest.mark.parametrize(
    ("whats", "commits"),
    [
        (["decide"] * 20, 1),
        (["decide"] * 5 + ["refused before"] + ["decide"] * 5, 1),
        (["decide"] * 5 + ["refused at work"] + ["decide"] * 5, 1),
        (["decide", "failed after a change", "label"], 2),
        (["refused at work"] * 3, 0),
    ],
    ids=["one", "one refused before", "one refused at work", "two around a failure", "none"],
)
def test_how_often_a_group_is_committed(make, monkeypatch, whats, commits):
    join, counted = make(), []
    append = SQLite.append
    monkeypatch.setattr(SQLite, "append", lambda self, entry: counted.append(1) or append(self, entry))
    join.together([call_of(join, what, i) for i, what in enumerate(whats)])
    assert len(counted) == commits


def test_a_commit_that_fails_fails_all(new_store, monkeypatch):
    address = new_store("sqlite")
    with tarry.LabelJoin(8, store=address, rng=1) as join:
        join.decide(None, "before")

        def refuse(self, change):
            raise self.errors[0]("disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(SQLite, "append", refuse)
            told = join.together([partial(join.decide, None, f"d{i}") for i in range(4)])
        assert [type(one) for one in told] == [StoreError] * 4
        assert join.status().rounds == 1
        assert join.decide(None, "d0").tracked
    with tarry.LabelJoin.open(address) as again:
        assert again.status().rounds == 2


def test_readers_in_a_group_see_the_calls_before_them(new_store):
    with tarry.LabelJoin(8, store=new_store("sqlite"), rng=1) as join:
        told = join.together([partial(join.decide, None, "a"), lambda: join.status().rounds, partial(join.fate, "a")])
        assert told[1:] == [1, tarry.Answer.PENDING]


def test_groups_of_two_processes_share_a_store(new_store):
    address = new_store("postgres")
    joins = [tarry.LabelJoin(8, store=address, rng=1) for _ in range(2)]

    def decide(join, mine):
        for start in range(0, 40, 8):
            told = join.together([partial(join.decide, None, f"{mine}{i}") for i in range(start, start + 8)])
            assert all(isinstance(one, tuple) for one in told)

    threads = [Thread(target=decide, args=pair) for pair in zip(joins, "ab", strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {join.status().rounds for join in joins} == {80}
    assert all(
        join.fate(f"{mine}{i}") is not tarry.Answer.UNKNOWN for join in joins for mine in "ab" for i in range(40)
    )
    for join in joins:
        join.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_no_call_comes_between(new_store, kind):
    """A function that is called back in the middle of a call is refused, in a group as elsewhere."""
    address = "memory:" if kind == "memory" else new_store(kind)
    with tarry.LabelJoin(2, store=address, rng=1) as join:
        refused = []

        def interfere(*_):
            with pytest.raises(TarryError, match="in the middle of a call"):
                join.decide()
            refused.append(True)

        told = join.together([join.decide, lambda: join._turns.change(interfere), join.decide])
        assert refused == [True]
        assert [one.id for one in told if one is not None] == [1, 2]


def test_the_weight_that_is_shown_is_the_weight_that_comes():
    """Every scheduler, after rounds that fill the slots."""
    from tarry.schedulers import Bernoulli, DropOldest, Pareto, Priority, VarOpt

    for scheduler in (VarOpt(), Bernoulli(max_backlog=10), Pareto(), Priority(), DropOldest()):
        for size in (None, 2.5) if isinstance(scheduler, VarOpt) else (None,):
            join = tarry.LabelJoin(5, scheduler=scheduler, rng=3)
            for i in range(40):
                join.decide(None, f"d{i}", size=size if i % 3 else None)
            waiting = join.tracked()
            assert [one.round for one in waiting] == sorted(one.round for one in waiting)
            assert {one.id for one in waiting} == {f"d{one.round - 1}" for one in waiting}
            weights = [join.label(one.id, 1).weight for one in waiting]
            assert weights == pytest.approx([one.weight for one in waiting]), scheduler


def test_a_group_sees_its_own_rows_and_copies_have_them(new_store, tmp_path):
    """Rows that calls of the group have given out are there for those after them, and in copies made meanwhile."""
    with tarry.LabelJoin(8, store=new_store("sqlite"), rng=1, outbox=True) as join:
        join.decide({"x": 1}, "a")
        calls = [
            partial(join.label, "a", 1),
            join.rows,
            join.to_bytes,
            partial(join.copy_to, f"sqlite:///{tmp_path / 'copy.db'}"),
            partial(join.decide, None, "b"),
        ]
        row, rows, data, copy, ticket = join.together(calls)
        assert rows == [row] == tarry.LabelJoin.from_bytes(data).rows() == copy.rows()
        assert ticket.tracked
        copy.close()
