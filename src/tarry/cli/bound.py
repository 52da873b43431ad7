"""tarry bound: what do the theorems promise?"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Annotated

import typer

from tarry.cli.plan import Format, refusing
from tarry.cli.screen import screen
from tarry.planning import Constants, list_bounds, trivial_bound
from tarry.reports import bounds_table


def bound_command(
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
    output: Annotated[Format, typer.Option("--format", "-f", help="What to print.")] = Format.table,
) -> None:
    """The regret bounds that follow from these constants: the paper's, printed and sharpened, and this project's."""
    with refusing(tuple(field.name for field in fields(Constants))):
        constants = Constants(
            horizon=horizon,
            capacity=capacity,
            total_delay=total_delay,
            max_backlog=max_backlog,
            max_delay=max_delay,
            diameter=diameter,
            gradient_bound=gradient_bound,
            strong_convexity=strong_convexity,
            value_bound=value_bound,
            inner_radius=inner_radius,
            dimension=dimension,
        )
        bounds = list_bounds(constants)
        if not bounds:
            raise ValueError(
                "no bound follows from these constants: the convex ones need --diameter, --gradient-bound and "
                "--total-delay, the strongly convex ones --gradient-bound, --strong-convexity and --max-backlog, "
                "Batching's also --max-delay"
            )
    trivial = trivial_bound(constants)
    if output is Format.json:
        found = {"constants": constants.known(), "trivial": trivial, "bounds": [b._asdict() for b in bounds]}
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        screen().print(bounds_table(bounds, trivial))
