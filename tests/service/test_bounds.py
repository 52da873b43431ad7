"""What one caller can make a server do is bounded: pages, bytes, looks that wait for no one, and no seed."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

import tarry
from tarry.live import calls
from tarry.service import http
from tarry.service.desk import Desk, Desks
from tarry.service.tokens import add_token, read_tokens


@pytest.fixture
def outbox(served):
    """The path of a join whose rows are kept."""
    path = f"/v1/joins/o{time.monotonic_ns()}"
    rules = {"capacity": 64, "window": "1h", "missing": 0, "outbox": True, "seed": 1}
    assert served.call("POST", path, rules)[0] == 201
    rows = [{"id": f"d{k}", "at": k, "features": "x" * 1000} for k in range(40)]
    assert served.call("POST", f"{path}/decide", {"decisions": rows})[0] == 200
    return path


def test_who_waits_comes_in_pages(served, outbox):
    seen, after = [], 0
    while after is not None:
        status, page = served.call("GET", f"{outbox}/tracked?limit=15&after={after}")
        assert status == 200
        assert len(page["tracked"]) <= 15
        seen += [one["id"] for one in page["tracked"]]
        after = page["next"]
    assert seen == [f"d{k}" for k in range(40)]


def test_rows_come_in_pages(served, outbox):
    """Those that come out, and those of the outbox, to their end; a client takes all pages."""
    told, rows = {"more": True}, []
    while told["more"]:
        told = served.call("POST", f"{outbox}/advance", {"now": 10_000, "limit": 15})[1]
        assert len(told["rows"]) <= 15
        rows += told["rows"]
    assert [row["number"] for row in rows] == [*range(1, 41)]
    kept, query = [], ""
    while query is not None:
        told = served.call("GET", f"{outbox}/rows?limit=15{query}")[1]
        kept += told["rows"]
        query = None if told["next"] is None else "".join(f"&after={number}" for number in told["next"])
    assert kept == rows
    with tarry.connect(served.url, token=served.token) as friend:
        there = friend.open_join(outbox.rpartition("/")[2])
        assert [row.number for row in there.rows()] == [*range(1, 41)]
        assert len(there.rows(limit=7)) == 7


def test_a_page_ends_where_its_bytes_do(monkeypatch):
    """However many rows are asked for: as many as come to the limit, and the next page goes on."""
    monkeypatch.setattr(http, "MOST_ANSWER", 30_000)
    join = tarry.LabelJoin(64, window=10, missing=0, outbox=True, rng=1)
    join.decide_many(["x" * 1000] * 100, at=0)
    table = calls.calls_of("join")
    first = http._within(table["advance"], calls.Advance(100, 10_000), join)
    assert 30 <= len(first.rows) < 60
    assert first.more
    join.advance(100)
    page = http._within(table["rows"], calls.RowsAfter(None, 10_000), join)
    assert (30 <= len(page.rows) < 60, page.next) == (True, [page.rows[-1].number])


def test_no_answer_shows_the_seed(served, join):
    """Whoever knows it knows all draws to come."""
    served.call("POST", f"{join}/decide", {"id": "a"})
    paths = [f"{join}/{verb}" for verb in ("export?payloads=true", "status", "tracked", "ledger?last=9")]
    for path in [*paths, "/v1/joins", "/metrics"]:
        told = served.call("GET", path)[1]
        text = told.decode() if isinstance(told, bytes) else json.dumps(told)
        assert "seed" not in text, path
    opened = tarry.LabelJoin(2, rng=7)
    assert "seed" not in opened.export()["configuration"]


def test_a_list_opens_what_it_shows_alone(tmp_path, monkeypatch):
    """Names and kinds are the store's, so that forty joins cost a list what one does."""
    store, opened = f"sqlite:///{tmp_path}/a.db", []
    for k in range(40):
        tarry.LabelJoin(2, store=store, name=f"j{k}", durability="process").close()
    monkeypatch.setattr(tarry.LabelJoin, "open", lambda *where, **how: opened.append(where))
    desks = Desks(store)
    assert next(desks.names("join")) == "j0"
    assert next(desks.names("join", "j0")) == "j1"
    assert desks.newest("join", 2) == ["j39", "j38"]
    assert [*desks.names("session")] == opened == []


