"""Durable calls: against raw SQLite and queues of others, in batches, as slots and rounds grow; the file's size."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tarry
from benchmarks.measure import Figure, Row, interleave, ratio
from benchmarks.stage import DIMENSION, SEED, learner

CAPACITY = 64
SLICE = 100
TURNS = 10
BATCH = 1000
GRADIENT = np.full(DIMENSION, 0.1)
SLOTS = (64, 1_000, 10_000, 100_000)
BODY = b"x" * 100  # about what a decision with one feature, or a label, takes in a store
MANY = 100_000  # decisions of one batch


def _session(folder: Path, **options: Any) -> tarry.Session:
    url = f"sqlite:///{folder / 'ours.db'}"
    return tarry.Session(tarry.Player(learner()), capacity=CAPACITY, store=url, rng=SEED, **options)


def _rounds(session: tarry.Session, count: int) -> Callable[[], None]:
    def play() -> None:
        for _ in range(count):
            asked = session.ask()
            session.tell(asked.id, gradient=GRADIENT)

    return play


def _batch(session: tarry.Session, count: int) -> None:
    asked = session.ask_many(count)
    session.tell_many(asked.ids, gradients=np.tile(GRADIENT, (count, 1)))


def _optuna(folder: Path) -> Callable[[], None]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.RandomSampler(seed=SEED)
    study = optuna.create_study(storage=f"sqlite:///{folder / 'optuna.db'}", sampler=sampler)

    def play() -> None:
        for _ in range(SLICE):
            trial = study.ask()
            study.tell(trial, trial.suggest_float("x", 0.0, 1.0) ** 2)

    return play


def _microseconds(seconds: list[float], count: int) -> float:
    return 1e6 * float(np.median(seconds)) / count


def _against_optuna(_quick: bool) -> Figure:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _session(folder) as session:
            ours, theirs = _rounds(session, SLICE), _optuna(folder)
            a, b = interleave([lambda: theirs, lambda: ours], TURNS, time.perf_counter)
    detail = f"Optuna {_microseconds(a, SLICE):.0f} us a round, ours {_microseconds(b, SLICE):.0f} us (power)"
    return Figure(ratio(a, b), detail)


def _in_batches(_quick: bool) -> Figure:
    """Also beside calls that do not wait for the disk, and calls in memory."""
    memory = tarry.Session(tarry.Player(learner()), capacity=CAPACITY, rng=SEED)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        sessions = [_session(Path(one)), _session(Path(other), durability="process"), memory]
        single = [partial(_rounds, session, SLICE) for session in sessions]
        *singles, batched = interleave([*single, lambda: partial(_batch, sessions[0], BATCH)], clock=time.perf_counter)
        for session in sessions:
            session.close()
    told = {name: _microseconds(one, SLICE) for name, one in zip(("power", "process", "memory"), singles, strict=True)}
    told["batches"] = _microseconds(batched, BATCH)
    detail = f"us a round: {', '.join(f'{name} {value:.1f}' for name, value in told.items())} of {BATCH} (power)"
    return Figure(ratio(singles[0], batched) * BATCH / SLICE, detail, told)


def _grown(prepare: Callable[[tarry.Session, int], None], sizes: tuple[int, int], _quick: bool) -> Figure:
    """A round's cost in two sessions, each brought to its size by batches before.

    Against the end of the process only: waiting for the disk would hide what a round itself costs.
    """
    with tempfile.TemporaryDirectory() as small, tempfile.TemporaryDirectory() as large:
        process = partial(_session, durability="process")
        with process(Path(small)) as few, process(Path(large)) as many:
            for session, size in zip((few, many), sizes, strict=True):
                prepare(session, size)
            a, b = interleave([lambda: _rounds(few, SLICE), lambda: _rounds(many, SLICE)], clock=time.perf_counter)
    return Figure(ratio(b, a), f"{_microseconds(a, SLICE):.0f} to {_microseconds(b, SLICE):.0f} us a round (process)")


def _play(session: tarry.Session, rounds: int) -> None:
    for _ in range(rounds // BATCH):
        _batch(session, BATCH)


def _leave_open(session: tarry.Session, backlog: int) -> None:
    for _ in range(-(-backlog // BATCH)):
        session.ask_many(min(backlog, BATCH))


def _size(named: bool, rounds: int, _quick: bool) -> Figure:
    """The file after these rounds, over the bytes of its last state."""
    with tempfile.TemporaryDirectory() as name:
        with _session(Path(name), durability="process") as session:
            for i in range(rounds // BATCH):
                ids = [f"decision {i * BATCH + j}" for j in range(BATCH)]
                asked = session.ask_many(ids=ids) if named else session.ask_many(BATCH)
                session.tell_many(asked.ids, gradients=np.tile(GRADIENT, (BATCH, 1)))
            state = len(session.to_bytes())
        found = (Path(name) / "ours.db").stat().st_size
    return Figure(found / state, f"{found / 1e3:.0f} kB, the state {state / 1e3:.0f} kB")


def _full_join(folder: Path, slots: int, **options: Any) -> tarry.LabelJoin:
    """Return a durable join whose slots are all taken."""
    join = tarry.LabelJoin(slots, store=f"sqlite:///{folder / 'join.db'}", rng=SEED, **options)
    join.decide_many([{"a": 1.0}] * slots, ids=[f"first {i}" for i in range(slots)])
    return join


def _decisions(join: tarry.LabelJoin, slots: int) -> Callable[[], None]:
    """Return decisions of a full set, each with a label: of the last decision that got a slot."""
    start = join.status().rounds
    ids = [f"decision {start + i}" for i in range(SLICE)]

    def play() -> None:
        for id in ids:
            join.decide({"a": 1.0}, id)
            join.label(id, 1.0)

    return play


def _raw(folder: Path, durability: str) -> Callable[[], None]:
    """Return two transactions a decision, of one insert each, with SQLite alone."""
    database = sqlite3.connect(folder / "raw.db", isolation_level=None)
    database.execute("pragma journal_mode=wal")
    database.execute(f"pragma synchronous={'full' if durability == 'power' else 'normal'}")
    database.execute("create table if not exists entries (number integer primary key, body blob)")

    def play() -> None:
        for _ in range(2 * SLICE):
            database.execute("begin immediate")
            database.execute("insert into entries (body) values (?)", (BODY,))
            database.execute("commit")

    return play


def _against_raw(slots: int, durability: str, options: dict[str, Any], _quick: bool) -> Figure:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw = _raw(folder, durability)
        with _full_join(folder, slots, durability=durability, **options) as join:
            ours, theirs = interleave([lambda: _decisions(join, slots), lambda: raw], TURNS, time.perf_counter)
    values = {"ours": _microseconds(ours, SLICE), "raw": _microseconds(theirs, SLICE)}
    return Figure(ratio(ours, theirs), "decide and label {ours:.0f} us, raw {raw:.0f} us".format(**values), values)


def _grown_in_slots(_quick: bool) -> Figure:
    process = partial(_full_join, durability="process")
    with tempfile.TemporaryDirectory() as small, tempfile.TemporaryDirectory() as large:
        few, many = process(Path(small), SLOTS[0]), process(Path(large), SLOTS[-1])
        makers = [lambda: _decisions(few, SLOTS[0]), lambda: _decisions(many, SLOTS[-1])]
        a, b = interleave(makers, TURNS, time.perf_counter)
        few.close()
        many.close()
    return Figure(ratio(b, a), f"{_microseconds(a, SLICE):.0f} to {_microseconds(b, SLICE):.0f} us, decide and label")


def _looks(_quick: bool) -> Figure:
    """A look at a store with no news, over one raw transaction."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw = _raw(folder, "process")
        with _full_join(folder, SLOTS[-1], durability="process") as join:

            def look() -> None:
                for _ in range(2 * SLICE):
                    join.fate("first 0")

            ours, theirs = interleave([lambda: look, lambda: raw], TURNS, time.perf_counter)
    detail = f"a look {_microseconds(ours, 2 * SLICE):.1f} us, raw {_microseconds(theirs, 2 * SLICE):.1f} us"
    return Figure(ratio(ours, theirs), detail)


