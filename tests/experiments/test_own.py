"""Members of one's own in sweeps: named, hashed, shipped, replayed; and what a wrong file is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from sweeping import sweep_of, tables_of
from test_mymethods import *  # noqa: F403  the contracts of the folder that docs tell to copy

from tarry.experiments import Folder, load_sweep, make_engine, run_sweep
from tarry.experiments import own as own_members
from tarry.experiments.play import build_game, build_player, play_cell, refusal

EXAMPLE = Path(__file__).parents[2] / "examples" / "members"
SMALL = """
members = ["MODULE.py"]
seeds = 2
checkpoints = 3
[games.ball]
horizon = 40
dimension = 2
capacity = 4
losses = { type = "Linear", rows = "drifting" }
delays = { type = "RushHour", period = 6 }
[players.mine]
learner = { type = "Momentum", rate = 0.1 }
scheduler = "FairCoin"
[players.theirs]
learner = { type = "DWFTRL", rate = 0.1 }
"""


@pytest.fixture
def mine(tmp_path, request):
    """A copy of the example's module under a name of its own, and a function that edits it and reads the sweep."""
    name = f"copied_{request.node.name.partition('[')[0]}"
    file = tmp_path / f"{name}.py"
    shutil.copy(EXAMPLE / "mymethods.py", file)

    def read(*edits, text=SMALL):
        said = file.read_text()
        for old, new in edits:
            assert old in said
            said = said.replace(old, new)
        file.write_text(said)
        return sweep_of(tmp_path, text.replace("MODULE", name))

    return read


def ids(sweep):
    return {cell.columns["player"]: cell.id for cell in sweep.cells}


def test_the_folder_to_copy_plays(tmp_path):
    text = (EXAMPLE / "own.toml").read_text().replace("horizon = 400", "horizon = 60").replace("seeds = 4", "seeds = 2")
    shutil.copytree(EXAMPLE, tmp_path / "members")
    (tmp_path / "members" / "mymethods.py").rename(tmp_path / "members" / "folder_to_copy.py")
    sweep = sweep_of(tmp_path / "members", text.replace("mymethods.py", "folder_to_copy.py"))
    folder = Folder(tmp_path / "results")
    assert run_sweep(sweep, folder).failed == {}
    tables = folder.tables()
    played = tables.cells.join(tables.runs, on="cell")
    assert set(played["learner_played"]) == {"Momentum", "DWFTRL"}
    assert set(played["scheduler_played"]) == {"VarOpt", "FairCoin"}
    assert "class Momentum" in folder.text()  # the code is kept with the results


def test_a_cell_holds_the_hash_of_its_members_code(mine):
    first = ids(mine())
    assert (
        ids(mine(('"""A scheduler: heads', '"""A scheduler (a coin): heads'), ("return 2.0", "return 2.0  # twice")))
        == first
    )
    coin = ids(mine(("return 2.0", "return 4.0 / 2.0")))
    assert coin["mine"] != first["mine"]
    assert coin["theirs"] == first["theirs"]  # no scheduler of ours in it
    law = ids(mine(("t % self.period, self", "(t + 1) % self.period, self")))
    assert law["theirs"] != first["theirs"]  # both play against the delays
    assert law["mine"] != coin["mine"]


def test_old_cells_refuse_new_code(mine):
    old = {cell.columns["player"]: cell for cell in mine().cells}["mine"]
    mine(("return 2.0", "return 3.0"))
    with pytest.raises(ValueError, match=r"the code of FairCoin in .* has changed since the sweep was listed"):
        play_cell(old.id, old.content)
    assert "has changed" in refusal(old.content)


def test_files_beside_it_are_read_hashed_and_shipped(mine, tmp_path):
    (tmp_path / "beside_mine.py").write_text("FACTOR = 2.0\nUNUSED = 1\n")
    edits = (
        ("return 2.0", "return FACTOR"),
        ("from math import sqrt", "from math import sqrt\nfrom beside_mine import FACTOR"),
    )
    first = mine(*edits)
    (tmp_path / "beside_mine.py").write_text("FACTOR = 2.0\nUNUSED = 7\n")
    assert ids(mine()) == ids(first)
    (tmp_path / "beside_mine.py").write_text("FACTOR = 1.0\nUNUSED = 7\n")
    assert ids(mine())["mine"] != ids(first)["mine"]
    sent = own_members.texts_for(cell.content for cell in first.cells)
    assert {name for home in sent.values() for name in home.texts} == {
        f"{next(iter(sent)).rpartition('/')[2][:-3]}",
        "beside_mine",
    }
    assert all(not home.members for home in sent.values())


