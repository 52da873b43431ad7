"""A join in shards: each shard is a join, sums over them are right, and together they never hold more than C."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import contextmanager
from math import isclose, sqrt

import numpy as np
import psycopg
import pytest

import tarry
from tarry.errors import Mismatch, Missing, NotGranted, StoreError, Uncertain
from tarry.live import LabelJoin, Row
from tarry.live.base import StoredObject, erase
from tarry.live.books import books_of, merged
from tarry.live.core import NAIVE
from tarry.live.register import Register, seed_of, shard_of, shares, shares_by_load
from tarry.live.shards import ShardedJoin
from tarry.live.stores import connections, stored_names
from tarry.live.transactions import outcome_of
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
    found = merged([books_of(shard._tracker) for shard in whole._shards], whole._register.configuration)
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


def test_a_class_of_ones_own_is_not_made_into_shards():
    class Own(LabelJoin):
        pass

    with pytest.raises(TypeError, match="no Own"):
        Own(8, shards=2)
    assert type(Own(8)) is Own


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
            "_reconfigure",
            lambda *_, **__: (_ for _ in ()).throw(StoreError("out of reach; nothing was changed: wait")),
        )
        before = {one.id for one in join.tracked()}
        with pytest.raises(StoreError, match=r"^3 shards were changed.* shard 2 .* not: out of reach") as told:
            join.rebalance()
    assert "nothing was changed" not in str(told.value)
    lost = before - {one.id for one in join.tracked()}
    assert f"the slots of {len(lost)} decisions" in str(told.value)
    assert all(repr(id) in str(told.value) for id in lost)
    assert join.capacity < 32, "some have shrunk, the one that was to grow has not"
    join.rebalance()
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
        ({"memory": 300}, r"another memory \(900, not 300\)"),
    ):
        with pytest.raises(Mismatch, match=words):
            LabelJoin(9, **(make | wrong))
    with pytest.raises(Mismatch, match=r"another capacity \(9, not 12\)"):
        LabelJoin(12, **make)
    with pytest.raises(Missing, match="open 'clicks'"):
        LabelJoin.open(url, name="clicks#1/3")
    assert stored_names(url) == ["clicks"]
    again = LabelJoin(9, **make)
    copy = join.copy_to(url, name="copy")
    moved = LabelJoin.import_from([json.dumps(line) for line in join.export_lines()], url, name="moved")
    with pytest.raises(StoreError, match="already"):
        join.copy_to(url, name="copy")
    told = [str(one.label_many(range(30), [1] * 30)) for one in (copy, moved, again)]
    assert told[0] == told[1] == told[2]
    assert join.ledger(4) == copy.ledger(4)
    lines = [json.dumps(line) for line in copy.export_lines()]
    with pytest.raises(StoreError, match="not all of"):
        LabelJoin.import_from(lines[: next(i for i, line in enumerate(lines) if i > 5 and '"lines"' in line) + 1], url)
    ends = [i for i, line in enumerate(lines) if '"lines"' in line]
    for part in (lines[: ends[0] + 1], lines[ends[0] + 1 : ends[1] + 1]):  # the record, and one shard
        with pytest.raises(StoreError, match="not all of"):
            LabelJoin.import_from(part, url)
    with LabelJoin.open(url, name="copy") as other:
        copy.resize(capacity=6)
        assert other.export()["configuration"]["capacity"] == 6
    found = copy.export(payloads=True)
    assert len(found["tracked"]) == copy.status().tracked
    assert found["configuration"]["options"]["shards"] == 3
    for one in (join, again, copy, moved):
        one.close()
    erase(url, "clicks#1/3")  # a deletion that was cut short
    with pytest.raises(StoreError, match="shard 1 of 'clicks'"):
        LabelJoin.open(url, name="clicks")
    for name in ("clicks", "copy", "moved"):
        erase(url, name)
    with psycopg.connect(url) as database:
        for table in ("sessions", "state", "items", "ids", "fates"):
            assert database.execute(f"SELECT count(*) FROM tarry_{table}").fetchone() == (0,)


def test_a_shard_that_is_busy_keeps_no_other_waiting(new_store):
    url = new_store("postgres")
    join = LabelJoin(8, shards=2, store=url, rng=1)
    ids = {shard_of(id, 2): id for id in map(str, range(50))}
    with psycopg.connect(url) as database:
        shard = "SELECT number FROM tarry_sessions WHERE name = 'main#0/2'"
        database.execute(f"SELECT 1 FROM tarry_state WHERE session = ({shard}) FOR UPDATE")
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
        return [name for (name,) in database.execute("SELECT name FROM tarry_sessions ORDER BY name")]


def test_a_name_that_is_taken_meanwhile_leaves_no_shards(new_store, monkeypatch):
    url, create = new_store("postgres"), Register.create

    def late(register):
        LabelJoin(12, store=url, name=register.place.name, rng=3).close()  # another process, which has no shards
        return create(register)

    source = LabelJoin(12, shards=3, rng=1, store=new_store("postgres"))
    monkeypatch.setattr(Register, "create", late)
    with pytest.raises(Mismatch, match="another seed"):
        LabelJoin(12, shards=3, store=url, name="clicks", rng=1)
    assert names_in(url) == ["clicks"]
    with pytest.raises(StoreError, match="has 'copy' already"):
        source.copy_to(url, name="copy")
    assert names_in(url) == ["clicks", "copy"]
    source.close()


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
    assert len(names_in(url)) == 1 + len(joins[0]._shards)
    for join in joins:
        join.close()


def test_what_fails_half_way_can_be_done_again(new_store):
    url = new_store("postgres")
    LabelJoin(4, store=url, name="new#2/3").close()
    LabelJoin(4, store=url, name="copy#2/3").close()
    with pytest.raises(Mismatch):
        LabelJoin(12, shards=3, store=url, name="new")
    source = LabelJoin(12, shards=3, store=url, name="source", rng=1)
    with pytest.raises(StoreError, match="'copy#2/3' already"):
        source.copy_to(url, name="copy")
    assert [name for name in names_in(url) if "source" not in name] == ["copy#2/3", "new#2/3"]
    for name in ("copy", "new"):
        erase(url, f"{name}#2/3")
    LabelJoin(12, shards=3, store=url, name="new").close()
    source.copy_to(url, name="copy").close()
    source.close()


def test_a_copy_during_a_rebalance_holds_no_more_than_the_capacity(monkeypatch):
    join = LabelJoin(16, shards=2, rng=1)
    few, many = of_each(300, 2)
    join.decide_many([{}] * 320, ids=few[:20] + many)
    first = join._shards[0]._turns
    look, other = first.look, threading.Thread(target=join.rebalance)

    def look_and_wait(work, *arguments):
        found = look(work, *arguments)
        if other.ident is None:
            other.start()
            other.join(0.5)  # as long as it may take between two looks
        return found

    monkeypatch.setattr(first, "look", look_and_wait)
    heads = [line["configuration"]["capacity"] for line in join.export_lines() if "configuration" in line]
    other.join()
    assert heads == [16, 8, 8]
    assert join.status().shards[1].capacity > 8


def test_sixteen_rebalances_at_once_wait_for_each_other(new_store, monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 4.0)
    url, came = new_store("postgres"), []
    joins = [LabelJoin(8, shards=2, store=url, name=f"j{i}", rng=i, durability="process") for i in range(16)]
    hot, _ = of_each(40, 2)
    for join in joins:
        join.decide_many([{}] * 40, ids=hot)
    look = ShardedJoin._look

    def slow(join, work):
        time.sleep(0.3)  # until all have come
        return look(join, work)

    monkeypatch.setattr(ShardedJoin, "_look", slow)
    threads = [threading.Thread(target=lambda j=join: came.append(outcome_of(j.rebalance))) for join in joins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one for one in came if isinstance(one, Exception)] == []
    for join in joins:
        join.close()


def of_each(count, shards):
    """So many ids of each shard."""
    found = [[id for id in map(str, range(20 * count * shards)) if shard_of(id, shards) == k] for k in range(shards)]
    return [ids[:count] for ids in found]


@contextmanager
def rebalance_that_waits(url, join):
    """A rebalance that has shrunk shard 1 and waits for shard 0, which is to grow; yields what it comes to."""
    came = []
    with psycopg.connect(url) as database:
        shard = "SELECT number FROM tarry_sessions WHERE name = 'main#0/2'"
        database.execute(f"SELECT 1 FROM tarry_state WHERE session = ({shard}) FOR UPDATE")
        work = threading.Thread(target=lambda: came.append(outcome_of(join.rebalance)))
        work.start()
        with LabelJoin.open(url) as other:
            until = time.monotonic() + 20
            while other.status().shards[1].capacity == 8 and time.monotonic() < until:
                time.sleep(0.02)
        yield came
    work.join(30)


def test_a_rebalance_keeps_its_lock_however_long_a_shard_is_busy(new_store, monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 5.0)  # so that what rests for half of it is ended
    url = new_store("postgres")
    hot, cold = of_each(400, 2)
    with LabelJoin(16, shards=2, store=url, rng=1) as join, LabelJoin.open(url) as other:
        join.decide_many([{}] * 140, ids=hot[:120] + cold[:20])
        with rebalance_that_waits(url, join) as came:
            other.decide_many([{}] * 100, ids=cold[20:120])
            time.sleep(2.7)
            record = "SELECT number FROM tarry_sessions WHERE name = 'main'"
            with psycopg.connect(url) as database, pytest.raises(psycopg.errors.LockNotAvailable):
                database.execute(f"SELECT 1 FROM tarry_state WHERE session = ({record}) FOR UPDATE NOWAIT")
        assert isinstance(came[0], list), came
        other.rebalance()
        other.decide_many([{}] * 400, ids=hot[120:320] + cold[120:320])
        assert sum(load.capacity for load in other.status().shards) == 16 == other.status().tracked


def test_a_rebalance_that_has_lost_its_lock_grows_no_shard(new_store):
    url = new_store("postgres")
    hot, cold = of_each(400, 2)
    with LabelJoin(16, shards=2, store=url, rng=1) as join, LabelJoin.open(url) as other:
        join.decide_many([{}] * 140, ids=hot[:120] + cold[:20])
        with rebalance_that_waits(url, join) as came, psycopg.connect(url, autocommit=True) as database:
            held = join._register.place._held.info.backend_pid
            assert database.execute("SELECT pg_terminate_backend(%s, 5000)", (held,)).fetchone() == (True,)
        assert isinstance(came[0], StoreError)
        assert "1 shards were changed" in str(came[0])
        assert "the lock of 'main' is gone" in str(came[0])
        loads = other.status().shards
        assert loads[0].capacity == 8 > loads[1].capacity
        join.rebalance()
        assert sum(load.capacity for load in other.status().shards) == 16


SNAPSHOT = """
SELECT (SELECT count(*) FROM tarry_items WHERE round > 0 AND payload IS NOT NULL),
       (SELECT sum((configuration::json ->> 'capacity')::int) FROM tarry_sessions WHERE name LIKE 'main#%'),
       (SELECT (configuration::json ->> 'capacity')::int FROM tarry_sessions WHERE name = 'main')
