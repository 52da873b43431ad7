"""Small cells whose numbers are kept, so that no change of code goes unnoticed under one revision of cells.

``python tests/support/golden_cells.py`` writes the numbers anew, once REVISION in tarry.experiments.sweep is raised.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

from tarry.experiments import play_cell
from tarry.experiments.sweep import REVISION, canonical

FILE = Path(__file__).parents[1] / "experiments" / "golden_cells.json"
MEASURED = ("regret", "weight_second_moment")
ROUNDS = 200
TOLERANCE = 1e-9

GAME = {
    "domain": {"type": "Ball"},
    "losses": {"type": "Linear", "rows": {"type": "drifting"}},
    "delays": {"type": "geometric", "mean": 12},
    "feedback": "gradient",
    "queries": 1,
    "information": "semi-clairvoyant",
    "preemption": True,
    "capacity": 6,
    "horizon": ROUNDS,
    "dimension": 3,
}
CURVED = {"losses": {"type": "Quadratic", "targets": {"type": "Drawn.drifting_targets"}}}
VALUES = {"feedback": "value", "dimension": 2}
SIMPLEX = {"domain": {"type": "Simplex"}}
EXAMPLES = {
    "features": [[math.sin(t), math.cos(3 * t)] for t in range(ROUNDS)],
    "labels": [1.0 if math.sin(5 * t) > 0.2 else -1.0 for t in range(ROUNDS)],
}
DWFTRL = {"type": "DWFTRL", "rate": 0.05}


def _with(learner: dict[str, Any], scheduler: str, **options: Any) -> dict[str, Any]:
    return {"learner": learner, "scheduler": {"type": scheduler, **options}}


CELLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "DWFTRL, VarOpt": ({}, _with(DWFTRL, "VarOpt")),
    "DWFTRL, Pareto, heavy tails": (
        {"delays": {"type": "pareto", "shape": 1.3, "scale": 5}},
        _with({"type": "DWFTRL", "rate": {"type": "Anytime"}}, "Pareto"),
    ),
    "DWFTRL, Coin, clairvoyant": ({"information": "clairvoyant"}, _with(DWFTRL, "Coin")),
    "DWFTRL, Thinning, curved": (
        {**CURVED, "delays": {"type": "uniform", "low": 0, "high": 30}},
        _with({"type": "DWFTRL", "rate": {"type": "inverse_time"}}, "Thinning"),
    ),
    "DWFTRL, Bernoulli, non-clairvoyant, no preemption": (
        {"information": "non-clairvoyant", "preemption": False},
        _with(DWFTRL, "Bernoulli", max_backlog="game.max_backlog"),
    ),
    "doubling": (
        {},
        {"learner": {"type": "DWFTRL", "rate": {"type": "DoublingRate"}}, "epochs": {"type": "Doubling"}},
    ),
    "convex": ({"delays": {"type": "bursts", "length": 30, "slow": 40}}, {"player": {"type": "convex"}}),
    "recommended, values": (VALUES, {"player": {"type": "recommended"}}),
    "DWFTBL, Priority": (
        {**VALUES, "delays": {"type": "lognormal", "median": 10, "spread": 1.0}},
        _with({"type": "DWFTBL", "rate": 0.02, "smoothing": 0.3}, "Priority"),
    ),
    "OGD, Always, a box": (
        {"domain": {"type": "Box", "lower": [-0.2, -1.0, 0.1], "upper": [0.3, 1.0, 0.9]}, **CURVED, "capacity": None},
        _with({"type": "OGD", "rate": 0.1}, "Always"),
    ),
    "BOLD, Morris, distances": (
        {
            "losses": {"type": "Distance", "targets": {"type": "Drawn.drifting_targets"}},
            "delays": {"type": "queue", "servers": 9, "load": 0.8},
        },
        _with({"type": "BOLD", "base": {"type": "OGD", "rate": 0.1}}, "Morris", epsilon=0.1),
    ),
    "AdaFTRL, VarOpt, logistic": (
        {"losses": {"type": "Logistic", **EXAMPLES, "ridge": 0.1}, "dimension": 2},
        _with({"type": "AdaFTRL"}, "VarOpt"),
    ),
    "exponential weights, Pareto": (SIMPLEX, _with({"type": "EntropicFTRL", "rate": 0.1}, "Pareto")),
    "Exp3, VarOpt": ({**SIMPLEX, "feedback": "value"}, _with({"type": "Exp3", "rate": 0.05}, "VarOpt")),
}


def content_of(name: str) -> str:
    """A cell's content as workers get it."""
    game, player = CELLS[name]
    return canonical({"game": GAME | game, "player": player, "seeds": [0, 1], "checkpoints": 2, "bound": False})


def measured(name: str) -> dict[str, list[float]]:
    """Its numbers as the code is now, one for each seed."""
    columns = play_cell(name, content_of(name))
    return {key: [float(value) for value in columns[key]] for key in MEASURED}


def kept() -> dict[str, Any]:
    """The revision and the numbers that are kept."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def agree(first: dict[str, list[float]], second: dict[str, list[float]]) -> bool:
    """Whether two cells' numbers are the same, up to rounding."""
    return first.keys() == second.keys() and all(
        math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        for key in first
        for one, other in zip(first[key], second[key], strict=True)
    )


def main() -> None:
    """Write the numbers anew; those that are kept stay as they are under their revision."""
    numbers = {name: measured(name) for name in CELLS}
    before = kept() if FILE.exists() else {"revision": None, "cells": {}}
    changed = [name for name, old in before["cells"].items() if name in numbers and not agree(old, numbers[name])]
    if before["revision"] == REVISION and changed:
        sys.exit(f"{', '.join(changed)}: other numbers under revision {REVISION}: raise REVISION in cells.py first")
    FILE.write_text(json.dumps({"revision": REVISION, "cells": numbers}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
