"""Vowpal Wabbit: rows of a join as lines of text or JSON, with the weight as importance."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import isfinite
from numbers import Real
from typing import Any

from tarry.checks import as_choice
from tarry.live import Row
from tarry.live.weighing import RELATIVE, UNBIASED

Feature = str | bool | int | float | None

_WEIGHTS = (RELATIVE, UNBIASED)  # which a row has
_SPECIAL = (" ", ":", "|", "\n", "\r", "\t")  # what parts words, names and namespaces in the text


def as_text(row: Row, tag: str = "", weights: str = RELATIVE) -> str:
    """Return a row as a line of Vowpal Wabbit's text format: ``label importance 'tag |namespace name:value …``.

    Features are a mapping of names to numbers, truth values or strings, or of namespaces to such mappings. A string
    becomes the feature ``name=string``; what is false, zero or None is left out. The importance is ``row.relative``, or
    with ``weights="unbiased"`` ``row.weight``.

    >>> as_text(Row({"age": 41, "city": "Bern"}, 1, 2.5), tag="c7", weights="unbiased")
    "1 2.5 'c7 | age:41 city=Bern"
    """
    spaces = []
    for space, features in _namespaces(row):
        words = [_word(name, value) for name, value in features.items() if value]
        spaces.append(" ".join([f"|{_plain(space, 'namespace')}", *words]))
    head = [repr(_number(row.label, "label")), repr(_importance(row, weights))]
    return " ".join([*head, *([f"'{_plain(tag, 'tag')}"] if tag != "" else []), *spaces])


def as_json(row: Row, tag: str = "", weights: str = RELATIVE) -> str:
    """Return a row as a line for ``vw --json``.

    >>> as_json(Row({"age": 41, "city": "Bern"}, 1, 2.5), weights="unbiased")
    '{"_label": {"Label": 1, "Weight": 2.5}, "age": 41, "city": "Bern"}'
    """
    spaces = _namespaces(row)
    line: dict[str, Any] = {
        "_label": {"Label": _number(row.label, "label"), "Weight": float(_importance(row, weights))}
    }
    if tag != "":  # 0 is a tag
        line["_tag"] = str(tag)
    for space, features in spaces:
        kept = {name: value for name, value in features.items() if value is not None}
        hidden = [name for name in (kept if not space else [space]) if name.startswith("_")]
        if hidden:
            raise ValueError(f"vw --json ignores names that begin with an underscore, got {hidden[0]!r}: rename it")
        line |= {space: kept} if space else kept
    return json.dumps(line, ensure_ascii=False)


def lines(rows: Iterable[Row | None], form: Callable[[Row], str] = as_text, weights: str = RELATIVE) -> Iterator[str]:
    """Return the lines of rows; of weight zero there is none, nor of None, a join's answer if nobody is tracked."""
    if not callable(form):
        raise ValueError(f"form must be as_text or as_json, got {form!r}")
    # A generator, made by a call that has looked at its arguments at once.
    as_choice(weights, "weights", _WEIGHTS)
    written = partial(form, weights=weights) if form in (as_text, as_json) else form
    return (written(row) for row in rows if row is not None and _as_row(row).weight != 0.0)


def _as_row(row: object) -> Row:
    if not isinstance(row, Row):
        raise ValueError(f"a line is made of a row, as join.label(…) gives where a decision is tracked, got {row!r}")
    return row


def _namespaces(row: Row) -> list[tuple[str, dict[str, Feature]]]:
    """Return the features of each namespace, checked; those of none stand first, under an empty name."""
    features = _as_row(row).features
    if not isinstance(features, Mapping):
        raise ValueError(f"features must be a mapping of names to values, got {features!r}")
    spaces = {str(name): value for name, value in features.items() if isinstance(value, Mapping)}
    loose = {name: value for name, value in features.items() if not isinstance(value, Mapping)}
    found = [("", loose)] if loose or not features else []
    return [(space, {str(n): _feature(n, v) for n, v in part.items()}) for space, part in [*found, *spaces.items()]]


def _feature(name: object, value: object) -> Feature:
    return value if value is None or isinstance(value, str | bool) else _number(value, f"feature {name!r}")


def _word(name: str, value: Feature) -> str:
    plain = _plain(name, "feature")
    if value is True:
        return plain
    return f"{plain}={_plain(value, 'value')}" if isinstance(value, str) else f"{plain}:{value!r}"


def _plain(text: str, what: str) -> str:
    if str(text) == "" and what == "feature":
        raise ValueError("a feature in Vowpal Wabbit's text has a name, got '': give it one")
    if any(special in str(text) for special in _SPECIAL):
        raise ValueError(
            f"a {what} in Vowpal Wabbit's text has no spaces, line breaks, colons or bars, got {text!r}: rename it"
        )
    return str(text)


def _number(value: object, what: str) -> int | float:
    if not isinstance(value, Real) or not isfinite(value):
        raise ValueError(f"the {what} must be a finite number, got {value!r}")
    number = float(value)
    # Whole numbers are written as such, while a float still tells them apart.
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _importance(row: Row, weights: str) -> int | float:
    as_choice(weights, "weights", _WEIGHTS)
    if isinstance(row.weight, Real) and not row.weight > 0:
        raise ValueError(f"a row without weight has no line, got weight {row.weight}: leave it out, as lines() does")
    return _number(row.relative if weights == RELATIVE else row.weight, "weight")
