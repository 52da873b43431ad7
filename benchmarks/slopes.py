"""How regret grows: the table of measured slopes in docs/measured.md. `python -m benchmarks.slopes [part of a name]`.

Slopes are those of log regret against log T, and against the log of the length of blocks; beside each, in brackets, is
that of the order stated, on the same sizes. Compiled: a few minutes. ``--write`` keeps the table in docs/figures.json.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import tarry
from studies.numbers import lines_of, write_numbers
from tarry.reports.table import Table
from tests.oracles.methods import METHODS, PLAYERS
from tests.oracles.promises import Method, Slope, slope_in_delay, slope_in_horizon

HEADS = ("method", "bound/regret", "attained on", "in T", "steepest", "in n", "steepest")
IN_T, IN_N = ("in T", slope_in_horizon), ("in n", slope_in_delay)
# Methods that are steeper than stated elsewhere; the first block of GOLD is half the game where n is T/2.
LONGER = METHODS["GOLD.tuned"]._replace(lengths=(2**7, 2**11))
STEEPER = (
    ("GOLD.tuned, n up to T/2", LONGER, "one way", IN_N),
    ("DFTBL.strongly_convex", METHODS["DFTBL.strongly_convex"], "alternating", IN_N),
    ("TwoPoint.strongly_convex", METHODS["TwoPoint.strongly_convex"], "waves", IN_T),
    ("Differences.strongly_convex", METHODS["Differences.strongly_convex"], "waves", IN_T),
)


def against_bound(method: Method) -> str:
    """The bound over the regret, on the game that the method names."""
    if method.bound is None or method.tight is None:
        return "no constants" if method.bound is None else "above 3"
    game = method.hardest()
    seeds = method.tight.seeds
    record = tarry.simulate(game, method.make(game), seeds, bound=False, keep_rounds=seeds == 1)
    return f"{method.bound(game, record) / record.regret.mean():.2f}"


def cells(
    method: Method, slope_in: Callable[[Method, str], Slope], patterns: Sequence[str], sizes: Sequence[int]
) -> tuple[list[str], float]:
    """The slope where the order is attained, the steepest of all patterns, and the least regret over the order."""
    if not sizes:
        return ["–", "–"], float("nan")
    slopes = [slope_in(method, pattern) for pattern in patterns]
    steepest = max(slopes, key=lambda slope: slope.excess)
    first = slopes[0]
    return [f"{first.measured:.2f} ({first.stated:.2f})", f"{steepest.measured:.2f}"], first.share


def steeper() -> Table:
    """Slopes that are steeper than stated, on games that are not in the table."""
    rows = []
    for name, method, pattern, (along, slope_in) in STEEPER:
        slope = slope_in(method, pattern)
        rows.append((name, pattern, along, f"{slope.measured:.2f} ({slope.stated:.2f})"))
    return Table("", ("method", "on", "along", "slope"), rows)


def main() -> None:
    """Print the table, a row as soon as it is measured."""
    parts = [part for part in sys.argv[1:] if part != "--write"]
    if parts and "--write" in sys.argv:
        raise SystemExit("--write keeps all methods: leave out their names")
    rows, shares = list[tuple[str, ...]](), list[float]()
    for name, method in (METHODS | PLAYERS).items():
        if all(part in name for part in parts):
            late = method.late or method.patterns
            in_horizon, share = cells(method, slope_in_horizon, method.patterns, method.horizons)
            in_delay, other = cells(method, slope_in_delay, late, method.lengths)
            on = [method.patterns[0]] * bool(method.horizons) + [late[0]] * bool(method.lengths)
            where = ", ".join(dict.fromkeys(on)) or "–"
            rows.append((name, against_bound(method), where, *in_horizon, *in_delay))
            shares += [one for one in (share, other) if one == one]
            print(f"| {' | '.join(rows[-1])} |", flush=True)
    if parts:
        return
    others = lines_of(steeper())
    print("\n".join(["", *others]))
    if "--write" in sys.argv:
        values = {"table": lines_of(Table("", HEADS, rows)), "shares": [min(shares), max(shares)], "steeper": others}
        write_numbers("slopes", "python -m benchmarks.slopes --write", values)


if __name__ == "__main__":
    main()
