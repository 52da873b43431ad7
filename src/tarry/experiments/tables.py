"""A sweep as data: what a file may say, validated and frozen.

Needs pydantic (the extra ``cli``), and is therefore imported where a file is read and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from tarry.experiments.axes import is_reference
from tarry.experiments.files import Text, read_files
from tarry.experiments.members import Spec, check
from tarry.experiments.words import pick
from tarry.results.columns import GAME_PARTS

UNLIMITED: Literal["unlimited"] = "unlimited"
MOST = 2**63 - 1
"""Results keep whole numbers in 64 bits."""

Whole = Annotated[int, Field(ge=1, le=MOST, strict=True)]
Seed = Annotated[int, Field(ge=0, le=MOST, strict=True)]
Member = str | Spec


class Model(BaseModel):
    """What every table of a file is: frozen, and of known keys only."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class GameTable(Model):
    """``[games.NAME]``: a game, but for what axes say."""

    domain: Member = "Ball"
    losses: Member | None = None
    delays: Member | None = None
    feedback: Literal["gradient", "value", "example"] = "gradient"
    queries: Whole = 1
    information: Literal["clairvoyant", "semi-clairvoyant", "non-clairvoyant"] = "semi-clairvoyant"
    preemption: Annotated[bool, Field(strict=True)] = True
    capacity: Whole | Literal["unlimited"] = UNLIMITED
    horizon: Whole | None = None
    dimension: Whole | None = None

    @field_validator("*", mode="wrap")
    @classmethod
    def _later(cls, value: Any, check: ValidatorFunctionWrapHandler) -> Any:
        """What an axis gives is checked once its values are put in."""
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


Seeds = Whole | list[Seed] | SeedTable
Values = Annotated[list[Any], Field(min_length=1)]


class BlockTable(Model):
    """``[[blocks]]``: some games against some players (default: all), along axes and points of its own."""

    games: list[str] | None = None
    players: list[str] | None = None
    axes: dict[str, Values] = {}
    points: list[Spec] = []
    seeds: Seeds | None = None


class SweepTable(Model):
    """The whole file."""

    format: Literal[1] = 1
    name: str | None = None
    seeds: Seeds = 16
    seeds_per_cell: Whole = 16
    checkpoints: Whole = 100
    bound: Annotated[bool, Field(strict=True)] = True
    axes: dict[str, Values] = {}
    points: list[Spec] = []
    games: Annotated[dict[str, GameTable], Field(min_length=1)]
    players: Annotated[dict[str, PlayerTable], Field(min_length=1)]
    blocks: list[BlockTable] = []


TABLES: dict[str, type[Model]] = {"games": GameTable, "players": PlayerTable, "blocks": BlockTable, "seeds": SeedTable}


def read_sweep(path: Path) -> tuple[SweepTable, Text]:
    """The file's sweep, or a sentence that names file, key, value and choices."""
    text = read_files(path)
    try:
        return SweepTable.model_validate(text.tree), text
    except ValidationError as error:
        raise ValueError(_sentence(error, text)) from error


def check_value(name: str, value: Any, place: str) -> Any:
    """An axis's value for a key of the game, as the game itself would take it."""
    if name in GAME_PARTS:
        return check(name, value, place)
    field = GameTable.model_fields[name]
    kind: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise ValueError(f"{place}: must be {_wanted(error.errors())}, got {value!r}") from error


def seed_numbers(seeds: Any) -> list[int]:
    """The seeds themselves."""
    if isinstance(seeds, SeedTable):
        if (last := seeds.first + seeds.count - 1) > MOST:
            raise ValueError(f"seeds must be at most {MOST}, got {last} as the last one: begin earlier or take fewer")
        return list(range(seeds.first, seeds.first + seeds.count))
    return list(range(seeds)) if isinstance(seeds, int) else list(seeds)


def _sentence(error: ValidationError, text: Text) -> str:
    found = error.errors()
    first = _key(found[0])
    # Of the ways a value may be given, the one that was followed furthest is the one that was meant.
    meant = max((one for one in found if _key(one)[: len(first)] == first), key=lambda one: len(_key(one)))
    key = _key(meant)
    place = text.place(*key)
    for one in found:
        if one["type"] == "extra_forbidden":
            try:
                pick(str(_key(one)[-1]), _known(_key(one)), text.place(*_key(one)), what="key")
            except ValueError as unknown:
                return str(unknown)
    if meant["type"] == "missing":
        return f"{place}: is missing" + ("; a sweep needs [games.NAME] and [players.NAME]" if len(key) == 1 else "")
    wanted = _wanted([one for one in found if _key(one)[: len(key)] == key])
    return f"{place}: must be {wanted}, got {meant['input']!r}"


def _key(one: Any) -> list[Any]:
    return [part for part in one["loc"] if not _is_branch(part)]


def _wanted(errors: list[Any]) -> str:
    """What would have been taken, in words."""
    return " or ".join(dict.fromkeys(_kind(one) for one in errors))


def _kind(one: Any) -> str:
    told, least = one["type"], one.get("ctx", {}).get("ge")
    if told == "literal_error":
        return str(one["ctx"]["expected"])
    if told == "less_than_equal":
        return f"a whole number of at most {one['ctx']['le']}"
    if told.startswith("int") or told == "greater_than_equal":
        return "a whole number" if least is None else f"a whole number of at least {least}"
    words = {"bool_type": "true or false", "list_type": "a list", "too_short": "a list with something in it"}
    tables = {"dict_type": "a table", "model_type": "a table", "string_type": "a name"}
    return (words | tables).get(told) or str(one["msg"])


def _is_branch(part: Any) -> bool:
    """Pydantic's own names for the branches of a union, which no file contains."""
    return isinstance(part, str) and ("[" in part or part in ("int", "str", "constrained-int", "SeedTable"))


def _known(key: list[Any]) -> Mapping[str, Any]:
    table = TABLES.get(str(key[0])) if len(key) > 1 else None
    return (table or SweepTable).model_fields
