"""Every exported domain passes the contract, and none is left out."""

from __future__ import annotations

import numpy as np
import pytest

import tarry.domains as room
from examples import DOMAINS
from tarry.domains import Shrink
from tarry.kernel import Parameters
from tarry.testing import DomainContract


def suite_for(domain):
    class Suite(DomainContract):
        def domain(self):
            return domain

    if isinstance(domain, Shrink):
        Suite.tolerance = 1e-8  # scaling there and back moves inner points by a rounding
    return Suite


for _name, _domain in DOMAINS.items():
    _title = "Test" + _name.title().replace(" ", "").replace(",", "")
    globals()[_title] = suite_for(_domain)
    globals()[_title].__name__ = globals()[_title].__qualname__ = _title


def test_no_exported_domain_is_left_out():
    assert {*room.MEMBERS, "CustomDomain"} == {type(domain).__name__ for domain in DOMAINS.values()}


class BallWith(DomainContract):
    """A ball of radius 1 with one thing wrong; the contract must notice each."""

    def __init__(self, **wrong):
        self.wrong = wrong

    def domain(self):
        return Flawed(**self.wrong)


class Flawed(Parameters, tuple):
    """Just enough of a domain to be wrong in one place."""

    __slots__ = ()
    _fields = ("radius", "diameter", "inner_radius", "outer_radius", "push")

    def __new__(cls, radius=1.0, diameter=2.0, inner_radius=1.0, outer_radius=1.0, push=0.0):
        return cls.make(radius, diameter, inner_radius, outer_radius, push)

    dimension = 3
    center = np.zeros(3)
    radius = property(lambda self: self[0])
    diameter = property(lambda self: self[1])
    inner_radius = property(lambda self: self[2])
    outer_radius = property(lambda self: self[3])

    def depth(self, x):
        return max(0.0, self.inner_radius - float(np.linalg.norm(x)))

    def linear_minimiser(self, g):
        size = np.linalg.norm(g)
        return np.zeros(3) if size == 0 else -g / size


@room.project.on(Flawed)
def _flawed(domain, x, scratch):
    size = np.linalg.norm(x)
    if size > domain[0]:
        x *= domain[0] / size
        x[0], x[1] = (
            x[0] * np.cos(domain[4]) - x[1] * np.sin(domain[4]),
            x[0] * np.sin(domain[4]) + x[1] * np.cos(domain[4]),
        )


@pytest.mark.parametrize(
    ("wrong", "noticed_by"),
    [
        ({"radius": 1.01}, "test_projection_lands_in_the_set"),
        ({"radius": 0.99}, "test_projection_is_nearest"),
        ({"push": 0.01}, "test_projection_is_nearest"),
        ({"diameter": 1.9}, "test_diameter_and_outer_ball_cover_the_set"),
        ({"inner_radius": 1.1}, "test_inner_ball_is_inside"),
        ({"inner_radius": 1.1}, "test_depth_is_room_around_a_point"),
        ({"outer_radius": 0.9}, "test_diameter_and_outer_ball_cover_the_set"),
        ({"radius": 1.01}, "test_linear_minimiser_attains_the_minimum"),
    ],
)
def test_the_contract_notices(wrong, noticed_by):
    getattr(BallWith(), noticed_by)()
    with pytest.raises(AssertionError):
        getattr(BallWith(**wrong), noticed_by)()
