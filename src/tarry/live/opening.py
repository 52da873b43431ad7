"""Making a session, or opening one that a store holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tarry.errors import StoreError
from tarry.kernel import make_seed
from tarry.live.configuration import Configuration, check_same, decode
from tarry.live.stores import MAIN, POWER, Store, open_store, shown
from tarry.live.tracker import Tracker
from tarry.tracking import Player


def make_or_open(wanted: Configuration, rng: Any, *, store: str, name: str, durability: str) -> Tracker:
    """A tracker on this store: continued if the same is there, made otherwise."""
    place = open_store(store, name, durability=durability)
    with _kept_open(place):
        return _made_or_continued(wanted._replace(seed=make_seed(rng)), place, with_seed=rng is not None)


def _made_or_continued(wanted: Configuration, place: Store, *, with_seed: bool) -> Tracker:
    stored = _asked(place, place.configuration)
    if stored is None:
        tracker = Tracker(wanted, place)
        if _asked(place, tracker.create):
            return tracker
        stored = _asked(place, place.configuration)
    check_same(stored, wanted, with_seed=with_seed)
    return Tracker(decode(stored, wanted.player), place)


def reopen(
    kind: str, store: str, *, name: str = MAIN, player: Player | None = None, durability: str = POWER
) -> Tracker:
    """The tracker that a store holds; ``player`` is needed where it has members from outside the package."""
    place = open_store(store, name, durability=durability, must_exist=True)
    with _kept_open(place):
        stored = _asked(place, place.configuration)
        if stored is None:
            known = ", ".join(map(repr, _asked(place, place.names))) or "none"
            raise StoreError(f"{shown(store)} holds no session called {name!r}, only {known}")
        configuration = decode(stored, player)
        if player is not None:
            check_same(stored, configuration, with_seed=False)
        if configuration.kind != kind:
            raise StoreError(f"{name!r} in {shown(store)} is a {configuration.kind}, not a {kind}")
        return Tracker(configuration, place)


@contextmanager
def _kept_open(place: Store) -> Iterator[None]:
    """Let go of a store if nothing comes of it."""
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
