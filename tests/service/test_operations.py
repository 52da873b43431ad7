"""Operations: health, metrics, an orderly end, settings, backup and restore, kills."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from cutting import Proxy
from prometheus_client.parser import text_string_to_metric_families
from service_cuts import cut_often, restart_often
from service_kills import kill_often, workers_of
from serving import Served

import tarry
from tarry.client.connection import Connection
from tarry.client.remote import RemoteJoin
from tarry.errors import Mismatch, Missing, NotAllowed, StoreError, TarryError, Uncertain
from tarry.service import desk
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


def figures(served):
    """What /metrics says, by the figure's name and the object's."""
    text = served.call("GET", "/metrics")[1].decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, sample.labels["name"]): sample.value for sample in samples if "name" in sample.labels}


def test_one_object_that_cannot_be_read_leaves_the_others_readable(tmp_path):
    served = Served(tmp_path, durability="process")
    try:
        for name in ("a", "bad", "worse", "z"):
            served.call("POST", f"/v1/joins/{name}", {"capacity": 2})
        served.stop()
        with closing(sqlite3.connect(tmp_path / "served.db")) as place, place:
            for name in ("bad", "worse"):
                found = place.execute("UPDATE tarry_objects SET body = ? WHERE name = ?", (b"", name))
                assert found.rowcount == 1
        served.start()
        served.call("POST", "/v1/joins/z/decide", {"id": "d"})
        status, listed = served.call("GET", "/v1/joins")
        assert (status, [one["name"] for one in listed["items"]]) == (200, ["a", "bad", "worse", "z"])
        assert [one["status"] is None for one in listed["items"]] == [False, True, True, False]
        assert "damaged" in listed["items"][1]["problem"]
        found = figures(served)
        assert [found["tarry_readable", name] for name in ("a", "bad", "z")] == [1, 0, 1]
        # "a" was not asked for since the start: its figures are those of the store.
        assert (found["tarry_decisions_total", "a"], found["tarry_decisions_total", "z"]) == (0, 1)
    finally:
        served.stop()


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
        assert tarry.Answer.UNKNOWN not in join.fates(told)
    assert "Traceback" not in served.log()


def test_a_call_that_outlasts_the_end_may_be_stored(tmp_path):
    """It is told so: the store is held by another until the server has given up waiting for its calls."""
    served, told = Served(tmp_path, drain=1), []
    served.call("POST", "/v1/joins/a", {"capacity": 4})
    served.call("POST", "/v1/joins/a/decide", {"decisions": [{"id": "x"}, {"id": "y"}]})

    def label():
        with tarry.connect(served.url, token=served.token, patience=0) as friend, pytest.raises(Uncertain) as error:
            RemoteJoin(friend, "a").label("x", 1)
        told.append(str(error.value))

    held = sqlite3.connect(tmp_path / "served.db", isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(2) as pool:
        mine = pool.submit(label)
        answer = pool.submit(served.call, "POST", "/v1/joins/a/label", {"id": "y", "label": 1})
        time.sleep(1.0)
        served.process.send_signal(signal.SIGTERM)
        mine.result()
        status, problem = answer.result()
        held.execute("ROLLBACK")
    held.close()
    served.stop()
    assert "unknown" in told[0]
    assert (status, problem["is_stored"]) == (503, "unknown")
    with tarry.LabelJoin.open(served.store, name="a") as join:
        assert join.fate("x") is join.fate("y") is tarry.Answer.USED


@pytest.mark.parametrize(("status", "error"), [(500, Uncertain), (502, Uncertain), (504, Uncertain), (404, TarryError)])
def test_answers_that_a_server_of_ours_does_not_give(status, error):
    """Of a proxy, say: whether the call was made behind it is unknown."""
    transport = httpx.MockTransport(lambda _: httpx.Response(status, text="<h1>Bad Gateway</h1>"))
    friend = Connection(httpx.Client(transport=transport, base_url="http://a"))
    with friend, pytest.raises(TarryError, match=f"answered {status} without a word") as told:
        RemoteJoin(friend, "a").label("x", 1)
    assert type(told.value) is error


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


def test_clients_tell_several_fates_at_once(served, join):
    served.call("POST", f"{join}/decide", {"id": "a"})
    with tarry.connect(served.url, token=served.token) as friend:
        there = friend.open_join(join.rpartition("/")[2])
        assert there.fates(["b", "a"]) == [there.fate("b"), there.fate("a")]
        assert there.fates(["a"]) == [tarry.Answer.PENDING]


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
    described = served.call("GET", "/openapi.json", token=None)[1]
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
        with ThreadPoolExecutor(8) as pool:
            bodies = [{"id": f"d{i}"} for i in range(80)]
            statuses = set(pool.map(lambda body: served.call("POST", "/v1/joins/a/decide", body)[0], bodies))
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


def test_a_worker_that_dies_while_it_starts_is_begun_anew_at_once(tmp_path):
    """It is asked meanwhile whether it lives, and the answer of one that is dead was waited for half a minute."""
    served = Served(tmp_path, workers=2)
    try:
        while served.log().count("startup complete") < 2:
            time.sleep(0.05)
        for pause in (0.0, 0.6):  # the second one is killed before it can answer
            before = {one.pid for one in workers_of(served)}
            time.sleep(pause)
            workers_of(served)[-1].kill()
            begun = time.monotonic()
            while {one.pid for one in workers_of(served)} <= before:
                assert time.monotonic() - begun < 10.0
                time.sleep(0.02)
    finally:
        served.stop()


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


class Storeless(Served):
    """A server whose store cannot be reached: it lives, and is not ready."""

    def wait(self):
        for _ in range(1200):
            try:
                if self.call("GET", "/healthz")[0] == 200:
                    return
            except OSError:
                assert self.process.poll() is None, self.log()
            time.sleep(0.05)


def test_a_store_out_of_reach(tmp_path):
    """The server says that it is not ready, answers 503, and tells the password of its store to nobody."""
    pytest.importorskip("psycopg")
    served = Storeless(tmp_path, "postgresql://me:secret@127.0.0.1:9/none", access_log=True)
    try:
        assert served.call("GET", "/healthz", token=None)[0] == 200
        status, problem = served.call("GET", "/readyz", token=None)
        assert (status, problem["title"]) == (503, "Not now")
        for method, path, body in (("POST", "/v1/joins/a", {"capacity": 2}), ("GET", "/v1/joins/a/status", None)):
            status, problem = served.call(method, path, body)
            assert (status, "secret" in json.dumps(problem)) == (503, False), problem
    finally:
        served.stop()
    assert "secret" not in served.log()


def test_a_store_that_is_gone_is_counted(tmp_path):
    served = Served(tmp_path)
    try:
        served.call("POST", "/v1/joins/a", {"capacity": 4})
        assert served.call("POST", "/v1/joins/a/decide", {"id": "a"})[0] == 200
        path = Path(served.store.removeprefix("sqlite:///"))
        path.rename(tmp_path / "moved.db")
        path.write_text("no database")
        status, problem = served.call("POST", "/v1/joins/a/decide", {"id": "b"})
        assert (status, "replaced" in problem["detail"]) == (503, True)
        assert served.call("GET", "/readyz")[0] == 503
        (tmp_path / "moved.db").rename(path)
        assert served.call("POST", "/v1/joins/a/decide", {"id": "b"})[0] == 200
        assert b"tarry_store_errors_total 1.0" in served.call("GET", "/metrics")[1]
    finally:
        served.stop()


def test_calls_that_wait_are_counted_and_then_refused(monkeypatch):
    monkeypatch.setattr(desk, "MOST_WAITING", 3)

    async def work():
        gate, mine = threading.Event(), desk.Desk(tarry.LabelJoin(2, rng=1))
        calls = [asyncio.ensure_future(mine.call(gate.wait)) for _ in range(4)]
        await asyncio.sleep(0.1)
        gate.set()
        told = await asyncio.gather(*calls, return_exceptions=True)
        await mine.close()
        return told

    *others, last = asyncio.run(work())
    assert others == [True] * 3
    assert (last.status, last.headers) == (503, {"retry-after": "1"})


def test_headers_of_proxies_do_no_harm(tmp_path):
    """Believed only from a proxy that was named, and harmless whatever they say."""
    served = Served(tmp_path, proxies=["127.0.0.1"], access_log=True)
    try:
        for given in ("203.0.113.7", "javascript:alert(1)", ", , ,", "a" * 5000):
            headers = {"x_forwarded_for": given, "x_forwarded_proto": given, "x_forwarded_host": given}
            assert served.call("GET", "/v1/joins", **headers)[0] == 200
        assert served.call("GET", "/v1/joins", token=None, x_forwarded_for="127.0.0.1")[0] == 401
    finally:
        served.stop()
    assert "alert" not in served.log()
