"""tarry join and tarry session: every call of the table from a shell, on a store or with ``--url`` on a server.

A field that a call needs is an argument, the others are options. ``call`` reads calls as JSON lines, one process for
many; what it reads and prints is what the service does.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

import typer

from tarry.cli import own
from tarry.cli.console import Format, ended, refusing, screen
from tarry.errors import ArgumentError, TarryError
from tarry.kernel.compile import in_python
from tarry.live import LabelJoin, Session
from tarry.live.base import StoredObject
from tarry.live.calls import Call, NewJoin, NewSession, calls_of, load_asked, make
from tarry.live.codec import Field, dump, fields_of, load, written
from tarry.live.plain import is_bytes, named
from tarry.live.stores import MAIN, POWER, without_password
from tarry.live.values import brief
from tarry.outcomes import Answer
from tarry.planning.policies import name_of
from tarry.service.wanted import join_of, session_of
from tarry.tracking.tally import as_size

ABSENT, STORE = 1, 3  # exit codes, as below
STANDARD_INPUT = "-"  # in place of an argument
EPILOG = (
    "Exit codes: 0 done; 1 done, but an id was unknown or forgotten, or the answer cannot be printed; "
    "2 the arguments are wrong, nothing was changed; 3 the store cannot be used."
)
_QUOTES = "texts, and the names in an object, stand in double quotes of their own, '\"like this\"'"
CHANGES = ("store", "name", "url", "durability", "members", "output")
LOOKS = ("store", "name", "url", "members", "output")
# Fields that are arguments although they may be left out, and options that have another name, too.
_ARGUMENTS = {("decide", "features"), ("ask", "id")}
_ALSO = {"last": ["--rounds"]}
join_app, session_app = (typer.Typer(no_args_is_help=True, epilog=EPILOG) for _ in range(2))
APPS: dict[type[StoredObject], typer.Typer] = {LabelJoin: join_app, Session: session_app}

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
    url: Annotated[
        str | None,
        typer.Option(envvar="TARRY_URL", help="Instead of a store: a server, with its token in TARRY_TOKEN."),
    ] = None,
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


def add_command(
    app: typer.Typer, name: str, about: str, options: Sequence[inspect.Parameter], shared: Sequence[str], work: Any
) -> None:
    """Add a command: ``work`` takes where it is done and the values of its options, and returns what is printed."""

    def command(**given: Any) -> None:
        output = given.pop("output", Format.json)  # a command without the option has no table
        where = {option: given.pop(option) for option in shared if option in given}
        with refusing(unreachable=STORE), _told_warnings():
            if where.get("url") is None and where["store"] == "memory:":
                raise ValueError(
                    "what is kept in memory ends with its command: give --store sqlite:///file.db or postgresql://…"
                )
            where["own"] = own.load(where.pop("members", None))
            answer = work(where, **given)
            if answer is None:  # it has printed itself
                return
            if isinstance(answer, dict):
                place = (
                    {"store": without_password(where["store"])} if where.get("url") is None else {"url": where["url"]}
                )
                facts = {**place, **({"name": where["name"]} if "name" in where else {}), **answer}
                answer = Sheet(facts, facts)
            show(answer, output)

    command.__signature__ = inspect.Signature([*options, *(SHARED[option] for option in shared)])  # type: ignore[attr-defined]
    command.__doc__ = about
    # So that a negative number is an argument and not an option.
    settings = {"ignore_unknown_options": True} if any(_is_argument(option) for option in options) else None
    app.command(name, epilog=EPILOG, context_settings=settings)(command)


def _is_argument(option: inspect.Parameter) -> bool:
    return any(type(mark).__name__ == "ArgumentInfo" for mark in get_args(option.annotation)[1:])


@contextmanager
def opened(kind: type[StoredObject], where: Mapping[str, Any], *, is_little: bool = False) -> Iterator[Any]:
    """Yield a join or session of a store, or of a server."""
    members = None if where["own"] is None else where["own"].kinds
    if where["url"] is not None:
        with _connected(where["url"]) as server:
            yield (server.open_join if kind is LabelJoin else server.open_session)(where["name"])
        return
    known = {option: where[option] for option in ("store", "name", "durability") if option in where}
    # One decision is made in Python before compiled code is loaded; schedulers reckon the same there.
    with in_python(is_little), kind.open(**known, members=members) as found:
        yield found


def _connected(url: str) -> Any:
    from tarry.client import connect  # a room that other commands need not load

    return connect(url)


def perform(target: Any, call: Call, asked: Any) -> Any:
    """Return the answer of a join or session, here or of a server."""
    return target.perform(call, asked) if hasattr(target, "perform") else make(target, call, asked)


# From arguments to what is asked.

_UNLIMITED = Annotated[bool, typer.Option("--unlimited", help="Let any number of decisions wait.")]


def _options_of(call: Call) -> list[inspect.Parameter]:
    """Return the arguments and options of a call, from its fields."""
    fields = [*fields_of(call.asks).values()]
    if call.verb == "tell":  # gradient or value, as the session takes
        about = "Its gradient, as [0.5, -1], or value; - for standard input."
        fields = [fields[0], fields[1]._replace(name="feedback", about=about, default=...)]
    options = [_option(call, field) for field in fields]
    if call.verb == "ask":
        count = Annotated[int | None, typer.Option(min=0, help="Rounds to begin, in one transaction.")]
        options.append(_parameter("count", count, None))
    if call.verb == "resize":
        options.append(_parameter("unlimited", _UNLIMITED, False))
    if call.verb == "export":
        about = "Write all of it to a file instead, for import."
        options.append(_parameter("whole", Annotated[str | None, typer.Option(help=about, metavar="FILE")], None))
    if call.many is not None and not _takes_ids(call):
        about = f"Read JSON lines with {', '.join(call.asks._fields)}, in one transaction."
        options.append(_parameter("many", Annotated[bool, typer.Option("--many", help=about)], False))
    return sorted(options, key=lambda option: not _is_argument(option))


def _takes_ids(call: Call) -> bool:
    """Return whether ids are the command's arguments, or read as lines from standard input."""
    return call.verb == "ask" or (call.many is not None and call.many.has_bare_ids)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option(call: Call | None, field: Field) -> inspect.Parameter:
    """Return a field as an argument or an option."""
    name, kind = field.name, _type_of(field)
    verb = "" if call is None else call.verb
    if call is not None and name == "id" and _takes_ids(call):
        about = typer.Argument(help="Ids, or - for JSON lines of them.")
        return (
            _parameter("ids", Annotated[list[str] | None, about], None)
            if verb == "ask"
            else _parameter("ids", Annotated[list[str], about])
        )
    if kind is not bool and (field.default is ... or (verb, name) in _ARGUMENTS) and call is not None:
        is_needed = field.default is ... and call.many is None
        argument: Any = Annotated[kind if is_needed else kind | None, typer.Argument(help=field.about)]
        return _parameter(name, argument) if is_needed else _parameter(name, argument, None)
    words = [f"--{name.replace('_', '-')}", *_ALSO.get(name, ())]
    if kind is bool:
        words = [] if field.default is True else words
        return _parameter(name, Annotated[bool, typer.Option(*words, help=field.about)], bool(field.default))
    is_said = isinstance(field.default, (int, float, str)) and field.default
    default = f" (default: {field.default})" if is_said and "(default" not in field.about else ""
    return _parameter(name, Annotated[kind | None, typer.Option(*words, help=f"{field.about}{default}")], None)


