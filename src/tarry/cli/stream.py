"""tarry join stream: a log in the order of time, and the rows that a join gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tarry.cli.console import columns_of, refusing
from tarry.cli.live import EPILOG, as_capacity, join_app, read_value
from tarry.errors import ArgumentError
from tarry.live import LabelJoin
from tarry.live.codec import dump
from tarry.live.logs import DELIVER, DROP
from tarry.planning.columns import read_columns
from tarry.planning.sources import in_file
from tarry.schedulers.named import FREE, free_scheduler
from tarry.times import OF_LABELS, check_unit

ADVICE = "--window 30d --missing 0 gives a decision without a label after 30 days the label 0"


@join_app.command("stream", epilog=EPILOG)
def stream(
    log: Annotated[Path, typer.Argument(help="CSV or Parquet file with a row for each decision.")],
    decided: Annotated[str | None, typer.Option(help="Column of decision times (default: by its name).")] = None,
    labelled: Annotated[
        str | None,
        typer.Option(
            "--labelled",
            "--feedback",
            help="Column of the times of labels, empty where none came (default: by its name).",
        ),
    ] = None,
    label: Annotated[str, typer.Option(help="Column of labels.")] = "label",
    features: Annotated[
        list[str] | None, typer.Option(help="Columns of features: a,b,c, or repeat the option (default: all others).")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="Column of ids (default: decisions are numbered).")] = None,
    size: Annotated[str | None, typer.Option(help="Column of what decisions count for.")] = None,
    capacity: Annotated[int | None, typer.Option(help="Decisions that may wait at once.")] = None,
    unlimited: Annotated[bool, typer.Option("--unlimited", help="Let any number of decisions wait.")] = False,
    window: Annotated[
        str | None, typer.Option(help="How long a decision waits for its label: 30d, 36h, 15min.")
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="The label of decisions that got none in their window: JSON (default: null).")
    ] = None,
    release: Annotated[
        str | None, typer.Option(help="Rows come out at the end of their window (window, the default) or at arrival.")
    ] = None,
    scheduler: Annotated[str, typer.Option(help=f"Who is tracked: {', '.join(FREE)}.")] = "VarOpt",
    deliver: Annotated[bool, typer.Option("--deliver", help="Also labels that come after the last decision.")] = False,
    day_first: Annotated[bool | None, typer.Option("--day-first/--month-first", help="How 9/1/2024 is meant.")] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Print the estimate of the mean label last, as an object 'estimate'.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Of every draw (default: a random one).")] = None,
) -> None:
    """Go through a log in the order of time; print the rows that a join gives.

    Each has three weights: unbiased (weight), over the mean so far (relative), and for steps (tempered).
    """
    with refusing():
        rules: dict[str, Any] = {
            name: value for name, value in (("window", window), ("release", release)) if value is not None
        }
        rules |= {} if missing is None else {"missing": read_value(missing, "--missing")}
        join = LabelJoin(
            as_capacity(capacity, unlimited),
            scheduler=free_scheduler(scheduler),
            rng=seed,
            **rules,
        )
        named = columns_of(features)
        also = None if named is None else [label, *named, *(name for name in (id, size) if name is not None)]
        frame, start, end = read_columns(log, decided, labelled, day_first, also=also, roles=OF_LABELS, label=label)
        if frame[start].dtype.is_temporal():
            check_unit(window)
        if window is None and (waiting := frame[end].null_count()):
            typer.echo(f"{waiting} of {frame.height} decisions have no label, and give no row: {ADVICE}", err=True)
        at_end, unsaid = DELIVER if deliver else DROP, 0
        try:
            columns: dict[str, Any] = {"decided_at": start, "labelled_at": end, "label": label, "id": id, "size": size}
            for row in join.stream(frame, at_end=at_end, **columns):
                unsaid += row.label is None
                typer.echo(json.dumps({**dump(row), "tempered": sum(join.steps(row))}, allow_nan=False))
            if estimate:
                typer.echo(json.dumps({"estimate": dump(join.estimate())}, allow_nan=False))
            if unsaid:
                typer.echo(f"rows whose label is null, since none came: {unsaid}; {ADVICE}", err=True)
        except ArgumentError:
            raise
        except ValueError as error:
            raise ValueError(in_file(str(error), log)) from error
