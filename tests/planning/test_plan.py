"""plan: figures that an independent simulation confirms, and a capacity that does what it says."""

from __future__ import annotations

import io
import json
from itertools import product

import numpy as np
import pytest

import tarry
from tarry.game import replay
from tarry.planning import plan
from tarry.planning.policies import POLICIES, TAIL, Conditions, choose_policies

HORIZON = 2000
FAMILIES = {
    "fixed": tarry.delays.fixed(horizon=HORIZON, delay=200),
    "geometric": tarry.delays.geometric(horizon=HORIZON, probability=1 / 200, rng=1),
    "heavy": tarry.delays.pareto(horizon=HORIZON, shape=0.9, scale=20, rng=2),
    "bursts": tarry.delays.bursts(horizon=HORIZON),
    "zero": tarry.delays.fixed(horizon=HORIZON, delay=0),
}
QUICK = {"seeds": 2, "precision": 1.0}
SMALL = tarry.delays.geometric(horizon=150, mean=12, rng=4)


def in_time(values):
    """Rounds whose feedback comes before the last decision."""
    return np.array([s + delay < values.size for s, delay in enumerate(values, 1)])


def naive_varopt(delays, capacity, rng):
    """Weights of VarOpt by the definition, on a plain list: θ by trial of every number of heavy members."""
    held, weights = {}, np.zeros(delays.size)
    for t in range(delays.size):
        held[t] = 1.0
        if len(held) > capacity:
            ordered = sorted(held.values())
            light = next(
                n
                for n in range(2, capacity + 2)
                if n == capacity + 1 or sum(ordered[:n]) / (n - 1) <= ordered[n] + 1e-12
            )
            theta = sum(ordered[:light]) / (light - 1)
            rounds = list(held)
            chances = np.array([max(0.0, 1.0 - held[s] / theta) for s in rounds])
            lost = rounds[rng.choice(len(rounds), p=chances / chances.sum())]
            held = {s: max(w, theta) for s, w in held.items() if s != lost}
        for s in [s for s in held if s + delays[s] == t]:
            weights[s] = held.pop(s)
    return weights


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", FAMILIES)
def test_varopt_agrees_with_a_naive_one(name):
    delays = FAMILIES[name]
    made = plan(delays, capacities=[16], schedulers=["VarOpt"]).figures[0]
    rng = np.random.default_rng(9)
    runs = np.array([naive_varopt(delays.values, 16, rng) for _ in range(16)])[:, in_time(delays.values)]
    assert made.second_moment == pytest.approx(np.mean(runs**2), rel=0.1)
    assert made.seen == pytest.approx(np.sum(runs > 0) / 16 / HORIZON, rel=0.1)
    assert made.effective == pytest.approx(1 / np.mean(runs**2), rel=0.1)


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_figure_agrees_with_a_simulation(name):
    """Other seeds, every round kept and, for the rare labels of the paper's rules, very many runs."""
    delays = FAMILIES[name]
    usual = plan(delays, capacities=[16]).figures
    made = {f.scheduler: f for f in usual + plan(delays, capacities=[16], schedulers=["Batching", "Thinning"]).figures}
    assert [f.scheduler for f in usual] == [p.name for p in choose_policies(None)]
    known = in_time(delays.values)
    for policy in choose_policies(list(made)):
        figures, many = made[policy.name], {"Pareto (paper)": 1000, "Bernoulli (paper)": 400}.get(policy.name, 100)
        scheduler = policy.make(Conditions.of(delays, 16, saturation=TAIL))
        runs = []
        for first in range(10**6, 10**6 + many, 100):
            rules = {"capacity": 16, "seeds": range(first, first + 100), "keep_rounds": True}
            record = replay(scheduler, tarry.delays.array(delays.values), **rules)
            runs += [record.heard(seed)[known] for seed in record.seeds]
        weight, moment = np.mean(runs), np.mean(np.square(runs))
        seen = np.mean(np.array(runs) > 0) * known.mean()
        assert figures.seen == pytest.approx(seen, rel=0.1), policy.name
        if policy.name.endswith("(paper)"):
            # Rare labels weigh so much that a thousand runs know the second moment only to a tenth, and their spread
            # no better. Who is heard weighs 1/chance, and is heard as often: among the rare half of the rounds too.
            chances = chances_by_definition(policy.name, delays)[known]
            heard, rare = np.array(runs) > 0, chances <= np.median(chances)
            np.testing.assert_allclose(np.array(runs)[heard], np.broadcast_to(1 / chances, heard.shape)[heard])
            assert heard[:, rare].mean() == pytest.approx(chances[rare].mean() * figures.mean_weight, rel=0.1)
            weight, moment = figures.mean_weight, figures.mean_weight * np.mean(1 / chances)
        assert figures.second_moment == pytest.approx(moment, rel=0.1), policy.name
        if moment == 0:  # drop oldest, where nothing comes before its turn is over
            assert figures.effective == 0
            continue
        assert figures.effective == pytest.approx(weight**2 / moment, rel=0.1), policy.name
        assert figures.error_factor == pytest.approx(np.sqrt(moment) / weight, rel=0.1), policy.name


