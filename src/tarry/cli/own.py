"""Members of one's own in commands: ``--members mymethods`` imports the module, and options take what is in it by name.

A member is written as in a sweep: its name, or a table, ``'{ type = "Momentum", rate = 0.1 }'``.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tarry.errors import ArgumentError

if TYPE_CHECKING:
    from tarry.experiments.own import Own

MembersOption = Annotated[
    list[str] | None,
    typer.Option(metavar="MODULE", help="Import this module: members of your own, by name (repeat the option)."),
]


def load(members: Sequence[str] | None) -> Own | None:
    """Import the modules that ``--members`` names; raise ValueError where one fails."""
    if not members:
        return None
    from tarry.experiments.own import load_members  # a room that other commands need not load

    look_here()
    return load_members((name, "--members") for name in members)


def look_here() -> None:
    """Let modules be in the working folder too, as for ``python -m tarry``."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)


def read_member(key: str, text: str) -> Any:
    """Return the member that an option means: a name, or a table in TOML or JSON."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return tomllib.loads(f"member = {text}")["member"]
    except tomllib.TOMLDecodeError as error:
        like = """'{ type = "NAME", rate = 0.1 }'"""
        raise ArgumentError(key, f"is a name or a table such as {like}", text, str(error)) from None


def member_of(key: str, text: str, own: Own | None) -> dict[str, Any]:
    """Return the member that an option means, as a sweep would have it; raise ValueError for what is none."""
    from tarry.experiments.members import check
    from tarry.experiments.own import NONE

    return check(key, read_member(key, text), f"--{key}", own or NONE)


def make_member(key: str, member: Mapping[str, Any], **known: Any) -> Any:
    """Return the member; what it leaves out is one of the ``known`` facts, or asked for in a sentence."""
    from tarry.experiments.members import make

    def tell(name: str) -> Any:
        if known.get(name) is None:
            raise ValueError(
                f"--{key}: {member['type']} needs {name}: write '{{ type = \"{member['type']}\", {name} = … }}'"
            )
        return known[name]

    return make(key, dict(member), tell, f"--{key}")


def has_member(key: str, text: str, own: Own | None) -> bool:
    """Return whether an option's text is a table, or names a member of one's own."""
    return text.lstrip().startswith("{") or (own is not None and text.partition(".")[0] in own.names(key))
