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
MARK = re.compile(
    r"(?<=[^\s_(])\\?([_^])(\{(?:[^{}]|\{[^{}]*\})*\}|\([^()\n]*\)|\d+\.\d+|[A-Za-z0-9]{1,3}(?![A-Za-z0-9])"
    r"|(?<![a-z]{2}_)[A-Za-z0-9]+|∞|½)"  # no long index after a word, which is a name such as strongly_convex
)
TAGS = {"_": "sub", "^": "sup"}
# In docstrings names may stand without marks of code: there a letter, and nothing longer, has an index or a power.
LETTER = re.compile(r"(?<!\w)(\w[′\u0302]?|[\])])([_^])(\{[^{}]*\}|\([^()]*\)|[A-Za-z0-9]{1,3}(?![A-Za-z0-9_]))")
ANY = r"~?(?:typing\.)?Any"
# What signatures say beside types that readers know: functions that check, addresses in memory, and no type at all.
NOISE = [
    (r"~?(?:typing\.)?Annotated\[([^,\[\]]+(?:\[[^\]]*\])?), (?:functools\.partial\(<[^>]*>[^()]*\)|<[^>]*>)\]", r"\1"),
    (
        rf"~?(?:numpy\.)?ndarray\[(?:tuple\[{ANY}, \.\.\.\]|{ANY}), ~?(?:numpy\.)?dtype\[~?(?:numpy\.)?(\w+)\]\]",
        r"NDArray[\1]",
    ),
    (r"~?(?:\w+\.)*TypeAliasForwardRef\('(\w+)'\)", r"\1"),
    (r"<function (\w+)>", r"\1"),
    (r"<function <lambda>>|<object object>|Ellipsis", "..."),
    (rf"Callable\[\[(?:{ANY}(?:, )?|\.\.\.)*\], {ANY}\]", "Callable"),
    (rf"(?<=\w)\[{ANY}(?:, {ANY})*\]", ""),
    (rf": {ANY}(?: = |(?=[,)=]))", lambda found: "=" if found[0].endswith(" = ") else ""),
]


def typeset(text: str) -> str:
    """Return Markdown with indices and powers as HTML.

    >>> typeset("E h_t, T^(3/4), T^0.78, Σ_{s∈B_t} w_s, `a_b`")
    'E h<sub>t</sub>, T<sup>3/4</sup>, T<sup>0.78</sup>, Σ<sub>s∈B<sub>t</sub></sub> w<sub>s</sub>, `a_b`'
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


def typeset_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Typeset a docstring: indented formulas as code, indices and powers elsewhere; bars are no marks of anything."""
    kept: list[str] = []
    is_example = False
    for line in lines:
        is_example = line.lstrip().startswith(">>>") or (is_example and line.strip() != "")
        is_formula = line.startswith("    ")
        if is_formula and not (kept and (kept[-1].startswith("    ") or kept[-1] != "")):
            kept += ["::", ""]
        # Every other part lies between the marks of code, where nothing is marked up.
        parts = line.split("``")
        plain = "``".join(part if j % 2 else _roles(part.replace("|", "\\|")) for j, part in enumerate(parts))
        kept.append(line if is_formula or is_example else plain)
    lines[:] = kept


def _roles(text: str) -> str:
    """Return a line of reStructuredText with indices and powers as roles."""
    return LETTER.sub(lambda found: f"{found[1]}\\ :{TAGS[found[2]]}:`{_bare(found[3])}`\\ ", text)


def plain_signature(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Return a signature without what says nothing: functions that check arguments, addresses in memory, ``Any``.

    >>> plain_signature(None, "", "", None, None, "(rate: ~typing.Annotated[float, <function as_rate at 0x7f>])", None)
    ('(rate: float)', None)
    >>> plain_signature(None, "", "", None, None, "(at: ~typing.Any = None, *ids: Iterable[Any])", "~typing.Any")
    ('(at=None, *ids: Iterable)', None)
    """
    return plain(signature), None if re.fullmatch(ANY, returned or "") else plain(returned)


def plain(signature: str | None) -> str | None:
    """Return a signature, or a part of one, without noise."""
    for noise, instead in NOISE:
        signature = re.sub(noise, instead, signature) if signature else signature
    return signature


def plain_properties(app: Any, tree: Any, page: str) -> None:
    """Show the types of properties without noise: Sphinx has no event for them, so they are changed once set."""
    for entry in tree.findall(lambda node: node.tagname == "desc" and node["objtype"] == "property"):
        for note in entry[0].children:
            if (text := note.astext()).startswith(": ") and (told := (plain(f"{text})") or "")[:-1]) != text:
                note.children = [type(note)("", told)] if told else []
