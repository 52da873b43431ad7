"""The weighted regret of the paper's Figure 2, against a transcription of the figure that shares nothing with it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import tarry
from tarry.game import hindsight, world

RADIUS, CURVATURE = 1.0, 0.5


def _figure_2(kind, rows, delays, weights, rates):
    """Play DW-FTRL by the paper's formula; return Σ w_t f_t(x_t), and the right side of Theorem 3.1 with G = 1."""
    horizon, k = rows.shape
    plays, gradients, loss = [np.zeros(k)], [], 0.0
    for t in range(horizon):
        x = plays[t]
        if kind == "linear":
            value, slope = rows[t] @ x, rows[t]
        elif kind == "absolute":
            value, slope = abs(x[0] - rows[t, 0]), np.sign(x - rows[t])
        else:
            value, slope = CURVATURE / 2 * np.sum((x - rows[t]) ** 2), CURVATURE * (x - rows[t])
        gradients.append(slope)
        loss += weights[t] * value
        total, mass = np.zeros(k), np.zeros(k)
        for s in range(t + 1):
            if s + delays[s] <= t:
                total += weights[s] * gradients[s]
            mass += (1 / rates[s] - (1 / rates[s - 1] if s else 0.0)) * plays[s]
        y = rates[t] * (mass - total)
        plays.append(y / max(1.0, np.linalg.norm(y) / RADIUS))
    right = (2 * RADIUS) ** 2 / (2 * rates[-1])
    for t in range(horizon):
        pending = sum(weights[s] for s in range(t) if t <= s + delays[s])
        right += rates[max(t - 1, 0)] * (weights[t] ** 2 + weights[t] * pending)
    return loss, right


def _least(kind, rows, weights):
    """The least Σ w_t f_t(u): in closed form, or at a breakpoint."""
    if kind == "linear":
        return -RADIUS * np.linalg.norm(weights @ rows)
    if kind == "absolute":
        points = np.concatenate((np.clip(rows[:, 0], -RADIUS, RADIUS), [-RADIUS, RADIUS]))
        return min(float(weights @ np.abs(u - rows[:, 0])) for u in points)
    center = weights @ rows / max(weights.sum(), 1e-300)
    u = center / max(1.0, np.linalg.norm(center) / RADIUS)
    return float(CURVATURE / 2 * weights @ np.sum((u - rows) ** 2, axis=1))


def _game(seed, kind):
    rng = np.random.default_rng(seed)
    horizon, k = int(rng.integers(1, 30)), 1 if kind == "absolute" else int(rng.integers(1, 4))
    delays = tarry.delays.array(rng.integers(0, horizon, horizon))
    weights = np.where(rng.random(horizon) < 0.4, 0.0, rng.exponential(2.0, horizon))
    rows = rng.normal(size=(horizon, k))
    rows *= (RADIUS / np.maximum(1.0, np.linalg.norm(rows, axis=1)))[:, None]
    made = {
        "linear": lambda: tarry.losses.Linear(rows),
        "absolute": lambda: tarry.losses.Absolute(np.ones((horizon, 1)), rows[:, 0]),
        "quadratic": lambda: tarry.losses.Quadratic(rows, strong_convexity=CURVATURE),
    }[kind]()
    return tarry.WeightedGame(tarry.domains.Ball(k), made, delays, weights), rows


def _record(game, rates):
    return tarry.simulate(game, tarry.learners.DWFTRL(game.domain, rate=rates))


