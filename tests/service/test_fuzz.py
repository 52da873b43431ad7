"""Requests that make no sense: documented answers, and nothing changed."""

from __future__ import annotations

import json
from importlib.metadata import version
from itertools import count

import pytest
from fuzz_service import fuzz
from hypothesis import example, given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["id", "features", "label", "labels", "decisions", "ids", "capacity", "at", "size", "delay", "key"]
)
BODIES = VALUES | st.dictionaries(FIELDS, VALUES, max_size=4)
VERBS = ["decide", "label", "finish", "expire", "resize", "advance", "ack", "fate"]


# Older ones, which the oldest dependencies allow, know no dictionaries of values.
is_recent = pytest.mark.skipif(
    tuple(map(int, version("schemathesis").split(".")[:2])) < (4, 32), reason="schemathesis 4.32 is needed"
)


@is_recent
def test_requests_from_the_description():
    assert fuzz(5, phases="examples,fuzzing") > 150


@is_recent
@pytest.mark.slow
def test_many_requests_from_the_description():
    assert fuzz(25) > 2000


@pytest.mark.parametrize("verb", VERBS)
def test_refused_calls_change_nothing(served, join, verb):
    served.call("POST", f"{join}/decide", {"decisions": [{"id": "a"}, {"id": "b", "features": [1]}]})
    refused = []

    @given(BODIES)
    def check(body):
        before = served.call("GET", f"{join}/export?payloads=true")[1]
        status, problem = served.call("POST", f"{join}/{verb}", body)
        if status >= 400:
            assert status in (400, 422), problem
            assert problem["detail"]
            assert served.call("GET", f"{join}/export?payloads=true")[1] == before
            refused.append(body)

    check()
    assert refused


def test_limits_on_bodies_batches_ids_and_nesting(served, join):
    deep = "[" * 150 + "]" * 150
    cases = {
        b"": 400,
        b"{": 400,
        b'{"id": "a", "features": NaN}': 400,
        b'{"id": "\xff"}': 400,
        b'{"id": "\\ud800"}': 400,
        f'{{"id": "a", "features": {deep}}}'.encode(): 422,
        b'{"id": "a", "features": ' + b"[" * 100_000: 400,
        json.dumps({"id": "x" * 1025}).encode(): 422,
        json.dumps({"decisions": [{"id": "a"}] * 10_001}).encode(): 413,
        b'{"id": ' + b"9" * 5000 + b"}": 400,
        b'{"id": true}': 422,
        b'{"id": 1.0}': 422,
        b'{"id": "a", "other": 1}': 422,
        b'{"decisions": [{"id": "a"}, {}]}': 422,
        b'{"decisions": [{"id": "a"}], "id": "b"}': 422,
        b'"' + b"x" * (9 << 20) + b'"': 413,
    }
    before = served.call("GET", f"{join}/export")[1]
    for body, expected in cases.items():
        try:
            status, problem = served.call("POST", f"{join}/decide", body)
        except OSError:  # refused before all of it was sent
            assert expected == 413
            continue
        assert status == expected, (body[:60], problem)
        assert problem["status"] == status
        assert len(json.dumps(problem)) < 5000
    assert served.call("GET", f"{join}/export")[1] == before


def test_problems_have_the_librarys_sentence(served, join):
    status, problem = served.call("POST", f"{join}/decide", {"id": "a", "size": -1})
    assert (status, problem["name"], problem["value"]) == (422, "size", "-1")
    assert "size must be" in problem["detail"]
    status, problem = served.call("POST", f"{join}/decide", {"decisions": [{"id": "a"}, {"id": "b", "size": -1}]})
    assert "row 1: size" in problem["detail"]
    status, problem = served.call("POST", join, {"capacity": 99})
    assert (status, "capacity" in problem["detail"]) == (409, True)
    assert served.call("PUT", join, {})[0] == 405
    assert served.call("GET", "/v2/joins")[0] == 404


@pytest.fixture(scope="module")
def gathering(served):
    """The path of a join that takes every verb."""
    path = "/v1/joins/gathering"
    assert served.call("POST", path, {"capacity": 2, "labels": "sum", "window": 100, "outbox": True})[0] == 201
    return path


@pytest.mark.parametrize("verb", ["fate", "expire", "finish"])
def test_what_stands_beside_ids_is_read_without_any_too(served, gathering, verb):
    deep = []
    for _ in range(150):
        deep = [deep]
    cases = [("other", 42), ("id", "a"), *([("missing", deep)] if verb == "finish" else [])]
    for name, value in cases:
        for ids in ([], ["a"]):
            status, problem = served.call("POST", f"{gathering}/{verb}", {"ids": ids, name: value})
            assert (status, problem["name"]) == (422, name), (problem, ids)
    assert served.call("POST", f"{gathering}/{verb}", {"ids": []})[0] == 200


@pytest.mark.parametrize("asked", ["export?limit", "rows?limit", "tracked?after", "journal?limit"])
def test_null_in_a_query_is_refused(served, gathering, asked):
    """What is not asked is left out: the description has no null there."""
    status, problem = served.call("GET", f"{gathering}/{asked}=null")
    assert (status, problem["name"], problem["value"]) == (422, asked.partition("?")[2], "'null'")
    assert served.call("GET", f"{gathering}/{asked}=1")[0] == 200


