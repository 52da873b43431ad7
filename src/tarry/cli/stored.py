"""What the commands of sessions and joins share: how commands are made, read their input and print their answers."""

from __future__ import annotations

import inspect
import json
import os
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

import typer

from tarry.cli import own
from tarry.cli.console import Format, ended, refusing, screen
from tarry.kernel.compile import in_python
from tarry.live import LabelJoin, Receipts
from tarry.live.base import StoredObject
from tarry.live.configuration import FORMAT
from tarry.live.plain import is_bytes, named, plain
from tarry.live.stores import MAIN, POWER, stored_names, upgrade_store, without_password
from tarry.live.values import brief
from tarry.outcomes import Answer
from tarry.tracking.tally import as_size

ABSENT, STORE = 1, 3  # exit codes, as below
STANDARD_INPUT = "-"  # in place of an argument
EPILOG = (
    "Exit codes: 0 done; 1 done, but an id was unknown or forgotten, or the answer cannot be printed; "
    "2 the arguments are wrong, nothing was changed; 3 the store cannot be used."
)
_QUOTES = "texts, and the names in an object, stand in double quotes of their own, '\"like this\"'"
# So that a negative number is an argument and not an option.
NUMBERS = {"ignore_unknown_options": True}

# Commands that change what is kept, and commands that only look at it, which no loss of power can undo.
CHANGES = ("store", "name", "durability", "members", "output")
LOOKS = ("store", "name", "members", "output")

IdsArgument = Annotated[list[str], typer.Argument(help="Ids, or - for JSON lines of them.")]
InformationOption = Annotated[str, typer.Option(help="clairvoyant, semi-clairvoyant or non-clairvoyant.")]
BacklogOption = Annotated[int | None, typer.Option(help="Without preemption: a guess of the backlog.")]
SizeOption = Annotated[float | None, typer.Option(help="What it counts for, for VarOpt (default: 1).")]
SeedOption = Annotated[int | None, typer.Option(help="Of every draw (default: a random one).")]

Line = dict[str, Any]


class Sheet(NamedTuple):
    """One answer: all of it as JSON; in a table its ``rows``, and below them a table of ``lines``."""

    value: Any
    rows: Mapping[str, object]
    lines: Sequence[Line] = ()


def _shared(
    *,
    store: Annotated[
        str, typer.Option(envvar="TARRY_STORE", help="sqlite:///file.db or postgresql://user@host/database.")
    ] = "sqlite:///tarry.db",
    name: Annotated[str, typer.Option(help="Which session or join in the store.")] = MAIN,
    durability: Annotated[
        str, typer.Option(help="What a call survives: power (its loss) or process (only our end).")
    ] = POWER,
    members: own.MembersOption = None,
    output: Annotated[
        Format | None, typer.Option("--format", "-f", help="Default: table on a terminal, json otherwise.")
    ] = None,
) -> None:
    """Declare the options that commands share."""


SHARED = inspect.signature(_shared, eval_str=True).parameters


