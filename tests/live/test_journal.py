"""What is stored is what was asked: a replay gives the state of a snapshot, and what is wrong is told at its place."""

from __future__ import annotations

import sqlite3
import time
from decimal import Decimal
from fractions import Fraction
from zlib import crc32

import numba
import numpy as np
import pytest
from mymethods import FairCoin, Momentum

import tarry
from tarry.domains import Ball, project
from tarry.errors import StoreError
from tarry.kernel.keyed import sealed_word
from tarry.live.stores import TOKEN, Entry
from tarry.live.stores.memory import Memory
from tarry.schedulers.base import Sealed, draw

SCHEDULERS = [
    None,
    tarry.schedulers.Priority(),
    tarry.schedulers.Bernoulli(probability=0.6),
    tarry.schedulers.Morris(0.3),
]
RULES = [{}, {"outbox": True}, {"window": 30, "missing": 0, "outbox": True}, {"labels": "all"}, {"labels": "sum"}]


def play(join, rng, steps, rules):
    """Random calls, many of them refused."""
    for _ in range(steps):
        now, at = join.status().rounds, {}
        if "window" in rules:
            at = {"at": now}
        id, chance = f"d{rng.integers(0, now + 2)}", rng.random()
        if chance < 0.5:
            join.decide({"n": float(rng.normal())}, f"d{now}", **at)
        elif chance < 0.8:
            join.label(id, float(rng.random()), **at)
        elif chance < 0.85:
            join.decide_many([{}, (1, b"x")], ids=[f"d{now}", f"d{now + 1}"], **at)
        elif chance < 0.9:
            join.label_many([id, "nobody"], [1, 0], **at)
        elif chance < 0.94 and at:
            join.advance(now)
        elif chance < 0.97:
            join.expire(id)
        elif "outbox" in rules and join.rows(limit=1):
            join.ack(join.rows(limit=1)[0].number)
        else:
            with pytest.raises(ValueError, match="finite"):
                join.label(id, float("nan"), **at)


@pytest.mark.parametrize("scheduler", SCHEDULERS, ids=str)
@pytest.mark.parametrize("rules", RULES, ids=str)
def test_a_replay_gives_the_state_of_the_snapshot_at_every_cut(scheduler, rules):
    rng, store = np.random.default_rng(5), Memory()
    join = tarry.LabelJoin(4, rng=1, memory=40, scheduler=scheduler, store=store, keep="all", **rules)
    states, shelf = [], store.database["main"]
    first = shelf.snapshot
    for _ in range(12):
        play(join, rng, 8, rules)
        states.append((len(shelf.entries), join.to_bytes()))
    snapshots = []
    for count, state in states:
        copy = Memory()
        copy.database["main"] = type(shelf)(kind="join", snapshot=first, entries=shelf.entries[:count])
        replayed = tarry.LabelJoin.open(copy)
        assert replayed.to_bytes() == state
        replayed._turns._leave_snapshot()  # without an entry of its own
        snapshots.append(copy.database["main"].snapshot)
    for snapshot, (_, state) in zip(snapshots, states, strict=True):  # and on from each snapshot to the end
        copy = Memory()
        copy.database["main"] = type(shelf)(kind="join", snapshot=snapshot, entries=list(shelf.entries))
        again = tarry.LabelJoin.open(copy)
        assert again.to_bytes() == states[-1][1]
        assert state == states[-1][1] or len(snapshots) > 1


@pytest.fixture
def stored():
    """A store with some entries of a join."""
    store = Memory()
    join = tarry.LabelJoin(2, rng=1, store=store)
    for i in range(9):
        join.decide({"i": i}, f"d{i}")
        join.label(f"d{i - 1}", i)
    return store


def forged(entry, before, text):
    """An entry with another text, and the checksum that it should have."""
    checksum = crc32(text, crc32(b"%d %b %b" % (entry.seq, entry.token, before)))
    return Entry(entry.seq, entry.token, checksum.to_bytes(4, "little") + text)


