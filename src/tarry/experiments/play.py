"""Cells, from their content to their rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial
from math import nan
from typing import Any, NamedTuple

import numpy as np

from tarry import delays
from tarry.errors import ArgumentError, TarryError
from tarry.experiments.columns import GAME_RULES, SCHEMA
from tarry.experiments.files import is_data, read_data
from tarry.experiments.members import FACTS, TOLD, make
from tarry.experiments.sweep import BEST
from tarry.game import Game, Record
from tarry.game.hindsight import comparing
from tarry.game.run import prepare
from tarry.game.simulate import Match, play_matches
from tarry.kernel.blame import failing
from tarry.kernel.cache import versions
from tarry.outcomes import FATES
from tarry.tracking import Player

# Delays up to this horizon are listed, so that one compilation serves all kinds of them; nothing else changes.
LISTED = 1_000_000

Columns = dict[str, Any]
PARTS = ("regularisation", "variance", "overlap", "smoothing", "omitted_curvature")  # of a certificate
RECORDED = ("tarry", "source", "python", "system", "numpy", "numba", "scipy", "polars")


class Cancelled(Exception):
    """The run was asked to stop while a cell was under way."""


def build_game(
    content: dict[str, Any], seed: int, other: Game | None = None, drawn: Collection[str] = ()
) -> tuple[Game, set[str]]:
    """Return the game of a seed, and which of its parts another seed would draw otherwise.

    Members that draw are drawn by the seed, unless the file gives them an ``rng``. Where the game of an ``other`` seed
    is given, with what is ``drawn`` in it, the rest is taken from there.
    """
    by_seed: set[str] = set()
    facts: dict[str, Any] = {"rng": seed, "horizon": content["horizon"], "dimension": content["dimension"]}

    def known(key: str, name: str) -> Any:
        if name == "rng":
            by_seed.add(key)
        if name not in TOLD[key] or facts.get(name) is None:
            raise ValueError(f"{key} needs {name}: give it to the game, as in {name} = …, or as an axis")
        return facts[name]

    # In this order: delays and losses may ask for what the domain says, losses for the horizon of the delays.
    if other is None or "domain" in drawn:
        domain = make("domain", content["domain"], partial(known, "domain"))
    else:
        domain = other.domain
    facts |= {"dimension": int(domain.dimension), "domain": domain}
    if other is None or {"domain", "delays"}.intersection(drawn):
        waits = make("delays", content["delays"], partial(known, "delays"))
        game_delays = waits if waits.reacts or waits.horizon > LISTED else delays.array(waits.values)
    else:
        game_delays = other.delays
    facts["horizon"] = int(game_delays.horizon)
    losses = make("losses", content["losses"], partial(known, "losses"))
    rules = {name: content[name] for name in ("capacity", *GAME_RULES)}
    return Game(domain, losses, game_delays, **rules), by_seed


def build_player(content: dict[str, Any], game: Game) -> Player:

    @cache  # the bounds of losses take a pass over all rounds
    def known(name: str) -> Any:
        if name not in FACTS:
            raise ValueError(f"a game does not tell {name}: give {name} = …")
        return FACTS[name](game)

    parts = {key: make(key, spec, known) for key, spec in content.items()}
    ready: Player | None = parts.get("player")
    return Player(**parts) if ready is None else ready


class Prepared(NamedTuple):
    """A cell that is ready to be played: its match, and a summary of the delays by seed."""

    cell: str
    match: Match
    backlogs: dict[int, Any]  # games themselves would fill the memory


def prepare_cell(cell: str, content: str) -> Prepared:
    """Return a cell's match; raise ValueError or TypeError where game and player do not fit."""
    plain = json.loads(content)
    seeds = plain["seeds"]
    first, drawn = build_game(plain["game"], seeds[0])
    backlogs = dict.fromkeys(seeds, first.delays.summary())

    def games(seed: int) -> Game:
        game = first if seed == seeds[0] else build_game(plain["game"], seed, first, drawn)[0]
        if game.delays is not first.delays:
            backlogs[seed] = game.delays.summary()
        return game

    game, by_seed = (None, games) if drawn else (first, None)
    options = {"checkpoints": plain["checkpoints"], "bound": plain["bound"], "comparator": _comparator(plain)}
    return Prepared(
        cell, Match(game, partial(build_player, plain["player"]), seeds, games=by_seed, **options), backlogs
    )


