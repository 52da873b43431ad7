"""What pages show of docs/figures.json: docs/claims.toml says which value stands where.

tests/test_claims.py compares the three. When a command writes new values, pages that showed the old ones show the new.
"""

from __future__ import annotations

import re
import string
import tomllib
from pathlib import Path
from typing import Any

from tarry.experiments.parts import write_whole

ROOT = Path(__file__).parents[1]

Parts = dict[str, dict[str, Any]]
MINUS = re.compile(r"(?<!\w)[-\N{MINUS SIGN}](?=\d)")


def read_claims() -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
    """Return pages with their claims, and what is named as no claim, as docs/claims.toml has them now."""
    told = tomllib.loads((ROOT / "docs" / "claims.toml").read_text(encoding="utf-8"))
    claims = [
        (one["page"], claim) for one in told["claims"] for key in ("shown", "tables") for claim in one.get(key, ())
    ]
    return claims, told.get("unclaimed", [])


class Rows(list[str]):
    """Lines of a table, and the cells of one by its beginning and their heads: rows["relapse | window"]["river"]."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        (line,) = (line for line in self if line.startswith(f"| {key} |"))
        return dict(zip(*(each.strip("| ").split(" | ") for each in (self[0], line)), strict=True))


def with_rows(value: Any) -> Any:
    """Return a value of the file, in which lines of tables are Rows."""
    if isinstance(value, dict):
        return {key: with_rows(one) for key, one in value.items()}
    return Rows(value) if isinstance(value, list) and value and str(value[0]).startswith("| ") else value


def plain(text: str) -> str:
    """Return a text as Python writes it: without line breaks, blanks before per cents, and minus signs."""
    return re.sub(r"(\d) %", r"\1%", " ".join(text.replace("\N{MINUS SIGN}", "-").split()))


def values_of(parts: Parts) -> dict[str, Any]:
    """Return what claims are filled in with: the values of each part, its command, and the machine of speeds."""
    values = {name: with_rows(part["values"]) for name, part in parts.items()}
    return values | {
        f"{name}_{key}": part.get(key, "") for name, part in parts.items() for key in ("command", "machine")
    }


def shown(claim: str, values: dict[str, Any]) -> list[str]:
    """Return what a claim shows: a text, or the lines of a table if it is the name of one, without braces."""
    if "{" not in claim:
        return [plain(line) for line in string.Formatter().get_field(claim, (), values)[0]]
    return [plain(claim.format(**values))]


def pattern(claim: str) -> str:
    """Return a pattern of a claim as pages may write it, with no longer numbers at its ends; words are groups."""
    before = r"(?<![\d.,])" if claim[0].isdigit() else ""
    after = r"(?!\d|[.,]\d)" if claim[-1].isdigit() else ""
    words = (re.escape(word).replace(r"\-", "[-\N{MINUS SIGN}]").replace("%", r"\s?%") for word in claim.split(" "))
    return before + r"(\s+)".join(f"({word})" for word in words) + after


def is_shown(claim: str, text: str) -> bool:
    """Return whether a text has these words, and no longer numbers at their ends."""
    return re.search(pattern(claim), text) is not None


def rewritten(text: str, old: str, new: str) -> str:
    """Return a text that shows the new claim in place of the old one, with its line breaks and signs.

    >>> rewritten("It is 4.8 %\\nnow, or \N{MINUS SIGN}2.", "is 4.8% now, or -2", "is 5.1% now, or -3")
    'It is 5.1 %\\nnow, or \N{MINUS SIGN}3.'

    Where the old number has no minus sign, the new one has that of its line.

    >>> rewritten("\N{MINUS SIGN}1\\n| -2 | 4.8 |", "| 4.8 |", "| -5.1 |")
    '\N{MINUS SIGN}1\\n| -2 | -5.1 |'
    """
    (match,) = re.finditer(pattern(old), text)
    pieces, before, after = list(match.groups()), old.split(" "), new.split(" ")
    if len(before) != len(after):
        pieces, before, after = [match[0]], [old], [new]
    line = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
    for i, (was, word) in enumerate(zip(before, after, strict=True)):
        if was != word:
            minus = MINUS.search(pieces[2 * i]) or MINUS.search(line)
            spaced = word.replace("%", " %") if " %" in pieces[2 * i] else word
            pieces[2 * i] = MINUS.sub(minus[0] if minus else "-", spaced)
    return text[: match.start()] + "".join(pieces) + text[match.end() :]


def update_pages(before: Parts, after: Parts) -> list[str]:
    """Have pages show new values in place of old ones; return what has to be changed by hand."""
    left, texts, old_values, new_values = list[str](), dict[str, str](), values_of(before), values_of(after)
    for page, claim in read_claims()[0]:
        old: list[str] | None = None
        try:
            old = shown(claim, old_values)
            new = shown(claim, new_values)
            if old == new:
                continue
            text = texts.get(page) or (ROOT / page).read_text(encoding="utf-8")
            for line, other in zip(old, new, strict=True):
                text = rewritten(text, line, other) if line != other else text
            texts[page] = text
        except (LookupError, OSError, TypeError, ValueError) as error:
            # Other rows than before, say, or a text that the page does not have once.
            if old is not None or not isinstance(error, KeyError):  # else a value that has not been written before
                left.append(f"{page}: {claim}")
    for page, text in texts.items():
        write_whole(ROOT / page, text.encode())
    return left
