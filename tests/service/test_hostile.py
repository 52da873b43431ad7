"""Requests that no honest client makes: a clear answer or a closed connection, in bounded memory, nothing changed."""

from __future__ import annotations

import asyncio
import gc
import json
import shutil
import socket
import subprocess
import time
from base64 import b64encode
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
from serving import Served, free_port
from system import skip_without

from tarry import LabelJoin
from tarry.errors import Missing
from tarry.live.turns import Turns
from tarry.service.desk import Desk, Desks
from tarry.service.tokens import add_token

LIMIT = 100_000  # bytes of a body


@pytest.fixture(scope="module")
def rude(tmp_path_factory):
    """A server of little patience, with a join of no decisions, which every test leaves so."""
    served = Served(tmp_path_factory.mktemp("rude"), patience=1.0, max_body=LIMIT, durability="process")
    served.call("POST", "/v1/joins/a", {"capacity": 4})
    yield served
    assert served.call("GET", "/v1/joins/a/status")[1]["rounds"] == 0
    served.stop()
    assert "Traceback" not in served.log()


def head_of(served, verb="decide", *more):
    lines = [f"POST /v1/joins/a/{verb} HTTP/1.1", "Host: x", f"Authorization: Bearer {served.token}", *more]
    return "\r\n".join(lines).encode() + b"\r\n"


def connected(served):
    return socket.create_connection(("127.0.0.1", served.port), timeout=20)


def heard(line):
    """The status and the body of what comes back until the connection ends; 0 where nothing does."""
    said = b""
    try:
        while chunk := line.recv(65536):
            said += chunk
    except ConnectionResetError:
        pass
    head, _, body = said.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, body


def sent(served, *parts, is_half=False, pause=0.0):
    with connected(served) as line:
        try:
            for part in parts:
                line.sendall(part)
                time.sleep(pause)
            if is_half:
                line.shutdown(socket.SHUT_WR)
        except (ConnectionResetError, BrokenPipeError):  # refused before all of it was sent
            pass
        return heard(line)


