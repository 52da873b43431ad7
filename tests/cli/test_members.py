"""Members of one's own in commands: ``--members MODULE`` imports the module, and nothing else does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tarry.cli.app import app
from tarry.experiments import own as own_members

EXAMPLE = Path(__file__).parents[2] / "examples" / "members"
BALL = ("--domain", "{ type = 'Ball', dimension = 2 }")
MOMENTUM = '{ type = "Momentum", rate = 0.1 }'


@pytest.fixture
def call(tmp_path, monkeypatch, request):
    """Return a function that calls a command in a folder with a module of its own, whose name it puts for MINE."""
    name = f"cli_members_{request.node.name.partition('[')[0]}"
    shutil.copy(EXAMPLE / "mymethods.py", tmp_path / f"{name}.py")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_members, "_homes", {})

    def invoke(*arguments, code=0):
        given = [str(one).replace("MINE", name) for one in arguments]
        done = CliRunner().invoke(app, given, env={"COLUMNS": "200"})
        assert done.exit_code == code, done.output
        return done.output

    return invoke


def test_a_session_is_made_and_continued(call):
    player = f"{{ learner = {MOMENTUM}, scheduler = 'FairCoin' }}"
    new = ("session", "new", *BALL, "--capacity", "4", "--seed", "1", "--player", player)
    made = json.loads(call(*new, "--members", "MINE"))
    assert (made["learner"], made["scheduler"]) == ("Momentum", "FairCoin")
    rounds = [json.loads(line) for line in call("session", "ask", "--count", "4", "--members", "MINE").splitlines()]
    tracked = next(one["id"] for one in rounds if one["tracked"])
    told = json.loads(call("session", "tell", tracked, "[1.0, 0.5]", "--members", "MINE"))
    assert (told["status"], told["weight"]) == ("used", 2.0)
    (after,) = [json.loads(line) for line in call("session", "ask", "--members", "MINE").splitlines()]
    assert after["play"] == pytest.approx([-0.2, -0.1])  # two times 0.1 the gradient
    assert "uses Momentum, which is not part of Tarry" in call("session", "status", code=3)
    assert "no member 'Momentum'" in call(*new, "--name", "other", code=2)


def test_library_members_need_no_file(call):
    options = (*BALL, "--capacity", "4", "--player", '{ learner = { type = "OGD", rate = 0.1 } }')
    made = json.loads(call("session", "new", *options))
    assert (made["learner"], made["scheduler"]) == ("OGD", "VarOpt")
    call("session", "ask")


def test_a_join_is_made_and_continued(call):
    made = json.loads(call("join", "new", "--capacity", "2", "--members", "MINE", "--scheduler", "FairCoin"))
    assert made["scheduler"] == "FairCoin"
    call("join", "decide", '{"a": 1}', "--members", "MINE")
    assert "uses FairCoin" in call("join", "decide", '{"a": 1}', code=3)


def test_a_plan_compares_them(call):
    model = ("plan", "--model", "geometric", "--mean", "10", "--horizon", "100", "--capacity", "4", "--seeds", "2")
    told = call(*model, "--members", "MINE", "--scheduler", "FairCoin", "--scheduler", "varopt")
    assert "FairCoin" in told
    assert "VarOpt" in told
    assert "there is no policy 'FairCoin'" in call(*model, "--scheduler", "FairCoin", code=2)


@pytest.mark.parametrize(
    ("player", "sentence"),
    [
        ("{ learner = ", "player is a name or a table such as"),
        ("{ learner = 'Momentum' }", "Momentum needs rate"),
        ("{ learner = { type = 'DOGD.tuned' } }", "DOGD.tuned needs gradient_bound: write"),
    ],
)
def test_what_is_missing_is_told(call, player, sentence):
    assert sentence in call("session", "new", *BALL, "--members", "MINE", "--player", player, code=2)


def test_a_wrong_file_is_told(call):
    assert "--members: " in call("join", "new", "--capacity", "2", "--members", "gone", code=2)
