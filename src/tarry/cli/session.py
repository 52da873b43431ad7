"""tarry session: decide now, learn later, from the shell or any language."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from tarry.cli.stored import (
    DEFAULT_STORE,
    EPILOG,
    NUMBERS,
    STANDARD_INPUT,
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
    read_lines,
    show_lines,
    show_one,
    show_receipts,
)
from tarry.domains import Ball, Box, Simplex
from tarry.learners import DWFTBL, DWFTRL
from tarry.live import Receipts, Round, Rounds, Session
from tarry.live.stores import MAIN, POWER, without_password
from tarry.players import recommended
from tarry.players.recommended import choose_scheduler
from tarry.results import Answer
from tarry.tracking import Player

DOMAINS = ("ball", "box", "simplex")
FEEDBACK = ("gradient", "value")

session_app = typer.Typer(
    no_args_is_help=True, help="Decide now, learn later: a session kept in a store.", epilog=EPILOG
)


@session_app.command("new", epilog=EPILOG)
def new(
    domain: Annotated[str, typer.Option(help=f"Where plays lie: {', '.join(DOMAINS)}.")] = "ball",
    dimension: Annotated[int | None, typer.Option(help="Entries of a play.")] = None,
    radius: Annotated[float, typer.Option(help="Of the ball.")] = 1.0,
    lower: Annotated[str | None, typer.Option(help="Of the box: a number, or one for every entry.")] = None,
    upper: Annotated[str | None, typer.Option(help="Of the box: a number, or one for every entry.")] = None,
    scale: Annotated[float, typer.Option(help="Sum of the entries on the simplex.")] = 1.0,
    capacity: Annotated[int | None, typer.Option(help="Slots, C (default: no limit).")] = None,
    feedback: Annotated[str, typer.Option(help="What will be told: gradient or value.")] = "gradient",
    strong_convexity: Annotated[float | None, typer.Option(help="λ, for strongly convex losses.")] = None,
    gradient_bound: Annotated[float | None, typer.Option(help="Largest norm of a gradient, G.")] = None,
    value_bound: Annotated[float | None, typer.Option(help="Largest |loss|, M, for bandit feedback.")] = None,
    rate: Annotated[float | None, typer.Option(help="Instead of a recommendation: this constant rate.")] = None,
    smoothing: Annotated[float | None, typer.Option(help="With --rate and --feedback value: the radius δ.")] = None,
    information: Annotated[
        str, typer.Option(help="clairvoyant, semi-clairvoyant or non-clairvoyant.")
    ] = "non-clairvoyant",
    preemption: Annotated[bool, typer.Option(help="Whether a tracked round may be dropped again.")] = True,
    backlog: Annotated[int | None, typer.Option(help="Without preemption: a guess of the backlog.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of every draw (default: a random one).")] = None,
    memory: Annotated[int, typer.Option(help="Rounds whose fates are remembered.")] = 1_000_000,
    store: StoreOption = DEFAULT_STORE,
    name: NameOption = MAIN,
    durability: DurabilityOption = POWER,
    output: FormatOption = None,
) -> None:
    """Make a session, or find that the same one is there; print the player that was chosen."""
    with answering():
        place = _make_domain(domain, dimension, radius=radius, lower=lower, upper=upper, scale=scale)
        known = {
            "feedback": feedback,
            "information": information,
            "preemption": preemption,
            "strong_convexity": strong_convexity,
            "gradient_bound": gradient_bound,
            "value_bound": value_bound,
            "backlog": backlog,
            "capacity": capacity,
        }
        chosen = _choose_recommended(place, known) if rate is None else _choose_rate(place, rate, smoothing, known)
        rules: dict[str, Any] = {"capacity": capacity, "information": information, "preemption": preemption}
        where: dict[str, Any] = {"store": as_store(store), "name": name}
        bounds: dict[str, Any] = {"gradient_bound": gradient_bound, "value_bound": value_bound}
        with Session(
            chosen.player, **rules, **bounds, **where, durability=durability, rng=seed, memory=memory
        ) as session:
            told = {"store": without_password(store), "name": name} | {
                "learner": type(chosen.player.learner).__name__,
                "scheduler": type(chosen.player.scheduler).__name__,
                "reason": chosen.reason,
                "is_proved": chosen.is_proved,
                **rules,
                **bounds,
                "memory": memory,
                "rounds": session.status().rounds,
            }
        show_one(told, {key: str(value) for key, value in told.items()}, output)


class _Choice(NamedTuple):
    """A player, why it is this one, and whether a regret bound is proved for it."""

    player: Player
    reason: str
    is_proved: bool


def _make_domain(
    kind: str, dimension: int | None, *, radius: float, lower: str | None, upper: str | None, scale: float
) -> Any:
    """Return the domain of this kind."""
    if kind == "box":
        if lower is None or upper is None:
            raise ValueError("a box needs --lower and --upper: a number each, or one for every entry, as in 0,0,-1")
        low, high = _numbers(lower, "--lower", dimension), _numbers(upper, "--upper", dimension)
        return Box(low, high)
    if kind not in DOMAINS:
        raise ValueError(f"--domain must be one of {', '.join(DOMAINS)}, got {kind!r}")
    if dimension is None:
        raise ValueError(f"a {kind} needs --dimension")
    return Ball(dimension, radius) if kind == "ball" else Simplex(dimension, scale)


def _choose_recommended(domain: Any, known: dict[str, Any]) -> _Choice:
    """Return what ``tarry.players.recommended`` says for the constants that are known."""
    given = {name: value for name, value in known.items() if value is not None}
    found = recommended(domain, **given | {"capacity": known["capacity"]})
    return _Choice(found.player, found.reason, found.is_proved)


def _choose_rate(domain: Any, rate: float, smoothing: float | None, known: dict[str, Any]) -> _Choice:
    """Return a learner with the caller's own rate."""
    if known["feedback"] not in FEEDBACK:
        raise ValueError(f"--feedback must be gradient or value, got {known['feedback']!r}")
    if known["feedback"] == "value":
        if smoothing is None:
            raise ValueError("a bandit learner with a rate of yours also needs --smoothing")
        learner: Any = DWFTBL(domain, rate, smoothing)
    else:
        learner = DWFTRL(domain, rate)
    scheduler = choose_scheduler(known["capacity"], known["backlog"], preemption=known["preemption"])
    return _Choice(Player(learner, scheduler), f"the constant rate {rate} you gave; no bound is claimed for it", False)


