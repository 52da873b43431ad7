"""Playing one setting of a sweep again for a while, for the figures that need more than results hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tarry.cli.pieces import best_of_pieces, head
from tarry.experiments.play import build_game, build_player
from tarry.game import Game, simulate
from tarry.reports.baselines import with_baselines
from tarry.reports.figures.cast import TOLD_APART
from tarry.reports.replays import DELAYS, Replays
from tarry.reports.view import View
from tarry.results import FATES

LONGEST = 100_000
PLAYED = 6_000
SHOWN = 120
LINES = 4
POINTS = 300

Frame = dict[str, list[Any]]


class _Scene(NamedTuple):
    """A setting, the seed, and the content of each line's cell."""

    setting: str
    seed: int
    contents: dict[str, dict[str, Any]]


def replay_lines(view: View, ranked: list[str], tell: Callable[[str], None]) -> tuple[Replays | None, str]:
    """Play a setting in the middle of the sweep again; and a sentence on what cannot be shown, if there is any."""
    scene = _scene(view, ranked)
    if scene is None:
        return None, f"No finished game has at most {LONGEST:,} rounds: figures that play one again are left out."
    try:
        return _replayed(view, scene, tell), ""
    except (ValueError, TypeError, OSError) as error:  # what results show does not hang on what can be played now
        return None, f"{scene.setting} could not be played again, so figures that need it are left out: {error}."


def _replayed(view: View, scene: _Scene, tell: Callable[[str], None]) -> Replays:
    whole = build_game(next(iter(scene.contents.values()))["game"], scene.seed).game
    played = min(whole.horizon, PLAYED)
    short = head(whole, played)
    backlog, thin = short.delays.backlog(), _thinned(played)
    first = _busy(backlog, min(SHOWN, played))
    last = min(played, first + SHOWN - 1)
    frames: dict[str, Frame] = {name: {} for name in ("stays", "passed", "tracked", "survival")}
    for line, content in scene.contents.items():
        tell(line)
        player = build_player(content["player"], whole)
        record = simulate(short, player, [scene.seed], bound=False, checkpoints=1, keep_rounds=True, threads=1)
        told = _followed(record.events().iter_rows(), first, last, played)
        told["passed"]["fate"] = _why(told["passed"], whole.capacity, dict(zip(FATES, record.fates[0], strict=True)))
        _add(frames, line, told)
        _add(frames, line, {"survival": _survival(player.scheduler, whole)})
    _add(frames, DELAYS, {"survival": _still_out(whole)})
    tell("comparators")
    return Replays(
        scene.setting,
        scene.seed,
        whole.capacity,
        first,
        last,
        played,
        **{name: pl.DataFrame(columns) for name, columns in frames.items()},
        waiting=pl.DataFrame({"t": thin, "waiting": backlog[thin - 1]}),
        segments=_segments(with_baselines(view), scene, whole),
    )


