"""The table of commands. A command's module is imported when it is run, so that help and version start at once."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from tarry._version import __version__
from tarry.cli.console import REFUSED, ended

COMMANDS = {
    "plan": (
        "tarry.cli.plan:plan_command",
        "How many slots do I need? Replay a log or a model of delays, and find the smallest capacity for a target.",
    ),
    "case": (
        "tarry.cli.case:case_command",
        "Which policy for my log? The believed mean, a model's loss and calibration by policy, and what to take.",
    ),
    "bound": (
        "tarry.cli.plan:bound_command",
        "The regret bounds that follow from these constants: the paper's, printed and sharpened, and this project's.",
    ),
    "report": (
        "tarry.cli.results:report_command",
        "Write one self-contained page, figures (SVG, PDF, PNG) and tables (Markdown, LaTeX) of a sweep's results.",
    ),
    "session": ("tarry.cli.live:session_app", "Decide now, learn later: a session kept in a store."),
    "join": ("tarry.cli.stream:join_app", "Late labels joined with their decisions: a join kept in a store."),
    "serve": ("tarry.cli.serve:serve_command", "Joins and sessions over HTTP, for every language (docs/service.md)."),
    "token": ("tarry.cli.serve:token_app", "Who may use tarry serve: make, list and remove tokens."),
    "sweep": ("tarry.cli.sweep:sweep_app", "Experiments from one file (docs/experiments.md)."),
    "results": ("tarry.cli.results:results_app", "What a sweep gave (docs/experiments.md)."),
    "demo": (
        "tarry.cli.plan:demo_command",
        "Play a help desk with late labels under every policy; print rates and regrets, and write a page.",
    ),
}
"""Where each command is, and its help."""


class Commands(TyperGroup):
    """The commands of the table, and those registered below."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Name and line are all that help and suggestions ask of a command.
        lines = {name: TyperCommand(name, help=line) for name, (_, line) in COMMANDS.items()}
        self.commands = {**lines, **self.commands}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that is to be run."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = load(args[0])
        return super().resolve_command(ctx, args)


def load(name: str) -> Any:
    place, line = COMMANDS[name]
    module, _, attribute = place.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except ImportError as error:
        extras = "cli,serve" if name in ("serve", "token") else "cli,report"
        raise ended(f"tarry {name} needs {error.name}: pip install 'tarry[{extras}]'", REFUSED) from error
    if not isinstance(found, typer.Typer):  # one command and not a group
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        found = alone
    command = typer.main.get_command(found)
    command.name, command.help = name, line
    return command


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False)


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
    from tarry.kernel.cache import show_versions

    show_versions()
