"""Refusals in the words of the command line: arguments become the options they came from."""

from __future__ import annotations

import re
from collections.abc import Iterable


def as_options(sentence: str, names: Iterable[str]) -> str:
    """The sentence with ``name`` as ``--name`` where it can only be the argument: with an underscore, or first.

    >>> as_options("capacity must be a whole number; see also per_day", ["capacity", "per_day"])
    '--capacity must be a whole number; see also --per-day'
    """
    for name in names:
        option = f"--{name.replace('_', '-')}"
        sentence = re.sub(rf"^{name}(?= (must|is) )", option, sentence)
        if "_" in name:
            sentence = re.sub(rf"(?<![\w-]){name}\b", option, sentence)
    return sentence


def as_model_options(sentence: str) -> str:
    """The same for a model's parameters, which are ``--mean`` or ``--with NAME=VALUE``.

    >>> as_model_options("delay=3d is a length of time: say how many decisions a day there are (per_day)")
    '--with delay=3d is a length of time: say how many decisions a day there are (per_day)'
    """
    named = re.sub(r"^(\w+)(?= must be )", lambda found: _option(found[1]), sentence)
    named = re.sub(r"^(\w+)=(\S+)(?= is a length)", lambda found: _option(found[1], found[2]), named)
    named = re.sub(
        r"^give either (\w+) or (\w+), got .*",
        lambda found: f"give either {_option(found[1])} or {_option(found[2])}, and not both",
        named,
    )
    named = re.sub(r"has no parameter '(\w+)'", lambda found: f"has no {_option(found[1])}", named)
    return re.sub(r"(?<= takes )[\w, ]+?(?=, got |$)", lambda found: _listed(found[0]), named)


def _listed(names: str) -> str:
    return ", ".join(_option(name) for name in names.split(", "))


def _option(name: str, value: str = "…") -> str:
    return f"--mean {value}" if name == "mean" else f"--with {name}={value}"
