"""tarry join: late labels joined with their decisions, from the shell or any language."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tarry.cli.console import Format
from tarry.cli.stored import (
    DEFAULT_STORE,
    EPILOG,
    NUMBERS,
    DurabilityOption,
    FormatOption,
    NameOption,
    StoreOption,
    add_shared,
    answering,
    as_store,
    as_value,
    column,
    end,
    id_reader,
    ids_of,
    read_lines,
    show_lines,
    show_one,
)
from tarry.live import LabelJoin, Outcome, Ticket
from tarry.live.labels import UNSAID
from tarry.live.stores import MAIN, POWER, without_password
from tarry.planning.policies import FREE, free_scheduler
from tarry.players.recommended import choose_scheduler

join_app = typer.Typer(
    no_args_is_help=True, help="Late labels joined with their decisions: a join kept in a store.", epilog=EPILOG
)


@join_app.command("new", epilog=EPILOG)
def new(
    capacity: Annotated[int | None, typer.Option(help="Decisions that may wait at once (default: no limit).")] = None,
    labels: Annotated[str, typer.Option(help="Several labels for a decision: first, last, sum or all.")] = "first",
    information: Annotated[
        str, typer.Option(help="clairvoyant, semi-clairvoyant or non-clairvoyant.")
    ] = "non-clairvoyant",
    preemption: Annotated[bool, typer.Option(help="Whether a tracked decision may be dropped again.")] = True,
    scheduler: Annotated[
        str | None, typer.Option(help=f"Who is tracked: {', '.join(FREE)} (default: as recommended).")
    ] = None,
    backlog: Annotated[int | None, typer.Option(help="Without preemption: a guess of the backlog.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of every draw (default: a random one).")] = None,
    memory: Annotated[int, typer.Option(help="Decisions whose fates are remembered.")] = 1_000_000,
    store: StoreOption = DEFAULT_STORE,
    name: NameOption = MAIN,
    durability: DurabilityOption = POWER,
    output: FormatOption = None,
) -> None:
    """Make a join, or find that the same one is there."""
    with answering():
        chosen = (
            choose_scheduler(capacity, backlog, preemption=preemption)
            if scheduler is None
            else free_scheduler(scheduler)
        )
        rules: dict[str, Any] = {"information": information, "preemption": preemption, "labels": labels}
        where: dict[str, Any] = {"store": as_store(store), "name": name}
        with LabelJoin(
            capacity, scheduler=chosen, **rules, **where, durability=durability, rng=seed, memory=memory
        ) as join:
            told = {"store": without_password(store), "name": name} | {
                "scheduler": type(chosen).__name__,
                "capacity": capacity,
                **rules,
            }
            told |= {"memory": memory, "rounds": join.status().rounds}
        show_one(told, {key: str(value) for key, value in told.items()}, output)


@join_app.command("decide", epilog=EPILOG, context_settings=NUMBERS)
def decide(
    features: Annotated[str | None, typer.Argument(help="Kept while tracked: JSON, or - for standard input.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="An id of your own (default: a number).")] = None,
    delay: Annotated[int | None, typer.Option(help="In the clairvoyant model: when the label will come.")] = None,
    many: Annotated[
        bool, typer.Option("--many", help="Read JSON lines with features, id and delay, in one transaction.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    name: NameOption = MAIN,
    durability: DurabilityOption = POWER,
    output: FormatOption = None,
) -> None:
    """Register a decision; print id, tracked and released."""
    with answering():
        if many and not (features is None and id is None and delay is None):
            raise ValueError("--many reads features, ids and delays from standard input: leave the others out")
        with LabelJoin.open(as_store(store), name=name, durability=durability) as join:
            if many:
                tickets = _decide_lines(join)
            else:
                given = None if features is None else as_value(features, "features")
                tickets = [join.decide(given, None if id is None else id_reader(join)(id), delay=delay)]
        show_lines((ticket._asdict() for ticket in tickets), output)


def _decide_lines(join: LabelJoin) -> list[Ticket]:
    rows = read_lines(("id", "features", "delay"))
    ids, features, delays = ([row.get(name) for row in rows] for name in ("id", "features", "delay"))
    return join.decide_many(features, ids=None if all(id is None for id in ids) else ids, delays=delays)


@join_app.command("label", epilog=EPILOG, context_settings=NUMBERS)
def label(
    id: Annotated[str | None, typer.Argument(help="The decision's id.")] = None,
    label: Annotated[str | None, typer.Argument(help="Its label: JSON, or - for standard input.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Where labels gather: a name of this label, under which it counts once.")
    ] = None,
    many: Annotated[
        bool, typer.Option("--many", help="Read JSON lines with id, label and key, in one transaction.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    name: NameOption = MAIN,
    durability: DurabilityOption = POWER,
    output: FormatOption = None,
) -> None:
    """Hand over a label; print id, fate, row (features, label, weight; null: not tracked, or gathered) and answer."""
    with answering():
        if many != (id is None) or many != (label is None) or (many and key is not None):
            raise ValueError("give an id and its label, or --many with JSON lines on standard input")
        with LabelJoin.open(as_store(store), name=name, durability=durability) as join:
            if many:
                lines = read_lines(("id", "label", "key"))
                ids, labels, keys = column(lines, "id"), column(lines, "label"), [line.get("key") for line in lines]
            else:
                ids, labels, keys = [id_reader(join)(str(id))], [as_value(str(label), "the label")], [key]
            outcomes = join.label_many(ids, labels, keys=keys)
        _show(outcomes, output)


@join_app.command("finish", epilog=EPILOG)
def finish(
    ids: Annotated[list[str], typer.Argument(help="Ids, or - for JSON lines of them.")],
    missing: Annotated[
        str | None, typer.Option(help="The label of decisions that got none: JSON (default: 0 of a sum, [] of all).")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    name: NameOption = MAIN,
    durability: DurabilityOption = POWER,
    output: FormatOption = None,
) -> None:
    """The windows of these decisions have ended: print their rows, with the labels gathered."""
    with answering():
        instead = UNSAID if missing is None else as_value(missing, "--missing")
        with LabelJoin.open(as_store(store), name=name, durability=durability) as join:
            outcomes = join.finish_many(ids_of(join, ids), instead)
        _show(outcomes, output)


@join_app.command("estimate", epilog=EPILOG)
def estimate(
    level: Annotated[float, typer.Option(help="Confidence of the interval.")] = 0.95,
    store: StoreOption = DEFAULT_STORE,
    name: NameOption = MAIN,
    output: FormatOption = None,
) -> None:
    """Print the mean label with a confidence interval, and the naive mean of those seen."""
    with answering(), LabelJoin.open(as_store(store), name=name) as join:
        found = join.estimate(level)
        show_one(found, found.rows(), output)


def _show(outcomes: list[Outcome], output: Format | None) -> None:
    show_lines((one._asdict() for one in outcomes), output)
    end(one.fate for one in outcomes)


add_shared(join_app, LabelJoin)