def _scene(view: View, ranked: list[str]) -> _Scene | None:
    """The middle one of the settings with a limit that are short enough, and its best lines."""
    runs = view.runs.filter(pl.col("horizon") <= LONGEST)
    limited = runs.filter(pl.col("capacity").is_not_null())
    runs = limited if limited.height else runs
    if not runs.height:
        return None
    lines = runs.group_by("setting", maintain_order=True).agg(pl.col("line").n_unique(), pl.col("capacity").first())
    full = lines.filter(pl.col("line") == pl.col("line").max()).sort("capacity", maintain_order=True)
    setting = full["setting"][(full.height - 1) // 2]
    mine = runs.filter(pl.col("setting") == setting)
    seed = int(mine["seed"].min())  # type: ignore[arg-type]
    cells = dict(mine.filter(pl.col("seed") == seed).select("line", "cell").iter_rows())
    contents = dict(view.cells.select("cell", "content").iter_rows())
    chosen = _various([line for line in ranked if line in cells][:TOLD_APART], mine)
    return _Scene(setting, seed, {line: json.loads(contents[cells[line]]) for line in chosen})


def _various(lines: list[str], runs: pl.DataFrame) -> list[str]:
    """The best few, with as many schedulers among them as there are; in the order given."""
    played = dict(runs.select("line", "scheduler_played").unique().iter_rows())
    first = {played[line]: line for line in reversed(lines)}.values()
    chosen = [*(line for line in lines if line in first), *(line for line in lines if line not in first)][:LINES]
    return [line for line in lines if line in chosen]


def _busy(backlog: Any, rounds: int) -> int:
    """A round by which the backlog is what it is on average, with a stretch of rounds after it."""
    start = int(np.argmax(backlog >= np.mean(backlog))) + 1
    return max(1, min(start, int(backlog.size) - rounds + 1))


def _thinned(rounds: int) -> Any:
    return np.unique(np.linspace(1, rounds, min(rounds, POINTS)).astype(np.int64))


def _followed(events: Any, first: int, last: int, played: int) -> dict[str, Frame]:
    """Stays in lanes, rounds passed over, and the size of the set, from the events in their order."""
    stays: Frame = {name: [] for name in ("lane", "start", "stop", "fate")}
    inside: dict[int, int] = {}
    free: list[int] = []
    change = np.zeros(played + 2, np.int64)

    def leave(s: int, t: int, fate: str) -> None:
        lane = inside.pop(s)
        free.append(lane)
        stop = t if fate == "preempted" else t + 1  # dropped as a round begins, heard as it ends
        change[stop] -= 1
        if stop > first and s <= last:
            for name, value in zip(stays, (lane, max(s, first), min(stop, last + 1), fate), strict=True):
                stays[name].append(value)

    entered = np.zeros(played + 1, bool)
    for t, event, s, _weight in events:
        if event == "entered":
            free.sort(reverse=True)
            inside[s] = free.pop() if free else len(inside)
            change[t] += 1
            entered[s] = True
        elif s in inside and event in ("preempted", "feedback", "expired"):
            leave(s, t, "used" if event == "feedback" else event)
    size = np.cumsum(change)
    for s in sorted(inside):
        leave(s, played, "pending")
    thin = _thinned(played)
    passed = [t for t in range(first, last + 1) if not entered[t]]
    return {
        "stays": stays,
        "passed": {"t": passed, "tracked": size[passed].tolist()},
        "tracked": {"t": thin.tolist(), "tracked": size[thin].tolist()},
    }


def _why(passed: Frame, capacity: int | None, fates: dict[str, Any]) -> list[str]:
    """Declined or without room: events do not say which, but the ledger does unless a player does both."""
    if not (fates["saturated"] and fates["untracked"]):
        return ["saturated" if fates["saturated"] else "untracked"] * len(passed["t"])
    return ["untracked" if capacity is None or size < capacity else "" for size in passed["tracked"]]


def _ages(game: Game) -> Any:
    longest = max(2, int(game.delays.max_delay))
    return np.unique(np.geomspace(1, longest, 80).astype(np.int64))


def _survival(scheduler: Any, game: Game) -> Frame:
    """P(proxy delay ≥ age) of a round in the middle of the game, where the scheduler has such a law."""
    if not hasattr(scheduler, "survival"):
        return {"age": [], "share": []}
    ages = _ages(game)
    shares = scheduler.survival(max(1, game.horizon // 2), ages, game.capacity)
    return {"age": ages.tolist(), "share": np.asarray(shares, dtype=float).tolist()}


def _still_out(game: Game) -> Frame:
    """P(delay ≥ age), over rounds early enough that the end of the game does not cut them."""
    ages, values = _ages(game), game.delays.values
    early = np.sort(values[: max(1, values.size - int(values.max()))])
    shares = 1.0 - np.searchsorted(early, ages, side="left") / early.size
    return {"age": ages.tolist(), "share": shares.tolist()}


def _segments(view: View, scene: _Scene, game: Game) -> pl.DataFrame:
    """Regret of every line under the seed against the best action of each of some equal pieces."""
    same = (pl.col("setting") == scene.setting) & (pl.col("seed") == scene.seed)
    losses = view.runs.filter(same).select("line", "loss").rows()
    least = best_of_pieces(game)
    rows = [(line, m, loss - low) for line, loss in losses for m, low in least.items()]
    return pl.DataFrame(rows, schema=["line", "pieces", "regret"], orient="row")


def _add(frames: dict[str, Frame], line: str, told: dict[str, Frame]) -> None:
    for name, columns in told.items():
        length = len(next(iter(columns.values())))
        for column, values in {"line": [line] * length, **columns}.items():
            frames[name].setdefault(column, []).extend(values)
