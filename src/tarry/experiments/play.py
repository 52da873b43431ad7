"""One cell, from its content to its rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cache, partial
from math import nan
from typing import Any

import numpy as np

from tarry import delays
from tarry.experiments.columns import GAME_RULES, SCHEMA
from tarry.experiments.members import FACTS, TOLD, make
from tarry.game import Game, Record, simulate
from tarry.game.run import prepare
from tarry.kernel.cache import versions
from tarry.outcomes import FATES
from tarry.tracking import Player

# Delays up to this horizon are listed, so that one compilation serves all kinds of them; nothing else changes.
LISTED = 1_000_000

Columns = dict[str, Any]
# A certificate's parts by column: columns of stored runs keep the names of the first version.
PARTS = {
    "regularisation": "regularisation",
    "own": "variance",
    "pairs": "overlap",
    "smoothing": "smoothing",
    "left_out": "omitted_curvature",
}
RECORDED = ("tarry", "source", "python", "system", "numpy", "numba", "scipy", "polars")


class Cancelled(Exception):
    """The run was asked to stop while a cell was under way."""


def build_game(content: dict[str, Any], seed: int) -> tuple[Game, bool]:
    """Return the game of a seed, and whether another seed would give another one.

    Members that draw are drawn by the seed, unless the file gives them an ``rng``.
    """
    asked: set[str] = set()
    told: dict[str, Any] = {"rng": seed, "horizon": content["horizon"], "dimension": content["dimension"]}

    def known(key: str, name: str) -> Any:
        asked.add(name)
        if name not in TOLD[key] or told.get(name) is None:
            raise ValueError(f"{key} needs {name}: give it to the game, as in {name} = …, or as an axis")
        return told[name]

    # In this order: delays and losses may ask for what the domain says, losses for the horizon of the delays.
    domain = make("domain", content["domain"], partial(known, "domain"))
    told |= {"dimension": int(domain.dimension), "domain": domain}
    waits = make("delays", content["delays"], partial(known, "delays"))
    told["horizon"] = int(waits.horizon)
    made = make("losses", content["losses"], partial(known, "losses"))
    listed = delays.array(waits.values) if waits.horizon <= LISTED else waits
    rules = {name: content[name] for name in ("capacity", *GAME_RULES)}
    return Game(domain, made, listed, **rules), "rng" in asked


def build_player(content: dict[str, Any], game: Game) -> Player:

    @cache  # the bounds of losses take a pass over all rounds
    def known(name: str) -> Any:
        if name not in FACTS:
            raise ValueError(f"a game does not tell {name}: give {name} = …")
        return FACTS[name](game)

    made = {key: make(key, spec, known) for key, spec in content.items()}
    ready: Player | None = made.get("player")
    return Player(**made) if ready is None else ready


def play_cell(cell: str, content: str, stopped: Callable[[], bool] = lambda: False) -> Columns:
    """Run a cell and return its columns, a row for each seed.

    ``stopped`` is asked now and then; raise :class:`Cancelled` once it says yes.
    """
    started, plain = time.perf_counter(), json.loads(content)
    backlogs: dict[int, Any] = {}  # a summary of the delays by seed: games themselves would fill the memory
    first, by_seed = build_game(plain["game"], plain["seeds"][0])

    def games(seed: int) -> Game:
        game = first if seed == plain["seeds"][0] else build_game(plain["game"], seed)[0]
        backlogs[seed] = game.delays.summary()
        return game

    def report(_done: int, _total: int) -> None:
        if stopped():
            raise Cancelled

    record = simulate(
        None if by_seed else first,
        partial(build_player, plain["player"]),
        plain["seeds"],
        games=games if by_seed else None,
        checkpoints=plain["checkpoints"],
        bound=plain["bound"],
        threads=1,
        progress=report,
    )
    if not by_seed:
        backlogs = dict.fromkeys(record.seeds, first.delays.summary())
    same = {
        "cell": cell,
        "horizon": record.horizon,
        "dimension": first.dimension,
        "capacity": record.capacity,
        "learner_played": type(record.player.learner).__name__,
        "scheduler_played": type(record.player.scheduler).__name__,
        "seconds": time.perf_counter() - started,
        "warnings": "\n".join(record.warnings),
        "versions": _versions(),
        "schema": SCHEMA,
    }
    columns = _columns(record, [backlogs[seed] for seed in record.seeds])
    return {name: [value] * len(record.seeds) for name, value in same.items()} | columns


@cache  # the hash of the sources takes a while
def _versions() -> str:
    known = versions()
    return json.dumps({name: known[name] for name in RECORDED})


def _columns(record: Record, summaries: list[Any]) -> Columns:
    """Return the columns in which seeds differ; ``summaries`` are those of each seed's delays."""
    books, weights = record.occupancy, record.weights
    return {
        "seed": record.seeds,
        **{name: [getattr(one, name) for one in summaries] for name in ("total_delay", "max_delay", "max_backlog")},
        "regret": record.regret,
        "loss": record.loss,
        "comparator_gap": [one.gap for one in record.comparators],
        "bound": record.bound,
        **{
            name: [nan if one is None else float(np.float64(getattr(one, part))) for one in record.certificates]
            for name, part in PARTS.items()
        },
        "holds": [None if one is None else one.holds for one in record.certificates],
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
        prepare(game, player, checkpoints=plain["checkpoints"], bound=plain["bound"])
    except (ValueError, TypeError) as error:
        return str(error)
    return ""