def test_looks_at_once_wait_for_no_writer(tmp_path):
    """While another process holds the lock of those who write, several looks of one group are answered."""
    store = f"sqlite:///{tmp_path}/a.db"
    tarry.LabelJoin(2, store=store, durability="process").close()

    async def work():
        place = Desk(tarry.LabelJoin.open(store, durability="process"))
        with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            looks = [place.call(place.opened.status, is_look=True) for _ in range(5)]
            told = await asyncio.wait_for(asyncio.gather(*looks), 3)
            other.execute("ROLLBACK")
        await place.close()
        return time.monotonic() - began, {status.rounds for status in told}

    taken, rounds = asyncio.run(work())
    assert (taken < 2.0, rounds) == (True, {0})


def test_tokens_that_several_shells_change_at_once_are_all_kept(tmp_path):
    path = tmp_path / "tokens.toml"
    for k in range(4):
        add_token(path, f"old{k}", "read")
    program = "import sys; from pathlib import Path; from tarry.service.tokens import add_token, remove_token\n"
    program += "{'new': add_token, 'old': remove_token}[sys.argv[2][:3]](Path(sys.argv[1]), sys.argv[2])"
    names = [f"{word}{k}" for k in range(4) for word in ("new", "old")]
    started = [subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in names]
    assert [one.wait(120) for one in started] == [0] * 8
    assert sorted(token.name for token in read_tokens(path)) == [f"new{k}" for k in range(4)]


def test_requests_beyond_the_limit_are_told_to_come_again(tmp_path):
    """With problem details, and without regard to connections on which nothing is asked."""
    from tarry.service.guard import Guard
    from tarry.service.metrics import Metrics
    from tarry.service.settings import Settings
    from tarry.service.tokens import Tokens

    path = tmp_path / "t.toml"
    token = add_token(path, "a", "read")
    gate = asyncio.Event()

    async def api(scope, receive, send):
        await gate.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask(guard):
        sent = []
        headers = [(b"host", b"x"), (b"authorization", f"Bearer {token}".encode())]
        scope = {"type": "http", "path": "/v1/joins", "method": "GET", "headers": headers, "http_version": "1.1"}

        async def send(message):
            sent.append(message)

        await guard(scope, None, send)
        return sent

    async def work():
        guard = Guard(api, None, Settings(connections=2, tokens=path), Tokens(path), Metrics())
        asked = [asyncio.ensure_future(ask(guard)) for _ in range(3)]
        await asyncio.sleep(0.05)
        gate.set()
        return [await one for one in asked]

    *others, last = asyncio.run(work())
    assert [sent[0]["status"] for sent in others] == [200, 200]
    assert last[0]["status"] == 503
    assert dict(last[0]["headers"])[b"retry-after"] == b"1"
    assert json.loads(last[1]["body"])["detail"] == "2 requests are being answered already: come again"


def test_what_makes_no_sense_is_refused_at_the_door(served, join):
    """In a sentence that names the field."""
    cases = [
        (f"{join}/decide", b'{"id": "a", "features": {"x": 1e999}}', "features", "not finite"),
        (f"{join}/decide", json.dumps({"decisions": [{}] * 10_001}).encode(), "decisions", "has 10,001 rows"),
        (f"{join}/decide", json.dumps({"id": "x" * 1025}).encode(), "id", "has 1025 letters"),
        ("/v1/plan", b'{"decided_at": [1], "feedback_at": [2], "window": 1%s}' % (b"0" * 309), "window", "finite"),
        ("/v1/sessions/a", b'{"player": {"learner": {"file": "/etc/passwd"}}}', "learner", "may not name a file"),
    ]
    for path, body, name, words in cases:
        status, problem = served.call("POST", path, body)
        assert (status, problem["name"]) == (413 if "decisions" in name else 422, name), problem
        assert words in problem["detail"]


def test_a_label_of_nobody_does_not_move_the_clock():
    """A decision that still has time is not said to be overdue."""
    join = tarry.LabelJoin(2, window="1d", missing=0)
    join.decide(id="a")
    join.label("nobody", 1, at="9999-12-31")
    assert not any("window" in warning for warning in join.status().warnings)
