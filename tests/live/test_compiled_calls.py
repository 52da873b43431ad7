"""The compiled call that a tracker keeps is the one it would find anew, also after its state has moved."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.kernel.compile import Entry

PLAYER = tarry.Player(tarry.learners.TwoPoint(tarry.learners.DWFTRL(tarry.domains.Ball(3), rate=0.1), 0.1))


def played(store):
    """Everything a session without a limit answers while it grows twice, told by two processes in turn."""
    rng, told = np.random.default_rng(0), []

    def make():
        return tarry.Session(PLAYER, capacity=None, rng=3, store=store, durability="process")

    one = make()
    other = one if store == "memory:" else make()
    one.ask()
    one.tell(1, value=[1, 2])
    other.ask()
    other.expire(2)
    told += [one.ask_many(100).plays, other.tell_many(range(3, 50), values=rng.normal(size=(47, 2))).weights]
    told += [one.ask_many(130).plays, [other.tell(100, value=np.float32([1, 2])).weight]]
    told += [[one.tell(101, value=rng.normal(size=(3, 2))[:, 0][:2]).weight], other.ask_many(5).plays]
    if store != "memory:":
        one.close()
        other.close()
        one = tarry.Session.open(store)
    told += [one.ask_many(5).plays, [one.tell(200, value=[1, 1.5]).weight]]
    assert one._tracker.slots.size >= 256
    one.close()
    return np.concatenate([np.ravel(part) for part in told])


@pytest.mark.jit
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_call_found_once_is_the_one_found_anew(kind, tmp_path, monkeypatch):
    found = played("memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'a.db'}")
    monkeypatch.setattr(Entry, "machine_code_for", lambda entry, arguments, *parts: entry.dispatcher_for(*parts))
    assert np.array_equal(found, played("memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'b.db'}"))