def _type_of(field: Field) -> Any:
    """Return the type of an option, from the field's schema."""
    kinds = {part.get("type") for part in _parts(field.form.schema)}
    if "array" in kinds and "integer" in kinds:
        return list[int]
    if "string" in kinds or not kinds - {"null", None} or "array" in kinds:
        return str
    return bool if "boolean" in kinds else float if "number" in kinds else int


def _parts(schema: Any) -> Iterator[Any]:
    yield schema
    for part in schema.get("anyOf", ()):
        yield from _parts(part)


def _is_json(field: Field) -> bool:
    return field.form.schema == {}


_WORDS = {"label": "the label", "missing": "--missing", "features": "features"}


def _asked(call: Call, target: Any, given: Line) -> Any:
    """Return what the arguments ask; the library's own checks say what is wrong with it."""
    if _takes_ids(call):
        return _asked_of_ids(call, target, given)
    fields = fields_of(call.asks)
    if call.many is not None:
        is_many, others = given.pop("many"), [name for name in given if given[name] is not None]
        needed = [name for name in given if call.verb in ("label", "tell") and (name in ("id", "label", "feedback"))]
        if needed and (is_many != (given["id"] is None) or any(is_many != (given[name] is None) for name in needed)):
            raise ValueError(_ONE_OR_MANY[call.verb])
        if is_many and others:
            raise ValueError(_ONE_OR_MANY[call.verb])
        if is_many:
            names = [*fields] if call.verb != "tell" else ["id", target.takes.feedback]
            rows = read_lines(*names)
            for name in names:
                if fields[name].default is ... or call.verb == "tell":
                    column(rows, name)
            return [call.asks(**row) for row in rows]
    values = {name: value for name, value in given.items() if value is not None}
    if call.verb == "tell":
        kind = target.takes.feedback
        values[kind] = read_value(values.pop("feedback"), f"the {kind}")
    for name in values:
        if name in fields and _is_json(fields[name]):
            values[name] = read_value(values[name], _WORDS[name])
    if "id" in values:
        (values["id"],) = as_ids(target, [values["id"]])
    if call.verb == "resize" and values.pop("unlimited"):
        values["capacity"] = as_capacity(values.get("capacity"), True)
    if call.verb == "ack":
        values["number"] = values["number"][0] if len(values["number"]) == 1 else values["number"]
    return call.asks(**values)


