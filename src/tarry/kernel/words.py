"""Trees of parameters as rows of 64-bit words: one compiled call serves many trees of one type.

A number is a word; an array is its address, shape and strides, and stays where it is. ``read(like, words, i)`` is the
i-th tree, of the type of ``like``, from which functions and other constants are taken. Nothing is copied: the code that
writes words keeps the trees alive while words are read. A handle is a tree with its words, for a call from Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy as np

from tarry.errors import MemberError
from tarry.kernel.compile import runs_plain
from tarry.kernel.views import flat

NUMBERS = (bool, int, float, complex, np.number, np.bool_)
COMPLEX = (complex, np.complexfloating)
LARGEST = np.iinfo(np.int64).max
Place = tuple[int, tuple[int, ...]]  # an address, and strides from there on


def kind_of(tree: Any) -> Any:
    """Return what trees have in common that are of one type for compiled code."""
    if isinstance(tree, tuple):
        return (type(tree), *map(kind_of, tree))
    if isinstance(tree, np.ndarray):
        return tree.dtype, tree.ndim, tree.flags.c_contiguous, tree.flags.f_contiguous, tree.flags.writeable
    if not _is_number(tree) or isinstance(tree, Enum):  # a member of an enumeration is a constant of its type
        return type(tree), tree
    return (int, tree > LARGEST) if type(tree) is int else type(tree)  # Numba has two types for Python's


def place_of(array: np.ndarray) -> Place:
    """Return where an array lies."""
    return array.__array_interface__["data"][0], array.strides


def write(trees: Sequence[Any], place: Callable[[np.ndarray], Place] = place_of) -> np.ndarray:
    """Return the words of trees of one kind, a row for each; ``place`` says where compiled code finds their arrays."""
    words = np.empty((len(trees), sum(map(_width, flat(trees[0])))), np.int64)
    numbers = words.view(np.float64)
    for i, tree in enumerate(trees):
        at = 0
        for leaf in flat(tree):
            if isinstance(leaf, np.ndarray):
                start, strides = place(leaf)
                words[i, at : at + _width(leaf)] = (start, *leaf.shape, *strides)
            elif isinstance(leaf, COMPLEX):
                numbers[i, at : at + 2] = leaf.real, leaf.imag
            elif isinstance(leaf, (float, np.floating)):
                numbers[i, at] = leaf
            elif _width(leaf):
                words[i, at] = np.uint64(leaf).view(np.int64) if leaf > 0 else leaf
            at += _width(leaf)
    return words


def _width(leaf: Any) -> int:
    """Return how many words a leaf takes."""
    if isinstance(leaf, np.ndarray):
        return 1 + 2 * leaf.ndim
    return 2 if isinstance(leaf, COMPLEX) else int(_is_number(leaf))


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, NUMBERS)


def without_arrays(tree: Any) -> Any:
    """Return a tree of the same type whose arrays are empty."""
    if isinstance(tree, tuple):
        return tuple.__new__(type(tree), map(without_arrays, tree))
    return np.empty((0,) * tree.ndim, tree.dtype) if isinstance(tree, np.ndarray) else tree


def read(like: Any, words: Any, i: int) -> Any:
    """Return the i-th tree. Plain Python is given the trees themselves."""
    return words[i]


def handle(body: Any) -> Any:
    """Return a (nested) named tuple as one reference, which steps read as ``.body``; arrays stay shared."""
    return SimpleNamespace(body=body) if runs_plain(body) else Handle(body)


class Handle(int):
    """A (nested) named tuple as the address of its words, for compiled steps.

    Numba unpacks a tuple of arrays at each call from Python, 0.2 µs a field, and counts references to them. A number it
    takes at once; it counts no references, since the caller's handle keeps everything alive.
    """

    body: Any
    _words: np.ndarray

    def __new__(cls, body: Any) -> Handle:
        _check(body)
        words = write([body])
        handle = super().__new__(cls, place_of(words)[0])
        handle.body, handle._words = body, words
        return handle

    def __reduce__(self) -> Any:
        return Handle, (self.body,)  # a copy has words of its own


def _check(tree: Any) -> None:
    """Raise MemberError for a leaf that words cannot hold."""
    for name, leaf in zip(getattr(tree, "_fields", range(len(tree))), tree, strict=True):
        if isinstance(leaf, tuple):
            _check(leaf)
        elif not (leaf is None or _is_number(leaf) or isinstance(leaf, np.ndarray) or callable(leaf)):
            raise MemberError(
                f"{name} of {type(tree).__name__} is {leaf!r}: in sessions and joins a member's fields are numbers, "
                "arrays, functions and other members"
            )
