"""What a session is, as text: NumPy's numbers, and names that a file should not have imported."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from scenario import PLAYER

import tarry
from tarry.errors import StoreError
from tarry.live.configuration import Configuration, decode, encode


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
    plain = json.loads(encode(Configuration("session", PLAYER, 4, "non-clairvoyant", True, 1, 100, {})))
    plain["player"]["type"] = name
    before = set(sys.modules)
    with pytest.raises(StoreError, match="which is not part of Tarry: pass the same player"):
        decode(json.dumps(plain))
    assert not any(module.startswith("tarry.cli") for module in set(sys.modules) - before)


def test_a_number_of_too_many_digits_is_told(tmp_path):
    with tarry.LabelJoin(4, rng=1, store=f"sqlite:///{tmp_path / 'a.db'}") as join:
        for features in (10**5000, {"n": 10**5000}):
            with pytest.raises(ValueError, match="a durable store takes JSON values or bytes, got a"):
                join.decide(features)
        assert join.status().rounds == 0
