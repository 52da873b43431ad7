"""Seeds that are played together, stacked, in any blocks and threads, are those that are played one by one."""

from __future__ import annotations

import weakref
from math import isnan
from types import SimpleNamespace

import numpy as np
import pytest

import tarry
from tarry.delays.base import Delays, delay
from tarry.game import blocks, run, world
from tarry.game.replay import replay
from tarry.kernel.views import leaves
from tarry.learners import BOLD, DWFTBL, DWFTRL, OGD, TwoPoint
from tarry.schedulers import Batching, Bernoulli, VarOpt
from tarry.tracking import Doubling, Player, keyed_draws

HORIZON = 60
SEEDS = [3, 0, 2**63 - 1, 11, 7]
DOMAIN = tarry.domains.Ball(3)
ROWS = np.random.default_rng(6).normal(size=(HORIZON, 3))
DELAYS = tarry.delays.pareto(horizon=HORIZON, shape=1.2, scale=4.0, rng=2)


def _game(**options):
    return tarry.Game(DOMAIN, tarry.losses.Linear(ROWS), DELAYS, **{"capacity": 4, **options})


GAMES = {
    "VarOpt": (_game(), Player(DWFTRL(DOMAIN, rate=0.1))),
    "a coin": (_game(), Player(OGD(DOMAIN, rate=0.1), Bernoulli(probability=0.3))),
    "no limit": (_game(capacity=None), Player(DWFTRL(DOMAIN, rate=0.1))),
    "copies": (_game(), Player(BOLD(OGD(DOMAIN, rate=0.1)))),
    "withheld feedback": (_game(), Player(DWFTRL(DOMAIN, rate=0.1), Batching(9))),
    "restarts": (_game(), Player(DWFTRL(DOMAIN, rate=0.1), epochs=Doubling("total"))),
    "values": (_game(feedback="value"), Player(DWFTBL(DOMAIN, rate=0.01, smoothing=0.3))),
    "two values": (_game(feedback="value", queries=2), Player(TwoPoint(OGD(DOMAIN, rate=0.01), smoothing=0.1))),
    "sizes": (_game(sizes=1.0 + np.arange(HORIZON) % 3), Player(DWFTRL(DOMAIN, rate=0.1))),
}


def _measured(record):
    certificates = [tuple(one) for one in record.certificates if one is not None]
    arrays = [record.regret_at, record.bound_at, record.fates, record.last_plays, *record.weights, *record.occupancy]
    return [*arrays, *([] if record._strays is None else [record._strays])], certificates


def _are_rows(record, i, alone):
    """Return whether the i-th seed of a record is the only one of another."""
    (found, told), (expected, said) = _measured(record), _measured(alone)
    pairs = zip(found, expected, strict=True)
    return told[i : i + 1] == said and all(np.array_equal(a[i], b[0], equal_nan=True) for a, b in pairs)


@pytest.fixture
def _in_blocks(monkeypatch):
    """Three replicas and 25 rounds at a time, also in plain Python; the last block of seeds is smaller."""
    monkeypatch.setattr(blocks, "most_replicas", lambda *_: 3)
    monkeypatch.setattr(blocks.Pace, "replicas", lambda *_: 3)
    monkeypatch.setattr(blocks.Pace, "rounds", lambda _: 3 * 25)


@pytest.mark.usefixtures("_in_blocks")
@pytest.mark.parametrize(("name", "threads"), [*((name, 1) for name in GAMES), ("VarOpt", 2)])
def test_seeds_together_are_seeds_alone(name, threads):
    game, player = GAMES[name]
    together = tarry.simulate(game, player, SEEDS, threads=threads, checkpoints=8)
    assert together.seeds == SEEDS
    for i, seed in enumerate(SEEDS):
        assert _are_rows(together, i, tarry.simulate(game, player, [seed], checkpoints=8))


@pytest.mark.usefixtures("_in_blocks")
def test_the_books_of_a_block_are_those_of_a_plain_loop():
    """Rounds of one seed at a time, without blocks, resets and threads."""
    game, player = GAMES["VarOpt"]
    together, made = tarry.simulate(game, player, SEEDS), run.prepare(game, player)
    for i, seed in enumerate(SEEDS):
        buffers = made.start(keyed_draws(seed), nodes=HORIZON)
        with np.errstate(over="ignore"):
            for t in range(1, HORIZON + 1):
                made._replace(compiled=run.run_rounds.function, is_plain=True).advance(buffers, run.Stop(), t, t)
        assert np.array_equal(together.fates[i], buffers.state.tally.fates)
        assert together.loss[i] == buffers.world.loss[0]
        assert np.array_equal(together.last_plays[i], buffers.state.play)
        assert not buffers.world.wheel.ends.any()


