"""Joins over HTTP give what the library gives."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psutil
import pytest
from serving import Served

import tarry
from tarry.errors import Missing
from tarry.live.base import erase
from tarry.live.codec import dump
from tarry.service import desk


def test_the_lines_of_the_readme(served):
    join = "/v1/joins/clicks"
    made = {"name": "clicks", "scheduler": "VarOpt", "capacity": 64, "rounds": 0}
    assert served.call("POST", join, {"capacity": 64}) == (201, made | {"made": True})
    assert served.call("POST", join, {"capacity": 64}) == (200, made | {"made": False})
    asked = {"decisions": [{"id": "u1-17", "features": {"basket": 10}}]}
    ticket = {"id": "u1-17", "tracked": True, "released": []}
    assert served.call("POST", f"{join}/decide", asked) == (200, {"tickets": [ticket]})
    assert served.call("POST", f"{join}/decide", {"id": "u1-17"}) == (200, ticket)
    status, told = served.call("POST", f"{join}/label", {"labels": [{"id": "u1-17", "label": 1}]})
    row = {"features": {"basket": 10}, "label": 1, "weight": 1.0, "id": "u1-17", "relative": 1.0, "number": 1}
    assert (status, told) == (200, {"outcomes": [{"id": "u1-17", "fate": "used", "row": row, "answer": "used"}]})
    again = served.call("POST", f"{join}/label", {"id": "u1-17", "label": 1})
    assert again == (200, {"id": "u1-17", "fate": "used", "row": None, "answer": "duplicate"})


def test_the_same_as_in_process(served, join):
    """Decisions and labels, by one and by many, give the same tickets, weights and status as a join in memory."""
    here = tarry.LabelJoin(2, rng=1)
    for i in range(12):
        mine = here.decide({"i": i}, f"d{i}")
        assert served.call("POST", f"{join}/decide", {"id": f"d{i}", "features": {"i": i}})[1] == dump(mine)
    rows = [{"id": f"e{i}", "features": [i]} for i in range(8)]
    many = here.decide_many([[i] for i in range(8)], ids=[f"e{i}" for i in range(8)])
    assert served.call("POST", f"{join}/decide", {"decisions": rows})[1] == {"tickets": dump(many)}
    assert served.call("GET", f"{join}/tracked")[1] == {"tracked": dump(here.tracked()), "next": None}
    ids = [f"d{i}" for i in range(12)] + [f"e{i}" for i in range(8)]
    told = here.label_many(ids, [0.25] * 20)
    labels = [{"id": id, "label": 0.25} for id in ids]
    assert served.call("POST", f"{join}/label", {"labels": labels})[1] == {"outcomes": dump(told)}
    status = served.call("GET", f"{join}/status")[1]
    assert {name: status[name] for name in here.status()._fields} == dump(here.status())
    assert served.call("GET", f"{join}/estimate?level=0.9")[1] == dump(here.estimate(0.9))
    among = served.call("GET", f"{join}/estimate?among=labelled")[1]
    assert among == dump(here.estimate(among="labelled")) != dump(here.estimate())
    assert served.call("GET", f"{join}/ledger?last=3")[1] == dump(here.ledger(3))
    assert served.call("POST", f"{join}/fate", {"ids": ids[:3]})[1] == {
        "fates": [{"id": id, "fate": dump(here.fate(id))} for id in ids[:3]]
    }


def test_ids_of_every_kind(served, join):
    given = ["text", 7, {"bytes": "AAE="}, "7", -(1 << 70), "ünï/cödé ☃"]
    told = served.call("POST", f"{join}/decide", {"decisions": [{"id": id} for id in given]})[1]
    assert [ticket["id"] for ticket in told["tickets"]] == given
    fates = served.call("POST", f"{join}/fate", {"ids": given})[1]["fates"]
    assert [line["id"] for line in fates] == given
    assert "unknown" not in {line["fate"] for line in fates}


def test_windows_and_an_outbox(served):
    join = "/v1/joins/windows"
    rules = {"capacity": 4, "window": "1h", "missing": 0, "outbox": True, "seed": 1}
    assert served.call("POST", join, rules)[0] == 201
    served.call("POST", f"{join}/decide", {"decisions": [{"id": "a", "at": 0}, {"id": "b", "at": 10}]})
    assert served.call("POST", f"{join}/label", {"id": "b", "label": 1, "at": 20})[1]["answer"] == "pending"
    assert served.call("GET", f"{join}/due?now=3600")[1] == {"ids": ["a"], "more": False}
    rows = served.call("POST", f"{join}/advance", {"now": 4000})[1]["rows"]
    assert [(row["id"], row["label"]) for row in rows] == [("a", 0), ("b", 1)]
    assert served.call("GET", f"{join}/rows?after=1")[1] == {"rows": rows[1:], "next": None}
    assert served.call("POST", f"{join}/ack", {"number": 2})[1] == {"acknowledged": 2, "left": 0}
    assert served.call("POST", f"{join}/resize", {"capacity": 8})[1] == {"released": []}
    assert served.call("GET", f"{join}/status")[1]["capacity"] == 8


def test_gathered_labels_finish(served):
    join = "/v1/joins/sums"
    served.call("POST", join, {"capacity": 4, "labels": "sum"})
    served.call("POST", f"{join}/decide", {"decisions": [{"id": "a"}, {"id": "b"}]})
    served.call("POST", f"{join}/label", {"labels": [{"id": "a", "label": 2}, {"id": "a", "label": 3, "key": "k"}]})
    told = served.call("POST", f"{join}/finish", {"ids": ["a", "b"]})[1]["outcomes"]
    assert [one["row"]["label"] for one in told] == [5, 0]
    assert served.call("POST", f"{join}/expire", {"ids": ["b", "never"]})[1]["receipts"] == [
        {"id": "b", "status": "duplicate", "weight": 0.0},
        {"id": "never", "status": "unknown", "weight": 0.0},
    ]


def test_export_is_lines_of_json(served, join):
    served.call("POST", f"{join}/decide", {"decisions": [{"id": "a", "features": {"x": 1}}, {"id": "b"}]})
    lines = served.call("GET", f"{join}/export?payloads=true")[1].decode().splitlines()
    first, *rest = map(json.loads, lines)
    assert first["configuration"]["capacity"] == 2
    assert [(line["id"], line["payload"]) for line in rest] == [("a", {"x": 1}), ("b", None)]


def test_a_list_with_statuses_and_the_end_of_one(served, join):
    name = join.rpartition("/")[2]
    entries = served.call("GET", "/v1/joins?limit=200")[1]["items"]
    assert [one["status"]["kind"] for one in entries if one["name"] == name] == ["join"]
    page = served.call("GET", "/v1/joins?limit=1&status=false")[1]
    first = entries[0]["name"]
    assert (page["items"], page["next"]) == ([{"name": first, "kind": "join", "status": None}], first)
    rest = served.call("GET", f"/v1/joins?limit=200&status=false&after={first}")[1]
    assert [one["name"] for one in rest["items"]] == [one["name"] for one in entries[1:]]
    assert served.call("GET", "/v1/joins?after=nobody")[0] == 422
    assert served.call("DELETE", join) == (204, None)
    assert served.call("GET", f"{join}/status")[0] == 404
    assert served.call("POST", join, {"capacity": 5})[1]["rounds"] == 0


@pytest.fixture(scope="module")
def other(served, tmp_path_factory):
    """Another server with the same store."""
    server = Served(tmp_path_factory.mktemp("other"), store=served.store, durability="process")
    yield server
    server.stop()


MADE = {
    "joins": {"capacity": 4, "seed": 1},
    "sessions": {
        "domain": {"type": "Ball", "dimension": 2},
        "player": {"learner": {"type": "DWFTRL", "rate": 0.5}},
        "capacity": 4,
        "seed": 1,
    },
}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("way", ["status", "begin", "make", "list", "metrics", "delete"])
def test_what_another_server_deletes_and_makes_again_is_found(served, other, kind, way):
    """By every kind of call, as the first one after it; one that stays deleted is missing, without the store's path."""
    path, verb = f"/v1/{kind}/again-{way}", {"joins": "decide", "sessions": "ask"}[kind]
    assert served.call("POST", path, MADE[kind])[0] == 201
    assert served.call("POST", f"{path}/{verb}", {"id": "before"})[0] == 200
    assert other.call("DELETE", path)[0] == 204
    assert other.call("POST", path, MADE[kind] | {"capacity": 7})[0] == 201
    calls = {
        "status": ("GET", f"{path}/status", None),
        "begin": ("POST", f"{path}/{verb}", {"id": "after"}),
        "make": ("POST", path, MADE[kind] | {"capacity": 7}),
        "list": ("GET", f"/v1/{kind}?limit=200", None),
        "metrics": ("GET", "/metrics", None),
        "delete": ("DELETE", path, None),
    }
    status, told = served.call(*calls[way])
    assert status == (204 if way == "delete" else 200), told
    if way == "list":
        assert [one["status"]["capacity"] for one in told["items"] if one["name"] == f"again-{way}"] == [7]
    if way == "metrics":
        assert f'tarry_capacity{{kind="{kind[:-1]}",name="again-{way}"}} 7.0' in told.decode()
    if way != "delete":
        assert served.call("POST", f"{path}/fate", {"ids": ["before"]})[1]["fates"][0]["fate"] == "unknown"
        assert other.call("DELETE", path)[0] == 204
    assert served.call("GET", "/metrics")[0] == 200
    status, told = served.call("GET", f"{path}/status")
    assert (status, told["detail"]) == (404, f"there is no {kind[:-1]} called 'again-{way}': make it first")
    assert served.call("POST", path, MADE[kind])[0] == 201
    assert other.call("DELETE", path)[0] == 204
    assert served.call("POST", path, MADE[kind])[0] == 201  # though the one before is still open there
    assert served.call("DELETE", path)[0] == 204


