"""Operations: health, metrics, an orderly end, settings, slow and rude clients, backup and restore, kills."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import Request, urlopen

import psutil
import pytest
from cutting import Proxy
from prometheus_client.parser import text_string_to_metric_families
from service_cuts import cut_often, restart_often
from service_kills import kill_often
from serving import Served

import tarry
from tarry.client.remote import RemoteJoin
from tarry.errors import Mismatch, Missing, NotAllowed, StoreError, Uncertain
from tarry.service.settings import settle

HERE = Path(__file__).parents[2]


def test_health_needs_no_token(served):
    assert served.call("GET", "/healthz", token=None) == (200, {"status": "ok"})
    assert served.call("GET", "/readyz", token=None) == (200, {"status": "ready"})


def test_metrics_agree_with_the_status(served, join):
    served.call("POST", f"{join}/decide", {"decisions": [{"id": f"d{i}"} for i in range(7)]})
    served.call("POST", f"{join}/label", {"labels": [{"id": f"d{i}", "label": 1} for i in range(7)]})
    status = served.call("GET", f"{join}/status")[1]
    text = served.call("GET", "/metrics")[1].decode()
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    name = join.rpartition("/")[2]
    labels = (("kind", "join"), ("name", name))
    assert found["tarry_decisions_total", *labels] == status["rounds"] == 7
    assert found["tarry_labels_total", *labels] == status["fates"]["used"]
    assert found["tarry_tracked", *labels] == status["tracked"]
    assert found["tarry_capacity", *labels] == 2
    assert found["tarry_weight_mean", *labels] == status["weights"]["mean"]
    assert found["tarry_answers_total", ("answer", "preempted"), *labels] == status["answers"]["preempted"]
    assert found["tarry_group_calls_count",] >= 3
    route = (("method", "POST"), ("route", "/v1/joins/{name}/decide"), ("status", "200"))
    assert found["tarry_request_seconds_count", *route] >= 1


def test_calls_under_way_end_and_new_ones_are_told(tmp_path):
    """A signal ends the server after the calls under way; whoever comes meanwhile gets 503 or no connection."""
    served = Served(tmp_path)
    served.call("POST", "/v1/joins/a", {"capacity": 4})
    told, refused = [], []

    def call(k):
        for i in range(2000):
            try:
                status, _ = served.call("POST", "/v1/joins/a/decide", {"id": f"{k}-{i}"})
            except OSError:
                return refused.append("gone")
            if status != 200:
                return refused.append(status)
            told.append(f"{k}-{i}")
        return None

    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(call, k) for k in range(8)]
        time.sleep(1.0)
        begun = time.monotonic()
        assert served.stop() in (0, -signal.SIGTERM)
        assert time.monotonic() - begun < 10
        for one in waiting:
            one.result()
    assert set(refused) <= {503, "gone"}
    with tarry.LabelJoin.open(served.store, name="a") as join:
        assert len(told) > 20
        assert all(join.fate(id) is not tarry.Answer.UNKNOWN for id in told)
    assert "Traceback" not in served.log()


def test_streams_do_not_hold_up_the_end(tmp_path):
    served = Served(tmp_path)
    served.call("POST", "/v1/joins/a", {"capacity": 4})
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as watcher:
        watcher.sendall(
            f"GET /v1/events?join=a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.token}\r\n\r\n".encode()
        )
        heard = b""
        while b"event: status" not in heard:
            heard += watcher.recv(65536)
        begun = time.monotonic()
        served.stop()
        assert time.monotonic() - begun < 4


def test_settings_flags_before_environment_before_file_before_defaults(tmp_path):
    file = tmp_path / "serve.toml"
    file.write_text('port = 1\nworkers = 2\nrate = 3.0\norigins = ["https://a"]\n')
    known = {"TARRY_SERVE_PORT": "11", "TARRY_SERVE_WORKERS": "12", "TARRY_SERVE_ORIGINS": "https://b,https://c"}
    found = settle({"port": 21, "rate": None}, known, file)
    assert (found.port, found.workers, found.rate, found.host) == (21, 12, 3.0, "127.0.0.1")
    assert found.origins == ("https://b", "https://c")
    assert settle({}, {"TARRY_SERVE_CONFIG": str(file)}).port == 1
    file.write_text("prot = 1\n")
    with pytest.raises(ValueError, match="prot"):
        settle({}, {}, file)
    with pytest.raises(ValueError, match="port"):
        settle({"port": 99999}, {})


def memory_of(served):
    return psutil.Process(served.process.pid).memory_info().rss


def test_slow_and_rude_clients(tmp_path):
    """Half a head, half a body, a closed half, garbage and endless chunks: answered or closed, in bounded memory."""
    served = Served(tmp_path, patience=1.0, max_body=100_000)
    try:
        served.call("POST", "/v1/joins/a", {"capacity": 4})
        head = f"POST /v1/joins/a/decide HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.token}\r\n".encode()

        def sent(*parts, is_half=False):
            with socket.create_connection(("127.0.0.1", served.port), timeout=20) as line:
                answer = b""
                try:
                    for part in parts:
                        line.sendall(part)
                    if is_half:
                        line.shutdown(socket.SHUT_WR)
                    while chunk := line.recv(65536):
                        answer += chunk
                        if b"\r\n\r\n" in answer:
                            break
                except (ConnectionResetError, BrokenPipeError):
                    pass
                return answer

        before = memory_of(served)
        begun = time.monotonic()
        assert sent(head) == b""  # closed: the head never ended
        assert time.monotonic() - begun < 10
        assert b" 408 " in sent(head + b"Content-Length: 100\r\n\r\n{")[:20]
        assert sent(head + b"Content-Length: 100\r\n\r\n{", is_half=True)[:13] in (
            b"HTTP/1.1 408 ",
            b"HTTP/1.1 400 ",
            b"",
        )
        assert sent(b"\x16\x03\x01\x02\x00nonsense\r\n\r\n")[:13] in (b"HTTP/1.1 400 ", b"")
        assert sent(b"GET /" + b"a" * 200_000) == b""
        assert sent(b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 50_000)[:13] in (b"HTTP/1.1 400 ", b"")
        assert b" 413 " in sent(head + b"Content-Length: 100000000\r\n\r\n")[:20]
        chunks = b"2710\r\n" + b"[" * 10_000 + b"\r\n"
        assert b" 413 " in sent(head + b"Transfer-Encoding: chunked\r\n\r\n", *([chunks] * 15))[:20]
        assert b" 415 " in sent(head + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}")[:20]
        twice = head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"
        assert sent(twice)[:13] in (b"HTTP/1.1 400 ", b"")
        lines = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(200)]
        for line in lines:
            line.sendall(head[:30])
        assert served.call("POST", "/v1/joins/a/decide", {"id": "through"})[0] == 200
        for line in lines:
            line.close()
        assert memory_of(served) - before < 60 << 20
        assert served.call("GET", "/v1/joins/a/status")[1]["rounds"] == 1
    finally:
        served.stop()
    assert "Traceback" not in served.log()


def test_answers_are_compressed_on_request(served, join):
    rows = [{"id": f"i{i}", "features": "x" * 50} for i in range(50)]
    body = json.dumps({"decisions": rows}).encode()
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as line:
        head = f"POST {join}/decide HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.token}\r\n"
        more = f"Accept-Encoding: gzip\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        line.sendall(f"{head}{more}".encode() + body)
        answer = b""
        while chunk := line.recv(65536):
            answer += chunk
    assert b"content-encoding: gzip" in answer.lower()
    assert len(answer) < 2500


def test_a_bad_request_among_many_fails_alone(served, join):
    """Requests at once, some refused by the library: each gets the answer it gets alone, the others are stored."""
    served.call("POST", f"{join}/resize", {"capacity": 64})
    bodies = [{"id": f"n{i}", **({"delay": 3} if i % 5 == 0 else {})} for i in range(60)]
    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(lambda body: served.call("POST", f"{join}/decide", body), bodies))
    for body, (status, said) in zip(bodies, told, strict=True):
        assert status == (422 if "delay" in body else 200)
        assert ("takes no delay" in said["detail"]) if "delay" in body else said["tracked"]
    assert served.call("GET", f"{join}/status")[1]["rounds"] == 48


def test_backup_and_restore(tmp_path):
    """A copy by SQLite's own backup while the server works; a server on the copy goes on from there."""
    served = Served(tmp_path)
    served.call("POST", "/v1/joins/a", {"capacity": 4, "seed": 1})
    over, stop = [], threading.Event()

    def work():
        while not stop.is_set():
            over.append(served.call("POST", "/v1/joins/a/decide", {"id": f"d{len(over)}"})[0])

    busy = threading.Thread(target=work)
    busy.start()
    time.sleep(0.5)
    source, copy = sqlite3.connect(served.store.removeprefix("sqlite:///")), sqlite3.connect(tmp_path / "copy.db")
    before = len(over)
    source.backup(copy)
    stop.set()
    busy.join()
    source.close()
    copy.close()
    served.stop()
    served.store = f"sqlite:///{tmp_path}/copy.db"
    served.start()
    try:
        rounds = served.call("GET", "/v1/joins/a/status")[1]["rounds"]
        assert before <= rounds <= len(over)
        assert served.call("POST", "/v1/joins/a/decide", {"id": "after"})[0] == 200
    finally:
        served.stop()