_ONE_OR_MANY = {
    "decide": "--many reads features, ids, delays and sizes from standard input: leave the others out",
    "label": "give an id and its label, or --many with JSON lines on standard input",
    "tell": "give an id and its feedback, or --many with JSON lines on standard input",
}


def _asked_of_ids(call: Call, target: Any, given: Line) -> list[Any]:
    """Return a row for each id that was given, or for each line of standard input."""
    ids, count = given.pop("ids"), given.pop("count", None)
    if ids and count is not None:
        raise ValueError("give ids or --count, and not both")
    fields = fields_of(call.asks)
    shared = {name: value for name, value in given.items() if value is not None}
    for name in shared:
        if _is_json(fields[name]):
            shared[name] = read_value(shared[name], _WORDS[name])
    if "size" in shared:
        as_size(shared["size"])  # of all of them: no row is to blame
    if ids == [STANDARD_INPUT]:
        rows = read_lines(*(["id"] if call.verb != "ask" else fields))
        if call.verb != "ask":
            column(rows, "id")
    elif ids:
        rows = [{"id": id} for id in as_ids(target, ids)]
    else:
        rows = [{} for _ in range(1 if count is None else count)]
    return [call.asks(**(shared | row)) for row in rows]


def as_capacity(capacity: int | None, unlimited: bool) -> int | None:
    """Return the capacity, None for no limit; exactly one of the two must be said."""
    if unlimited == (capacity is not None):
        raise ValueError("give --capacity N, the decisions that may wait at once, or --unlimited: one of the two")
    return capacity


def as_ids(target: Any, texts: Sequence[str]) -> list[Hashable]:
    """Return ids from arguments: texts, but numbers where rounds go by their numbers."""
    is_numbered = any(text.isascii() and text.isdigit() for text in texts) and target.is_numbered
    return [int(text) if is_numbered and text.isascii() and text.isdigit() else text for text in texts]


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


# From answers to what is printed.


def _printed(call: Call, asked: Any, answer: Any) -> Sheet | list[Line] | Line:
    """Return an answer as it is printed: lines, a sheet, or facts."""
    if isinstance(answer, list):
        return [row._asdict() for row in answer]
    if call.many is not None:
        return [answer._asdict()]
    if callable(getattr(type(answer), "rows", None)):
        return Sheet(answer, answer.rows())
    if call.verb == "ledger":
        counts = {"rounds": answer.rounds, **answer.fates, "sum": answer.sum}
        return Sheet(call.give(answer), counts, answer.last or ())
    first = answer[0] if isinstance(answer[0], list) else None
    if first is not None and (call.is_look or call.following):
        return [part if isinstance(part, dict) and not is_bytes(part) else _line(part) for part in first]
    facts: Line = call.give(answer) if call.verb == "export" else answer._asdict()
    said = asked._asdict() if call.verb == "resize" else {}
    return {name: value for name, value in said.items() if name in written(asked)} | facts


