"""Every line of what is promised about security, against a real server."""

from __future__ import annotations

import json
import logging
import re
import stat
import subprocess
import sys
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from serving import Served

from tarry.service import tokens
from tarry.service.guard import Guard
from tarry.service.metrics import Metrics
from tarry.service.problems import Refusal
from tarry.service.server import Lines
from tarry.service.settings import Settings, settle
from tarry.service.tokens import Tokens, add_token, read_tokens, remove_token

PATHS = ["/v1/joins", "/v1/sessions", "/v1/joins/j1/status", "/v1/joins/j1/tracked", "/metrics", "/v1/nothing"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", [None, "wrong", "tarry_" + "A" * 43, "", "é", "x" * 5000])
def test_nothing_is_shown_without_a_token(served, path, token):
    headers = {} if token is None else {"authorization": f"Bearer {token}".encode().decode("latin-1")}
    status, problem = served.call("GET", path, token=None, **headers)
    assert status == 401
    assert problem["title"] == "A token is needed"
    assert "token" not in json.dumps(problem.get("value", ""))


@pytest.mark.parametrize("kind", ["Basic", "bearer", "BEARER", "Token"])
def test_the_kind_of_token_is_bearer_in_any_letters(served, kind):
    status, _ = served.call("GET", "/v1/joins", token=None, authorization=f"{kind} {served.token}")
    assert status == (200 if kind.lower() == "bearer" else 401)


def test_scopes_and_names(served, join):
    """What each scope may do, for all names and for one, enumerated."""
    name = join.rpartition("/")[2]
    other = "/v1/joins/other"
    served.call("POST", other, {"capacity": 2})
    calls = {
        "read": ("GET", "{}/status", None),
        "write": ("POST", "{}/decide", {"id": "a"}),
        "admin": ("POST", "{}/resize", {"capacity": 3}),
    }
    for scope in tokens.SCOPES:
        for only in (None, [name]):
            text = add_token(served.tokens, f"{scope}-{only is None}", scope, only)
            time.sleep(1.1)  # a server looks at its file once a second
            for wanted, (method, path, body) in calls.items():
                is_enough = tokens.SCOPES.index(wanted) <= tokens.SCOPES.index(scope)
                for place, is_named in ((join, True), (other, only is None)):
                    status, said = served.call(method, path.format(place), body, token=text)
                    assert status == (200 if is_enough and is_named else 403), (scope, only, wanted, place, said)
            listed = served.call("GET", "/v1/joins?limit=200", token=text)[1]["items"]
            assert ([one["name"] for one in listed] == [name]) == (only is not None)
            assert served.call("GET", "/metrics", token=text)[0] == (200 if only is None else 403)


def test_tokens_change_without_a_restart(served):
    text = add_token(served.tokens, "brief", "read")
    time.sleep(1.1)
    assert served.call("GET", "/v1/joins", token=text)[0] == 200
    again = add_token(served.tokens, "brief")
    assert served.call("POST", "/v1/joins/brief", {"capacity": 1}, token=again)[0] in (401, 403)  # it allows no more
    time.sleep(1.1)
    assert [served.call("GET", "/v1/joins", token=one)[0] for one in (text, again)] == [401, 200]
    remove_token(served.tokens, "brief")
    time.sleep(1.1)
    assert served.call("GET", "/v1/joins", token=again)[0] == 401
    assert served.call("GET", "/v1/joins")[0] == 200


def test_tokens_stay_while_their_file_cannot_be_read(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(tokens, "_AGAIN", 0.0)
    path = tmp_path / "tokens.toml"
    text = add_token(path, "a", "read")
    known, good = Tokens(path), path.read_text()
    for bad in (f"{good}\n[token.x\n", "[token.a]\nscope = 'read'\nsha256 = 'zz'\n", "token = 3"):
        path.write_text(bad)
        caplog.clear()
        assert [known.find(text).name for _ in range(3)] == ["a"] * 3
        assert len(caplog.records) == 1
        with pytest.raises(ValueError, match=r"token|hex"):
            Tokens(path)  # none starts with it
    path.unlink()
    path.mkdir()
    assert known.find(text).name == "a"
    path.rmdir()
    assert known.find(text) is None
    again = add_token(path, "a", "read")
    assert known.find(again).name == "a"


def test_tokens_are_kept_as_hashes_that_only_the_owner_reads(tmp_path):
    path = tmp_path / "tokens.toml"
    text = add_token(path, "a", "write", ['x"y\\', "ü"])
    assert text not in path.read_text()
    assert len(text) >= 40
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (found,) = read_tokens(path)
    assert (found.digest, found.only) == (tokens.digest_of(text), frozenset(['x"y\\', "ü"]))
    path.write_text("[token.a]\nscope = 'all'\nsha256 = '00'\n")
    with pytest.raises(ValueError, match="scope must be one of"):
        read_tokens(path)


def test_every_token_is_compared_in_constant_time(tmp_path, monkeypatch):
    """All are compared, by the standard library's comparison, whether or not an earlier one fits."""
    path = tmp_path / "tokens.toml"
    texts = [add_token(path, name, "read") for name in "abc"]
    known, seen = Tokens(path), []
    compare = tokens.hmac.compare_digest
    monkeypatch.setattr(tokens.hmac, "compare_digest", lambda a, b: seen.append((len(a), len(b))) or compare(a, b))
    assert known.find(texts[0]).name == "a"
    assert known.find("tarry_x") is None
    assert seen == [(32, 32)] * 6


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_no_listening_beyond_this_machine_without_tokens(tmp_path, host):
    flags = {"host": host, "tokens": tmp_path / "none.toml"}
    with pytest.raises(ValueError, match="can be reached by others"):
        settle(flags, {})
    add_token(tmp_path / "none.toml", "a", "read")
    assert settle(flags, {}).host == host
    command = [sys.executable, "-m", "tarry", "serve", "--host", host, "--tokens", str(tmp_path / "empty.toml")]
    if host == "0.0.0.0":
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60)
        assert (done.returncode, "can be reached by others" in done.stderr) == (2, True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_this_machine_is_known(host):
    assert Settings(host=host).is_local


HOSTILE_NAMES = [
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e",
    "a%00b",
    "a%0d%0aSet-Cookie:x=1",
    "'%3b%20DROP%20TABLE%20tarry_sessions%3b--",
    "%3cscript%3ealert(1)%3c%2fscript%3e",
    "x" * 129,
    "%ff%fe",
    "a%2fb",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_reach_neither_paths_nor_statements(served, name):
    before = served.call("GET", "/v1/joins?limit=200&status=false")[1]
    status, problem = served.call("POST", f"/v1/joins/{name}", {"capacity": 2})
    assert status in (404, 405, 422), problem
    assert served.call("GET", f"/v1/joins/{name}/status")[0] in (404, 422)
    assert served.call("GET", "/v1/joins?limit=200&status=false")[1] == before
    assert not list(served.folder.glob("*passwd*"))


def test_texts_of_requests_stay_inert(served, join):
    """Markup, formulas and statements come back as they were, in JSON that no page takes for markup."""
    hostile = [
        "<img src=x onerror=alert(1)>",
        "=1+1",
        "'; DROP TABLE tarry_items;--",
        "${7*7}{{7*7}}",
        "\x1b[31m\r\n\0",
    ]
    rows = [{"id": text, "features": {text: text}} for text in hostile]
    served.call("POST", f"{join}/resize", {"capacity": 8})
    status, told = served.call("POST", f"{join}/decide", {"decisions": rows})
    assert (status, [one["id"] for one in told["tickets"]]) == (200, hostile)
    labels = [{"id": text, "label": text} for text in hostile]
    outcomes = served.call("POST", f"{join}/label", {"labels": labels})[1]["outcomes"]
    assert [one["row"]["features"] for one in outcomes] == [{text: text} for text in hostile]
    asked = Request(f"{served.url}{join}/status", headers={"authorization": f"Bearer {served.token}"})
    with urlopen(asked) as answer:
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_headers_cannot_be_injected(served):
    """A request id of another kind is replaced, so that nothing of it reaches headers, answers or logs."""
    for given in ("<b>", "a b", "x" * 65, "é", "a;b"):
        status, problem = served.call("GET", "/v1/joins", token=None, x_request_id=given)
        assert status == 401
        assert re.fullmatch("[0-9a-f]{16}", problem["request_id"])
    assert served.call("GET", "/v1/joins", token=None, x_request_id="my-id_1.2")[1]["request_id"] == "my-id_1.2"


def headers_of(request):
    try:
        with urlopen(request) as answer:
            return answer.headers
    except HTTPError as error:
        with error:
            return error.headers


POLICY = {"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "script-src 'self'"}


@pytest.mark.parametrize("path", ["/console/", "/v1/joins", "/healthz", "/nothing"])
def test_headers_of_security_are_everywhere(served, path):
    headers = headers_of(Request(served.url + path))
    assert set(headers["content-security-policy"].split("; ")) >= POLICY
    assert "unsafe" not in headers["content-security-policy"]
    assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
    if path.startswith("/v1"):
        assert headers["cache-control"] == "no-store"


def test_no_other_page_may_call_unless_named(served, tmp_path):
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    assert "access-control-allow-origin" not in headers_of(
        Request(f"{served.url}/v1/joins", headers=asked, method="OPTIONS")
    )
    named = Served(tmp_path, origins=["https://good.example"])
    try:
        for origin, said in (("https://good.example", "https://good.example"), ("https://evil.example", None)):
            request = Request(f"{named.url}/v1/joins", headers=asked | {"origin": origin}, method="OPTIONS")
            assert headers_of(request)["access-control-allow-origin"] == said
            posted = Request(f"{named.url}/v1/joins/a/decide", b"{}", {"origin": origin})
            posted.add_header("authorization", f"Bearer {named.token}")
            assert headers_of(posted)["access-control-allow-origin"] == said
            refused = Request(f"{named.url}/v1/joins", headers={"origin": origin, "authorization": "Bearer x"})
            assert headers_of(refused)["access-control-allow-origin"] == said  # a page can read why
    finally:
        named.stop()


def test_tls_by_flags(tmp_path):
    import ssl

    words = (
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost -addext"
    )
    made = subprocess.run([*words.split(), "subjectAltName=IP:127.0.0.1"], capture_output=True, cwd=tmp_path)
    if made.returncode:
        pytest.skip("openssl is not there")
    with pytest.raises(ValueError, match="a certificate and its key"):
        settle({"key": tmp_path / "key.pem"}, {})
    context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    served = Served.__new__(Served)
    served.context = context
    served.scheme = "https"
    served.__init__(tmp_path, certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem")
    try:
        with urlopen(f"{served.url}/healthz", context=context) as answer:
            assert (answer.status, "strict-transport-security" in answer.headers) == (200, True)
    finally:
        served.stop()


def test_rates_of_a_token(tmp_path):
    """A bucket of two seconds' worth, filled with time, one for each token."""
    path = tmp_path / "t.toml"
    mine, yours = (add_token(path, name, "read") for name in "ab")
    guard = Guard(None, None, Settings(rate=5.0, tokens=path), Tokens(path), Metrics())
    headers, scope = (
        {b"authorization": f"Bearer {mine}".encode()},
        {"http_version": "1.1", "headers": [(b"host", b"x")]},
    )
    for _ in range(10):
        guard._admitted(scope, "/v1/joins", headers)
    with pytest.raises(Refusal, match="5 requests a second") as refused:
        guard._admitted(scope, "/v1/joins", headers)
    assert (refused.value.status, refused.value.headers) == (429, {"retry-after": "1"})
    guard._admitted(scope, "/v1/joins", {b"authorization": f"Bearer {yours}".encode()})
    time.sleep(0.25)
    guard._admitted(scope, "/v1/joins", headers)


def test_no_secret_is_in_a_log(tmp_path):
    """Neither tokens, right or wrong, nor passwords of stores, nor labels reach the log, also of every request."""
    served = Served(tmp_path, access_log=True)
    try:
        served.call("POST", "/v1/joins/a", {"capacity": 2})
        served.call("POST", "/v1/joins/a/decide", {"id": "secret-id", "features": {"s": "secret-feature"}})
        served.call("GET", "/v1/joins?token=secret-query", token="secret-token")
        served.call("GET", "/v1/joins", token=None, cookie="secret-cookie")
    finally:
        served.stop()
    log = served.log()
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["status"] for line in lines if line["message"] == "request" and line["path"] != "/readyz"] == [
        201,
        200,
        401,
        401,
    ]
    assert served.token not in log
    assert "secret" not in log


def test_a_line_of_the_log_is_one_line():
    record = logging.makeLogRecord({"msg": "a\nb", "facts": {"path": '/x\r\n{"level": "forged"}\x1b[2J'}})
    line = Lines().format(record)
    assert "\n" not in line
    assert "\x1b" not in line
    assert json.loads(line)["path"].startswith("/x")


def test_problems_tell_no_paths(served):
    """Sentences of the library that name the store's file are cut."""
    for path in ("/v1/joins/nobody/status", "/v1/sessions/nobody/status"):
        status, problem = served.call("GET", path)
        assert status == 404
        assert str(served.folder) not in json.dumps(problem)


def test_a_token_that_is_replaced_keeps_what_it_allows(tmp_path):
    path = tmp_path / "tokens.toml"
    add_token(path, "a", "read", ["clicks"])
    add_token(path, "b")
    add_token(path, "a")
    add_token(path, "b", "admin")
    assert [(one.name, one.scope, one.only) for one in read_tokens(path)] == [
        ("a", "read", frozenset({"clicks"})),
        ("b", "admin", None),
    ]
