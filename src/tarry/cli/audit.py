"""Commands that look and change nothing: status, fate, ledger, export; the same for sessions and joins."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from tarry.cli.stored import (
    DEFAULT_STORE,
    EPILOG,
    FormatOption,
    NameOption,
    StoreOption,
    answering,
    as_store,
    end,
    ids_of,
    is_json,
    plain,
    show_lines,
    show_one,
    telling,
)
from tarry.live import LabelJoin, Session
from tarry.live.stores import MAIN, without_password


def add_audits(app: typer.Typer, kind: type[Session] | type[LabelJoin]) -> None:
    """Add the four commands for a kind of session."""

    @app.command("status", epilog=EPILOG)
    def status(store: StoreOption = DEFAULT_STORE, name: NameOption = MAIN, output: FormatOption = None) -> None:
        """Print rounds, pending, tracked, fates, answers and the health of the weights."""
        with answering(), kind.open(as_store(store), name=name) as face:
            found = face.status()
            show_one(found, found.rows(), output)

    @app.command("fate", epilog=EPILOG)
    def fate(
        ids: Annotated[list[str], typer.Argument(help="Ids, or - for JSON lines of them.")],
        store: StoreOption = DEFAULT_STORE,
        name: NameOption = MAIN,
        output: FormatOption = None,
    ) -> None:
        """Print what has become of these rounds."""
        with answering(), kind.open(as_store(store), name=name) as face:
            names = ids_of(face, ids)
            fates = [face.fate(id) for id in names]
            show_lines(({"id": id, "fate": found} for id, found in zip(names, fates, strict=True)), output)
            end(fates)

    @app.command("ledger", epilog=EPILOG)
    def ledger(
        last: Annotated[int, typer.Option("--rounds", min=0, help="Also the fates of this many last rounds.")] = 0,
        store: StoreOption = DEFAULT_STORE,
        name: NameOption = MAIN,
        output: FormatOption = None,
    ) -> None:
        """Print rounds by fate and their sum, which is the number of rounds."""
        with answering(), kind.open(as_store(store), name=name) as face:
            found = face.ledger(last)
            counts = {"rounds": found["rounds"], **found["fates"], "sum": found["sum"]}
            show_one(found, {key: str(value) for key, value in counts.items()}, output)
            if last and not is_json(output):
                show_lines(found["last"], output)

    @app.command("export", epilog=EPILOG)
    def export(
        payloads: Annotated[bool, typer.Option("--payloads", help="Payloads as they are instead of sizes.")] = False,
        store: StoreOption = DEFAULT_STORE,
        name: NameOption = MAIN,
    ) -> None:
        """Print everything that is kept as JSON: configuration, status, and the tracked rounds with their ids."""
        with answering(), kind.open(as_store(store), name=name) as face:
            found: dict[str, Any] = {"store": without_password(store), "name": name} | face.export(payloads=payloads)
            with telling():
                typer.echo(json.dumps(plain(found), indent=2, allow_nan=False))
