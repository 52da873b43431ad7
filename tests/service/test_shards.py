"""A join in shards from the shell and over HTTP: the same as in the library, and busy shards keep no others waiting."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from serving import Served
from shell import caller, lines

import tarry
from tarry.live.sharded import shard_of

MAKE = {"shards": 4, "outbox": True, "rng": 3}
IDS = [f"u{i}" for i in range(40)]


@pytest.fixture(scope="module")
def on_postgres(postgres, tmp_path_factory):
    server = Served(tmp_path_factory.mktemp("shards"), postgres.url("shards"), durability="process")
    yield server
    assert server.stop() in (0, -15), server.log()


def test_the_client_gets_what_the_library_gives(on_postgres):
    here = tarry.LabelJoin(12, **MAKE)
    with tarry.connect(on_postgres.url, token=on_postgres.token) as connection:
        there = connection.join(12, name="clicks", **MAKE)
        for id in IDS[:8]:
            assert there.decide({"id": id}, id) == here.decide({"id": id}, id)
        rows = [{"id": id} for id in IDS[8:]]
        assert there.decide_many(rows, ids=IDS[8:]) == here.decide_many(rows, ids=IDS[8:])
        with pytest.raises(ValueError, match="names its shard"):
            there.decide({})
        assert [there.label(id, 1) for id in IDS[:8]] == [here.label(id, 1) for id in IDS[:8]]
        assert there.label_many(IDS[8:20], [0] * 12) == here.label_many(IDS[8:20], [0] * 12)
        assert there.rebalance() == here.rebalance()
        assert there.resize(capacity=6) == here.resize(capacity=6)
        assert there.label_many(IDS[20:], [1] * 20) == here.label_many(IDS[20:], [1] * 20)
        assert there.estimate() == here.estimate()
        assert str(there.estimate(among="labelled")) == str(here.estimate(among="labelled"))  # with bounds that are NaN
        assert there.status().shards == here.status().shards
        assert there.ledger(1) == here.ledger(1)
        numbers = [row.number for row in there.rows(limit=5)]
        assert there.rows(after=numbers) == here.rows(after=numbers)
        assert there.ack(numbers) == here.ack(numbers)
        assert there.rows() == here.rows()
        assert (there.capacity, there.is_numbered) == (6, False)
        assert len(there.tracked()) == len(here.tracked())
        assert connection.names() == ["clicks"]
        there.delete()
        assert connection.names() == []


def test_refusals_of_the_service(on_postgres):
    told = on_postgres.call("POST", "/v1/joins/few", {"capacity": 3, "shards": 4})
    assert told[0] == 422
    assert "one slot for each of 4 shards" in told[1]["detail"]
    assert on_postgres.call("POST", "/v1/joins/plain", {"capacity": 3})[0] == 201
    told = on_postgres.call("POST", "/v1/joins/plain/rebalance", {})
    assert told[0] == 422
    assert "no shards" in told[1]["detail"]
    assert on_postgres.call("POST", "/v1/joins/plain", {"capacity": 3, "shards": 2})[0] == 409


def test_a_busy_shard_keeps_no_caller_of_another_waiting(on_postgres):
    join = "/v1/joins/busy"
    assert on_postgres.call("POST", join, {"capacity": 8, "shards": 2})[0] == 201
    ids = {shard_of(id, 2): id for id in IDS}
    answers = {}

    def decide(shard: int) -> None:
        answers[shard] = on_postgres.call("POST", f"{join}/decide", {"id": ids[shard]})

    with psycopg.connect(on_postgres.store) as database:
        database.execute("SELECT 1 FROM tarry_objects WHERE name = 'busy#0' FOR UPDATE")
        waiting = threading.Thread(target=decide, args=(0,))
        waiting.start()
        decide(1)
        assert answers[1][1]["tracked"]
        assert 0 not in answers
    waiting.join()
    assert answers[0][1]["tracked"]


def test_many_callers_at_once(on_postgres):
    join = "/v1/joins/many"
    assert on_postgres.call("POST", join, {"capacity": 16, "shards": 4, "seed": 1})[0] == 201

    def call(i: int) -> float:
        assert on_postgres.call("POST", f"{join}/decide", {"id": f"c{i}"})[0] == 200
        row = on_postgres.call("POST", f"{join}/label", {"id": f"c{i}", "label": 1})[1]["row"]
        return 0.0 if row is None else row["weight"]

    with ThreadPoolExecutor(8) as pool:
        weights = sum(pool.map(call, range(120)))
    status = on_postgres.call("GET", f"{join}/status")[1]
    assert weights == pytest.approx(120)
    assert status["rounds"] == sum(status["fates"].values()) == 120
    assert sum(load["rounds"] for load in status["shards"]) == 120


def test_from_the_shell(postgres):
    run = caller(postgres.url("shell_shards"), "join")
    told = json.loads(run("new", "--capacity", 8, "--shards", 4, "--seed", 3, "--outbox").stdout)
    assert told["shards"] == 4
    asked = "".join(json.dumps({"id": id, "features": {"id": id}}) + "\n" for id in IDS)
    here = tarry.LabelJoin(8, **MAKE)
    tickets = here.decide_many([{"id": id} for id in IDS], ids=IDS)
    assert [one["tracked"] for one in lines(run("decide", "--many", given=asked))] == [one.tracked for one in tickets]
    told = json.loads(run("rebalance").stdout)
    assert told["released"] == here.rebalance()
    shards = json.loads(run("status").stdout)["shards"]
    assert [load["capacity"] for load in shards] == [load.capacity for load in here.status().shards]
    labels = "".join(json.dumps({"id": id, "label": 1}) + "\n" for id in IDS)
    rows = [one["row"] for one in lines(run("label", "--many", given=labels)) if one["row"] is not None]
    assert sum(row["weight"] for row in rows) == pytest.approx(40)
    first = [row["number"] for row in lines(run("rows", "--limit", 3))]
    after = [word for number in first for word in ("--after", number)]
    assert len(lines(run("rows", *after))) == len(rows) - 3
    assert json.loads(run("ack", *first).stdout)["left"] == len(rows) - 3
    assert "shard 3" in run("status", "--format", "table").stdout
    assert "one slot for each of 4 shards" in run("resize", "--capacity", 2, code=2).output
    assert (
        "leave shards out" in caller("sqlite:///never.db", "join")("new", "--capacity", 8, "--shards", 2, code=2).output
    )
