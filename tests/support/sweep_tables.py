"""Tables such as a sweep leaves behind, made up: power laws with noise, in no time."""

from __future__ import annotations

import json

import numpy as np
import polars as pl

from tarry.experiments.columns import CELLS, CURVES, RUNS

CHECKPOINTS = [1, 10, 100, 1000]


def tables(players, *, capacities=(4, 16, 64), means=(10,), seeds=4, bound=2.0, horizon=1000, warnings=""):
    """Cells, runs and curves; regret is player's factor · √(horizon · mean / C) with noise of a twentieth."""
    rng = np.random.default_rng(7)
    cells, runs, curves = [], [], []
    for player, factor in players.items():
        for capacity in capacities:
            for mean in means:
                delays = {"type": "geometric", "mean": mean}
                content = json.dumps({"game": {"capacity": capacity, "delays": delays}, "player": {"name": player}})
                cell = f"{len(cells):032x}"
                cells.append(_cell(cell, content, player, capacity, mean, seeds, horizon, warnings))
                for seed in range(seeds):
                    regret = factor * np.sqrt(horizon * mean / (capacity or mean)) * (1 + 0.05 * rng.standard_normal())
                    runs.append(_run(cell, seed, capacity, mean, regret, bound * abs(regret), horizon))
                    curves += [
                        {"cell": cell, "seed": seed, "t": t, "regret": share * regret, "loss": float(t)}
                        | {"bound": bound * abs(share * regret)}
                        for t, share in zip(CHECKPOINTS, (0.01, 0.1, 0.4, 1.0), strict=True)
                    ]
    axes = {"axis_mean": pl.Int64}
    return (
        pl.DataFrame(cells, schema={**CELLS, **(axes if len(means) > 1 else {})}),
        pl.DataFrame(runs, schema=RUNS),
        pl.DataFrame(curves, schema=CURVES),
    )


def _cell(cell, content, player, capacity, mean, seeds, horizon, warnings):
    return {
        "cell": cell,
        "combination": cell,
        "sweep": "made up",
        "game": "drift",
        "player": player,
        "capacity": capacity,
        "horizon": horizon,
        "dimension": 2,
        "delays": f"geometric(mean={mean})",
        "losses": "Linear",
        "domain": "Ball",
        "feedback": "gradient",
        "information": "semi-clairvoyant",
        "queries": 1,
        "preemption": True,
        "seeds": seeds,
        "first_seed": 0,
        "content": content,
        "seconds": 0.1,
        "warnings": warnings,
        "versions": '{"tarry": "0.1.0"}',
        "schema": 1,
        "axis_mean": mean,
    }


def _run(cell, seed, capacity, mean, regret, bound, horizon):
    used = horizon if capacity is None else horizon // 2
    return {
        "cell": cell,
        "seed": seed,
        "horizon": horizon,
        "dimension": 2,
        "capacity": capacity,
        "scheduler_played": "VarOpt",
        "total_delay": horizon * mean,
        "max_delay": 5 * mean,
        "max_backlog": 2 * mean,
        "regret": regret,
        "loss": 50.0 + regret,
        "bound": bound,
        "holds": "on every path",
        "bounds_regret": True,
        "used": used,
        "untracked": horizon - used,
        **dict.fromkeys(("saturated", "preempted", "expired", "pending"), 0),
        "occupancy_mean": float(capacity or mean),
        "occupancy_peak": float(capacity or mean),
        "occupancy_full": 0.5,
        "weight_mean": 1.0,
        "weight_second_moment": 2.0,
        "weight_max": 4.0,
        "effective_sample_size": float(used),
    }