@pytest.mark.parametrize("number", range(1, 19))
def test_a_flipped_bit_is_told_with_its_place(stored, number):
    entries, rng = stored.database["main"].entries, np.random.default_rng(number)
    entry = entries[number - 1]
    body = bytearray(entry.body)
    body[rng.integers(len(body))] ^= 1 << rng.integers(8)
    entries[number - 1] = entry._replace(body=bytes(body))
    with pytest.raises(StoreError, match=rf"is damaged \(entry {number} of the journal\)"):
        tarry.LabelJoin.open(stored).status()


def test_entries_that_are_swapped_lost_or_of_another_history_are_told(stored):
    entries = stored.database["main"].entries
    whole = list(entries)
    entries[3], entries[4] = whole[4]._replace(seq=4), whole[3]._replace(seq=5)
    with pytest.raises(StoreError, match="entry 4 of the journal"):
        tarry.LabelJoin.open(stored).status()
    entries[:] = [*whole[:6], *whole[7:]]
    with pytest.raises(StoreError, match="has lost entries 7 to 7 of the journal"):
        tarry.LabelJoin.open(stored).status()
    entries[:] = whole
    text = whole[8].body[4:].replace(b'"d4"', b'"d9"', 1)
    entries[8] = forged(whole[8], whole[7].token, text)
    with pytest.raises(StoreError, match=r"entry 9 of the journal, made again, gives .* and gave"):
        tarry.LabelJoin.open(stored).status()
    entries[:] = whole
    assert tarry.LabelJoin.open(stored).status().rounds == 9  # nothing was wrong but that


def test_a_flipped_bit_in_a_snapshot_is_told(stored):
    shelf = stored.database["main"]
    tarry.LabelJoin.open(stored).vacuum()
    for place in (0, 5, 40, -1):
        body = bytearray(shelf.snapshot.body)
        body[place] ^= 4
        whole, shelf.snapshot = shelf.snapshot, shelf.snapshot._replace(body=bytes(body))
        with pytest.raises(StoreError, match=r"is damaged .*its snapshot"):
            tarry.LabelJoin.open(Memory("main", stored.database))
        shelf.snapshot = whole
    assert tarry.LabelJoin.open(stored).status().rounds == 9


def test_a_member_that_is_not_deterministic_is_told_at_its_entry(monkeypatch):
    store, scheduler = Memory(), FairCoin()
    join = tarry.LabelJoin(50, rng=1, store=store, scheduler=scheduler)
    player = join._tracker.configuration.player
    for i in range(20):
        join.decide({"i": i}, f"d{i}")
    assert tarry.LabelJoin.open(store, player=player).status().rounds == 20
    fates = [join._tracker.fates.fate(t) for t in range(1, 21)]
    other = tarry.LabelJoin.open(store, player=player)
    monkeypatch.setattr(other._tracker.slots, "seed", 77)
    other._tracker.start = lambda configuration, start=other._tracker.start: start(configuration._replace(seed=77))
    with pytest.raises(StoreError, match=r"entry \d+ of the journal, made again, gives .*not deterministic"):
        other.status()
    assert len(set(fates)) > 1


@pytest.mark.parametrize("number", range(2, 18))
def test_what_is_wrong_with_an_entry_that_is_kept_is_told(number):
    """Entries before the snapshot, which no replay reads; of the first one, as long as its forerunner is known."""
    store, rng = Memory(), np.random.default_rng(number)
    join = tarry.LabelJoin(2, rng=1, store=store, keep="all")
    for i in range(9):
        join.decide({"i": i}, f"d{i}")
        join.label(f"d{i - 1}", i)
    join.vacuum()
    entries = store.database["main"].entries
    whole = [*entries]
    lines = [*tarry.LabelJoin.open(store).journal()]
    assert lines[-1]["what"] == "vacuumed"
    for field in ("body", "token"):
        data = bytearray(getattr(whole[number - 1], field))
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        entries[number - 1] = whole[number - 1]._replace(**{field: bytes(data)})
        with pytest.raises(StoreError, match=r"damaged \(entry \d+ of the journal"):
            [*tarry.LabelJoin.open(store).journal()]
        entries[:] = whole
    for after in (0, number - 1):
        del entries[number - 1]
        with pytest.raises(StoreError, match=r"damaged \(entry \d+ of the journal"):
            [*tarry.LabelJoin.open(store).journal(after)]
        entries[:] = whole
    assert [*tarry.LabelJoin.open(store).journal()] == lines


