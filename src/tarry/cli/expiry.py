"""The command that gives rounds up; the same for sessions and joins."""

from __future__ import annotations

from typing import Annotated

import typer

from tarry.cli.stored import (
    DEFAULT_STORE,
    EPILOG,
    DurabilityOption,
    FormatOption,
    NameOption,
    StoreOption,
    answering,
    as_store,
    ids_of,
    show_receipts,
)
from tarry.live import LabelJoin, Session
from tarry.live.stores import MAIN, POWER


def add_expire(app: typer.Typer, kind: type[Session] | type[LabelJoin]) -> None:
    """Add the command for sessions or joins."""

    @app.command("expire", epilog=EPILOG)
    def expire(
        ids: Annotated[list[str], typer.Argument(help="Ids, or - for JSON lines of them.")],
        store: StoreOption = DEFAULT_STORE,
        name: NameOption = MAIN,
        durability: DurabilityOption = POWER,
        output: FormatOption = None,
    ) -> None:
        """No outcome will come for these; on tracked ones that biases (see docs/live.md)."""
        with answering(), kind.open(as_store(store), name=name, durability=durability) as face:
            show_receipts(face.expire_many(ids_of(face, ids)), output)
