"""Every member plays compiled as it does uncompiled."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from played import GAMES, Pair

import tarry
from examples import DELAYS, DOMAINS, LEARNERS, LOSSES, SCHEDULERS
from tarry.kernel import Parameters
from tarry.learners.base import VERBS
from tarry.testing import DomainContract


@pytest.fixture(scope="session")
def uncompiled(tmp_path_factory):
    """What every game leaves where nothing is compiled, played by a process of its own."""
    file = tmp_path_factory.mktemp("played") / "uncompiled.npz"
    places = os.pathsep.join(place for place in sys.path if place)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": places}
    subprocess.run([sys.executable, "-m", "played", str(file)], check=True, timeout=300, env=environment)
    return np.load(file)


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", GAMES)
def test_a_compiled_game_is_the_uncompiled_one(name, uncompiled):
    np.testing.assert_allclose(GAMES[name].play(), uncompiled[name], rtol=1e-9, atol=1e-9)


class Projections(DomainContract):
    def __init__(self, domain):
        self.domain = lambda: domain


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", DOMAINS)
def test_a_compiled_projection_is_the_uncompiled_one(name):
    Projections(DOMAINS[name]).test_compiled_projection_agrees()


def members_of(room):
    """Return the classes that a room exports and that parameters of a game can be."""
    exported = (getattr(room, name) for name in room.__all__)
    return {one for one in exported if isinstance(one, type) and issubclass(one, Parameters)}


def test_a_pair_passes_every_verb_on():
    alone = {"query", "forget"}  # of several values, which pairs have not, and of copies
    assert {verb.__name__ for verb in VERBS} - alone <= set(vars(Pair))


def test_every_member_is_compiled():
    games = GAMES.values()
    learners = {one for one in members_of(tarry.learners) if hasattr(one, "feedback")}
    assert learners - {tarry.learners.Idle} == {
        type(LEARNERS[name].learner()) for cast in games for name in cast.learners
    }
    assert members_of(tarry.schedulers) == {type(SCHEDULERS[cast.scheduler].scheduler) for cast in games}
    losses = {one for one in members_of(tarry.losses) if issubclass(one, tarry.losses.Losses)}
    assert losses - {tarry.losses.Losses} == {type(LOSSES[cast.loss]()) for cast in games}
    assert set(DELAYS) == {cast.delays for cast in games}
    exported = members_of(tarry.domains) - {tarry.domains.Domain}
    assert exported | {tarry.domains.Product} == {type(domain) for domain in DOMAINS.values()}


def test_every_delay_law_has_an_example():
    exported = {name for name in tarry.delays.__all__ if name.islower()}
    assert exported - {"delay", "uncut", "backlog_of"} == set(DELAYS)
