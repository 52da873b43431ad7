"""Files: what they may say, what they become, and what is said where they are wrong."""

from __future__ import annotations

import inspect
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeping import TINY, sweep_of

from tarry import delays, domains, learners, losses, players, schedulers
from tarry.experiments.folder import plan_frame
from tarry.experiments.members import check, find, names, parameters_of
from tarry.experiments.play import play_cell, refusal
from tarry.experiments.run import parse_task, share
from tarry.experiments.sweep import identity
from tarry.members import MEMBERS, TUNINGS

GAME = """
[games.g]
horizon = 30
dimension = 2
capacity = 4
losses = { type = "Linear", rows = "drifting" }
delays = { type = "fixed", delay = 3 }
"""
PLAYER = "[players.p]\nplayer = 'recommended'\n"


def contents(sweep):
    return [json.loads(cell.content) for cell in sweep.cells]


def test_products(tmp_path):
    sweep = sweep_of(tmp_path)
    named = [(c.columns["player"], c.columns["capacity"], c.columns["axes"].get("mean")) for c in sweep.cells]
    wanted = [(p, c, m) for p in ("plain", "paper") for c in (2, 4) for m in (3, 6) for _ in range(2)]
    assert named == wanted
    assert [one["seeds"] for one in contents(sweep)[:2]] == [[0, 1], [2]]
    assert len({cell.id for cell in sweep.cells}) == 16
    assert len({cell.columns["combination"] for cell in sweep.cells}) == 8
    assert sweep.axes == ["capacity", "mean"]


def test_blocks_choose(tmp_path):
    blocks = """
[[blocks]]
players = ["plain"]
axes.mean = [100]
seeds = {first = 7, count = 2}
[[blocks]]
players = ["paper"]
axes.capacity = ["unlimited"]
seeds = [3]
"""
    sweep = sweep_of(tmp_path, TINY + blocks)
    found = [(c.columns["player"], c.columns["capacity"], c.columns["axes"]["mean"]) for c in sweep.cells]
    assert found == [("plain", 2, 100), ("plain", 4, 100), ("paper", None, 3), ("paper", None, 6)]
    assert [one["seeds"] for one in contents(sweep)] == [[7, 8], [7, 8], [3], [3]]


def test_an_axis_that_makes_no_difference_makes_no_cells(tmp_path):
    text = (
        TINY
        + '[games.fixed]\nhorizon = 60\ndimension = 2\nlosses = {type = "Linear", rows = "blocks"}\ndelays = "bursts"\n'
    )
    sweep = sweep_of(tmp_path, text.replace("seeds = 3", "seeds = 1"))
    fixed = [cell for cell in sweep.cells if cell.columns["game"] == "fixed"]
    assert [(cell.columns["player"], cell.columns["capacity"]) for cell in fixed] == [
        ("plain", 2),
        ("plain", 4),
        ("paper", 2),
        ("paper", 4),
    ]
    assert all("mean" not in cell.columns["axes"] for cell in fixed)


def test_names_are_not_part_of_a_cell_but_every_number_is(tmp_path):
    ids = {cell.id for cell in sweep_of(tmp_path).cells}
    renamed = TINY.replace("plain", "mine").replace("drift]", "game]").replace("mean =", "wait =", 1)
    assert {c.id for c in sweep_of(tmp_path, renamed.replace("axis.mean", "axis.wait")).cells} == ids
    spelt = TINY.replace('rows = "drifting"', 'rows = { type = "drifting" }')
    assert {c.id for c in sweep_of(tmp_path, spelt).cells} == ids
    for old, new in (("horizon = 60", "horizon = 61"), ("checkpoints = 4", "checkpoints = 5"), ("drifting", "blocks")):
        assert not {c.id for c in sweep_of(tmp_path, TINY.replace(old, new)).cells} & ids


def test_identities_are_what_they_were(tmp_path):
    """Results of earlier releases are found again; a change here needs a reason."""
    first = sweep_of(tmp_path).cells[0]
    assert first.id == identity(first.content) == "d7cff2635af8cafe89910dc3c9f74ad6", first.content


def test_includes(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "game.toml").write_text(GAME + "[axes]\ncapacity = [2, 4]\n")
    (tmp_path / "base.toml").write_text("include = ['parts/game.toml']\nseeds = 5\n" + PLAYER)
    sweep = sweep_of(tmp_path, "include = ['base.toml']\nseeds = 2\n[games.g]\nhorizon = 99\ndelays = 'bursts'\n")
    assert [(one["game"]["horizon"], one["game"]["delays"], one["seeds"]) for one in contents(sweep)] == [
        (99, {"type": "bursts"}, [0, 1])
    ] * 2


def test_a_mistake_in_an_included_file_names_that_file(tmp_path):
    (tmp_path / "base.toml").write_text(GAME.replace("'fixed'", "'fixd'").replace('"fixed"', '"fixd"') + PLAYER)
    with pytest.raises(ValueError, match=r"^base\.toml: games\.g\.delays.* 'fixd', did you mean 'fixed'"):
        sweep_of(tmp_path, "include = ['base.toml']\nseeds = 2\n")


