"""docs/methods.md is one table of every method, its memory column what is allocated; classes say their updates."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import tarry
from tarry import learners, players, schedulers
from tarry.domains import Ball
from tarry.kernel import is_compiled
from tarry.learners import DWFTBL, DWFTRL, OGD, Exp3, OnePoint, Ridge, TsallisFTRL
from tarry.learners.base import allocate, rules_of
from tarry.schedulers.base import allocate as allocate_scheduler
from tarry.testing.learners import arrays_of
from tests.oracles.methods import METHODS, PLAYERS

PAGE = Path(tarry.__file__).parents[2] / "docs" / "methods.md"
pytestmark = [
    pytest.mark.skipif(not PAGE.exists(), reason="installed without its documentation"),
    pytest.mark.skipif(is_compiled(), reason="nothing in it is compiled"),
]


def _tables():
    """The page's tables, a list of dictionaries by column each."""
    tables, columns = [], None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else None
        if cells is None:
            columns = None
        elif columns is None:
            columns = cells
            tables.append([])
        elif not set(line) <= set("|-"):
            assert len(cells) == len(columns), line
            tables[-1].append(dict(zip(columns, cells, strict=True)))
    return tables


def _rows():
    """Of the methods: those that say what they keep."""
    return [row for table in _tables() for row in table if "memory" in row]


def _named():
    """Words in code in the names of rows."""
    return {
        word for row in _rows() for code in re.findall(r"`([^`]+)`", row["name"]) for word in re.findall(r"\w+", code)
    }


SHAPES = {
    **dict.fromkeys(("Constant", "Sequence", "Power", "Rule"), "rates that say nothing of a method"),
    **dict.fromkeys(("Rate", "from_first_version"), "what rates are made with"),
    **dict.fromkeys(("Euclidean", "Mahalanobis"), "norms, of DWFTRL"),
    "Recommendation": "what players say of themselves",
}


NO_LEARNERS = {
    **dict.fromkeys(("Euclidean", "Mahalanobis"), "norms"),
    "Idle": "it plays nothing",
}
WITHOUT_A_SOURCE = {"Adaptive": "this project's own, in no paper"}


@pytest.mark.parametrize("name", sorted(set(learners.__all__) - set(NO_LEARNERS)))
def test_the_class_says_its_update(name):
    """What ``help`` shows: the rule on lines of its own, who it is from, and an example."""
    told = inspect.getdoc(getattr(learners, name)) or ""
    shown = [line for line in told.partition(">>>")[0].splitlines() if line.startswith("    ")]
    assert any(set("=∝←") & set(line) for line in shown), "an indented formula"
    assert ">>>" in told
    assert bool(re.search(r"\b(19|20)\d\d\b", told)) != (name in WITHOUT_A_SOURCE), "a year"


@pytest.mark.parametrize(
    ("name", "symbols"),
    [
        ("AdaDelay", "Λ_t = |η_t = |n_s = "),
        ("AdaFTRL", "f(x) = |Δ ← |L = |Φ(L) = |Q = "),
        ("AdaHedgeD", "θ = |λ ← |gap(v, x) = "),
        ("AdaptiveRevision", "z ← |z′ ← |b_s as|is a,"),
        ("DORM", "r_s = |R = |m_t = |B_t the"),
        ("DWFTBL", "x_t = |y_{t+1} = |ĝ_t = |o the"),
        ("ODFTRL", "b_t = |e_t = |ψ(x) = |v_t = "),
        ("SOLO", "L = |Q = "),
    ],
)
def test_symbols_of_the_table_are_defined_in_the_class(name, symbols):
    told = inspect.getdoc(getattr(learners, name)) or ""
    assert [symbol for symbol in symbols.split("|") if symbol not in told] == []


@pytest.mark.parametrize("room", [learners, tarry.rates, schedulers, players])
def test_every_export_has_a_row(room):
    assert set(room.__all__) - set(SHAPES) <= _named()


def _in_code(rows, column):
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row[column])]


def test_every_learner_is_in_the_index():
    index = next(table for table in _tables() if "setting" in table[0])
    words = {word for code in _in_code(index, "members") for word in re.findall(r"\w+", code)}
    assert set(learners.__all__) - set(NO_LEARNERS) | {"Idle"} <= words


