"""A Python function as a loss: called for each play, or once a round for the plays of all seeds; and compiled.

Times are of the processor, so that libraries' own threads count, and a busy machine's other work does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from math import inf, nan
from typing import Any

import numpy as np

import tarry
from benchmarks.measure import Figure, Row, interleave
from benchmarks.stage import DIMENSION, learner, some_rows
from studies.numbers import short

ROUNDS, QUICK_ROUNDS = 2_000, 100
CAPACITY, DELAY = 16, 200
TURNS = 3
KINDS = {
    "Callables, PyTorch": (1, 8),
    "Batched, PyTorch": (1, 8, 64, 512),
    "Batched, JAX": (1, 8, 64, 512),
    "Batched, NumPy": (1, 8, 64, 512),
    "Logistic": (512,),
}
LIBRARIES = {"PyTorch": "torch", "JAX": "jax"}


def _in_torch() -> Any:
    import torch

    from tarry.adapters.torch import differentiated

    return differentiated(lambda row, x: torch.nn.functional.softplus(-row[-1] * (row[:-1] @ x)))


def _in_jax() -> Any:
    import jax

    from tarry.adapters.jax import differentiated

    return differentiated(lambda row, x: jax.nn.softplus(-row[-1] * (row[:-1] @ x)))


def _by_hand(rows: Any, plays: Any) -> tuple[Any, Any]:
    features, labels = rows[:, :-1], rows[:, -1]
    margins = labels * (features * plays).sum(axis=1)
    return np.logaddexp(0.0, -margins), (-labels / (1.0 + np.exp(margins)))[:, None] * features


def losses(kind: str, rounds: int) -> Any:
    """Return the logistic loss of the same labels, written in one of the ways."""
    features = some_rows(rounds)
    labels = np.where(features.sum(axis=1) > 0.0, 1.0, -1.0)
    if kind == "Logistic":
        return tarry.losses.Logistic(features, labels)
    rows, library = np.column_stack([features, labels]), kind.split(", ")[1]
    evaluate = {"PyTorch": _in_torch, "JAX": _in_jax, "NumPy": lambda: _by_hand}[library]()
    if kind.startswith("Batched"):
        return tarry.losses.Batched(rows, evaluate, dimension=DIMENSION)
    one = lambda x, t: evaluate(rows[t - 1 : t], x[None])  # noqa: E731 - one line for both
    return tarry.losses.Callables(
        lambda x, t: one(x, t)[0][0], lambda x, t: one(x, t)[1][0], dimension=DIMENSION, horizon=rounds
    )


def play(kind: str, rounds: int, seeds: int) -> Callable[[], tarry.Record]:
    """Return a run, without the search for the best fixed action."""
    game = tarry.Game(
        domain=tarry.domains.Ball(DIMENSION),
        losses=losses(kind, rounds),
        delays=tarry.delays.geometric(horizon=rounds, mean=DELAY, rng=1),
        capacity=CAPACITY,
    )
    return partial(tarry.simulate, game, learner(), seeds=seeds, threads=1, bound=False, comparator=None)


def _is_installed(library: str) -> bool:
    return find_spec(LIBRARIES[library]) is not None


def _costs(quick: bool) -> Figure:
    """Return the costs of kinds whose library is installed; where one is missing there is no ratio, so none is kept."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    missing = tuple(library for library in LIBRARIES if not _is_installed(library))
    wanted = [(kind, seeds) for kind, listed in KINDS.items() for seeds in listed if not kind.endswith(missing)]
    plays = [play(kind, rounds, seeds) for kind, seeds in wanted]
    makers = [partial(lambda one: one, one) for one in plays]
    seconds = interleave(makers, 1 if quick else TURNS, time.process_time)
    told: dict[str, dict[str, float]] = {}
    for (kind, seeds), taken in zip(wanted, seconds, strict=True):
        told.setdefault(kind, {})[f"{seeds} seeds"] = short(1e6 * min(taken) / (rounds * seeds))
    ratio = nan if missing else told["Callables, PyTorch"]["8 seeds"] / told["Batched, PyTorch"]["8 seeds"]
    listed = "; ".join(
        f"{kind} {', '.join(f'{value:.3g}' for value in costs.values())}" for kind, costs in told.items()
    )
    left = f"; left out, and nothing kept: {' and '.join(missing)} not installed" if missing else ""
    return Figure(ratio, f"microseconds a round and seed: {listed}{left}", told)


ROWS = [Row("losses of a Python function", inf, _costs)]
