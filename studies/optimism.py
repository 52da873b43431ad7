"""The tables of docs/tutorials/optimism-and-delay.md, played by the functions of the page's own blocks."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from studies.measure import quiet
from studies.numbers import DOCS, Values, Write, lines_of, short, write_numbers
from tarry.charts import CONFIDENCE, student
from tarry.cli.console import progress_lines, refusing, screen
from tarry.reports.table import Table
from tests.support.shown import blocks_of

PAGE = DOCS / "tutorials" / "optimism-and-delay.md"
FIGURE, LINEAR = 0, 1  # the page's blocks
WORLDS = ("steady", "changing", "persistent")
PAIRS = (("DORM+", "DORM"), ("DORM, replicated", "DORM"), ("DORM+, replicated", "DORM+"))
# Of linear losses: worlds, and times as many rounds as in the figure.
GAMES = (("steady", 1), ("steady", 4), ("steady", 16), ("changing", 1), ("persistent", 1), ("equal", 1))

Regrets = dict[str, NDArray[np.float64]]
Tell = Callable[[str], None]


def functions_of(block: int, **settings: int) -> dict[str, Any]:
    """Return what a block of the page defines, with these settings; lines after its last function do not run."""
    shown = [one for one in blocks_of(PAGE.name, PAGE.read_text(encoding="utf-8")) if one.language == "python"]
    lines = ast.parse(shown[block].text).body
    last = max(i for i, line in enumerate(lines) if isinstance(line, ast.FunctionDef))
    names: dict[str, Any] = {}
    exec(compile(ast.Module(lines[: last + 1], []), PAGE.name, "exec"), names)
    assert settings.keys() <= names.keys()
    names.update(settings)
    return names


def figure_regrets(world: str, **settings: int) -> Regrets:
    """Return each learner's regret by seed in the games of the page's figure."""
    records = functions_of(FIGURE, **settings)["play"](world)
    return {name.replace("Plus", "+"): np.asarray(record.regret) for name, record in records.items()}


def linear_regrets(world: str, rounds: int, seeds: int) -> Regrets:
    """Return each learner's regret by seed on linear losses, also without delay, and with the last loss as a guess."""
    late, prompt = functions_of(LINEAR, SEEDS=seeds), functions_of(LINEAR, SEEDS=seeds, LATE=0)
    found, experts = Regrets(), late["EXPERTS"]
    kinds = {"DORM": late["DORM"], "DORM+": late["DORMPlus"]}
    for name, kind in kinds.items():
        found[name] = late["regret"](world, rounds, kind(experts))
        copies = late["Interleaving"](kind(experts), delay=late["LATE"])
        found[f"{name}, replicated"] = late["regret"](world, rounds, copies)
        found[f"{name}, no delay"] = prompt["regret"](world, rounds, kind(experts))
    found["DORM+, hint"] = late["regret"](world, rounds, late["DORMPlus"](experts, hint="recent"))
    return found


def half(values: NDArray[np.float64]) -> float:
    """Return half the 95 % interval of the mean."""
    return float(student(CONFIDENCE, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size))


def figure_tables(found: dict[str, Regrets], seeds: int) -> list[Table]:
    """Return the means by world and learner, and those of differences in the same games."""
    names = list(next(iter(found.values())))
    means = [(world, *(_cell(by[name]) for name in names)) for world, by in found.items()]
    apart = [(world, *(_cell(by[one] - by[other]) for one, other in PAIRS)) for world, by in found.items()]
    note = f"{seeds} seeds; ± half the 95 % interval of the mean."
    heads = [f"{one} - {other}" for one, other in PAIRS]
    return [
        Table("Regret, errors of mixtures", ("world", *names), means, note, text=("world",)),
        Table("Differences by seed", ("world", *heads), apart, note, text=("world",)),
    ]


def _cell(values: NDArray[np.float64]) -> str:
    return f"{values.mean():.2f} ± {half(values):.2f}"


def linear_table(found: dict[tuple[str, int], Regrets], seeds: int) -> Table:
    """Return the means by world, rounds and learner."""
    names = list(next(iter(found.values())))
    rows = [
        (world, f"{rounds:,}", *(f"{by[name].mean():.1f}" for name in names)) for (world, rounds), by in found.items()
    ]
    return Table("Regret, linear losses", ("world", "rounds", *names), rows, f"{seeds} seeds.", text=("world",))


def linear_values(found: dict[tuple[str, int], Regrets]) -> Values:
    """Return the widest half intervals, and DORM+'s regret over √(T Σ σ_i²) in the steady world."""
    halves = {key: max(map(half, by.values())) for key, by in found.items()}
    spread = (
        2 * 0.5**2 * (functions_of(LINEAR)["EXPERTS"] - 1)
    )  # two noises of deviation ½ for each expert but the best
    return {
        "widest": short(max(wide for (world, _), wide in halves.items() if world != "persistent")),
        "widest, persistent": short(max(wide for (world, _), wide in halves.items() if world == "persistent")),
        "shares": [
            short(by["DORM+"].mean() / np.sqrt(key[1] * spread)) for key, by in found.items() if key[0] == "steady"
        ],
    }


def optimism_command(
    seeds: Annotated[int, typer.Option(min=2, help="Games of the figure; linear losses have ten times as many.")] = 100,
    write: Write = False,
) -> None:
    """Play the tutorial on optimism and delay, with more seeds than its blocks."""
    figure, linear = dict[str, Regrets](), dict[tuple[str, int], Regrets]()
    with refusing(), quiet(), progress_lines("playing") as tell:
        for world in WORLDS:
            tell(f"{world}, errors of mixtures")
            figure[world] = figure_regrets(world, SEEDS=seeds)
        rounds = functions_of(FIGURE)["ROUNDS"]
        for world, times in GAMES:
            tell(f"{world}, {times * rounds:,} rounds of linear losses")
            linear[world, times * rounds] = linear_regrets(world, times * rounds, 10 * seeds)
    means, apart = figure_tables(figure, seeds)
    table, values = linear_table(linear, 10 * seeds), linear_values(linear)
    for one in (means, apart, table):
        screen().print(one.rich())
    if write:
        values |= {"figure": lines_of(means), "differences": lines_of(apart), "linear": lines_of(table)}
        write_numbers("optimism", f"python -m studies optimism --seeds {seeds} --write", values)
