"""Durable calls: against Optuna's, in batches, as rounds and backlog grow; and the size of the file."""

from __future__ import annotations

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
from tarry.live import expected_size

CAPACITY = 64
SLICE = 100
TURNS = 10
BATCH = 1000
GRADIENT = np.full(DIMENSION, 0.1)


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
    with tempfile.TemporaryDirectory() as name:
        with _session(Path(name), durability="process") as session:
            for i in range(rounds // BATCH):
                ids = [f"decision {i * BATCH + j}" for j in range(BATCH)]
                asked = session.ask_many(ids=ids) if named else session.ask_many(BATCH)
                session.tell_many(asked.ids, gradients=np.tile(GRADIENT, (BATCH, 1)))
        expected = expected_size(session.player, capacity=CAPACITY, rounds=rounds, id_bytes=17 if named else 0)
        found = (Path(name) / "ours.db").stat().st_size
    return Figure(found / expected, f"{found / 1e3:.0f} kB, by the formula {expected / 1e3:.0f} kB")


ROWS = [
    Row("durable round against optuna", 20.0, _against_optuna, at_least=True),
    Row("durable batches against single calls", 25.0, _in_batches, at_least=True),
    Row("durable growth in rounds", 1.3, partial(_grown, _play, (10**3, 10**6))),
    Row("durable growth in backlog", 1.3, partial(_grown, _leave_open, (10, 10**5))),
    Row("durable file 1e5 rounds", 1.2, partial(_size, False, 10**5)),
    Row("durable file 1e6 rounds", 1.2, partial(_size, False, 10**6)),
    Row("durable file 1e6 rounds, callers' ids", 1.2, partial(_size, True, 10**6)),
]
