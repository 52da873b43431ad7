"""The estimate is the weighted mean of the labels; its interval covers as often as it says, and never looks certain."""

from __future__ import annotations

from fractions import Fraction
from math import isnan, sqrt

import numpy as np
import pytest
from scipy import stats

import tarry
from studies.numbers import write_if_asked
from tarry.live.books import sample_of
from tarry.live.core import NAIVE, book_label
from tarry.planning.policies import Conditions, find_policy
from tarry.theory.intervals import student_interval
from tarry.tracking.tally import THRESHOLD

S = tarry.schedulers
COMMAND = "python -m pytest tests/live/test_estimates.py"  # of docs/explanation/estimates.md


def play(seed, n, capacity, **options):
    """Positive labels come late. The join, and the rows it gave."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.3).astype(float)
    waits = np.where(labels == 1, rng.integers(40, 90, n), rng.integers(0, 20, n))
    due = {}
    for i, wait in enumerate(waits.tolist()):
        due.setdefault(i + wait, []).append(i)
    join, rows = tarry.LabelJoin(capacity, rng=seed, **options), []
    for t in range(n + 90):
        if t < n:
            join.decide()
        rows += [join.label(i + 1, labels[i]) for i in due.get(t, ())]
    return join, [row for row in rows if row is not None]


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_against_a_direct_computation(level):
    """With two decisions awaited: Wilson's formula where they are all 0, and where they are all 1."""
    join, rows = play(1, 500, 8)
    join.decide_many([None] * 2)
    w, y = (np.array([getattr(row, name) for row in rows]) for name in ("weight", "label"))
    found, theta, ends = join.estimate(level), join._tracker.slots.strays[THRESHOLD], []
    for labels in (y, 1 - y):  # of the awaited ones nothing is known: 0, then 1
        share, awaited = np.sum(w * labels) / 502, 2 * theta
        variance = (np.sum((w * (labels - share)) ** 2) + awaited * share**2) / (np.sum(w**2) + awaited)
        n, c = 502**2 / (np.sum(w**2) + awaited), stats.norm.ppf((1 + level) / 2)
        variance += (share - 0.5 / n) * (1 - share + 0.5 / n) - share * (1 - share)
        ends.append((n * share - 0.5 + c * c / 2 - c * sqrt(n * variance + c * c / 4)) / (n + c * c))
    mean = np.sum(w * y) / np.sum(w)
    assert found[:7] == pytest.approx((mean, ends[0], 1 - ends[1], y.mean(), len(rows), 0, 2 / 502), rel=1e-9)
    assert np.ptp(w) > 0
    assert theta > w.mean()


@pytest.mark.slow
def test_the_interval_covers_as_often_as_it_says():
    runs, truth = 250, 0.3
    joins = [play(seed, 600, 20)[0] for seed in range(runs)]
    for level in (0.8, 0.95):
        found = [join.estimate(level) for join in joins]
        ends = np.array([(one.low, one.mean, one.high) for one in found])
        covered = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 2]))
        assert covered >= level - 2 * sqrt(level * (1 - level) / runs)
        half = np.abs(ends[:, 1] - truth) <= (ends[:, 2] - ends[:, 0]) / 4
        assert half.mean() < level - 0.1, "the control must fail"
    naive = np.mean([one.naive for one in found])
    assert abs(np.mean([one.mean for one in found]) - truth) < 0.01 < truth - naive


