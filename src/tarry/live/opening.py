"""Making a session, or opening one that a store holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tarry.checks import as_int
from tarry.errors import StoreError
from tarry.game.problem import check_capacity
from tarry.kernel import make_seed
from tarry.live.configuration import Configuration, check_layout, check_same, decode
from tarry.live.grants import check_player
from tarry.live.stores import MAIN, POWER, Memory, Store, open_store, without_password
from tarry.live.tracker import Tracker
from tarry.tracking import Player

_MANY = 1 << 20
_TOO_MANY = 1 << 40  # beyond it NumPy's own sizes end


def make_or_open(wanted: Configuration, rng: Any, *, store: str, name: str, durability: str) -> Tracker:
    """A tracker on this store: continued if the same is there, made otherwise."""
    wanted = _as_plain(wanted)
    check_player(wanted)
    if max(wanted.capacity or 0, wanted.memory) > _MANY:
        _tracker_of(wanted, Memory())  # what does not fit must not leave an empty store behind
    place = open_store(store, name, durability=durability)
    with _closed_on_failure(place):
        return _make_or_open(wanted._replace(seed=make_seed(rng)), place, with_seed=rng is not None)


def _as_plain(wanted: Configuration) -> Configuration:
    """NumPy's numbers become Python's: a store keeps text."""
    check_capacity(wanted.capacity)
    capacity = None if wanted.capacity is None else int(wanted.capacity)
    memory = as_int(wanted.memory, "memory", 1)
    return wanted._replace(capacity=capacity, memory=memory, preemption=bool(wanted.preemption))


def _make_or_open(wanted: Configuration, place: Store, *, with_seed: bool) -> Tracker:
    stored = _asked(place, place.configuration)
    if stored is None:
        tracker = _tracker_of(wanted, place)
        if _asked(place, tracker.create):
            return tracker
        stored = _asked(place, place.configuration)
    check_same(stored, wanted, with_seed=with_seed)
    return _continued(decode(stored, wanted.player), place, stored)


def reopen(
    kind: str, store: str, *, name: str = MAIN, player: Player | None = None, durability: str = POWER
) -> Tracker:
    """The tracker that a store holds; ``player`` is needed where it has members from outside the package."""
    place = open_store(store, name, durability=durability, must_exist=True)
    if not place.is_durable:
        raise StoreError(
            f"a {kind} in memory ends with its object and cannot be opened again: make a new one, or give the "
            "sqlite:/// or postgresql:// store that one was made with"
        )
    with _closed_on_failure(place):
        stored = _asked(place, place.configuration)
        if stored is None:
            known = ", ".join(map(repr, _asked(place, place.names))) or "none"
            raise StoreError(f"{without_password(store)} holds no {kind} called {name!r}, only {known}")
        configuration = decode(stored, player)
        if player is not None:
            check_same(stored, configuration, with_seed=False)
        if configuration.kind != kind:
            raise StoreError(f"{name!r} in {without_password(store)} is a {configuration.kind}, not a {kind}")
        return _continued(configuration, place, stored)


def _tracker_of(configuration: Configuration, place: Store) -> Tracker:
    """A tracker, or a sentence where the machine has no room for it."""
    try:
        if max(configuration.capacity or 0, configuration.memory) > _TOO_MANY:
            raise MemoryError
        return Tracker(configuration, place)
    except MemoryError:
        raise ValueError(
            f"a {configuration.kind} of capacity {configuration.capacity} that remembers memory={configuration.memory} "
            "rounds takes more memory than there is: give a smaller capacity or memory"
        ) from None


def _continued(configuration: Configuration, place: Store, stored: str) -> Tracker:
    tracker = _tracker_of(configuration, place)
    check_layout(stored, tracker.layout)
    return tracker


@contextmanager
def _closed_on_failure(place: Store) -> Iterator[None]:
    try:
        yield
    except BaseException:
        place.close()
        raise


def _asked(place: Any, question: Any) -> Any:
    try:
        return question()
    except place.errors as error:
        raise StoreError(place.explain(error)) from error