CHUNKED = b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
LONG = b"2710\r\n" + b"[" * 10_000 + b"\r\n"
BODIES = {
    "announced and too long": (b"Content-Length: 100000000\r\n\r\n", 413),
    "of a length below nought": (b"Content-Length: -3\r\n\r\n{}", 400),
    "of two lengths": (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
    "with a length and in chunks": (b"Content-Length: 3\r\n" + CHUNKED + b"2\r\n{}\r\n0\r\n\r\n", 400),
    "that never ends": (b"Content-Length: 100\r\n\r\n{", 408),
    "compressed": (b"Content-Encoding: gzip\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", 415),
    "in chunks of no number": (CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n", 400),
    "in chunks longer than they say": (CHUNKED + b"1\r\n{}\r\n0\r\n\r\n", 400),
    "in a chunk that never ends": (CHUNKED + b"ffff\r\n{", 408),
    "in chunks without an end": (CHUNKED + b"1\r\n{\r\n", 408),
    "in too many chunks": (CHUNKED + LONG * 15, 413),
    "in a huge chunk": (CHUNKED + b"fffffffff\r\n" + b"[" * 200_000, 413),
    "in chunks, and no JSON": (CHUNKED + b"1\r\n{\r\n0\r\n\r\n", 400),
}


@pytest.mark.parametrize("what", BODIES)
def test_bodies(rude, what):
    rest, expected = BODIES[what]
    status, body = sent(rude, head_of(rude) + rest)
    assert status == expected
    if not body.startswith(b"Invalid HTTP"):  # the parser's own word
        assert json.loads(body)["status"] == expected


def test_chunks_that_come_slowly_end_in_time(rude):
    """However many there are: patience is with the whole body, not with each chunk."""
    began = time.monotonic()
    with connected(rude) as line:
        line.sendall(head_of(rude) + CHUNKED)
        for _ in range(8):
            line.sendall(b"1\r\n[\r\n")
            time.sleep(0.1)
        status, _ = heard(line)
    assert (status, time.monotonic() - began < 10) == (408, True)


def test_an_honest_body_in_chunks_is_read(rude):
    chunks = b'8;a=b\r\n{"ids": \r\n7\r\n["a"]} \r\n0\r\nx: y\r\n\r\n'
    status, body = sent(rude, head_of(rude, "fate") + CHUNKED + chunks)
    assert (status, json.loads(body)["fates"]) == (200, [{"id": "a", "fate": "unknown"}])


HEADS = {
    "is nonsense": b"\x16\x03\x01\x02\x00nonsense\r\n\r\n",
    "has a folded header": b"GET /healthz HTTP/1.1\r\nx: a\r\n b\r\n\r\n",
    "has a header with a nought": b"GET /healthz HTTP/1.1\r\nx: a\0b\r\n\r\n",
    "has no host": b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n",
    "has two hosts": b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n",
}


@pytest.mark.parametrize("what", HEADS)
def test_heads(rude, what):
    """Slow and endless ones are the reverse proxy's."""
    assert sent(rude, HEADS[what])[0] == 400


def test_requests_that_follow_at_once(rude):
    """They are answered in their order."""
    asked = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with connected(rude) as line:
        line.sendall(asked * 19 + asked.replace(b"Host: x", b"Host: x\r\nConnection: close"))
        said = b""
        while chunk := line.recv(65536):
            said += chunk
    assert said.count(b'{"status":"ok"}') == 20


TOKENS = [b"", b"Bearer", b"Bearer ", b"Bearer \xff\xfe", b"Bearer a\tb", b"Bearer " + b"z" * 60_000, b"Bearer {0}"]
TOKENS += [b"Bearer ' OR '1'='1", b"Bearer ../../tokens.toml", b"Basic {token}", b"Bearer{token}", b"Bearer {token}x"]
TOKENS += [b"Bearer {token} {token}", b"Bearer {token}, Bearer {token}", b"Bearer {name}"]


@pytest.mark.parametrize("given", TOKENS, ids=range(len(TOKENS)))
def test_tokens(rude, given):
    text = given.replace(b"{token}", rude.token.encode()).replace(b"{name}", b"test")
    request = b"GET /v1/joins HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: " + text + b"\r\n\r\n"
    status, body = sent(rude, request)
    assert (status, json.loads(body)["title"]) == (401, "A token is needed")
    assert rude.token not in body.decode() + rude.log()


def test_many_clients_that_never_end_keep_no_one_waiting(rude):
    before = memory_of(rude)
    with ExitStack() as lines:
        for k in range(200):
            line = lines.enter_context(connected(rude))
            line.sendall(
                head_of(rude)[:30] if k % 2 else head_of(rude) + b"Content-Length: 99999\r\n\r\n{" + b" " * 50_000
            )
        began = time.monotonic()
        assert rude.call("POST", "/v1/joins/a/fate", {"ids": ["a"]})[0] == 200
        assert time.monotonic() - began < 5
    assert memory_of(rude) - before < 60 << 20


def memory_of(served):
    return psutil.Process(served.process.pid).memory_info().rss


def test_large_bodies_at_once(tmp_path):
    """Bodies beyond the memory that there is for all of them are refused."""
    served = Served(tmp_path, durability="process")
    try:
        served.call("POST", "/v1/joins/a", {"capacity": 64})
        before, answers = memory_of(served), []
        with ExitStack() as lines:
            open_lines = [lines.enter_context(connected(served)) for _ in range(16)]
            for line in open_lines:
                with suppress(OSError):
                    line.sendall(head_of(served) + b"Content-Length: 8000000\r\n\r\n" + b" " * 7_999_999)
            time.sleep(0.5)
            assert memory_of(served) - before < 200 << 20
            for line in open_lines:
                line.settimeout(0.2)
                try:
                    answers.append(line.recv(20)[9:12])
                except TimeoutError:  # one that is waited for
                    answers.append(b"")
                except ConnectionResetError:
                    answers.append(b"503")
        assert 6 <= answers.count(b"") <= 8
        assert answers.count(b"503") == 16 - answers.count(b"")
    finally:
        served.stop()


def test_exports_that_no_one_reads(tmp_path):
    """A token has two under way, each in memory by pages; whoever has gone makes room, and others do not wait."""
    served = Served(tmp_path, durability="process")
    try:
        served.call("POST", "/v1/joins/a", {"capacity": 64})
        for i in range(16):
            body = {"id": f"d{i}", "features": "x" * (1 << 20)}
            assert served.call("POST", "/v1/joins/a/decide", body)[0] == 200
        before = memory_of(served)
        asked = head_of(served).replace(b"POST", b"GET").replace(b"decide", b"export?payloads=true") + b"\r\n"
        with ExitStack() as lines:
            answers = []
            for _ in range(30):
                line = lines.enter_context(connected(served))
                line.sendall(asked)
                answers.append(line.recv(20)[9:12])
            assert answers == [b"200"] * 2 + [b"429"] * 28
            other = add_token(served.tokens, "other", "read")
            time.sleep(1.1)  # a server looks at its file once a second
            assert served.call("GET", "/v1/joins/a/export", token=other)[0] == 200  # whoever else reads
            assert memory_of(served) - before < 400 << 20  # 30 of them would take 600
            assert served.call("POST", "/v1/joins/a/fate", {"ids": ["a"]})[0] == 200
        time.sleep(0.5)
        assert len(served.call("GET", "/v1/joins/a/export?payloads=true")[1].splitlines()) == 17
    finally:
        served.stop()


def test_names_that_nothing_can_have_are_refused_before_anything_is_kept(rude):
    for name in ("n" * 60_000, "n" * 129, "-n", "n%00", "n%C3%A9"):
        for method, rest in (("POST", "/decide"), ("POST", "/fate"), ("POST", ""), ("GET", "/status"), ("DELETE", "")):
            body = {"capacity": 4} if method == "POST" and not rest else {"ids": []} if method == "POST" else None
            assert rude.call(method, f"/v1/joins/{name}{rest}", body)[0] == 422


def test_nothing_is_kept_of_names_that_are_missing(tmp_path):
    store = f"sqlite:///{tmp_path / 'a.db'}"
    LabelJoin(4, store=store, name="a").close()

    async def ask():
        desks = Desks(store)
        tried = [desks.find(LabelJoin, name) for name in ("a", *(f"n{i}" for i in range(20)), *["n"] * 5)]
        found = await asyncio.gather(*tried, return_exceptions=True)
        assert [type(one) for one in found] == [Desk, *[Missing] * 25]
        del tried, found
        gc.collect()
        assert not desks._locks
        await desks.close()

    asyncio.run(ask())


def test_ids_of_bytes_are_as_short_as_others(rude):
    for size, status in ((1024, 200), (1027, 422)):
        id = {"bytes": b64encode(b"x" * size).decode()}
        assert rude.call("POST", "/v1/joins/a/fate", {"ids": [id]})[0] == status


@pytest.mark.parametrize("shards", [1, 3])
def test_many_fates_are_one_look(monkeypatch, shards):
    looks = []
    look = Turns.look
    monkeypatch.setattr(Turns, "look", lambda *words: looks.append(1) or look(*words))
    with LabelJoin(4, shards=shards, rng=1) as join:
        ids = [f"i{k}" for k in range(40)]
        join.decide_many([None] * 30, ids=ids[:30])
        one_by_one = [join.fate(id) for id in ids]
        looks.clear()
        assert join.fates(ids) == one_by_one
        assert len(looks) == shards


@pytest.fixture(scope="module")
def behind(rude, tmp_path_factory):
    """The same server behind nginx, with the file of deploy/ but for its place, TLS and the time for headers."""
    skip_without("nginx-light")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    text = (Path(__file__).parents[2] / "deploy" / "nginx.conf").read_text()
    changes = {
        "listen 443 ssl;": f"listen 127.0.0.1:{port};",
        "127.0.0.1:8731": f"127.0.0.1:{rude.port}",
        "client_header_timeout 10s": "client_header_timeout 1s",
    }
    for there, here in changes.items():
        assert there in text
        text = text.replace(there, here)
    text = "".join(line for line in text.splitlines(True) if "ssl_certificate" not in line)
    places = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    around = f"daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}} http {{ access_log off; {places}"
    (folder / "nginx.conf").write_text(f"{around}\n{text}\n}}\n")
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    process = subprocess.Popen([program, "-c", str(folder / "nginx.conf"), "-e", str(folder / "errors")])
    front = Served.__new__(Served)
    front.port, front.token, front.url = port, rude.token, f"http://127.0.0.1:{port}"
    for _ in range(100):
        with suppress(OSError), connected(front):
            break
        time.sleep(0.05)
    yield front
    process.terminate()
    process.wait(20)


def test_slow_headers_end_at_the_proxy(behind):
    """With the file of deploy/: who sends headers slowly is let go of, and others are answered."""
    with connected(behind) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        began = time.monotonic()
        assert behind.call("POST", "/v1/joins/a/fate", {"ids": ["a"]})[0] == 200
        assert heard(slow)[0] in (0, 408)
        assert time.monotonic() - began < 5
    assert sent(behind, b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")[0] in (0, 414)
