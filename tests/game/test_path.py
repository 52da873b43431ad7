"""The way from simulate to a Record is as short as docs/design.md says, and nothing on it is done twice."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tarry
from tarry.game import hindsight, run
from tarry.kernel import is_compiled

DESIGN = Path(__file__).parents[2] / "docs" / "design.md"
RNG = np.random.default_rng(4)
DOMAIN = tarry.domains.Ball(2)


def _game(horizon=40):
    losses = tarry.losses.LeastSquares(RNG.normal(size=(horizon, 2)), RNG.normal(size=horizon))
    return tarry.Game(DOMAIN, losses, tarry.delays.fixed(horizon=horizon, delay=3), capacity=2)


def _player(rate=0.1):
    return tarry.Player(tarry.learners.DWFTRL(DOMAIN, rate=rate))


@pytest.mark.skipif(is_compiled(), reason="compiled rounds are on no stack")
def test_the_hops_are_those_of_the_design():
    told = re.findall(r"^ ?(\d+)  (\S+) +(game/\w+\.py)", DESIGN.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number, *_ in told] == list(range(1, len(told) + 1))
    assert len(told) <= 10
    named, seen = [(name, file) for _, name, file in told], []

    def watch(frame, event, _argument):
        code = frame.f_code
        found = (code.co_qualname, "/".join(Path(code.co_filename).parts[-2:]))
        if event == "call" and found in named:
            if found in seen:  # rounds are called for once before, for none, to compile them
                seen.remove(found)
            seen.append(found)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        tarry.simulate(_game(), _player())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert seen == named


def test_a_game_is_set_up_and_compared_once(monkeypatch):
    made, solved, asked = [], [], []
    fresh, minimise = run.fresh_state, hindsight.minimise
    bound = tarry.losses.LeastSquares.gradient_bound
    monkeypatch.setattr(run, "fresh_state", lambda *a: made.append(1) or fresh(*a))
    monkeypatch.setattr(hindsight, "minimise", lambda *a: solved.append(1) or minimise(*a))
    monkeypatch.setattr(tarry.losses.LeastSquares, "gradient_bound", lambda *a: asked.append(1) or bound(*a))
    game = _game()
    first = tarry.simulate(game, _player(), seeds=3, checkpoints=10)
    assert (len(made), len(solved), len(asked)) == (1, 1, 1)
    again = tarry.simulate(game, _player(0.2), seeds=2, checkpoints=20)
    assert (len(made), len(solved), len(asked)) == (2, 1, 1)
    assert again.comparators[0].losses[-1] == first.comparators[0].losses[-1]
    alone = tarry.simulate(_same(game), _player(0.2), seeds=2, checkpoints=20)
    assert np.array_equal(alone.regret_at, again.regret_at)


def _same(game):
    return tarry.Game(game.domain, game.losses, game.delays, capacity=game.capacity)


def test_a_drawn_game_is_drawn_once_a_seed():
    drawn = []
    tarry.simulate(None, _player(), seeds=3, games=lambda seed: drawn.append(seed) or _game())
    assert sorted(drawn) == [0, 1, 2]


def test_a_seed_is_found_without_a_search():
    record = tarry.simulate(_game(), _player(), seeds=range(5, 9), keep_rounds=True)
    assert record._index == {5: 0, 6: 1, 7: 2, 8: 3}
    assert record.events(8).equals(tarry.simulate(_game(), _player(), seeds=[8], keep_rounds=True).events())
    with pytest.raises(ValueError, match="no seed 4 in this record"):
        record.plays(4)


def test_a_recommendation_is_played_as_its_player():
    game = _game()
    found = tarry.players.recommended(game)
    assert type(found.player) is tarry.Player
    record = tarry.simulate(game, found)
    assert type(record.player) is tarry.Player
    assert np.array_equal(record.regret, tarry.simulate(game, found.player).regret)