def live_command(
    app: typer.Typer,
    name: str,
    kind: type[StoredObject] | None = None,
    shared: Sequence[str] = CHANGES,
    context_settings: dict[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds a function to ``app`` as a command with the options named in ``shared``.

    The function's first argument is the ``kind`` of object that the store holds, opened; without a kind, where to make
    one. Its answer is printed: lines, a :class:`Sheet`, or a mapping, which is shown after store and name.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        def command(**given: Any) -> None:
            output = given.pop("output", Format.json)  # a command without the option has no table
            where = {option: given.pop(option) for option in shared if option in given}
            with refusing(unreachable=STORE), _told_warnings():
                if where["store"] == "memory:":
                    raise ValueError(
                        "what is kept in memory ends with its command: give --store sqlite:///file.db or postgresql://…"
                    )
                mine = own.load(where.pop("members", None))
                if kind is None:
                    answer = function(where | {"own": mine}, **given)
                else:
                    # One decision is made in Python before compiled code is loaded; schedulers reckon the same there.
                    is_little = kind is LabelJoin and not given.get("many")
                    members = None if mine is None else mine.kinds
                    with in_python(is_little), kind.open(**where, members=members) as opened:
                        answer = function(opened, **given)
                if isinstance(answer, dict):
                    name = {"name": where["name"]} if "name" in where else {}
                    facts = {"store": without_password(where["store"]), **name, **answer}
                    answer = Sheet(facts, facts)
                show(answer, output)

        # Typer reads options from the signature: the function's own come first, then the shared ones.
        _, *first = inspect.signature(function, eval_str=True).parameters.values()
        options = [*first, *(SHARED[option] for option in shared)]
        command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        command.__doc__ = function.__doc__
        app.command(name, epilog=EPILOG, context_settings=context_settings)(command)
        return function

    return add


@contextmanager
def _told_warnings() -> Iterator[None]:
    """Print warnings as sentences, without the line of the program that gave them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)  # also those that were given before
        try:
            yield
        finally:
            for warning in caught:
                typer.echo(str(warning.message), err=True)


def show(answer: Sheet | list[Line], output: Format | None) -> None:
    """Print an answer as JSON or as a table; exit with 1 if an id of its lines was unknown or forgotten."""
    try:
        if not is_json(output):
            _print_tables(answer)
        elif isinstance(answer, Sheet):
            typer.echo(json.dumps(plain(answer.value), indent=2, allow_nan=False))
        else:
            for line in answer:
                typer.echo(json.dumps(plain(line), allow_nan=False))
    except BrokenPipeError:  # who was to read the answer has gone
        raise
    # What was asked for is done: that must not read as if nothing was changed.
    except OSError as error:
        # What is still in the buffer goes nowhere, or Python would fail again at its end, with a code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ended(
            f"this was done, but the answer cannot be written ({error}) and is not kept: make room where it goes; what "
            "has become of these ids, fate tells",
            ABSENT,
        ) from error
    except (ValueError, TypeError) as error:
        raise ended(f"this was done, but the answer cannot be printed ({error}): try --format json", ABSENT) from error
    if isinstance(answer, list):
        said = {line.get("status", line.get("fate")) for line in answer}
        if said & {Answer.UNKNOWN, Answer.LATE}:
            raise typer.Exit(ABSENT)


def _print_tables(answer: Sheet | list[Line]) -> None:
    # Imported here, since JSON is for programs, which call often and need no tables.
    from tarry.reports.table import Table

    if isinstance(answer, Sheet):
        rows = [(name, str(value)) for name, value in answer.rows.items()]
        screen().print(Table("", ("", ""), rows, text=("",), wrap=("",), gap=2).rich())
    lines = [plain(line) for line in (answer.lines if isinstance(answer, Sheet) else answer)]
    if lines:
        names = tuple(lines[0])
        texts = [
            tuple(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in line.values())
            for line in lines
        ]
        screen().print(Table("", names, texts, text=names, wrap=names, gap=2).rich())


def is_json(output: Format | None) -> bool:
    """Return whether JSON is wanted: said so, or nobody is looking."""
    return not sys.stdout.isatty() if output is None else output is Format.json


def read_value(text: str, name: str) -> Any:
    """Return a JSON value from an argument, or from standard input."""
    given = sys.stdin.read() if text == STANDARD_INPUT else text
    return _loaded(given, name, f"must be JSON, got {{}}: {_QUOTES}")


def _loaded(text: str, name: str, otherwise: str) -> Any:
    """Return a JSON value; ``otherwise`` is what to say of text that is none."""
    shown = brief(text.strip())
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        problem = otherwise.format(shown)
    except RecursionError:  # JSON has no limit on nesting, Python's stack does
        problem = f"is nested too deeply, {shown}; nothing was changed"
    except ValueError:  # Python reads numbers of so many digits only
        problem = f"has a number of too many digits, {shown}; nothing was changed"
    raise ValueError(f"{name} {problem}")


def read_lines(*fields: str) -> list[Line]:
    """Return JSON objects from standard input, one a line, with no fields but these; a bare value is an id."""
    rows = []
    for number, line in enumerate(sys.stdin, 1):
        if not line.strip():
            continue
        row = _loaded(line, f"line {number}", "is not JSON: {}; nothing was changed")
        if not isinstance(row, dict) or is_bytes(row):  # so that a list of ids can be piped as it is
            row = {"id": row}
        extra = [name for name in row if name not in fields]
        if extra:
            raise ValueError(
                f"line {number} has a field {extra[0]!r}, only {', '.join(fields)} are known; nothing was changed"
            )
        for name in ("id", "key"):
            try:
                row |= {name: named(row[name])} if name in row else {}
            except ValueError as error:
                raise ValueError(f"line {number} has {error}; nothing was changed") from None
        if row.get("size") is not None:
            as_size(row["size"], f"line {number}: size")
        rows.append(row)
    return rows


def column(rows: Sequence[Line], name: str) -> list[Any]:
    """Return a field that every line must have."""
    for number, row in enumerate(rows, 1):
        if name not in row:
            raise ValueError(f"row {number} has no {name!r}; nothing was changed")
    return [row[name] for row in rows]


def as_ids(opened: StoredObject, texts: Sequence[str]) -> list[Hashable]:
    """Return ids from arguments: texts, but numbers where rounds go by their numbers."""
    is_numbered = opened.is_numbered  # asked once: it looks into the store
    return [int(text) if is_numbered and text.isascii() and text.isdigit() else text for text in texts]


def read_ids(opened: StoredObject, texts: Sequence[str]) -> list[Hashable]:
    return column(read_lines("id"), "id") if texts == [STANDARD_INPUT] else as_ids(opened, texts)


def lines_of(told: Receipts) -> list[Line]:
    """Return id, status and weight of several calls."""
    rows = zip(told.ids, told.statuses, told.weights.tolist(), strict=True)
    return [{"id": id, "status": status, "weight": weight} for id, status, weight in rows]


def _extent(opened: StoredObject) -> Line:
    status = opened.status()
    return {"rounds": status.rounds, "tracked": status.tracked}


def add_shared(app: typer.Typer, kind: type[StoredObject]) -> None:
    """Add the commands that sessions and joins share: status, fate, ledger and export, which only look, and expire."""

    @live_command(app, "status", kind, LOOKS)
    def status(opened: StoredObject) -> Sheet:
        """Print rounds, pending, tracked, fates, answers and the health of the weights."""
        found = opened.status()
        return Sheet(found, found.rows())

    @live_command(app, "fate", kind, LOOKS)
    def fate(opened: StoredObject, ids: IdsArgument) -> list[Line]:
        """Print what has become of these rounds."""
        return [{"id": id, "fate": opened.fate(id)} for id in read_ids(opened, ids)]

    @live_command(app, "ledger", kind, LOOKS)
    def ledger(
        opened: StoredObject,
        last: Annotated[int, typer.Option("--rounds", min=0, help="Also the fates of this many last rounds.")] = 0,
    ) -> Sheet:
        """Print rounds by fate and their sum, which is the number of rounds."""
        found = opened.ledger(last)
        counts = {"rounds": found["rounds"], **found["fates"], "sum": found["sum"]}
        return Sheet(found, counts, found["last"] if last else ())

    @live_command(app, "export", kind, ("store", "name"))
    def export(
        opened: StoredObject,
        payloads: Annotated[bool, typer.Option("--payloads", help="Payloads as they are instead of sizes.")] = False,
        whole: Annotated[
            bool, typer.Option("--whole", help="All of it, as JSON lines with features, weights and fates, for import.")
        ] = False,
    ) -> Line | list[Line]:
        """Print what is kept as JSON: configuration, status, and the tracked rounds with their ids."""
        return [*opened.export_lines()] if whole else opened.export(payloads=payloads)

    @live_command(app, "import", None)
    def import_whole(
        where: dict[str, Any],
        file: Annotated[str, typer.Argument(help="What export --whole has printed: a file, or - for standard input.")],
    ) -> Line:
        """Make in a store what export --whole has printed: it goes on from there, bit for bit."""
        mine = where.pop("own")
        lines = sys.stdin if file == STANDARD_INPUT else file
        with kind.import_from(lines, **where, members=None if mine is None else mine.kinds) as opened:
            return _extent(opened)

    @live_command(app, "copy", None)
    def copy(
        where: dict[str, Any],
        to: Annotated[
            str, typer.Argument(help="The other store: sqlite:///file.db or postgresql://user@host/database.")
        ],
        to_name: Annotated[str | None, typer.Option(help="Its name there (default: the same).")] = None,
    ) -> Line:
        """Copy it to another store, or under another name: the copy goes on as this one would, bit for bit."""
        mine, durability = where.pop("own"), where.pop("durability")
        name = where["name"] if to_name is None else to_name
        kinds = None if mine is None else mine.kinds
        with (
            kind.open(**where, members=kinds) as opened,
            opened.copy_to(to, name=name, durability=durability) as made,
        ):
            return {"to": without_password(to), "to_name": name, **_extent(made)}

    @live_command(app, "upgrade", None, ("store",))
    def upgrade(where: dict[str, Any]) -> Line:
        """Bring all of a store to this version's format, in one transaction; earlier versions cannot read it then."""
        return {"format": FORMAT, "was": upgrade_store(where["store"]), "names": stored_names(where["store"])}

    @live_command(app, "expire", kind)
    def expire(opened: StoredObject, ids: IdsArgument) -> list[Line]:
        """No outcome will come for these; on tracked ones that biases (see docs/live.md)."""
        return lines_of(opened.expire_many(read_ids(opened, ids)))
