"""tarry join call: one process for many calls; and every surface gives the same answers to every verb of the table."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import count
from pathlib import Path

import pytest
from serving import Served
from shell import caller, lines

import tarry
from tarry.live.calls import CALLS, NewJoin, NewSession, calls_of, load_asked, make
from tarry.live.codec import dump, load
from tarry.service.wanted import join_of, session_of

KINDS = {"join": tarry.LabelJoin, "session": tarry.Session}
NEW = {
    "join": {"capacity": 4, "labels": "last", "window": "1h", "missing": 0, "outbox": True, "seed": 1},
    "session": {
        "domain": {"type": "Ball", "dimension": 2},
        "player": {"learner": {"type": "DWFTRL", "rate": 0.5}},
        "capacity": 4,
        "seed": 1,
    },
}
# What each verb is asked, as a body has it, in an order in which all of them have something to say; below, with the
# method of the library that asks the same, and the words of a shell.
ASKED = {
    "join": [
        ("decide", {"id": "a", "features": {"n": 1}, "at": 0}),
        ("decide", {"decisions": [{"id": k, "features": [1], "at": 10} for k in "bcdef"]}),
        ("fate", {"ids": ["a", "b", "nobody"]}),
        ("tracked", {}),
        ("label", {"id": "a", "label": 0.5, "key": "k", "at": 20}),
        ("label", {"labels": [{"id": k, "label": 1, "at": 30} for k in "abcdef"]}),
        ("due", {"now": 3605}),
        ("estimate", {"level": 0.9}),
        ("finish", {"ids": ["b", "c"], "missing": 3}),
        ("advance", {"now": 4000, "limit": 1}),
        ("advance", {"now": 4000}),
        ("rows", {"limit": 2}),
        ("ack", {"number": 1}),
        ("expire", {"ids": ["d", "nobody"]}),
        ("resize", {"capacity": 6}),
        ("status", {}),
        ("ledger", {"last": 3}),
        ("journal", {"after": 1}),
        ("export", {"payloads": True}),
    ],
    "session": [
        ("ask", {"id": "a"}),
        ("ask", {"rounds": [{"id": k} for k in "bcdef"]}),
        ("fate", {"ids": ["a", "nobody"]}),
        ("tracked", {}),
        ("points", {"id": "f"}),
        ("tell", {"id": "f", "gradient": [0.5, -1.0]}),
        ("tell", {"feedback": [{"id": k, "gradient": [1.0, 0.0]} for k in "abcde"]}),
        ("expire", {"ids": ["d", "nobody"]}),
        ("takes", {}),
        ("status", {}),
        ("ledger", {"last": 3}),
        ("journal", {}),
        ("export", {}),
    ],
}
# What only shards have to say.
REFUSED = {"rebalance": ("rebalance", {}, "no shards")}
_names = count(1)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def served(request, tmp_path_factory):
    """A server on each store that a server can have."""
    store = request.getfixturevalue("postgres").url("surfaces") if request.param == "postgresql" else ""
    server = Served(tmp_path_factory.mktemp("served"), store, durability="process")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """The answers in this process, as JSON, on SQLite."""
    folder = tmp_path_factory.mktemp("ours")
    return {kind: answers_of(kind, f"sqlite:///{folder}/{kind}.db") for kind in KINDS}


def answers_of(kind, store, left_out=()):
    with made_here(kind, store) as opened:
        return [dump(answer_of(kind, opened, verb, body)) for verb, body in ASKED[kind] if verb not in left_out]


def made_here(kind, store):
    if kind == "join":
        scheduler, rules = join_of(load(NewJoin, NEW[kind]))
        return tarry.LabelJoin(scheduler=scheduler, rng=1, store=store, **rules)
    chosen, rules = session_of(load(NewSession, NEW[kind]))
    return tarry.Session(chosen.player, rng=1, store=store, **rules)


def answer_of(kind, opened, verb, body):
    call = calls_of(kind)[verb]
    asked = load_asked(call, body)
    answer = make(opened, call, asked)
    return {call.many.answers: answer} if isinstance(asked, list) else answer


def timeless(verb, answer):
    """An answer without the moments at which its calls were made."""
    if verb != "journal":
        return answer
    return answer | {
        "entries": [{name: part for name, part in one.items() if name != "at"} for one in answer["entries"]]
    }


def words_of(new):
    """A body as options of a shell."""
    for name, value in new.items():
        if value is True:
            yield f"--{name}"
        else:
            yield from (f"--{name}", value if isinstance(value, str) else json.dumps(value))


@pytest.mark.parametrize("kind", KINDS)
def test_every_verb_is_played(kind):
    assert {verb for verb, _ in ASKED[kind]} | (REFUSED.keys() if kind == "join" else set()) == set(calls_of(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_in_this_process_postgresql_gives_the_answers_of_sqlite(ours, postgres, kind):
    found = answers_of(kind, postgres.url(f"own_{kind}"))
    for (verb, _), there, here in zip(ASKED[kind], found, ours[kind], strict=True):
        assert timeless(verb, there) == timeless(verb, here), verb


@pytest.mark.parametrize("kind", KINDS)
def test_in_memory_the_answers_are_those_of_sqlite_but_for_the_journal(ours, kind):
    with made_here(kind, "memory:") as opened, pytest.raises(ValueError, match="in memory has no journal"):
        answer_of(kind, opened, "journal", {})
    expected = [answer for (verb, _), answer in zip(ASKED[kind], ours[kind], strict=True) if verb != "journal"]
    assert answers_of(kind, "memory:", left_out=["journal"]) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_over_http_the_answers_are_those_in_this_process(served, ours, kind):
    path = f"/v1/{kind}s/n{next(_names)}"
    assert served.call("POST", path, NEW[kind])[0] == 201
    for (verb, body), answer in zip(ASKED[kind], ours[kind], strict=True):
        call = calls_of(kind)[verb]
        query = "&".join(f"{name}={json.dumps(value)}" for name, value in body.items())
        sent = ("GET", f"{path}/{verb}?{query}", None) if call.method == "GET" else ("POST", f"{path}/{verb}", body)
        status, told = served.call(*sent)
        assert status == 200, (verb, told)
        if verb == "export":
            first, *tracked = told if isinstance(told, list) else _lines(told)
            told = {**first, "tracked": tracked, "next": None}
        assert timeless(verb, told) == timeless(verb, answer), verb


def _lines(text):
    if isinstance(text, dict):  # the only one
        return [text]
    return [json.loads(line) for line in text.decode().splitlines()]


@pytest.mark.parametrize("where", ["store", "url"])
@pytest.mark.parametrize("kind", KINDS)
def test_from_a_shell_the_answers_are_those_in_this_process(served, ours, kind, where, monkeypatch):
    """All of them by one process, in the server's store and by the server."""
    run = caller(served.store, kind)
    monkeypatch.setenv("TARRY_TOKEN", served.token)
    name = f"n{next(_names)}"
    place = ["--url", served.url] if where == "url" else []
    run("new", *words_of(NEW[kind]), "--name", name, *place)
    given = "".join(json.dumps({"call": verb, **body}) + "\n" for verb, body in ASKED[kind])
    told = lines(run("call", name, *place, given=given))
    for (verb, _), line, answer in zip(ASKED[kind], told, ours[kind], strict=True):
        assert timeless(verb, line) == timeless(verb, answer), verb
    again = json.loads(run("status", "--name", name, *place).stdout)
    assert again["rounds"] == json.loads(run("status", "--name", name, *place).stdout)["rounds"] == 6


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_clients_methods_give_what_the_librarys_give(served, kind, way):
    """By name and arguments, for every verb: rows, receipts, rounds and arrays of the library's own types."""
    name = f"n{next(_names)}"
    assert served.call("POST", f"/v1/{kind}s/{name}", NEW[kind])[0] == 201
    with made_here(kind, "memory:") as opened:
        expected = [repr(getattr(opened, method)(*args, **named)) for method, args, named in METHODS[kind]]

    async def awaited():
        async with tarry.connect_async(served.url, token=served.token) as friend:
            there = await (friend.open_join(name) if kind == "join" else friend.open_session(name))
            return [repr(await getattr(there, method)(*args, **named)) for method, args, named in METHODS[kind]]

    if way == "async":
        found = asyncio.run(awaited())
    else:
        with tarry.connect(served.url, token=served.token) as friend:
            there = friend.open_join(name) if kind == "join" else friend.open_session(name)
            found = [repr(getattr(there, method)(*args, **named)) for method, args, named in METHODS[kind]]
    for (method, *_), here, there in zip(METHODS[kind], expected, found, strict=True):
        assert there == here, method


