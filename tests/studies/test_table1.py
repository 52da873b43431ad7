"""Table 1: lines are played where they can fail, and a line that a control passes is no evidence."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from studies import table1
from studies.table1 import (
    ABOVE,
    ATTAINED,
    EVIDENCE,
    FLATTER,
    HOLDS,
    LOGARITHM,
    LOWER,
    NO_EVIDENCE,
    STEEPER,
    UNDECIDED,
    UPPER,
    Line,
    MeasuredLine,
    Slope,
    fit,
    fit_curvature,
    lines,
    measure,
    regrets_at,
    seeds_for,
)
from studies.table1_games import (
    BANDIT,
    BANDIT_CURVED,
    COLUMNS,
    CONTROLS,
    CONVEX,
    CURVED,
    FREE,
    OURS,
    PLAYER,
    PRINTED,
    Setting,
    bound_of,
    entrant,
    facts_of,
    layout,
    losses_of,
    scaled,
    terms,
)
from studies.table1_page import RIVALS
from tarry.delays.base import backlog_of
from tarry.game.hindsight import minimise
from tarry.rates import Anytime, BestOfBoth, Constant, Sequence, inverse_time
from tarry.rates.base import first_rate, next_rate

COLUMN = {(column.row, column.name): column for column in COLUMNS}
AT = tuple(Setting(T, 4, 0.5, 1) for T in (64, 128, 256))
LINE = Line(COLUMN[CONVEX, FREE], "T", AT, ATTAINED)  # claims 1/2


def found(slope, half=0.02):
    return Slope(slope, slope - half, slope + half, 8)


def measured(player, *controls, kind=ATTAINED):
    slopes = dict(zip((PLAYER, *CONTROLS), (player, *controls), strict=True))
    return MeasuredLine(LINE._replace(kind=kind), slopes)


ASTRAY = (found(1.0), found(0.95), found(1.0))


# Games


@pytest.mark.parametrize("scale", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_capacity_binds_on_every_line(scale):
    for line in lines(scale):
        if line.kind != LOWER and line.along != "crowding":
            assert all(f.sigma_max >= 4 * f.C for f in line.facts if inf > f.C), line
            assert len(set(line.at)) == len(line.settings) >= 3


def test_only_capacity_moves_one_plus_the_backlog_over_it():
    """One T and one delay; at the fewest slots the theorem still holds, and all controls have to miss ¼."""
    [line] = [line for line in lines() if line.along == "crowding"]
    assert {(at.horizon, at.spell) for at in line.settings} == {(200_000, 400)}
    assert line.at == pytest.approx([1 + 400 / C for C in (14, 50, 200, 400)], rel=1e-12)
    assert line.settings[0].capacity >= np.log(200_000) + 1
    assert line.slope_of(lambda f: (1 + f.sigma_max / f.C) ** 0.25) == pytest.approx(0.25, abs=1e-12)
    assert 0.2 < line.claim < 0.25  # √(T σ_max) is added up with it
    assert line.fences[0] > 0.1


def test_delay_is_measured_along_lines_on_which_its_measures_differ():
    """Along T the largest delay, along d_tot the largest backlog and the largest delay would give other slopes."""
    by = {line.name: line for line in lines() if line.column.row == CONVEX and line.kind == ATTAINED}
    assert by["T"].claim == pytest.approx(0.5, abs=0.01)
    assert by["T"].slope_of(RIVALS["√(T d_max)"]) == pytest.approx(1.0, abs=0.01)
    assert by["d_tot"].claim > 0.4
    assert [by["d_tot"].slope_of(rate) for rate in RIVALS.values()] == pytest.approx([0.0, 0.0], abs=0.02)


def test_every_column_has_lines_along_horizon_and_those_with_slots_along_capacity():
    for column in (column for column in COLUMNS if column.name != PRINTED):
        along = {line.name for line in lines() if line.column == column and line.kind != LOWER}
        assert "T" in along
        has_slots = column.name in (OURS, FREE)
        assert ("T, C ∝ T" in along) == (has_slots and column.row != BANDIT_CURVED)
        assert ("C" in along) == (has_slots and column.row in (CONVEX, CURVED))


def test_no_column_passes_for_a_source():
    for column in COLUMNS:
        assert column.name in (OURS, PRINTED, FREE) or column.name.startswith("after ")
    assert {name for row, name in COLUMN if row in (CONVEX, CURVED)} > {FREE}


def test_the_layout_is_as_said():
    late, busy, cycle = layout(Setting(400, 10, 0.5, straggler=True), seed=3)
    assert late[0] == 200
    assert set(late[1:380][busy[1:380]]) == {10}
    assert set(late[1:][~busy[1:]]) == {0}
    assert abs(busy.mean() - 0.5) < 0.1
    assert np.all(np.diff(cycle) >= 0)
    assert backlog_of(late).max() == 11
    facts = facts_of(Setting(400, 10, 0.5, 2), "convex")
    sigma = backlog_of(layout(Setting(400, 10, 0.5))[0])
    assert facts.sigma_max == sigma.max()
    assert facts.d_tot == sigma.sum()
    assert facts.harmonic == pytest.approx(sum((0.5 + s) / t for t, s in enumerate(sigma, 1)))


@pytest.mark.parametrize("seed", range(5))
def test_losses_follow_the_layout(seed):
    at = Setting(500, 10, 0.25)
    _, busy, cycle = layout(at, seed)
    rounds, sign = np.arange(500), (-1.0) ** seed
    targets = np.where(busy, 0.75 - 1.5 * (cycle % 2), rounds % 2)
    assert np.array_equal(losses_of(at, "curved", seed).rows.values[:, 0], sign * targets)
    strength = np.where(busy, 1.0, 0.5 / 3)
    expected = np.stack([strength, sign * strength * np.where(busy, 0.5, -0.5)], axis=1)
    assert np.allclose(losses_of(at, "convex", seed).rows.values, expected, rtol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_action_is_what_a_search_finds(seed):
    at = Setting(700, 8, [0.125, 0.25, 0.5, 0.5][seed], straggler=True)
    game = COLUMN[CONVEX, FREE].play_game(at._replace(capacity=1), seed)
    (rounds, found), searched = game.best_action.found, minimise(game.domain, game.losses, 700)
    assert rounds.tolist() == [700]
    assert searched.value - searched.gap <= found.losses[-1] * (1 + 1e-12) <= searched.value * (1 + 1e-9)


def test_the_best_action_of_a_game_is_found_once():
    column, other = COLUMN[CONVEX, FREE], COLUMN[CONVEX, OURS]
    at = Setting(400, 8, 0.5, 1)
    games = [column.play_game(at, 3), other.play_game(at._replace(capacity=2), 3)]
    assert games[0].best_action is games[1].best_action
    assert games[0].best_action is not column.play_game(at, 4).best_action
    assert games[0].best_action is not COLUMN[CURVED, FREE].play_game(at, 3).best_action


# Claims and slopes


def test_a_claim_is_the_slope_of_a_sum():
    """T^(3/4)(1 + σ/C)^(1/4) at T ∝ C has no single power: its slope is that of the very sum, here by brute force."""
    settings = tuple(Setting(1000 * c, 64, 0.5, c) for c in (2, 4, 8, 16))
    line = Line(COLUMN[BANDIT, OURS], "C", settings, UPPER)
    facts = line.facts
    rate = [f.T**0.5 * f.sigma_max**0.5 + 4 * f.T**0.75 * (1 + f.sigma_max / f.C) ** 0.25 for f in facts]
    assert line.claim == pytest.approx(np.polyfit(np.log([f.C for f in facts]), np.log(rate), 1)[0])
    assert 0.5 < line.claim < 0.75


T = 2.0 ** np.arange(10, 17)


@pytest.mark.parametrize(
    ("curve", "q"),
    [(3 + 5 * np.log(T), 0.0), (T**0.2, 0.2), (T**0.1 - 1.5, 0.1), (np.log(T) ** 2, 2 / np.log(T).mean() / 2)],
)
def test_curvature_is_that_power_by_which_the_growth_grows(curve, q):
    assert fit_curvature(T, np.stack([curve, curve], axis=1)).slope == pytest.approx(q, abs=0.02)


def test_what_is_linear_in_t_is_no_logarithm():
    slope = fit_curvature(T, np.stack([T, 1.01 * T], axis=1))
    assert slope.slope > 0.4
    assert slope.is_outside((-0.1, 0.1))
    assert fit_curvature(T, -np.stack([T, T], axis=1)).reason


def test_the_interval_of_curvature_covers():
    rng, hits = np.random.default_rng(1), 0
    for _ in range(400):
        runs = (2 + np.log(T))[:, None] + rng.normal(size=(T.size, 12))
        slope = fit_curvature(T, runs)
        hits += slope.low <= 0 <= slope.high
    assert 0.92 < hits / 400 < 0.98


def test_runs_without_a_slope_say_why():
    good = np.ones((3, 2))
    assert fit(LINE, -good).reason == "not every mean is positive"
    assert fit(LINE, good * nan).reason == "not every regret is finite"
    assert fit(LINE, good).slope == pytest.approx(0.0)


# Verdicts


def test_a_line_that_all_controls_miss_is_evidence():
    assert measured(found(0.5), *ASTRAY).verdict == EVIDENCE
    assert measured(found(0.2), *ASTRAY, kind=UPPER).verdict == EVIDENCE


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("slope", [found(0.5), found(0.61), Slope(nan, nan, nan, 8, "none")])
def test_a_line_that_a_control_passes_is_none(which, slope):
    """Also where only a part of its interval lies within the fences, or it has no slope at all."""
    controls = list(ASTRAY)
    controls[which] = slope
    one = measured(found(0.5), *controls)
    assert (one.verdict, one.passed) == (NO_EVIDENCE, [CONTROLS[which]])
    assert CONTROLS[which] in one.reason


@pytest.mark.parametrize(
    ("player", "kind", "verdict"),
    [
        (found(0.7), ATTAINED, STEEPER),
        (found(0.3), ATTAINED, FLATTER),
        (found(0.7), UPPER, STEEPER),
        (found(0.3), UPPER, EVIDENCE),
        (found(0.59), ATTAINED, UNDECIDED),
        (found(0.5, 0.2), ATTAINED, UNDECIDED),
        (Slope(0.5, nan, nan, 1), ATTAINED, UNDECIDED),
        (found(0.7), LOGARITHM, STEEPER),
    ],
)
def test_a_player_is_judged_by_its_whole_interval(player, kind, verdict):
    assert measured(player, *ASTRAY, kind=kind).verdict == verdict


def test_regret_above_the_bound_is_a_miss_whatever_the_slope():
    high = found(0.5)._replace(level=(1.2, 1.4))
    assert measured(found(0.5), found(1.0), high, found(1.0)).verdict == EVIDENCE
    assert measured(high, *ASTRAY).verdict == ABOVE
    touching = found(0.5)._replace(level=(0.9, 1.1))
    assert measured(found(0.5), found(1.0), touching, found(1.0)).verdict == NO_EVIDENCE
    assert measured(touching, *ASTRAY).verdict == UNDECIDED


def test_the_share_of_the_bound_is_taken_where_it_is_largest():
    ceilings = np.array([3 * np.sqrt(f.T + 2 * f.d_tot) for f in LINE.facts])
    runs = np.stack([ceilings * [0.1, 0.5, 0.2]] * 4, axis=1)
    assert fit(LINE, runs).level == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize("along", ["C", "T, C ∝ T"])
def test_only_capacity_changes_along_capacity(along):
    for line in lines():
        if line.name == along:
            assert [at.capacity for at in line.settings] == [
                line.settings[0].capacity * 2**i for i in range(len(line.at))
            ]
            assert len({(at.horizon, f.d_tot) for at, f in zip(line.settings, line.facts, strict=True)}) == (
                1 if along == "C" else len(line.settings)
            )
            assert abs(line.claim) < 0.01 or along != "C"


def test_along_capacity_the_level_at_few_slots_decides():
    """Slopes of 0 and below are within the fence; who pays √(σ_max/C) times half the bound is above it at one slot."""
    rooms = np.array([1.0, 2.0, 4.0, 8.0])
    line = LINE._replace(along="C", settings=tuple(Setting(64, 32, 0.5, int(c)) for c in rooms), kind=UPPER)
    bound = bound_of(line.column, line.settings[0])
    for scale, fits in ((0.5, True), (0.5 * np.sqrt(32), False)):
        found = fit(line, np.stack([scale * bound / np.sqrt(rooms)] * 4, axis=1))
        assert found.slope == pytest.approx(-0.5)
        assert found.is_inside(line.fences) == fits
        assert found.is_outside(line.fences) == (not fits)


@pytest.mark.parametrize("name", [OURS, FREE])
def test_along_capacity_games_are_so_long_that_who_never_moves_is_above_the_bound(name):
    line = next(one for one in lines() if one.column == COLUMN[CONVEX, name] and one.along == "C")
    busy, bound = layout(line.settings[0])[1], 3 * np.sqrt(line.facts[0].T + 2 * line.facts[0].d_tot)
    assert busy.sum() / 2 - (~busy).sum() / 4 > 1.2 * bound  # its regret: see below


def test_a_bound_is_that_of_the_columns_own_player():
    """By hand, from delays and from what the player itself plays with; G = 1 or 2, D = 2, λ = 1."""
    at = Setting(4096, 64, 0.5, 16)
    for row, steep in ((CONVEX, 1.0), (CURVED, 2.0)):
        sigma = backlog_of(layout(at)[0])
        t = np.arange(1, at.horizon + 1)
        for name in {name for one, name in COLUMN if one == row}:
            column = COLUMN[row, name]
            where = at if name in (OURS, FREE) else at._replace(capacity=None)
            player = column.make(column.play_game(where, 0))
            if row == CONVEX:
                second = np.ones(at.horizon)
                if name == OURS:  # Pareto: 1/P(kept)
                    second = np.maximum(1, player.scheduler.safety / 16 * np.cumsum(1 / t) * (layout(at)[0] + 1))
                cost, extra = second.sum() / 2 + sigma.sum(), 2.0 * (name == OURS)
                eta = 2 / np.sqrt(2 * cost)
                wanted = (4 / (2 * eta) + eta * cost) * (1.5 if name == FREE else 1.0) + extra
                if name != FREE:
                    assert player.learner.rate.value == pytest.approx(eta)
            elif name == FREE:
                wanted = steep**2 * ((sigma + 0.5) / t).sum()
            elif name == OURS:
                p = player.scheduler.probability
                wanted = steep**2 * (((sigma + 0.5 / p)[1:] / t[:-1]).sum() + 0.5 / p + 4)
            else:
                late = min(steep**2 * (sigma[1:] / t[:-1]).sum(), 2 * steep * np.sqrt(2 * sigma.sum()))
                wanted = 2 * late + steep**2 / 2 * (1 / t).sum()
            assert bound_of(column, where) == pytest.approx(wanted), column
    assert bound_of(COLUMN[BANDIT, OURS], at) == inf


def test_an_open_line_may_be_no_evidence_and_may_not_be_refuted():
    passed = measured(found(0.5), *[found(0.5)] * 3)
    assert not passed.is_as_expected
    assert passed._replace(line=LINE._replace(is_open=True)).is_as_expected
    refuted = measured(found(0.7), *ASTRAY)
    assert not refuted._replace(line=LINE._replace(is_open=True)).is_as_expected


def test_lower_bounds_are_never_evidence():
    assert measured(found(0.5), *ASTRAY, kind=LOWER).verdict == HOLDS
    assert measured(found(0.5), *[found(0.5)] * 3, kind=LOWER).verdict == HOLDS
    assert measured(found(0.7), *ASTRAY, kind=LOWER).verdict == STEEPER


def test_seeds_are_chosen_by_power():
    assert seeds_for(LINE, found(0.5, 0.04), 96) == 8
    assert seeds_for(LINE, found(0.5, 0.1), 96) == 32
    assert seeds_for(LINE, found(0.5, 1.0), 96) == 96
    assert seeds_for(LINE, found(1.5, 0.5), 96) == 8, "outside already"
    assert seeds_for(LINE, found(LINE.claim + 0.06, 0.06), 96) in (32, 33), "half an interval of 0.03 stays inside"


# Players and controls


@pytest.mark.parametrize(
    "rate", [Constant(0.1), Sequence(1 / np.arange(1.0, 9)), inverse_time(2.0), Anytime(2.0, 1.0), BestOfBoth(1.0, 2.0)]
)
def test_a_scaled_rate_is_scaled_in_every_round(rate):
    large, memories = scaled(rate, 30.0), (np.zeros(2), np.zeros(2))
    pairs = [(first_rate(rate, memories[0]), first_rate(large, memories[1]))]
    for t, pending in enumerate([0, 3, 5, 2, 0], 1):
        pairs.append((next_rate(rate, memories[0], t, pending), next_rate(large, memories[1], t, pending)))
    assert all(big == pytest.approx(30 * small) for small, big in pairs)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda c: f"{c.row}, {c.name}")
def test_everybody_plays(column):
    at = Setting(96, 8, 0.5, {OURS: 2, PRINTED: 2, FREE: 1}.get(column.name))
    line = Line(column, "T", (at,), UPPER)
    for who in (PLAYER, *CONTROLS):
        ruled, where = terms(column, at, who)
        regret = regrets_at(line, at, who, range(2))
        assert np.isfinite(regret).all()
        if who == "weighs nothing":
            assert where.capacity is not None
            assert type(entrant(ruled.make(ruled.play_game(where, 0)), who).scheduler).__name__ == "DropNewest"


def test_who_never_moves_pays_for_every_busy_round():
    """By hand: at 0 every round costs half its strength, at the best action, ½, only a quiet one costs, its whole."""
    at = AT[-1]
    busy = layout(at, seed=0)[1]
    regret = busy.sum() / 2 + (~busy).sum() / 4 - (~busy).sum() / 2
    assert regrets_at(LINE, at, "never moves", range(1))[0] == pytest.approx(regret, rel=1e-6)


def test_a_line_is_played_with_the_seeds_it_needs(monkeypatch):
    asked = []

    def regrets(line, at, who, seeds, workers, device):
        asked.append((who, seeds))
        noise = np.random.default_rng(list(seeds)).normal(1.0, 0.3, len(seeds)) if who == PLAYER else 1.0
        power = {PLAYER: 0.5, "never moves": 1.0, "rate × 30": 0.5}.get(who, 0.9)
        return noise * np.full(len(seeds), at.horizon**power)

    monkeypatch.setattr(table1, "regrets_at", regrets)
    (one,) = measure([LINE], 96)
    assert one.slopes["never moves"].slope == pytest.approx(1.0)
    assert (one.verdict, one.passed) == (NO_EVIDENCE, ["rate × 30"]) or one.verdict in (UNDECIDED, STEEPER, FLATTER)
    assert {seeds for who, seeds in asked if who != PLAYER} == {range(8)}
    assert one.slopes[PLAYER].seeds >= 8


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_the_knowledge_free_line_along_the_total_delay_is_evidence():
    line = next(one for one in lines() if one.column == COLUMN[CONVEX, FREE] and one.along == "d_tot")
    (one,) = measure([line], 96)
    assert one.verdict == EVIDENCE
