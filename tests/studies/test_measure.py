"""What cases measure: by brute force on a few rounds, and the known figures on a slice of the flights."""

from __future__ import annotations

import numpy as np
import pytest

from studies.cases import BY_LONGEST, USUAL, flights_case
from studies.charts import busiest, stays
from studies.measure import FOUR, believe, heard, measure, measure_sample, other_learners, scheduler_for, waiting
from studies.streams import Stream, desk
from tarry.delays import array

UNLIMITED, VAROPT, DROP_NEWEST, DROP_OLDEST = FOUR
TINY = desk(first=150)


def ridge_by_hand(stream, weights):
    """Progressive regret and the last model's excess of ridge regression on labels with these weights, by penalty."""
    x, y, waits, n = stream.features, stream.labels, stream.delays.values, stream.horizon
    best = np.linalg.lstsq(x, y, rcond=None)[0]
    floor = np.mean((x @ best - y) ** 2)

    def model(used, penalty):
        return np.linalg.solve(penalty * np.eye(x.shape[1]) + (x * used[:, None]).T @ x, x.T @ (used * y))

    found = []
    for penalty in (1, 4, 16, 64, 256, 1024, 4096):
        plays = [model(weights * (np.arange(n) + waits < t), penalty) for t in range(n)]
        progressive = np.mean([(x[t] @ plays[t] - y[t]) ** 2 for t in range(n)])
        found.append((progressive, np.mean((x @ model(weights, penalty) - y) ** 2)))
    return 1e4 * (np.array(found) - floor)


def test_a_random_sample_by_hand():
    backlog = TINY.delays.total_delay / TINY.horizon
    sample = measure_sample(TINY, 1, 2, has_model=True)
    assert sample.n - 1 < backlog <= sample.n
    drawn = [np.random.default_rng(seed).random(TINY.horizon) < 1 / sample.n for seed in range(2)]
    by_hand = np.mean([ridge_by_hand(TINY, sample.n * sampled)[:, 0] for sampled in drawn], axis=0)
    assert sample.progressive.mean == pytest.approx(by_hand.min())
    assert sample.believed.mean == pytest.approx(100 * np.mean([TINY.labels[sampled].mean() for sampled in drawn]))
    ends = np.arange(TINY.horizon) + TINY.delays.values
    held = [[sum(sampled[: t + 1] & (ends[: t + 1] > t)) for t in range(TINY.horizon)] for sampled in drawn]
    assert [waiting(TINY, sampled).tolist() for sampled in drawn] == held
    assert sample.peak_slots == np.mean([max(slots) for slots in held])
    assert sample.mean_slots == pytest.approx(np.mean(held))


@pytest.mark.parametrize("policy", [UNLIMITED, VAROPT, DROP_OLDEST], ids=lambda policy: policy.name)
def test_figures_by_hand(policy):
    found = measure(TINY, policy, 3, 2)
    slots, scheduler = (3 if policy.is_limited else None), scheduler_for(policy, TINY, 3)
    runs = [heard(TINY, scheduler, slots, seed) for seed in range(found.progressive.runs)]
    by_hand = np.array([ridge_by_hand(TINY, weights) for weights in runs])
    # The best of the penalties for this policy, over all of its runs.
    assert found.progressive.mean == pytest.approx(by_hand[:, :, 0].mean(axis=0).min(), rel=1e-6)
    assert found.last.mean == pytest.approx(by_hand[:, :, 1].mean(axis=0).min(), rel=1e-6)
    means = [100 * weights @ TINY.labels / weights.sum() for weights in runs]
    assert found.believed.mean == pytest.approx(np.mean(means), rel=1e-5)
    assert found.believed.deviation == pytest.approx(np.std(means, ddof=1) if len(means) > 1 else 0, rel=1e-4)
    # The closing round is one more, and is heard: it weighs next to nothing in the share.
    assert found.seen == pytest.approx(np.mean([(w > 0).mean() for w in runs]), abs=0.01)
    assert found.memory == 8 * 9 * (TINY.delays.max_backlog + 1 if slots is None else 3)


