"""One setting of a sweep played again for a while, for the figures that need more than results hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tarry import delays as late
from tarry.experiments.play import build_game, build_player
from tarry.game import Game, simulate
from tarry.game.hindsight import comparator
from tarry.losses.base import Listed, rows_react
from tarry.outcomes import FATES

LONGEST = 100_000  # rounds of a game that is played again: a few seconds
PLAYED = 6_000  # of these, rounds whose events are kept
SHOWN = 120  # of these, rounds on the timeline: a slot is still a few pixels wide
POINTS = 300  # of a curve
AGES = 80  # of a survival curve
LINES = 4  # players that are played
LEFT_OUT = "the figures that play one again (comparators, tracked, timeline, survival) are left out"
PIECES = (1, 2, 4, 8, 16, 32)
SHORTEST = 8  # rounds of a piece
DELAYS = "feedback itself"  # the line of the delays in the frame of survivals

Frame = dict[str, list[Any]]


class Replays(NamedTuple):
    """What a replay gave: plain frames, each with a column ``line``; empty where there is nothing to show.

    stays     lane, start, stop, fate, weight: tracked rounds that touch rounds first..last, a lane for each slot
    passed    t, fate: rounds in first..last that were never tracked; untracked, saturated, or empty if that is unknown
    tracked   t, tracked: how many are tracked in a round, before its feedback
    waiting   t, waiting: how many rounds wait for feedback (no line: the same for all)
    survival  age, share: P(delay ≥ age), P(proxy delay ≥ age)
    segments  pieces, regret: against the best action of each of so many equal pieces of the game
    """

    setting: str
    seed: int
    capacity: int | None
    first: int
    last: int
    played: int
    stays: pl.DataFrame
    passed: pl.DataFrame
    tracked: pl.DataFrame
    waiting: pl.DataFrame
    survival: pl.DataFrame
    segments: pl.DataFrame

    @property
    def lines(self) -> list[str]:
        """The players that were replayed."""
        return list(dict.fromkeys(self.tracked["line"]))


def replay_lines(
    cells: pl.DataFrame, runs: pl.DataFrame, lines: list[str], losses: pl.DataFrame, tell: Callable[[str], None]
) -> tuple[Replays | None, str]:
    """Play a setting in the middle of the sweep again; return it, or None and a sentence that says why not.

    ``cells`` and ``runs`` name the ``setting`` and the ``line`` (player) of each cell; ``lines`` has the lines in
    the order of the file; ``losses`` are the runs to be held against the best actions of pieces of the game.
    """
    runs = runs.filter(pl.col("horizon") <= LONGEST)
    limited = runs.filter(pl.col("capacity").is_not_null())
    runs = limited if limited.height else runs
    if not runs.height:
        return None, f"No finished game has at most {LONGEST:,} rounds: {LEFT_OUT}."
    # The middle one, by capacity, of the settings that most players have finished.
    found = runs.group_by("setting", maintain_order=True).agg(pl.col("line").n_unique(), pl.col("capacity").first())
    full = found.filter(pl.col("line") == pl.col("line").max()).sort("capacity", maintain_order=True)
    setting = full["setting"][(full.height - 1) // 2]
    mine = runs.filter(pl.col("setting") == setting)
    seed = int(mine["seed"].min())  # type: ignore[arg-type]
    played = dict(mine.filter(pl.col("seed") == seed).select("line", "cell").iter_rows())
    contents = dict(cells.select("cell", "content").iter_rows())
    # The first of each scheduler goes before the others.
    there = [line for line in lines if line in played]
    kinds = dict(mine.select("line", "scheduler_played").unique().iter_rows())
    first = set({kinds[line]: line for line in reversed(there)}.values())
    chosen = sorted(there, key=lambda line: line not in first)[:LINES]
    scene = {line: json.loads(contents[played[line]]) for line in there if line in chosen}
    lost = losses.filter((pl.col("setting") == setting) & (pl.col("seed") == seed)).select("line", "loss")
    try:
        return _replayed(setting, seed, scene, lost, tell), ""
    except (ValueError, TypeError, OSError) as error:  # what results show does not hang on what can be played now
        return None, f"{setting} could not be played again, so {LEFT_OUT}: {error}."


def _replayed(
    setting: str, seed: int, contents: dict[str, Any], lost: pl.DataFrame, tell: Callable[[str], None]
) -> Replays:
    """Return the replay of a setting's cells, whose contents go by line; ``lost`` has the losses of all lines."""
    whole, _ = build_game(next(iter(contents.values()))["game"], seed)
    if rows_react(whole.losses) or whole.delays.reacts:
        raise ValueError("losses or delays there react to plays, so lines have met different games")
    played = min(whole.horizon, PLAYED)
    short = head(whole, played)
    backlog, thin = short.delays.backlog(), _thinned(played)
    # The timeline begins where the backlog is first what it is on average, with a stretch of rounds after it.
    first = max(1, min(int(np.argmax(backlog >= np.mean(backlog))) + 1, played - min(SHOWN, played) + 1))
    last = min(played, first + SHOWN - 1)
    frames: dict[str, Frame] = {name: {} for name in ("stays", "passed", "tracked", "survival")}

    def add(line: str, told: dict[str, Frame]) -> None:
        for name, columns in told.items():
            length = len(next(iter(columns.values())))
            for column, values in {"line": [line] * length, **columns}.items():
                frames[name].setdefault(column, []).extend(values)

    for line, content in contents.items():
        tell(line)
        player = build_player(content["player"], whole)
        record = simulate(short, player, [seed], bound=False, checkpoints=1, keep_rounds=True, threads=1)
        told = follow(record.events().iter_rows(), first, last, played)
        told["passed"]["fate"] = _why(told["passed"], whole.capacity, dict(zip(FATES, record.fates[0], strict=True)))
        add(line, told | {"survival": _survival(player.scheduler, whole)})
    add(DELAYS, {"survival": _survival(None, whole)})
    tell("comparators")
    least = best_of_pieces(whole)
    regrets = [(line, pieces, loss - low) for line, loss in lost.rows() for pieces, low in least.items()]
    made = {name: pl.DataFrame(columns) for name, columns in frames.items()}
    made["waiting"] = pl.DataFrame({"t": thin, "waiting": backlog[thin - 1]})
    made["segments"] = pl.DataFrame(regrets, schema=["line", "pieces", "regret"], orient="row")
    return Replays(setting, seed, whole.capacity, first, last, played, **made)


