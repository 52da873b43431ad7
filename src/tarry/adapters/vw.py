"""Vowpal Wabbit: rows of a join as lines of text or JSON, with the weight as importance."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from numbers import Real
from typing import Any

from tarry.live import Row

_SPECIAL = (" ", ":", "|", "\n", "\r", "\t")


def as_text(row: Row, tag: str = "") -> str:
    """A row as a line of Vowpal Wabbit's text format: ``label importance 'tag |namespace name:value …``.

    Features are a mapping of names to numbers, truth values or strings, or of namespaces to such mappings. A string
    becomes the feature ``name=string``; what is false, zero or None is left out.

    >>> as_text(Row({"age": 41, "city": "Bern"}, 1, 2.5), tag="c7")
    "1 2.5 'c7 | age:41 city=Bern"
    """
    _check_row(row)
    spaces = []
    for space, features in _namespaces(row.features):
        words = [word for name, value in features.items() if (word := _word(name, value)) is not None]
        spaces.append(" ".join([f"|{_plain(space, 'namespace')}", *words]))
    head = [_number(row.label, "label"), _importance(row.weight)]
    return " ".join([*head, *([f"'{_plain(tag, 'tag')}"] if tag != "" else []), *spaces])


def as_json(row: Row, tag: str = "") -> str:
    """A row as a line for ``vw --json``.

    >>> as_json(Row({"age": 41, "city": "Bern"}, 1, 2.5))
    '{"_label": {"Label": 1, "Weight": 2.5}, "age": 41, "city": "Bern"}'
    """
    _check_row(row)
    line: dict[str, Any] = {"_label": {"Label": _value(row.label, "label"), "Weight": float(_importance(row.weight))}}
    if tag != "":
        line["_tag"] = str(tag)
    for space, features in _namespaces(row.features):
        kept = {str(name): _feature(name, value) for name, value in features.items() if value is not None}
        hidden = [name for name in (kept if not space else [space]) if name.startswith("_")]
        if hidden:
            raise ValueError(f"vw --json ignores names that begin with an underscore, got {hidden[0]!r}: rename it")
        line |= {space: kept} if space else kept
    return json.dumps(line, ensure_ascii=False)


def lines(rows: Iterable[Row | None], form: Callable[[Row], str] = as_text) -> Iterator[str]:
    """The lines of these rows; those of weight zero have none, nor has None, a join's answer if nobody is tracked."""
    if not callable(form):
        raise ValueError(f"form must be as_text or as_json, got {form!r}")
    return _lines(rows, form)


def _lines(rows: Iterable[Row | None], form: Callable[[Row], str]) -> Iterator[str]:
    for row in rows:
        if row is not None:
            _check_row(row)
            if row.weight != 0.0:
                yield form(row)


def _check_row(row: Any) -> None:
    if not isinstance(row, Row):
        raise ValueError(f"a line is made of a row, as join.label(…) gives where a decision is tracked, got {row!r}")


def _namespaces(features: Any) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    if not isinstance(features, Mapping):
        raise ValueError(f"features must be a mapping of names to values, got {features!r}")
    plain = {name: value for name, value in features.items() if not isinstance(value, Mapping)}
    if plain or not features:
        yield "", plain
    for name, value in features.items():
        if isinstance(value, Mapping):
            yield str(name), value


def _word(name: Any, value: Any) -> str | None:
    checked = _feature(name, value)
    if not checked:
        return None
    plain = _plain(name, "feature")
    if checked is True:
        return plain
    return f"{plain}={_plain(checked, 'value')}" if isinstance(checked, str) else f"{plain}:{_number(checked, plain)}"


def _feature(name: Any, value: Any) -> Any:
    return value if value is None or isinstance(value, str | bool) else _value(value, f"feature {name!r}")


def _plain(text: Any, what: str) -> str:
    if str(text) == "" and what == "feature":
        raise ValueError("a feature in Vowpal Wabbit's text has a name, got '': give it one")
    if any(special in str(text) for special in _SPECIAL):
        raise ValueError(
            f"a {what} in Vowpal Wabbit's text has no spaces, line breaks, colons or bars, got {text!r}: rename it"
        )
    return str(text)


def _value(value: Any, what: str) -> int | float:
    if not isinstance(value, Real) or not isfinite(value):
        raise ValueError(f"the {what} must be a finite number, got {value!r}")
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _number(value: Any, what: str) -> str:
    return repr(_value(value, what))


def _importance(weight: float) -> str:
    if isinstance(weight, Real) and not weight > 0:
        raise ValueError(f"a row without weight has no line, got weight {weight}: leave it out, as lines() does")
    return _number(weight, "weight")