def _filled(_quick: bool) -> Figure:
    """One batch of decisions into a durable join, over as many raw inserts in one transaction."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        features, ids = [{"a": 1.0}] * MANY, [f"decision {i}" for i in range(MANY)]
        join = tarry.LabelJoin(MANY, store=f"sqlite:///{folder / 'join.db'}", rng=SEED, durability="process")
        started = time.perf_counter()
        join.decide_many(features, ids=ids)
        ours = time.perf_counter() - started
        join.close()
        database = sqlite3.connect(folder / "raw.db")
        database.execute("create table entries (number integer primary key, body blob)")
        started = time.perf_counter()
        database.executemany("insert into entries (body) values (?)", [(BODY,)] * MANY)
        database.commit()
        raw = time.perf_counter() - started
        database.close()
    return Figure(ours / raw, f"{MANY:,} decisions in {ours:.2f} s, raw inserts {raw:.2f} s")


def _against_queue(make: Callable[[Path], Callable[[], None]], _quick: bool) -> Figure:
    """Another durable structure's put and take, over a decision and its label in a set of 64."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        queue = make(folder)
        with _full_join(folder, SLOTS[0], durability="process") as join:
            ours, theirs = interleave([lambda: _decisions(join, SLOTS[0]), lambda: queue], TURNS, time.perf_counter)
    detail = f"theirs {_microseconds(theirs, SLICE):.0f} us, decide and label {_microseconds(ours, SLICE):.0f} us"
    return Figure(ratio(theirs, ours), detail)


