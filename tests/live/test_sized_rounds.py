"""Sizes of live rounds: as in simulations, bit for bit; kept in stores; refused where nothing could be made of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

import tarry
from studies.numbers import short, write_if_asked
from tarry.errors import NotGranted
from tarry.game import replay
from tarry.theory.intervals import Sample, mean_interval
from tarry.tracking.tally import THRESHOLD

HORIZON, CAPACITY, SEED = 150, 5, 11
RNG = np.random.default_rng(6)
SIZES = np.exp(RNG.normal(0.0, 1.2, HORIZON))
DELAYS = tarry.delays.array(np.minimum(RNG.integers(0, 40, HORIZON), np.arange(HORIZON)[::-1]))
BALL = tarry.domains.Ball(2)
LOSSES = tarry.losses.Linear(SIZES[:, None] * RNG.choice([0.6, -0.6], (HORIZON, 2)))
RATES = {"constant": 0.05, "anytime": tarry.rates.Anytime(2.0, 1.0)}


def due_in(t):
    """The rounds that end with round t, in increasing order."""
    ends = np.arange(1, HORIZON + 1) + DELAYS.values
    return (np.flatnonzero(ends == t) + 1).tolist()


@pytest.mark.parametrize("rate", RATES)
def test_a_session_equals_the_game(rate):
    check_session(rate)


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_a_compiled_session_equals_the_game():
    check_session("anytime")


def check_session(rate):
    """Plays, weights and certificates of a session and of a simulation, with the same sizes."""
    player = tarry.Player(tarry.learners.DWFTRL(BALL, rate=RATES[rate]))
    rules = {"capacity": CAPACITY, "information": "non-clairvoyant"}
    game = tarry.Game(BALL, LOSSES, DELAYS, sizes=SIZES, **rules)
    record = tarry.simulate(game, player, seeds=[SEED], keep_rounds=True)
    session = tarry.Session(player, rng=SEED, **rules)
    plays, weights = [], np.zeros(HORIZON)
    for t in range(1, HORIZON + 1):
        plays.append(session.ask(size=SIZES[t - 1]).play)
        for s in due_in(t):
            weights[s - 1] = session.tell(s, gradient=LOSSES.row(s)).weight
    assert np.array_equal(plays, record.plays())
    assert np.array_equal(weights, record.rounds()["weight"].to_numpy())
    assert weights @ SIZES == pytest.approx(SIZES.sum(), rel=1e-12)
    status = session.status()
    assert status.balance == pytest.approx(1.0, rel=1e-12)
    assert status.certificate.bound == pytest.approx(record.certificates[0].bound, rel=1e-12)
    assert status.sizes == {"rounds": HORIZON, "total": pytest.approx(SIZES.sum()), "held": 0.0}
    assert status.rows()["sizes total"] == f"{SIZES.sum():.6g}"


def told(learner, **options):
    """The status of a session that is told all gradients; weighted, what it lost and the sum of its gradients."""
    session, plays, lost, total = tarry.Session(learner, capacity=CAPACITY, rng=SEED, **options), {}, 0.0, np.zeros(2)
    for t in range(1, HORIZON + 1):
        plays[t] = session.ask(size=SIZES[t - 1]).play
        for s in due_in(t):
            gradient = session.tell(s, gradient=LOSSES.row(s)).weight * LOSSES.row(s)
            lost, total = lost + gradient @ plays[s], total + gradient
    return session.status(), lost, total


@pytest.mark.parametrize("kind", ["by arrival", "in pairs"])
def test_a_bound_on_gradients_is_for_each_unit_of_size(kind):
    """The certificate is that of gradients as long as they may be, as these are, and a true bound."""
    if kind == "by arrival":
        learner, bound = tarry.learners.DWFTRL(BALL, rate=0.05), 0.6 * np.sqrt(2.0)
    else:
        learner, bound = tarry.learners.EntropicFTRL(2, rate=tarry.rates.Power(0.2, 0.5)), 0.6
    stated, lost, total = told(learner, gradient_bound=bound)
    assert stated.warnings == ()
    best = -np.linalg.norm(total) if kind == "by arrival" else total.min()
    assert 0.0 < lost - best <= stated.certificate.bound
    observed, *_ = told(learner)
    assert stated.certificate.bound == pytest.approx(observed.certificate.bound, rel=1e-12)
    above, *_ = told(learner, gradient_bound=0.9 * bound)
    assert np.isnan(above.certificate.bound)
    words = f"a gradient of size {bound:.6g} for each unit of its round's size came, above"
    assert above.warnings[0].startswith(words)
    assert above.certificate.caveat.startswith(words)


def heard(join, sizes, rounds=range(1, HORIZON + 1)):
    """Decide these rounds and label what is due."""
    found = {}
    for t in rounds:
        join.decide({"t": t}, size=sizes[t - 1])
        for s in due_in(t):
            row = join.label(s, 1.0)
            found[s] = 0.0 if row is None else row.weight
    return found


@pytest.mark.parametrize("many", [False, True])
def test_a_join_in_a_store_goes_on(many, tmp_path):
    replayed = replay(
        tarry.schedulers.VarOpt(), DELAYS, capacity=CAPACITY, sizes=SIZES, seeds=[SEED], keep_rounds=True
    ).heard()
    url = f"sqlite:///{tmp_path / 'join.db'}"
    with tarry.LabelJoin(CAPACITY, rng=SEED, store=url) as join:
        found = heard(join, SIZES, range(1, 61))
    with tarry.LabelJoin.open(url) as join:
        if many:
            late = [s for t in range(61, 66) for s in due_in(t)]
            join.decide_many([{"t": t} for t in range(61, 66)], sizes=SIZES[60:65])
            found |= {one.id: one.row.weight if one.row else 0.0 for one in join.label_many(late, [1.0] * len(late))}
        else:
            found |= heard(join, SIZES, range(61, HORIZON + 1))
            assert [found[s] for s in range(1, HORIZON + 1)] == replayed.tolist()
        status = join.status()
        assert status.balance == pytest.approx(1.0, rel=1e-12)
        assert status.sizes["total"] == pytest.approx(SIZES[: status.rounds].sum())
        assert status.estimate.outstanding == pytest.approx(status.sizes["held"] / status.sizes["total"])


def test_weights_are_told_by_size():
    """Where small decisions carry large weights, their plain mean says little; by size it is 1 once all is settled."""
    join, rows, _ = revenue(3, 120, 4)
    w, b = (np.array(column) for column in zip(*((row.weight, row.features["b"]) for row in rows), strict=True))
    total = join.status().sizes["total"]
    found = join.status().weights
    assert found.mean == pytest.approx(1.0) == np.sum(w * b) / total
    assert abs(w.sum() / 120 - 1) > 0.1
    assert found.effective_sample_size == pytest.approx(np.sum(w * b) ** 2 / np.sum((w * b) ** 2))
    assert found.max == w.max()
    join.decide(size=1000.0)  # tracked for sure, and not settled
    assert join.status().weights == pytest.approx(found, rel=1e-9)


def test_sizes_may_be_left_out_for_some():
    join = tarry.LabelJoin(2, rng=1)
    for size in (None, 3.0, None, 1.0, 0.5):
        join.decide(size=size)
    assert join.status().sizes == {"rounds": 2, "total": 6.5, "held": pytest.approx(6.5)}
    plain = tarry.LabelJoin(2, rng=1)
    plain.decide()
    plain.decide(size=1)
    assert plain.status().sizes is None


def revenue(seed, n, capacity, sized=True, **options):
    """A join of baskets b of which half to all is paid, some rounds later; its rows; and the mean that is expected."""
    b = np.exp(np.random.default_rng(2).normal(0.0, 1.0, n))
    rng = np.random.default_rng([seed, 5])
    y, due = b * rng.uniform(0.5, 1.0, n), np.arange(n) + rng.geometric(1 / 50, n)
    join, rows = tarry.LabelJoin(capacity, rng=seed, **options), []
    order, first = np.argsort(due, kind="stable"), 0
    for t in range(n + 1):
        if t < n:
            join.decide({"b": b[t]}, size=b[t] if sized else None)
        while first < n and (t == n or due[order[first]] <= t):
            rows.append(join.label(int(order[first]) + 1, float(y[order[first]])))
            first += 1
    return join, [row for row in rows if row is not None], 0.75 * b.mean()


@pytest.mark.parametrize("awaited", [False, True])
def test_the_estimate_is_the_ratio_by_size(awaited, tmp_path):
    """Against the rows themselves: Σwy/Σwb times the mean size, and the spread of labels for each unit of size."""
    join, told, _ = revenue(1, 120, 10, store=f"sqlite:///{tmp_path / 'a.db'}", durability="process")
    if awaited:
        join.decide({"b": 40.0}, size=40.0)
    w, y, b = (np.array(column) for column in zip(*((r.weight, r.label, r.features["b"]) for r in told), strict=True))
    n, total, ratio = join.status().rounds, join.status().sizes["total"], np.sum(w * y) / np.sum(w * b)
    mass, mean, theta = w * b, ratio * total / n, join._tracker.slots.strays[THRESHOLD]
    centre = np.sum(mass * w * y) / np.sum(mass**2)
    rows = Sample(mass.sum(), w @ y, np.sum(mass**2), centre, np.sum((w * (y - centre * b)) ** 2))
    ends = mean_interval(rows, 40.0 if awaited else 0.0, theta, 0.95, 0.0, 1.0)
    found = join.estimate()
    assert found[:3] == pytest.approx((mean, ends[0] * total / n, ends[1] * total / n), rel=1e-9)
    beyond = join.estimate(high=0.9)  # Student's, for the residuals y − R·b
    effective = np.sum(mass) ** 2 / np.sum(mass**2)
    error = np.sqrt(np.sum((w * (y - ratio * b)) ** 2) * effective / (effective - 1)) / np.sum(mass)
    reach = stats.t(effective - 1).ppf(0.975) * error * total / n
    assert beyond[:3] == pytest.approx((mean, mean - reach, mean + reach), rel=1e-9)
    assert found.sum == pytest.approx(ratio * total)
    assert found.rows()["sum"] == f"{found.sum:.6g}"
    assert found.anytime_low <= found.low < found.high <= found.anytime_high
    assert found.sum_low <= found.sum <= found.sum_high
    if not awaited:  # all weight has come: the weighted sum is the whole
        assert found.sum == pytest.approx(w @ y)
    join.close()
    with tarry.LabelJoin.open(f"sqlite:///{tmp_path / 'a.db'}") as again:
        assert again.estimate() == found


def test_labels_that_are_a_share_of_their_sizes_leave_nothing_to_estimate():
    join = tarry.LabelJoin(2, rng=1)
    for basket in (20.0, 900.0, 35.0, 5.0):
        join.decide(size=basket)
    for id, basket in enumerate((20.0, 900.0, 35.0, 5.0), 1):
        join.label(id, 0.3 * basket)
    found = join.estimate()
    assert (found.mean, found.sum) == pytest.approx((72.0, 288.0))
    assert found.anytime_low <= found.mean <= found.anytime_high
    assert found.low < found.mean < found.high  # others might bring another share of their sizes
    assert np.isnan(join.estimate(high=0.2).low)  # their range is not known, and all are alike for each unit of size


def judged(runs, n, capacity):
    """Means of runs without and with sizes, the share whose interval covers, and whose mean is inside its bounds."""
    means, covers, inside = {False: [], True: []}, [], []
    for seed in range(runs):
        for sized in (False, True):
            join, _, truth = revenue(seed, n, capacity, sized)
            found = join.estimate()
            means[sized].append(found.mean)
            if sized:
                covers.append(found.low <= truth <= found.high)
                inside.append(found.anytime_low <= found.mean <= found.anytime_high)
    return np.array(means[False]), np.array(means[True]), np.mean(covers), np.mean(inside)


def foretold(n):
    """The ratio of standard deviations, for m labels: (n/m)Σ(y − ȳ)² without sizes, (Σb/m)Σ(y − Rb)²/b with sizes."""
    b = np.exp(np.random.default_rng(2).normal(0.0, 1.0, n))
    u, squared = 0.75, 0.75**2 + 1 / 48  # the mean of a share, and of its square
    plain = n * (squared * np.sum(b**2) - n * (u * b.mean()) ** 2)
    return np.sqrt(plain / (b.sum() * b.sum() / 48))


def test_sizes_buy_a_better_mean():
    plain, sized, covers, inside = judged(40, 120, 3)
    assert inside == 1.0
    assert covers >= 0.93
    assert plain.std() > 0.6 * foretold(120) * sized.std()


@pytest.mark.slow
def test_sizes_buy_what_theory_says():
    plain, sized, covers, inside = judged(300, 600, 4)
    assert inside == 1.0
    assert covers >= 0.93
    times = plain.std() / sized.std()
    write_if_asked("sizes", "python -m pytest -m slow tests/live/test_sized_rounds.py", {"times": short(times)})
    assert times == pytest.approx(foretold(600), rel=0.2)
    assert sized.mean() == pytest.approx(0.75 * np.exp(np.random.default_rng(2).normal(0.0, 1.0, 600)).mean(), rel=0.01)


@pytest.mark.parametrize("size", [0, -1.0, np.nan, np.inf, "3", True, 1e101, 1e-101, [1.0]])
def test_bad_sizes_change_nothing(size):
    join = tarry.LabelJoin(2, rng=1)
    with pytest.raises(ValueError, match="size must"):
        join.decide(size=size)
    with pytest.raises(ValueError, match="row 1: size must"):
        join.decide_many([1, 2], sizes=[2.0, size])
    session = tarry.Session(tarry.Player(tarry.learners.DWFTRL(BALL, rate=0.1)), capacity=2)
    with pytest.raises(ValueError, match="size must"):
        session.ask_many(2, sizes=[1.0, size])
    with pytest.raises(ValueError, match="whole number, got a list: give ids as ids=…"):
        session.ask_many(["b", "c"], sizes=[1.0, 2.0])
    with pytest.raises(ValueError, match="there are 2 rounds and 1 sizes"):
        session.ask_many(2, sizes=[1.0])
    assert join.status().rounds == session.status().rounds == 0


def test_who_takes_no_sizes():
    for scheduler in (tarry.schedulers.Priority(), tarry.schedulers.DropNewest(), tarry.schedulers.Morris(0.5)):
        join = tarry.LabelJoin(2, scheduler=scheduler)
        with pytest.raises(NotGranted, match=r"takes no sizes: use VarOpt"):
            join.decide(size=2.0)
        assert join.status().rounds == 0
        game = tarry.Game(BALL, LOSSES, DELAYS, capacity=2, sizes=SIZES)
        with pytest.raises(NotGranted, match=r"takes no sizes: use VarOpt"):
            tarry.simulate(game, tarry.Player(tarry.learners.DWFTRL(BALL, rate=0.1), scheduler))
    followers = {
        "rate counts pending rounds alike": tarry.Player(
            tarry.learners.DWFTRL(BALL, rate=tarry.rates.BestOfBoth(1.0, 1.0))
        ),
        "doubling counts every round alike": tarry.Player(
            tarry.learners.DWFTRL(BALL, rate=tarry.rates.DoublingRate(2.0, 1.0)), epochs=tarry.Doubling("total")
        ),
    }
    for words, player in followers.items():
        with pytest.raises(NotGranted, match=words):
            tarry.simulate(game, player)
        with pytest.raises(NotGranted, match=words):
            tarry.Session(player, capacity=2).ask(size=2.0)
    told = tarry.Session(
        tarry.Player(tarry.learners.DWFTRL(BALL, rate=RATES["anytime"])), capacity=2, information="semi-clairvoyant"
    )
    with pytest.raises(NotGranted, match="acknowledgements do not tell sizes"):
        told.ask(size=2.0)
    with pytest.raises(ValueError, match="nothing is recommended for rounds of several sizes"):
        tarry.simulate(game, tarry.players.recommended)


def test_a_log_with_a_column_of_sizes():
    log = {"at": [1, 2, 3, 4], "back": [5, 6, 7, 8], "paid": [2.0, 0.0, 9.0, 1.0], "basket": [2.0, 5.0, 9.0, 1.0]}
    columns = {"decided_at": "at", "labelled_at": "back", "label": "paid", "at_end": "deliver"}
    join = tarry.LabelJoin(2, rng=3)
    rows = list(join.stream(log, size="basket", **columns))
    assert sum(row.weight * row.features["basket"] for row in rows) == pytest.approx(17.0)
    with pytest.raises(ValueError, match="row 1: size must be positive"):
        tarry.LabelJoin(2).stream(log, size="paid", **columns)


def basket(x):
    return x["size"]


def test_adapters_draw_as_the_join_does():
    from tarry.adapters.waiting import Waiting
    from tarry.live.weighing import Weighing

    waiting = Waiting(CAPACITY, seed=SEED, size=basket, weighing=Weighing("relative"))
    join = tarry.LabelJoin(CAPACITY, rng=SEED)
    for t in range(1, HORIZON + 1):
        if t == 70:
            waiting = pickle.loads(pickle.dumps(waiting))
        ticket = waiting.decide({"size": SIZES[t - 1]})
        assert ticket == join.decide(size=SIZES[t - 1])
        for s in due_in(t):
            row = join.label(s, 1.0)
            assert waiting.label(s)[1] == (0.0 if row is None else row.relative)
    for bad in (lambda _: -1.0, lambda _: None):
        with pytest.raises(ValueError, match="size must"):
            Waiting(2, size=bad).decide(1)
    with pytest.raises(ValueError, match="size must be a function"):
        Waiting(2, size=3.0)
    with pytest.raises(NotGranted, match="takes no sizes"):
        Waiting(2, tarry.schedulers.Priority(), size=lambda x: x)


def test_a_size_beside_which_all_others_vanish_leaves_a_status():
    join = tarry.LabelJoin(2, rng=1)
    join.decide(None, "a", size=0.5)
    join.label("a", 0)
    join.decide(None, "b", size=1e99)
    weights = join.status().weights
    assert np.isnan(weights.mean)
    assert np.isnan(weights.second_moment)
