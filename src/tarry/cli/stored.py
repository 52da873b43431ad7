"""What the commands of sessions and joins share: options, exit codes, how answers are printed, and commands on both.

Exit codes: 0 done; 1 done, but an id was unknown or forgotten (unknown, late) or the answer cannot be printed; 2 the
arguments are wrong and nothing was changed; 3 the store cannot be used.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from tarry.cli.console import Format, screen
from tarry.errors import TarryError
from tarry.live.base import StoredObject
from tarry.live.batches import Receipts
from tarry.live.encoding import brief, id_of, plain_id
from tarry.live.stores import MAIN, POWER, without_password
from tarry.results import Answer

ABSENT, REFUSED, STORE = 1, 2, 3
STANDARD_INPUT = "-"
EPILOG = (
    "Exit codes: 0 done; 1 done, but an id was unknown or forgotten, or the answer cannot be printed; "
    "2 the arguments are wrong, nothing was changed; 3 the store cannot be used."
)
_QUOTES = "texts, and the names in an object, stand in double quotes of their own, '\"like this\"'"
# So that a negative number is an argument and not an option.
NUMBERS = {"ignore_unknown_options": True}

StoreOption = Annotated[
    str, typer.Option("--store", envvar="TARRY_STORE", help="sqlite:///file.db or postgresql://user@host/database.")
]
NameOption = Annotated[str, typer.Option("--name", help="Which session or join in the store.")]
DurabilityOption = Annotated[
    str, typer.Option("--durability", help="What a call survives: power (its loss) or process (only our end).")
]
FormatOption = Annotated[
    Format | None, typer.Option("--format", "-f", help="Default: table on a terminal, json otherwise.")
]
DEFAULT_STORE = "sqlite:///tarry.db"


@contextmanager
def answering() -> Iterator[None]:
    """Turn what goes wrong into a sentence and an exit code, and warnings into sentences."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        except (ValueError, TypeError) as error:  # also NotGranted
            raise _ended(str(error), REFUSED) from error
        except BrokenPipeError:
            raise
        except (TarryError, OSError) as error:
            raise _ended(str(error), STORE) from error
        finally:
            for warning in caught:
                typer.echo(str(warning.message), err=True)


@contextmanager
def telling() -> Iterator[None]:
    """What was asked for is done: if telling it fails, that must not read as if nothing was changed."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _ended(
            f"this was done, but the answer cannot be written ({error}) and is not kept: make room where it goes; what "
            "has become of these ids, fate tells",
            ABSENT,
        ) from error
    except (ValueError, TypeError) as error:
        raise _ended(f"this was done, but the answer cannot be printed ({error}): try --format json", ABSENT) from error


def as_store(url: str) -> str:
    """A store that outlives the command."""
    if url == "memory:":
        raise ValueError(
            "what is kept in memory ends with its command: give --store sqlite:///file.db or postgresql://…"
        )
    return url


def id_reader(opened: StoredObject) -> Callable[[str], Hashable]:
    """Reads ids given on the command line: texts, but numbers where rounds go by their numbers."""
    is_numbered = opened.is_numbered
    return lambda text: int(text) if is_numbered and text.isascii() and text.isdigit() else text


def as_value(text: str, name: str) -> Any:
    """A JSON value from an argument, or from standard input."""
    given = sys.stdin.read() if text == STANDARD_INPUT else text
    try:
        return _loaded(given, name)
    except json.JSONDecodeError:
        raise ValueError(f"{name} must be JSON, got {brief(given.strip())}: {_QUOTES}") from None


def _loaded(text: str, name: str) -> Any:
    """A JSON value, or a sentence where Python's limits end before JSON's do."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply, {brief(text.strip())}; nothing was changed") from None
    except ValueError:
        raise ValueError(
            f"{name} has a number of too many digits, {brief(text.strip())}; nothing was changed"
        ) from None


def read_lines(fields: Sequence[str]) -> list[dict[str, Any]]:
    """JSON objects from standard input, one a line, with no other fields than these; a bare value is an id."""
    rows = []
    for number, line in enumerate(sys.stdin, 1):
        if line.strip():
            rows.append(_row(line, number, fields))
    return rows


def _row(line: str, number: int, fields: Sequence[str]) -> dict[str, Any]:
    try:
        row = _loaded(line, f"line {number}")
    except json.JSONDecodeError:
        raise ValueError(f"line {number} is not JSON: {brief(line.strip())}; nothing was changed") from None
    row = row if isinstance(row, dict) and not _is_bytes(row) else {"id": row}
    extra = [name for name in row if name not in fields]
    if extra:
        raise ValueError(
            f"line {number} has a field {extra[0]!r}, only {', '.join(fields)} are known; nothing was changed"
        )
    for name in ("id", "key"):
        if _is_bytes(row.get(name)):
            row[name] = _bytes_of(row[name], number)
    return row


