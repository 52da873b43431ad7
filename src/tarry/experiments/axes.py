"""Axes: where they are used, and their values put in.

``"axis.NAME"`` stands for a value of the axis: in a game, in a player, or inside the values of another axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

AXIS = "axis."


def is_reference(value: Any) -> bool:
    """Whether this stands for an axis's value."""
    return isinstance(value, str) and value.startswith(AXIS)


def references(tree: Any) -> set[str]:
    """The axes that are named anywhere in it.

    >>> sorted(references({"type": "geometric", "mean": "axis.mean", "rows": ["axis.a", 3]}))
    ['a', 'mean']
    """
    if isinstance(tree, str):
        return {tree.removeprefix(AXIS)} if is_reference(tree) else set()
    inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return {name for value in inside for name in references(value)}


def links(axes: Mapping[str, Any]) -> dict[str, set[str]]:
    """For each axis those that its values name; values are one or a list of them."""
    return {name: references(value) for name, value in axes.items()}


def reached(names: Iterable[str], linked: Mapping[str, set[str]]) -> set[str]:
    """These axes, and those that their values lead to."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += linked.get(name, ())
    return found


def circle(linked: Mapping[str, set[str]]) -> list[str]:
    """Axes whose values lead back to them; none if all is well."""
    return [name for name, named in linked.items() if name in reached(named, linked)]


def filled(tree: Any, axes: Mapping[str, Any]) -> Any:
    """The tree with every ``"axis.NAME"`` replaced by its value, and those inside values too.

    >>> filled(["axis.a"], {"a": {"mean": "axis.b"}, "b": 3})
    [{'mean': 3}]
    """
    if is_reference(tree):
        return filled(axes[tree.removeprefix(AXIS)], axes)
    if isinstance(tree, dict):
        return {name: filled(value, axes) for name, value in tree.items()}
    return [filled(value, axes) for value in tree] if isinstance(tree, list) else tree
