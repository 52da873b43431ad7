"""What a session is, as text: NumPy's numbers, and names that a file should not have imported."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest
from scenario import PLAYER

import tarry
from tarry.errors import StoreError
from tarry.live import configuration
from tarry.live.configuration import Configuration, parse, plain_configuration


def decode(text):
    return parse(json.loads(text))


def test_numbers_of_numpy_are_kept_as_pythons(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with tarry.Session(
        PLAYER, capacity=np.int64(4), memory=np.int32(100), preemption=np.True_, rng=1, store=url
    ) as one:
        one.ask()
    with tarry.Session(PLAYER, capacity=4, memory=100, rng=1, store=url) as again:
        assert again.ask().id == 2
    with tarry.LabelJoin(np.int64(4), memory=np.int64(9), rng=1, store=url, name="join") as join:
        assert join.decide().id == 1


@pytest.mark.parametrize(("capacity", "memory"), [(2.5, 10), (0, 10), (4, 0), (4, 1.5), ("4", 10)])
def test_bad_sizes_make_no_file(capacity, memory, tmp_path):
    with pytest.raises(ValueError, match="must be a whole number"):
        tarry.LabelJoin(capacity, memory=memory, store=f"sqlite:///{tmp_path / 'a.db'}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    ["tarry.cli.app:app", "tarry.domains.gone:Ball", "tarry:Session", "os:system", "tarry.domains:gone", "tarry."],
)
def test_a_file_has_nothing_imported_but_parameter_types(name):
    plain = plain_configuration(Configuration("session", PLAYER, 4, "non-clairvoyant", True, 1, 100, {}))
    plain["player"]["type"] = name
    before = set(sys.modules)
    with pytest.raises(StoreError, match="which is not part of Tarry: pass the same player"):
        decode(json.dumps(plain))
    assert not any(module.startswith("tarry.cli") for module in set(sys.modules) - before)


def test_what_differs_is_said_with_both_values(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"

    def session(lower=0.0, upper=(1.0, 1.0), rate=0.5, **options):
        player = tarry.Player(tarry.learners.DWFTRL(tarry.domains.Box([lower] * len(upper), list(upper)), rate=rate))
        return tarry.Session(player, **{"capacity": 4, "gradient_bound": 2, "store": url, "name": "s"} | options)

    def join(capacity=4, labels="sum", **options):
        return tarry.LabelJoin(capacity, labels=labels, **{"store": url, "name": "j"} | options)

    session().close(), join().close()
    for make, options, said in (
        (join, {"labels": "first"}, "a join with another value of labels ('sum', not 'first')"),
        (join, {"capacity": None}, "a join with another capacity (4, not None)"),
        (join, {"scheduler": tarry.schedulers.DropOldest()}, "player.scheduler (VarOpt(), not DropOldest())"),
        (join, {"window": "1d"}, "value of window (None, not 86400.0): open it with the same arguments, or give"),
        (join, {"memory": 7}, "open it with the same arguments, change it by resize(memory=7) (tarry join resize --m"),
        (join, {"name": "s"}, "the store holds a session of this name, not a join: give another name or store"),
        (session, {"gradient_bound": 3}, "a session with another value of gradient_bound (2.0, not 3.0)"),
        (session, {"gradient_bound": None}, "another value of gradient_bound (2.0, not None)"),
        (session, {"value_bound": None, "strong_convexity": 1}, "value of strong_convexity (None, not 1.0)"),
        (session, {"rate": 0.25}, "another player.learner.rate.value (0.5, not 0.25)"),
        (session, {"upper": (1.0, 2.0)}, "another player.learner.domain.upper[1] (1.0, not 2.0)"),
        (session, {"upper": (1.0,) * 9}, "domain.lower ([0.0, 0.0], not [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, …])"),
        (session, {"memory": 7}, "another memory (1000000, not 7)"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            make(**options)


@pytest.mark.parametrize(("capacity", "memory"), [(10**12, 100), (2**61, 100), (4, 10**15)])
def test_more_than_the_machine_holds_is_told(capacity, memory):
    sentence = f"a join of capacity {capacity} that remembers memory={memory} rounds takes up to"
    with pytest.raises(ValueError, match=sentence):
        tarry.LabelJoin(capacity, memory=memory)


def test_joins_are_called_joins(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    join = tarry.LabelJoin(4, rng=1, store=url)
    join.decide(id="a")
    with pytest.raises(ValueError, match="this join has used your own ids so far"):
        join.decide()
    with pytest.raises(ValueError, match="a non-clairvoyant join takes no delay, got 3"):
        join.decide(id="b", delay=3)
    join.close()
    with pytest.raises(StoreError, match="this was closed: open it again"):
        join.decide(id="b")
    with pytest.raises(ValueError, match="a clairvoyant join needs each round's"):
        tarry.LabelJoin(4, information="clairvoyant").decide()
    with pytest.raises(tarry.errors.NotGranted, match="which this game, session or join forbids"):
        tarry.LabelJoin(4, preemption=False)
    text = json.dumps(plain_configuration(Configuration("join", PLAYER, 4, "non-clairvoyant", True, 1, 100, {})))
    with pytest.raises(StoreError, match="this join was written by another version"):
        decode(text.replace('"memory"', '"remembers"'))


def test_a_number_of_too_many_digits_is_told(tmp_path):
    with tarry.LabelJoin(4, rng=1, store=f"sqlite:///{tmp_path / 'a.db'}") as join:
        for features in (10**5000, {"n": 10**5000}):
            with pytest.raises(ValueError, match="a durable store takes whole numbers of at most 4000 digits"):
                join.decide(features)
        assert join.status().rounds == 0


def test_what_a_store_holds_is_checked():
    damaged = {"type": "Morris", "fields": {"epsilon": -1.0}}
    with pytest.raises(ValueError, match="epsilon"):
        configuration._built(damaged)