def test_no_call_opens_what_is_being_deleted(tmp_path, monkeypatch):
    """A call that comes while an object is erased finds none, and one made after it works."""
    store, begun, go_on = f"sqlite:///{tmp_path}/a.db", threading.Event(), threading.Event()

    def slowly(*about):
        begun.set()
        assert go_on.wait(10)
        erase(*about)

    async def work():
        monkeypatch.setattr(desk, "erase", slowly)
        desks = desk.Desks(store)
        await desks.make(tarry.LabelJoin, "a", partial(tarry.LabelJoin, 2))
        deleting = asyncio.ensure_future(desks.delete(tarry.LabelJoin, "a"))
        await asyncio.to_thread(begun.wait, 10)
        calls = [
            asyncio.ensure_future(one) for one in (desks.find(tarry.LabelJoin, "a"), desks.delete(tarry.LabelJoin, "a"))
        ]
        await asyncio.sleep(0.1)
        assert not any(one.done() for one in calls)
        go_on.set()
        await deleting
        refused = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(one, Missing) and str(tmp_path) not in str(one) for one in refused)
        is_new = await desks.make(tarry.LabelJoin, "a", partial(tarry.LabelJoin, 3))
        found = await desks.find(tarry.LabelJoin, "a")
        capacity = await found.call(lambda: found.opened.capacity)
        await desks.close()
        return is_new, capacity

    assert asyncio.run(work()) == (True, 3)