METHODS = {
    "join": [
        ("decide", ({"n": 1}, "a"), {"at": 0}),
        ("decide_many", ([[1]] * 5,), {"ids": list("bcdef"), "at": 10}),
        ("fate", ("a",), {}),
        ("fates", (["a", "nobody"],), {}),
        ("tracked", (), {}),
        ("label", ("a", 0.5), {"key": "k", "at": 20}),
        ("label_many", (list("abcdef"), [1] * 6), {"at": 30}),
        ("due", (3605,), {}),
        ("estimate", (0.9,), {}),
        ("finish", ("b", 3), {}),
        ("finish_many", (["c"],), {}),
        ("advance", (4000, 1), {}),
        ("advance", (4000,), {}),
        ("rows", (), {"limit": 2}),
        ("rows", (), {}),
        ("ack", (1,), {}),
        ("expire", ("d",), {}),
        ("expire_many", (["d", "nobody"],), {}),
        ("resize", (), {"capacity": 6}),
        ("status", (), {}),
        ("ledger", (3,), {}),
    ],
    "session": [
        ("ask", ("a",), {}),
        ("ask_many", (), {"ids": list("bcdef")}),
        ("fate", ("a",), {}),
        ("fates", (["a", "nobody"],), {}),
        ("tracked", (), {}),
        ("points", ("f",), {}),
        ("tell", ("f",), {"gradient": [0.5, -1.0]}),
        ("tell_many", (list("abcde"),), {"gradients": [[1.0, 0.0]] * 5}),
        ("expire", ("d",), {}),
        ("expire_many", (["d", "nobody"],), {}),
        ("status", (), {}),
        ("ledger", (3,), {}),
    ],
}