def _huey(folder: Path) -> Callable[[], None]:
    from huey.storage import SqliteStorage

    queue = SqliteStorage(filename=str(folder / "huey.db"), fsync=False)

    def play() -> None:
        for _ in range(SLICE):
            queue.enqueue(BODY)
            queue.dequeue()

    return play


def _diskcache(folder: Path) -> Callable[[], None]:
    from diskcache import Cache

    cache = Cache(str(folder / "cache"))

    def play() -> None:
        for i in range(SLICE):
            cache.set(i, BODY)
            cache.pop(i)

    return play


ROWS = [
    *(
        Row(f"durable decide and label over raw, {slots:,} slots", 3.0, partial(_against_raw, slots, "process", {}))
        for slots in SLOTS
    ),
    *(
        Row(f"durable with {name} over raw, 100,000 slots", 3.0, partial(_against_raw, SLOTS[-1], "process", options))
        for name, options in {"windows": {"window": "30d", "missing": 0}, "an outbox": {"outbox": True}}.items()
    ),
    Row("durable to the disk over raw, 100,000 slots", 1.3, partial(_against_raw, SLOTS[-1], "power", {})),
    Row("durable growth in slots", 1.5, _grown_in_slots),
    Row("durable look over raw", 1.0, _looks),
    Row("durable fill over raw", float("inf"), _filled),
    Row("durable against huey", float("inf"), partial(_against_queue, _huey)),
    Row("durable against diskcache", float("inf"), partial(_against_queue, _diskcache)),
    Row("durable round against optuna", 20.0, _against_optuna, at_least=True),
    Row("durable batches against single calls", 25.0, _in_batches, at_least=True),
    Row("durable growth in rounds", 1.3, partial(_grown, _play, (10**3, 10**6))),
    Row("durable growth in backlog", 1.3, partial(_grown, _leave_open, (10, 10**5))),
    Row("durable file 1e5 rounds", float("inf"), partial(_size, False, 10**5)),
    Row("durable file 1e6 rounds", float("inf"), partial(_size, False, 10**6)),
    Row("durable file 1e6 rounds, callers' ids", 2.5, partial(_size, True, 10**6)),
]
