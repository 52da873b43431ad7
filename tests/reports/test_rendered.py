"""Pages in a browser: figures there, nothing asked of the network, no complaints, readable on light, dark and paper."""

from __future__ import annotations

import re

import numpy as np
import pytest
from chromium import Browser
from sweep_tables import tables
from sweeping import PAIR, sweep_of

from tarry.experiments import Folder, run_sweep
from tarry.experiments.replays import replay_lines
from tarry.experiments.table1 import Measured, claims
from tarry.reports.summaries import ranking
from tarry.reports.sweeps import Story, make_report, save_report
from tarry.reports.table1 import save_table1
from tarry.reports.view import view
from tarry.results.exponents import fit_exponent

pytest.importorskip("vl_convert")

FIGURES = "[...document.querySelectorAll('figure > svg')].map(s => s.getBoundingClientRect().height)"
SECTIONS = "[...document.querySelectorAll('section:has(svg)')].map(s => s.id)"
LETTERS = "[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().height).filter(h => h > 0)"
COLOURS = """(() => {
    const seen = (e, what) => getComputedStyle(e)[what];
    const texts = [...document.querySelectorAll('svg text')].map(t => seen(t, 'fill'));
    const lines = [...document.querySelectorAll('svg path[stroke^="#"]')].map(p => seen(p, 'stroke'));
    return {ground: seen(document.body, 'backgroundColor'), text: texts, lines: lines};
})()"""
STICKING_OUT = """[...document.querySelectorAll('svg')].filter(svg => {
    const box = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].some(text => {
        const one = text.getBoundingClientRect();
        return one.width > 0 && (one.left < box.left - 1 || one.right > box.right + 1
            || one.top < box.top - 1 || one.bottom > box.bottom + 1);
    });
}).length"""
HIDDEN = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    yield made
    made.close()


STORY = Story("made up", "tarry sweep run x.toml", 18, 18, file="seeds = 4 # <script>")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """By name: a report of made up tables, one with replays of games that were played, and Table 1."""
    folder = tmp_path_factory.mktemp("pages")
    seen = view(*tables({"VarOpt": 1.0, "Pareto": 3.0, "a <b>bold</b> & name": 2.0}, means=(10, 40)))
    page, *_ = save_report(make_report(seen, STORY), folder / "report", ["html"])
    results = Folder(folder / "results")
    run_sweep(sweep_of(folder, PAIR), results)
    played = view(*results.tables())
    again, _note = replay_lines(played.cells, played.runs, ranking(played), played.runs, lambda _line: None)
    replayed, *_ = save_report(make_report(played, STORY, again), folder / "replayed", ["html"])
    table1, *_ = save_table1(verdicts(), folder / "table1", "tarry table1 --quick")
    return {"report": page, "replayed": replayed, "table1": table1}


def verdicts():
    """Table 1 with a claim of every verdict."""
    x = np.array([1.0, 10.0, 100.0])
    found = [fit_exponent(x, np.stack([x**c.exponent, 1.1 * x**c.exponent], axis=1)) for c in claims()]
    made = [Measured(claim, one, 3) for claim, one in zip(claims(), found, strict=True)]
    made[0] = Measured(made[0].claim, None, reason="2 of 4 cells are not finished")
    made[1] = Measured(made[1].claim, None, 4, "only 2 of 4 means are positive")
    changes = [{"slope": 0.9, "low": 0.8, "high": 1.0}, {"slope": 0.1, "low": 0.0, "high": 0.2}, {"low": -0.3}]
    for i, change in enumerate(changes, 4):
        made[i] = made[i]._replace(found=made[i].found._replace(**change))
    return made


EXPECTED = {
    "report": {"regret", "bounds", "regret-capacity", "regret-load", "weights", "occupancy", "fates"},
    "replayed": {"regret", "comparators", "tracked", "timeline", "survival", "fates"},
    "table1": set(),
}
BOTH = pytest.mark.parametrize("dark", [False, True])
EVERY = pytest.mark.parametrize("name", EXPECTED)


def luminance(colour):
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_a_planted_fault_is_seen(browser, tmp_path):
    page = tmp_path / "bad.html"
    image, script = "<img src='http://tarry.invalid/a.png'>", "<script>console.error('planted'); nowhere()</script>"
    page.write_text(f"{image}{script}<svg width=200 height=50><text x=190 y=20>cut off here</text></svg>")
    sight = browser.open(page)
    assert "http://tarry.invalid/a.png" in sight.requests
    assert any("planted" in text for text in sight.complaints)
    assert len(sight.complaints) >= 3
    assert browser.ask(STICKING_OUT) == 1


@BOTH
@EVERY
def test_figures_are_there_and_nothing_else_is_asked_for(browser, pages, name, dark):
    sight = browser.open(pages[name], dark=dark)
    assert sight.requests == [pages[name].as_uri()]
    assert sight.complaints == []
    heights = browser.ask(FIGURES)
    assert EXPECTED[name] <= set(browser.ask(SECTIONS))
    assert len(heights) == pages[name].read_text(encoding="utf-8").count("<svg") >= max(1, len(EXPECTED[name]))
    assert min(heights) > 80
    assert sight.picture.startswith(b"\x89PNG")
    assert browser.ask("document.querySelectorAll('script, b').length") == 0
    assert browser.ask(STICKING_OUT) == 0
    assert browser.ask(HIDDEN) <= 0


@BOTH
@EVERY
def test_ink_is_told_from_its_ground(browser, pages, name, dark):
    browser.open(pages[name], dark=dark)
    found = browser.ask(COLOURS)
    ground = found["ground"] if dark else "rgb(255, 255, 255)"
    assert (luminance(ground) < 0.1) == dark
    assert min(contrast(text, ground) for text in found["text"]) > 4.5
    assert min(contrast(line, ground) for line in set(found["lines"]) - grid(dark)) > 1.8


def grid(dark):
    """Lines that are meant to be faint."""
    return {"rgb(51, 51, 51)", "rgb(92, 92, 92)"} if dark else {"rgb(228, 228, 228)", "rgb(184, 184, 184)"}


@EVERY
def test_a_narrow_screen(browser, pages, name):
    """The page fits; figures keep the size of their letters, and are moved sideways."""
    browser.open(pages[name], width=400, dark=True)
    assert browser.ask(HIDDEN) <= 0
    assert min(browser.ask(LETTERS)) > 9
    assert browser.ask("document.querySelector('figure').scrollWidth") > 400


@EVERY
def test_paper(browser, pages, name):
    browser.open(pages[name], dark=True)
    assert browser.print().startswith(b"%PDF")
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.ask("getComputedStyle(document.querySelector('svg text')).fill") == "rgb(34, 34, 34)"
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