def test_a_durable_estimate_is_the_same(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    here, there = play(4, 120, 5)[0], play(4, 120, 5, store=url, durability="process")[0]
    assert there.estimate() == here.estimate()
    there.close()
    with tarry.LabelJoin.open(url) as again:
        assert again.estimate() == here.estimate()


def test_what_is_no_number_is_left_out():
    join = tarry.LabelJoin(8, rng=1)
    for label in ("yes", None, [1.0], 10**400, 2e100, np.True_, np.float32(0.5), 3):
        join.label(join.decide().id, label)
    assert (join.estimate().labels, join.estimate().left_out) == (3, 5)
    assert join.estimate().mean == pytest.approx((1 + 0.5 + 3) / 3)
    assert join.status().estimate == join.estimate()
    assert join.status().rows()["estimate left out"] == "5"


def test_before_the_first_label():
    found = tarry.LabelJoin(8).estimate()
    assert found.labels == 0
    assert isnan(found.mean)
    with pytest.raises(ValueError, match=r"level must lie between 0 and 1, got 95"):
        tarry.LabelJoin(8).estimate(95)


@pytest.mark.parametrize("store", ["memory:", "sqlite"])
def test_labels_far_from_nought_keep_their_spread(store, tmp_path):
    join = tarry.LabelJoin(None, rng=1, store=f"sqlite:///{tmp_path / 'a.db'}" if store == "sqlite" else store)
    rng = np.random.default_rng(3)
    y = 1.7e9 + rng.uniform(-1, 1, 200)
    for label in y.tolist():
        join.label(join.decide().id, label)
    found = join.estimate()
    reach = stats.t(len(y) - 1).ppf(0.975) * stats.sem(y)
    assert found.high - found.mean == pytest.approx(reach, rel=1e-5)
    assert found.mean == pytest.approx(y.mean(), abs=1e-6)
    assert found.naive == pytest.approx(y.mean(), abs=1e-6)


def test_of_few_labels_the_interval_is_students():
    join, y = tarry.LabelJoin(None, rng=1), [3.0, 1.0, 2.0, 7.0]
    for label in y:
        join.label(join.decide().id, label)
    expected = stats.t.interval(0.9, 3, np.mean(y), stats.sem(y))
    assert join.estimate(0.9)[1:3] == pytest.approx(expected, rel=1e-12)


def test_equal_labels_look_certain_nowhere():
    """Also where their mean differs from them by rounding."""
    join, widths = tarry.LabelJoin(None, rng=1), []
    for _ in range(40):
        join.label(join.decide().id, 0.1)
        found = join.estimate()
        assert 0 <= found.low < found.mean < found.high <= 1
        widths.append(found.high - found.low)
        beyond = join.estimate(low=0.2)  # their range is not known: nothing is
        assert isnan(beyond.low)
        assert isnan(beyond.high)
        assert beyond.caveat.startswith("a label was 0.1, and none may lie outside of 0.2 to 1")
        assert beyond.caveat.endswith("low and high leave out what is awaited")
    assert widths == sorted(widths, reverse=True)
    join.label(join.decide().id, 0.2)
    assert join.estimate(low=0.2).low < join.estimate(low=0.2).high


def test_a_few_quick_labels_do_not_speak_for_those_awaited():
    """31 of 2 000 decisions were answered, all alike; the interval spans what the others may be."""
    join = tarry.LabelJoin(100, rng=3)
    for i in range(2000):
        join.decide(id=i)
        if i % 13 == 0 and join.fate(i).name == "PENDING":
            join.label(i, 1)
    found = join.estimate()
    assert found.mean == found.naive == 1.0
    assert found.outstanding > 0.6
    assert found.low < 1 - found.outstanding < found.high == 1
    assert found.anytime_low <= found.low


def test_three_labels_of_a_rate():
    join = tarry.LabelJoin(None, rng=1)
    for label in (1, 1, 0):
        join.label(join.decide().id, label)
    found = join.estimate()
    assert 0 < found.low < 2 / 3 < found.high < 1
    assert join.estimate(high=2).high > 1  # a wider range says less


def test_what_expired_or_is_no_number_stays_unknown():
    """The interval is about all decisions, so these could be anything; nothing is awaited."""
    join = tarry.LabelJoin(None, rng=1)
    for i in range(100):
        join.decide(id=i)
        if i < 30:
            join.expire(i)
        else:
            join.label(i, None if i < 50 else 1)
    found = join.estimate()
    assert (found.mean, found.outstanding, found.left_out) == (1.0, 0.0, 20)
    assert found.low < 0.5
    assert found.high == 1.0


def test_rounds_that_found_no_room_stay_unknown():
    """Naive policies weigh nothing, so nobody speaks for what they dropped."""
    join = tarry.LabelJoin(5, scheduler=S.DropNewest(), rng=1)
    for i in range(100):
        join.decide(id=i)
    for i in range(5):
        join.label(i, 1)
    found = join.estimate()
    assert found.low < 0.05
    assert found.high > 0.99
    assert found.caveat.startswith("how far sums may stray is known for VarOpt alone")


def test_intervals_of_five_labels_cover_as_often_as_they_say():
    rng, runs, covered = np.random.default_rng(5), 2000, 0
    for _ in range(runs):
        sums = np.zeros(8)
        for y in rng.normal(1.0, 2.0, 5).tolist():
            book_label(sums, 1.0, y)
        lower, upper = student_interval(sample_of(sums), 5, 0.9)
        covered += lower <= 1.0 <= upper
    assert abs(covered / runs - 0.9) <= 4 * sqrt(0.9 * 0.1 / runs)


def test_status_warns_of_labels_left_out():
    join = tarry.LabelJoin(None, rng=1)
    for label in ["a", "b"]:
        join.label(join.decide().id, label)
    assert not join.status().warnings  # no number, no estimate
    for label in [1] * 30:
        join.label(join.decide().id, label)
    (warning,) = join.status().warnings
    assert warning.startswith("2 of 32 labels are no numbers")
    for label in [1] * 10:
        join.label(join.decide().id, label)
    assert not join.status().warnings


@pytest.mark.parametrize("name", ["DropNewest", "Bernoulli"])
def test_status_warns_when_rounds_find_no_room(name):
    made = S.DropNewest() if name == "DropNewest" else S.Bernoulli(probability=1.0)
    join = tarry.LabelJoin(2, scheduler=made, rng=1)
    join.decide_many([None] * 100)
    (warning,) = [text for text in join.status().warnings if "found no room" in text]
    assert warning.startswith("98% of chosen rounds found no room")


def test_status_compares_refused_rounds_with_the_chosen():
    join = tarry.LabelJoin(1, scheduler=S.Bernoulli(probability=0.005), rng=1)
    join.decide_many([None] * 4000)
    assert (join.status().fates["saturated"], join.status().fates["untracked"]) == (15, 3984)
    (warning,) = [text for text in join.status().warnings if "found no room" in text]
    assert warning.startswith("94% of chosen rounds found no room")


def test_one_label_has_no_interval():
    join = tarry.LabelJoin(8, rng=1)
    join.label(join.decide().id, 2.5)
    found = join.estimate()
    assert (found.mean, found.naive, found.labels) == (2.5, 2.5, 1)
    assert isnan(found.low)
    assert isnan(found.high)


def test_what_is_outstanding_is_the_share_of_labels_still_awaited():
    """A fifth of the labels never comes while the rest comes at once; in the mean over seeds that share is found."""
    found, waits = [], np.arange(500) % 5 == 0
    for seed in range(20):
        join = tarry.LabelJoin(20, rng=seed)
        assert isnan(join.estimate().outstanding)
        for slow in waits:
            id = join.decide().id
            if not slow:
                join.label(id, 0.0)
        estimate = join.estimate()
        found.append(estimate.outstanding)
        used = [row for row in (join.label(id, 1.0) for id in range(1, 501)) if row is not None]
        assert estimate.outstanding == pytest.approx(sum(row.weight for row in used) / 500)
        assert join.estimate().outstanding == pytest.approx(0.0, abs=1e-12)
    assert abs(np.mean(found) - 0.2) <= 4 * np.std(found, ddof=1) / sqrt(len(found))


def test_status_warns_while_many_labels_are_awaited():
    join = tarry.LabelJoin(None, rng=1)
    for i in range(100):
        join.decide(id=i)
    assert join.status().warnings == ()  # there is no estimate yet to be misled by
    for i in range(90):
        join.label(i, 0.0)
    assert join.estimate().outstanding == pytest.approx(0.1)
    (warning,) = join.status().warnings
    assert warning.startswith("about 10% of the labels are still awaited, so the mean leans towards those that come")
    assert join.status().rows()["warning 1"] == warning
    for i in range(90, 96):
        join.label(i, 1.0)
    assert not join.status().warnings
    join.expire(96)  # whose label will not come
    assert join.estimate().outstanding == pytest.approx(0.03)


@pytest.mark.parametrize(
    ("scheduler", "options"),
    [
        (None, {}),
        (S.Bernoulli(probability=0.2), {}),
        (S.Priority(), {}),
        (S.Pareto(), {}),
        (S.Morris.for_backlog(40, 8), {"preemption": False}),
    ],
    ids=lambda given: type(given).__name__,
)
def test_nothing_is_outstanding_when_all_labels_are_in(scheduler, options):
    """Whatever the weights came to: only VarOpt's always come to the number of decisions."""
    join, rows = tarry.LabelJoin(8, scheduler=scheduler, rng=2, **options), []
    for t in range(1, 400):
        join.decide()
        if t > 40 and (row := join.label(t - 40, 1.0)):
            rows.append(row)
        weights = [waiting.weight for waiting in join.tracked()]
        arrived = sum(row.weight for row in rows)
        assert join.estimate().outstanding == pytest.approx(sum(weights) / (arrived + sum(weights) or 1.0))
    for t in range(360, 400):
        join.label(t, 1.0)
    status = join.status()
    assert (status.tracked, status.pending) == (0, 0)
    assert status.estimate.outstanding == 0.0
    assert not [text for text in status.warnings if "awaited" in text]


def exactly(rows):
    """The estimate in fractions: no digit is lost."""
    w, y = ([Fraction(row[i]) for row in rows] for i in (0, 1))
    total, mean = sum(w), sum(a * b for a, b in zip(w, y, strict=True)) / sum(w)
    spread = sum((a * (b - mean)) ** 2 for a, b in zip(w, y, strict=True))
    return float(mean), sqrt(spread) / float(total), float(sum(y) / len(y))


@pytest.mark.parametrize(
    "labels",
    [
        [1e17, *[1.0, 3.0] * 500, -1e17],
        [1e9, *[1.0, 3.0] * 500],
        [*[1.0, 3.0] * 500, 1e9],
        [1.7e9 + i / 64 for i in range(500)],
        [0.0] * 50,
    ],
    ids=["two outliers", "outlier first", "outlier last", "far away", "nought"],
)
def test_no_label_spoils_the_digits_of_the_others(labels):
    sums, rng = np.zeros(8), np.random.default_rng(1)
    rows = [(float(w), y) for w, y in zip(rng.integers(1, 5, len(labels)), labels, strict=True)]
    rows[-1] = (rows[0][0], rows[-1][1])  # so that outliers cancel
    for row in rows:
        book_label(sums, *row)
    found, (mean, error, naive) = sample_of(sums), exactly(rows)
    assert found.mean == pytest.approx(mean, rel=1e-13)
    assert found.error == pytest.approx(error, rel=1e-6)
    assert sums[NAIVE] == pytest.approx(naive, rel=1e-10, abs=1e-14 * max(map(abs, labels)))


@pytest.mark.parametrize("level", ["x", None, 1 + 1j, np.ones(2), float("nan"), 0, 1])
def test_levels_that_are_none(level):
    with pytest.raises(ValueError, match="level must lie between 0 and 1, got"):
        tarry.LabelJoin(8).estimate(level)


def test_nothing_is_said_to_be_outstanding_where_weights_are_biased_or_rounds_found_no_room():
    naive = tarry.LabelJoin(1, scheduler=S.DropOldest(), rng=1)
    naive.decide()
    assert isnan(naive.estimate().outstanding)
    full = tarry.LabelJoin(1, scheduler=S.Bernoulli(probability=1.0), rng=1)
    for _ in range(4):
        full.decide()
    full.label(1, 1.0)
    assert full.estimate().outstanding == 0.0


def test_labels_that_are_texts_are_said_to_be_none():
    join = tarry.LabelJoin(8, rng=1)
    for i in range(3):
        join.decide(id=i)
        join.label(i, "1")
    found = join.estimate()
    assert isnan(found.mean)
    assert "none of the 3 labels that have come is a number" in found.caveat
    assert "give numbers, as in label(id, 1)" in found.caveat
    join.decide(id=3)
    join.label(3, 1)
    assert "is a number" not in join.estimate().caveat


@pytest.mark.parametrize("exponent", range(13))
def test_sizes_of_any_ratio_leave_an_estimate(exponent):
    """Rounding could leave a sum of squares below 0."""
    rng = np.random.default_rng(exponent)
    for _ in range(200):
        join, ratio = tarry.LabelJoin(8, rng=1), 10.0**exponent
        small = float(rng.choice([1.0, 0.01, 0.3, 7.0]))
        for i in range(int(rng.integers(2, 6))):
            size = small * float(rng.choice([1.0, ratio, max(ratio * rng.random(), 1e-3)]))
            join.decide(id=i, size=size)
            join.label(i, float(rng.choice([5.0, 1 / 3, 1e3 * rng.random(), -rng.random()])))
        found = join.status().estimate
        assert found.low <= found.high or isnan(found.low)


def test_a_rate_of_decisions_with_sizes_has_an_interval_within_its_range():
    """Of labels 0 and 1, whatever their sizes: a tiny one says nothing of how far a mean may lie."""
    covered, widths, n = [], [], 400
    for seed in range(60):
        rng = np.random.default_rng([seed, 6])
        p = rng.beta(0.5, 3, n)
        p[n // 2] = 1e-6
        y = (rng.random(n) < p).astype(int)
        due = np.arange(n) + np.where(y == 1, 60, 2)
        join = tarry.LabelJoin(40, rng=seed)
        for t in range(n + 60):
            if t < n:
                join.decide(size=float(np.sqrt(p[t])))
            for i in np.flatnonzero(due == t).tolist():
                join.label(i + 1, int(y[i]))
            if t % 20 == 19:
                found = join.estimate(per="decision")
                assert not found.labels or 0.0 <= found.low <= found.mean <= found.high <= 1.0
                covered += [found.low <= y[: t + 1].mean() <= found.high] if 100 <= t < n else []
        widths.append(found.high - found.low)
    assert np.mean(covered) >= 0.935
    assert np.median(widths) < 0.12
    # Labels that grow with their sizes keep to the range by size.
    join = tarry.LabelJoin(8, rng=1)
    for i, size in enumerate((20.0, 900.0)):
        join.decide(id=i, size=size)
    join.label(0, 20.0)
    assert join.estimate().high == pytest.approx(460.0)


def test_the_range_is_what_the_caller_says():
    """Small orders come quickly with 0 or 1, large ones whole and late: no label tells what the range is about."""
    covered = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        b = rng.integers(1, 6, 200)
        y = np.where(b == 1, rng.random(200) < 0.8, b)
        join = tarry.LabelJoin(40, rng=seed)
        for i in range(200):
            join.decide(id=i, size=float(b[i]))
            if b[i] == 1:
                join.label(i, float(y[i]))
        found = join.estimate()
        covered.append(found.low <= y.mean() <= found.high and found.anytime_low <= y.mean() <= found.anytime_high)
    assert np.mean(covered) >= 0.93
    misread = join.estimate(per="decision")
    assert misread.high <= 1.0 < y.mean()  # a wrong word, the caller's own


def test_labels_of_one_to_four_whatever_the_sizes():
    covered, widths = [], []
    for seed in range(200):
        rng = np.random.default_rng([seed, 9])
        y, b = rng.integers(1, 5, 150), np.exp(rng.normal(size=150))
        join = tarry.LabelJoin(30, rng=seed)
        for i in range(150):
            join.decide(id=i, size=float(b[i]))
            if i % 3:
                join.label(i, int(y[i]))
        found = join.estimate(low=1, high=4, per="decision")
        assert 1.0 <= found.low <= found.mean <= found.high <= 4.0
        assert np.isnan(found.anytime_low)
        assert "per='size'" in found.caveat
        covered.append(found.low <= y.mean() <= found.high)
        widths.append(found.high - found.low)
    assert np.mean(covered) >= 0.95
    assert np.median(widths) < 2.9
    assert "labels are up to 4 in size" in join.estimate(low=1, high=3, per="decision").caveat
    assert "per='decision'" in join.estimate(low=0, high=1).caveat
    empty = tarry.LabelJoin(3)
    empty.decide(size=5.0)
    found = empty.estimate(per="decision")
    assert (found.low, found.high) == (0.0, 1.0)
    assert np.isnan(found.mean)
    with pytest.raises(ValueError, match="per must be one of 'size', 'decision', got 'row'"):
        empty.estimate(per="row")


@pytest.mark.parametrize("release", ["arrival", "window"])
def test_a_missing_label_that_is_a_number_is_no_label(release):
    join = tarry.LabelJoin(9, window=5, missing=0, release=release)
    for i in range(4):
        join.decide(id=i, at=i)
    join.label(0, 1, at=1)
    join.advance(50)
    with pytest.raises(ValueError, match=r"among cannot leave out decisions without a label.*missing=None"):
        join.estimate(among="labelled")


def test_sized_labels_have_a_caveat_of_their_own():
    join = tarry.LabelJoin(9)
    join.decide(id=1, size=2.0)
    join.label(1, 1.0)
    caveat = join.estimate(among="labelled").caveat
    assert "labelled decisions" in caveat
    assert "window" not in caveat


def rounded(**figures):
    return {name: round(float(figure), 3) for name, figure in figures.items()}


@pytest.mark.parametrize("name", ["Morris", "Priority", "Bernoulli (calibrated)", "Pareto (calibrated)"])
def test_weights_that_do_not_add_up_widen_no_interval(name):
    """Of the rate behind the labels, and of the mean of those very decisions, when all labels are in."""
    covered, widths, errors, n, slots = [], [], [], 300, 20
    scheduler = find_policy(name).make(Conditions.of(tarry.delays.fixed(horizon=n, delay=40), slots))
    for seed in range(300):
        y = (np.random.default_rng([seed, 5]).random(n) < 0.3).astype(int).tolist()
        join = tarry.LabelJoin(slots, scheduler=scheduler, rng=seed)
        for t in range(n + 40):
            if t < n:
                join.decide()
            if t >= 40:
                join.label(t - 39, y[t - 40])
        found = join.estimate()
        covered.append([found.low <= 0.3 <= found.high, found.low <= np.mean(y) <= found.high])
        widths.append(found.high - found.low)
        errors.append((found.mean - 0.3, found.mean - np.mean(y)))
    rate, own = 100 * np.mean(covered, axis=0)
    over = np.mean(widths) / (2 * 1.96 * np.std(errors, axis=0))
    write_if_asked(f"coverage {name}", COMMAND, rounded(rate=rate, own=own, width=over[0], own_width=over[1]))
    assert rate > 91
    assert own > 91
    assert over[0] < 1.35


@pytest.mark.parametrize("capacity", [None, 30])
def test_the_rate_among_labelled_decisions(capacity):
    """Most are never labelled, fewest of those with a 0: about all decisions little is known, about the others much."""
    covered, bare, widths, n = {150: [], 360: []}, [], [], 300
    for seed in range(200):
        rng = np.random.default_rng([seed, 7])
        y = (rng.random(n) < 0.3).astype(int)
        is_labelled = rng.random(n) < np.where(y == 1, 0.6, 0.4)
        due = np.where(is_labelled, np.arange(n) + np.where(y == 1, 40, 5), -1)
        join = tarry.LabelJoin(capacity, window=60, rng=seed)
        for t in range(n + 61):
            if t < n:
                join.decide(id=t, at=t)
            for i in np.flatnonzero(due == t).tolist():
                join.label(i, int(y[i]), at=t)
            join.advance(t)
            if t in covered:
                found, whole = join.estimate(among="labelled"), join.estimate()
                ended = np.arange(n) < t - 60 + (t == 360)
                truth = y[ended & is_labelled].mean()
                covered[t].append([found.low <= truth <= found.high, found.low <= 9 / 23 <= found.high])
                bare.append(found.low <= 0.3 <= found.high)
                widths.append((whole.high - whole.low, found.high - found.low))
                assert found.mean == whole.mean
    shares = np.array([np.mean(runs, axis=0) for runs in covered.values()])
    limit = "no limit" if capacity is None else "a limit"
    (own_then, rate_then), (own, rate) = 100 * shares
    figures = rounded(own_halfway=own_then, rate_halfway=rate_then, own=own, rate=rate)
    write_if_asked(f"coverage among labelled, {limit}", COMMAND, figures)
    assert shares.min() > 0.91
    assert np.mean(bare[1::2]) < 0.75, "the control, the rate of all decisions, is another"
    assert np.mean(widths, axis=0)[0] > 0.4 > np.mean(widths, axis=0)[1]
    assert "labelled decisions alone" in found.caveat
    assert "among='labelled'" in join.status().warnings[-1]
    with pytest.raises(ValueError, match="among must be one of 'all', 'labelled', got 'seen'"):
        join.estimate(among="seen")


@pytest.mark.parametrize("among", ["all", "labelled"])
def test_the_sum_over_no_decisions_is_zero(among):
    estimate = tarry.LabelJoin(capacity=2).estimate(among=among)
    assert (estimate.sum, estimate.labels) == (0.0, 0)
    assert np.isnan(estimate.mean)
