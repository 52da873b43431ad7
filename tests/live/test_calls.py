"""The table of calls says what the library's methods take, and its schemas what its codec reads."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import tarry
from tarry.errors import ArgumentError
from tarry.live import codec
from tarry.live.calls import CALLS, Ack, Ask, Decision, LabelOf, NewJoin, Resize, Tell, calls_of, make, methods_of
from tarry.live.label_join import Outcome, Ticket
from tarry.live.labels import UNSAID
from tarry.live.status import Status
from tarry.outcomes import Answer

KINDS = {"join": tarry.LabelJoin, "session": tarry.Session}
# Named by their kind in a session that learns from them, and handed over as an array.
_NOT_FIELDS = {"self", "unnamed"}


@pytest.mark.parametrize("kind", KINDS)
def test_written_out_signatures_are_those_of_the_table(kind):
    """Names, and which may be left out."""
    for verb, call in calls_of(kind).items():
        if verb == "takes":  # a property
            continue
        method = getattr(KINDS[kind], verb)
        takes = {p.name: p.default is p.empty for p in inspect.signature(method).parameters.values()}
        fields = {field.name: field.default is ... for field in codec.fields_of(call.asks).values()}
        paged = {"tracked": {"after", "limit"}, "journal": {"limit"}}.get(verb, set())  # the library gives all of them
        assert {name: needed for name, needed in takes.items() if name not in _NOT_FIELDS} == {
            name: needed for name, needed in fields.items() if name not in paged
        }, verb


@pytest.mark.parametrize("kind", KINDS)
def test_methods_of_several_rows_have_a_column_for_each_field(kind):
    for name, (call, is_many) in methods_of(kind).items():
        if not is_many:
            continue
        takes = set(inspect.signature(getattr(KINDS[kind], name)).parameters) - _NOT_FIELDS - {"rounds"}
        fields = set(call.asks._fields)
        if call.many.has_bare_ids:
            assert takes == {"ids"} | (fields - {"id"}), name
        else:
            assert takes == {field if field in ("at", "features") else f"{field}s" for field in fields}, name


SCALARS = st.sampled_from(
    [None, True, 0, 3, -1, 0.5, "a", "30d", "a" * 1025, {"bytes": "AAE="}, {"bytes": 1}, {"a": 1}]
)
VALUES = SCALARS | st.lists(SCALARS, max_size=2)


@pytest.mark.parametrize("asks", sorted({call.asks for call in CALLS}, key=lambda kind: kind.__name__))
def test_a_schema_allows_what_is_read(asks):
    """By the word of another library, which reads the schema alone."""
    schema = codec.object_schema(asks, is_strict=True) | {"components": {"schemas": {"Id": codec.ID}}}
    validator = Draft202012Validator(schema)
    verdicts = set()

    @settings(max_examples=200, deadline=None)
    @given(st.dictionaries(st.sampled_from([*asks._fields, "other"]), VALUES, max_size=5) | SCALARS)
    def same(plain):
        try:
            codec.load(asks, plain)
            is_read = True
        except ArgumentError:
            is_read = False
        verdicts.add(is_read)
        assert validator.is_valid(plain) == is_read

    same()
    assert verdicts == {True, False}


def test_an_error_names_the_field_the_value_and_the_way_out():
    for asks, plain, name, sentence in [
        (Decision, {"id": 1.5}, "id", "must be a text, a whole number, or bytes in base64, got 1.5: write bytes as"),
        (Decision, {"size": 10**400}, "size", "size must be a finite number, got 1000"),
        (Decision, {"features": {"a": [1, float("inf")]}}, "features", "not finite, got inf: write a finite one"),
        (Decision, {"nonsense": 1}, "nonsense", "nonsense is not known here: leave it out, only features, id, delay"),
        (LabelOf, {"id": "a"}, "label", "label is missing: give it"),
        (LabelOf, {"id": {"bytes": "%"}, "label": 1}, "id", "id must be bytes in base64, got '%'"),
        (Ack, {"number": [1, -1]}, "number.1", "number.1 must be a whole number from 0 to"),
        (Decision, ["a"], "the body", "the body must be an object, got a list: give fields of features, id"),
        (Decision, {"id": "a" * 1025}, "id", "id has 1025 letters: an id has at most 1024"),
        (NewJoin, {"capacity": True}, "capacity", "capacity must be a whole number, got True"),
        (Tell, {"id": 1, "gradient": [0.0] * 10_001}, "gradient", "has 10001 entries: at most 10,000 are read"),
        (Ask, {"id": []}, "id", "got a list"),
    ]:
        with pytest.raises(ArgumentError) as caught:
            codec.load(asks, plain)
        assert caught.value.name == name
        assert sentence in str(caught.value)


def test_what_a_caller_gives_is_read_as_the_same():
    """Of types that JSON does not have, what stands for them."""
    now = datetime(2026, 1, 2, tzinfo=UTC)
    asked = Decision({"a": 1}, b"\x00", delay=np.int64(3), size=np.float32(0.5), at=now)
    plain = codec.written(asked)
    assert plain == {"features": {"a": 1}, "id": {"bytes": "AA=="}, "delay": 3, "size": 0.5, "at": now.timestamp()}
    assert codec.load(Decision, plain) == asked._replace(at=now.timestamp())
    assert codec.written(Resize(capacity=None)) == {"capacity": None}
    assert codec.load(Resize, {"capacity": None}) == Resize(None, UNSAID, UNSAID)
    with pytest.raises(ArgumentError, match="size must be a finite number, got nan"):
        codec.written(Decision(size=float("nan")))


ids = st.text(max_size=5) | st.integers() | st.binary(max_size=5)
tickets = st.builds(Ticket, ids, st.booleans(), st.lists(ids).map(tuple))


@given(tickets)
def test_answers_come_back_as_they_were(ticket):
    assert codec.load(Ticket, codec.dump(ticket) | {"later": 1}, is_strict=False) == ticket
    with pytest.raises(ArgumentError, match="later is not known"):
        codec.load(Ticket, codec.dump(ticket) | {"later": 1})


def test_a_status_comes_back_as_it_was():
    join = tarry.LabelJoin(4, rng=1)
    for status in (join.status(), (join.decide_many([1, 2]), join.label(1, 0.5), join.status())[-1]):
        again = codec.load(Status, codec.dump(status), is_strict=False)
        assert repr(again) == repr(status)  # which is equal where a figure is no number, too


def test_a_call_is_a_batch_of_one():
    """By one and by many the answers are the same, for every verb that takes several."""
    for kind, opened in (("join", _join), ("session", _session)):
        for call in (call for call in calls_of(kind).values() if call.many):
            rows = [call.asks(**known) for known in _ROWS[kind][call.verb]]
            one, many = opened(), opened()
            single = [make(one, call, row) for row in rows]
            several = make(many, call, rows)
            assert repr(codec.dump(several[-1])) == repr(codec.dump(single[-1])), call.verb
            assert [codec.dump(row)["id"] for row in several] == [codec.dump(row)["id"] for row in single]


_ROWS = {
    "join": {
        "decide": [{"id": "x", "features": 1}, {"id": "y"}],
        "label": [{"id": "a", "label": 1}, {"id": "b", "label": 2}],
        "finish": [{"id": "a", "missing": 3}, {"id": "b", "missing": 3}],
        "fate": [{"id": "a"}, {"id": "never"}],
        "expire": [{"id": "a"}, {"id": "never"}],
    },
    "session": {
        "ask": [{"id": "x"}, {"id": "y"}],
        "tell": [{"id": "a", "gradient": [1.0, 0.0]}, {"id": "b", "gradient": [0.0, 1.0]}],
        "fate": [{"id": "a"}, {"id": "never"}],
        "expire": [{"id": "a"}, {"id": "never"}],
    },
}


def _join():
    join = tarry.LabelJoin(4, labels="last", rng=1)
    join.decide_many([1, 2], ids=["a", "b"])
    return join


def _session():
    player = tarry.tracking.Player(tarry.learners.DWFTRL(tarry.domains.Ball(2), rate=0.5))
    session = tarry.Session(player, capacity=4, rng=1)
    session.ask_many(ids=["a", "b"])
    return session


def test_a_verb_has_one_answer_word():
    assert codec.load(Outcome, {"id": 1, "fate": "used", "row": None, "answer": "late"}).answer is Answer.LATE
    with pytest.raises(ArgumentError, match="fate is no answer that is known here, got 'gone'"):
        codec.load(Outcome, {"id": 1, "fate": "gone", "row": None, "answer": "late"})


def test_a_window_gives_its_rows_in_parts():
    """With a limit the first ones come out, and the others with the next call."""
    join = tarry.LabelJoin(8, window=10, missing=0, rng=1)
    join.decide_many(range(5), at=[0, 1, 2, 3, 4])
    parts = [join.advance(20, 2) for _ in range(4)]
    assert [[row.features for row in part] for part in parts] == [[0, 1], [2, 3], [4], []]