def _comparator(content: dict[str, Any]) -> Any:
    """Return what a cell's regret is measured against, as ``simulate`` takes it."""
    comparator = content.get("comparator", BEST)
    if is_data(comparator):
        return read_data(comparator["file"], comparator["digest"], tuple(comparator.get("columns", ())))
    return None if comparator == "none" else comparator


def play_cells(
    cells: Sequence[Prepared], stopped: Callable[[], bool] = lambda: False, device: str = "cpu"
) -> Iterator[Columns]:
    """Play cells together and yield the columns of each, a row for each seed.

    ``stopped`` is asked now and then; raise :class:`Cancelled` once it says yes. ``device`` is as for ``simulate``:
    what is measured does not depend on it, but for rounding on a GPU.
    """

    def report(_done: int) -> None:
        if stopped():
            raise Cancelled

    started = time.perf_counter()
    for cell, record in zip(cells, play_matches((cell.match for cell in cells), device, report), strict=True):
        same = {
            "cell": cell.cell,
            "horizon": record.horizon,
            "dimension": cell.match.first.run.game.dimension,
            "capacity": record.capacity,
            "learner_played": type(record.player.learner).__name__,
            "scheduler_played": type(record.player.scheduler).__name__,
            "seconds": (time.perf_counter() - started) / len(cells),
            "warnings": "\n".join(record.warnings),
            "versions": _versions(),
            "schema": SCHEMA,
        }
        columns = _columns(record, record.met_delays or [cell.backlogs[seed] for seed in record.seeds])
        yield {name: [value] * len(record.seeds) for name, value in same.items()} | columns


def play_cell(cell: str, content: str, stopped: Callable[[], bool] = lambda: False, device: str = "cpu") -> Columns:
    """Run a cell and return its columns, a row for each seed; see :func:`play_cells`."""
    started = time.perf_counter()
    (columns,) = play_cells([prepare_cell(cell, content)], stopped, device)
    return columns | {"seconds": [time.perf_counter() - started] * len(columns["seed"])}


@cache  # the hash of the sources takes a while
def _versions() -> str:
    versions_here = versions()
    return json.dumps({name: versions_here[name] for name in RECORDED})


def _columns(record: Record, summaries: list[Any]) -> Columns:
    """Return the columns in which seeds differ; ``summaries`` are those of each seed's delays."""
    books, weights = record.occupancy, record.weights
    return {
        "seed": record.seeds,
        **{name: [getattr(entry, name) for entry in summaries] for name in ("total_delay", "max_delay", "max_backlog")},
        "regret": record.regret,
        "loss": record.loss,
        "comparator_gap": [entry.gap for entry in record.comparators] or [nan] * len(record.seeds),
        "bound": record.bound,
        **{
            name: [nan if entry is None else float(np.float64(getattr(entry, name))) for entry in record.certificates]
            for name in PARTS
        },
        "holds": [None if entry is None else entry.holds for entry in record.certificates],
        "bounds_regret": record.bounds_regret,
        **{name: record.fates[:, i] for i, name in enumerate(FATES)},
        **{f"occupancy_{name}": getattr(books, name) for name in ("mean", "peak", "full")},
        **{f"weight_{name}": getattr(weights, name) for name in ("mean", "second_moment", "max")},
        "effective_sample_size": weights.effective_sample_size,
        "curve_t": [record.checkpoints] * len(record.seeds),
        "curve_regret": list(record.regret_at),
        "curve_loss": list(record.loss_at),
        "curve_bound": list(record.bound_at),
    }


def refusal(content: str) -> str:
    """Return why a cell cannot be played, as far as can be told without playing it; empty if it can."""
    plain = json.loads(content)
    player = partial(build_player, plain["player"])
    try:
        game, _ = build_game(plain["game"], plain["seeds"][0])
        run = prepare(game, player, checkpoints=plain["checkpoints"], bound=plain["bound"])
        comparing(_comparator(plain), game, run.checkpoints)
    except Exception as error:
        return told(error)
    return ""


def told(error: Exception) -> str:
    """Return an error as a sentence; one from within a user's code names the function and the line."""
    is_told = isinstance(error, (TarryError, ArgumentError, MemoryError))
    cause = error if is_told else failing(error, anywhere=not isinstance(error, ValueError)) or error
    text = " ".join(str(cause).split())
    # An error about the input is a sentence; any other needs its kind to be understood.
    return text if isinstance(cause, (ValueError, TypeError)) and text else f"{type(cause).__name__}: {text}"
