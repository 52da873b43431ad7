"""Blocks of code on the pages, and whether a page shows what they print.

``python shown.py SCRIPT`` runs a script, and fails where a comment beside a ``print`` is not what was printed.

* A comment on the line of a ``print`` is what is printed there; ``: `` may follow, and words about it. What is printed
  several times is joined by ``, then ``.
* A block of text is what the block before it prints. In a console, output stands under its command.
* ``…`` stands for anything within a line; on a line of its own, for lines.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", flags=re.S | re.M)


class Block(NamedTuple):
    """A block of code, or of what code prints."""

    page: str
    line: int
    language: str
    text: str


def pages() -> dict[str, str]:
    """Return the pages that are kept, by their path below docs/, without those that the site's build writes."""
    made = {f"reference/{name}.md" for name in ("commands", "http", "settings", "errors")}
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    named = {path.relative_to(ROOT).as_posix().removeprefix("docs/"): path for path in paths}
    return {name: path.read_text(encoding="utf-8") for name, path in named.items() if name not in made}


def blocks_of(page: str, text: str) -> list[Block]:
    """Return the blocks of a page in their order, without the directives of the site."""
    found = [Block(page, text[: at.start()].count("\n") + 1, at[1].strip(), at[2]) for at in FENCE.finditer(text)]
    return [block for block in found if not block.language.startswith("{")]


def outputs_after(blocks: list[Block], block: Block) -> list[str]:
    """Return the blocks of text between a block and the next one that runs."""
    found = []
    for other in blocks[blocks.index(block) + 1 :]:
        if other.language in ("python", "sh", "console"):
            break
        if other.language == "text":
            found.append(other.text)
    return found


def is_shown(shown: str, printed: str) -> bool:
    """Whether this is what was printed, line by line, but for blanks at the ends of lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "…" else ".*?".join(map(re.escape, line.rstrip().split("…"))) + r"\n"
        for line in shown.strip("\n").splitlines()
    )
    bare = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, bare) is not None


def run_block(text: str, name: str, namespace: dict[str, Any]) -> None:
    """Run a block; raise AssertionError where a comment on the line of a ``print`` is not what was printed."""
    said: list[tuple[int, str]] = []

    def tell(*values: Any, **options: Any) -> None:
        heard = io.StringIO()
        show(*values, **{**options, "file": heard})
        said.append((sys._getframe(1).f_lineno, heard.getvalue()))
        show(*values, **options)

    show, namespace["print"] = print, tell
    exec(compile(text, name, "exec"), namespace)
    for first, last, comment in comments_of_prints(text):
        printed = ", then ".join(one.strip() for line, one in said if first <= line <= last)
        ends = [at.start() for at in re.finditer(": ", comment)]
        shown = [comment, *(comment[:end] for end in ends)]
        assert any(is_shown(one, printed) for one in shown), f"{name}, line {last} shows {comment}, printed: {printed}"


def comments_of_prints(text: str) -> list[tuple[int, int, str]]:
    """Return the first and last line of each ``print`` that has a comment, and the comment."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    printing = [(node.lineno, node.end_lineno) for node in calls if getattr(node.func, "id", "") == "print"]
    return [(first, last, comments[last]) for first, last in printing if last in comments]


if __name__ == "__main__":
    # As a script of its own: without the helpers beside this file, and with classes that are found in __main__.
    script = Path(sys.argv[1])
    sys.path[0] = str(script.parent)
    own, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    sys.modules["__main__"].__file__ = str(script)
    run_block(script.read_text(encoding="utf-8"), str(script), vars(sys.modules["__main__"]))
