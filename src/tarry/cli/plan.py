"""tarry plan, how many slots do I need? tarry bound, what do theorems promise? tarry demo, what are weights worth?"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tarry.cli.console import Format, FormatOption, progress_bar, progress_lines, refusing, screen, telling_of_compiling
from tarry.cli.own import MembersOption, has_member, load, make_member, member_of
from tarry.errors import ArgumentError
from tarry.planning import Constants, Plan, list_bounds, plan, plan_model, read_log
from tarry.planning.bounds import bounds_by_delay
from tarry.planning.demo import HORIZON, PLAN, play_plan
from tarry.planning.policies import Conditions, Policy, choose_policies
from tarry.planning.sources import MODELS
from tarry.reports.demo import demo_guide, demo_page, demo_tables
from tarry.reports.plans import bounds_table, check_chart, delays_table, plan_tables, save_plan

if TYPE_CHECKING:
    from tarry.experiments.own import Own

LOG_ONLY = "says how a log is read, and --model reads none"
MODEL_ONLY = "is about a model of delays, and a log has delays of its own"


def plan_command(
    log: Annotated[Path | None, typer.Argument(help="CSV or Parquet file with two columns of time stamps.")] = None,
    decided: Annotated[str | None, typer.Option(help="Column of decision times (default: by its name).")] = None,
    feedback: Annotated[
        str | None, typer.Option("--feedback", "--labelled", help="Column of feedback times (default: by its name).")
    ] = None,
    day_first: Annotated[
        bool | None, typer.Option("--day-first/--month-first", help="How 9/1/2024 is meant, where no day tells.")
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            help="Rows without a feedback time: refuse, drop, end (they wait to the end); with --window any label."
        ),
    ] = "refuse",
    window: Annotated[
        str | None, typer.Option(help="Decisions are settled after 30d, 36h, 15min (numbers: in the columns' unit).")
    ] = None,
    release: Annotated[
        str | None, typer.Option(help="With --window, slots are held to its end (window, the default) or to arrival.")
    ] = None,
    model: Annotated[str | None, typer.Option(help=f"Instead of a log: {', '.join(MODELS)}.")] = None,
    mean: Annotated[str | None, typer.Option(help="The model's mean delay: decisions, or 3d, 36h, 20min.")] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--with", metavar="NAME=VALUE", help="Another parameter of the model.")
    ] = None,
    horizon: Annotated[int | None, typer.Option(min=1, help="Decisions the model makes (default: 20000).")] = None,
    per_day: Annotated[float | None, typer.Option(help="Decisions a day (default: from the log's dates).")] = None,
    target: Annotated[str, typer.Option(help="Effective sample size wanted, as a share of all labels.")] = "50%",
    max_second_moment: Annotated[float | None, typer.Option(help="Instead: mean w² of at most this.")] = None,
    capacity: Annotated[list[int] | None, typer.Option(help="Try these capacities (repeat the option).")] = None,
    scheduler: Annotated[list[str] | None, typer.Option(help="Compare only these (repeat the option).")] = None,
    members: MembersOption = None,
    preemption: Annotated[bool, typer.Option(help="Whether a tracked decision may be dropped again.")] = True,
    seeds: Annotated[int, typer.Option(min=2, help="Replays to begin with.")] = 8,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    chart: Annotated[Path | None, typer.Option(help="Write a picture (.svg, .png) or a page (.html).")] = None,
    output: FormatOption = Format.table,
) -> None:
    with refusing():
        if chart is not None:
            check_chart(chart)
        mine = load(members)
        policies = [_own_policy(one, mine) if has_member("scheduler", one, mine) else one for one in scheduler or ()]
        choose_policies(policies or None)  # refuse before a long log is read
        options: dict[str, Any] = {
            "target": _share(target),
            "max_second_moment": max_second_moment,
            "capacities": capacity or None,
            "schedulers": policies or None,
            "preemption": preemption,
            "seeds": seeds,
        }
        windows: dict[str, Any] = {"window": window, "release": release}
        reading: dict[str, Any] = {"decided": decided, "feedback": feedback, "day_first": day_first, "missing": missing}
        if model is not None and log is not None:
            raise ValueError("give a log or --model, and not both")
        if model is not None:
            _refuse(reading | {"missing": None if missing == "refuse" else missing}, LOG_ONLY)
        elif log is None:
            raise ValueError("give a log (CSV or Parquet), or a model such as --model geometric --mean 200")
        else:
            _refuse({"mean": mean, "--with": parameter or None, "horizon": horizon}, MODEL_ONLY)
        with progress_lines("replaying") as tell, telling_of_compiling(tell):
            options["progress"] = tell
            if log is None:
                chosen = {"per_day": per_day, **({} if horizon is None else {"horizon": horizon})}
                made = _plan_model(str(model), _parameters(mean, parameter or []), **chosen, **windows, **options)
            else:
                read = read_log(log, **reading, **windows)
                names = f"{read.decided} → {read.feedback}"
                typer.echo(f"{log}: {read.rows:,} rows, {names}, {read.missing:,} without feedback", err=True)
                said = {} if per_day is None else {"per_day": per_day}  # beats what the log's dates say
                made = plan(read.delays, **{**read.known, **said}, **options)
        if json_file is not None:
            json_file.parent.mkdir(parents=True, exist_ok=True)
            json_file.write_text(json.dumps(made.to_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        if chart is not None:
            save_plan(made, chart)
        _print(made, output)


def _own_policy(text: str, own: Own | None) -> Policy:
    """Return the policy of a scheduler that is written as in a sweep."""
    from tarry.experiments.members import describe

    member = member_of("scheduler", text, own)

    def make(given: Conditions) -> Any:
        return make_member(
            "scheduler", member, **{n: getattr(given, n) for n in ("capacity", "max_backlog", "max_delay")}
        )

    return Policy(describe(member), make)


def _refuse(given: dict[str, Any], problem: str) -> None:
    """Raise ArgumentError for the first option that was given and would be ignored."""
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(name, problem, remedy="leave it out")


def _plan_model(model: str, parameters: dict[str, str], **options: Any) -> Plan:
    try:
        return plan_model(model, parameters, **options)
    except ArgumentError as error:
        # Parameters of a model, but for these two, have no options of their own.
        if error.name not in {*parameters, *inspect.signature(MODELS[model]).parameters} - {"horizon", "mean"}:
            raise
        raise ArgumentError(f"--with {error.name}=…", error.problem, error.value, error.remedy) from error


def _share(text: str) -> float:
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise ArgumentError("target", "must be a share such as 0.5 or 50%", text) from None
    if not 0 < share <= 1:
        raise ArgumentError("target", "must be a share in (0, 1], that is above 0% and up to 100%", text)
    return share


def _parameters(mean: str | None, listed: list[str]) -> dict[str, str]:
    found = {} if mean is None else {"mean": mean}
    for item in listed:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ValueError(f"--with takes NAME=VALUE, such as --with shape=0.9, got {item!r}")
        found[name.strip()] = value.strip()
    return found


def _print(made: Plan, output: Format) -> None:
    if output is Format.json:
        typer.echo(json.dumps(made.to_dict(), indent=2, ensure_ascii=False))
        return
    console = screen()
    if made.keep_all:
        console.print(made.keep_all, style="bold", highlight=False)
    console.print(made.backlog.sentence, highlight=False)
    console.print(made.backlog.little, highlight=False)
    for warning in made.warnings:
        console.print(f"Beware: {warning}.", style="yellow", highlight=False)
    for table in plan_tables(made):
        console.print()
        console.print(table.rich())
    console.print()
    console.print(made.recommendation, style="bold", highlight=False)


def bound_command(
    context: typer.Context,
    horizon: Annotated[int, typer.Option(help="Rounds, T.")],
    capacity: Annotated[int, typer.Option(help="Slots, C.")],
    diameter: Annotated[float | None, typer.Option(help="Diameter of the domain, D.")] = None,
    gradient_bound: Annotated[float | None, typer.Option(help="Largest norm of a gradient, G.")] = None,
    total_delay: Annotated[int | None, typer.Option(help="Sum of all delays.")] = None,
    max_backlog: Annotated[int | None, typer.Option(help="Most rounds waiting at once, σ_max.")] = None,
    max_delay: Annotated[int | None, typer.Option(help="A bound on every delay, for batches.")] = None,
    strong_convexity: Annotated[float | None, typer.Option(help="λ, for strongly convex losses.")] = None,
    value_bound: Annotated[float | None, typer.Option(help="Largest |loss|, M, for bandit feedback.")] = None,
    inner_radius: Annotated[float | None, typer.Option(help="Radius r of a ball inside the domain.")] = None,
    dimension: Annotated[int | None, typer.Option(help="Dimension k of the domain.")] = None,
    output: FormatOption = Format.table,
) -> None:
    with refusing():
        # Every option but the last is a constant, by its own name.
        constants = Constants(**{name: value for name, value in context.params.items() if name != "output"})
        bounds = list_bounds(constants)
        by_delay = {} if bounds else bounds_by_delay(constants)
        if not bounds and not by_delay:
            raise ValueError(
                "no bound follows from these constants: the convex ones need --diameter, --gradient-bound and "
                "--total-delay, the strongly convex ones --gradient-bound, --strong-convexity and --max-backlog, "
                "Batching's also --max-delay; with --horizon and --capacity alone several mean delays are listed"
            )
    if by_delay:
        if output is Format.json:
            rows = [{"mean_delay": mean, **b._asdict()} for mean, found in by_delay.items() for b in found]
            typer.echo(json.dumps({"constants": constants.known(), "bounds": rows}, indent=2, ensure_ascii=False))
        else:
            screen().print(delays_table(by_delay, constants.horizon).rich())
        return
    trivial = constants.trivial_bound
    if output is Format.json:
        found = {"constants": constants.known(), "trivial": trivial, "bounds": [b._asdict() for b in bounds]}
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        screen().print(bounds_table(bounds, trivial).rich())


def demo_command(
    out: Annotated[Path, typer.Option(help="Folder for the page.")] = Path("out") / "demo",
    seeds: Annotated[int, typer.Option(min=2, help="Months played, of other tickets each.")] = 16,
    horizon: Annotated[int, typer.Option(min=100, help="Tickets of a month.")] = HORIZON,
) -> None:
    console = screen()
    with refusing():
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(f"cannot write to {out}: {error.strerror}; choose another folder with --out") from error
        for heading, text in demo_guide().items():
            console.print(f"[bold]{heading}.[/bold] {text}", highlight=False)
        results = []
        with progress_bar(Console(stderr=True), "playing") as show:
            for result in play_plan(seeds, horizon):
                results.append(result)
                show(len(results), len(PLAN), f"{result.policy}, {result.world}")
        for table in demo_tables(results):
            console.print()
            console.print(table.rich())
        path = demo_page(results, out / "index.html")
        console.print(f"page: {path}", soft_wrap=True)
