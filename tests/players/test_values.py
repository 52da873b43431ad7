"""Players for values: what is recommended, on what grounds, and how it compares with knowing."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from studies.numbers import short, write_if_asked
from tarry import players, schedulers
from tarry.rates import BanditRadius, BanditRate
from tarry.rates.base import at
from tarry.tracking.doubling import Single
from tests.oracles import theory

RNG = np.random.default_rng(4)
HORIZON, K = 120, 3
DOMAIN = tarry.domains.Ball(K)
DELAYS = tarry.delays.array(RNG.integers(0, 25, HORIZON))
FLAT = tarry.losses.Linear(RNG.normal(size=(HORIZON, K)))
CURVED = tarry.losses.Quadratic(RNG.uniform(-0.5, 0.5, size=(HORIZON, K)), strong_convexity=0.5)
BOUNDS = {"feedback": "value", "gradient_bound": 1.0, "value_bound": 2.0}


def _game(losses=FLAT, **changes):
    return tarry.Game(DOMAIN, losses, DELAYS, **{"feedback": "value", "capacity": 8, **changes})


SEMI, BLIND, KEPT = {}, {"information": "non-clairvoyant"}, {"preemption": False}
DEAF = {**BLIND, **KEPT}


@pytest.mark.parametrize(
    ("changes", "backlog", "scheduler", "observes", "row"),
    [
        (SEMI, None, schedulers.VarOpt, False, 19),
        ({"information": "clairvoyant"}, None, schedulers.VarOpt, False, 19),
        ({"capacity": 4}, None, schedulers.VarOpt, False, 19),
        ({"capacity": 3}, None, schedulers.VarOpt, False, 19),
        ({"capacity": 2}, None, schedulers.VarOpt, False, 19),
        (SEMI, 25, schedulers.VarOpt, True, 21),
        ({"capacity": 3}, 25, schedulers.VarOpt, True, 21),
        ({"capacity": 2}, 25, schedulers.VarOpt, True, 21),
        (KEPT, 25, schedulers.Morris, True, 21),
        (BLIND, 25, schedulers.VarOpt, False, 18),
        (DEAF, 25, schedulers.Morris, False, 18),
        ({"capacity": None}, None, schedulers.Always, True, 21),
        ({**KEPT, "capacity": None}, None, schedulers.Always, True, 21),
        ({**BLIND, "capacity": None}, 25, schedulers.Always, False, 18),
        ({**KEPT, "capacity": None}, 25, schedulers.Always, True, 21),
    ],
)
@pytest.mark.parametrize("losses", [FLAT, CURVED], ids=["flat", "curved"])
def test_what_is_recommended(changes, backlog, scheduler, observes, row, losses):
    game = _game(losses, **changes)
    player = players.recommended(game, backlog=backlog)
    assert isinstance(player.scheduler, scheduler)
    restarts = backlog is None and game.capacity is not None
    assert isinstance(player.epochs, tarry.Doubling if restarts else Single)
    # At few slots the bound for VarOpt is more than any regret, and Morris may refuse a share of all rounds.
    assert player.is_proved == (
        scheduler is schedulers.Always or (scheduler is schedulers.VarOpt and game.capacity > 6)
    )
    if losses is CURVED:
        row = 26 if restarts else 27
        assert at(player.learner.rate, 7) == pytest.approx(1 / (0.5 * 7))
        assert isinstance(player.learner.smoothing, BanditRadius)
        assert player.learner.smoothing.curved
    else:
        assert isinstance(player.learner.rate, BanditRate)
        assert player.learner.rate.needs_acknowledgements == observes
        assert not player.learner.smoothing.curved
    # Where a bound says nothing none is stated.
    assert (f"proved (docs/theory.md, row {row})" in player.reason) == player.is_proved
    assert ("no regret bound is proved" in player.reason) == (not player.is_proved)
    assert repr(player) == f"Recommendation({scheduler.__name__}, {player.reason})"


def test_it_is_tuned_to_the_games_constants():
    steepest, largest = FLAT.gradient_bound(DOMAIN), FLAT.value_bound(DOMAIN)
    guessing = players.recommended(_game(capacity=40)).learner
    assert guessing.rate == BanditRate.for_backlog(2.0, steepest, K * largest / steepest, 40)
    assert guessing.smoothing == BanditRadius.for_backlog(1.0, K * largest / steepest, 40)
    assert players.recommended(_game(capacity=40)).epochs == tarry.Doubling("backlog", first=2)
    assert players.recommended(_game(), backlog=24).learner.rate.level == pytest.approx(1 + 24 / 8)
    assert players.recommended(_game(), backlog=7).learner.rate.level == 1.0
    assert players.recommended(_game(capacity=3), backlog=2).learner.rate.level == 1.0
    coin = players.recommended(_game(capacity=1, preemption=False), backlog=29).scheduler
    assert coin == schedulers.Bernoulli(probability=1 / (8 * 30))
    assert "radii for weights of 1" in players.recommended(_game(CURVED), backlog=7).reason
    unlimited = players.recommended(_game(capacity=None)).learner
    assert (unlimited.rate.level, unlimited.smoothing.level) == (1.0, 1.0)


@pytest.mark.parametrize("capacity", [2, 3, 4, 6, 7, 16])
@pytest.mark.parametrize("losses", [FLAT, CURVED], ids=["flat", "curved"])
def test_the_factor_is_stated_where_something_is_proved(capacity, losses):
    for backlog in (None, 40):
        player = players.recommended(_game(losses, capacity=capacity), backlog=backlog)
        assert player.is_proved == (capacity > 6)
        stated = "κ = e·T^(1/(C−2))·C/(C−3): up to horizons of e^(C−2) that is e²·C/(C−3), then it grows"
        assert (stated if capacity > 6 else "no regret bound is proved at a capacity of at most 6") in player.reason
    assert "κ" not in players.recommended(_game(losses, capacity=capacity), backlog=1).reason
    kept = players.recommended(_game(losses, capacity=capacity, preemption=False), backlog=40)
    assert kept.reason.endswith("; no regret bound is proved: a share of all rounds may be refused")


@pytest.mark.parametrize("horizon", [10, 400, 10**6])
@pytest.mark.parametrize("capacity", [2, 3, 4, 5, 9, 20])
def test_the_factor_covers_the_moments(horizon, capacity):
    """κ(1 + σ/C) is above Φ of both moments, or, at 2 and 3 slots, above half of Φ + σ, at every backlog and delay."""
    e = np.e
    kappa = {2: e * horizon**0.5 + 1, 3: 1.5 * (e * horizon**0.5 + 1)}.get(capacity)
    for sigma in range(capacity, horizon, max(1, horizon // 97)):
        tuned = 1 + sigma / capacity
        if kappa is not None:
            level = (theory.moment_factor(2, sigma, horizon - 1) + sigma) / 2
        else:
            kappa_here = e * horizon ** (1 / (capacity - 2)) * capacity / (capacity - 3)
            level = max(theory.moment_factor(c, sigma, horizon - 1) for c in (capacity - 1, capacity - 2))
        assert level <= (kappa_here if kappa is None else kappa) * tuned


@pytest.mark.parametrize("losses", [FLAT, CURVED], ids=["flat", "curved"])
@pytest.mark.parametrize("changes", [{}, KEPT])
def test_one_slot_is_not_proved(losses, changes):
    player = players.recommended(_game(losses, capacity=1, **changes), backlog=25)
    assert not player.is_proved
    assert "no regret bound is proved at a capacity of 1" in repr(player)
    assert players.recommended(_game(losses, capacity=1, **changes), backlog=0).is_proved
    if not changes:
        assert not players.recommended(_game(losses, capacity=1)).is_proved


@pytest.mark.slow
@pytest.mark.parametrize("capacity", [4, 8])
def test_the_choice_is_not_worse_than_one_coin(capacity):
    """Also where the horizon is beyond e^(C−2)."""
    horizon, rng = 3000, np.random.default_rng(0)
    losses = tarry.losses.Linear(0.5 * np.array([1.0, 0.5]) + 0.2 * rng.normal(size=(horizon, 2)))
    delays = tarry.delays.fixed(horizon=horizon, delay=60)
    game = tarry.Game(tarry.domains.Ball(2), losses, delays, feedback="value", capacity=capacity)
    player = players.recommended(game, backlog=60)
    coin = tarry.Player(player.learner, schedulers.Bernoulli(probability=capacity / (8 * 61)))
    ours, other = (
        tarry.simulate(game, one, seeds=4, bound=False, checkpoints=1).regret.mean() for one in (player, coin)
    )
    assert ours < 0.97 * other


@pytest.mark.parametrize(
    ("losses", "changes", "backlog"),
    [(FLAT, DEAF, 25), (CURVED, KEPT, 25), (FLAT, {"capacity": 2}, None), (CURVED, {"capacity": None}, None)],
)
def test_it_plays(losses, changes, backlog):
    game = _game(losses, **changes)
    record = tarry.simulate(game, players.recommended(game, backlog=backlog), seeds=2)
    assert np.all(np.isfinite(record.regret))
    assert record.observed.min() > 0.02


def test_a_session_with_what_is_known_live():
    player = players.recommended(DOMAIN, **BOUNDS, information="semi-clairvoyant", capacity=8)
    session = tarry.Session(player, capacity=8, information="semi-clairvoyant", rng=1)
    for t in range(1, 60):
        assert np.linalg.norm(session.ask().play) <= 1 + 1e-12
        if t > 20:
            session.tell(t - 20, value=0.5)
    # Restarts released what was tracked: with all delays 20 the guesses 1, 2, 4, …, 32 pass in the first 17 rounds.
    assert session.status().fates["preempted"] >= 8


class _Untouchable:
    horizon = HORIZON

    def __getattr__(self, name):
        raise AssertionError(f"read {name}")


@pytest.mark.parametrize("losses", [FLAT, CURVED], ids=["flat", "curved"])
def test_delays_are_never_read(losses):
    game = _game(losses)
    object.__setattr__(game, "delays", _Untouchable())
    players.recommended(game)
    players.recommended(game, backlog=10)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({**BOUNDS, "gradient_bound": None}, "needs gradient_bound"),
        ({**BOUNDS, "value_bound": None}, "needs value_bound"),
        ({**BOUNDS, "value_bound": float("inf")}, "value_bound must be positive and finite, got inf"),
        ({**BOUNDS, "information": "non-clairvoyant"}, r"give backlog=….*would need acknowledgements"),
        ({**BOUNDS, "capacity": None}, r"give backlog=….*would need acknowledgements"),
        ({**BOUNDS, "information": "semi-clairvoyant", "preemption": False}, r"give backlog=….*would need preemption"),
        ({**BOUNDS, "information": "semi-clairvoyant", "backlog": -1}, "backlog must be a whole number"),
        ({**BOUNDS, "capacity": 0}, "capacity .* must be a whole number of at least 1"),
        ({**BOUNDS, "capacity": "unknown"}, "needs the capacity to choose its radius: give capacity=…, None"),
        ({**BOUNDS, "information": "all-seeing"}, "'all-seeing'"),
    ],
)
def test_refusals(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        players.recommended(DOMAIN, **{"capacity": 8, **changes})


def test_a_domain_without_interior_is_refused():
    with pytest.raises(ValueError, match="affine hull"):
        players.recommended(tarry.domains.Simplex(3), **BOUNDS, information="semi-clairvoyant", capacity=8)


@pytest.mark.parametrize("backlog", [None, 400])
@pytest.mark.parametrize("curvature", [None, 1.0])
def test_a_forgotten_capacity_is_noticed(backlog, curvature):
    given = {**BOUNDS, "information": "semi-clairvoyant", "backlog": backlog, "strong_convexity": curvature}
    with pytest.raises(ValueError, match="give capacity="):
        players.recommended(DOMAIN, **given)
    player = players.recommended(DOMAIN, **given, capacity=None)
    with pytest.raises(tarry.errors.NotGranted, match="needs capacity=None, got capacity=8"):
        tarry.Session(player, capacity=8, information="semi-clairvoyant")


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("kind", ["flat", "curved"])
def test_not_knowing_costs_little(kind):
    """Regret over that of the paper's player, which knows the largest backlog."""
    horizon, rng = 20_000, np.random.default_rng(3)
    drift = 0.5 * np.array([1.0, 0.5]) + 0.2 * rng.normal(size=(horizon, 2))
    targets = np.array([0.4, -0.3]) + 0.1 * rng.uniform(-1, 1, size=(horizon, 2))
    losses = tarry.losses.Linear(drift) if kind == "flat" else tarry.losses.Quadratic(targets, strong_convexity=1.0)
    paper = players.bandit_convex if kind == "flat" else players.bandit_strongly_convex
    shares = {"guess": [], "bound": []}
    for backlog in (40, 56, 200, 400):
        delays = tarry.delays.fixed(horizon=horizon, delay=backlog)
        game = tarry.Game(tarry.domains.Ball(2), losses, delays, feedback="value", capacity=16)
        compared = {
            "guess": players.recommended(game),
            "bound": players.recommended(game, backlog=backlog),
        }
        knowing = tarry.simulate(game, paper(game), seeds=48, bound=False).regret.mean()
        for name, player in compared.items():
            shares[name].append(tarry.simulate(game, player, seeds=48, bound=False).regret.mean() / knowing)
    values = {name: [short(min(found)), short(max(found))] for name, found in shares.items()}
    write_if_asked(f"bandit players, {kind}", "python -m pytest -m slow tests/players/test_values.py", values)
    assert 0 < values["guess"][0] < values["guess"][1] <= 1.3
    assert 0 < values["bound"][0] < values["bound"][1] < 1.0