def chances_by_definition(name, delays):
    """The chance of each round to be tracked to its end in 16 slots, from the paper."""
    if name.startswith("Bernoulli"):
        return np.full(HORIZON, min(1.0, 16 / (8 * (delays.backlog().max() + 1))))
    harmonic = np.cumsum(1 / np.arange(1, HORIZON + 1))
    return np.minimum(1.0, 16 / (16 * harmonic * (delays.values + 1)))


def test_second_moments_of_pareto_by_every_draw():
    """Four slots for four rounds, so that there is room: every proxy delay of those whose label comes in time."""
    values, capacity = [2, 1, 0, 0], 4
    made = plan(tarry.delays.array(values), capacities=[capacity], schedulers=["Pareto (paper)"], **QUICK).figures[0]
    game = tarry.Game(
        tarry.domains.Ball(1), tarry.losses.Linear(np.ones((4, 1))), tarry.delays.array(values), capacity=capacity
    )
    player = tarry.Player(tarry.learners.OGD(game.domain, 0.1), tarry.schedulers.Pareto())
    whole = moment = seen = 0.0
    for drawn in product((-1, 0, 1, 2), repeat=3):
        chance = 1.0
        for s, proxy in enumerate(drawn, 1):
            reach = [1.0, *(capacity / (16 * sum(1 / i for i in range(1, s + 1)) * age) for age in (1, 2, 3)), 0.0]
            chance *= reach[proxy + 1] - reach[proxy + 2]
        record = tarry.simulate(game, player, draws=tarry.Recorded(proxy_delays=[*drawn, -1]), comparator=None)
        whole += chance
        moment += chance * record.weights.second_moment[0] * 4 / 3
        seen += chance * record.observed[0]
    assert whole == pytest.approx(1.0)
    assert made.second_moment == pytest.approx(moment)
    assert made.seen == pytest.approx(seen)


def test_dropping_newcomers_by_hand():
    values = SMALL.values
    free, seen, tracked = [], 0, 0
    for t, delay in enumerate(values):
        free = [end for end in free if end >= t]
        if len(free) < 4:
            free.append(t + delay)
            tracked += 1
            seen += t + delay < values.size - 1  # what comes after the last decision is not seen
    figures = plan(SMALL, capacities=[4], schedulers=["drop newest"], **QUICK).figures[0]
    assert seen < tracked
    assert figures.seen == seen / values.size
    assert figures.saturated == 1 - tracked / values.size
    assert not figures.is_unbiased