def test_circles_are_refused(tmp_path):
    (tmp_path / "base.toml").write_text("include = ['tiny.toml']\n")
    with pytest.raises(ValueError, match=r"base\.toml: include: .*circle, tiny\.toml → base\.toml → tiny\.toml"):
        sweep_of(tmp_path, "include = ['base.toml']\n" + GAME + PLAYER)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("seds = 3\n" + GAME + PLAYER, "tiny.toml: seds: there is no key 'seds', did you mean 'seeds'? Take one of"),
        (
            "seeds = 0\n" + GAME + PLAYER,
            "tiny.toml: seeds: must be a whole number of at least 1, a list or a table, got 0",
        ),
        ("seeds = [1, 1]\n" + GAME + PLAYER, "tiny.toml: seeds: the list of seeds repeats"),
        ("seeds = [1, 'b']\n" + GAME + PLAYER, "tiny.toml: seeds[2]: must be a whole number of at least 0, got 'b'"),
        ("seeds = {first = 3}\n" + GAME + PLAYER, "tiny.toml: seeds.count: is missing"),
        ("axes.hoizon = [3]\n" + GAME + PLAYER, "tiny.toml: axes.hoizon: there is no use of the axis 'hoizon'"),
        ("axes.horizon = [-3]\n" + GAME + PLAYER, "tiny.toml: axes.horizon: must be a whole number of at least"),
        ("format = 2\n" + GAME + PLAYER, "tiny.toml: format: must be 1, got 2"),
        (GAME, "tiny.toml: players: is missing"),
        (PLAYER, "tiny.toml: games: is missing"),
        (GAME + "[players.p]\n", "tiny.toml: players.p: give either a learner"),
        (
            GAME + "[players.p]\nlearner = 'DWFTRL'\n",
            "tiny.toml: players.p.learner: DWFTRL needs rate, which no game tells: give rate = …",
        ),
        (
            GAME + "[players.p]\nlearner = {type = 'DWFTRL', rat = 1}\n",
            "players.p.learner.rat: there is no parameter of DWFTRL 'rat', did you mean 'rate'? Take one of",
        ),
        (
            GAME + "[players.p]\nlearner = {type = 'DWFTRL', rate = 'convex_rte'}\n",
            "players.p.learner.rate: there is no member 'convex_rte', did you mean 'convex_rate'?",
        ),
        (
            GAME + "[players.p]\nlearner = 'SOLO'\nscheduler = 'varopt'\n",
            "players.p.scheduler: there is no member 'varopt', did you mean 'VarOpt'?",
        ),
        (
            GAME + "[players.p]\nlearner = 'SOLO'\nscheduler = {type = 'Bernoulli', max_backlog = 'game.backlog'}\n",
            "there is no fact of the game 'backlog', did you mean 'max_backlog'?",
        ),
        (
            GAME + "[players.p]\nlearner = 'SOLO'\nscheduler = {type = 'Morris.for_backlg', backlog = 3}\n",
            "there is no way to make Morris 'for_backlg', did you mean 'for_backlog'?",
        ),
        (GAME.replace('"drifting"', '"driftng"') + PLAYER, "there is no member 'driftng', did you mean 'drifting'?"),
        (GAME.replace("capacity = 4", "capacity = 0") + PLAYER, "games.g.capacity: must be a whole number"),
        (
            GAME + PLAYER + "[axes]\ncapacty = [1]\n",
            "axes.capacty: there is no use of the axis 'capacty', did you mean",
        ),
        (
            GAME + PLAYER + "[axes]\ncapacity = [0]\n",
            "axes.capacity: must be a whole number of at least 1 or 'unlimited'",
        ),
        (GAME.replace("= 3 }", "= 'axis.wait' }") + PLAYER, "games.g: there is no axis 'wait'"),
        (GAME + PLAYER + "[[blocks]]\nplayers = ['q']\n", "blocks[1].players: there is no player 'q': take one of p"),
        (GAME + PLAYER + "[[blocks]]\nplayers = []\n", "there is nothing to run"),
        (GAME.replace("capacity = 4", "capacity = 2020-01-01") + PLAYER, "games.g.capacity: must be text, a number"),
        ("x = [", "tiny.toml is not TOML"),
        ("include = 3", "tiny.toml: include: must be a list of files"),
        ("include = ['gone.toml']", "tiny.toml: include: "),
        (GAME.replace("losses", "#") + PLAYER, "games.g.losses: is missing: take one of"),
        (GAME.replace('type = "Linear", ', "") + PLAYER, "games.g.losses: a member needs its type"),
        (
            "axes.domain = [3]\n" + GAME + PLAYER,
            "axes.domain: a member needs its type, as in {type = …}, got 3: take one",
        ),
        (
            "axes.who = [3]\n" + GAME + "[players.p]\nlearner = 'SOLO'\nscheduler = 'axis.who'\n",
            "players.p.scheduler: a member needs its type, as in {type = …}, got 3: take one of",
        ),
        ("name = '..'\n" + GAME + PLAYER, "tiny.toml: name: must name a folder, not . or .. and without /, got '..'"),
        ("name = '.'\n" + GAME + PLAYER, "tiny.toml: name: must name a folder, not . or .. and without /, got '.'"),
        (
            f"seeds = [1, {10**20}]\n" + GAME + PLAYER,
            f"tiny.toml: seeds[2]: must be a whole number of at most {2**63 - 1}, got {10**20}",
        ),
        (
            f"seeds = {{first = {2**63 - 2}, count = 3}}\n" + GAME + PLAYER,
            f"tiny.toml: seeds: seeds must be at most {2**63 - 1}, got {2**63} as the last one",
        ),
        (
            f"seeds = {{first = {10**20}, count = 1}}\n" + GAME + PLAYER,
            "seeds.first: must be a whole number of at most",
        ),
        (f"axes.horizon = [{10**20}]\n" + GAME + PLAYER, "axes.horizon: must be a whole number of at most"),
    ],
)
def test_sentences(tmp_path, text, sentence):
    with pytest.raises(ValueError) as refused:
        sweep_of(tmp_path, text)
    assert sentence in str(refused.value)


