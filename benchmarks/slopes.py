"""How regret grows: the table of measured slopes in docs/measured.md. `python -m benchmarks.slopes [part of a name]`.

Slopes are those of log regret against log T, and against the log of the length of blocks; beside each, in brackets, is
that of the order stated, on the same sizes. Compiled: a few minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from tests.oracles.methods import METHODS, PLAYERS
from tests.oracles.promises import Method, Slope, slope_in_delay, slope_in_horizon


def cells(
    method: Method, slope_in: Callable[[Method, str], Slope], patterns: Sequence[str], sizes: Sequence[int]
) -> list[str]:
    """The slope and the least regret over the order where it is attained, and the steepest slope of all patterns."""
    if not sizes:
        return ["–", "–", "–"]
    slopes = [slope_in(method, pattern) for pattern in patterns]
    steepest = max(slopes, key=lambda slope: slope.excess)
    return [
        f"{slopes[0].measured:.2f} ({slopes[0].stated:.2f})",
        f"{slopes[0].share:.2f}",
        f"{steepest.measured:.2f}",
    ]


def main() -> None:
    """Print the table, a row as soon as it is measured."""
    print("| method | attained on | in T | over its order | steepest | in the delay | over its order | steepest |")
    print("|---|---|---|---|---|---|---|---|")
    for name, method in (METHODS | PLAYERS).items():
        if (method.horizons or method.lengths) and all(part in name for part in sys.argv[1:]):
            late = method.late or method.patterns
            told = cells(method, slope_in_horizon, method.patterns, method.horizons)
            told += cells(method, slope_in_delay, late, method.lengths)
            on = ", ".join(dict.fromkeys((method.patterns[0], late[0] if method.lengths else method.patterns[0])))
            print(f"| {name} | {on} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()