@pytest.mark.slow
def test_rounds_without_room_are_not_counted_as_seen():
    """One slot, delay d: a renewal process that is full for d rounds in d + 1/p."""
    delays, p = tarry.delays.fixed(horizon=2000, delay=20), 1 / (8 * 21)
    figures = plan(delays, capacities=[1], schedulers=["Bernoulli (paper)"], seeds=12).figures[0]
    room = 1 / (1 + 20 * p)
    assert figures.mean_weight == pytest.approx(room, rel=0.03)
    assert figures.seen == pytest.approx(p * room * 1979 / 2000, rel=0.03)
    assert figures.second_moment == pytest.approx(room / p, rel=0.03)


def test_the_grid_and_the_backlog():
    made = plan(SMALL, schedulers=["VarOpt"], per_day=100, target=0.5, **QUICK)
    backlog = SMALL.backlog()
    peak = int(backlog.max())
    wanted = {2**i for i in range(10) if 2**i <= peak} | {peak + 1, made.capacity}
    assert [f.capacity for f in made.figures] == sorted(wanted)
    assert made.backlog.max_backlog == peak
    assert made.backlog.mean_backlog == pytest.approx(backlog.mean())
    assert made.backlog.per_day * made.backlog.mean_delay_days == pytest.approx(made.backlog.mean_backlog)
    assert max(top for _, _, top in made.backlog.curve) == peak
    assert made.backlog.curve[-1][0] == 150


def test_the_recommended_capacity_is_the_smallest_that_is_enough():
    made = plan(SMALL, schedulers=["VarOpt"], target=0.7, **QUICK)
    around = range(max(1, made.capacity - 3), made.capacity + 2)
    again = plan(SMALL, schedulers=["VarOpt"], capacities=around, target=0.7, seeds=8, precision=1 / 8)
    assert made.capacity not in (1, 2, 4, 8, 16, SMALL.max_backlog + 1)
    shares = {f.capacity: f.effective for f in again.figures}
    assert shares[made.capacity] == made.choice.effective >= 0.7 > shares[made.capacity - 1]
    assert again.capacity == made.capacity
    assert f"{made.capacity} slots with VarOpt" in made.recommendation


def test_all_labels_need_one_slot_more_than_the_peak_or_fewer():
    made = plan(SMALL, schedulers=["VarOpt"], target=1, **QUICK)
    assert made.choice.effective == pytest.approx(1)
    assert made.capacity <= SMALL.max_backlog + 1


def test_biased_policies_are_never_recommended():
    made = plan(SMALL, schedulers=["drop oldest"], **QUICK)
    assert made.capacity is None
    assert made.recommendation.startswith("No capacity tried")
    assert f"nor would up to {8 * (SMALL.max_backlog + 1)} slots" in made.recommendation
    assert made.to_dict()["beyond"] is None


@pytest.mark.parametrize(("capacities", "scheduler"), [([1, 2], "VarOpt"), (None, "Bernoulli (paper)")])
def test_how_many_slots_it_would_take(capacities, scheduler):
    """Beyond the capacities given, or beyond the backlog where the paper's coin is still below 1."""
    made = plan(SMALL, schedulers=[scheduler], capacities=capacities, target=0.5, **QUICK)
    assert made.capacity is None
    least = made.beyond.capacity
    assert f"it would take {least} slots with {scheduler}" in made.recommendation
    assert made.to_dict()["beyond"] == {"capacity": least, "scheduler": scheduler}
    assert least > max(f.capacity for f in made.figures)
    again = plan(SMALL, schedulers=[scheduler], capacities=[least - 1, least], target=0.5, seeds=8, precision=1 / 8)
    assert again.capacity == least
    if scheduler == "Bernoulli (paper)":
        assert least == 4 * (SMALL.max_backlog + 1)  # p = C/(8(σ_max + 1)) is the effective share


def test_batches_are_cut_to_the_longest_delay():
    delays = tarry.delays.fixed(horizon=400, delay=21)
    made = plan(delays, capacities=[1, 4, 8], schedulers=["Batching"], preemption=False, **QUICK)
    assert [(f.capacity, round(f.second_moment)) for f in made.figures] == [(4, 7), (8, 3)]
    assert all(f.saturated == 0 and f.mean_weight == pytest.approx(1, abs=0.05) for f in made.figures)


