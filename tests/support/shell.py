"""Commands as they are run from a shell, with a store of their own."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from tarry.cli.app import app

RUN = CliRunner()


def caller(store: str, group: str) -> Any:
    """A function that runs ``tarry group …`` on this store and checks its exit code."""

    def run(*arguments: Any, given: str | None = None, code: int = 0, group: str = group) -> Any:
        environment = {"TARRY_STORE": store, "COLUMNS": "200"}
        done = RUN.invoke(app, [group, *map(str, arguments)], input=given, env=environment)
        assert done.exit_code == code, (done.output, done.exception)
        assert "Traceback" not in done.output
        return done

    return run


def lines(done: Any) -> list[Any]:
    """The answers of a command, one for each line."""
    return [json.loads(line) for line in done.stdout.splitlines()]
