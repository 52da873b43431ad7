"""tarry session: the same answers as from Python, as JSON or tables, with exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

import pytest
from shell import lines

import tarry
from tarry.cli.console import Format
from tarry.cli.live import is_json

BALL = ["--domain", "{ type = 'Ball', dimension = 2 }"]
NEW = ["new", *BALL, "--player", "{ learner = { type = 'DWFTRL', rate = 0.5 } }", "--capacity", "3", "--seed", "7"]
PLAYER = tarry.Player(tarry.learners.DWFTRL(tarry.domains.Ball(2), rate=0.5))


@pytest.fixture
def call(session):
    return session


@pytest.fixture
def made(call):
    call(*NEW)
    return call


def test_a_session_from_the_shell_is_the_one_from_python(made):
    twin = tarry.Session(PLAYER, capacity=3, rng=7)
    for t in range(1, 9):
        (asked,) = lines(made("ask"))
        expected = twin.ask()
        assert asked == {
            "id": t,
            "play": expected.play.tolist(),
            "tracked": expected.tracked,
            "released": list(expected.released),
            "status": expected.status.name.lower(),
        }
        if t % 2:
            told = twin.tell(t, gradient=[0.25, -t])
            assert lines(made("tell", t, f"[0.25, -{t}]")) == [
                {"id": t, "status": told.status.name.lower(), "weight": told.weight}
            ]
    found = json.loads(made("status").stdout)
    status = twin.status()
    assert list(found) == list(status._fields)
    assert found["fates"] == status.fates
    assert found["answers"] == status.answers
    assert found["weights"] == status.weights._asdict()


def test_many_at_once(made):
    twin = tarry.Session(PLAYER, capacity=3, rng=7)
    asked, expected = lines(made("ask", "--count", 6)), twin.ask_many(6)
    assert [one["play"] for one in asked] == expected.plays.tolist()
    assert [id for one in asked for id in one["released"]] == expected.released
    given = "".join(json.dumps({"id": t, "gradient": [t, 0.5]}) + "\n" for t in range(1, 7)) + "\n"
    told, receipts = (
        lines(made("tell", "--many", given=given)),
        twin.tell_many(range(1, 7), gradients=[[t, 0.5] for t in range(1, 7)]),
    )
    assert [one["weight"] for one in told] == receipts.weights.tolist()
    assert [one["status"] for one in told] == [status.name.lower() for status in receipts.statuses]
    assert lines(made("ask"))[0]["play"] == twin.ask().play.tolist()
    assert made("tell", "--many", given="").stdout == ""


def test_ids_of_the_callers_are_texts(made):
    first = lines(made("ask", "order-7", "8"))
    assert [one["id"] for one in first] == ["order-7", "8"]
    assert lines(made("ask", "8"))[0]["status"] == "repeated"
    assert lines(made("fate", "8")) == [{"id": "8", "fate": "pending"}]
    assert "this session has used your own ids so far" in made("ask", "--count", 2, code=2).stderr
    assert lines(made("tell", "8", "-", given="[1, 0]"))[0] == {"id": "8", "status": "used", "weight": 1.0}
    assert lines(made("expire", "order-7")) == [{"id": "order-7", "status": "expired", "weight": 0.0}]
    more = lines(made("ask", "-", given='{"id": "a"}\n\n"b"\n9\n'))
    assert [one["id"] for one in more] == ["a", "b", 9]
    assert made("ask", "c", "--size", -1, code=2).stderr.startswith("--size must be positive")
    assert made("ask", "-", given='"c"\n{"id": "d", "size": 0}\n', code=2).stderr.startswith("line 2: size must be")
    assert lines(made("expire", "-", given='9\n{"id": "b"}\n'))[0]["id"] == 9


def test_numbered_rounds_can_be_asked_again(made):
    first = lines(made("ask"))[0]
    assert lines(made("ask", 1))[0] == first | {"status": "repeated"}
    assert "give ids always or never" in made("ask", "order-7", code=2).stderr


def test_absent_rounds_exit_with_1_and_are_told(made):
    assert lines(made("tell", 5, "[1, 0]", code=1)) == [{"id": "5", "status": "unknown", "weight": 0.0}]
    made("ask", "--count", 2)
    given = '{"id": 1, "gradient": [1, 0]}\n{"id": 99, "gradient": [1, 0]}\n'
    assert [one["status"] for one in lines(made("tell", "--many", given=given, code=1))] == ["used", "unknown"]
    assert lines(made("tell", 1, "[1, 0]")) == [{"id": 1, "status": "duplicate", "weight": 0.0}]
    assert lines(made("expire", 77, code=1))[0]["status"] == "unknown"


def test_forgotten_rounds_are_late(call):
    call(*NEW, "--memory", 1)
    call("ask", "--count", 9)
    given = "".join(f'{{"id": {t}, "gradient": [1, 0]}}\n' for t in range(1, 9))
    assert {one["status"] for one in lines(call("tell", "--many", given=given, code=1))} == {"used", "late"}


def test_bytes_as_ids(made):
    assert lines(made("ask", "-", given='{"bytes": "Yg=="}\n'))[0]["id"] == {"bytes": "Yg=="}
    assert lines(made("tell", "--many", given='{"id": {"bytes": "Yg=="}, "gradient": [1, 0]}'))[0]["status"] == "used"


def test_tables_are_for_terminals(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert not is_json(None)
    assert is_json(Format.json)
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert is_json(None)
    assert not is_json(Format.table)


def test_values_may_be_negative(call):
    call("new", *BALL, "--player", "{ learner = { type = 'DWFTBL', rate = 0.1, smoothing = 0.2 } }")
    call("ask", "--count", 2)
    assert lines(call("tell", 1, "-0.5"))[0]["status"] == "used"
    assert lines(call("tell", "--many", given='{"id": 2, "value": -1e-3}'))[0]["status"] == "used"


def test_delays_in_the_clairvoyant_model(call):
    call(*NEW, "--information", "clairvoyant")
    assert lines(call("ask", "--delay", 3))[0]["id"] == 1
    assert "the delay" in call("ask", code=2).stderr
    assert len(lines(call("ask", "-", given='{"delay": 0}\n{"delay": 2}\n'))) == 2


def test_ledger_and_export(made, url):
    made("ask", "--count", 8)
    made("tell", 1, "[1, 0]")
    ledger = json.loads(made("ledger", "--rounds", 3).stdout)
    assert ledger["sum"] == ledger["rounds"] == sum(ledger["fates"].values()) == 8
    assert [entry["round"] for entry in ledger["last"]] == [8, 7, 6]
    export = json.loads(made("export").stdout)
    assert list(export) == ["store", "name", "version", "configuration", "is_numbered", "status", "tracked"]
    assert export["configuration"]["player"]["fields"]["learner"]["type"] == "DWFTRL"
    assert export["status"]["fates"] == ledger["fates"]
    assert len(export["tracked"]) == ledger["fates"]["pending"]


def test_tables(made):
    assert "pending" in made("ask", "-f", "table").stdout
    assert "fate pending" in made("status", "-f", "table").stdout
    shown = made("ledger", "--rounds", 2, "-f", "table").stdout
    assert "sum" in shown
    assert "answered" in shown
    assert made("expire", "-", "-f", "table", given="").stdout == ""


def test_several_sessions_in_one_store(made, call):
    call("new", *BALL, "--player", "{ learner = { type = 'DWFTRL', rate = 1.0 } }", "--name", "other")
    made("ask", "--count", 3)
    assert json.loads(call("status", "--name", "other").stdout)["rounds"] == 0
    assert "holds no session called 'third', only 'main', 'other'" in call("status", "--name", "third", code=3).stderr


@pytest.mark.parametrize(
    ("arguments", "given", "sentence"),
    [
        (["tell", 1, "[1]"], None, "gradient has shape (1,), the session needs (2,)"),
        (["tell", 1, "yes"], None, "the gradient must be JSON, got 'yes'"),
        (["tell", 1, '"yes"'], None, "gradient must be numbers, got 'yes'"),
        (["tell", 1], None, "give an id and its feedback, or --many"),
        (["tell"], None, "give an id and its feedback, or --many"),
        (["tell", 1, "[1, 0]", "--many"], "", "give an id and its feedback, or --many"),
        (["tell", "--many"], "{", "line 1 is not JSON: '{'; nothing was changed"),
        (["tell", "--many"], '\n{"id": 1, "value": 2}', "line 2 has a field 'value', only id, gradient are known"),
        (["tell", "--many"], '{"id": 1}', "row 1 has no 'gradient'"),
        (["tell", "--many"], '{"id": 1, "gradient": [1, 0]}\n{"id": 2, "gradient": [NaN, 0]}', "in row 1: nothing"),
        (["tell", "--many"], '{"id": [1], "gradient": [1, 0]}', "an id must be a string, a whole number or bytes"),
        (["expire", "-"], '{"id": {"x": 1}}', "an id must be a string, a whole number or bytes"),
        (["ask", "a", "--count", 2], None, "give ids or --count, and not both"),
        (["ask", "--delay", 2], None, "a non-clairvoyant session takes no delay"),
        (["ask", "--count", -1], None, "--count"),
        (["expire"], None, "Missing argument"),
        (["status", "--sotre", "x"], None, "--sotre"),
        (["ask", "--store", "mysql://x"], None, "store must be"),
        (["ask", "--store", "memory:"], None, "what is kept in memory ends with its command"),
        (["ask", "--durability", "none"], None, "durability must be 'power' or 'process', got 'none'"),
        ([*NEW, "--capacity", 4], None, "the store holds a session with another capacity (3, not 4)"),
    ],
)
def test_bad_arguments_exit_with_2_and_change_nothing(made, arguments, given, sentence):
    made("ask")
    before = made("status").stdout
    assert sentence in made(*arguments, given=given, code=2).stderr
    assert made("status").stdout == before


def test_trouble_with_the_store_exits_with_3(call, tmp_path):
    assert "there is no file" in call("ask", code=3).stderr
    (tmp_path / "state.db").write_text("something else")
    assert "is not a SQLite file" in call("status", code=3).stderr
    assert "there is no folder" in call(*NEW, "--store", f"sqlite:///{tmp_path}/no/a.db", code=3).stderr


def test_a_join_is_not_a_session(call):
    call("new", "--capacity", 2, group="join")
    assert "'main' in" in call("ask", code=3).stderr


def test_a_network_file_system_is_told_in_a_sentence(made, monkeypatch):
    monkeypatch.setattr("tarry.live.stores.network_file_system", lambda path: "nfs4")
    done = made("ask")
    assert "lies on a network file system (nfs4)" in done.stderr
    assert ".py" not in done.stderr
    assert lines(done)[0]["id"] == 1
    with warnings.catch_warnings(record=True) as caught:
        made("status")
    assert not caught


def test_passwords_are_not_shown():
    from tarry.live.stores import without_password

    assert without_password("sqlite:///a@b:c.db") == "sqlite:///a@b:c.db"
    assert without_password("postgres://ada:s@cret@db:5432/x?password=s") == "postgres://ada@db:5432/x"
    assert without_password("postgresql://db/x") == "postgresql://db/x"


@pytest.mark.slow
def test_one_process_asks_and_another_tells(url, tmp_path):
    """Through pipes, in a folder of its own, with the default store."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
    environment.pop("TARRY_STORE", None)

    def start(*arguments, **pipes):
        command = [sys.executable, "-m", "tarry", "session", *arguments]
        return subprocess.Popen(command, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, **pipes)

    with start(*NEW) as new:
        assert new.wait(120) == 0
    turn = "import json, sys; [print(json.dumps({'id': json.loads(x)['id'], 'gradient': [1, 0]})) for x in sys.stdin]"
    with (
        start("ask", "--count", "3") as ask,
        subprocess.Popen([sys.executable, "-c", turn], stdin=ask.stdout, stdout=subprocess.PIPE) as middle,
        start("tell", "--many", stdin=middle.stdout) as tell,
    ):
        told = tell.stdout.read()
    assert (ask.returncode, tell.returncode) == (0, 0)
    assert [json.loads(line)["status"] for line in told.splitlines()] == ["used"] * 3
    with tarry.Session.open(f"sqlite:///{tmp_path / 'tarry.db'}") as session:
        assert session.ask().play.tolist() == [-1.0, 0.0]


def test_numbers_beyond_all_floats(made):
    made("ask")
    done = made("tell", 1, f"[1{'0' * 400}, 0]", code=2)
    assert "gradient must be numbers" in done.stderr
    assert "must be finite and below 1e100" in made("tell", 77, "[NaN, 1]", code=2).stderr
