"""Typeset indices and powers that pages write as plain text (`h_t`, `Σ_{s∈B_t}`, `T^(3/4)`), when the site is built.

So sources stay readable as text, in an editor and in a diff. Display formulas are LaTeX, which MathJax sets.
"""

from __future__ import annotations

import re
from typing import Any

# Code, formulas, links' targets, HTML and headings, whose anchors are made of their text, stay as they are.
KEPT = re.compile(
    r"^(```|~~~|:::).*?^\1[^\n]*$|^\$\$.*?^\$\$$|^#[^\n]*$|^ {4,}[^\n]*$|(`+).+?\2|\$[^$\n]+\$|\]\([^)\n]*\)|<[^>\n]+>",
    re.S | re.M,
)
MARK = re.compile(r"(?<=[^\s_(])\\?([_^])(\{(?:[^{}]|\{[^{}]*\})*\}|\([^()\n]*\)|[A-Za-z0-9]+|∞|½)")
TAGS = {"_": "sub", "^": "sup"}


def typeset(text: str) -> str:
    """Return Markdown with indices and powers as HTML.

    >>> typeset("E h_t = σ_t, T^(3/4), Σ_{s∈B_t} w_s, `a_b`")
    'E h<sub>t</sub> = σ<sub>t</sub>, T<sup>3/4</sup>, Σ<sub>s∈B<sub>t</sub></sub> w<sub>s</sub>, `a_b`'
    """
    parts, last = [], 0
    for kept in KEPT.finditer(text):
        parts += [_marked(text[last : kept.start()]), kept[0]]
        last = kept.end()
    return "".join([*parts, _marked(text[last:])])


def _marked(text: str) -> str:
    return MARK.sub(lambda found: f"<{TAGS[found[1]]}>{_marked(_bare(found[2]))}</{TAGS[found[1]]}>", text)


def _bare(inside: str) -> str:
    return inside[1:-1] if inside[0] in "{(" else inside


def typeset_page(app: Any, page: str, source: list[str]) -> None:
    """Typeset a page as Sphinx reads it; generated pages have no formulas."""
    if not page.startswith(("reference/", "gallery/")):
        source[0] = typeset(source[0])