def test_every_policy_keeps_within_its_slots_or_says_that_it_has_none():
    assert [p.name for p in USUAL if not p.is_limited] == ["unlimited"]
    assert len({p.name for p in USUAL}) == len(USUAL) == 12
    assert scheduler_for(BY_LONGEST, TINY, 3).max_backlog == TINY.delays.max_delay


def test_stays_do_not_overlap_and_end_as_the_delays_say():
    waits = np.array([3, 0, 5, 1, 1, 0, 2, 0, 0, 0])
    stream = Stream(
        "", np.ones((10, 1)), np.ones(10), array(waits), np.arange(10.0), np.arange(10.0) + waits, "min", 1.0, 0.5
    )
    assert busiest(stream, 3) == 4
    panels = stays(stream, 2, 1, 8)
    assert list(panels) == ["VarOpt", "drop newest", "drop oldest"]
    for frame in panels.values():
        for _lane, held in frame.group_by("lane"):
            ordered = held.sort("start")
            assert (ordered["stop"][:-1] <= ordered["start"][1:]).all()
    newest = set(panels["drop newest"].select("start", "stop", "fate").iter_rows())
    ends = {0.0: 4.0, 1.0: 2.0, 2.0: 8.0, 4.0: 6.0, 6.0: 8.0}  # heard as a round ends, so gone when the next begins
    assert newest == {(start, stop, "used") for start, stop in ends.items()}
    assert set(panels["drop oldest"]["fate"]) == {"used", "preempted"}


@pytest.mark.slow
def test_other_learners_hear_what_the_policies_let_them():
    found = {(r.learner, r.policy): r for r in other_learners(desk(first=400), 4, 2, rounds=300)}
    assert {name for name, _ in found} == {"DW-FTRL", "logistic"}
    assert len(found) == 2 * len(FOUR)
    assert all(np.isfinite(result.value.mean) for result in found.values())


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_the_known_figures_on_a_slice_of_the_flights():
    case = flights_case(first=20_000)
    stream = case.stream
    found = {p.name: measure(stream, p, 8, 6) for p in (UNLIMITED, VAROPT, DROP_NEWEST, DROP_OLDEST)}
    assert found["unlimited"].believed.mean == pytest.approx(stream.mean, rel=1e-6)
    assert abs(found["VarOpt"].believed.mean - stream.mean) <= 4 * max(found["VarOpt"].believed.error, 0.05)
    assert found["drop newest"].believed.mean < 0.9 * stream.mean
    assert found["drop oldest"].believed.mean < 0.4 * stream.mean
    assert found["unlimited"].last.mean < 0.1
    assert found["VarOpt"].last.mean < found["drop newest"].last.mean < found["drop oldest"].last.mean
    assert found["VarOpt"].memory < found["unlimited"].memory / 5


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_the_known_figures_of_the_whole_year():
    stream = flights_case().stream
    unlimited, ours = measure(stream, UNLIMITED, 8, 1), measure(stream, VAROPT, 8, 10)
    assert unlimited.progressive.mean == pytest.approx(5.1, abs=0.05)
    assert unlimited.last.mean == pytest.approx(0, abs=0.05)
    assert ours.progressive.mean <= 1.4 * unlimited.progressive.mean
    assert ours.progressive.mean == pytest.approx(6.3, abs=3 * ours.progressive.error)
    assert ours.last.mean <= 1.5
    assert ours.last.mean == pytest.approx(0.4, abs=3 * ours.last.error + 0.05)
    assert ours.believed.mean == pytest.approx(14.6, abs=3 * ours.believed.error + 0.05)
    newest, oldest = (measure(stream, policy, 8, 1) for policy in (DROP_NEWEST, DROP_OLDEST))
    assert (newest.progressive.mean, newest.last.mean) == pytest.approx((30, 31), abs=0.5)
    assert (oldest.progressive.mean, oldest.last.mean) == pytest.approx((244, 244), abs=0.5)
    assert (newest.believed.mean, oldest.believed.mean) == pytest.approx((10.0, 2.4), abs=0.06)


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_precision_grows_with_capacity():
    stream = flights_case(first=20_000).stream
    errors = [believe(stream, VAROPT, slots, 16).deviation for slots in (4, 16, 64)]
    assert errors[0] > 1.5 * errors[1] > 2.0 * errors[2]