def _bytes_of(value: dict[str, Any], number: int) -> Hashable:
    try:
        return id_of(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"line {number} has the bytes {brief(value['bytes'])}, which are not base64; nothing was changed"
        ) from None


def _is_bytes(value: Any) -> bool:
    """Whether this is how JSON has an id of bytes."""
    return isinstance(value, dict) and [*value] == ["bytes"]


def column(rows: Iterable[dict[str, Any]], name: str) -> list[Any]:
    """A field that every line must have."""
    found = []
    for number, row in enumerate(rows, 1):
        if name not in row:
            raise ValueError(f"row {number} has no {name!r}; nothing was changed")
        found.append(row[name])
    return found


def ids_of(opened: StoredObject, texts: list[str]) -> list[Hashable]:
    """Ids from arguments, or from standard input."""
    if texts == [STANDARD_INPUT]:
        return column(read_lines(("id",)), "id")
    return [*map(id_reader(opened), texts)]


def plain(value: Any) -> Any:
    """A value as JSON has it: names for answers, objects for named tuples, null for what is not a finite number."""
    if isinstance(value, Answer):
        return value.name.lower()
    if isinstance(value, bytes):
        return plain_id(value)
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def show_lines(rows: Iterable[dict[str, Any]], output: Format | None) -> None:
    """Print answers: an object a line, or a table."""
    with telling():
        told = [plain(row) for row in rows]
        if is_json(output):
            for row in told:
                typer.echo(json.dumps(row, allow_nan=False))
        elif told:
            table = _table(*told[0])
            for row in told:
                table.add_row(*(_shown(value) for value in row.values()))
            screen().print(table)


def show_one(value: Any, rows: dict[str, str], output: Format | None) -> None:
    """Print one answer: all of it as JSON, or rows of a table."""
    with telling():
        if is_json(output):
            typer.echo(json.dumps(plain(value), indent=2, allow_nan=False))
            return
        table = _table("", "")
        table.show_header = False
        for name, text in rows.items():
            table.add_row(name, escape(text))
        screen().print(table)


def show_receipts(told: Receipts, output: Format | None) -> None:
    """Print id, status and weight of several calls, and exit with 1 if some id was unknown or forgotten."""
    rows = zip(told.ids, told.statuses, told.weights.tolist(), strict=True)
    show_lines(({"id": id, "status": status, "weight": weight} for id, status, weight in rows), output)
    end(told.statuses)


def is_json(output: Format | None) -> bool:
    """Whether JSON is wanted: said so, or nobody is looking."""
    return not sys.stdout.isatty() if output is None else output is Format.json


def end(statuses: Iterable[Answer]) -> None:
    """Exit with 1 if some id was unknown or forgotten."""
    if any(status in (Answer.UNKNOWN, Answer.LATE) for status in statuses):
        raise typer.Exit(ABSENT)


def _ended(sentence: str, code: int) -> typer.Exit:
    typer.echo(sentence, err=True)
    return typer.Exit(code)


def _table(*columns: str) -> Table:
    return Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)


def _shown(value: Any) -> str:
    return escape(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def add_shared(app: typer.Typer, kind: type[StoredObject]) -> None:
    """Add the commands that sessions and joins share: status, fate, ledger and export, which only look, and expire."""

    @app.command("status", epilog=EPILOG)
    def status(store: StoreOption = DEFAULT_STORE, name: NameOption = MAIN, output: FormatOption = None) -> None:
        """Print rounds, pending, tracked, fates, answers and the health of the weights."""
        with answering(), kind.open(as_store(store), name=name) as opened:
            found = opened.status()
            show_one(found, found.rows(), output)

    @app.command("fate", epilog=EPILOG)
    def fate(
        ids: Annotated[list[str], typer.Argument(help="Ids, or - for JSON lines of them.")],
        store: StoreOption = DEFAULT_STORE,
        name: NameOption = MAIN,
        output: FormatOption = None,
    ) -> None:
        """Print what has become of these rounds."""
        with answering(), kind.open(as_store(store), name=name) as opened:
            names = ids_of(opened, ids)
            fates = [opened.fate(id) for id in names]
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
        with answering(), kind.open(as_store(store), name=name) as opened:
            found = opened.ledger(last)
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
        with answering(), kind.open(as_store(store), name=name) as opened:
            found: dict[str, Any] = {"store": without_password(store), "name": name} | opened.export(payloads=payloads)
            with telling():
                typer.echo(json.dumps(plain(found), indent=2, allow_nan=False))

    @app.command("expire", epilog=EPILOG)
    def expire(
        ids: Annotated[list[str], typer.Argument(help="Ids, or - for JSON lines of them.")],
        store: StoreOption = DEFAULT_STORE,
        name: NameOption = MAIN,
        durability: DurabilityOption = POWER,
        output: FormatOption = None,
    ) -> None:
        """No outcome will come for these; on tracked ones that biases (see docs/live.md)."""
        with answering(), kind.open(as_store(store), name=name, durability=durability) as opened:
            show_receipts(opened.expire_many(ids_of(opened, ids)), output)
