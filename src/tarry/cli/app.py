"""Commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tarry._version import __version__
from tarry.cli.bound import bound_command
from tarry.cli.demo import run_demo
from tarry.cli.join import join_app
from tarry.cli.plan import plan_command
from tarry.cli.report import report_command
from tarry.cli.results import results_app
from tarry.cli.screen import screen
from tarry.cli.session import session_app
from tarry.cli.sweep import sweep_app
from tarry.versions import show_versions

# Commands that have left the library for the checkout's studies.
MOVED = {"case": "flights (or clinical, queue, pictures)", "table1": "table1", "compare": "compare"}

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Learning from feedback that comes late.")


app.command("plan")(plan_command)
app.command("bound")(bound_command)
app.command("report")(report_command)
app.add_typer(session_app, name="session")
app.add_typer(join_app, name="join")
app.add_typer(sweep_app, name="sweep")
app.add_typer(results_app, name="results")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tarry {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Learning from feedback that comes late when only so many pending rounds can be tracked."""


@app.command()
def versions() -> None:
    """Print the versions of Tarry and of what it runs on."""
    show_versions()


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page.")] = Path("out") / "demo",
    seeds: Annotated[int, typer.Option(min=2, help="Runs per policy and capacity.")] = 64,
    horizon: Annotated[int, typer.Option(min=100, help="Rounds per run.")] = 20_000,
) -> None:
    """Play one game under every policy and capacity; print a table and write a page of curves."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        typer.echo(f"cannot write to {out}: {error.strerror}; choose another folder with --out", err=True)
        raise typer.Exit(2) from error
    run_demo(screen(), out, seeds, horizon)


def _moved(context: typer.Context) -> None:
    name = str(context.info_name)
    typer.echo(f"tarry {name} is a study now: in a checkout of Tarry, run python -m studies {MOVED[name]}", err=True)
    raise typer.Exit(2)


for _name in MOVED:
    app.command(
        _name,
        hidden=True,
        add_help_option=False,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(_moved)