@pytest.mark.parametrize("kind", ["linear", "absolute", "quadratic"])
def test_two_hundred_random_games(kind, monkeypatch):
    unlike = 0
    for seed in range(200 if kind == "linear" else 70):
        game, rows = _game(seed, kind)
        rates = np.minimum.accumulate(np.random.default_rng(seed).uniform(0.05, 1.0, game.horizon))
        record = _record(game, rates)
        loss, right = _figure_2(kind, rows, game.delays.values, game.weights, rates)
        expected = loss - _least(kind, rows, game.weights)
        slack = 1e-6 if kind == "absolute" else 1e-12  # a kink's best action has a gap
        assert record.weighted_loss[0] == pytest.approx(loss, rel=1e-12, abs=1e-12)
        assert record.weighted_regret[0] == pytest.approx(expected, rel=slack, abs=slack * max(1.0, abs(loss)))
        assert expected <= record.weighted_bound[0] + 1e-9
        if kind != "quadratic":  # there gradients are shorter than 1 and the library knows it
            assert record.weighted_bound[0] <= right + 1e-9
        unlike += abs(record.regret[0] - expected) > 1e-6
    assert unlike > 60  # the plain regret is another number
    monkeypatch.setattr(world, "given_weight", lambda scheduler, t: 1.0)
    planted = _record(game, rates).weighted_loss[0]
    assert abs(planted - loss) > 1e-3  # weights left out are seen


