"""Parameters declared by annotations: checks, defaults, signatures, what must fail."""

from __future__ import annotations

import inspect
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

from tarry.checks import Count, Natural, Positive
from tarry.errors import ArgumentError
from tarry.kernel import KW_ONLY, Parameters


class Disc(Parameters):
    """A member with every kind of field."""

    name: ClassVar[str] = "disc"
    dimension: Count
    radius: Positive = 1.0
    _: KW_ONLY
    start: np.ndarray = None

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        if fields["start"] is None:
            fields["start"] = np.zeros(fields["dimension"])


class Marked(Disc):
    """A member that adds a field to an ancestor's."""

    mark: Natural = 3


class Bare(Parameters):
    """A member without fields."""


def test_fields_are_checked_converted_and_read_by_name():
    disc = Disc(2, 3)
    assert (disc.dimension, disc.radius) == (2, 3.0)
    assert type(disc.radius) is float
    assert disc.start.tolist() == [0.0, 0.0]
    assert Disc._fields == ("dimension", "radius", "start")
    assert str(inspect.signature(Disc)).startswith("(dimension: ")
    assert pickle.loads(pickle.dumps(disc)) == disc != Disc(2)
    assert hash(Disc(2)) == hash(Disc(2))


def test_bad_values_name_the_field():
    with pytest.raises(ArgumentError) as caught:
        Disc(2, radius=-1)
    assert (caught.value.name, caught.value.value) == ("radius", -1)
    assert pickle.loads(pickle.dumps(caught.value)).name == "radius"
    with pytest.raises(ArgumentError):
        Disc(0)


@pytest.mark.parametrize("call", [lambda: Disc(), lambda: Disc(1, 1.0, np.zeros(1)), lambda: Disc(1, size=3)])
def test_calls_that_do_not_fit_show_the_signature(call):
    with pytest.raises(TypeError, match=r"^Disc\(dimension"):
        call()


def test_fields_of_ancestors_come_first():
    assert Marked._fields == ("dimension", "radius", "start", "mark")
    assert Marked(1, mark=2).mark == 2
    assert Disc.name == Marked.name == "disc"


def test_parameters_are_frozen_and_never_empty():
    assert Bare()
    assert Bare() == Bare()
    with pytest.raises(TypeError, match="build a new Disc"):
        Disc(1)._replace(radius=2.0)
    with pytest.raises(AttributeError):
        Disc(1).radius = 2.0
    with pytest.raises(ValueError, match="read-only"):
        Disc(1).start[0] = 1.0
