"""tarry case: which policy to take on one's own log, for a model and for a rate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tarry.cases import MODELS, compare_log
from tarry.cases.compare import SHARE
from tarry.cli.console import Format, FormatOption, columns_of, progress_lines, refusing, screen, telling_of_compiling
from tarry.errors import ArgumentError
from tarry.reports.cases import case_table, save_case


def case_command(
    log: Annotated[Path, typer.Argument(help="CSV or Parquet file: a row for each decision.")],
    label: Annotated[str, typer.Option(help="Column of labels, numbers.")],
    decided: Annotated[str | None, typer.Option(help="Column of decision times (default: by its name).")] = None,
    labelled: Annotated[
        str | None,
        typer.Option("--labelled", "--feedback", help="Column of label times, empty for never (default: by its name)."),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of features: a,b,c, or repeat it (default: all others but those that name their rows)."
        ),
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="Column of ids, which is no feature.")] = None,
    window: Annotated[
        str | None, typer.Option(help="How long a label is waited for: 30d, 36h; seconds where times are numbers.")
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            help="The label of a decision without one when its window ends (0). Without --window: refuse, drop or end."
        ),
    ] = None,
    day_first: Annotated[
        bool | None, typer.Option("--day-first/--month-first", help="How 9/1/2024 is meant, where no day tells.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option(help=f"{', '.join(MODELS)} (repeat the option).")] = None,
    capacity: Annotated[
        list[str] | None, typer.Option(help="Slots, or a share of the mean backlog (default: 15%).")
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Runs of each policy that draws.")] = 20,
    page: Annotated[Path | None, typer.Option(help="Write a page (.html).")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    output: FormatOption = Format.table,
) -> None:
    with refusing():
        if page is not None and page.suffix.lower() != ".html":
            raise ValueError(f"a page is written as .html, got {page.name!r}")
        if capacity and len(capacity) > 1:
            raise ArgumentError("capacity", "is given more than once", ", ".join(capacity), "run a case for each")
        named = columns_of(features)
        with progress_lines("streaming") as tell, telling_of_compiling(tell):
            made = compare_log(
                log,
                decided=decided,
                labelled=labelled,
                label=label,
                features=named,
                id=id,
                window=window,
                missing=missing,
                day_first=day_first,
                models=tuple(model or ("river",)),
                capacity=capacity[0] if capacity else SHARE,
                seeds=seeds,
                tell=tell,
            )
        told = json.dumps(made.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        if json_file is not None:
            json_file.parent.mkdir(parents=True, exist_ok=True)
            json_file.write_text(told + "\n", encoding="utf-8")
        if output is Format.json:
            typer.echo(told)
        else:
            console = screen()
            console.print(made.facts, highlight=False)
            console.print(case_table(made).rich())
            for part in made.advice:
                console.print(part, style="bold", highlight=False)
        if page is not None:
            typer.echo(f"page: {save_case(made, page)}", err=True)