@pytest.mark.usefixtures("_in_blocks")
def test_kept_rounds_and_recorded_draws_are_each_seeds_own():
    game, player = GAMES["VarOpt"]
    kept = tarry.simulate(game, player, SEEDS, keep_rounds=True)
    for seed in SEEDS:
        alone = tarry.simulate(game, player, [seed], keep_rounds=True)
        assert kept.events(seed).equals(alone.events())
        assert np.array_equal(kept.plays(seed), alone.plays())
    drawn = tarry.Recorded(uniforms=np.random.default_rng(3).uniform(0.01, 1.0, HORIZON))
    same = tarry.simulate(game, player, SEEDS, draws=drawn, keep_rounds=True)
    assert len(set(same.loss.tolist())) == 1
    assert all(same.events(seed).equals(same.events()) for seed in SEEDS)


def _drawn(capacity):
    """A game for each seed, and a player that its delays tune: nothing is shared, lengths of arrays neither."""

    def game(seed):
        rng = seed % 1000
        late = tarry.delays.geometric(horizon=HORIZON, mean=5.0 + rng, rng=rng)
        late = late if seed != 7 else tarry.delays.fixed(horizon=HORIZON, delay=2)  # of another type
        rows = np.random.default_rng(rng).normal(size=(HORIZON, 3))
        return tarry.Game(DOMAIN, tarry.losses.Linear(rows), late, capacity=capacity)

    def player(game):
        rate = np.full(HORIZON + int(game.delays.max_backlog), 1.0 / (1 + game.delays.total_delay))
        return Player(DWFTRL(DOMAIN, rate=rate))

    return game, player


@pytest.mark.usefixtures("_in_blocks")
@pytest.mark.parametrize(("capacity", "threads"), [(4, 1), (None, 1), (4, 2)])
def test_games_by_seed_together_are_games_alone(capacity, threads):
    game, player = _drawn(capacity)
    together = tarry.simulate(None, player, SEEDS, games=game, threads=threads, checkpoints=8)
    assert together.seeds == SEEDS
    for i, seed in enumerate(SEEDS):
        assert _are_rows(together, i, tarry.simulate(game(seed), player, [seed], checkpoints=8))


@pytest.mark.jit(only=True)
def test_compiled_games_share_a_call_and_no_memory(monkeypatch):
    game, player = _drawn(None)
    blocks_played, play_block = [], blocks.play_block
    monkeypatch.setattr(blocks, "play_block", lambda *a: blocks_played.append(len(a[0])) or play_block(*a))
    together = tarry.simulate(None, player, [*range(7), 8], games=game, threads=1)
    assert sum(blocks_played) == 8
    assert max(blocks_played) > 1  # games are of two shapes
    for seed, regret in zip(together.seeds, together.regret, strict=True):
        assert tarry.simulate(game(seed), player, [seed]).regret[0] == regret


@pytest.mark.usefixtures("_in_blocks")
def test_replays_are_in_blocks_too():
    together = replay(VarOpt(), DELAYS, capacity=4, seeds=SEEDS)
    for i, seed in enumerate(SEEDS):
        assert np.array_equal(together.fates[i], replay(VarOpt(), DELAYS, capacity=4, seeds=[seed]).fates[0])


@pytest.mark.usefixtures("_in_blocks")
def test_what_is_wrong_with_one_seed_is_told():
    """The play of a replica in the midst of a block, its loss, and its books."""
    made = run.prepare(*GAMES["VarOpt"])
    part = blocks.Part(made, SEEDS[:3], made.start(keyed_draws(0)))
    block = blocks.Block(made, part.fresh, 3)
    blocks.play_block([part], block, blocks.Pace(made), run.Stop(), lambda _: None)
    state, around = block.buffers.state, block.buffers.world
    made.check(block.buffers, 1, HORIZON)
    around.held[1] += 1.0
    with pytest.raises(tarry.errors.BrokenInvariant, match=r"sum to 6(1|0.9999).*, not 60"):
        made.check(block.buffers, 1, HORIZON)
    around.loss[2] = np.inf
    with pytest.raises(ValueError, match="a loss in rounds 1 to 60 is not finite"):
        made.check(block.buffers, 1, HORIZON)
    state.play[1] = (0.0, 3.0, 0.0)
    with pytest.raises(ValueError, match=r"DWFTRL played \[0. 3. 0.\] in round 60, which lies 2 outside"):
        made.check_domain(state.play, HORIZON)
    state.play[1] = np.nan
    with pytest.raises(ValueError, match=r"DWFTRL played \[nan nan nan\] in rounds 1 to 60"):
        made.check(block.buffers, 1, HORIZON)