def test_every_bound_says_what_it_holds_for():
    rows = next(table for table in _tables() if "its bound holds for" in table[0])
    bounded = [name for name, method in (METHODS | PLAYERS).items() if method.bound is not None]
    assert sorted(_in_code(rows, "name")) == sorted(bounded)


def test_the_block_of_the_page_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    exec(compile(block, "docs/methods.md", "exec"), {})
    regret, bound = (float(number) for number in re.findall(r"[\d.]+", capsys.readouterr().out))
    assert 0 < regret < bound


IN_WORDS = {
    "DWFTBL, level": ("BanditRate", "BanditRadius"),
    "DWFTBL, constant": ("DWFTBL",),
    "DWFTRL, tuned": ("DWFTRL",),
}


def test_every_method_has_a_row():
    """A tuning may stand in the row of its learner, a reduction's in that of the reduction."""
    texts = [" ".join(row.values()) for row in _rows()]
    for name in METHODS:
        words = re.findall(r"\w+", name.split("(")[0].removesuffix(", curved").removesuffix(", flat"))
        wanted = IN_WORDS.get(name, words)
        assert any(all(re.search(rf"\b{word}\b", text) for word in wanted) for text in texts), name


def test_every_method_is_measured():
    measured = next(table for table in _tables() if table and "bound/regret" in table[0])
    assert [row["method"] for row in measured] == [*METHODS, *PLAYERS]


def test_the_follow_up_is_labelled():
    rows = [row for row in _rows() if "EnergyRate" in row["name"]]
    assert rows
    assert all("**unreviewed**" in row["how sure"] for row in rows)


def _method(name):
    return lambda k: METHODS[name].make(METHODS[name].sized(k, tarry.delays.fixed(horizon=8, delay=3)))


def _leader(k):
    return DWFTRL(Ball(k), 0.1)


def _bandit(k):
    return DWFTBL(Ball(k), 0.1, 0.1)


# The learner of each row with a formula; (learner, scheduler) for players. By the start of the row's name.
KEPT = {
    "`DWFTRL`": _leader,
    "`players.convex": (_leader, schedulers.Pareto()),
    "`players.strongly_convex": (_leader, schedulers.Bernoulli(probability=0.5)),
    "`players.recommended": (_leader, schedulers.VarOpt()),
    "`OGD`": _method("OGD.falling"),
    "`OGD.langford`": _method("OGD.langford"),
    "`DOGD`": _method("DOGD.tuned"),
    "`DOGDSC`": _method("DOGDSC"),
    "`AdaptiveRevision`": _method("AdaptiveRevision"),
    "`FTRLProximal`": _method("FTRLProximal.tuned"),
    "`AdaDelay`": _method("AdaDelay"),
    "`SOLO`": _method("SOLO"),
    "`AdaFTRL`": _method("AdaFTRL"),
    "`ODFTRL`": _method("ODFTRL.tuned"),
    "`FPL`": _method("FPL"),
    "`Adaptive`": _method("Adaptive"),
    "`Ridge`": lambda k: Ridge(Ball(k)),
    "`Idle`": lambda k: learners.Idle(),
    "`DWFTBL`": _bandit,
    "`DWFTBL.unlimited`": _bandit,
    "`players.bandit_convex": (_bandit, schedulers.Bernoulli(probability=0.5)),
    "`players.bandit_strongly_convex": (_bandit, schedulers.Bernoulli(probability=0.5)),
    "`players.beyond_peak_backlog": (_bandit, schedulers.DoublingBernoulli()),
    "the same for λ": (_bandit, schedulers.Bernoulli(probability=0.5)),
    "`OnePoint(base": lambda k: OnePoint(OGD(Ball(k), 0.1), 0.1),
    "FKM: ": _method("OnePoint.flaxman"),
    "FKM with delays": _method("OnePoint.bistritz"),
    "delayed → immediate: ": _method("OnePoint.ryabchenko"),
    "delayed → immediate, strongly": lambda k: learners.FTL(Ball(k), 1.0),
    "`DFTBL.tuned`": _method("DFTBL.tuned"),
    "`DFTBL.strongly_convex`": _method("DFTBL.strongly_convex"),
    "`GOLD`": _method("GOLD.tuned"),
    "`TwoPoint.tuned`": _method("TwoPoint.tuned"),
    "`TwoPoint.agarwal`": _method("TwoPoint.agarwal"),
    "`TwoPoint.strongly_convex`": _method("TwoPoint.strongly_convex"),
    "`TwoPoint.shamir`": _method("TwoPoint.shamir"),
    "`Differences.tuned`": _method("Differences.tuned"),
    "DOGD-SC from values": _method("Differences.strongly_convex"),
    "`EntropicFTRL`": _method("EntropicFTRL"),
    "`DORM`": _method("DORM"),
    "`DORMPlus`": _method("DORMPlus"),
    "`AdaHedgeD`": _method("AdaHedgeD"),
    "`DUB`": _method("DUB"),
    "`ODFTRL.entropic`": _method("ODFTRL.entropic"),
    "`Exp3`": _method("Exp3"),
    "`TsallisFTRL`": _method("TsallisFTRL"),
    "`TsallisFTRL(K": (lambda k: TsallisFTRL(k, counts="tracked"), schedulers.Skipping(3)),
    "`players.finite_actions(game)`, experts": (_method("EntropicFTRL"), schedulers.Pareto()),
    "`players.finite_actions(game)`, arms": (lambda k: Exp3(k, 0.1), schedulers.Pareto()),
    **{
        f"`{type(one).__name__}`": (lambda k: learners.Idle(), one)
        for one in (
            *(schedulers.VarOpt(), schedulers.Priority(), schedulers.Morris(0.5), schedulers.Thinning()),
            *(
                schedulers.Bernoulli(probability=0.5),
                schedulers.DoublingBernoulli(),
                schedulers.Pareto(),
                schedulers.Coin(),
            ),
            *(schedulers.Proxy([1.0, 0.5]), schedulers.Batching(9), schedulers.Always(), schedulers.Skipping(3)),
            *(schedulers.DropNewest(), schedulers.DropOldest(), schedulers.Timeout(9), schedulers.RandomEvict()),
            schedulers.Reservoir(),
        )
    },
}
COPIES = ("`SOLID(", "`BOLD(", "`Interleaving(")
"""In numbers of the base's; by copies these are not constant."""
WRITTEN_OUT = {"bandit_convex": 2, "bandit_strongly_convex": 1}
"""Players whose rate or radius is an array of T numbers: a parameter, not a state."""


