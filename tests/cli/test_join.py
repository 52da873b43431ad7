"""tarry join: decisions and labels from the shell."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl
import pytest
from shell import lines
from typer.testing import CliRunner

import tarry
from tarry.cli.app import app
from tarry.errors import StoreError
from tarry.live.base import StoredObject
from tarry.live.codec import dump
from tarry.live.stores.sqlite import SQLite


@pytest.fixture
def call(join):
    return join


@pytest.mark.jit
def test_decisions_and_labels_are_those_from_python(call):
    told = json.loads(call("new", "--capacity", 2, "--seed", 3).stdout)
    assert (told["scheduler"], told["labels"], told["rounds"]) == ("VarOpt", "first", 0)  # as players recommend
    twin = tarry.LabelJoin(2, rng=3)
    for i in range(6):
        (ticket,) = lines(call("decide", json.dumps({"i": i}), "--id", f"o{i}"))
        expected = twin.decide({"i": i}, f"o{i}")
        assert ticket == {"id": f"o{i}", "tracked": expected.tracked, "released": list(expected.released)}
    for i in range(6):
        (found,) = lines(call("label", f"o{i}", i - 2))
        row = twin.label(f"o{i}", i - 2)
        assert found["row"] == (None if row is None else row._asdict())
        assert found["fate"] == twin.fate(f"o{i}").name.lower()
    estimate = json.loads(call("estimate", "--low", -2, "--high", 3).stdout)
    assert estimate == twin.estimate(low=-2, high=3)._asdict()
    assert json.loads(call("estimate", "--level", "0.5").stdout)["low"] > estimate["low"]
    assert json.loads(call("estimate", "--among", "labelled").stdout) == dump(twin.estimate(among="labelled"))
    assert json.loads(call("status").stdout)["fates"] == twin.status().fates


def test_a_join_changes_while_decisions_wait(call):
    call("new", "--capacity", 6, "--seed", 2)
    ids = [f"d{i}" for i in range(12)]
    call("decide", "--many", given="".join(f'"{id}"\n' for id in ids))
    told = json.loads(call("resize", "--capacity", 4, "--memory", 50).stdout)
    assert (told["capacity"], told["memory"], len(told["released"])) == (4, 50, 2)
    assert {one["fate"] for one in lines(call("fate", *told["released"]))} == {"preempted"}
    assert json.loads(call("resize", "--unlimited").stdout)["released"] == []
    for wrong in ([], ["--capacity", 3, "--unlimited"], ["--capacity", 0]):
        call("resize", *wrong, code=2)
    rules = json.loads(call("export").stdout)["configuration"]
    assert (rules["capacity"], rules["memory"]) == (None, 50)


@pytest.mark.parametrize(
    ("given", "told"),
    [("DropNewest", "drop newest"), ("drop oldest", "drop oldest"), ('{ type = "Timeout", age = 5 }', "time out")],
)
def test_a_policy_has_one_name(call, given, told):
    """That of plans and studies, however it is written."""
    assert json.loads(call("new", "--capacity", 2, "--scheduler", given).stdout)["scheduler"] == told


def test_one_decision_loads_no_compiler(tmp_path):
    """To load it takes two seconds of the processor, and one decision some microseconds."""
    store = f"sqlite:///{tmp_path / 'join.db'}"
    tarry.LabelJoin(2, store=store, rng=1).close()
    program = "import sys; from tarry.cli.app import app; app(standalone_mode=False); print('numba' in sys.modules)"
    command = [sys.executable, "-c", program, "join", "decide", "1", "--store", store]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1] == "False"


def test_no_limit_is_said(call):
    made = json.loads(call("new", "--unlimited").stdout)
    assert (made["scheduler"], made["capacity"]) == ("VarOpt", None)


def test_many_at_once(call):
    call("new", "--capacity", 8)
    given = '{"id": "a", "features": [1, 2]}\n{"id": "b"}\n'
    assert [one["id"] for one in lines(call("decide", "--many", given=given))] == ["a", "b"]
    found = lines(call("label", "--many", given='{"id": "b", "label": null}\n{"id": "a", "label": 2}\n'))
    row = {"features": None, "label": None, "weight": 1.0, "id": "b", "relative": 1.0, "number": 1}
    assert found[0] == {"id": "b", "fate": "used", "row": row, "answer": "used"}
    assert found[1]["row"]["features"] == [1, 2]
    assert lines(call("label", "a", 2)) == [{"id": "a", "fate": "used", "row": None, "answer": "duplicate"}]


def test_nothing_in_is_nothing_out(call):
    call("new", "--capacity", 8)
    call("decide", "--id", "a")
    for command in ("decide", "label"):
        result = call(command, "--many", given="")
        assert (result.exit_code, result.stdout) == (0, "")


def test_schedulers_by_their_names(call):
    told = json.loads(call("new", "--capacity", 2, "--scheduler", "Priority").stdout)
    assert told["scheduler"] == "Priority"
    refused = call("new", "--capacity", 2, "--scheduler", "Magic", "--name", "other", code=2)
    assert "scheduler must be one of VarOpt, Priority" in refused.stderr


def test_an_empty_sum_is_nought(call):
    call("new", "--capacity", 8, "--labels", "sum")
    call("decide", "--many", given='"a"\n"b"\n')
    assert lines(call("finish", "a"))[0]["row"]["label"] == 0
    assert lines(call("finish", "b", "--missing", "null"))[0]["row"]["label"] is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
def test_an_answer_that_finds_no_room_says_so(call, url):
    call("new", "--capacity", 8)
    command = [sys.executable, "-m", "tarry", "join", "decide", "--id", "a", "--store", url]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "this was done, but the answer cannot be written" in done.stderr
    assert "--format" not in done.stderr
    assert lines(call("fate", "a"))[0]["fate"] == "pending"


def test_numbers_unless_ids_are_given(call):
    call("new", "--capacity", 8)
    assert lines(call("decide"))[0]["id"] == 1
    assert lines(call("decide", "-", given='{"x": "y"}'))[0]["id"] == 2
    assert lines(call("decide", "--many", given='{"features": 5}\n'))[0]["id"] == 3
    row = lines(call("label", 2, '"yes"'))[0]["row"]
    assert row == {"features": {"x": "y"}, "label": "yes", "weight": 1.0, "id": 2, "relative": 1.0, "number": 1}
    assert lines(call("label", 9, 1, code=1)) == [{"id": 9, "fate": "unknown", "row": None, "answer": "unknown"}]
    assert lines(call("expire", 3, 4, code=1))[0] == {"id": 3, "status": "expired", "weight": 0.0}


def test_windows(call):
    call("new", "--capacity", 8, "--labels", "sum")
    call("decide", "--id", "a"), call("decide", "--id", "b")
    assert lines(call("label", "a", 2)) == [{"id": "a", "fate": "pending", "row": None, "answer": "pending"}]
    call("label", "a", -0.5)
    rows = [one["row"]["label"] for one in lines(call("finish", "a", "b", "--missing", "0"))]
    assert rows == [1.5, 0]
    assert lines(call("finish", "-", given='"nobody"', code=1))[0]["fate"] == "unknown"


def test_delays_in_the_clairvoyant_model(call):
    call("new", "--capacity", 3, "--information", "clairvoyant", "--seed", 5)
    twin = tarry.LabelJoin(3, information="clairvoyant", rng=5)
    assert lines(call("decide", "--delay", 4))[0]["id"] == twin.decide(delay=4).id
    given = "".join(f'{{"features": {i}, "delay": {i % 3}}}\n' for i in range(6))
    expected = [ticket._asdict() for ticket in twin.decide_many(range(6), delays=[i % 3 for i in range(6)])]
    assert lines(call("decide", "--many", given=given)) == [
        one | {"released": list(one["released"])} for one in expected
    ]
    assert "a clairvoyant join needs each round's" in call("decide", "--many", given='{"features": 1}', code=2).stderr


def test_audits(call):
    call("new", "--capacity", 8)
    call("decide", '{"age": 41}', "--id", "a")
    ledger = json.loads(call("ledger", "--rounds", 5).stdout)
    assert ledger["last"] == [{"round": 1, "id": "a", "fate": "pending", "answered": False}]
    assert json.loads(call("export").stdout)["tracked"][0]["payload_bytes"] == len('{"age": 41}')
    assert json.loads(call("export", "--payloads").stdout)["tracked"][0]["payload"] == {"age": 41}
    nothing = {"mean": None, "sum": None, "low": 0.0, "high": 1.0, "naive": None, "labels": 0, "left_out": 0}
    sure = {"anytime_low": 0.0, "anytime_high": 1.0, "sum_low": 0.0, "sum_high": 1.0, "caveat": "", "is_settled": False}
    assert json.loads(call("estimate").stdout) == nothing | {"outstanding": 1.0} | sure
    assert json.loads(call("estimate", "--low", -3, "--high", 2).stdout)["sum_low"] == -3
    assert "naive" in call("estimate", "-f", "table").stdout


def test_fates_are_told_as_they_are_now(call):
    call("new", "--capacity", 8)
    call("decide", "--id", "a"), call("decide", "--id", "b")
    call("label", "a", 1)
    assert lines(call("decide", "--id", "a"))[0]["tracked"]  # as at first
    assert lines(call("fate", "a", "b")) == [{"id": "a", "fate": "used"}, {"id": "b", "fate": "pending"}]
    assert lines(call("fate", "-", given='"c"', code=1)) == [{"id": "c", "fate": "unknown"}]


def test_status_tells_how_many_labels_are_awaited(call):
    call("new", "--capacity", 8)
    call("decide", "--many", given="{}\n" * 4)
    call("label", 1, 0.5), call("label", 2, '"none"')
    status = json.loads(call("status").stdout)
    assert [status["estimate"][name] for name in ("labels", "left_out", "outstanding")] == [1, 1, 0.5]
    assert "about 50% of the labels are still awaited" in status["warnings"][0]
    shown = call("status", "-f", "table").stdout
    assert "estimate outstanding" in shown
    assert "still awaited" in shown


def test_a_join_without_preemption(call):
    told = json.loads(call("new", "--capacity", 16, "--no-preemption", "--backlog", 60).stdout)
    assert (told["scheduler"], told["preemption"]) == ("Morris", False)


@pytest.mark.parametrize(
    ("arguments", "given", "sentence"),
    [
        (
            ["label", "a", "yes"],
            None,
            "the label must be JSON, got 'yes': texts, and the names in an object, stand in double quotes",
        ),
        (["label", "a"], None, "give an id and its label, or --many"),
        (["label", "--many"], '{"id": "a"}', "row 1 has no 'label'"),
        (["label", "--many", "a", "1"], "", "give an id and its label, or --many"),
        (["decide", "{", "--id", "b"], None, "features must be JSON, got '{'"),
        (["decide", "--many"], '{"age": 3}', "line 1 has a field 'age', only features, id, delay, size, at are known"),
        (["decide", "--many", "--id", "b"], "", "leave the others out"),
        (["decide", "--many"], '{"id": "b"}\n{"features": 1}', "give ids always or never"),
        (["decide", "--many"], '{"id": "b", "delay": 3}', "a non-clairvoyant join takes no delay, got 3"),
        (["label", "a", "NaN"], None, "the label of 'a' is nan, which is not finite"),
        (["label", "--many"], '{"id": "a", "label": 1}\n{"id": "a", "label": -Infinity}', "the label of 'a' is -inf"),
        (["new", "--capacity", 3, "--labels", "sum"], None, "another value of labels ('first', not 'sum')"),
        (["finish", "a"], None, "ends a decision with its first label"),
        (["estimate", "--level", 95], None, "level must lie between 0 and 1, got 95"),
        (["estimate", "--low", 1], None, "high must be above low=1.0, got 1.0"),
        (["new", "--capacity", 3, "--labels", "mean"], None, "labels must be"),
        (["new"], None, "give --capacity N, the decisions that may wait at once, or --unlimited: one of the two"),
        (["new", "--capacity", 3, "--unlimited"], None, "or --unlimited: one of the two"),
        (["new", "--capacity", 3, "--scheduler", "Morris"], None, "one that needs constants is Timeout(500)"),
        (["new", "--capacity", 2, "--no-preemption"], None, "needs a guess of the backlog"),
        (["new", "--capacity", 9], None, "another capacity (3, not 9)"),
    ],
)
def test_bad_arguments_exit_with_2_and_change_nothing(call, arguments, given, sentence):
    call("new", "--capacity", 3)
    call("decide", "--id", "a")
    before = call("export").stdout
    assert sentence in call(*arguments, given=given, code=2).stderr
    assert call("export").stdout == before


def test_several_windows_end_in_one_transaction(call):
    call("new", "--capacity", 8, "--labels", "sum")
    call("decide", "--id", "a"), call("decide", "--id", "b")
    call("label", "a", 1), call("label", "b", 2)
    assert "this join adds labels up" in call("label", "b", '"x"', code=2).stderr
    failed = call("finish", "a", "b", "--missing", "NaN", code=2)
    assert not failed.stdout
    assert lines(call("label", "a", 1))[0]["fate"] == "pending"
    call("expire", "-", given='"a"\n[1]', code=2)
    assert lines(call("label", "a", 1))[0]["fate"] == "pending"
    told = lines(call("expire", "a", "b", "c", code=1))
    assert [(one["id"], one["status"]) for one in told] == [("a", "expired"), ("b", "expired"), ("c", "unknown")]


@pytest.mark.parametrize(("given", "code"), [("json", 0), ("table", 1)])
def test_what_was_done_is_not_told_as_refused(given, code, tmp_path):
    store = f"sqlite:///{tmp_path / 'state.db'}"
    tarry.LabelJoin(2, store=store).close()
    narrow = CliRunner(charset="ascii")
    asked = ["join", "decide", "--store", store, "--id", "ünïcode", "-f", given]
    done = narrow.invoke(app, asked, env={"COLUMNS": "200"})
    assert done.exit_code == code, done.output
    with tarry.LabelJoin.open(store) as join:
        assert join.status().rounds == 1
    assert json.loads(done.stdout)["id"] == "ünïcode" if code == 0 else "this was done" in done.stderr


def test_a_row_is_told_even_if_nothing_can_be_read_after_it(call, monkeypatch):
    """It is handed out once: what comes with it is from the same transaction."""
    call("new", "--capacity", 8)
    call("decide", '{"f": 1}', "--id", "a")

    begin = SQLite.begin

    def out_of_reach(store, after, *, writes):
        if writes:
            return begin(store, after, writes=True)
        raise StoreError("the database cannot be reached")

    monkeypatch.setattr(SQLite, "begin", out_of_reach)
    monkeypatch.setattr(StoredObject, "is_numbered", False)
    (found,) = lines(call("label", "a", 1))
    row = {"features": {"f": 1}, "label": 1, "weight": 1.0, "id": "a", "relative": 1.0, "number": 1}
    assert found == {"id": "a", "fate": "used", "row": row, "answer": "used"}


def test_a_label_counts_once_under_its_key(call):
    call("new", "--capacity", 8, "--labels", "sum")
    call("decide", "--many", given='{"id": "a"}\n{"id": "b"}\n')
    for _ in range(2):
        call("label", "a", 20, "--key", "order-1")
        call("label", "--many", given='{"id": "a", "label": -5, "key": {"bytes": "YQ=="}}\n{"id": "b", "label": 1}\n')
    assert [one["row"]["label"] for one in lines(call("finish", "a", "b"))] == [15, 2]
    assert "give an id and its label, or --many" in call("label", "--many", "--key", "x", code=2).stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[" * 20000, "{} is nested too deeply, "),
        ("1" + "0" * 5000, "{} has a number of too many digits, "),
    ],
    ids=["deep", "long"],
)
def test_json_beyond_all_limits(call, text, sentence):
    call("new", "--capacity", 8)
    done = call("label", "a", text, code=2)
    assert done.stderr.startswith(sentence.format("the label"))
    assert len(done.stderr) < 300
    done = call("label", "--many", given=f'{{"id": "a", "label": {text}}}\n', code=2)
    assert done.stderr.startswith(sentence.format("line 1"))


@pytest.mark.parametrize("given", ['{"bytes": 5}', '{"bytes": "a"}', '{"bytes": null}'])
def test_bytes_that_are_none(call, given):
    call("new", "--capacity", 8)
    assert "line 1 has the bytes" in call("expire", "-", given=given, code=2).stderr


def test_stores_of_another_version_exit_with_3(call, url):
    call("new", "--capacity", 8)
    with sqlite3.connect(url.removeprefix("sqlite:///")) as database:
        (body,) = database.execute("SELECT body FROM tarry_objects").fetchone()
        content = body[12:].replace(b'"labels": "first"', b'"lambel": "first"')  # as long as it was
        database.execute(
            "UPDATE tarry_objects SET body = ?",
            (body[:4] + crc32(content).to_bytes(4, "little") + body[8:12] + content,),
        )
    database.close()
    assert "another version of Tarry" in call("decide", code=3).stderr
    assert "another version of Tarry" in call("new", "--capacity", 8, code=3).stderr


def test_copies_from_the_shell(call, url, tmp_path):
    call("new", "--capacity", 2, "--seed", 1, "--outbox", "--name", "mine")
    given = "\n".join(json.dumps({"id": f"d{i}", "features": {"i": i}}) for i in range(5))
    call("decide", "--many", "--name", "mine", given=given)
    file, other = tmp_path / "mine.tarry", f"sqlite:///{tmp_path / 'other.db'}"
    assert json.loads(call("export", "--whole", file, "--name", "mine").stdout)["rounds"] == 5
    assert json.loads(call("import", file).stdout)["tracked"] == 2
    assert json.loads(call("import", file, "--name", "again").stdout)["rounds"] == 5
    copied = json.loads(call("copy", other, "--name", "mine").stdout)
    assert (copied["to"], copied["to_name"], copied["rounds"]) == (other, "mine", 5)
    labels = "\n".join(json.dumps({"id": f"d{i}", "label": 1}) for i in range(5))
    places = (["--name", "mine"], [], ["--name", "again"], ["--name", "mine", "--store", other])
    assert len({call("label", "--many", *place, given=labels).stdout for place in places}) == 1
    assert "already" in call("import", file, code=3).stderr
    file.write_text("{}")
    assert "no whole copy of Tarry's" in call("import", file, "--name", "new", code=3).stderr


@pytest.mark.parametrize("window", [None, "20h"])
def test_a_log_is_streamed_as_from_python(call, window, tmp_path):
    rng, start = np.random.default_rng(1), datetime(2026, 1, 13)
    at = [start + timedelta(hours=i) for i in range(60)]
    come = [None if i % 7 == 3 else t + timedelta(minutes=int(rng.integers(1, 3000))) for i, t in enumerate(at)]
    log = {
        "order": [f"o{i}" for i in range(60)],
        "at": at,
        "seen": come,
        "paid": [None if seen is None else i % 2 for i, seen in enumerate(come)],
    }
    frame = pl.DataFrame(log | {"basket": rng.random(60), "gap": [None, *range(59)]})
    path = tmp_path / "log.csv"
    frame.sample(60, shuffle=True, seed=1).write_csv(path, separator=";")
    options = ["--decided", "at", "--labelled", "seen", "--label", "paid", "--capacity", 5, "--seed", 1, "--deliver"]
    rules = {} if window is None else {"window": window, "missing": 0}
    options += [] if window is None else ["--window", window, "--missing", 0]
    told = lines(call("stream", path, *options, "--id", "order"))
    join = tarry.LabelJoin(5, rng=1, **rules)
    names = {"decided_at": "at", "labelled_at": "seen", "label": "paid", "at_end": "deliver"}
    rows = [
        row._asdict() | {"tempered": sum(join.steps(row))}
        for row in join.stream(frame.rename({"order": "id"}), **names)
    ]
    assert told == rows
    assert any(row["tempered"] != row["relative"] for row in rows)
    assert len(rows) > 5
    (first, *_) = lines(call("stream", path, *options, "--features", "basket"))
    assert list(first["features"]) == ["basket"]
    assert lines(call("stream", path, *options)) != []  # numbered
    other = ["--feedback" if one == "--labelled" else one for one in options]
    assert lines(call("stream", path, *other, "--id", "order")) == told
    for bad, sentence in (
        (["--features", "none"], "there is no column 'none'"),
        (["--id", "none"], "no column 'none'"),
        (["--unlimited"], "give --capacity"),
        (["--window", "20"], "--window needs a unit where the log has dates, got '20': write 20d"),
        (["--release", "arrival"] if window is None else ["--missing", "x"], "is about windows|must be JSON"),
    ):
        assert re.search(sentence, call("stream", path, *options, *bad, code=2).stderr)


def test_features_of_all_kinds_are_printed(call, url):
    """Whoever reads the row in a shell has it, whatever Python has put there."""
    features = [float("nan"), date(2026, 1, 31), datetime(2026, 1, 31, 12), Decimal("1.10"), np.float32(0.5), b"a"]
    features += [np.array([1, 2]), np.array(["2026-01-31"], "M8[D]"), {1: (np.True_,)}, np.datetime64("NaT")]
    features += [timedelta(1), np.longdouble(0.5), np.array(1 + 1j)]
    with tarry.LabelJoin(4, store=url) as join:
        join.decide(features, id="a")
    (told,) = lines(call("label", "a", 1))
    first = [None, "2026-01-31", "2026-01-31T12:00:00", "1.10", 0.5, {"bytes": "YQ=="}]
    second = [[1, 2], ["2026-01-31"], {"1": [True]}, None, "1 day, 0:00:00", 0.5, "(1+1j)"]
    assert told["row"]["features"] == first + second


def test_sizes_from_the_shell(call):
    call("new", "--capacity", 2, "--seed", 3)
    twin = tarry.LabelJoin(2, rng=3)
    sizes = [1.5, 20.0, 0.5]
    for size in sizes:
        (ticket,) = lines(call("decide", "--size", size))
        assert ticket["tracked"] == twin.decide(size=size).tracked
    told = call("decide", "--many", given='{"size": 7}\n{"features": 1}\n')
    assert [one["tracked"] for one in lines(told)] == [one.tracked for one in twin.decide_many([0, 1], sizes=[7, None])]
    status = json.loads(call("status").stdout)
    assert status["sizes"] == {"rounds": 4, "total": 30.0, "held": pytest.approx(30.0)}
    assert "--size must be positive" in call("decide", "--size", -1, code=2).stderr
    refused = call("decide", "--many", given='{"size": 2}\n\n{"size": "x"}\n', code=2)
    assert refused.stderr.startswith("line 3: size must be positive and finite, got 'x'")
    assert json.loads(call("status").stdout)["rounds"] == 5


def test_windows_and_the_outbox(call):
    told = json.loads(call("new", "--capacity", 4, "--window", "30d", "--missing", 0, "--outbox").stdout)
    assert (told["window"], told["missing"], told["outbox"]) == ("30d", 0, True)
    call("decide", '{"n": 1}', "--id", "a", "--at", "2026-01-01")
    call("decide", "--many", given='{"id": "b", "at": "2026-01-02"}\n{"id": "c", "at": 1767571200}\n')
    assert [one["answer"] for one in lines(call("label", "a", 1, "--at", "2026-01-20"))] == ["pending"]
    assert lines(call("label", "--many", given='{"id": "b", "label": 1, "at": "2026-03-01"}'))[0]["answer"] == "outside"
    assert lines(call("due", "--now", "2026-02-01")) == [{"id": "a"}, {"id": "b"}]
    for name in ("advance", "due"):
        assert "--now must be a moment" in call(name, "--now", "soon", code=2).stderr
    rows = lines(call("advance", "--now", "2026-02-01"))
    assert [(row["id"], row["label"], row["number"]) for row in rows] == [("a", 1, 1), ("b", 0, 2)]
    assert lines(call("rows")) == rows
    assert lines(call("rows", "--after", 1, "--limit", 5)) == rows[1:]
    assert json.loads(call("ack", 1).stdout)["left"] == 1
    assert "give a number from 1 to 2" in call("rows", "--after", 0, code=2).stderr
    assert [row["id"] for row in lines(call("advance"))] == ["c"]


def test_a_streamed_log_says_what_has_no_label_and_numbers_rows_as_the_file_does(call, tmp_path):
    def stream(*rows, options=()):
        (tmp_path / "log.csv").write_text(
            "\n".join(["id,decided_at,labelled_at,label", *rows]) + "\n", encoding="utf-8"
        )
        code = 2 if options == "fails" else 0
        return call("stream", tmp_path / "log.csv", "--capacity", 9, *(() if code else options), code=code)

    log = [
        f"{name},2026-01-0{day},{came},{label}"
        for name, day, came, label in [
            ("a", 1, "2026-01-03", 1),
            ("b", 2, "", ""),
            ("c", 3, "2026-01-04", 0),
            ("d", 9, "", ""),
        ]
    ]
    assert "2 of 4 decisions have no label" in stream(*log).stderr
    done = stream(*log, options=["--window", "2d"])
    assert [line["label"] for line in lines(done)].count(None) == 1  # the last window does not end in the log
    assert "none came: 1;" in done.stderr
    assert stream(*log, options=["--window", "2d", "--missing", "0"]).stderr == ""
    assert "log.csv have the same id" in stream(*log[:3], "b,2026-01-05,,", options="fails").stderr
    assert "log.csv has no label" in stream(*log[:2], "c,2026-01-03,2026-01-04,", options="fails").stderr


def test_a_streamed_log_ends_with_the_estimate(call, tmp_path):
    (tmp_path / "log.csv").write_text("decided_at,labelled_at,label\n1,2,1\n2,3,0\n3,5,1\n4,,\n", encoding="utf-8")
    *rows, last = lines(call("stream", tmp_path / "log.csv", "--capacity", 9, "--deliver", "--estimate"))
    assert [row["label"] for row in rows] == [1, 0, 1]
    assert (last["estimate"]["mean"], last["estimate"]["labels"]) == (pytest.approx(2 / 3), 3)
    join = tarry.LabelJoin(9)
    assert len(list(join.stream(pl.read_csv(tmp_path / "log.csv"), at_end="deliver"))) == 3
    assert last["estimate"]["low"] == join.estimate().low


def test_a_label_without_a_time_is_refused_by_file_and_row(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("decided_at,labelled_at,label\n1,2,1\n2,,1\n3,4,0\n", encoding="utf-8")
    for command in (["join", "stream", "--capacity", "9"], ["case", "--label", "label", "--window", "1"]):
        run = CliRunner().invoke(app, [*command, str(log)])
        said = " ".join(run.stderr.split())
        assert run.exit_code == 2
        assert f"row 3 of {log} has the label 1 and no time in 'labelled_at'" in said
        assert "give the time" in said


@pytest.mark.parametrize("bad", ["2026-01-03T10:00:00", "soon"])
def test_times_of_another_kind_are_refused_alike(bad, tmp_path):
    """By the file and its row, whoever reads the log."""
    rows = [f"2026-01-0{day}T10:00:00Z,2026-01-0{day}T12:00:00Z,{day % 2}" for day in range(1, 8)]
    rows[2] = f"{bad},2026-01-03T12:00:00Z,1"
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["decided_at,labelled_at,label", *rows]) + "\n", encoding="utf-8")
    for command in (["plan"], ["case", "--label", "label"], ["join", "stream", "--capacity", "9"]):
        run = CliRunner().invoke(app, [*command, str(log)])
        said = " ".join(run.stderr.split())
        assert run.exit_code == 2
        assert f"row 4 of {log} has '{bad}' in 'decided_at'" in said
        assert ("each with its zone" in said) == (bad != "soon")
