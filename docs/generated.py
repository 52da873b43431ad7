"""Write the pages of the reference from what the package says of itself, before Sphinx reads the sources."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from textwrap import indent
from typing import Any

from typeset import typeset_docstring

HERE = Path(__file__).parent
SOURCES = HERE.parent / "src" / "tarry"
# Rooms in the order in which a reader meets them.
ROOMS = ("live", "game", "players", "learners", "schedulers", "rates", "domains", "losses", "delays", "planning")
ROOMS += ("cases", "experiments", "reports", "adapters", "client", "testing", "theory", "errors")
ADAPTERS = ("river", "sklearn", "torch", "spark", "vw")


def write_pages(app: Any) -> None:
    """Write every generated page that has changed."""
    for page, text in {**api_pages(), **other_pages()}.items():
        path = HERE / "reference" / page
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def other_pages() -> dict[str, str]:
    """Return the pages besides the API, by file."""
    return {
        "commands.md": commands_page(),
        "http.md": http_page(),
        "settings.md": settings_page(),
        "errors.md": errors_page(),
    }


def api_pages() -> dict[str, str]:
    """Return a page of the API for each room, from what the room exports; every name stands once."""
    seen: dict[int, str] = {}
    pages = {f"api/{room}.rst": room_page(room, seen) for room in ROOMS}
    # Last, so that it has what no room has; it leads to all else that is imported from the package itself.
    return pages | {"api/tarry.rst": room_page("tarry", seen)}


def room_page(room: str, seen: dict[int, str]) -> str:
    """Return the page of a room: what it exports and earlier rooms have not, and links to what they have."""
    name = "tarry" if room == "tarry" else f"tarry.{room}"
    parts = [f"{name}\n{'=' * len(name)}\n"]
    modules = [f"tarry.adapters.{adapter}" for adapter in ADAPTERS] if room == "adapters" else [name]
    for path in modules:
        try:
            module = importlib.import_module(path)
        except ImportError:  # an adapter whose package is not installed
            continue
        title = f"\n{path}\n{'-' * len(path)}\n" if len(modules) > 1 else ""
        parts.append(f"{title}\n.. automodule:: {path}\n   :no-members:\n\n.. currentmodule:: {path}\n")
        things = {f"{path}.{public}": getattr(module, public) for public in public_names(module)}
        if room == "tarry":
            parts.append("Described with their rooms:\n")
            parts += [f"* :py:obj:`{own} <{seen[id(thing)]}>`" for own, thing in things.items() if id(thing) in seen]
            parts.append("")
        for own, thing in things.items():
            if id(thing) not in seen:
                seen[id(thing)] = own
                parts.append(directive(own, thing))
    return "\n".join(parts)


def public_names(module: Any) -> list[str]:
    """Return the names that a module defines for others, as its ``__all__`` or its own classes and functions."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if name[0] != "_" and not inspect.ismodule(getattr(module, name))]
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "").startswith(module.__name__)
    ]


def directive(path: str, thing: Any) -> str:
    """Return the directive that documents one name."""
    if inspect.isclass(thing) and thing.__name__ != path.rpartition(".")[2]:
        return _as_function(path, thing)
    if inspect.isclass(thing):
        values = ", ".join(f"``{one.name}`` ({one.value})" for one in thing) if issubclass(thing, Enum) else ""
        return f".. autoclass:: {path}\n   :members:\n" + (f"\n   Its values: {values}.\n" if values else "")
    if callable(thing):
        return f".. autofunction:: {path}\n"
    # A table of members: its type's own docstring would say nothing of it. Its module stands above it.
    names = ", ".join(f"``{getattr(one, 'name', one)}``" for one in thing)
    return f".. data:: {path.rpartition('.')[2]}\n\n   The names that it knows: {names}.\n"


def _as_function(path: str, thing: type) -> str:
    """Return a class under another name, such as a law of delays, as the function that it is to its callers."""
    asked = inspect.signature(thing)
    bare = [one.replace(annotation=one.empty) for one in asked.parameters.values()]
    lines = inspect.cleandoc(thing.__doc__ or "").splitlines()
    typeset_docstring(None, "", path, thing, None, lines)
    return (
        f".. function:: {path.rpartition('.')[2]}{asked.replace(parameters=bare)}\n\n"
        + indent("\n".join(lines), "   ")
        + "\n"
    )


def commands_page() -> str:
    """Return the page of the command line from its own help."""
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from tarry.cli.app import COMMANDS, app, load

    command: Any = get_command(app)
    # The table has a line for each until one is run.
    command.commands = {name: load(name) for name in COMMANDS} | {"versions": command.commands["versions"]}
    for one in command.commands.values():
        # The list of commands has a first sentence whole.
        one.short_help = (one.help or "").split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip(".") + "."
    text = get_docs_for_click(obj=command, ctx=command.make_context("tarry", [], resilient_parsing=True), name="tarry")
    return text.replace("# `tarry`", "# Command line", 1)


