"""What pages show of docs/figures.json: docs/claims.toml says which value stands where.

tests/test_claims.py compares the three. When a command writes new values, pages that showed the old ones show the new.
"""

from __future__ import annotations

import re
import string
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TOLD = tomllib.loads((ROOT / "docs" / "claims.toml").read_text(encoding="utf-8"))
TABLES = {name for claim in TOLD["claims"] for name in claim.get("tables", ())}
CLAIMS = [(one["page"], claim) for one in TOLD["claims"] for key in ("shown", "tables") for claim in one.get(key, ())]

Parts = dict[str, dict[str, Any]]


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
    return Rows(value) if isinstance(value, list) and str(value[0]).startswith("| ") else value


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
    """Return what a claim shows: a text, or the lines of a table if it is the name of one."""
    if claim in TABLES:
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
    """
    (match,) = re.finditer(pattern(old), text)
    pieces, words = list(match.groups()), new.split(" ")
    if len(words) != len(old.split(" ")):
        pieces = [" ".join(words)]
    else:
        for i, (was, word) in enumerate(zip(old.split(" "), words, strict=True)):
            if was != word:
                pieces[2 * i] = word.replace("%", " %") if " %" in pieces[2 * i] else word
                if "\N{MINUS SIGN}" in text:
                    pieces[2 * i] = re.sub(r"-(?=\d)", "\N{MINUS SIGN}", pieces[2 * i])
    return text[: match.start()] + "".join(pieces) + text[match.end() :]


def update_pages(before: Parts, after: Parts) -> list[str]:
    """Have pages show new values in place of old ones; return what has to be changed by hand."""
    left, old_values, new_values = list[str](), values_of(before), values_of(after)
    for page, claim in CLAIMS:
        try:
            old, new = shown(claim, old_values), shown(claim, new_values)
            if old == new:
                continue
            text = (ROOT / page).read_text(encoding="utf-8")
            for line, other in zip(old, new, strict=True):
                text = rewritten(text, line, other) if line != other else text
            (ROOT / page).write_text(text, encoding="utf-8")
        except KeyError:  # a value that has not been written before
            continue
        except ValueError:  # other rows than before, or a text that the page does not have once
            left.append(f"{page}: {claim}")
    return left