def test_clients_say_what_is_wrong(served, join):
    name = join.rpartition("/")[2]
    with tarry.connect(served.url, token="tarry_wrong") as stranger, pytest.raises(NotAllowed, match="token"):
        stranger.open_join(name)
    with tarry.connect(served.url, token=served.token) as friend:
        with pytest.raises(Missing, match="no join called"):
            friend.open_join("nobody")
        with pytest.raises(Mismatch, match="capacity"):
            friend.join(77, name=name)
        with pytest.raises(ValueError, match="takes no delay"):
            friend.open_join(name).decide(delay=3)
        assert name in friend.names()
    nobody = tarry.connect("http://127.0.0.1:9", token="x", patience=0.2)
    with nobody, pytest.raises(StoreError, match=r"did not answer .* nothing was changed"):
        nobody.open_join("a")
    with pytest.raises(ValueError, match="TARRY_TOKEN"):
        tarry.connect(served.url)


def test_the_description_is_whole(served):
    described = served.call("GET", "/v1/openapi.json", token=None)[1]
    assert described["openapi"].startswith("3.1")
    for path, methods in described["paths"].items():
        for method, said in methods.items():
            assert said["security"][0]["token"], (method, path)
            assert {"401", "403", "422"} <= set(said["responses"])
            body = said.get("requestBody")
            if body:
                schema = json.dumps(body) + json.dumps(described["components"]["schemas"])
                assert "examples" in schema


