"""A user's own projection: compiled inside a game, or plain and slow, with the same result."""

from __future__ import annotations

import logging

import numba
import numpy as np
import pytest

import tarry
from tarry.domains import Ball, Box, CustomDomain, Ellipsoid, Product
from tarry.game.world import run_rounds


@numba.njit
def project_alone(x):
    for i in range(x.size):
        x[i] = min(max(x[i], -1.0), 1.0)


@numba.njit
def project_with_scratch(x, scratch):
    scratch[: x.size] = x
    for i in range(x.size):
        x[i] = min(max(scratch[i], -1.0), 1.0)


def project_plainly(x):
    np.clip(x, -1.0, 1.0, out=x)


def cube(function, k=2):
    return CustomDomain(function, k, np.zeros(k), 2.0 * k**0.5, 1.0, k**0.5)


def play(domain, horizon=200):
    rows = np.random.default_rng(0).standard_normal((horizon, domain.dimension)) + 0.5
    game = tarry.Game(
        domain=domain,
        losses=tarry.losses.Linear(rows),
        delays=tarry.delays.fixed(horizon=horizon, delay=3),
        capacity=2,
    )
    learner = tarry.learners.DWFTRL(domain, rate=0.4)
    player = tarry.Player(learner=learner, scheduler=tarry.schedulers.VarOpt())
    return tarry.simulate(game, player, seeds=2).regret


def test_plain_equals_built_in():
    assert play(cube(project_plainly)) == pytest.approx(play(Box(-1.0, [1.0, 1.0])), rel=1e-12)


@pytest.mark.jit(only=True)
@pytest.mark.slow  # compiles three games; test_compiled has one projection of the user's
@pytest.mark.parametrize("function", [project_alone, project_with_scratch])
def test_compiled_equals_built_in(function):
    before = len(run_rounds.dispatchers)
    pair = Product(cube(function), Ball(1))
    assert play(pair) == pytest.approx(play(Product(Box(-1.0, [1.0, 1.0]), Ball(1))), rel=1e-12)
    signatures = [s for d in run_rounds.dispatchers for s in d.signatures if function.__name__ in str(s)]
    assert signatures, "the game with a compiled projection must itself be compiled"
    assert len(run_rounds.dispatchers) <= before + 2


@pytest.mark.jit(only=True)
def test_a_plain_projection_is_announced_once(caplog):
    def my_own_projection(x):
        np.clip(x, -1.0, 1.0, out=x)

    with caplog.at_level(logging.INFO, logger="tarry"):
        play(cube(my_own_projection), horizon=20)
        play(cube(my_own_projection), horizon=20)
    said = [r.getMessage() for r in caplog.records if "my_own_projection" in r.getMessage()]
    assert len(said) == 1
    assert "numba.njit" in said[0]


@pytest.mark.parametrize("g", [[1.0, -2.0, 0.5], [0.0, 0.0, 1.0], [1e-9, 3e-9, 0.0], [0.0, 0.0, 0.0]])
def test_a_minimiser_is_found_by_projecting(g):
    g = np.array(g)
    for known in (Ball(3, 2.0), Ellipsoid(np.diag([1.0, 5.0, 25.0])), Box([-1.0, 0.0, 2.0], [1.0, 5.0, 2.5])):
        domain = CustomDomain(
            lambda x, scratch, known=known: tarry.domains.project(known, x, scratch),
            3,
            known.center,
            known.diameter,
            known.inner_radius,
            known.outer_radius,
        )
        gap = g @ domain.linear_minimiser(g) - g @ known.linear_minimiser(g)
        assert abs(gap) <= 1e-10 * np.linalg.norm(g) * known.diameter


def test_a_given_minimiser_is_used():
    domain = CustomDomain(project_plainly, 1, [0.0], 2.0, 1.0, linear_minimiser=lambda g: [-0.25])
    assert domain.linear_minimiser(np.array([1.0])).tolist() == [-0.25]


def test_prints_the_functions_name():
    assert "project_plainly" in repr(cube(project_plainly))


def takes_three(x, y, z):
    pass


def returns_it(x):
    return np.clip(x, -1.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"project": takes_three}, "called as project.x. or project.x, scratch., this one takes 3"),
        ({"project": returns_it}, "must change x in place"),
        ({"center": [3.0, 0.0]}, "center must lie in the set"),
        ({"center": [0.0]}, "center has 1 entries, the domain has 2"),
        ({"outer_radius": 1.0}, "beyond the outer radius 1"),
        ({"inner_radius": -0.5}, "inner_radius must lie between 0 and the outer radius"),
        ({"inner_radius": 5.0}, "inner_radius must lie between 0 and the outer radius"),
        ({"diameter": 0.0}, "diameter must be positive"),
        ({"dimension": 0}, "dimension must be a whole number"),
    ],
)
def test_bad_arguments(changes, sentence):
    good = {
        "project": project_plainly,
        "dimension": 2,
        "center": [0.0, 0.0],
        "diameter": 8**0.5,
        "inner_radius": 1.0,
    }
    CustomDomain(**good)
    with pytest.raises(ValueError, match=sentence):
        CustomDomain(**{**good, **changes})


def test_what_is_no_function():
    with pytest.raises(TypeError, match="a function is needed here, got 3"):
        CustomDomain(3, 1, [0.0], 2.0, 1.0)