def test_a_cell_holds_the_values_that_verbs_read(mine, tmp_path):
    (tmp_path / "factor.txt").write_text("2.0")
    text = f"\nimport pathlib\nFACTOR = float(pathlib.Path({str(tmp_path / 'factor.txt')!r}).read_text())"
    first = ids(mine(("return 2.0", "return FACTOR"), ("from math import sqrt", f"from math import sqrt{text}")))
    assert ids(mine()) == first
    (tmp_path / "factor.txt").write_text("4.0")
    again = ids(mine(("return FACTOR", "return FACTOR * 1.0")))  # what has not changed is not run again
    back = ids(mine(("return FACTOR * 1.0", "return FACTOR")))
    assert len({first["mine"], again["mine"], back["mine"]}) == 3
    assert first["theirs"] == again["theirs"] == back["theirs"]


def test_files_that_functions_will_import_are_hashed_shipped_and_found(mine, tmp_path):
    later = tmp_path / "later_of_mine.py"
    later.write_text("def half(): return 0.5\n")
    where = "        return cls(domain, 0.1"
    edit = (where, f"        from later_of_mine import half\n{where.replace('0.1', '0.2 * half()')}")
    text = SMALL.replace('{ type = "Momentum", rate = 0.1 }', '"Momentum.careful"')
    first = mine(edit, text=text)
    sent = own_members.texts_for(cell.content for cell in first.cells)
    assert "later_of_mine" in next(iter(sent.values())).texts
    assert [refusal(cell.content) for cell in first.cells] == ["", ""]  # found, though its folder is on no path
    later.write_text("def half(): return 0.25\n")
    second = mine(text=text)
    assert ids(second)["mine"] != ids(first)["mine"]
    content = json.loads({cell.columns["player"]: cell for cell in second.cells}["mine"].content)
    game, _ = build_game(content["game"], 0)
    assert build_player(content["player"], game).learner.rate == 0.2 * 0.25 / (1.0 + game.delays.max_delay)


def test_workers_run_the_texts_that_are_sent(mine, tmp_path, monkeypatch):
    """As on another machine: there is no file, and the names are not known."""
    sweep = mine()
    cell = {cell.columns["player"]: cell for cell in sweep.cells}["mine"]
    here = play_cell(cell.id, cell.content)
    sent = own_members.texts_for([cell.content])
    next(tmp_path.glob("copied_*.py")).unlink()
    monkeypatch.setattr(own_members, "_homes", {})
    monkeypatch.setattr(own_members, "_known", {})
    with pytest.raises(ValueError, match="which no sweep that is loaded names"):
        play_cell(cell.id, cell.content)
    own_members.receive(sent)
    own_members.receive(sent)  # with every task
    there = play_cell(cell.id, cell.content)
    assert there["regret"].tolist() == here["regret"].tolist()


@pytest.mark.slow
def test_all_engines_agree(mine, tmp_path):
    pytest.importorskip("distributed")
    sweep = mine()
    one = tables_of(sweep, tmp_path / "threads", make_engine("threads", 2))
    assert tables_of(sweep, tmp_path / "processes", make_engine("processes", 2)) == one


def test_modules_and_single_members_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(own_members.sources, "IMPORTED", float("inf"))  # the example may have been edited just now
    name = "mymethods"  # on Python's path, as the contracts above import it
    whole = sweep_of(tmp_path, SMALL.replace("MODULE.py", name))
    some = sweep_of(tmp_path, SMALL.replace("MODULE.py", f'{name}:Momentum", "{name}:FairCoin", "{name}:RushHour'))
    assert ids(some) == ids(whole)
    for cell in (*whole.cells, *some.cells):
        assert refusal(cell.content) == ""
    with pytest.raises(ValueError, match="there is no member 'FairCoin'"):
        sweep_of(tmp_path, SMALL.replace("MODULE.py", f'{name}:Momentum", "{name}:RushHour'))