def test_without_preemption_batches_suit_equal_delays():
    made = plan(tarry.delays.fixed(horizon=1000, delay=40), capacities=[8], preemption=False, target=0.1, **QUICK)
    assert made.choice.scheduler == "Batching"


def test_thinning_by_name():
    made = plan(SMALL, capacities=[8], schedulers=["thinning"], **QUICK)
    assert [f.scheduler for f in made.figures] == ["Thinning"]
    assert "Thinning" not in {f.scheduler for f in plan(SMALL, capacities=[8], **QUICK).figures}


def test_cells_without_a_figure_are_explained():
    rich = pytest.importorskip("rich.console")
    from tarry.reports.plans import plan_tables

    def text(capacities):
        console = rich.Console(width=120, record=True, file=io.StringIO())
        console.print(
            plan_tables(plan(SMALL, capacities=capacities, schedulers=["VarOpt", "Priority"], **QUICK))[1].rich()
        )
        return console.export_text()

    assert "– not offered" in text([2, 8])
    assert "–" not in text([4, 8])


def test_without_preemption_nobody_preempts():
    made = plan(SMALL, capacities=[8], preemption=False, target=0.1, **QUICK)
    assert {f.scheduler for f in made.figures} == {
        "Bernoulli (calibrated)",
        "Bernoulli (paper)",
        "Morris",
        "Batching",
        "drop newest",
    }
    assert made.choice.scheduler in ("Bernoulli (calibrated)", "Morris")


def test_policies_of_ones_own():
    own = {"mine": tarry.schedulers.VarOpt(), "coin": lambda peak, c: tarry.schedulers.Bernoulli(probability=0.5)}
    made = plan(SMALL, capacities=[40], schedulers=own, **QUICK)
    assert [f.scheduler for f in made.figures] == ["mine", "coin"]
    assert made.figures[1].seen == pytest.approx(0.5, abs=0.1)


def test_no_delay_needs_one_slot():
    made = plan(tarry.delays.fixed(horizon=50, delay=0), schedulers=["VarOpt"], **QUICK)
    assert made.capacity == 1
    assert made.choice.seen == 49 / 50  # all but the last, whose label comes after it


def test_numbers_for_machines_are_those_of_the_table():
    made = plan(SMALL, capacities=[4, 8], schedulers=["VarOpt", "drop newest"], per_day=50, **QUICK)
    read = json.loads(json.dumps(made.to_dict()))
    assert read["table"] == made.table.to_dicts()
    assert read["capacity"] == made.capacity
    labels = int(in_time(SMALL.values).sum())
    assert read["table"][0]["effective_per_day"] == pytest.approx(50 * made.figures[0].effective * labels / 150)
    assert read["table"][0]["effective_sample_size"] == pytest.approx(labels * made.figures[0].effective)
    assert "Plan(" in repr(made)
    assert "<table>" in made._repr_html_()


def test_the_chart_carries_the_same_numbers():
    pytest.importorskip("altair")
    made = plan(SMALL, schedulers=["VarOpt", "drop newest"], **QUICK)
    spec = made.plot().to_dict()
    upper, lower = (json.loads(panel["layer"][0]["data"]["values"]) for panel in spec["vconcat"])
    assert [(row["slots"], row["effective"]) for row in lower] == [(f.capacity, f.effective) for f in made.figures]
    assert [row["peak"] for row in upper] == [top for _, _, top in made.backlog.curve]


def test_warnings_of_a_short_record():
    made = plan(tarry.delays.array([50] * 60), capacities=[4], schedulers=["VarOpt"], **QUICK)
    assert "no feedback before the last one" in made.warnings[0]
    assert "hardly had time" in made.warnings[1]
    long = tarry.delays.geometric(horizon=300, mean=12, rng=4)
    assert plan(long, capacities=[4], schedulers=["VarOpt"], **QUICK).backlog.warnings == ()
    with pytest.raises(ValueError, match="none of 60 decisions has feedback before the last one"):
        plan(tarry.delays.array([60] * 60))


