"""python -m studies: the case studies, the paper's Table 1, and the comparison of schedulers."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from studies.bias import bias_command
from studies.cases import Case, clinical_case, flights_case, queue_case, save_page, save_pictures
from studies.compare import compare_command
from studies.figures import figures_command
from studies.looks import looks_command
from studies.measure import LearnerResult, Scores, quiet
from studies.models import models_command
from studies.numbers import Values, Write, short, write_numbers
from studies.optimism import optimism_command
from studies.plans import plans_command
from studies.shards import shard_command, shards_command
from studies.slots import slots_command
from studies.steps import steps_command
from studies.table1_page import table1_command
from studies.tables import figures_table, findings, others_table
from tarry.checks import as_int
from tarry.cli.console import progress_lines, refusing, screen
from tarry.planning.policies import find_policy

LEAST = 100  # decisions: with fewer there is nothing to see

# Of the picture of what each policy believes.
PICTURED = (
    *("unlimited", "VarOpt", "Priority", "Morris", "Bernoulli (calibrated)"),
    *("drop newest", "reservoir", "drop oldest", "time out"),
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Studies: late labels, real ones among them, and measured theorems.",
)
app.command("table1")(table1_command)
app.command("compare")(compare_command)
app.command("models")(models_command)
app.command("steps")(steps_command)
app.command("looks")(looks_command)
app.command("plans")(plans_command)
app.command("figures")(figures_command)
app.command("bias")(bias_command)
app.command("optimism")(optimism_command)
app.command("slots")(slots_command)
app.command("shards")(shards_command)
app.command("shard")(shard_command)

First = Annotated[int | None, typer.Option(help="Take only the first so many decisions.")]
Slots = Annotated[int | None, typer.Option(help="Slots (default: the case's own).")]
Seeds = Annotated[int, typer.Option(help="Runs of each policy that draws.")]
Rounds = Annotated[int, typer.Option(help="Decisions for the other learners (0: leave them out).")]
Out = Annotated[Path | None, typer.Option(help="Folder for the page.")]
Json = Annotated[Path | None, typer.Option("--json", help="File for all numbers.")]


class Label(StrEnum):
    """What a flight's label is."""

    departure = "departure"
    arrival = "arrival"


class Kind(StrEnum):
    """How pictures are written."""

    svg = "svg"
    png = "png"


@app.command("flights")
def flights_command(
    label: Annotated[Label, typer.Option(help="Delay at take-off, or on landing.")] = Label.departure,
    first: First = None,
    slots: Slots = None,
    seeds: Seeds = 12,
    learners: Rounds = 20_000,
    out: Out = None,
    file: Json = None,
    write: Write = False,
) -> None:
    """How late will this flight be? 2013, New York; told at take-off or landing."""
    others = _run(lambda: flights_case(label.value, first, slots), first, seeds, learners, out, file)
    if write:
        values = Values()
        for one in others:
            told = {"mean": short(one.value.mean), "error": short(one.value.error)}
            values.setdefault(one.learner, {})[one.policy] = told
        write_numbers("flights learners", f"python -m studies flights --learners {learners} --write", values)


@app.command("clinical")
def clinical_command(
    first: First = None,
    slots: Slots = None,
    seeds: Seeds = 100,
    learners: Rounds = 20_000,
    out: Out = None,
    file: Json = None,
) -> None:
    """Does a patient die within a year? Deaths are told at once, survival after the year."""
    _run(lambda: clinical_case(first, slots), first, seeds, learners, out, file)


@app.command("queue")
def queue_command(
    first: First = None,
    slots: Slots = None,
    seeds: Seeds = 24,
    learners: Rounds = 20_000,
    out: Out = None,
    file: Json = None,
) -> None:
    """Will a ticket end in a refund? A few stay open for ever, and few are open at once."""
    _run(lambda: queue_case(first, slots), first, seeds, learners, out, file)


@app.command("pictures")
def pictures_command(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("out") / "pictures",
    first: First = None,
    slots: Slots = None,
    seeds: Seeds = 12,
    kind: Annotated[Kind, typer.Option("--format", help="svg or png.")] = Kind.svg,
) -> None:
    """The three pictures people look at first, of departures: bias, precision, who holds a slot."""
    with refusing(), quiet(), progress_lines("playing") as tell:
        _check(first, seeds, 0)
        case = flights_case(first=first, capacity=slots)
        figures = case.figures(seeds, map(find_policy, PICTURED), tell)
        paths = save_pictures(case.pictures(figures, seeds, tell), out, kind.value)
    for path in paths:
        typer.echo(path)


def _run(
    make: Callable[[], Case], first: int | None, seeds: int, learners: int, out: Path | None, file: Path | None
) -> list[LearnerResult]:
    with refusing(), quiet():
        _check(first, seeds, learners)
        case, console = make(), screen()
        console.print(f"{case.stream.facts}.", highlight=False)
        with progress_lines("playing") as tell:
            figures = case.figures(seeds, tell=tell)
            others = case.others(min(seeds, 6), learners, tell) if learners else []
            pictures = case.pictures(figures, seeds, tell) if out is not None else {}
        console.print(figures_table(case.stream, figures).rich())
        if others:
            console.print(others_table(case.stream, others, learners).rich())
        console.print(f"{case.story}\n\n{findings(case.stream, figures)}", highlight=False)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(_numbers(case, figures, others), indent=1) + "\n", encoding="utf-8")
        if out is not None:
            page = save_page(case, figures, others, pictures, out / "index.html", learners)
            console.print(f"page: {page}", soft_wrap=True)
    return others


def _check(first: int | None, seeds: int, learners: int) -> None:
    if first is not None:
        as_int(first, "first", LEAST)
    as_int(seeds, "seeds", 2)
    if learners != 0 and learners < LEAST:
        raise ValueError(f"--learners must be 0, to leave them out, or at least {LEAST}, got {learners}")


def _numbers(case: Case, figures: list[Scores], others: list[LearnerResult]) -> dict[str, Any]:
    stream, delays = case.stream, case.stream.delays
    return {
        "case": stream.name,
        "decisions": stream.horizon,
        "total_delay": delays.total_delay,
        "max_backlog": delays.max_backlog,
        "max_delay": delays.max_delay,
        "unit": stream.unit,
        "mean": stream.mean,
        "best_error": stream.best_error,
        "policies": [_plain(one) for one in figures],
        "other_learners": [_plain(one) for one in others],
    }


def _plain(row: Any) -> dict[str, Any]:
    return {name: value._asdict() if hasattr(value, "_asdict") else value for name, value in row._asdict().items()}


if __name__ == "__main__":
    app(prog_name="python -m studies")
