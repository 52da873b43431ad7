"""What is made where a join or session is asked for: its scheduler or player, from names and tables as in a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tarry.errors import ArgumentError
from tarry.live import LabelJoin, Session
from tarry.live.calls import NewJoin, NewSession
from tarry.live.configuration import built
from tarry.live.labels import UNSAID
from tarry.players.recommended import Recommendation, choose_for_join, choose_scheduler
from tarry.schedulers.named import free_scheduler, is_free
from tarry.tracking import Player, as_player

if TYPE_CHECKING:
    from tarry.experiments.own import Own

_RULES = ("information", "preemption", "memory")
_BOUNDS = ("gradient_bound", "value_bound", "strong_convexity")
_OF_DOMAIN = ("dimension", "diameter", "inner_radius", "outer_radius")


def join_of(asked: NewJoin, own: Own | None = None) -> tuple[Any, dict[str, Any]]:
    """Return the scheduler of a join that is wanted, and what else :class:`tarry.LabelJoin` is told."""
    rules = {name: getattr(asked, name) for name in ("capacity", "labels", "shards", *_RULES)}
    rules |= {name: value for name in ("window", "release") if (value := getattr(asked, name)) is not None}
    rules |= {"missing": asked.missing} if asked.missing is not UNSAID else {}
    rules |= {"outbox": True} if asked.outbox else {}
    if asked.scheduler is None:
        shards, backlog = asked.shards, asked.backlog
        return choose_for_join(asked.capacity, backlog, preemption=asked.preemption, shards=shards), rules
    if isinstance(asked.scheduler, str) and not (own and asked.scheduler in own.names("scheduler")):
        return free_scheduler(asked.scheduler), rules
    scheduler = _scheduler(asked.scheduler, {"capacity": asked.capacity}, own)
    if not isinstance(asked.scheduler, str):
        with _tried("scheduler"):
            join = LabelJoin(scheduler=scheduler, rng=0, **rules | {"shards": 1})
            join.label(join.decide(delay=1 if asked.information == "clairvoyant" else None).id, 0.0)
            join.status()
    return scheduler, rules


def session_of(asked: NewSession, own: Own | None = None) -> tuple[Recommendation, dict[str, Any]]:
    """Return the player of a session that is wanted, with the reason, and what else :class:`tarry.Session` is told."""
    rules = {name: getattr(asked, name) for name in ("capacity", *_RULES)}
    rules |= {name: value for name in _BOUNDS[:2] if (value := getattr(asked, name)) is not None}
    known = {name: getattr(asked, name) for name in ("capacity", "information", "preemption", "backlog", *_BOUNDS)}
    player: Any = asked.player
    if isinstance(player, dict) and "learner" not in player and "fields" in player:
        chosen = _given(as_player(built(player)))
    else:
        if asked.domain is not None:
            domain = _made("domain", asked.domain, {}, own)
            known |= {"domain": domain, "target": domain, "game": domain}
            known |= {name: getattr(domain, name) for name in _OF_DOMAIN}
        chosen = _player(player, known, own)
    if chosen.reason == _OWN and asked.strong_convexity is not None:  # else it is the recommendation's
        rules["strong_convexity"] = asked.strong_convexity
    with _tried("player"):
        _try_out(chosen.player, rules)
    return chosen, rules


_OWN = "the player you gave; no bound is claimed for it"


def _given(player: Player) -> Recommendation:
    return Recommendation(player, _OWN, False)


def _player(player: Any, known: dict[str, Any], own: Own | None) -> Recommendation:
    """Return a ready player, or one of a learner and a scheduler."""
    if isinstance(player, dict) and "learner" in player:
        extra = player.keys() - {"learner", "scheduler"}
        if extra:
            raise ArgumentError("player", f"has no {min(extra)!r}", ..., "give a learner and a scheduler")
        learner = _made("learner", player["learner"], known, own)
        if "scheduler" in player:
            return _given(Player(learner, _scheduler(player["scheduler"], known, own)))
        room = {"preemption": known["preemption"]}
        return _given(Player(learner, choose_scheduler(known["capacity"], known["backlog"], **room)))
    ready = _made("player", player, known, own, with_known=True)
    return ready if isinstance(ready, Recommendation) else _given(as_player(ready))


def _scheduler(scheduler: Any, known: dict[str, Any], own: Own | None) -> Any:
    if isinstance(scheduler, dict) and "fields" in scheduler:
        return built(scheduler)
    if isinstance(scheduler, str) and is_free(scheduler) and not (own and scheduler in own.names("scheduler")):
        return free_scheduler(scheduler)
    return _made("scheduler", scheduler, known, own)


def _made(key: str, member: Any, known: Mapping[str, Any], own: Own | None, *, with_known: bool = False) -> Any:
    """Return the member of a name or a table; what it leaves out is one of the known facts, or asked for."""
    from tarry.experiments.members import check, make, parameters_of
    from tarry.experiments.members import find as find_member
    from tarry.experiments.own import NONE

    if not isinstance(member, (str, dict)):
        raise ArgumentError(key, "must be a name, or an object with its type", ..., f'as in {{"type": {key!r}}}')
    _refuse_files(key, member)
    table = check(key, member, key, own or NONE)
    if with_known:  # what a ready player may be told beside what it must be
        takes = parameters_of(find_member(key, table["type"], key, own=own or NONE)[0])
        table = {name: value for name, value in known.items() if name in takes and value is not None} | table

    def tell(name: str) -> Any:
        if known.get(name) is None:
            way = "give a domain" if name in ("domain", "target", "game", *_OF_DOMAIN) else f"write {name} = …"
            raise ArgumentError(key, f"{table['type']} needs {name}", ..., way)
        return known[name]

    return make(key, table, tell, key)


def _refuse_files(key: str, value: Any) -> None:
    """Refuse tables that a sweep would read a file for: a caller elsewhere may not choose files here."""
    if isinstance(value, dict):
        if "file" in value:
            raise ArgumentError(key, "may not name a file", ..., "write the values")
        for part in value.values():
            _refuse_files(key, part)


@contextmanager
def _tried(word: str) -> Iterator[None]:
    """Raise ValueError where a member that a caller wrote out cannot play."""
    try:
        yield
    except ArgumentError:
        raise  # it says what is wrong
    except Exception as error:
        raise ValueError(f"this {word} cannot play: {error}; give another one") from error


def _try_out(player: Player, rules: dict[str, Any]) -> None:
    """Play in memory; raise ValueError where that fails, for whoever asks later would be told of a defect."""
    session = Session(player, rng=0, **rules)
    known = dict[str, Any]({"delay": 1} if rules["information"] == "clairvoyant" else {})
    session.ask("a", **known)
    session.points("a")
    session.tell("a", **{session.takes.feedback: [0.5] * session.takes.size})
    play: Any = session.ask("b", **known).play
    if not np.isfinite(play).all():
        raise ValueError("what it plays is not finite")
    session.status()
