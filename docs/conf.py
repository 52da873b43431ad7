"""Sphinx's settings: one strict site from Markdown pages, docstrings and the command line's own help."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from tarry import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # examples and studies stand beside the package

project, author, copyright = "Tarry", "The Tarry developers", "The Tarry developers"
version = release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
exclude_patterns = ["_site", "_templates"]
html_theme = "furo"
html_title = "Tarry"
html_static_path = ["_static"]
html_css_files = ["tarry.css"]
html_show_sphinx = False
pygments_style, pygments_dark_style = "friendly", "monokai"
# Types are in the signatures; a second list of them says nothing more.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
suppress_warnings = ["myst.header"]  # some pages begin below the first level

# Rooms in the order in which a reader meets them.
ROOMS = ("live", "game", "players", "learners", "schedulers", "rates", "domains", "losses", "delays", "planning")
ROOMS += ("experiments", "reports", "adapters", "testing", "theory", "errors")
ADAPTERS = ("river", "sklearn", "torch", "spark", "vw", "gym")


def public_names(module: Any) -> list[str]:
    """Return the names that a module defines for others, as its ``__all__`` or its own classes and functions."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if not inspect.ismodule(getattr(module, name))]
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "").startswith(module.__name__)
    ]


def directive(path: str, thing: Any) -> str:
    """Return the directive that documents one name."""
    if inspect.isclass(thing):
        return f".. autoclass:: {path}\n   :members:\n"
    return f".. auto{'function' if callable(thing) else 'data'}:: {path}\n"


def write_reference(app: Any) -> None:
    """Write a page of the API for each room, from what the room exports."""
    folder = HERE / "reference" / "api"
    folder.mkdir(exist_ok=True)
    seen: set[int] = set()
    for room in ROOMS:
        names = [f"tarry.adapters.{name}" for name in ADAPTERS] if room == "adapters" else [f"tarry.{room}"]
        parts = [f"tarry.{room}\n{'=' * (len(room) + 6)}\n"]
        for name in names:
            try:
                module = importlib.import_module(name)
            except ImportError:  # an adapter whose package is not installed
                continue
            title = f"\n{name}\n{'-' * len(name)}\n" if len(names) > 1 else ""
            parts.append(f"{title}\n.. automodule:: {name}\n   :no-members:\n\n.. currentmodule:: {name}\n")
            for public in public_names(module):
                thing = getattr(module, public)
                if id(thing) not in seen:  # every name once, in the first room that has it
                    seen.add(id(thing))
                    parts.append(directive(f"{name}.{public}", thing))
        text = "\n".join(parts)
        page = folder / f"{room}.rst"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def skip_others(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a named tuple says of its fields ("Alias for field number 0"), and other packages' methods."""
    is_field = "Alias for field number" in (getattr(thing, "__doc__", None) or "")
    is_theirs = inspect.isroutine(thing) and not (getattr(thing, "__module__", None) or "tarry").startswith("tarry")
    return True if is_field or is_theirs else None


def keep_formulas(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Have formulas printed as they stand: indented lines as code, and bars, which the markup would take for marks."""
    kept: list[str] = []
    for line in lines:
        is_formula = line.startswith("    ")
        if is_formula and not (kept and (kept[-1].startswith("    ") or kept[-1] != "")):
            kept += ["::", ""]
        # Every other part lies between the marks of code, where nothing is marked up.
        parts = line.split("``")
        plain = "``".join(part if j % 2 else part.replace("|", "\\|") for j, part in enumerate(parts))
        kept.append(line if is_formula else plain)
    lines[:] = kept


def write_commands(app: Any) -> None:
    """Write the page of the command line from its own help."""
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from tarry.cli.app import app as commands

    command = get_command(commands)
    text = get_docs_for_click(obj=command, ctx=command.make_context("tarry", [], resilient_parsing=True), name="tarry")
    (HERE / "reference" / "commands.md").write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Connect what is written before the pages are read."""
    app.connect("builder-inited", write_reference)
    app.connect("builder-inited", write_commands)
    app.connect("autodoc-skip-member", skip_others)
    app.connect("autodoc-process-docstring", keep_formulas)