def test_a_long_choice_keeps_no_one_waiting(served):
    """Without preemption the scheduler of a large capacity takes a second to find: others are answered meanwhile."""
    large = {"capacity": 4870, "backlog": 16_644, "preemption": False}
    began = time.monotonic()
    with ThreadPoolExecutor() as pool:
        made = pool.submit(served.call, "POST", "/v1/joins/large", large)
        time.sleep(0.2)
        assert served.call("GET", "/healthz")[0] == 200
        answered = time.monotonic() - began
        assert made.result()[0] == 201
    assert answered < 0.6 * (time.monotonic() - began)


def test_large_features_and_labels_do_not_stay_in_memory(tmp_path):
    """What has come out is kept nowhere."""
    served = Served(tmp_path, durability="process")
    try:
        served.call("POST", "/v1/joins/a", {"capacity": 2})
        before = psutil.Process(served.process.pid).memory_info().rss
        for i in range(40):
            served.call("POST", "/v1/joins/a/decide", {"id": f"d{i}", "features": "x" * (2 << 20)})
            told = served.call("POST", "/v1/joins/a/label", {"id": f"d{i}", "label": "y" * (2 << 20)})[1]
            assert len(told["row"]["features"]) == len(told["row"]["label"]) == 2 << 20
        assert psutil.Process(served.process.pid).memory_info().rss - before < 100 << 20
    finally:
        served.stop()
