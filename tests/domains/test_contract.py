"""Every exported domain passes the contract, and none is left out."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import tarry.domains as room
from tarry.domains import Ball, Box, CustomDomain, Ellipsoid, Product, Shift, Shrink, Simplex, product
from tarry.kernel import Parameters
from tarry.testing import DomainContract


@numba.njit
def project_on_ball(x, scratch):
    squares = 0.0
    for i in range(x.size):
        scratch[i] = x[i] * x[i]
        squares += scratch[i]
    if squares > 4.0:
        x *= 2.0 / np.sqrt(squares)


def project_on_cube(x):
    np.clip(x, 0.0, 1.0, out=x)


def lowest_corner(g):
    return np.where(g > 0, 0.0, 1.0)


def random_definite(k, condition, seed=0):
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.standard_normal((k, k)))
    matrix = (axes * np.geomspace(1.0, condition, k)) @ axes.T
    return (matrix + matrix.T) / 2


DOMAINS = {
    "ball": Ball(3, radius=2.0),
    "ball, one dimension": Ball(1),
    "ball, moved": Ball(4, radius=0.5, center=[5.0, -3.0, 0.0, 1.0]),
    "box": Box([-1.0, 0.0, 2.0], [1.0, 5.0, 2.5]),
    "box with a flat side": Box([0.0, 1.0], [2.0, 1.0]),
    "interval": Box(-1.0, 3.0),
    "simplex": Simplex(5),
    "simplex, one point": Simplex(1, scale=2.0),
    "simplex, large": Simplex(40, scale=7.5),
    "ellipsoid": Ellipsoid(random_definite(4, 10.0), radius=1.5, center=[1.0, 2.0, -1.0, 0.0]),
    "ellipsoid, thin": Ellipsoid(random_definite(5, 1e6)),
    "ellipsoid, round": Ellipsoid(np.eye(3), radius=3.0),
    "product": Product(Ball(2, radius=2.0), Box([-1.0], [4.0])),
    "product of four": product(Ellipsoid(random_definite(3, 50.0)), Simplex(4), Ball(2), Box(0.0, [1.0, 2.0])),
    "shift": Shift(Simplex(3), [1.0, -1.0, 0.5]),
    "shift of a product": Shift(product(Ball(1), Ellipsoid(random_definite(2, 5.0))), [3.0, 3.0, 3.0]),
    "shrunken box": Shrink(Box([-1.0, 0.0], [1.0, 5.0]), 0.7),
    "shrunken product": Shrink(Product(Ball(2, radius=2.0, center=[1.0, 1.0]), Box([-1.0], [4.0])), 0.25),
    "shrunken to a point": Shrink(Ball(2, center=[1.0, 2.0]), 0.0),
    "custom, compiled": CustomDomain(project_on_ball, 3, np.zeros(3), 4.0, 2.0, 2.0),
    "custom, plain": CustomDomain(project_on_cube, 2, [0.5, 0.5], 2**0.5, 0.5, linear_minimiser=lowest_corner),
    "custom, in a product": Product(CustomDomain(project_on_cube, 2, [0.5, 0.5], 2**0.5, 0.5), Ball(2)),
}


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
        ({"diameter": 1.9}, "test_diameter_covers_the_set"),
        ({"inner_radius": 1.1}, "test_inner_ball_is_inside"),
        ({"inner_radius": 1.1}, "test_depth_is_room_around_a_point"),
        ({"outer_radius": 0.9}, "test_outer_ball_covers_the_set"),
        ({"radius": 1.01}, "test_linear_minimiser_attains_the_minimum"),
    ],
)
def test_the_contract_notices(wrong, noticed_by):
    getattr(BallWith(), noticed_by)()
    with pytest.raises(AssertionError):
        getattr(BallWith(**wrong), noticed_by)()