def test_nothing_of_a_batch_but_what_is_tracked_outlives_a_vacuum(tmp_path):
    path = tmp_path / "a.db"
    with tarry.LabelJoin(2, rng=1, store=f"sqlite:///{path}") as join:
        tickets = join.decide_many([{"secret": f"of {i:03}"} for i in range(30)])
        assert sum(ticket.tracked for ticket in tickets) > 2
        join.vacuum()
    with sqlite3.connect(path) as database:
        bodies = [body for (body,) in database.execute("SELECT body FROM tarry_journal")]
    database.close()
    assert b"of 0" not in b"".join(bodies)
    assert path.read_bytes().count(b"of 0") == 2


class Trembling(Momentum):
    """A learner with draws of its own, which no seed of ours repeats."""

    tremble: float = 0.0

    def advance(self, state, t, pending):
        for i in range(state.point.size):
            state.point[i] -= state.step[i] + self.tremble * (np.random.random() - 0.5)  # noqa: NPY002
        project(self.domain, state.point, state.scratch)


@pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="compiled code draws from a generator of Numba's own")
@pytest.mark.parametrize("tremble", [0.0, 1e-13, 1e-3, np.nan])
def test_a_learner_that_draws_for_itself_is_told_at_its_first_replay(tremble):
    """One that differs in the last bits alone, as those of two machines may, is not; nor one that always plays NaN."""
    store, player = Memory(), tarry.Player(Trembling(Ball(3), 0.1, tremble=tremble))
    session = tarry.Session(player, capacity=4, rng=1, store=store)
    for _ in range(5):
        session.tell(session.ask().id, gradient=[0.3, -0.2, 0.1])
    session.ask_many(3)
    again = tarry.Session.open(store, player=player)
    if not tremble > 1e-6:
        assert again.status().rounds == 8
    else:
        with pytest.raises(StoreError, match=r"entry [1-3] of the journal, made again, gives .*'plays'.*determinis"):
            again.status()
    assert {line["what"] for line in session.journal()} <= {"tracked", "used", "lost"}  # a play is nobody's fate


NUMBERS = [
    np.array(5.0),
    np.array(5),
    np.float32(0.1),
    np.longdouble(0.1),
    np.uint64(2**64 - 1),
    np.bool_(1),
    True,
    2.5,
]
OTHERS = [
    *(np.datetime64("2020-01-01T00:00:00", "ns"), np.timedelta64(5, "ns"), np.complex64(1), np.str_("a"), "x", None),
    *(10**400, 2**1023, Decimal("1.5"), Fraction(1, 3), np.array([1.0]), object()),
]


@pytest.mark.parametrize(("label", "counts"), [*((one, True) for one in NUMBERS), *((one, False) for one in OTHERS)])
@pytest.mark.parametrize("rules", [{}, {"outbox": True}, {"labels": "last"}], ids=str)
def test_a_label_of_any_kind_counts_in_a_replay_as_it_did(rules, label, counts):
    store = Memory()
    join = tarry.LabelJoin(8, rng=1, store=store, **rules)
    tickets = join.decide_many([{}, {}])
    try:
        join.label(tickets[0].id, label)
        join.label_many([tickets[1].id], [label])
    except ValueError:
        assert rules  # which keep what a store can
    if "labels" in rules:
        join.finish_many([ticket.id for ticket in tickets])
    assert tarry.LabelJoin.open(store).to_bytes() == join.to_bytes()
    assert join.estimate().labels == 2 * counts


def test_a_size_of_any_kind_is_the_same_in_a_replay():
    store = Memory()
    join = tarry.LabelJoin(8, rng=1, store=store)
    for size in (Fraction(1, 2), np.float32(0.1), np.int64(3), 2):
        join.decide({}, size=size)
    assert tarry.LabelJoin.open(store).to_bytes() == join.to_bytes()