def _formula(row, before):
    told = before if row["memory"] == "the same" else row["memory"]
    told = told.replace("the base's", "3k").replace("K", "k").replace("²", "**2")  # OGD's, as the base
    return told, re.sub(r"(?<=[\dk)])\s*(?=[kCT(])", "*", told)


def _counted(kept, k, slots):
    make, scheduler = kept if isinstance(kept, tuple) else (kept, None)
    parts = [allocate(make(k), slots)]
    if scheduler is not None:
        parts.append(allocate_scheduler(scheduler, slots, slots))
    return sum(part.size for part in arrays_of(tuple(parts)))


def test_memory_is_what_is_allocated():
    """Up to constants, which the page leaves out: at two dimensions and two numbers of slots."""
    before = ""
    for row in _rows():
        if row["name"].startswith(COPIES):
            continue
        start = max((one for one in KEPT if row["name"].startswith(one)), key=len)
        before, formula = _formula(row, before)
        for k, slots in ((1000, 1000), (2000, 1000), (1000, 2000)):
            said = eval(formula, {"__builtins__": {}}, {"k": k, "C": slots, "T": 0})
            assert abs(_counted(KEPT[start], k, slots) - said) < 100, (row["name"], row["memory"])


@pytest.mark.parametrize(("name", "arrays"), WRITTEN_OUT.items())
def test_sequences_are_said(name, arrays):
    told = next(row["memory"] for row in _rows() if f"players.{name}(" in row["name"])
    assert told.endswith(f"+ {arrays if arrays > 1 else ''}T")
    losses = tarry.losses.Linear(np.ones((30, 1)), ridge=1.0)
    waits = tarry.delays.fixed(horizon=30, delay=2)
    game = tarry.Game(Ball(1), losses, waits, feedback="value", capacity=4)
    learner = getattr(players, name)(game).learner
    assert [rule.values.size for rule in rules_of(learner) if isinstance(rule, tarry.rates.Sequence)] == [30] * arrays