def test_ways_rates_and_nested_members(mine):
    text = SMALL.replace('{ type = "Momentum", rate = 0.1 }', '{ type = "BOLD", base = "Momentum.careful" }')
    cell = {cell.columns["player"]: cell for cell in mine(text=text).cells}["mine"]
    content = json.loads(cell.content)
    game, _ = build_game(content["game"], 0)
    player = build_player(content["player"], game)
    assert player.learner.base.rate == 0.1 / (1.0 + game.delays.max_delay)
    with pytest.raises(ValueError, match="there is no way to make Momentum 'carefl', did you mean 'careful'"):
        mine(text=text.replace("careful", "carefl"))


def test_includes_name_members_too(mine, tmp_path):
    first = ids(mine())
    text = (tmp_path / "tiny.toml").read_text()
    line, rest = text.strip().partition("\n")[::2]
    (tmp_path / "base.toml").write_text(line)
    (tmp_path / "other.toml").write_text(f'include = ["base.toml"]\n{rest}')
    assert ids(load_sweep(tmp_path / "other.toml")) == first


@pytest.mark.parametrize(
    ("beside", "holder"),
    [
        ("sweeping", "a module that is loaded"),  # of these tests
        ("random", "a module of Python's"),
        ("antigravity", "a module of Python's"),
        ("scipy", "a module that is loaded"),
    ],
)
@pytest.mark.parametrize("lazy", ["", "def f():\n    "])
def test_a_file_that_would_lose_to_another_module_is_told(tmp_path, beside, holder, lazy):
    code = "from tarry.schedulers.base import Scheduler\nclass Shadowing(Scheduler): pass"
    (tmp_path / "shadowing_file.py").write_text(f"{lazy}import {beside}.parts\n{code}")
    (tmp_path / f"{beside}.py").write_text("x = 1")
    with pytest.raises(ValueError, match=rf"imports {beside}, and .*{beside}.py has the name of {holder}.*: rename"):
        sweep_of(tmp_path, SMALL.replace("MODULE", "shadowing_file"))


def test_files_beside_two_sweeps_are_told_apart(tmp_path):
    code = "from tarry.schedulers.base import Scheduler\nfrom near_both import X\nclass Near(Scheduler): pass"
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        (folder / f"near_{folder.name}.py").write_text(code.replace("Near", f"Near{folder.name}"))
        (folder / "near_both.py").write_text(f"X = {folder.name!r}")
    assert own_members.load_home("near_a.py", tmp_path / "a", "members").members
    with pytest.raises(ValueError, match=r"b/near_both.py has the name of a module that is loaded \(.*a/near_both.py"):
        own_members.load_home("near_b.py", tmp_path / "b", "members")
    (tmp_path / "b" / "near_both.py").rename(tmp_path / "b" / "near_one.py")
    mended = (tmp_path / "b" / "near_b.py").read_text().replace("near_both", "near_one")
    (tmp_path / "b" / "near_b.py").write_text(mended)
    assert own_members.load_home("near_b.py", tmp_path / "b", "members").members


@pytest.mark.parametrize(
    ("named", "code", "sentence"),
    [
        ("absent_file.py", None, r"members: .*absent_file.py cannot be read: No such file"),
        ("broken_file.py", "def f(:", r"broken_file.py cannot be run: SyntaxError"),
        ("raising_file.py", "x = 1\ny = x / 0", r"raising_file.py cannot be run \(line 2\): ZeroDivisionError"),
        ("empty_file.py", "x = 1", "empty_file.py has no member: a class that inherits Learner"),
        ("random.py", "x = 1", "random.py has the name of another module"),
        ("my-file.py", "x = 1", "my-file.py has the name of another module, or of none"),
        ("no.such.module", None, "no.such.module cannot be imported: ModuleNotFoundError"),
        (
            "same_name.py",
            "from tarry.schedulers.base import Scheduler\nclass VarOpt(Scheduler): pass",
            "has a member VarOpt, which Tarry has too: give yours another name",
        ),
    ],
)
def test_wrong_files_are_told(tmp_path, named, code, sentence):
    if code is not None:
        (tmp_path / named).write_text(code)
    with pytest.raises(ValueError, match=sentence):
        sweep_of(tmp_path, SMALL.replace("MODULE.py", named))


def test_a_sweep_that_names_no_members_runs_none(mine, tmp_path):
    mine()
    text = SMALL.replace('members = ["MODULE.py"]\n', "")
    with pytest.raises(ValueError, match="there is no member 'RushHour'"):
        sweep_of(tmp_path, text)
