"""A sweep as data: what a file may say, validated and frozen.

Needs pydantic (the extra ``cli``), and is therefore imported where a file is read and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field, PlainValidator, Tag, ValidationError
from pydantic_core import PydanticCustomError

from tarry.checks import pick
from tarry.experiments.columns import GAME_PARTS
from tarry.experiments.files import Text, is_data
from tarry.experiments.members import Spec, check
from tarry.experiments.own import Own
from tarry.experiments.sweep import BEST

AXIS = "axis."
UNLIMITED = "unlimited"
MOST = 2**63 - 1  # results keep whole numbers in 64 bits


def is_reference(value: Any) -> bool:
    """Return whether this stands for a value of an axis."""
    return isinstance(value, str) and value.startswith(AXIS)


def _refused(wanted: str) -> PydanticCustomError:
    return PydanticCustomError("wanted", "{wanted}", {"wanted": wanted})


def _whole(least: int, *words: str) -> Callable[[Any], Any]:
    """Return a validator of whole numbers from ``least`` on, or one of the words."""

    def validate(value: Any) -> Any:
        if value in words and isinstance(value, str):
            return value
        if type(value) is not int or value < least:  # true and 3.0 are not meant
            raise _refused(" or ".join([f"a whole number of at least {least}", *map(repr, words)]))
        if value > MOST:
            raise _refused(f"a whole number of at most {MOST}")
        return value

    return validate


def _member(value: Any) -> Any:
    if not isinstance(value, (str, dict)):
        raise _refused("a name or a table")
    return value


def _comparator(value: Any) -> Any:
    if value in ("best", "none") if isinstance(value, str) else is_data(value):
        return value
    rows = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    if not all(isinstance(row, list) and row and all(type(number) in (int, float) for number in row) for row in rows):
        raise _refused("'best', 'none', an action (a list of numbers), a path (a list of actions) or a file")
    return value


Whole = Annotated[int, PlainValidator(_whole(1))]
Seed = Annotated[int, PlainValidator(_whole(0))]
Slots = Annotated[int | str, PlainValidator(_whole(1, UNLIMITED))]
Member = Annotated[str | Spec, PlainValidator(_member)]
Flag = Annotated[bool, Field(strict=True)]
Values = Annotated[list[Any], Field(min_length=1)]


class Model(pydantic.BaseModel):
    """A table of a file: frozen, and of known keys only."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")


class GameTable(Model):
    """``[games.NAME]``: a game, but for what axes say."""

    domain: Member = "Ball"
    losses: Member | None = None
    delays: Member | None = None
    feedback: Literal["gradient", "value", "example"] = "gradient"
    queries: Whole = 1
    information: Literal["clairvoyant", "semi-clairvoyant", "non-clairvoyant"] = "semi-clairvoyant"
    preemption: Flag = True
    capacity: Slots = UNLIMITED
    horizon: Whole | None = None
    dimension: Whole | None = None

    @pydantic.field_validator("*", mode="wrap")
    @classmethod
    def _later(cls, value: Any, check: pydantic.ValidatorFunctionWrapHandler) -> Any:
        # What an axis gives is checked once its values are put in.
        return value if is_reference(value) else check(value)


class PlayerTable(Model):
    """``[players.NAME]``: a ready player, or a learner with its scheduler."""

    player: Member | None = None
    learner: Member | None = None
    scheduler: Member = "VarOpt"
    epochs: Member | None = None


class SeedTable(Model):
    """``seeds = {first = 100, count = 20}``."""

    first: Seed = 0
    count: Whole


# The shapes in which seeds are given. Pydantic puts these tags into an error's location, where no key may look alike.
COUNT, LIST, TABLE = "<count>", "<list>", "<table>"


def _shape(seeds: Any) -> str:
    return TABLE if isinstance(seeds, (dict, SeedTable)) else LIST if isinstance(seeds, list) else COUNT


