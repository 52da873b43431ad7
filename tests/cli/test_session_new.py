"""tarry session new: which player is made of what is written, as in a sweep."""

from __future__ import annotations

import json

import numpy as np
import pytest
from shell import lines

import tarry

BALL = ["--domain", "{ type = 'Ball', dimension = 3 }"]
RATE = ["--player", "{ learner = { type = 'DWFTRL', rate = 0.5 } }"]
BANDIT = ["--player", "{ learner = { type = 'DWFTBL', rate = 0.1, smoothing = 0.2 } }"]


def test_new_says_what_was_chosen(session, url):
    new = ("new", *BALL, "--gradient-bound", 1, "--capacity", 4)
    told = json.loads(session(*new).stdout)
    assert told == {
        "store": url,
        "name": "main",
        "learner": "DWFTRL",
        "scheduler": "VarOpt",
        "reason": tarry.players.recommended(tarry.domains.Ball(3), gradient_bound=1).reason,
        "is_proved": True,
        "capacity": 4,
        "information": "non-clairvoyant",
        "preemption": True,
        "gradient_bound": 1.0,
        "memory": 1_000_000,
        "rounds": 0,
    }
    session("ask")
    assert json.loads(session(*new).stdout)["rounds"] == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--strong-convexity", 0.5], {"learner": "DWFTRL", "is_proved": True}),
        (["--player", "{ type = 'recommended', strong_convexity = 0.5 }"], {"learner": "DWFTRL", "is_proved": True}),
        (["--player", '{"type": "recommended", "gradient_bound": 2}'], {"learner": "DWFTRL", "is_proved": True}),
        (["--strong-convexity", 1, "--no-preemption", "--backlog", 50, "--capacity", 16], {"scheduler": "Morris"}),
        ([*RATE, "--no-preemption", "--backlog", 50, "--capacity", 16], {"scheduler": "Morris", "is_proved": False}),
        (BANDIT, {"learner": "DWFTBL"}),
        (
            ["--player", "{ learner = 'DORM', scheduler = 'drop newest' }"],
            {"learner": "DORM", "scheduler": "DropNewest"},
        ),
    ],
)
def test_players(session, options, expected):
    told = json.loads(session("new", *BALL, *options).stdout)
    assert {name: told[name] for name in expected} == expected
    assert lines(session("ask"))[0]["id"] == 1


@pytest.mark.parametrize(
    ("written", "domain"),
    [
        ("{ type = 'Box', lower = [-1, -1], upper = 2 }", tarry.domains.Box([-1, -1], 2.0)),
        ("{ type = 'Simplex', dimension = 3, scale = 2 }", tarry.domains.Simplex(3, 2.0)),
        ('{"type": "Ball", "dimension": 2, "radius": 3}', tarry.domains.Ball(2, 3.0)),
    ],
)
def test_domains(session, url, written, domain):
    session("new", "--domain", written, *RATE)
    with tarry.Session.open(url) as opened:
        found = opened.player.learner.domain
        assert type(found) is type(domain)
        assert all(np.array_equal(a, b) for a, b in zip(found, domain, strict=True))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (BALL, "convex losses need gradient_bound"),
        (RATE, "DWFTRL needs domain: give a domain"),
        (["--domain", "cube", *RATE], "there is no member 'cube'"),
        (["--domain", "{ type = 'Ball' }", *RATE], "Ball needs dimension"),
        (["--domain", "{ type = 'Ball', file = '/etc/passwd' }", *RATE], "may not name a file"),
        ([*BALL, "--player", "{ learner = { type = 'DWFTBL', rate = 0.1 } }"], "DWFTBL needs smoothing"),
        ([*BALL, "--player", "{ learner = "], "--player is a name or a table such as"),
        ([*BALL, "--player", "{ learner = 'DORM', epoch = 1 }"], "--player has no 'epoch'"),
        ([*BALL, *RATE, "--value-bound", 1], "learns from gradients, got value_bound=1.0"),
        ([*BALL, *RATE, "--capacity", 4, "--no-preemption"], "needs a guess of the backlog"),
        ([*BALL, *RATE, "--memory", 0], "--memory must be a whole number from 1"),
    ],
)
def test_bad_options_exit_with_2_and_make_nothing(session, tmp_path, options, sentence):
    assert sentence in session("new", *options, code=2).stderr
    assert not list(tmp_path.iterdir())


def test_bounds_go_into_the_certificate_and_warn_when_they_are_exceeded(session):
    session("new", *BALL, *RATE, "--gradient-bound", 3, "--capacity", 4)
    session("ask", "a", "b")
    session("tell", "a", "[1, 1, 0]")
    status = json.loads(session("status").stdout)
    assert (status["certificate"]["gradient_bound"], status["warnings"]) == (3.0, [])
    assert status["certificate"]["variance"] == 0.5 * 0.5 * 3.0**2
    session("tell", "b", "[3, 4, 0]")
    (warning,) = json.loads(session("status").stdout)["warnings"]
    assert warning.startswith("a gradient of size 5 came, above gradient_bound=3, so nothing is certified")
    assert "warning 1" in session("status", "-f", "table").stdout


def test_bounds_of_a_bandit(session):
    session("new", *BALL, "--capacity", 4, *BANDIT, "--value-bound", 2, "--gradient-bound", 1)
    session("ask")
    session("tell", 1, -2.5)
    found = json.loads(session("status").stdout)
    assert (found["certificate"]["value_bound"], found["certificate"]["gradient_bound"]) == (2.0, 1.0)
    assert "a value of size 2.5 came, above value_bound=2" in found["warnings"][0]