def test_every_member_can_be_named():
    """A type that a room exports and that can be written down stands in the tables, under its own name."""
    rooms = {"domain": domains, "losses": losses, "delays": delays, "scheduler": schedulers, "learner": learners}
    functions = {"Custom", "CustomDomain", "Callables", "Rule"}  # these take functions
    abstract = {"Domain", "Losses", "Delays", "Generated", "Backlog"}
    for key, room in rooms.items():
        types = {name for name in room.__all__ if inspect.isclass(getattr(room, name))}
        assert types - functions - abstract <= set(names(key))
        for name in names(key):
            assert find(key, name, "here") == (getattr(room, name), None)
    assert {"convex", "recommended"} <= set(names("player")) <= set(players.__all__)
    assert set(names("epochs")) == {"Doubling", "Single"}
    assert set(MEMBERS) == {*rooms, "player", "epochs"}
    assert "convex_rate" in TUNINGS


@pytest.mark.parametrize("key", ["domain", "losses", "delays", "learner", "scheduler", "epochs"])
def test_every_constructor_with_a_name_of_its_own_can_be_named(key):
    table = MEMBERS[key]
    for name, kind in table.items():
        own = {way for way, made in vars(kind).items() if isinstance(made, classmethod) and not way.startswith("_")}
        listed = {other.partition(".")[2] for other in table if other.startswith(f"{name}.")}
        assert own - {"complete", "make"} == listed, name


def test_members_of_members(tmp_path):
    spec = check(
        "learner",
        {"type": "BOLD", "base": {"type": "OGD", "rate": {"type": "Power", "scale": 1, "exponent": 0.5}}},
        "x",
    )
    assert spec["base"]["rate"]["type"] == "Power"
    assert check("learner", {"type": "DORM", "hint": "last"}, "x") == {"type": "DORM", "hint": "last"}
    assert list(parameters_of(find("learner", "OGD.falling", "x")[0])) == ["domain", "gradient_bound"]


@given(count=st.integers(1, 20))
@settings(max_examples=20)
def test_tasks_part_a_sweep(tmp_path_factory, count):
    sweep = sweep_of(tmp_path_factory.mktemp("tasks"))
    shares = [share(sweep, (i, count)) for i in range(1, count + 1)]
    together = [cell for one in shares for cell in one]
    assert sorted(together) == sorted(sweep.contents)
    sizes = [len(one) for one in shares]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "-1/2", ""])
def test_tasks_that_are_none(text):
    with pytest.raises(ValueError, match="task must be i/n with i from 1 to n"):
        parse_task(text)


@pytest.mark.parametrize("name", ["file", "type"])
def test_a_player_of_any_name_joins_those_included(tmp_path, name):
    (tmp_path / "base.toml").write_text(GAME + PLAYER)
    sweep = sweep_of(tmp_path, f"include = ['base.toml']\nseeds = 1\n[players.{name}]\nplayer = 'convex'\n")
    assert [cell.columns["player"] for cell in sweep.cells] == ["p", name]


def test_the_last_seed_there_is(tmp_path):
    sweep = sweep_of(tmp_path, f"seeds = [{2**63 - 1}]\n" + GAME + PLAYER)
    assert plan_frame(sweep)["first_seed"].to_list() == [2**63 - 1]
    assert play_cell("a", sweep.cells[0].content)["seed"] == [2**63 - 1]


@pytest.mark.parametrize(
    ("rate", "sentence"),
    [
        ("-3.0", "learner, DWFTRL: rate must be positive and finite, got -3.0"),
        ("{type = 'Power', scale = -1.0, exponent = 0.5}", "learner.rate, Power: scale must be positive and finite"),
    ],
)
def test_a_refused_value_is_said_with_its_key(tmp_path, rate, sentence):
    sweep = sweep_of(tmp_path, f"{GAME}[players.p]\nlearner = {{type = 'DWFTRL', rate = {rate}}}\n")
    assert sentence in refusal(sweep.cells[0].content)
