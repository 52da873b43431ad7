"""Commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tarry._version import __version__
from tarry.cli.bound import bound_command
from tarry.cli.case import case_app
from tarry.cli.compare import run_compare
from tarry.cli.demo import run_demo
from tarry.cli.join import join_app
from tarry.cli.plan import plan_command
from tarry.cli.report import report_command
from tarry.cli.results import results_app
from tarry.cli.screen import screen
from tarry.cli.session import session_app
from tarry.cli.sweep import sweep_app
from tarry.versions import show_versions

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Learning from feedback that comes late.")


app.command("plan")(plan_command)
app.command("bound")(bound_command)
app.command("report")(report_command)
app.add_typer(case_app, name="case")
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


@app.command()
def compare(
    seeds: Annotated[int, typer.Option(min=2, help="Runs per figure; each draws its own game.")] = 96,
    horizon: Annotated[int, typer.Option(min=10, help="Rounds per run of the regret table.")] = 20_000,
    quick: Annotated[bool, typer.Option("--quick", help="At most 8 seeds and 4000 rounds.")] = False,
    file: Annotated[Path | None, typer.Option("--json", help="File for all numbers.")] = None,
) -> None:
    """Compare the schedulers: second moments of the weights, and regret with the paper's rates."""
    if file is not None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.open("a").close()  # touch() would accept a folder
        except OSError as error:
            typer.echo(f"cannot write to {file}: {error.strerror}; choose another file with --json", err=True)
            raise typer.Exit(2) from error
    run_compare(screen(), min(seeds, 8) if quick else seeds, min(horizon, 4000) if quick else horizon, file)