def _line(part: Any) -> Line:
    line: Line = part._asdict() if hasattr(part, "_asdict") else {"id": part}
    return line


def show(answer: Sheet | list[Line], output: Format | None) -> None:
    """Print an answer as JSON or as a table; exit with 1 if an id of its lines was unknown or forgotten."""
    try:
        if not is_json(output):
            _print_tables(answer)
        elif isinstance(answer, Sheet):
            typer.echo(json.dumps(dump(answer.value), indent=2, allow_nan=False))
        else:
            for line in answer:
                typer.echo(json.dumps(dump(line), allow_nan=False))
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
        words = {line.get("status", line.get("fate")) for line in answer}
        if words & {Answer.UNKNOWN, Answer.LATE}:
            raise typer.Exit(ABSENT)


def _print_tables(answer: Sheet | list[Line]) -> None:
    # Imported here, since JSON is for programs, which call often and need no tables.
    from tarry.reports.table import Table

    if isinstance(answer, Sheet):
        rows = [(name, str(value)) for name, value in answer.rows.items()]
        screen().print(Table("", ("", ""), rows, text=("",), wrap=("",), gap=2).rich())
    lines = [dump(line) for line in (answer.lines if isinstance(answer, Sheet) else answer)]
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


# The commands.


def _add_calls(kind: type[StoredObject], app: typer.Typer) -> None:
    for call in calls_of(kind._kind).values():
        add_command(
            app, call.verb, call.about, _options_of(call), LOOKS if call.is_look else CHANGES, partial(_do, kind, call)
        )


def _do(kind: type[StoredObject], call: Call, where: Line, **given: Any) -> Any:
    """Make one call of the table."""
    whole = given.pop("whole", None)
    with opened(kind, where, is_little=kind is LabelJoin and not given.get("many")) as target:
        if whole is not None:
            Path(whole).write_bytes(_here(where, target).to_bytes())
            return {"to": whole, **_extent(target)}
        asked = _asked(call, target, given)
        return _printed(call, asked, perform(target, call, asked))


def _here(where: Line, target: Any) -> Any:
    """Refuse what is done on a store alone."""
    if where.get("url") is not None:
        raise ArgumentError("url", "is no place for this", where["url"], "run it where the store is, with --store")
    return target


def _new(kind: type[StoredObject], where: Line, **given: Any) -> Line:
    """Make a join or session, or find that the same one is there."""
    wants: Any = NewJoin if kind is LabelJoin else NewSession
    plain = {name: value for name, value in given.items() if value is not None}
    if kind is LabelJoin:
        plain["capacity"] = as_capacity(plain.get("capacity"), plain.pop("unlimited"))
    if "missing" in plain:
        plain["missing"] = read_value(plain["missing"], "--missing")
    for name in ("scheduler", "player", "domain"):
        if name in plain:
            plain[name] = own.read_member(name, plain[name])
    wanted = load(wants, plain)
    if where["url"] is not None:
        with _connected(where["url"]) as server:
            told: Line = server.make("joins" if kind is LabelJoin else "sessions", where["name"], wanted)
            return told
    place = {option: where[option] for option in ("store", "name", "durability")}
    if kind is LabelJoin:
        scheduler, rules = join_of(wanted, where["own"])
        facts: Line = {"scheduler": name_of(scheduler), **rules}
        made: Any = LabelJoin(scheduler=scheduler, rng=wanted.seed, **rules, **place)
    else:
        chosen, rules = session_of(wanted, where["own"])
        members = {"learner": type(chosen.learner).__name__, "scheduler": type(chosen.scheduler).__name__}
        facts = {**members, "reason": chosen.reason, "is_proved": chosen.is_proved, **rules}
        made = Session(chosen.player, rng=wanted.seed, **rules, **place)
    with made:
        return {**facts, "rounds": made.status().rounds}