def answers(count, of=1000, delay=20):
    """Delays of decisions of which only so many are ever answered, all of them early."""
    waits = np.full(of, of)
    waits[:count] = delay
    return tarry.delays.array(waits)


def test_decisions_that_wait_for_ever_are_not_seen():
    """Ten answers in a thousand decisions: at most 1 %, and by the definition of VarOpt."""
    made = plan(answers(10), capacities=[50, 1000], schedulers=["VarOpt"], **QUICK)
    assert [f.seen for f in made.figures] == [0.01, 0.01]  # no newcomer before the answers finds the set full
    assert [f.effective for f in made.figures] == [1.0, 1.0]
    assert made.backlog.answered == pytest.approx(0.01)
    assert "10 of them (1.0%) answered" in made.backlog.sentence
    assert "labels of 1.0% of decisions are seen" in made.recommendation
    assert made.backlog.mean_backlog == pytest.approx(made.backlog.mean_delay)


def test_a_round_past_the_last_has_its_place():
    """1023 rounds fill the buckets of a wheel: what never comes would be due in the first one behind them."""
    made = plan(answers(10, of=1023), capacities=[1023], schedulers=["VarOpt"], **QUICK)
    assert made.figures[0].seen == 10 / 1023


@pytest.mark.parametrize(
    ("delays", "sizes"),
    [
        (tarry.delays.fixed(horizon=200, delay=90), None),
        (SMALL, None),
        (SMALL, np.exp(np.random.default_rng(3).normal(0.0, 1.0, 150))),
        (answers(10, of=200), None),
        (answers(10, of=200), np.arange(1.0, 201.0)),
    ],
    ids=["long window", "geometric", "sizes", "few answers", "few answers of many sizes"],
)
def test_no_policy_sees_more_than_was_answered(delays, sizes):
    """At no capacity, and none is worth more than all labels; with room for all, all have both."""
    named = [policy.name for policy in POLICIES if policy.compared is not None]
    slots, room = [1, 3, 20, 8 * (delays.max_backlog + 1)], delays.max_backlog + 1
    made = plan(delays, capacities=slots, schedulers=None if sizes is not None else named, sizes=sizes, **QUICK)
    answered = in_time(delays.values).mean()
    assert made.backlog.answered == pytest.approx(answered)
    assert {f.scheduler for f in made.figures} == ({"VarOpt"} if sizes is not None else set(named))
    for f in made.figures:
        assert f.seen <= answered + 1e-9, f
        assert f.effective <= 1 + 1e-9, f
        assert f.error_factor >= 1 - 1e-9, f
    full = next(f for f in made.figures if f.capacity > room and f.scheduler == "VarOpt")
    assert (full.seen, full.effective, full.second_moment) == pytest.approx((answered, 1, 1))


def test_the_mean_weight_is_waited_for(monkeypatch):
    """Replays that agree since none has met a rare label are not enough: the mean weight must be 1."""
    monkeypatch.setattr("tarry.planning.measure.ROUNDS", 40 * 128)
    waits = np.full(40, 40)
    waits[[0, 20]] = 0  # the first is always seen, the other one in 21 times with a weight of 21
    (figures,) = plan(tarry.delays.array(waits), capacities=[1], schedulers=["VarOpt"], seeds=2).figures
    assert figures.replays > 2
    assert figures.second_moment == pytest.approx((1 + 21) / 2, rel=0.5)