Seeds = Annotated[
    Annotated[Whole, Tag(COUNT)] | Annotated[list[Seed], Tag(LIST)] | Annotated[SeedTable, Tag(TABLE)],
    pydantic.Discriminator(_shape),
]


class BlockTable(Model):
    """``[[blocks]]``: some games against some players (default: all), along axes of its own."""

    games: list[str] | None = None
    players: list[str] | None = None
    axes: dict[str, Values] = {}
    seeds: Seeds | None = None


class SweepTable(Model):
    """The whole file."""

    format: Literal[1] = 1
    name: str | None = None
    seeds: Seeds = 16
    seeds_per_cell: Whole = 16
    checkpoints: Whole = 100
    bound: Flag = True
    comparator: Annotated[Any, PlainValidator(_comparator)] = BEST
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    axes: dict[str, Values] = {}
    games: Annotated[dict[str, GameTable], Field(min_length=1)]
    players: Annotated[dict[str, PlayerTable], Field(min_length=1)]
    blocks: list[BlockTable] = []


TABLES: dict[str, type[Model]] = {"games": GameTable, "players": PlayerTable, "blocks": BlockTable, "seeds": SeedTable}
# What pydantic's own errors mean by what they would have taken; the others say it in their message.
WANTED = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "list_type": "a list",
    "model_type": "a table",
    "string_type": "a name",
    "too_short": "a list with something in it",
}


def read_sweep(path: Path) -> tuple[SweepTable, Text]:
    """Return the file's sweep; raise ValueError with file, key, value and choices where it is wrong."""
    text = Text(path)
    try:
        return SweepTable.model_validate(text.tree), text
    except ValidationError as error:
        raise ValueError(_sentence(error, text)) from error


def check_value(name: str, value: Any, place: str, own: Own) -> Any:
    """Return an axis's value for a key of the game, as the game itself would take it."""
    if name in GAME_PARTS:
        return check(name, value, place, own)
    field = GameTable.model_fields[name]
    kind: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    try:
        return pydantic.TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise ValueError(f"{place}: must be {_wanted(error.errors()[0])}, got {value!r}") from error


def seed_numbers(seeds: Any) -> list[int]:
    """Return the seeds themselves; raise ValueError where the last one is too large."""
    if isinstance(seeds, SeedTable):
        if (last := seeds.first + seeds.count - 1) > MOST:
            raise ValueError(f"seeds must be at most {MOST}, got {last} as the last one: begin earlier or take fewer")
        return list(range(seeds.first, seeds.first + seeds.count))
    return list(range(seeds)) if isinstance(seeds, int) else list(seeds)


def _sentence(error: ValidationError, text: Text) -> str:
    errors = error.errors()
    # A misspelt key comes first, since it explains a missing one.
    first = next((problem for problem in errors if problem["type"] == "extra_forbidden"), errors[0])
    key = [part for part in first["loc"] if part not in (COUNT, LIST, TABLE)]
    place = text.place(*key)
    if first["type"] == "extra_forbidden":
        room = "seeds" if TABLE in first["loc"] else str(key[0]) if len(key) > 1 else ""
        try:
            pick(str(key[-1]), TABLES.get(room, SweepTable).model_fields, place, what="key")
        except ValueError as unknown:
            return str(unknown)
    if first["type"] == "missing":
        return f"{place}: is missing" + ("; a sweep needs [games.NAME] and [players.NAME]" if len(key) == 1 else "")
    return f"{place}: must be {_wanted(first)}, got {first['input']!r}"


def _wanted(problem: Any) -> str:
    """Return what would have been taken, in words."""
    if problem["type"] == "literal_error":
        return str(problem["ctx"]["expected"])
    # A value in no shape of seeds at all is held against the simplest one.
    if problem["type"] == "wanted" and problem["loc"][-1:] == (COUNT,):
        return f"{problem['msg']}, a list or a table"
    return WANTED.get(problem["type"]) or str(problem["msg"])