def _thinned(rounds: int) -> np.ndarray:
    return np.unique(np.linspace(1, rounds, min(rounds, POINTS)).astype(np.int64))


def follow(events: Iterable[tuple[Any, ...]], first: int, last: int, played: int) -> dict[str, Frame]:
    """Return stays in lanes, rounds passed over, and the size of the set, from the events in their order."""
    stays: Frame = {name: [] for name in ("lane", "start", "stop", "fate", "weight")}
    inside: dict[int, int] = {}
    free: list[int] = []
    change = np.zeros(played + 2, np.int64)
    entered = np.zeros(played + 1, bool)

    def leave(s: int, t: int, fate: str, weight: float) -> None:
        lane = inside.pop(s)
        free.append(lane)
        stop = t if fate == "preempted" else t + 1  # dropped as a round begins, heard as it ends
        change[stop] -= 1
        if stop > first and s <= last:
            told = weight if stop <= last else 0.0  # what lasts longer is cut, and not heard yet
            for name, value in zip(stays, (lane, max(s, first), min(stop, last + 1), fate, told), strict=True):
                stays[name].append(value)

    for t, event, s, weight in events:
        if event == "entered":
            free.sort(reverse=True)  # the lowest lane that is free: the picture has as many lanes as slots were held
            inside[s] = free.pop() if free else len(inside)
            change[t] += 1
            entered[s] = True
        elif s in inside and event in ("preempted", "feedback", "expired"):
            is_heard = event == "feedback"
            leave(s, t, "used" if is_heard else event, float(weight) if is_heard else 0.0)
    size = np.cumsum(change)
    for s in sorted(inside):
        leave(s, played, "pending", 0.0)
    thin = _thinned(played)
    passed = [t for t in range(first, last + 1) if not entered[t]]
    return {
        "stays": stays,
        "passed": {"t": passed, "tracked": size[passed].tolist()},
        "tracked": {"t": thin.tolist(), "tracked": size[thin].tolist()},
    }


def _why(passed: Frame, capacity: int | None, fates: dict[str, Any]) -> list[str]:
    """Return declined or without room: events do not say which, but the ledger does unless a player does both."""
    if not (fates["saturated"] and fates["untracked"]):
        return ["saturated" if fates["saturated"] else "untracked"] * len(passed["t"])
    return ["untracked" if capacity is None or size < capacity else "" for size in passed["tracked"]]


def _survival(scheduler: Any, game: Game) -> Frame:
    """Return P(proxy delay ≥ age) where the scheduler has such a law, or without a scheduler P(delay ≥ age)."""
    ages = np.unique(np.geomspace(1, max(2, int(game.delays.max_delay)), AGES).astype(np.int64))
    if scheduler is None:
        values = game.delays.values
        early = np.sort(values[: max(1, values.size - int(values.max()))])  # rounds that the game's end does not cut
        shares = 1.0 - np.searchsorted(early, ages, side="left") / early.size
    elif hasattr(scheduler, "survival"):
        shares = scheduler.survival(max(1, game.horizon // 2), ages, game.capacity)
    else:
        return {"age": [], "share": []}
    return {"age": ages.tolist(), "share": np.asarray(shares, dtype=float).tolist()}


def head(game: Game, rounds: int) -> Game:
    """Return the first rounds of a game, just as they are in the whole."""
    if rounds == game.horizon:
        return game
    losses = game.losses
    if losses.horizon is not None:  # losses without an end need no cut
        losses = losses.with_rows(Listed(np.array([losses.row(t) for t in range(1, rounds + 1)])))
    kept = {name: getattr(game, name) for name in ("feedback", "capacity", "information", "preemption", "queries")}
    return Game(game.domain, losses, late.array(game.delays.first(rounds)), **kept)


def best_of_pieces(game: Game) -> dict[int, float]:
    """Return the summed losses of the best action of each piece, by the number of equal pieces.

    A sequence of actions with changes at the cuts only: one that may change anywhere loses no more.
    """
    rows = np.array([game.losses.row(t) for t in range(1, game.horizon + 1)])
    found = {}
    for pieces in PIECES:
        if game.horizon >= SHORTEST * pieces:
            found[pieces] = 0.0
            for first, last in pairwise(np.linspace(0, game.horizon, pieces + 1).astype(np.int64)):
                losses = game.losses.with_rows(Listed(rows[first:last]))
                best = comparator(game.domain, losses, int(last - first), np.array([last - first]))
                found[pieces] += float(best.losses[-1])
    return found
