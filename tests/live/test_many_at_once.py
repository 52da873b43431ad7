"""Many rounds in one call are the same rounds one by one, to the last bit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import tarry
from tarry import Answer

DOMAIN = tarry.domains.Ball(3)
LEARNERS = {
    "gradient": tarry.learners.DWFTRL(DOMAIN, rate=0.05),
    "value": tarry.learners.DWFTBL(DOMAIN, rate=0.01, smoothing=0.4),
}


def make(feedback="gradient", capacity=5, **options):
    return tarry.Session(tarry.Player(LEARNERS[feedback]), capacity=capacity, rng=3, **options)


def feedback_for(kind, count, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, 3)) if kind == "gradient" else rng.normal(size=count)


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("durable", [False, True])
def test_asking_and_telling_many(kind, named, durable, tmp_path):
    store = f"sqlite:///{tmp_path / 'a.db'}" if durable else "memory:"
    many, single = make(kind, store=store), make(kind)
    for batch in range(6):
        ids = [f"r{batch}-{i}" for i in range(10)] if named else None
        asked = many.ask_many(None if named else 10, ids=ids)
        rounds = [single.ask(id) for id in ids or [None] * 10]
        assert asked.ids == [one.id for one in rounds]
        assert np.array_equal(asked.plays, [one.play for one in rounds])
        assert asked.tracked.tolist() == [one.tracked for one in rounds]
        assert asked.released == [id for one in rounds for id in one.released]
        assert asked.statuses == [one.status for one in rounds]
        late, given = asked.ids[::-2], feedback_for(kind, 5, batch)
        told = many.tell_many(late, **{f"{kind}s": given})
        receipts = [single.tell(id, **{kind: one}) for id, one in zip(late, given, strict=True)]
        assert list(zip(told.statuses, told.weights, strict=True)) == receipts
    assert many.status()[:7] == single.status()[:7]
    expired = many.expire_many(late[:2])
    assert expired.statuses == [single.expire(id).status for id in late[:2]]
    many.close()


@pytest.mark.parametrize("shape", [np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2], lambda a: a[::-1]])
def test_gradients_may_lie_in_memory_in_any_way(shape):
    given = feedback_for("gradient", 5, 1)
    odd, plain = make(), make()
    for session, gradients in ((odd, shape(given)), (plain, np.array(shape(given), order="C"))):
        session.ask_many(5)
        session.tell_many(range(1, 6), gradients=gradients)
        session.ask()
        session.tell(6, gradient=gradients[0])
    assert np.array_equal(odd.ask().play, plain.ask().play)


def test_many_say_which_round_released_which():
    many, single = make(), make()
    asked = many.ask_many(40)
    assert asked.released_by == [single.ask().released for _ in range(40)]
    assert asked.released == [id for released in asked.released_by for id in released]


def test_delays_are_told_for_each():
    session = make(information="clairvoyant")
    assert session.ask_many(2, delays=[3, 0]).ids == [1, 2]
    with pytest.raises(ValueError, match="there are 3 rounds and 2 delays: give one each"):
        session.ask_many(3, delays=[1, 2])
    with pytest.raises(ValueError, match="the delay"):
        session.ask_many(2, delays=[1, None])
    assert session.status().rounds == 2


def test_nothing_at_all():
    session = make()
    assert session.ask_many(0).plays.shape == (0, 3)
    assert session.tell_many([], gradients=[]).ids == []
    assert session.expire_many([]).statuses == []
    assert make("value").tell_many([], values=[]).ids == []


def test_receipts_as_a_frame():
    session = make()
    session.ask_many(2)
    frame = session.tell_many([1, 7], gradients=np.ones((2, 3))).to_polars()
    assert frame.columns == ["id", "status", "weight"]
    assert frame["status"].to_list() == ["used", "unknown"]


@pytest.mark.parametrize("as_frame", [dict, pl.DataFrame])
def test_frames_of_feedback(as_frame):
    session, twin = make(), make()
    session.ask_many(3), twin.ask_many(3)
    gradients = feedback_for("gradient", 3, 1)
    told = session.tell_many(as_frame({"gradient": gradients.tolist(), "id": [1, 2, 3]}))
    assert np.array_equal(told.weights, twin.tell_many([1, 2, 3], gradients=gradients).weights)
    assert np.array_equal(session.ask().play, twin.ask().play)
    values = make("value")
    values.ask_many(2)
    assert values.tell_many(as_frame({"id": [1, 2], "value": [0.5, 1.0]})).statuses == [Answer.USED] * 2


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda s: s.tell_many([1, 2.5], gradients=np.ones((2, 3))), TypeError, "an id must be a string"),
        (lambda s: s.expire_many([1, None]), TypeError, "an id must be a string"),
        (
            lambda s: s.tell_many([1, 2], gradients=[[1, 0, 0]]),
            ValueError,
            r"shape \(1, 3\), the session needs \(2, 3\)",
        ),
        (lambda s: s.tell_many([1, 2], gradients=[[1, 0, 0], [np.nan, 0, 0]]), ValueError, "in row 1: nothing was"),
        (lambda s: s.tell_many([1], values=[1]), ValueError, "learns from gradients: call tell_many"),
        (lambda s: s.tell_many({"id": [1]}), ValueError, r"the frame has no column 'gradient', only \['id'\]"),
        (
            lambda s: s.tell_many([1], [[1, 0, 0]]),
            TypeError,
            r"learns from gradients: name them, tell_many\(…, gradients=",
        ),
        (lambda s: s.tell(1, [1, 0, 0]), TypeError, r"learns from gradients: name them, tell\(…, gradient="),
        (
            lambda s: s.tell_many(1, gradients=[[1, 0, 0]]),
            ValueError,
            "ids must be several, got the single 1: put it in",
        ),
        (lambda s: s.tell_many([1], gradients=[1, 0, 0]), ValueError, r"shape \(3,\), the session needs \(1, 3\)"),
        (
            lambda s: s.tell_many([1, 2], gradients=[[1, 0, 0], [1]]),
            ValueError,
            "must be numbers, as many in each row, got",
        ),
        (lambda s: s.ask_many(), ValueError, "one of the two"),
        (lambda s: s.ask_many(ids=["a", None]), ValueError, "give ids always or never"),
        (lambda s: s.ask_many(2, ids=["a", "b"]), ValueError, "one of the two"),
    ],
)
def test_malformed_batches_change_nothing(call, error, sentence):
    session, twin = make(), make()
    session.ask_many(3), twin.ask_many(3)
    with pytest.raises(error, match=sentence):
        call(session)
    assert session.status()[:5] == twin.status()[:5]
    assert session.tell(1, gradient=[1, 0, 0]) == twin.tell(1, gradient=[1, 0, 0])


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([[1], [2]], r"values has shape \(2, 1\), the session needs \(2,\)"),
        (3.0, r"values has shape \(1,\), the session needs \(2,\)"),
        ([1, "x"], r"values must be numbers, got \[1, 'x'\]"),
        ([1, np.inf], "got inf in row 1: nothing was changed"),
    ],
)
def test_values_of_the_wrong_shape(values, sentence):
    session = make("value")
    session.ask_many(2)
    with pytest.raises(ValueError, match=sentence):
        session.tell_many([1, 2], values=values)
    assert session.status().fates["used"] == 0


class Pandas:
    """Looks like a pandas frame."""

    def __init__(self, columns):
        self.columns, self._columns = list(columns), columns

    def __getitem__(self, name):
        return pl.Series(self._columns[name])


@pytest.mark.parametrize("as_frame", [dict, pl.DataFrame, Pandas])
def test_joins_take_frames(as_frame):
    ids, ages = [f"o{i}" for i in range(40)], list(range(40))
    join, single = tarry.LabelJoin(4, rng=2), tarry.LabelJoin(4, rng=2)
    tickets = join.decide_many(as_frame({"id": ids, "age": ages}))
    assert tickets == [single.decide({"age": age}, id) for id, age in zip(ids, ages, strict=True)]
    outcomes = join.label_many(as_frame({"id": ids, "label": ages}))
    rows = [one.row for one in outcomes if one.row is not None]
    expected = [single.label(id, age) for id, age in zip(ids, ages, strict=True)]
    assert rows == [row for row in expected if row is not None]
    assert len(rows) == 4
    assert all(row.features == {"age": row.label} and row.id == f"o{row.label}" for row in rows)
    assert [one.row for one in join.label_many(ids[:2], [1, 1])] == [None, None]


def test_joins_take_lists_and_numbers():
    join = tarry.LabelJoin(4, rng=2)
    tickets = join.decide_many([{"a": 1}, None, "text"])
    assert [ticket.id for ticket in tickets] == [1, 2, 3]
    outcomes = join.label_many(np.array([3, 1, 9]), np.array([0.5, 1.5, 2.5]))
    assert [one.row for one in outcomes] == [("text", 0.5, 1.0, 3, 1.0, 1), ({"a": 1}, 1.5, 1.0, 1, 1.0, 2), None]


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda j: j.decide_many([1, 2], ids=["a"]), ValueError, "there are 2 decisions and 1 ids: give one each"),
        (lambda j: j.label_many(["x", "y"], [1]), ValueError, "there are 2 ids and 1 labels: give one each"),
        (lambda j: j.label_many(["x", 2.5], [1, 2]), TypeError, "an id must be a string"),
        (lambda j: j.label_many({"id": ["x"]}), ValueError, "no column 'label'"),
        (
            lambda j: j.label_many(["x", "y"], [1, float("nan")]),
            ValueError,
            "the label of 'y' is nan, which is not finite",
        ),
        (lambda j: j.label_many("x", [1]), ValueError, "ids must be several, got the single 'x'"),
        (lambda j: j.label_many(["x"], 1), ValueError, "labels must be several, got the single 1"),
        (
            lambda j: j.decide_many(3, ids=["y"]),
            ValueError,
            "decisions must be several, got the single 3: put it in a list",
        ),
        (lambda j: j.decide_many("ab", ids=["y", "z"]), ValueError, "decisions must be several, got the single 'ab'"),
        (lambda j: j.decide_many([1], ids=7), ValueError, "ids must be several, got the single 7"),
        (lambda j: j.decide_many([1], ids=["y"], delays=7), ValueError, "delays must be several, got the single 7"),
        (lambda j: j.decide_many(np.array(3)), ValueError, "decisions must be several, got the single 3"),
    ],
)
def test_malformed_batches_of_joins_change_nothing(call, error, sentence):
    join = tarry.LabelJoin(4, rng=2)
    join.decide("kept", id="x")
    with pytest.raises(error, match=sentence):
        call(join)
    assert join.status().rounds == 1
    assert join.label("x", 1) == ("kept", 1, 1.0, "x", 1.0, 1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda j: j.decide_many({"a": [1, 2], "b": [1]}), r"must be equally long, got \{'a': 2, 'b': 1\}"),
        (lambda j: j.decide_many({"a": 41}), "the column 'a' must be a list of values, got 41"),
        (lambda j: j.decide_many({"a": "xy"}), "the column 'a' must be a list of values, got 'xy'"),
        (lambda j: j.decide_many([1, 2], ids="ab"), "ids must be several, got the single 'ab': put it in a list"),
        (lambda j: j.label_many("ab", [1, 2]), "ids must be several"),
        (lambda j: j.decide_many([1, 2], delays=[3]), "there are 2 rounds and 1 delays: give one each"),
        (lambda j: j.decide_many([1, 2], delays=[3, 4]), "a non-clairvoyant join takes no delay, got 3"),
    ],
)
def test_what_is_not_one_each_is_told(call, sentence):
    join = tarry.LabelJoin(4, rng=1)
    with pytest.raises(ValueError, match=sentence):
        call(join)
    assert join.status().rounds == 0


def test_decisions_with_delays_and_without_features():
    join = tarry.LabelJoin(2, information="clairvoyant", rng=1)
    twin = tarry.LabelJoin(2, information="clairvoyant", rng=1)
    delays = [5, 1, 0, 7, 2]
    assert join.decide_many([None] * 5, delays=np.array(delays)) == [twin.decide(delay=d) for d in delays]
    named = tarry.LabelJoin(8, rng=1)
    named.decide_many({"id": ["a", "b"]})
    assert named.label("b", 1).features == {}
