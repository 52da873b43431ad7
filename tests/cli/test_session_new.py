"""tarry session new: which player is made of which options."""

from __future__ import annotations

import json

import numpy as np
import pytest
from shell import lines

import tarry


def test_new_says_what_was_chosen(session, url):
    told = json.loads(session("new", "--dimension", 3, "--gradient-bound", 1, "--capacity", 4).stdout)
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
        "value_bound": None,
        "memory": 1_000_000,
        "rounds": 0,
    }
    session("ask")
    again = json.loads(session("new", "--dimension", 3, "--gradient-bound", 1, "--capacity", 4).stdout)
    assert again["rounds"] == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--dimension", 3, "--strong-convexity", 0.5], {"learner": "DWFTRL", "is_proved": True}),
        (
            ["--dimension", 3, "--gradient-bound", 2, "--information", "semi-clairvoyant"],
            {"learner": "DWFTRL", "is_proved": True},
        ),
        (
            ["--dimension", 3, "--strong-convexity", 1, "--no-preemption", "--backlog", 50, "--capacity", 16],
            {"scheduler": "Morris"},
        ),
        (
            ["--dimension", 3, "--rate", 0.1, "--no-preemption", "--backlog", 50, "--capacity", 16],
            {"scheduler": "Morris", "is_proved": False},
        ),
        (["--dimension", 3, "--feedback", "value", "--rate", 0.1, "--smoothing", 0.2], {"learner": "DWFTBL"}),
    ],
)
def test_players(session, options, expected):
    told = json.loads(session("new", *options).stdout)
    assert {name: told[name] for name in expected} == expected
    assert lines(session("ask"))[0]["id"] == 1


@pytest.mark.parametrize(
    ("options", "domain"),
    [
        (["--domain", "box", "--lower", "-1", "--upper", "2", "--dimension", 2], tarry.domains.Box([-1, -1], 2.0)),
        (["--domain", "box", "--lower", "0,-1", "--upper", 2], tarry.domains.Box([0.0, -1.0], 2.0)),
        (["--domain", "simplex", "--dimension", 3, "--scale", 2], tarry.domains.Simplex(3, 2.0)),
        (["--dimension", 2, "--radius", 3], tarry.domains.Ball(2, 3.0)),
    ],
)
def test_domains(session, url, options, domain):
    session("new", *options, "--rate", 0.1)
    with tarry.Session.open(url) as opened:
        found = opened.player.learner.domain
        assert type(found) is type(domain)
        assert all(np.array_equal(a, b) for a, b in zip(found, domain, strict=True))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--dimension", 2], "convex losses need gradient_bound"),
        (["--rate", 1], "a ball needs --dimension"),
        (["--rate", 1, "--domain", "cube"], "--domain must be one of ball, box, simplex, got 'cube'"),
        (["--rate", 1, "--domain", "box"], "a box needs --lower and --upper"),
        (["--rate", 1, "--domain", "box", "--lower", "a", "--upper", 1], "--lower must be numbers"),
        (
            ["--rate", 1, "--domain", "box", "--lower", "0,0", "--upper", 1, "--dimension", 3],
            "--lower has 2 entries, --dimension is 3",
        ),
        (["--dimension", 2, "--rate", 1, "--feedback", "value"], "also needs --smoothing"),
        (["--dimension", 2, "--rate", 1, "--feedback", "both"], "--feedback must be gradient or value"),
        (["--dimension", 2, "--rate", 1, "--value-bound", 1], "learns from gradients, got value_bound=1.0"),
        (["--dimension", 2, "--capacity", 4, "--rate", 1, "--no-preemption"], "needs a guess of the backlog"),
    ],
)
def test_bad_options_exit_with_2_and_make_nothing(session, tmp_path, options, sentence):
    assert sentence in session("new", *options, code=2).stderr
    assert not list(tmp_path.iterdir())


def test_bounds_go_into_the_certificate_and_warn_when_they_are_exceeded(session):
    session("new", "--dimension", 2, "--rate", 0.5, "--gradient-bound", 3, "--capacity", 4)
    session("ask", "a", "b")
    session("tell", "a", "[1, 1]")
    status = json.loads(session("status").stdout)
    assert (status["certificate"]["gradient_bound"], status["warnings"]) == (3.0, [])
    assert status["certificate"]["variance"] == 0.5 * 0.5 * 3.0**2
    session("tell", "b", "[3, 4]")
    (warning,) = json.loads(session("status").stdout)["warnings"]
    assert warning.startswith("a gradient of size 5 came, above gradient_bound=3, so nothing is certified")
    assert "warning 1" in session("status", "-f", "table").stdout


def test_bounds_of_a_bandit(session):
    bandit = ["--feedback", "value", "--rate", 0.1, "--smoothing", 0.2, "--value-bound", 2, "--gradient-bound", 1]
    session("new", "--dimension", 2, "--capacity", 4, *bandit)
    session("ask")
    session("tell", 1, -2.5)
    found = json.loads(session("status").stdout)
    assert (found["certificate"]["value_bound"], found["certificate"]["gradient_bound"]) == (2.0, 1.0)
    assert "a value of size 2.5 came, above value_bound=2" in found["warnings"][0]