def test_the_journal_tells_who_got_a_slot_who_lost_it_and_each_weight(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with tarry.LabelJoin(1, rng=1, store=url, keep="all") as join:
        tickets = [join.decide({"i": i}, f"d{i}") for i in range(6)]
        last = next(ticket.id for ticket in reversed(tickets) if ticket.tracked)
        row = join.label(last, 1)
        join.vacuum()
        told = list(join.journal())
        assert [line["id"] for line in told if line["what"] == "tracked"] == [t.id for t in tickets if t.tracked]
        assert [line["id"] for line in told if line["what"] == "lost"] == [i for t in tickets for i in t.released]
        assert [(line["id"], line["weight"]) for line in told if line["what"] == "used"] == [(last, row.weight)]
        assert [line["entry"] for line in told] == sorted(line["entry"] for line in told)
        assert [*join.journal(after=6)] == [line for line in told if line["entry"] > 6]
    with tarry.LabelJoin.open(url) as again:
        assert [*again.journal()] == told
    with pytest.raises(ValueError, match="in memory has no journal"):
        tarry.LabelJoin(1).journal()


@pytest.mark.parametrize(("keep", "entries"), [(None, 1), ("all", 4), ("30d", 4), (1e-6, 1)])
def test_entries_stay_beyond_a_snapshot_as_long_as_was_said(keep, entries, tmp_path):
    path = tmp_path / "a.db"
    with tarry.LabelJoin(4, rng=1, store=f"sqlite:///{path}", keep=keep) as join:
        for i in range(4):
            join.decide({"secret": f"of {i}"}, f"d{i}")
        for i in range(3):
            join.expire(f"d{i}")
        time.sleep(0.005)  # a token knows its millisecond
        join.vacuum()
        with sqlite3.connect(path) as database:
            (found,) = database.execute("SELECT count(*) FROM tarry_journal").fetchone()
            (body,) = database.execute("SELECT body FROM tarry_objects").fetchone()
        database.close()
        assert found == (entries if entries == 1 else entries + 4)  # with that of the vacuum
        assert (b"of 3" in body, b"of 1" in body) == (True, False)  # features go with their slot


def test_features_are_stored_only_of_decisions_with_a_slot(tmp_path):
    path = tmp_path / "a.db"
    with tarry.LabelJoin(1, rng=1, store=f"sqlite:///{path}", scheduler="drop newest") as join:
        assert [join.decide({"secret": f"of {i}"}, f"d{i}").tracked for i in range(3)] == [True, False, False]
        with sqlite3.connect(path) as database:
            text = b"".join(body for (body,) in database.execute("SELECT body FROM tarry_journal"))
        database.close()
    assert (b"of 0" in text, b"of 1" in text, b"of 2" in text) == (True, False, False)


def test_a_token_is_of_its_moment():
    from tarry.live.turns import make_token

    first, second = make_token(), make_token()
    assert len(first) == TOKEN
    assert first[:6] <= second[:6]
    assert first != second


def test_draws_without_rng_are_those_of_siphash_and_of_a_secret_that_no_answer_shows(tmp_path):
    """The published vector of SipHash-2-4 for the eight bytes 0 to 7; and joins of one secret draw alike."""
    key = np.uint64(0x0706050403020100), np.uint64(0x0F0E0D0C0B0A0908)
    with np.errstate(over="ignore"):
        assert int(sealed_word(*key, 0x0706050403020100)) == 0x93F5F5799A932462
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with tarry.LabelJoin(3, store=url) as join, tarry.LabelJoin(3) as other:
        for i in range(40):
            join.decide({}, f"d{i}"), other.decide({}, f"d{i}")
        secret = join._tracker.configuration.seed
        assert len(secret) == 32
        assert secret not in repr(join.export(payloads=True)) + repr(join.status()) + repr(join.ledger(40))
        assert [join.fate(f"d{i}") for i in range(40)] != [other.fate(f"d{i}") for i in range(40)]
        twin = tarry.LabelJoin.from_bytes(join.to_bytes())
        assert [twin.decide({}, f"e{i}") for i in range(20)] == [join.decide({}, f"e{i}") for i in range(20)]
        assert twin.resize(capacity=1) == join.resize(capacity=1)


def test_sealed_draws_are_uniform():
    with np.errstate(over="ignore"):
        draws = [draw(Sealed(np.uint64(3), np.uint64(5)), t) for t in range(1, 4001)]
    assert 0.0 < min(draws) < 0.01
    assert 0.99 < max(draws) <= 1.0
    assert abs(np.mean(draws) - 0.5) < 0.02
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.05
