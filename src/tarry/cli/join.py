"""tarry join: late labels joined with their decisions, from the shell or any language."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tarry.cli import stored
from tarry.cli.console import columns_of, refusing
from tarry.cli.own import has_member, make_member, member_of
from tarry.cli.stored import EPILOG, NUMBERS, Line, Sheet, as_ids, column, read_ids, read_lines, read_value
from tarry.errors import ArgumentError
from tarry.live import LabelJoin
from tarry.live.labels import UNSAID
from tarry.live.logs import DELIVER, DROP
from tarry.live.plain import plain
from tarry.live.status import ALL
from tarry.planning.columns import read_columns
from tarry.planning.policies import name_of
from tarry.planning.sources import in_file
from tarry.players.recommended import choose_for_join
from tarry.schedulers.named import FREE, free_scheduler
from tarry.times import OF_LABELS, check_unit

ADVICE = "--window 30d --missing 0 gives a decision without a label after 30 days the label 0"
join_app = typer.Typer(no_args_is_help=True, epilog=EPILOG)
command = partial(stored.live_command, join_app)
CapacityOption = Annotated[int | None, typer.Option(help="Decisions that may wait at once.")]
UnlimitedOption = Annotated[bool, typer.Option("--unlimited", help="Let any number of decisions wait.")]


def as_capacity(capacity: int | None, unlimited: bool) -> int | None:
    """Return the capacity, None for no limit; exactly one of the two must be said."""
    if unlimited == (capacity is not None):
        raise ValueError("give --capacity N, the decisions that may wait at once, or --unlimited: one of the two")
    return capacity


WindowOption = Annotated[str | None, typer.Option(help="How long a decision waits for its label: 30d, 36h, 15min.")]
MissingOption = Annotated[
    str | None, typer.Option(help="The label of decisions that got none in their window: JSON (default: null).")
]
ReleaseOption = Annotated[
    str | None, typer.Option(help="Rows come out at the end of their window (window, the default) or at arrival.")
]
_MOMENT = "seconds since 1970, or a date as in 2026-01-31T12:00 (default: now)"
AtOption = Annotated[str | None, typer.Option(help=f"With windows, when it happened: {_MOMENT}.")]
NowOption = Annotated[str | None, typer.Option("--now", help=f"The moment: {_MOMENT}.")]


def window_rules(window: str | None, missing: str | None, release: str | None) -> dict[str, Any]:
    """Return what was said about windows, as a join takes it; what was not said is not there."""
    label = {} if missing is None else {"missing": read_value(missing, "--missing")}
    said = {"window": window, "release": release}
    return {name: value for name, value in said.items() if value is not None} | label


def moments(lines: list[Line]) -> list[Any] | None:
    """Return the moment of each line, or None where no line has one."""
    found = [line.get("at") for line in lines]
    return found if any(at is not None for at in found) else None


@command("new")
def new(
    where: dict[str, Any],
    capacity: CapacityOption = None,
    unlimited: UnlimitedOption = False,
    labels: Annotated[str, typer.Option(help="Several labels for a decision: first, last, sum or all.")] = "first",
    window: WindowOption = None,
    missing: MissingOption = None,
    release: ReleaseOption = None,
    outbox: Annotated[bool, typer.Option("--outbox", help="Keep rows until ack: rows hands them out again.")] = False,
    information: stored.InformationOption = "non-clairvoyant",
    preemption: Annotated[bool, typer.Option(help="Whether a tracked decision may be dropped again.")] = True,
    scheduler: Annotated[
        str | None, typer.Option(help=f"Who is tracked: {', '.join(FREE)} (default: as recommended).")
    ] = None,
    backlog: stored.BacklogOption = None,
    seed: stored.SeedOption = None,
    memory: Annotated[int, typer.Option(help="Decisions whose fates are remembered.")] = 1_000_000,
    shards: Annotated[int, typer.Option(min=1, help="Parts with a lock each, in PostgreSQL; decisions need ids.")] = 1,
) -> Line:
    """Make a join, or find that the same one is there."""
    mine, capacity = where.pop("own"), as_capacity(capacity, unlimited)
    if scheduler is None:
        chosen = choose_for_join(capacity, backlog, preemption=preemption, shards=shards)
    elif has_member("scheduler", scheduler, mine):
        chosen = make_member("scheduler", member_of("scheduler", scheduler, mine), capacity=capacity)
    else:
        chosen = free_scheduler(scheduler)
    rules: dict[str, Any] = {"information": information, "preemption": preemption, "labels": labels, "memory": memory}
    rules |= window_rules(window, missing, release) | ({"outbox": True} if outbox else {})
    rules |= {"shards": shards} if shards > 1 else {}
    with LabelJoin(capacity, scheduler=chosen, rng=seed, **rules, **where) as join:
        rounds = join.status().rounds
    return {"scheduler": name_of(chosen), "capacity": capacity, **rules, "rounds": rounds}


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
    capacity: CapacityOption = None,
    unlimited: UnlimitedOption = False,
    window: WindowOption = None,
    missing: MissingOption = None,
    release: ReleaseOption = None,
    scheduler: Annotated[str, typer.Option(help=f"Who is tracked: {', '.join(FREE)}.")] = "VarOpt",
    deliver: Annotated[bool, typer.Option("--deliver", help="Also labels that come after the last decision.")] = False,
    day_first: Annotated[bool | None, typer.Option("--day-first/--month-first", help="How 9/1/2024 is meant.")] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Print the estimate of the mean label last, as an object 'estimate'.")
    ] = False,
    seed: stored.SeedOption = None,
) -> None:
    """Go through a log in the order of time; print the rows that a join gives.

    Each has three weights: unbiased (weight), over the mean so far (relative), and for steps (tempered).
    """
    with refusing():
        join = LabelJoin(
            as_capacity(capacity, unlimited),
            scheduler=free_scheduler(scheduler),
            rng=seed,
            **window_rules(window, missing, release),
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
                typer.echo(json.dumps({**plain(row), "tempered": sum(join.steps(row))}, allow_nan=False))
            if estimate:
                typer.echo(json.dumps({"estimate": plain(join.estimate())}, allow_nan=False))
            if unsaid:
                typer.echo(f"rows whose label is null, since none came: {unsaid}; {ADVICE}", err=True)
        except ArgumentError:
            raise
        except ValueError as error:
            raise ValueError(in_file(str(error), log)) from error


@command("resize", LabelJoin)
def resize(
    join: LabelJoin,
    capacity: CapacityOption = None,
    unlimited: UnlimitedOption = False,
    memory: Annotated[int | None, typer.Option(help="Decisions whose fates are remembered, from now on.")] = None,
    window: WindowOption = None,
) -> Line:
    """Change a join while decisions wait; print the ids that have lost their slots and need no label any more."""
    said = {"memory": memory, "window": window}
    changes: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    if capacity is not None or unlimited:
        changes["capacity"] = as_capacity(capacity, unlimited)
    return {**changes, "released": join.resize(**changes)}


@command("rebalance", LabelJoin)
def rebalance(join: LabelJoin) -> Line:
    """Divide the capacity among shards by their loads; print the ids that lost slots, and the slots of each shard."""
    released = join.rebalance()
    return {"released": released, "capacities": [load.capacity for load in join.status().shards or ()]}


@command("decide", LabelJoin, context_settings=NUMBERS)
def decide(
    join: LabelJoin,
    features: Annotated[str | None, typer.Argument(help="Kept while tracked: JSON, or - for standard input.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="An id of your own (default: a number).")] = None,
    delay: Annotated[int | None, typer.Option(help="In the clairvoyant model: when the label will come.")] = None,
    size: stored.SizeOption = None,
    at: AtOption = None,
    many: Annotated[
        bool, typer.Option("--many", help="Read JSON lines with features, id, delay, size and at, in one transaction.")
    ] = False,
) -> list[Line]:
    """Register a decision; print id, tracked and released."""
    if not many:
        given = None if features is None else read_value(features, "features")
        (name,) = [None] if id is None else as_ids(join, [id])
        return [join.decide(given, name, delay=delay, size=size, at=at)._asdict()]
    if not (features is None and id is None and delay is None and size is None and at is None):
        raise ValueError("--many reads features, ids, delays and sizes from standard input: leave the others out")
    rows = read_lines("id", "features", "delay", "size", "at")
    ids, kept, delays, sizes = ([row.get(name) for row in rows] for name in ("id", "features", "delay", "size"))
    # Without any id decisions are numbered; with some, the join refuses those that have none.
    names = None if all(id is None for id in ids) else ids
    tickets = join.decide_many(kept, ids=names, delays=delays, sizes=sizes, at=moments(rows))
    return [ticket._asdict() for ticket in tickets]


@command("label", LabelJoin, context_settings=NUMBERS)
def label(
    join: LabelJoin,
    id: Annotated[str | None, typer.Argument(help="The decision's id.")] = None,
    label: Annotated[str | None, typer.Argument(help="Its label: JSON, or - for standard input.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Where labels gather: a name of this label, under which it counts once.")
    ] = None,
    at: AtOption = None,
    many: Annotated[
        bool, typer.Option("--many", help="Read JSON lines with id, label, key and at, in one transaction.")
    ] = False,
) -> list[Line]:
    """Hand over a label; print id, fate, row (features, label, weight; null: not tracked, or gathered) and answer."""
    if many != (id is None) or many != (label is None) or (many and (key is not None or at is not None)):
        raise ValueError("give an id and its label, or --many with JSON lines on standard input")
    if not many:
        ids, labels = as_ids(join, [str(id)]), [read_value(str(label), "the label")]
        return [one._asdict() for one in join.label_many(ids, labels, keys=[key], at=at)]
    lines = read_lines("id", "label", "key", "at")
    keys = [line.get("key") for line in lines]
    told = join.label_many(column(lines, "id"), column(lines, "label"), keys=keys, at=moments(lines))
    return [one._asdict() for one in told]


@command("finish", LabelJoin)
def finish(
    join: LabelJoin,
    ids: stored.IdsArgument,
    missing: Annotated[
        str | None, typer.Option(help="The label of decisions that got none: JSON (default: 0 of a sum, [] of all).")
    ] = None,
) -> list[Line]:
    """The windows of these decisions have ended: print their rows, with the labels gathered."""
    # Nothing said is not null, which is a label.
    instead = UNSAID if missing is None else read_value(missing, "--missing")
    return [one._asdict() for one in join.finish_many(read_ids(join, ids), instead)]


@command("advance", LabelJoin)
def advance(join: LabelJoin, now: NowOption = None) -> list[Line]:
    """Print the rows of decisions whose windows have ended, with the missing label where none came."""
    return [row._asdict() for row in join.advance(now)]


@command("due", LabelJoin, stored.LOOKS)
def due(join: LabelJoin, now: NowOption = None) -> list[Line]:
    """Print the ids of decisions whose windows have ended; advance ends them."""
    return [{"id": id} for id in join.due(now)]


@command("rows", LabelJoin, stored.LOOKS)
def rows(
    join: LabelJoin,
    after: Annotated[
        list[int] | None, typer.Option(help="The number of the last row you have (default: acknowledged).")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many.")] = None,
) -> list[Line]:
    """Print the rows of the outbox by number: those given out and not acknowledged."""
    return [row._asdict() for row in join.rows(after, limit)]


@command("ack", LabelJoin)
def ack(
    join: LabelJoin, number: Annotated[list[int], typer.Argument(help="Rows up to this number are yours now.")]
) -> Line:
    """Let go of all rows of the outbox up to a number, or several where there are shards; print how many are left."""
    return {"acknowledged": number[0] if len(number) == 1 else number, "left": join.ack(number)}


@command("estimate", LabelJoin, stored.LOOKS)
def estimate(
    join: LabelJoin,
    level: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    low: Annotated[float, typer.Option(help="The smallest that any label may be, for each unit of size.")] = 0.0,
    high: Annotated[float, typer.Option(help="The largest that any label may be, for each unit of size.")] = 1.0,
    among: Annotated[str, typer.Option(help="Decisions it is about: all, or those labelled by now.")] = ALL,
) -> Sheet:
    """Print the mean label of all decisions with intervals that allow for what is awaited, and that of those seen."""
    found = join.estimate(level, low=low, high=high, among=among)
    return Sheet(found, found.rows())


stored.add_shared(join_app, LabelJoin)
