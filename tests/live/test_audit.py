"""Ledger and export say what every single call said."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tarry

LEARNER = tarry.learners.DWFTRL(tarry.domains.Ball(2), rate=0.1)


@pytest.mark.parametrize("store", ["memory:", "sqlite:///{}/a.db"])
@pytest.mark.parametrize("named", [False, True])
def test_the_ledger_adds_up_and_names_the_last_rounds(store, named, tmp_path):
    rng = np.random.default_rng(1)
    with tarry.Session(tarry.Player(LEARNER), capacity=4, rng=1, store=store.format(tmp_path), memory=30) as session:
        ids, answered = [], set()
        for t in range(1, 61):
            ids.append(session.ask(f"r{t}" if named else None).id)
            if rng.random() < 0.4:
                some = ids[int(rng.integers(max(0, t - 8), t))]
                session.tell(some, gradient=[1, 0]) if rng.random() < 0.7 else session.expire(some)
                answered.add(some)
        found = session.ledger(100)
        assert found["fates"] == session.status().fates
        assert found["sum"] == found["rounds"] == 60
        assert [entry["round"] for entry in found["last"]] == list(range(60, 30, -1))
        for entry in found["last"]:
            assert entry["id"] == ids[entry["round"] - 1]
            assert entry["fate"] == session.fate(entry["id"]).name.lower()
            assert entry["answered"] == (entry["id"] in answered)
        assert "last" not in session.ledger()


def test_ids_that_are_no_longer_kept_are_not_invented():
    session = tarry.Session(tarry.Player(LEARNER), capacity=1, rng=1)
    session.ask_many(ids=[f"r{i}" for i in range(300)])
    old = session.ledger(300)["last"][-1]
    assert (old["round"], old["id"]) == (1, None)


@pytest.mark.parametrize("durable", [False, True])
def test_an_export_is_plain_and_complete(durable, tmp_path):
    store = f"sqlite:///{tmp_path / 'a.db'}" if durable else "memory:"
    with tarry.LabelJoin(3, rng=5, labels="all", store=store) as join:
        assert join.is_numbered is None
        assert join.export()["is_numbered"] is None
        join.decide({"age": 41}, id="a")
        join.decide(b"raw", id=b"b")
        join.decide(id=7)
        join.label("a", 1.5)
        found = join.export()
        assert [one["payload_bytes"] for one in found["tracked"]] == [len(json.dumps({"age": 41})), 3, 0]
        assert [one["gathered"] for one in found["tracked"]] == [[1.5], [], []]
        assert found["is_numbered"] is join.is_numbered is False
        assert json.loads(json.dumps(found["status"]))["answers"] == found["status"]["answers"]
        assert [*found["status"].values()][:5] == [*join.status()[:5]]
        assert found["status"]["weights"] == join.status().weights._asdict()
        assert "seed" not in found["configuration"]
        assert found["configuration"]["options"] == {"labels": "all"}
        full = join.export(payloads=True)["tracked"]
        assert [one["payload"] for one in full] == [{"age": 41}, {"bytes": "cmF3"}, None]
        assert [one["id"] for one in full] == ["a", {"bytes": "Yg=="}, 7]


def test_payloads_that_could_not_be_stored_have_no_size():
    join = tarry.LabelJoin(3)
    join.decide(object())
    assert join.export()["tracked"][0]["payload_bytes"] is None


def test_sessions_export_plays():
    session = tarry.Session(tarry.Player(LEARNER), capacity=2, rng=1)
    play = session.ask().play
    found = session.export()["tracked"]
    assert found == [{"round": 1, "id": 1, "play": play.tolist(), "payload_bytes": 0, "gathered": [], "keys": []}]
    assert session.is_numbered is True


def test_an_export_keeps_nobody_from_going_on(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with tarry.LabelJoin(3, rng=5, store=url) as join, tarry.LabelJoin.open(url) as other:
        join.decide(id="a")
        assert other.export()["status"]["rounds"] == other.ledger(1)["rounds"] == 1
        join.decide(id="b")
        assert [one["id"] for one in other.export()["tracked"]] == ["a", "b"]
        assert other.decide(id="c").tracked
        assert join.ledger()["sum"] == 3