@pytest.mark.usefixtures("_in_blocks")
def test_wheels_grow_on_the_way(monkeypatch):
    game, player = _game(capacity=None), Player(DWFTRL(DOMAIN, rate=0.1))
    expected, rooms, grow_wheel = tarry.simulate(game, player, SEEDS), [], blocks.grow_wheel
    monkeypatch.setattr(run.Run.start, "__defaults__", (None, 4))
    monkeypatch.setattr(world, "TURN", 4)
    monkeypatch.setattr(blocks, "grow_wheel", lambda wheel, nodes: rooms.append(nodes) or grow_wheel(wheel, nodes))
    assert np.array_equal(tarry.simulate(game, player, SEEDS, threads=1).regret, expected.regret)
    assert rooms[:2] == [8, 16]
    assert max(rooms) < HORIZON


def test_blocks_are_sized_by_time_and_memory():
    made = run.prepare(*GAMES["VarOpt"])._replace(is_plain=False)
    part = blocks.Part(made, [0], made.start(keyed_draws(0)))
    assert blocks.most_replicas(part, 10**6) > 40
    assert blocks.most_replicas(part, 5) == 5
    assert blocks.most_replicas(part, 10**6, 2**20) == 3  # games that lie beside their seeds
    assert blocks.most_replicas(part._replace(run=made._replace(is_plain=True)), 10**6) == 1


def _replicas(horizon, seeds, threads, room, seconds=5e-8):
    made = SimpleNamespace(horizon=horizon, threads=threads, is_plain=False, player=GAMES["VarOpt"][1])
    pace = blocks.Pace(made, seeds)
    pace.learn(1000, 1000 * seconds)
    return pace.replicas(seeds, room)


def test_blocks_for_threads_are_long_and_end_together():
    assert _replicas(20_000, 256, 2, 500) == 64
    assert _replicas(20_000, 256, 2, 10) == 10
    assert _replicas(2_000, 256, 1, 85) == 64  # four alike
    assert _replicas(20_000, 10**6, 1, 500) == 200  # those of a fifth of a second
    assert _replicas(20_000, 256, 16, 500) == 16  # a millisecond for each thread, but one block for each
    assert _replicas(100, 256, 2, 500) == 128
    assert _replicas(20_000, 256, 2, 500, seconds=1.0) == 1


class Uncut(Delays):
    """Delays of a user's, which may reach beyond the horizon."""

    rounds: int
    late: int = 30

    @property
    def horizon(self):
        return self.rounds

    @property
    def truncated(self):
        return 0

    def delay(self, t):
        return self.late - t % 2


@pytest.mark.usefixtures("_in_blocks")
def test_delays_beyond_the_horizon_leave_nothing_for_the_next_block():
    game = tarry.Game(DOMAIN, tarry.losses.Linear(ROWS), Uncut(HORIZON), capacity=4)
    player, seeds = Player(DWFTRL(DOMAIN, rate=0.1)), range(9)
    together = tarry.simulate(game, player, seeds, threads=1)
    assert together.regret.tolist() == [tarry.simulate(game, player, [one]).regret[0] for one in seeds]


@pytest.mark.parametrize("late", [30, 5000, 2**62])
@pytest.mark.parametrize("options", [{}, {"capacity": None}, {"information": "clairvoyant"}])
def test_delays_beyond_the_horizon_are_cut(late, options):
    waits, player = Uncut(HORIZON, late), Player(DWFTRL(DOMAIN, rate=0.1))
    cut = tarry.delays.array(np.minimum(late - np.arange(1, HORIZON + 1) % 2, HORIZON - np.arange(1, HORIZON + 1)))
    assert waits.summary() == cut.summary()
    games = [tarry.Game(DOMAIN, tarry.losses.Linear(ROWS), one, **{"capacity": 4, **options}) for one in (waits, cut)]
    found, expected = (tarry.simulate(game, player, SEEDS, keep_rounds=True) for game in games)
    assert np.array_equal(found.fates, expected.fates)
    assert all(found.events(seed).equals(expected.events(seed)) for seed in SEEDS)