def test_addresses_near_those_of_calls(served, join):
    """What only looks like the address of a call is refused as any other address."""
    near = {f"{join}/decide/": 404, f"{join}/nothing": 404, "/v1/joins//decide": 404, "/v2/joins/a/decide": 404}
    for path, expected in (near | {f"{join}/status": 405, "/v1/nothing/a/decide": 404}).items():
        status, problem = served.call("POST", path, {"id": "a"})
        assert (status, problem["status"]) == (expected, expected), path
    assert served.call("GET", f"{join}/decide")[0] == 405
    assert served.call("GET", f"{join}/status")[1]["rounds"] == 0


def test_names_are_those_of_the_description(served):
    """Letters are those of ASCII, as its pattern means them to readers in every language."""
    for name in ("J%C3%B5", "%D9%A3", "-a", "a%0A", "a" * 129):
        for kind, body in (("joins", {"capacity": 2}), ("sessions", PLAYERS[0])):
            assert served.call("POST", f"/v1/{kind}/{name}", body)[0] == 422, name


@pytest.mark.parametrize("moment", [1e308, -1e308, 10**400])
def test_moments_that_are_too_late(served, moment):
    served.call("POST", "/v1/joins/windows", {"capacity": 2, "window": 100})
    status, problem = served.call("POST", "/v1/joins/windows/advance", {"now": moment})
    assert (status, "must be a moment" in problem["detail"]) == (422, True)


@pytest.mark.parametrize("ends", ["low=0&high=1e308", "low=-1e308&high=1e308", "low=0&high=5e-324"])
def test_ranges_too_wide_or_too_narrow_for_an_estimate(served, join, ends):
    served.call("POST", f"{join}/decide", {"decisions": [{"id": "a"}, {"id": "b"}]})
    served.call("POST", f"{join}/label", {"labels": [{"id": "a", "label": 1}, {"id": "b", "label": 0}]})
    status, problem = served.call("GET", f"{join}/estimate?{ends}")
    assert (status, problem.get("name")) == (422, "high")


BALL = {"type": "Ball", "dimension": 2}
READY = {"type": "recommended", "gradient_bound": 1}
PLAYERS = [
    {"domain": BALL, "player": {"learner": {"type": "DWFTRL", "rate": 0.5}}, "capacity": 8},
    {"domain": {"type": "Box", "lower": [-1, -1], "upper": [1, 1]}, "player": READY, "capacity": 8},
    {"domain": BALL, "player": {"learner": {"type": "DWFTBL", "rate": 0.5, "smoothing": 0.1}}, "capacity": 4},
    {"domain": BALL, "player": READY, "capacity": 8, "preemption": False, "backlog": 20},
]
ODD = [None, True, -1, 0, 1e308, 5e-324, 10**30, 2**63, "", "nan", [], {}, [1], [[1]], {"a": 1}, 1.5]
ODD += [{"float": "nan"}, {"array": "<f8", "shape": [1], "data": "AAAAAAAA8D8="}, {"type": "VarOpt", "fields": {}}]


def places_of(plain, path=()):
    """The paths of all fields of an export."""
    found = [path] if path else []
    for key in plain if isinstance(plain, dict) else ():
        found += places_of(plain[key], (*path, key))
    return found


def changed(plain, path, value):
    """A copy of an export with another value at a path."""
    return plain | {path[0]: changed(plain[path[0]], path[1:], value)} if path else value


def test_an_exported_player_with_a_changed_field_is_refused_or_plays(served):
    players = []
    for i, body in enumerate(PLAYERS):
        assert served.call("POST", f"/v1/sessions/p{i}", body)[0] == 201
        text = served.call("GET", f"/v1/sessions/p{i}/export")[1]
        found = text if isinstance(text, dict) else json.loads(text.splitlines()[0])
        players.append(found["configuration"]["player"])
        rules = {"capacity": 8, "preemption": body.get("preemption", True)}
        assert served.call("POST", f"/v1/sessions/again{i}", {"player": players[-1], **rules})[0] == 201
    made = count()

    fields = [(player, path) for player in players for path in places_of(player)]

    @example((players[0], ("fields", "scheduler")), 1)
    @example((players[1], ("fields", "learner", "fields", "domain", "fields", "lower")), ODD[-2])  # it has two entries
    @given(st.sampled_from(fields), st.sampled_from(ODD))
    def check(field, value):
        player, path = field
        one = f"/v1/sessions/changed{next(made)}"
        status, said = served.call("POST", one, {"player": changed(player, path, value), "capacity": 8})
        assert status in (201, 422), (path, value, said)
        for verb, body in (("ask", {"id": "a"}), ("tell", {"id": "a", "gradient": [0.5, 0.5]}), ("ask", {"id": "b"})):
            assert served.call("POST", f"{one}/{verb}", body)[0] in ((200, 422) if status == 201 else (404,))

    check()