"""


def test_never_more_than_the_capacity_at_any_commit(new_store):
    """Four writers, two of whom rebalance and resize at once; somebody else looks through a connection of their own."""
    url, capacity, count = new_store("postgres"), 24, 4
    LabelJoin(capacity, shards=count, store=url, rng=1, durability="process").close()
    is_over, failures, seen = threading.Event(), [], []

    def write(k: int) -> None:
        try:
            with LabelJoin.open(url, durability="process") as join:
                ids = skewed(60, count, hot=k, seed=k)
                for i, id in enumerate(ids):
                    join.decide({"i": i}, id)
                    if i >= 20:
                        join.label(ids[i - 20], 1)
                    if k < 2 and i % 12 == 11:
                        join.rebalance()
                        join.resize(capacity=capacity - 8 * (i % 24 == 11))
        except Exception as error:
            failures.append(error)

    def look() -> None:
        with psycopg.connect(url, autocommit=True) as database:
            while not is_over.is_set():
                seen.append(database.execute(SNAPSHOT).fetchone())

    writers = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    watcher = threading.Thread(target=look)
    for thread in (watcher, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    is_over.set()
    watcher.join()
    assert not failures
    assert len(seen) > 50
    assert max(tracked for tracked, _, _ in seen) > capacity / 2, "or nothing was seen"
    assert [one for one in seen if not one[0] <= one[1] <= one[2] <= capacity] == []
    with LabelJoin.open(url) as join:
        join.rebalance()
        assert join.status().rounds == join.ledger()["sum"] == 240
        assert join.status().balance == pytest.approx(1.0)
        assert join.resize(capacity=capacity) == []
        assert sum(load.capacity for load in join.status().shards) == capacity