def http_page() -> str:
    """Return the page of the HTTP API from its OpenAPI description."""
    import httpx

    from tarry.service.app import make_app
    from tarry.service.settings import Settings

    transport = httpx.ASGITransport(make_app(Settings()))

    async def ask() -> Any:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.get("/openapi.json")).raise_for_status().json()

    described = asyncio.run(ask())
    schemas = described["components"]["schemas"]
    lines = [
        "# HTTP API",
        "",
        f"{described['info']['summary']} Made from the OpenAPI description that a server gives at",
    ]
    lines += ["`/openapi.json`. [The service](../service.md) shows it by example.", ""]
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            told = operation.get("description") or operation.get("summary", "") + "."
            lines += [f"## `{method.upper()} {path}`", "", told.strip(), ""]
            given = operation.get("parameters", [])
            fields = [(one["name"], one["schema"], one.get("required"), one.get("description")) for one in given]
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            lines += field_table("Asked", fields + schema_fields(body, schemas))
            good = next((a for code, a in operation["responses"].items() if code.startswith("2")), {})
            answer = good.get("content", {}).get("application/json", {}).get("schema", {})
            lines += field_table("Answered", schema_fields(answer, schemas))
    return "\n".join(lines) + "\n"


def schema_fields(schema: dict[str, Any], schemas: dict[str, Any]) -> list[tuple[str, Any, Any, Any]]:
    """Return name, type, whether it must be given, and meaning of each field of a schema."""
    found = schemas.get(schema.get("$ref", "").rpartition("/")[2], schema)
    either = found.get("anyOf", found.get("oneOf", []))
    if either:
        return list({field[0]: field for one in either for field in schema_fields(one, schemas)}.values())
    must = found.get("required", [])
    return [(name, one, name in must, one.get("description")) for name, one in found.get("properties", {}).items()]


def field_table(title: str, fields: list[tuple[str, Any, Any, Any]]) -> list[str]:
    """Return a table of fields in Markdown, or nothing."""
    if not fields:
        return []
    rows = [
        f"| `{name}` | {kind_of(schema)} | {'yes' if must else ''} | {' '.join((meaning or '').split())} |"
        for name, schema, must, meaning in fields
    ]
    return [f"| {title} | type | required | meaning |", "|---|---|---|---|", *rows, ""]


def kind_of(schema: dict[str, Any]) -> str:
    """Return the type of a field in a word or two."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind_of(one) for one in schema["anyOf"]))
    if "items" in schema:
        return f"list of {kind_of(schema['items'])}"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    named = schema.get("$ref", "").rpartition("/")[2]
    return str(schema.get("type") or named.removesuffix("-Input").removesuffix("-Output") or "any value")


def settings_page() -> str:
    """Return the page of settings, from the server's own table."""
    from tarry.service.settings import PREFIX, Settings

    rows = [
        f"| `--{name.replace('_', '-')}` | `{PREFIX}{name.upper()}` | `{field.default}` | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return "\n".join(
        [
            "# Configuration",
            "",
            "The library has no file of settings: arguments say everything. Variables of the environment:",
            "",
            "| variable | meaning |",
            "|---|---|",
            "| `TARRY_STORE` | the store of `tarry session` and `tarry join`, unless `--store` says another |",
            "| `TARRY_TOKEN` | the token of `tarry.connect` |",
            "| `NUMBA_CACHE_DIR` | where compiled code is kept |",
            "| `NUMBA_DISABLE_JIT` | 1 runs everything in plain Python, for debuggers |",
            "",
            "## A server",
            "",
            "A flag of `tarry serve` comes before the environment, the environment before the file of `--config`,",
            "the file before the default. Keys of the file are the names of the flags with underscores.",
            "",
            "| flag | variable | default | meaning |",
            "|---|---|---|---|",
            *rows,
            "",
            "## A sweep",
            "",
            "[The file](../experiments.md#the-file) has a table of every key.",
            "",
        ]
    )


def errors_page() -> str:
    """Return the page of error sentences, read off the statements that raise them."""
    lines = [
        "# Error sentences",
        "",
        "Every sentence that Tarry raises, by room: what is wrong, the value, the way out. Braces stand for values.",
        "Search this page for a part of the message you see. The classes are in [tarry.errors](api/errors.rst).",
        "",
    ]
    for room in sorted(path for path in SOURCES.iterdir() if path.is_dir() or path.suffix == ".py"):
        files = [room] if room.is_file() else sorted(room.rglob("*.py"))
        found = sorted({told for file in files for told in sentences(file)})
        if found:
            title = "tarry" if room.stem == "__init__" else f"tarry.{room.stem}"
            lines += [f"## {title}", "", *(f"* `{kind}`: `` {text} ``" for kind, text in found), ""]
    return "\n".join(lines)


def sentences(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the class and the text of each error that a file raises with a text of its own."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            parts = [text for argument in node.exc.args if (text := text_of(argument))]
            if parts and " " in (told := " ".join(" ".join(parts).split())):
                yield ast.unparse(node.exc.func), told.replace("`", "'")


def text_of(node: ast.expr) -> str:
    """Return a text in the source, with braces around what is filled in; empty for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            f"{{{ast.unparse(p.value)}}}" if isinstance(p, ast.FormattedValue) else text_of(p) for p in node.values
        )
    return text_of(node.left) + text_of(node.right) if isinstance(node, ast.BinOp) else ""