def test_workers_share_a_store(tmp_path):
    served = Served(tmp_path, workers=2, durability="process")
    try:
        served.call("POST", "/v1/joins/a", {"capacity": 4})
        asked = Request(f"{served.url}/v1/events?join=a", headers={"authorization": f"Bearer {served.token}"})
        with ThreadPoolExecutor(8) as pool, urlopen(asked, timeout=20) as stream:
            bodies = [{"id": f"d{i}"} for i in range(80)]
            statuses = set(pool.map(lambda body: served.call("POST", "/v1/joins/a/decide", body)[0], bodies))
            begun = time.monotonic()
            while not (b'"rounds":80' in (line := stream.readline()) and b'"tracked":4' in line):
                assert line, "the stream ended"
            assert time.monotonic() - begun < 1.0  # whichever workers made the calls, and whichever streams
        assert statuses == {200}
        assert served.call("GET", "/v1/joins/a/status")[1]["rounds"] == 80
        assert served.call("DELETE", "/v1/joins/a")[0] == 204
        assert {served.call("GET", "/v1/joins/a/status")[0] for _ in range(12)} == {404}
    finally:
        served.stop()


def test_connections_are_cut_and_the_store_goes_away(tmp_path, postgres):
    """A short form of ``make crash``: what is acknowledged is there, once, and callers go on by themselves."""
    counts = cut_often(postgres, "cut", 4, tmp_path, workers=1, steps=20)
    assert counts["acknowledged decisions"] > 20
    counts = restart_often(postgres, "restarted", 2, tmp_path, workers=1, steps=20)
    assert counts["answers that it is away"] == 2


def test_calls_are_made_again_only_where_that_does_no_harm(served, join):
    """A proxy cuts every answer: a decision by id is made once and heard at last, a label may not be made twice."""
    served.call("POST", f"{join}/decide", {"id": "b"})
    proxy = Proxy(served.port, 1.0, seed=1)
    try:
        with tarry.connect(f"http://127.0.0.1:{proxy.port}", token=served.token, patience=1.0) as caller:
            remote = RemoteJoin(caller, join.rpartition("/")[2])
            with pytest.raises(Uncertain, match="whether this call was made is unknown"):
                remote.decide(id="a")
            assert proxy.cuts > 2
            before = proxy.cuts
            with pytest.raises(Uncertain):
                remote.label("b", 1)
            with pytest.raises(Uncertain):
                remote.decide()  # a second one would have the next number
            assert proxy.cuts == before + 2
            threading.Timer(0.3, setattr, (proxy, "mean", 0.0)).start()
            assert remote.decide(id="a").id == "a"
    finally:
        proxy.close()


@pytest.mark.slow
def test_kills(tmp_path):
    counts = kill_often("", 10, tmp_path)
    assert counts["acknowledged decisions"] > 100


def test_the_files_for_running_it():
    """The unit and the image say what the program takes."""
    unit, image = (HERE / "deploy" / name for name in ("tarry.service", "Dockerfile"))
    lines = [line for line in unit.read_text().splitlines() if line and not line.startswith("#")]
    sections = [line for line in lines if line.startswith("[")]
    assert sections == ["[Unit]", "[Service]", "[Install]"]
    assert all("=" in line for line in lines if not line.startswith("["))
    assert any(line.startswith("ExecStart=") and " serve " in line for line in lines)
    words = [line.split()[0] for line in image.read_text().splitlines() if line and line[0].isalpha()]
    assert set(words) <= {
        "FROM",
        "RUN",
        "USER",
        "WORKDIR",
        "EXPOSE",
        "ENTRYPOINT",
        "CMD",
        "COPY",
        "VOLUME",
        "ENV",
        "HEALTHCHECK",
    }
    assert words[0] == "FROM"
    assert "USER" in words
    assert os.name != "posix" or resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0
