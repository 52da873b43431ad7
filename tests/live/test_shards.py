"""A join in shards: each shard is a join, sums over them are right, and together they never hold more than C."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from functools import partial
from math import isclose, sqrt

import numpy as np
import psycopg
import pytest

import tarry
from tarry.errors import Mismatch, NotGranted, StoreError, Uncertain
from tarry.live import LabelJoin, Row
from tarry.live.base import StoredObject, erase
from tarry.live.core import NAIVE
from tarry.live.sharded import ShardedJoin, shard_of, shares, shares_by_load
from tarry.live.sharded import _seed_of as seed_of
from tarry.live.stores import stored_names
from tarry.live.turns import outcome_of
from tarry.theory.intervals import Sample, deviation, mean_interval
from tarry.tracking.tally import DRIFT, THRESHOLD

RUNS = int(os.environ.get("SHARD_RUNS", "300"))


def test_every_call_of_a_join_is_one_of_shards():
    calls = {name for kind in (StoredObject, LabelJoin) for name in vars(kind) if not name.startswith("_")}
    inherited = {"open", "import_from", "from_bytes"}  # which make joins, and look first at what is there
    assert calls - inherited <= set(vars(ShardedJoin))


def test_each_shard_is_an_ordinary_join():
    count, capacity = 4, 18
    whole = LabelJoin(capacity, shards=count, rng=5, memory=400)
    alone = [LabelJoin(part, rng=seed_of(5, k), memory=100) for k, part in enumerate([5, 5, 4, 4])]
    ids = [f"visit-{i}" for i in range(200)]
    for i, id in enumerate(ids):
        assert whole.decide({"i": i}, id) == alone[shard_of(id, count)].decide({"i": i}, id)
    used = 0
    for i, id in enumerate(ids):
        row, own = whole.label(id, i % 3), alone[shard_of(id, count)].label(id, i % 3)
        if row is None:
            assert own is None
            continue
        used += 1
        assert row._replace(number=own.number) == own
        assert divmod(row.number, count) == (own.number, shard_of(id, count))
        assert whole.steps(row) == alone[shard_of(id, count)].steps(own)
        assert whole.fate(id) == tarry.Answer.USED
    assert used == capacity


def test_shards_draw_differently():
    whole = LabelJoin(16, shards=8, rng=1)
    seeds = {shard._tracker.configuration.seed for shard in whole._shards}
    assert len(seeds) == 8


def test_batches_do_what_single_calls_do():
    one, many = (LabelJoin(12, shards=3, rng=2, outbox=True) for _ in range(2))
    ids, sizes = list(range(60)), [1.0 + i % 4 for i in range(60)]
    tickets = [one.decide({"i": i}, i, size=sizes[i]) for i in ids]
    assert many.decide_many([{"i": i} for i in ids], ids=ids, sizes=sizes) == tickets
    assert [row for i in ids[:40] if (row := one.label(i, i % 2)) is not None] == [
        told.row for told in many.label_many(ids[:40], [i % 2 for i in ids[:40]]) if told.row is not None
    ]
    receipts = many.expire_many(ids[40:])
    assert receipts.ids == ids[40:]
    assert [one.expire(i) for i in ids[40:]] == list(zip(receipts.statuses, receipts.weights, strict=True))
    assert one.ledger(3) == many.ledger(3)
    assert one.rows() == many.rows()
    assert str(one.status()) == str(many.status())


def sample_from(rows: list[Row], sizes: dict[int, float]) -> Sample:
    """What rows tell, straight from its definition."""
    b = np.array([sizes[row.id] for row in rows])
    w, y = np.array([row.weight for row in rows]), np.array([row.label for row in rows], float)
    m, z = w * b, y / b
    centre = m**2 @ z / (m @ m)
    return Sample(m.sum(), w @ y, m @ m, centre, m**2 @ (z - centre) ** 2)


def test_books_taken_together_are_those_of_all_rows():
    whole, draw = LabelJoin(20, shards=5, rng=3), np.random.default_rng(1)
    sizes, rows = {}, []
    for i in range(300):
        sizes[i] = float(draw.choice([1.0, 2.5]))
        whole.decide({}, i, size=sizes[i])
        row = whole.label(int(draw.integers(0, i + 1)), float(draw.normal(3.0)))
        rows += [] if row is None else [row]
    found = whole._books()[0]
    assert found.sample == pytest.approx(sample_from(rows, sizes))
    assert found.labels[NAIVE] == pytest.approx(np.mean([row.label for row in rows]))
    assert found.balance == pytest.approx(1.0)
    assert found.weights.max == max(row.weight for row in rows)
    parts, status = [shard.status() for shard in whole._shards], whole.status()
    for name in ("rounds", "pending", "tracked"):
        assert getattr(status, name) == sum(getattr(part, name) for part in parts)
    assert status.sizes["total"] == pytest.approx(sum(sizes.values()))
    assert sum(status.fates.values()) == status.rounds == 300
    assert [load.rounds for load in status.shards] == [part.rounds for part in parts]
    ranged = whole.estimate(low=-20.0, high=20.0)
    assert ranged.anytime_low <= ranged.low < ranged.mean < ranged.high <= ranged.anytime_high


def test_the_estimate_is_that_of_one_sample():
    whole, draw = LabelJoin(40, shards=4, rng=9), np.random.default_rng(2)
    labels = draw.integers(0, 2, 400)
    for i in range(400):
        whole.decide(None, i)
    rows = [row for i in range(400) if (row := whole.label(i, int(labels[i]))) is not None]
    sample, found = sample_from(rows, dict.fromkeys(range(400), 1.0)), whole.estimate()
    strays = [np.array(shard._tracker.slots.strays) for shard in whole._shards]
    theta = max(one[THRESHOLD] for one in strays)
    assert found.mean == pytest.approx(sample.mean)
    assert found.sum == pytest.approx(400 * found.mean)
    assert found.naive == pytest.approx(np.mean([row.label for row in rows]))
    assert found.outstanding == 0.0
    assert (found.low, found.high) == pytest.approx(mean_interval(sample, 0.0, theta, 0.95, 0.0, 1.0))
    reach = float(deviation(sum(one[DRIFT] for one in strays), theta))
    assert found.sum_low == pytest.approx(max(sum(row.label for row in rows), sample.weighted - reach))
    assert found.anytime_low <= labels.mean() <= found.anytime_high


def late_labels(seed: int, rounds: int = 24) -> tuple[float, float, float]:
    """One run where labels of 1 come late: the weighted sum, the naive one, and the truth."""
    labels = np.random.default_rng(77).integers(0, 2, rounds)  # the same in every run: only the join draws
    join = LabelJoin(4, shards=2, memory=64, rng=seed)
    due: dict[int, list[int]] = {}
    rows = []
    for i in range(rounds + 10):
        if i < rounds:
            join.decide(None, f"{i}")
            due.setdefault(i + (9 if labels[i] else 1), []).append(i)
        rows += [row for s in due.pop(i, []) if (row := join.label(f"{s}", int(labels[s]))) is not None]
    weighted = sum(row.weight * row.label for row in rows)
    naive = rounds * sum(row.label for row in rows) / len(rows)
    assert isclose(sum(row.weight for row in rows), rounds)
    return weighted, naive, float(labels.sum())


def check_unbiased(runs: int) -> None:
    found = np.array([late_labels(seed) for seed in range(runs)])
    errors = found[:, :2] - found[:, 2:]
    mean, error = errors.mean(axis=0), errors.std(axis=0) / sqrt(runs)
    assert abs(mean[0]) <= 4 * error[0], (mean, error)
    assert abs(mean[1]) > 4 * error[1], "without weights the same labels must lean to the quick ones"


def test_sums_are_unbiased_where_the_delay_depends_on_the_label():
    check_unbiased(RUNS)


@pytest.mark.slow
def test_sums_are_unbiased_over_2000_runs():
    check_unbiased(2000)


def test_windows_over_all_shards():
    join = LabelJoin(30, shards=3, window="10d", missing=0, rng=1)
    join.decide_many([None] * 20, ids=range(20), at="2026-01-01")
    join.decide_many([None] * 5, ids=range(20, 25), at=["2026-01-05"] * 5)
    assert join.label_many([3, 4], [1, 1], at=["2026-01-02", "2026-02-02"])[1].answer == tarry.Answer.OUTSIDE
    assert sorted(join.due("2026-01-12")) == list(range(20))
    rows = join.advance("2026-01-12")
    assert sorted(row.id for row in rows) == list(range(20))
    assert sum(row.label for row in rows) == 1
    assert join.estimate().is_settled
    join.resize(window="20d")
    join.decide(None, 99, at="2026-01-12")
    assert 99 not in join.due("2026-01-25")
    assert join.finish(99).label == 0


def test_rows_of_the_outbox_over_all_shards():
    join = LabelJoin(64, shards=4, outbox=True, rng=1)
    join.decide_many([{"i": i} for i in range(40)], ids=range(40))
    given = [told.row for told in join.label_many(range(40), [1] * 40)]
    assert join.rows() == sorted(given, key=lambda row: row.number)
    first = join.rows(limit=7)
    assert len(first) == 7
    after = join.rows(after=[row.number for row in first])
    assert {row.number for row in first + after} == {row.number for row in given}
    assert join.ack([row.number for row in first]) == 33
    assert join.rows() == after
    with pytest.raises(ValueError, match=f"row {4 * 1000 + 1} was not given out"):
        join.ack([after[0].number, 4 * 1000 + 1])
    assert join.rows() == after, "nor was the other one acknowledged"
    assert join.ack(after[-1].number) == 33 - sum(row.number % 4 == after[-1].number % 4 for row in after), (
        "one number speaks of its own shard alone"
    )
    assert join.ack(row.number for row in after) == 0
    assert join.rows() == []


def test_a_single_join_takes_several_numbers_too():
    join = LabelJoin(8, outbox=True, rng=1)
    for i in range(4):
        join.decide(None, i)
        join.label(i, 1)
    assert join.ack([1, 3]) == 1
    assert [row.number for row in join.rows(after=[3])] == [4]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"capacity": 3, "shards": 4}, "one slot for each of 4 shards, got 3"),
        ({"capacity": 8, "shards": 0}, "shards must be a whole number of at least 1, got 0"),
        ({"capacity": 8, "shards": "4"}, "shards must be"),
        ({"capacity": 8, "shards": 2, "store": "sqlite:///never.db"}, "use a postgresql:// store"),
        ({"capacity": 8, "shards": 2, "information": "clairvoyant"}, "is non-clairvoyant"),
        ({"capacity": 10_000, "shards": 5000}, "at most 4096"),
    ],
)
def test_refusals(arguments, words):
    with pytest.raises(ValueError, match=words):
        LabelJoin(**arguments)


def test_a_batch_that_makes_no_sense_changes_nothing(new_store):
    join = LabelJoin(8, shards=4, rng=1, store=new_store("postgres"))
    ids = list(range(12))
    refused = [
        lambda: join.decide({}),
        lambda: join.decide_many([{}] * 3),
        lambda: join.decide_many([{}] * 11 + [{"bad": object()}], ids=ids),
        lambda: join.decide_many([{}] * 12, ids=ids, sizes=[1.0] * 11 + [-1.0]),
        lambda: join.decide_many([{}] * 12, ids=ids, delays=[None] * 11 + [3]),
        lambda: join.decide_many([{}] * 12, ids=ids, at="2026-01-01"),
        lambda: join.label_many(ids, [1] * 11 + [float("nan")]),
        lambda: join.finish_many(ids),
        lambda: join.rows(),
        lambda: join.stream({}, decided_at="a", labelled_at="b", label="c"),
        lambda: join.resize(capacity=3),
        lambda: join.resize(),
        lambda: join.resize(window="3d"),
    ]
    for call in refused:
        with pytest.raises(ValueError):
            call()
    assert join.status().rounds == 0
    assert sum(join.status().answers.values()) == 0
    assert join.capacity == 8
    join.close()


def test_shares_divide_a_capacity():
    for capacity in (7, 8, 64, 1000):
        for loads in ([1.0] * 7, [5.0, 0, 0, 0, 0, 0, 1.0], list(range(7)), [0.0] * 7):
            parts = shares(capacity, loads)
            assert sum(parts) == capacity
            assert min(parts) >= 1
            exact = [1 + (capacity - 7) * load / (sum(loads) or 1) for load in loads]
            if sum(loads):
                assert max(abs(part - want) for part, want in zip(parts, exact, strict=True)) <= 1.0


def test_no_other_division_varies_less():
    """Against all divisions there are; whole slots and one for each shard keep it from being the least itself."""
    draw = np.random.default_rng(3)
    for _ in range(60):
        decisions, backlogs = draw.dirichlet([0.7] * 3), draw.uniform(1.0, 200.0, 3) ** draw.choice([0.5, 1.0], 3)

        def cost(slots, p=decisions, b=backlogs):
            return float(p @ np.maximum(0.0, b / np.array(slots) - 1.0))

        every = [(i, j, 60 - i - j) for i in range(1, 59) for j in range(1, 60 - i)]
        least = min(map(cost, every))
        assert cost(shares_by_load(60, decisions, backlogs)) <= 1.05 * least + 0.02


def test_slots_go_where_they_are_worth_most_if_shards_do_not_wait_equally_long():
    """Shard 0 has a tenth of the decisions, and ten elevenths of what is pending."""
    join = LabelJoin(20, shards=2, rng=1)
    slow, quick = of_each(1800, 2)
    join.decide_many([None] * 200, ids=slow[:200])
    for i in range(0, 1800, 20):
        join.decide_many([None] * 20, ids=quick[i : i + 20])
        if i < 1780:
            join.label_many(quick[i : i + 20], [1] * 20)
    loads = join.status().shards
    assert [(load.rounds, round(load.held)) for load in loads] == [(200, 200), (1800, 20)]
    assert shares(20, [load.held for load in loads]) == [17, 3], "held weight alone would tell another story"
    join.rebalance()
    assert [load.capacity for load in join.status().shards] == [10, 10], "√(200 · 200) is near √(1800 · 20)"


def skewed(count: int, shards: int, hot: int, seed: int = 0) -> list[str]:
    """Ids of which half belong to one shard."""
    found, i = [], 0
    while len(found) < count:
        id = f"{seed}-{i}"
        i += 1
        if shard_of(id, shards) == hot or len(found) % 2:
            found.append(id)
    return found


def test_capacity_goes_where_the_load_is():
    join = LabelJoin(64, shards=4, rng=4)
    ids = skewed(600, 4, hot=2)
    join.decide_many([None] * 600, ids=ids)
    before = [load.capacity for load in join.status().shards]
    released = join.rebalance()
    loads = join.status().shards
    assert before == [16] * 4
    assert sum(load.capacity for load in loads) == join.capacity == 64
    assert loads[2].capacity == max(load.capacity for load in loads) > 32
    for load in loads:
        assert load.capacity == pytest.approx(64 * load.held / 600, abs=2)
        assert load.tracked <= load.capacity
    assert len(released) == 64 - sum(load.tracked for load in loads)
    assert join.rebalance() == [], "what is near to its share stays"
    total = sum(row.weight for id in ids if (row := join.label(id, 1)) is not None)
    assert total == pytest.approx(600.0)
    join.resize(capacity=None)
    assert join.capacity is None
    assert join.rebalance() == []
    join.resize(capacity=8)
    assert join.capacity == 8
    with pytest.raises(NotGranted, match="cannot give up slots"):
        LabelJoin(9, shards=3, scheduler=tarry.schedulers.Priority()).resize(capacity=6)


def test_a_change_that_is_cut_short_is_made_good(monkeypatch):
    join = LabelJoin(32, shards=4, rng=4)
    join.decide_many([None] * 200, ids=skewed(200, 4, hot=2))
    with monkeypatch.context() as patch:
        patch.setattr(
            join._shards[2],
            "resize",
            lambda *_, **__: (_ for _ in ()).throw(StoreError("out of reach; nothing was changed: wait")),
        )
        before = {one.id for one in join.tracked()}
        with pytest.raises(StoreError, match=r"^3 shards were changed.* the others were not: out of reach") as told:
            join.rebalance()
    assert "nothing was changed" not in str(told.value)
    lost = before - {one.id for one in join.tracked()}
    assert f"the slots of {len(lost)} decisions" in str(told.value)
    assert all(repr(id) in str(told.value) for id in lost)
    assert join.capacity < 32, "some have shrunk, the one that was to grow has not"
    join.resize(capacity=32)
    assert join.capacity == 32
    assert join.status().balance == pytest.approx(1.0)


@pytest.mark.parametrize("failure", [StoreError, Uncertain])
def test_a_batch_of_which_a_part_is_done_is_uncertain(monkeypatch, failure):
    join = LabelJoin(16, shards=2, rng=1)
    ids = [f"visit-{i}" for i in range(8)]
    join.decide_many([None] * 8, ids=ids)

    def fail(*_, **__):
        raise failure("the connection was lost")

    with monkeypatch.context() as patch:
        patch.setattr(join._shards[0], "label_many", fail)
        with pytest.raises(Uncertain, match="1 of 2 shards"):
            join.label_many(ids, [1] * 8)
        patch.setattr(join._shards[1], "label_many", fail)
        with pytest.raises(StoreError) as told:
            join.label_many(ids, [1] * 8)
        assert type(told.value) is failure


def test_reopened_copied_moved_and_deleted(new_store):
    url = new_store("postgres")
    make = {"shards": 3, "store": url, "name": "clicks", "outbox": True, "rng": 8, "memory": 900}
    join = LabelJoin(12, **make)
    join.decide_many([{"i": i} for i in range(60)], ids=range(60))
    join.resize(capacity=9)
    join.rebalance()
    for wrong, words in (
        ({"shards": 4}, r"another value of shards \(3, not 4\)"),
        ({"shards": 1}, r"another value of shards \(3, not None\)"),
        ({"rng": 9}, "another seed"),
        ({"memory": 300}, "another memory"),
    ):
        with pytest.raises(Mismatch, match=words):
            LabelJoin(9, **(make | wrong))
    with pytest.raises(Mismatch, match=r"another capacity \(9, not 12\)"):
        LabelJoin(12, **make)
    with pytest.raises(ValueError, match="is one of a shard"):
        LabelJoin(4, store=url, name="clicks#1")
    assert stored_names(url) == {"clicks": "join"}
    again = LabelJoin(9, **make)
    copy = join.copy_to(url, name="copy")
    with pytest.raises(StoreError, match="already"):
        join.copy_to(url, name="copy")
    told = [str(one.label_many(range(30), [1] * 30)) for one in (copy, again)]
    assert told[0] == told[1]
    assert join.ledger(4) == copy.ledger(4)
    with LabelJoin.open(url, name="copy") as other:
        copy.resize(capacity=6)
        assert other.export()["configuration"]["capacity"] == 6
    found = copy.export(payloads=True)
    assert len(found["tracked"]) == copy.status().tracked <= copy.status().capacity
    for one in (join, again, copy):
        one.close()
    for name in ("clicks", "copy"):
        erase(url, name)
    assert stored_names(url) == {}


def test_a_shard_that_is_busy_keeps_no_other_waiting(new_store):
    url = new_store("postgres")
    join = LabelJoin(8, shards=2, store=url, rng=1)
    ids = {shard_of(id, 2): id for id in map(str, range(50))}
    with psycopg.connect(url) as database:
        database.execute("SELECT 1 FROM tarry_objects WHERE name = 'main#0' FOR UPDATE")
        assert join.decide({}, ids[1]).tracked
        waiting = threading.Thread(target=join.decide, args=({}, ids[0]))
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        with LabelJoin.open(url) as other:
            assert other.status().rounds == 1, "readers wait for nobody"
    waiting.join(30)
    assert join.status().rounds == 2
    join.close()


def names_in(url):
    with psycopg.connect(url) as database:
        return [name for (name,) in database.execute("SELECT name FROM tarry_objects ORDER BY name")]


def test_those_who_make_a_join_at_once_have_the_same_or_are_refused(new_store):
    url, came = new_store("postgres"), []

    def make(count):
        came.append(outcome_of(lambda: LabelJoin(12, shards=count, store=url, durability="process")))

    makers = [threading.Thread(target=make, args=(count,)) for count in (2, 3, 2, 3, 2, 3)]
    for thread in makers:
        thread.start()
    for thread in makers:
        thread.join()
    joins = [one for one in came if not isinstance(one, Exception)]
    assert [type(one) for one in came if isinstance(one, Exception)] == [Mismatch] * 3
    for i, join in enumerate(joins):
        join.decide({}, i)
    assert [join.status().rounds for join in joins] == [3, 3, 3]
    assert len(names_in(url)) == len(joins[0]._shards)
    for join in joins:
        join.close()


@contextmanager
def rebalance_that_waits(url, join):
    """A rebalance that has shrunk shard 1 and waits for shard 0, which is to grow; yields what it comes to."""
    came = []
    with psycopg.connect(url) as database:
        database.execute("SELECT 1 FROM tarry_objects WHERE name = 'main#0' FOR UPDATE")
        work = threading.Thread(target=lambda: came.append(outcome_of(join.rebalance)))
        work.start()
        with LabelJoin.open(url) as other:
            until = time.monotonic() + 20
            while other.status().shards[1].capacity == 8 and time.monotonic() < until:
                time.sleep(0.02)
        yield came
    work.join(30)


def of_each(count, shards):
    """So many ids of each shard."""
    found = [[id for id in map(str, range(20 * count * shards)) if shard_of(id, shards) == k] for k in range(shards)]
    return [ids[:count] for ids in found]


def test_rows_at_the_end_of_windows_are_limited_over_all_shards():
    join = LabelJoin(64, shards=4, rng=1, window=10.0, missing=0)
    for i in range(40):
        join.decide(id=f"visit-{i}", at=float(i))
    asked = []
    for k, shard in enumerate(join._shards):
        shard.advance = partial(lambda k, advance, *rest: [asked.append(k), advance(*rest)][1], k, shard.advance)
    for wrong in (True, -1, 1.5):
        with pytest.raises(ValueError, match="limit must be a whole number"):
            join.advance(100.0, limit=wrong)
    assert join.advance(100.0, limit=0) == [] == asked
    parts = []
    while part := join.advance(100.0, limit=3):
        parts.append(part)
    assert asked[:1] == [0], "a full answer opens no call on shards after it"
    assert asked.index(1) == 1 + sum(shard_of(f"visit-{i}", 4) == 0 for i in range(40)) // 3
    assert [len(part) for part in parts] == [3] * 13 + [1]
    assert {row.id for part in parts for row in part} == {f"visit-{i}" for i in range(40)}
