"""tarry serve: joins and sessions over HTTP; tarry token: who may use them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from tarry.cli.console import refusing
from tarry.live.calls import ADMIN, SCOPES, WRITE
from tarry.service.settings import PREFIX, Settings, settle
from tarry.service.tokens import add_token, read_tokens, remove_token

token_app = typer.Typer(no_args_is_help=True)
TokensOption = Annotated[
    Path | None, typer.Option(help="The file of tokens (default: as tarry serve finds it, beside the SQLite file).")
]
ConfigOption = Annotated[Path | None, typer.Option(help="A TOML file of settings.")]


def serve_command(config: ConfigOption = None, **flags: Any) -> None:
    """Serve joins and sessions over HTTP until interrupted."""
    from tarry.service.server import serve

    with refusing():
        given = {name: value for name, value in flags.items() if value not in (None, [])}
        settings = settle(given, file=config)
        if not read_tokens(settings.tokens_file):  # only at an address that others cannot reach
            text = add_token(settings.tokens_file, "first", ADMIN)
            typer.echo(f"A token, shown once: {text}\nIts hash is in {settings.tokens_file}; tarry token makes others.")
        serve(settings)


def _flags() -> list[inspect.Parameter]:
    """Return the settings as options, one list for flags, environment and file."""
    made = []
    for name, field in Settings.model_fields.items():
        is_list, said = field.annotation == tuple[str, ...], f"{field.description} [{PREFIX}{name.upper()}]"
        kind: Any = field.annotation
        kind = list[str] | None if is_list else kind | None
        shown = f" (default: {field.default})" if field.default not in (None, (), False) else ""
        option = Annotated[kind, typer.Option(help=said + shown)]
        made.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option))
    return made


serve_command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ConfigOption), *_flags()]
)


def _file(tokens: Path | None) -> Path:
    return tokens or settle({"host": "127.0.0.1"}).tokens_file


@token_app.command("new")
def new_token(
    name: Annotated[str, typer.Argument(help="What to call it; one of this name is replaced, scope and names kept.")],
    scope: Annotated[
        str | None,
        typer.Option(help=f"What it allows: {', '.join(SCOPES)}, each with those before it (default: {WRITE})."),
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only the join or session of this name (repeat it).")] = None,
    tokens: TokensOption = None,
) -> None:
    """Make a token, print it once, and keep its hash; a running server knows it within a second."""
    with refusing():
        file = _file(tokens)
        typer.echo(add_token(file, name, scope, only))
        typer.echo(f"Its hash is in {file}.", err=True)


@token_app.command("list")
def list_tokens(tokens: TokensOption = None) -> None:
    """Print names and scopes."""
    with refusing():
        for token in read_tokens(_file(tokens)):
            names = "everything" if token.only is None else ", ".join(sorted(token.only))
            typer.echo(f"{token.name}\t{token.scope}\t{names}")


@token_app.command("remove")
def drop_token(name: Annotated[str, typer.Argument(help="Which.")], tokens: TokensOption = None) -> None:
    """Remove a token; a running server refuses it within a second."""
    with refusing():
        remove_token(_file(tokens), name)