def _call(kind: type[StoredObject], where: Line, name: str | None) -> None:
    """Read calls as JSON lines from standard input, and answer each with a line, as the service does.

    A line is an object with the verb as "call" and the fields of the body: {"call": "decide", "id": "a"}. One that is
    refused is answered {"problem": …}, and the next one is read.
    """
    is_refused = False
    with opened(kind, where if name is None else where | {"name": name}) as target:
        for number, line in enumerate(sys.stdin, 1):
            if not line.strip():
                continue
            try:
                plain = _loaded(line, f"line {number}", "is not JSON: {}")
                answer = _answered(kind, target, plain, number)
            except (ValueError, TypeError, TarryError) as error:
                is_refused, answer = True, {"problem": str(error)}
                if isinstance(error, ArgumentError):
                    answer |= {"name": error.name, "remedy": error.remedy}
            typer.echo(json.dumps(dump(answer), allow_nan=False))
            sys.stdout.flush()
    if is_refused:
        raise typer.Exit(ABSENT)


def _answered(kind: type[StoredObject], target: Any, plain: Any, number: int) -> Any:
    calls = calls_of(kind._kind)
    if not isinstance(plain, dict) or plain.get("call") not in calls:
        raise ValueError(f'line {number} names no call: write {{"call": VERB, …}} with one of {", ".join(calls)}')
    call = calls[plain.pop("call")]
    asked = load_asked(call, plain)
    answer = perform(target, call, asked)
    return {call.many.answers: answer} if call.many is not None and isinstance(asked, list) else answer


def _import(kind: type[StoredObject], where: Line, file: str) -> Line:
    """Make in a store what export --whole has written: it goes on from there, bit for bit."""
    mine = where.pop("own")
    with kind.import_from(file, **where, members=None if mine is None else mine.kinds) as made:
        return _extent(made)


def _copy(kind: type[StoredObject], where: Line, to: str, to_name: str | None) -> Line:
    """Copy it to another store, or under another name: the copy goes on as this one would, bit for bit."""
    name = where["name"] if to_name is None else to_name
    durability = where.pop("durability")
    with opened(kind, where | {"url": None}) as source, source.copy_to(to, name=name, durability=durability) as made:
        return {"to": without_password(to), "to_name": name, **_extent(made)}


def _extent(made: StoredObject) -> Line:
    status = made.status()
    return {"rounds": status.rounds, "tracked": status.tracked}


def _add_others(kind: type[StoredObject], app: typer.Typer) -> None:
    """Add what is no call of the table."""
    wants: Any = NewJoin if kind is LabelJoin else NewSession
    options = [_option(None, field) for field in fields_of(wants).values()]
    if kind is LabelJoin:
        options.insert(1, _parameter("unlimited", _UNLIMITED, False))
    add_command(app, "new", str(_new.__doc__), options, CHANGES, partial(_new, kind))
    name = _parameter("name", Annotated[str | None, typer.Argument(help="Which one in the store.")], None)
    shared = tuple(option for option in CHANGES if option not in ("name", "output"))
    add_command(app, "call", str(_call.__doc__), [name], shared, partial(_call_named, kind))
    file = Annotated[str, typer.Argument(help="The file that export --whole has written.")]
    here = ("store", "name", "durability", "members", "output")
    add_command(app, "import", str(_import.__doc__), [_parameter("file", file)], here, partial(_import, kind))
    to = Annotated[str, typer.Argument(help="The other store: sqlite:///file.db or postgresql://user@host/database.")]
    to_name = Annotated[str | None, typer.Option(help="Its name there (default: the same).")]
    places = [_parameter("to", to), _parameter("to_name", to_name, None)]
    add_command(app, "copy", str(_copy.__doc__), places, here, partial(_copy, kind))


def _call_named(kind: type[StoredObject], where: Line, name: str | None = None) -> None:
    _call(kind, {"name": MAIN, **where}, name)


for _kind, _app in APPS.items():
    _add_others(_kind, _app)
    _add_calls(_kind, _app)