def test_blocks_have_room_for_wheels_that_grow():
    losses, waits = (
        tarry.losses.Linear(tarry.losses.drifting(3, rng=1)),
        tarry.delays.bursts(horizon=10**6, length=10**6, slow=10**6),
    )
    made = run.prepare(tarry.Game(DOMAIN, losses, waits, capacity=4), Player(DWFTRL(DOMAIN, rate=0.1)), bound=False)
    part = blocks.Part(made._replace(is_plain=False), [0], made.start(keyed_draws(0)))
    assert blocks.most_replicas(part, 100) == 4  # 32 MB each


def test_moments_without_weights():
    record = tarry.simulate(_game(), Player(DWFTRL(DOMAIN, rate=0.1), Bernoulli(probability=1e-9)), 3)
    assert record.weights.effective_sample_size.tolist() == [0.0] * 3
    assert not any(map(isnan, record.weights.mean))


@pytest.mark.jit(only=True)
def test_compiled_seeds_together_are_seeds_alone():
    game, player = GAMES["values"]
    seeds = range(300)
    records = [tarry.simulate(game, player, seeds, threads=threads, checkpoints=8) for threads in (1, 3)]
    for i in (0, 1, 150, 299):
        alone = tarry.simulate(game, player, [i], checkpoints=8)
        assert all(_are_rows(record, i, alone) for record in records)


class Alternating(tarry.delays.fixed):
    """Come late in every other round: what all delays of its base have in common, these have not."""

    def wait(self, t):
        return self.delay * (t % 2)


class Shorter(tarry.delays.fixed):
    """Come earlier and earlier, so that late rounds overtake others."""


@delay.on(Shorter)
def _shorten(delays, t):
    return min(max(0, delays.delay - t), delays.horizon - t)


@pytest.mark.parametrize("kind", [tarry.delays.fixed, Alternating, Shorter])
@pytest.mark.parametrize("wait", [3, 30, 10**9])
def test_fixed_delays_and_those_derived_from_them_are_played_as_listed(kind, wait):
    waits, player = kind(horizon=HORIZON, delay=wait), Player(DWFTRL(DOMAIN, rate=0.1))
    listed = tarry.delays.array(waits.values)
    for capacity in (4, None):
        games = [tarry.Game(DOMAIN, tarry.losses.Linear(ROWS), one, capacity=capacity) for one in (waits, listed)]
        found, expected = (tarry.simulate(game, player, SEEDS) for game in games)
        assert np.array_equal(found.regret_at, expected.regret_at)
        assert np.array_equal(found.fates, expected.fates)


def test_memory_is_that_of_rounds_played_and_not_of_their_delay():
    game = tarry.Game(
        DOMAIN,
        tarry.losses.Linear(tarry.losses.drifting(3, rng=1)),
        tarry.delays.fixed(horizon=10**9, delay=10**9),
        capacity=4,
    )
    made = run.prepare(game, Player(DWFTRL(DOMAIN, rate=0.1)), bound=False)
    assert sum(leaf.nbytes for leaf in leaves(made.start(keyed_draws(0)))) < 2**18


def test_blocks_of_kinds_that_are_gone_are_let_go(monkeypatch):
    alive, most = weakref.WeakSet(), 0

    class Counted(blocks.Block):
        def __init__(self, *given):
            nonlocal most
            super().__init__(*given)
            alive.add(self)
            most = max(most, len(alive))

    def draw(seed):  # a function of its own makes a kind of its own
        losses = tarry.losses.Callables(lambda x, t: 0.0, lambda x, t: 0.0 * x, dimension=3, horizon=2)
        return tarry.Game(DOMAIN, losses, tarry.delays.fixed(horizon=2, delay=1), capacity=1)

    monkeypatch.setattr(blocks, "Block", Counted)
    tarry.simulate(None, DWFTRL(DOMAIN, rate=0.1), 3 * blocks.KINDS, games=draw, comparator=None, threads=1)
    assert most <= blocks.KINDS + 1