def test_the_description_has_the_same_verbs(served):
    paths = served.call("GET", "/openapi.json", token=None)[1]["paths"]
    for kind in KINDS:
        for verb, call in calls_of(kind).items():
            (method,) = paths[f"/v1/{kind}s/{{name}}/{verb}"]
            assert method.upper() == call.method
            assert paths[f"/v1/{kind}s/{{name}}/{verb}"][method]["security"] == [{"token": [call.scope]}]


def test_the_page_of_the_service_has_every_verb_with_its_method_and_every_setting():
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    rows = re.findall(r"^\| (`(?:GET|POST).*?) \|", page, re.MULTILINE)
    listed = set()
    for row in rows:
        method = ""
        for said, verb in re.findall(r"`(GET |POST |)…/(\w+)", row):
            method = said.strip() or method
            listed.add((method, verb))
    assert listed == {(call.method, call.verb) for call in CALLS}
    settings = re.search(r"\*\*Settings of a join\*\* are (.*?)\.", page, re.DOTALL)[1]
    assert set(re.findall(r"`(\w+)`", settings)) == set(NewJoin._fields)


def test_a_call_that_is_refused_is_answered_and_the_next_one_is_made(join):
    join("new", "--capacity", 2)
    given = '{"call": "decide", "id": 1.5}\nnonsense\n{"call": "rebalance"}\n\n{"call": "decide", "id": "a"}\n[1]\n'
    told = lines(join("call", given=given, code=1))
    assert told[0] == {
        "problem": 'id must be a text, a whole number, or bytes in base64, got 1.5: write bytes as {"bytes": "AAE="}',
        "name": "id",
        "remedy": 'write bytes as {"bytes": "AAE="}',
    }
    assert "line 2 is not JSON" in told[1]["problem"]
    assert "no shards" in told[2]["problem"]
    assert told[3] == {"id": "a", "tracked": True, "released": []}
    assert "line 6 names no call" in told[4]["problem"]
