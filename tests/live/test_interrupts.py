"""Interrupts and signal handlers in the middle of a call: nothing is lost, or the session says that it cannot go on."""

from __future__ import annotations

import linecache
import os
import signal
import sys

import pytest
from marking import slow_but

import tarry
from tarry import Answer
from tarry.errors import TarryError
from tarry.live.core import Slots
from tarry.live.past import Fates

MOST = 4000


def make(store, **options):
    return tarry.LabelJoin(3, rng=5, store=store, **options)


def is_release(frame):
    """Whether a block gives its lock back, or a line does nothing: no signal comes in between.

    Signals are looked for after calls and jumps; a tracing function, which stands for them here, is called more often.
    """
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return line.startswith(("with self._", "try:"))


def interrupted_after(join, lines, call):
    """Run a call and raise KeyboardInterrupt at its n-th line in the live room; whether it came to that."""
    left = [lines]

    def trace(frame, event, _):
        if "/tarry/live/" not in frame.f_code.co_filename:
            return None
        if event == "line" and not is_release(frame):
            left[0] -= 1
            if left[0] == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        call(join)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


LINES = [("memory", 1), ("sqlite", 1), ("sqlite", 4)]


@pytest.mark.parametrize(("kind", "every"), slow_but(LINES, {LINES[0], LINES[2]}))
def test_an_interrupt_at_any_line(kind, every, tmp_path):
    """Afterwards the books add up, or (in memory only) the session refuses to go on."""
    refused, says = 0, []
    for n in range(1, MOST, every):
        store = "memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'join.db'}"
        join = make(store, name=f"run {n}", durability="process")
        for i in range(5):
            join.decide({"i": i}, id=f"d{i}")
        if not interrupted_after(join, n, lambda j: j.decide({"i": 9}, id="d9")):
            break
        try:
            status = join.status()
        except TarryError as error:
            refused += kind == "memory" and "interrupted" in str(error)
            says.append(str(error))
            continue
        assert sum(status.fates.values()) == status.rounds
        assert status.rounds in (5, 6)
        assert join.decide({"i": 9}, id="d9").id == "d9"
        assert join.status().rounds == 6
        join.close()
    assert n < MOST - every
    assert refused == len(says), set(says)


def told(join):
    """Everything that a call which ends a decision must change together."""
    status = join.status()
    sums = [float(number) for number in join._tracker.slots.sums]
    return join.fate("d0"), status.fates, status.pending, status.tracked, status.weights, sums


def gathering(join):
    join.label("d0", 3.0)
    join.label("d0", 4.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize(
    ("rule", "before", "call"),
    [
        ("first", None, lambda join: join.label("d0", 7.0)),
        ("first", None, lambda join: join.expire("d0")),
        ("sum", gathering, lambda join: join.finish("d0")),
        ("sum", None, gathering),
    ],
    ids=["label", "expire", "finish", "gather"],
)
def test_an_interrupt_at_any_line_of_an_ending(kind, rule, before, call, tmp_path):
    """The decision, its weight and the sums of the estimate change together or (in memory) nothing is said any more."""

    def begun(name):
        store = "memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'join.db'}"
        join = make(store, name=name, labels=rule, durability="process")
        for i in range(3):
            join.decide({"i": i}, id=f"d{i}")
        join.label("d1", 5.0)
        if before:
            before(join)
        return join

    reference = begun("reference")
    states = [told(reference)]
    call(reference)
    states.append(told(reference))
    refused = []
    for n in range(1, MOST):
        join = begun(f"run {n}")
        if not interrupted_after(join, n, call):
            break
        try:
            assert told(join) in states, n
        except TarryError as error:
            refused.append(str(error))
        join.close()
    assert n < MOST - 1
    assert all("interrupted" in text for text in refused)
    assert bool(refused) == (kind == "memory" and call is not gathering)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_an_interrupt_at_any_line_of_tell(kind, tmp_path):
    player = tarry.Player(tarry.learners.DWFTRL(tarry.domains.Ball(2), rate=0.5))
    for n in range(1, MOST):
        store = "memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'session.db'}"
        session = tarry.Session(player, capacity=3, rng=5, store=store, name=f"run {n}", durability="process")
        session.ask("a")
        if not interrupted_after(session, n, lambda s: s.tell("a", gradient=[1.0, 0.0])):
            break
        try:
            status = session.status()
        except TarryError:
            assert kind == "memory"
            continue
        done = session.fate("a") is Answer.USED
        assert (status.pending, status.tracked, status.weights.max) == ((0, 0, 1.0) if done else (1, 1, 0.0))
        assert session.ask("b").play.tolist() == ([-0.5, 0.0] if done else [0.0, 0.0])
        session.close()
    assert n < MOST - 1


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("read", ["ledger", "status", "estimate", "export"])
def test_a_signal_handler_must_wait_for_readers_too(kind, read, tmp_path, monkeypatch):
    """What is read stays as it is until the reading ends, also against the thread that reads."""
    join = make("memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'join.db'}")
    join.decide(id="a")
    fates, said = Slots.fates, []

    def handler(*_):
        with pytest.raises(TarryError, match="in the middle of a call"):
            join.decide(id="b")
        said.append(1)

    def nosy(slots):
        os.kill(os.getpid(), signal.SIGUSR1)
        return fates(slots)

    monkeypatch.setattr(Slots, "fates", nosy)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        getattr(join, read)()
    finally:
        signal.signal(signal.SIGUSR1, before)
    monkeypatch.undo()
    assert said
    assert join.decide(id="b").tracked
    assert join.status().rounds == 2
    join.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_signal_handler_must_wait(kind, tmp_path, monkeypatch):
    """A call from within a call of the same thread is refused, and harms neither."""
    join = make("memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'join.db'}")
    write, heard = Fates.write, []

    def nosy(fates, t, code):
        for call in (join.status, join.decide):
            with pytest.raises(TarryError, match="in the middle of a call"):
                call()
            heard.append(t)
        write(fates, t, code)

    monkeypatch.setattr(Fates, "write", nosy)
    assert join.decide({"a": 1}, id="a").tracked
    monkeypatch.undo()
    assert heard == [1, 1]
    assert join.status().rounds == 1
    assert join.label("a", 1.0).features == {"a": 1}


def test_what_is_stored_is_what_was_given(tmp_path):
    """Features are kept as they were when given, and read the same by everybody."""
    url = f"sqlite:///{tmp_path / 'join.db'}"
    features = {"x": (1, 2)}
    with make(url, labels="last") as join, tarry.LabelJoin.open(url) as other:
        join.decide(features, id="a")
        features["x"] = 999
        join.label("a", 1.0)
        join.decide(None, id="b")
        assert other.finish("a").features == {"x": (1, 2)}


def test_payloads_are_refused_whatever_the_coin_says(tmp_path):
    with make(f"sqlite:///{tmp_path / 'join.db'}") as join:
        for _ in range(40):
            join.decide()
        for _ in range(20):
            with pytest.raises(ValueError, match="a durable store takes JSON values"):
                join.decide(object())
        assert join.status().rounds == 40


def test_old_ids_are_forgotten_also_where_the_memory_is_short(tmp_path):
    """An id begins anew once it is out of memory, in the process that played on and in one that came later."""
    url = f"sqlite:///{tmp_path / 'join.db'}"
    with make(url, memory=10, durability="process") as join:
        for i in range(60):
            join.decide(id=f"d{i}")
            join.label(f"d{i}", 1.0)
        assert len(join._tracker.ids._aside) <= 3
        with tarry.LabelJoin.open(url) as other:
            assert join.fate("d5") is other.fate("d5") is Answer.LATE