def test_strongly_convex_games_and_their_rate():
    for seed in range(70):
        game, rows = _game(seed, "quadratic")
        record = _record(game, tarry.rates.inverse_time(CURVATURE))
        rates = 1 / (CURVATURE * np.arange(1, game.horizon + 1))
        loss, _ = _figure_2("quadratic", rows, game.delays.values, game.weights, rates)
        expected = loss - _least("quadratic", rows, game.weights)
        assert record.weighted_regret[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert expected <= record.weighted_bound[0] + 1e-9
        assert record.weighted_bound[0] >= record.bound[0]


def test_values_are_bounded_in_the_mean():
    game, rows = _game(7, "linear")
    valued = tarry.WeightedGame(game.domain, game.losses, game.delays, game.weights, feedback="value")
    learner = tarry.learners.DWFTBL(game.domain, rate=0.02, smoothing=0.5)
    record = tarry.simulate(valued, learner, seeds=100, keep_rounds=True)
    for seed in (0, 99):
        loss = float(game.weights @ np.sum(record.plays(seed) * rows, axis=1))
        expected = loss - _least("linear", rows, game.weights)
        assert record.weighted_regret[seed] == pytest.approx(expected, rel=1e-12)
    assert record.weighted_regret.mean() <= record.weighted_bound.mean()


def test_alternating_signs():
    """Weights 2, 0, 2, 0 … make of rows ±1 a game in one direction, which the plain regret cannot see."""
    rows, weights = np.tile([[1.0], [-1.0]], (1000, 1)), np.tile([2.0, 0.0], 1000)
    game = tarry.WeightedGame(
        tarry.domains.Ball(1), tarry.losses.Linear(rows), tarry.delays.fixed(horizon=2000, delay=3), weights
    )
    record = _record(game, tarry.rates.Anytime(2.0, 1.0))
    assert abs(record.regret[0]) < 1e-9
    assert record.weighted_regret[0] == pytest.approx(4.33, abs=0.005)


FEATURES = np.random.default_rng(5).normal(size=(40, 4))
LABELS = FEATURES @ [1.0, -1.0, 0.5, 0.0] + np.random.default_rng(6).normal(size=40)
HEAVY = np.random.default_rng(5).pareto(1, 40)
SIDES = tarry.domains.Box(-np.ones(4), np.ones(4))
OF_PREDICTIONS = {
    "absolute": lambda: tarry.losses.Absolute(FEATURES, LABELS),
    "hinge": lambda: tarry.losses.Hinge(FEATURES, np.sign(LABELS), ridge=0.01),
    "quantile, smoothed": lambda: tarry.losses.Quantile(FEATURES, LABELS, 0.8, smoothing=0.3),
    "logistic": lambda: tarry.losses.Logistic(FEATURES, np.sign(LABELS), ridge=0.01),
    "linear": lambda: tarry.losses.Linear(FEATURES),
    "quadratic": lambda: tarry.losses.Quadratic(FEATURES, strong_convexity=0.5),
}


def _weighted_record(losses, weights, **options):
    game = tarry.WeightedGame(SIDES, losses, tarry.delays.fixed(horizon=40, delay=2), weights)
    return tarry.simulate(game, tarry.learners.DWFTRL(SIDES, rate=0.01), **options)


@pytest.mark.parametrize("kind", OF_PREDICTIONS)
def test_weights_times_a_number(kind):
    """Plays of so slow a learner hardly depend on the weights' scale: what fixed actions lose is in proportion."""
    losses = OF_PREDICTIONS[kind]()
    least = []
    for factor in (1.0, 1e-6, 1e-3, 1e3, 1e5, 1e9):
        record = _weighted_record(losses, factor * HEAVY)
        least.append(float(record.weighted_loss[0] - record.weighted_regret[0]) / factor)
        assert not [warning for warning in record.warnings if "gap" in warning]
    assert least == pytest.approx([least[0]] * len(least), rel=2e-9, abs=0.0)
    # Points near and far, on losses summed one by one, are no better.
    rng = np.random.default_rng(0)
    points = rng.uniform(-1.0, 1.0, (50, 4))
    loss = min(float(HEAVY @ [losses.value(x, t) for t in range(1, 41)]) for x in points)
    assert least[0] <= loss + 1e-9


def test_the_best_action_by_weight_is_that_of_linear_programming():
    """|u| of each round as the least s with −s ≤ u ≤ s, in scipy's words."""
    weights = np.where(np.arange(40) % 5 == 0, 0.0, 1e4 * HEAVY)
    eye = np.eye(40)
    rows = np.block([[FEATURES, -eye], [-FEATURES, -eye]])
    bounds = [(-1.0, 1.0)] * 4 + [(0.0, None)] * 40
    cost = np.concatenate((np.zeros(4), weights))
    exact = float(linprog(cost, A_ub=rows, b_ub=np.concatenate((LABELS, -LABELS)), bounds=bounds).fun)
    record = _weighted_record(tarry.losses.Absolute(FEATURES, LABELS), weights)
    assert record.weighted_loss[0] - record.weighted_regret[0] == pytest.approx(exact, rel=2e-9)


def test_equal_weights_give_the_plain_regret():
    for kind in OF_PREDICTIONS:
        record = _weighted_record(OF_PREDICTIONS[kind](), np.ones(40))
        assert record.weighted_regret == pytest.approx(record.regret, rel=2e-9, abs=1e-9)


def test_one_weight_of_any_size():
    weights = np.ones(40)
    weights[3] = 1e100
    record = _weighted_record(tarry.losses.Linear(FEATURES), weights)
    expected = 1e100 * np.abs(FEATURES[3]).sum()
    assert record.weighted_loss[0] - record.weighted_regret[0] == pytest.approx(-expected, rel=1e-12)
    weights[3] = 1e200  # its square is infinite
    with pytest.raises(ValueError, match=r"weights must be at most 1e\+100, got 1e\+200 in round 4: divide all by it"):
        _weighted_record(tarry.losses.Linear(FEATURES), weights)
    nothing = _weighted_record(tarry.losses.Absolute(FEATURES, LABELS), np.zeros(40))
    assert nothing.weighted_regret[0] == 0.0


def test_the_comparator_is_that_of_simulate(monkeypatch):
    losses, point = OF_PREDICTIONS["absolute"](), np.array([0.5, 0.0, -0.5, 0.25])
    path = np.linspace(-1.0, 1.0, 160).reshape(40, 4)
    known = _weighted_record(losses, HEAVY)
    monkeypatch.setattr(hindsight, "minimise", None)  # no search
    for given in (point, path):
        record = _weighted_record(losses, HEAVY, comparator=given)
        actions = np.broadcast_to(given, (40, 4))
        loss = sum(w * losses.value(x, t) for t, (w, x) in enumerate(zip(HEAVY, actions, strict=True), 1))
        assert record.weighted_regret[0] == pytest.approx(record.weighted_loss[0] - loss, rel=1e-12)
    assert np.isnan(_weighted_record(losses, HEAVY, comparator=None).weighted_regret).tolist() == [True]
    with pytest.raises(TypeError):
        _ = known.weighted_regret


def test_a_gap_is_said(monkeypatch, caplog):
    known = _weighted_record(OF_PREDICTIONS["absolute"](), HEAVY)
    search = hindsight.minimise

    def stop_early(*given):
        best = search(*given)
        best.low -= 0.01 * best.value
        return best

    monkeypatch.setattr(hindsight, "minimise", stop_early)
    assert known.warnings == ()
    _ = known.weighted_regret
    said = "the best fixed action is known only to a relative gap of 1.0e-02; so is the weighted regret"
    assert [said] == list(known.warnings) == caplog.messages


def test_only_a_weighted_game_has_it():
    game = tarry.Game(tarry.domains.Ball(1), tarry.losses.Linear([[1.0]]), tarry.delays.fixed(horizon=1, delay=0))
    with pytest.raises(ValueError, match="only a WeightedGame has a weighted regret"):
        _ = _record(game, 0.1).weighted_regret


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("kind", ["linear", "absolute"])
def test_compiled(kind):
    game, rows = _game(11, kind)
    rates = np.full(game.horizon, 0.2)
    record = tarry.simulate(game, tarry.learners.DWFTRL(game.domain, rate=rates), seeds=20_000, bound=False)
    assert record.played == "compiled"
    loss, _ = _figure_2(kind, rows, game.delays.values, game.weights, rates)
    expected = loss - _least(kind, rows, game.weights)
    np.testing.assert_allclose(record.weighted_regret, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("delay", [0, 7])
def test_the_held_weight_is_summed(delay):
    """Σ h_t of VarOpt, recounted from the events; its mean is the total delay."""
    delays = tarry.delays.array(np.random.default_rng(delay).integers(0, delay + 1, 60))
    game = tarry.Game(tarry.domains.Ball(1), tarry.losses.Linear(np.ones((60, 1))), delays, capacity=2)
    record = tarry.simulate(game, tarry.learners.DWFTRL(game.domain, 0.1), seeds=400, keep_rounds=True)
    for seed in (0, 399):
        rows = [(t, w) for t, name, _, w in record.events(seed).iter_rows() if name == "feedback"]
        held = sum(t - 1 - sum(w for at, w in rows if at < t) for t in range(1, 61))
        assert record.total_held[seed] == pytest.approx(held, abs=1e-9)
    error = record.total_held.std() / 20
    assert abs(record.total_held.mean() - delays.total_delay) <= 4 * error + 1e-9
    other = tarry.simulate(game, tarry.Player(tarry.learners.DWFTRL(game.domain, 0.1), tarry.schedulers.Priority()))
    assert np.isnan(other.total_held).all()


BALL = tarry.domains.Ball(1)
PLAIN = tarry.learners.DWFTRL(BALL, rate=0.1)
TAKES = "a WeightedGame takes a bare learner, since all feedback arrives with the game's weights"


@pytest.mark.parametrize(
    ("player", "remedy"),
    [
        (tarry.Player(PLAIN, tarry.schedulers.DropNewest(), tarry.Doubling()), "give its learner alone"),
        (tarry.Player(PLAIN), "give its learner alone"),
        (
            tarry.Player(
                tarry.learners.DWFTRL(BALL, rate=tarry.rates.DoublingRate(2.0, 1.0)), epochs=tarry.Doubling("total")
            ),
            "give its learner alone",
        ),
        (
            tarry.learners.DWFTRL(BALL, rate=tarry.rates.DoublingRate(2.0, 1.0)),
            "DoublingRate follows restarts: use a rule that follows none",
        ),
    ],
)
def test_only_a_bare_learner_is_taken(player, remedy):
    game = tarry.WeightedGame(
        BALL, tarry.losses.Linear(np.ones((9, 1))), tarry.delays.fixed(horizon=9, delay=2), np.ones(9)
    )
    assert tarry.simulate(game, PLAIN).weighted_regret.size == 1
    with pytest.raises(TypeError, match=f"{TAKES}.*{remedy}"):
        tarry.simulate(game, player)