def _numbers(text: str, name: str, dimension: int | None) -> float | np.ndarray:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} must be numbers with commas between them, got {text!r}") from None
    if len(numbers) == 1:
        return numbers[0] if dimension is None else np.full(dimension, numbers[0])
    if dimension not in (None, len(numbers)):
        raise ValueError(f"{name} has {len(numbers)} entries, --dimension is {dimension}")
    return np.array(numbers)


@session_app.command("ask", epilog=EPILOG)
def ask(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of your own, or - for JSON lines with id and delay.")
    ] = None,
    count: Annotated[int | None, typer.Option(min=0, help="Rounds to begin, in one transaction.")] = None,
    delay: Annotated[int | None, typer.Option(help="In the clairvoyant model: when feedback will come.")] = None,
    store: StoreOption = DEFAULT_STORE,
    name: NameOption = MAIN,
    durability: DurabilityOption = POWER,
    output: FormatOption = None,
) -> None:
    """Begin a round, or several in one transaction; print id, play, tracked, released and status."""
    with answering():
        if ids and count is not None:
            raise ValueError("give ids or --count, and not both")
        with Session.open(as_store(store), name=name, durability=durability) as session:
            asked = _ask(session, ids or [], 1 if count is None else count, delay)
        plays = [
            None if status is Answer.LATE else play for play, status in zip(asked.plays, asked.statuses, strict=True)
        ]
        columns = zip(asked.ids, plays, asked.tracked.tolist(), asked.released_by, asked.statuses, strict=True)
        show_lines((Round(*row)._asdict() for row in columns), output)
        end(asked.statuses)


def _ask(session: Session, texts: list[str], count: int, delay: int | None) -> Rounds:
    if texts == [STANDARD_INPUT]:
        rows = read_lines(("id", "delay"))
        return session.ask_many(ids=[row.get("id") for row in rows], delays=[row.get("delay", delay) for row in rows])
    if texts:
        return session.ask_many(ids=map(id_reader(session), texts), delays=[delay] * len(texts))
    return session.ask_many(count, delays=[delay] * count)


@session_app.command("tell", epilog=EPILOG, context_settings=NUMBERS)
def tell(
    id: Annotated[str | None, typer.Argument(help="The round's id.")] = None,
    feedback: Annotated[
        str | None, typer.Argument(help="Its gradient, as [0.5, -1], or value; - for standard input.")
    ] = None,
    many: Annotated[
        bool, typer.Option("--many", help="Read JSON lines with id and gradient or value, in one transaction.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    name: NameOption = MAIN,
    durability: DurabilityOption = POWER,
    output: FormatOption = None,
) -> None:
    """Hand over feedback; print id, status and weight."""
    with answering():
        if many != (id is None) or (feedback is None) != many:
            raise ValueError("give an id and its feedback, or --many with JSON lines on standard input")
        with Session.open(as_store(store), name=name, durability=durability) as session:
            told = _tell_lines(session) if many else _tell(session, str(id), str(feedback))
        show_receipts(told, output)


def _tell(session: Session, text: str, feedback: str) -> Receipts:
    id, kind = id_reader(session)(text), session.player.learner.feedback
    status, weight = session.tell(id, **{kind: as_value(feedback, f"the {kind}")})
    return Receipts([id], [status], np.array([weight]))


def _tell_lines(session: Session) -> Receipts:
    kind = session.player.learner.feedback
    rows = read_lines(("id", kind))
    return session.tell_many(column(rows, "id"), **{f"{kind}s": column(rows, kind)})


add_shared(session_app, Session)