@pytest.mark.jit(only=True)
def test_a_trend_is_said():
    """Delays that grow tenfold, and the same ones in no order."""
    rng = np.random.default_rng(2)
    growing = rng.geometric(1 / np.linspace(5, 50, 4000))
    rules = {"capacities": [4], "schedulers": ["VarOpt"], **QUICK}
    rising = plan(tarry.delays.array(growing), **rules)
    assert "has a trend: of its four quarters, each by itself, VarOpt with 4 slots sees" in rising.warnings[-1]
    assert list(rising.quarters) == sorted(rising.quarters, reverse=True)
    first = plan(tarry.delays.array(growing[:1000]), **rules)
    assert rising.quarters[0] == pytest.approx(first.figures[0].seen, rel=0.02)
    even = plan(tarry.delays.array(rng.permutation(growing)), **rules)
    assert even.warnings == ()
    swinging = np.concatenate([rng.geometric(1 / mean, 1000) for mean in (5, 50, 5, 50)])
    assert "is uneven" in plan(tarry.delays.array(swinging), **rules).warnings[-1]


def test_more_replays_until_the_moment_is_known(monkeypatch):
    monkeypatch.setattr("tarry.planning.measure.ROUNDS", 150 * 12)
    options = {"capacities": [2], "schedulers": ["VarOpt"], "seeds": 2}
    assert plan(SMALL, precision=1.0, **options).figures[0].replays == 2
    assert plan(SMALL, precision=1e-6, **options).figures[0].replays == 12
    monkeypatch.setattr("tarry.planning.measure.ROUNDS", 150)
    assert plan(SMALL, precision=1e-6, capacities=[2], schedulers=["VarOpt"], seeds=50).figures[0].replays == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"target": 0}, r"target must be a share in \(0, 1\]"),
        ({"target": 1.5}, "got 1.5"),
        ({"capacities": []}, "capacities is empty"),
        ({"capacities": [0]}, "at least 1, got 0"),
        ({"schedulers": []}, "schedulers is empty"),
        ({"schedulers": ["VarOps"]}, "there is no policy 'VarOps': take some of 'VarOpt'"),
        ({"seeds": 1}, "seeds must be a whole number of at least 2"),
        ({"per_day": -1}, "per_day must be positive"),
        ({"schedulers": ["VarOpt"], "preemption": False}, "without preemption"),
    ],
)
def test_refusals(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        plan(SMALL, **{"capacities": [2], "schedulers": ["VarOpt"], **QUICK, **options})


def test_refusals_of_types():
    with pytest.raises(TypeError, match=r"made by tarry\.delays"):
        plan([1, 2, 3])
    with pytest.raises(TypeError, match="a scheduler or a function"):
        plan(SMALL, schedulers={"x": 3})


def test_a_limit_on_the_second_moment():
    options = {"capacities": [4, 8], "schedulers": ["VarOpt"], **QUICK}
    assert plan(SMALL, max_second_moment=2, **options).to_dict() == plan(SMALL, target=0.5, **options).to_dict()
    with pytest.raises(ValueError, match="at least 1"):
        plan(SMALL, max_second_moment=0.5)


def test_sizes_are_planned_for():
    """Fewer slots are enough where large labels are kept more surely; only VarOpt is asked."""
    sizes = np.exp(np.random.default_rng(3).normal(0.0, 1.0, 200))
    rules = {"capacities": [5], "target": 0.01, **QUICK}
    waits = tarry.delays.fixed(horizon=200, delay=20)
    (found,) = plan(waits, sizes=sizes, **rules).figures
    (plain,) = plan(waits, schedulers=["VarOpt"], **rules).figures
    assert found.scheduler == "VarOpt"
    assert plain.effective < found.effective < 1
    equal = plan(waits, sizes=np.full(200, 3.0), **rules).figures[0]
    assert equal.second_moment == pytest.approx(plain.second_moment)
    assert equal.effective == pytest.approx(plain.effective, rel=0.1)
    both = plan(waits, sizes=sizes, schedulers=["VarOpt", "Morris"], **rules)
    assert both.warnings[-1].startswith("left out: Morris; VarOpt alone takes sizes")
    assert both.to_dict()["warnings"] == list(both.warnings)
    assert plan(waits, sizes=sizes, **rules).left_out == ()  # nobody asked for the others
    with pytest.raises(ValueError, match="which VarOpt alone takes"):
        plan(waits, sizes=sizes, schedulers=["Priority"], **rules)
