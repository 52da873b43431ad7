"""Who errs where: claims of a bias with their controls, and a world in which the claim is wrong."""

from __future__ import annotations

import heapq
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from studies.__main__ import app
from studies.bias import AS_IT_IS, WORLDS, World, bare, disagreements, is_claimed, load, measure_world, shop
from studies.claims import ROOT
from studies.measure import estimate
from studies.streams import LABELS, PAIRS, WAITS
from tarry.planning.policies import find_policy


def coins(seed):
    """The world of a demonstration that was wrong: slow outcomes by independent coins, under a steady load."""
    slow = np.random.default_rng(seed).random(1_500) < 0.5
    times = np.arange(1_500.0)
    return bare("coins", times, times + np.where(slow, 50.0, 5.0), slow)


def test_policies_err_where_pages_say_so_and_not_in_the_controls():
    assert disagreements(measure_world("first example", 4)) == []


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", list(WORLDS))
def test_so_it_is_in_every_world(name):
    assert disagreements(measure_world(name, 16)) == []


def test_a_claim_that_drop_newest_errs_by_the_delay_fails(monkeypatch):
    wrong, right = (World(coins, 8, load_tells) for load_tells in (True, False))
    monkeypatch.setitem(WORLDS, "coins", wrong)
    cells = measure_world("coins", 6)
    sentence, *others = disagreements(cells)
    assert all(", waits: " in other for other in others)
    assert re.fullmatch(r"coins, drop newest, as it is: \S+ \(\S+\) is not a bias, and pages say that it is", sentence)
    assert disagreements(one._replace(is_claimed=is_claimed(right, one.policy, one.run)) for one in cells) == []
    monkeypatch.setattr("studies.bias.measure_world", lambda name, seeds: cells)
    found = CliRunner().invoke(app, ["bias", "--world", "coins"])
    assert found.exit_code == 1
    assert sentence in found.output


def test_drop_newest_hears_what_a_queue_by_hand_hears():
    stream, held, heard = shop(3), [], []
    for at, told, label in zip(stream.times, stream.told, stream.labels, strict=True):
        # A label is there before the next decision: known within a day, it frees its slot for the next visitor.
        while held and held[0] < at:
            heapq.heappop(held)
        if len(held) < 50:
            heapq.heappush(held, told)
            heard.append(label)
    assert estimate(stream, find_policy("drop newest"), 50, 0) == pytest.approx(100 * np.mean(heard), abs=1.0)


def test_pairs_stay_together_and_labels_do_not():
    stream = shop(1)
    pairs, waits, labels = (stream.shuffled(control, 2) for control in (PAIRS, WAITS, LABELS))

    def listed(one):
        return sorted(zip(np.round(one.told - one.times, 6), one.labels, strict=True))

    assert listed(pairs) == listed(stream) != listed(labels)
    assert sorted(labels.labels) == sorted(stream.labels)
    assert np.array_equal(waits.labels, stream.labels)
    assert np.array_equal(waits.told - waits.times, pairs.told - pairs.times)
    assert not any(np.array_equal(one.labels, stream.labels) for one in (pairs, labels))
    for one in (pairs, waits, labels):
        waits = [np.sum(stream.times <= told) - t for t, told in enumerate(one.told, 1)]
        assert one.delays.values.tolist() == waits


def test_loads_are_as_the_pages_say():
    for bursts, share in ((False, 0.2), (True, 0.6)):
        streams = [load(bursts, busy_tells=True)(seed) for seed in range(4)]
        times = np.concatenate([one.times for one in streams])
        labels = np.concatenate([one.labels for one in streams])
        busy = (times // 2_000) % 5 == 0
        assert busy.mean() == pytest.approx(share, abs=0.02)
        assert labels[busy].mean() - labels[~busy].mean() == pytest.approx(0.1, abs=0.02)
        assert all(np.all(np.diff(one.times) >= 0) for one in streams)
    steady = load(bursts=True, busy_tells=False)(0)
    assert set(np.round(steady.told - steady.times)) == {50.0, 1_000.0}


def test_the_first_example_of_practitioners_is_the_study_s():
    page = (ROOT / "docs" / "start" / "practitioner.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)^log = ", page, re.S | re.M)
    names = {}
    exec(block[1], names)
    stream = shop(1)
    assert np.array_equal(stream.times, names["day"])
    assert np.array_equal(stream.told, names["known"])
    assert np.array_equal(stream.labels, names["bought"])


def test_a_recorded_log_has_the_spread_of_its_shuffles(monkeypatch):
    monkeypatch.setattr("studies.bias.POLICIES", ("drop newest",))
    cells = {(one.policy, one.run): one for one in measure_world("clinical follow-up", 4)}
    stream = WORLDS["clinical follow-up"].draw(0)
    newest = find_policy("drop newest")
    offs = [estimate(stream.shuffled(PAIRS, seed), newest, 32, seed) for seed in range(4)]
    assert cells["drop newest", AS_IT_IS].error == pytest.approx(np.std(offs, ddof=1))
    assert cells["drop newest", PAIRS].error == pytest.approx(np.std(offs, ddof=1) / 2)
