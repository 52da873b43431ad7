"""Members of one's own in sweeps: named, hashed, imported by workers; and what a wrong module is told."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from sweeping import sweep_of, tables_of
from test_mymethods import *  # noqa: F403  the contracts of the folder that docs tell to copy

from tarry.experiments import Folder, load_sweep, make_engine, run_sweep
from tarry.experiments import own as own_members
from tarry.experiments.play import build_game, build_player, play_cell, refusal

EXAMPLE = Path(__file__).parents[2] / "examples" / "members"
SMALL = """
members = ["MODULE"]
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
def mine(tmp_path, monkeypatch, request):
    """Write the example's module with edits as a new module, and read the sweep that names it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(own_members, "_homes", {})
    monkeypatch.setattr(own_members.sources, "IMPORTED", float("inf"))  # files are written only now
    code, numbers = (EXAMPLE / "mymethods.py").read_text(), itertools.count()

    def read(*edits, text=SMALL):
        nonlocal code
        for old, new in edits:
            assert old in code
            code = code.replace(old, new)
        name = f"copied_{request.node.name.partition('[')[0]}_{next(numbers)}"
        (tmp_path / f"{name}.py").write_text(code)
        return sweep_of(tmp_path, text.replace("MODULE", name))

    return read


def ids(sweep):
    return {cell.columns["player"]: cell.id for cell in sweep.cells}


def test_the_folder_to_copy_plays(tmp_path, monkeypatch):
    monkeypatch.setattr(own_members.sources, "IMPORTED", float("inf"))  # the example may have been edited just now
    text = (EXAMPLE / "own.toml").read_text().replace("horizon = 400", "horizon = 60").replace("seeds = 4", "seeds = 2")
    folder = Folder(tmp_path / "results")
    assert run_sweep(sweep_of(tmp_path, text), folder).failed == {}
    tables = folder.tables()
    played = tables.cells.join(tables.runs, on="cell")
    assert set(played["learner_played"]) == {"Momentum", "DWFTRL"}
    assert set(played["scheduler_played"]) == {"VarOpt", "FairCoin"}


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


def test_cells_refuse_other_code(mine, monkeypatch):
    cell = {cell.columns["player"]: cell for cell in mine().cells}["mine"]
    ((name, home),) = own_members._homes.items()
    assert refusal(cell.content) == ""
    monkeypatch.setitem(own_members._homes, name, home._replace(digests=dict.fromkeys(home.digests, "other")))
    with pytest.raises(ValueError, match=r"the code of \w+ in copied_\w+ is not that of the sweep"):
        play_cell(cell.id, cell.content)
    assert "is not that of the sweep" in refusal(cell.content)


def test_modules_that_it_imports_are_hashed(mine, tmp_path):
    (tmp_path / "beside_mine.py").write_text("FACTOR = 2.0\nUNUSED = 1\n")
    edits = (
        ("return 2.0", "return FACTOR"),
        ("from math import sqrt", "from math import sqrt\nfrom beside_mine import FACTOR"),
    )
    first = ids(mine(*edits))
    (tmp_path / "beside_mine.py").write_text("FACTOR = 2.0\nUNUSED = 7\n")
    assert ids(mine()) == first
    (tmp_path / "beside_mine.py").write_text("FACTOR = 1.0\nUNUSED = 7\n")
    assert ids(mine())["mine"] != first["mine"]


def test_a_cell_holds_the_values_that_verbs_read(mine, tmp_path):
    (tmp_path / "factor.txt").write_text("2.0")
    text = f"\nimport pathlib\nFACTOR = float(pathlib.Path({str(tmp_path / 'factor.txt')!r}).read_text())"
    first = ids(mine(("return 2.0", "return FACTOR"), ("from math import sqrt", f"from math import sqrt{text}")))
    assert ids(mine()) == first
    (tmp_path / "factor.txt").write_text("4.0")
    again = ids(mine())
    assert again["mine"] != first["mine"]
    assert again["theirs"] == first["theirs"]


def test_modules_that_functions_will_import_are_hashed(mine, tmp_path):
    later = tmp_path / "later_of_mine.py"
    later.write_text("def half(): return 0.5\n")
    where = "        return cls(domain, 0.1"
    edit = (where, f"        from later_of_mine import half\n{where.replace('0.1', '0.2 * half()')}")
    text = SMALL.replace('{ type = "Momentum", rate = 0.1 }', '"Momentum.careful"')
    first = mine(edit, text=text)
    later.write_text("def half(): return 0.25\n")
    second = mine(text=text)
    assert ids(second)["mine"] != ids(first)["mine"]
    content = json.loads({cell.columns["player"]: cell for cell in second.cells}["mine"].content)
    game, _ = build_game(content["game"], 0)
    assert build_player(content["player"], game).learner.rate == 0.2 * 0.25 / (1.0 + game.delays.max_delay)


def test_workers_import_the_modules_that_cells_name(mine, monkeypatch):
    """As in another process, where no sweep was loaded."""
    cell = {cell.columns["player"]: cell for cell in mine().cells}["mine"]
    here, modules = play_cell(cell.id, cell.content), own_members.modules_for([cell.content])
    monkeypatch.setattr(own_members, "_homes", {})
    with pytest.raises(ValueError, match="which no sweep that is loaded names"):
        play_cell(cell.id, cell.content)
    own_members.import_members(modules)
    assert play_cell(cell.id, cell.content)["regret"].tolist() == here["regret"].tolist()


@pytest.mark.slow
def test_all_engines_agree(mine, tmp_path):
    pytest.importorskip("distributed")
    sweep = mine()
    one = tables_of(sweep, tmp_path / "threads", make_engine("threads", 2))
    assert tables_of(sweep, tmp_path / "processes", make_engine("processes", 2)) == one


def test_modules_and_single_members_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(own_members.sources, "IMPORTED", float("inf"))  # the example may have been edited just now
    name = "mymethods"  # on Python's path, as the contracts above import it
    whole = sweep_of(tmp_path, SMALL.replace("MODULE", name))
    some = sweep_of(tmp_path, SMALL.replace("MODULE", f'{name}:Momentum", "{name}:FairCoin", "{name}:RushHour'))
    assert ids(some) == ids(whole)
    for cell in (*whole.cells, *some.cells):
        assert refusal(cell.content) == ""
    with pytest.raises(ValueError, match="there is no member 'FairCoin'"):
        sweep_of(tmp_path, SMALL.replace("MODULE", f'{name}:Momentum", "{name}:RushHour'))


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
    ("named", "code", "sentence"),
    [
        ("absent_module", None, "members: absent_module cannot be imported: ModuleNotFoundError"),
        ("broken_module", "def f(:", "broken_module cannot be imported: SyntaxError"),
        ("raising_module", "x = 1 / 0", "raising_module cannot be imported: ZeroDivisionError"),
        ("empty_module", "x = 1", "empty_module has no member: a class that inherits Learner"),
        ("mymethods.py", None, "names a module and not a file, got 'mymethods.py': write 'mymethods'"),
        (
            "same_name",
            "from tarry.schedulers.base import Scheduler\nclass VarOpt(Scheduler): pass",
            "has a member VarOpt, which Tarry has too: give yours another name",
        ),
    ],
)
def test_wrong_modules_are_told(tmp_path, monkeypatch, named, code, sentence):
    monkeypatch.syspath_prepend(tmp_path)
    if code is not None:
        (tmp_path / f"{named}.py").write_text(code)
    with pytest.raises(ValueError, match=sentence):
        sweep_of(tmp_path, SMALL.replace("MODULE", named))


def test_a_sweep_that_names_no_members_runs_none(mine, tmp_path):
    mine()
    text = SMALL.replace('members = ["MODULE"]\n', "")
    with pytest.raises(ValueError, match="there is no member 'RushHour'"):
        sweep_of(tmp_path, text)
