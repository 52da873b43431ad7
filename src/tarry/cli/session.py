"""tarry session: decide now, learn later, from the shell or any language."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

from tarry.cli import stored
from tarry.cli.own import has_member, make_member, member_of
from tarry.cli.stored import EPILOG, NUMBERS, STANDARD_INPUT, Line, as_ids, column, read_lines, read_value
from tarry.live import Receipts, Session
from tarry.live.session import rounds_of
from tarry.players.described import DOMAINS, describe_player, make_domain
from tarry.players.recommended import Recommendation, choose_scheduler
from tarry.schedulers.named import free_scheduler, is_free
from tarry.tracking import Player
from tarry.tracking.tally import as_size

session_app = typer.Typer(no_args_is_help=True, epilog=EPILOG)
command = partial(stored.live_command, session_app)


@command("new")
def new(
    where: dict[str, Any],
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
    learner: Annotated[
        str | None, typer.Option(help="Or this learner, as in a sweep: a name, or '{ type = \"OGD\", rate = 0.1 }'.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="With --rate or --learner: this scheduler (default: as recommended).")
    ] = None,
    smoothing: Annotated[float | None, typer.Option(help="With --rate and --feedback value: the radius δ.")] = None,
    information: stored.InformationOption = "non-clairvoyant",
    preemption: Annotated[bool, typer.Option(help="Whether a tracked round may be dropped again.")] = True,
    backlog: stored.BacklogOption = None,
    seed: stored.SeedOption = None,
    memory: Annotated[int, typer.Option(help="Rounds whose fates are remembered.")] = 1_000_000,
) -> Line:
    """Make a session, or find that the same one is there; print the player that was chosen."""
    ends = {name: _numbers(text, name) for name, text in (("lower", lower), ("upper", upper)) if text is not None}
    place = make_domain(domain, dimension, radius=radius, scale=scale, mark="--", **ends)
    rules: dict[str, Any] = {"capacity": capacity, "information": information, "preemption": preemption}
    bounds: dict[str, Any] = {"gradient_bound": gradient_bound, "value_bound": value_bound}
    mine = where.pop("own")
    facts = {name: getattr(place, name) for name in ("dimension", "diameter", "inner_radius", "outer_radius")}
    facts |= {"domain": place, "capacity": capacity, "strong_convexity": strong_convexity, **bounds}
    # Who is tracked is chosen as it is recommended, unless the caller says.
    if scheduler is None:
        tracking = choose_scheduler(capacity, backlog, preemption=preemption)
    elif not has_member("scheduler", scheduler, mine) and is_free(scheduler):
        tracking = free_scheduler(scheduler)
    else:
        tracking = make_member("scheduler", member_of("scheduler", scheduler, mine), **facts)
    if learner is not None:
        made = make_member("learner", member_of("learner", learner, mine), **facts)
        chosen = Recommendation(Player(made, tracking), "the learner you gave; no bound is claimed for it", False)
    else:
        if rate is None and scheduler is not None:
            raise ValueError("--scheduler stands beside --rate or --learner: a recommendation chooses its own")
        known: dict[str, Any] = {"strong_convexity": strong_convexity, "backlog": backlog, **rules, **bounds}
        constant: dict[str, Any] = {"rate": rate, "smoothing": smoothing, "feedback": feedback, "mark": "--"}
        chosen = describe_player(place, tracking, **constant, **known)
    # Opens the session where the same one is there already, and refuses another one.
    with Session(chosen.player, **rules, **bounds, **where, rng=seed, memory=memory) as session:
        rounds = session.status().rounds
    return {
        "learner": type(chosen.learner).__name__,
        "scheduler": type(chosen.scheduler).__name__,
        "reason": chosen.reason,
        "is_proved": chosen.is_proved,
        **rules,
        **bounds,
        "memory": memory,
        "rounds": rounds,
    }


def _numbers(text: str, name: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--{name} must be numbers with commas between them, got {text!r}") from None


@command("ask", Session)
def ask(
    session: Session,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of your own, or - for JSON lines with id, delay and size.")
    ] = None,
    count: Annotated[int | None, typer.Option(min=0, help="Rounds to begin, in one transaction.")] = None,
    delay: Annotated[int | None, typer.Option(help="In the clairvoyant model: when feedback will come.")] = None,
    size: stored.SizeOption = None,
) -> list[Line]:
    """Begin a round, or several in one transaction; print id, play, tracked, released and status."""
    if ids and count is not None:
        raise ValueError("give ids or --count, and not both")
    if size is not None:
        as_size(size)  # of all of them: no row is to blame
    if ids == [STANDARD_INPUT]:  # lines may have delays of their own
        rows = read_lines("id", "delay", "size")
        names: dict[str, Any] = {"ids": [row.get("id") for row in rows]}
    else:
        names = {"ids": as_ids(session, ids)} if ids else {"rounds": 1 if count is None else count}
        rows = [{}] * (len(ids) if ids else names["rounds"])
    shared = {"delay": delay, "size": size}
    delays, sizes = ([row.get(name, value) for row in rows] for name, value in shared.items())
    asked = session.ask_many(**names, delays=delays, sizes=sizes)
    return [one._asdict() for one in rounds_of(asked)]


@command("tell", Session, context_settings=NUMBERS)
def tell(
    session: Session,
    id: Annotated[str | None, typer.Argument(help="The round's id.")] = None,
    feedback: Annotated[
        str | None, typer.Argument(help="Its gradient, as [0.5, -1], or value; - for standard input.")
    ] = None,
    many: Annotated[
        bool, typer.Option("--many", help="Read JSON lines with id and gradient or value, in one transaction.")
    ] = False,
) -> list[Line]:
    """Hand over feedback; print id, status and weight."""
    if many != (id is None) or many != (feedback is None):
        raise ValueError("give an id and its feedback, or --many with JSON lines on standard input")
    kind = session.player.learner.feedback  # also the name of the argument, and of the field in a line
    if many:
        rows = read_lines("id", kind)
        return stored.lines_of(session.tell_many(column(rows, "id"), **{f"{kind}s": column(rows, kind)}))
    (name,) = as_ids(session, [str(id)])
    status, weight = session.tell(name, **{kind: read_value(str(feedback), f"the {kind}")})
    return stored.lines_of(Receipts([name], [status], np.array([weight])))


stored.add_shared(session_app, Session)
