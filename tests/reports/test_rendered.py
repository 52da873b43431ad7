"""Pages in a browser: figures there, nothing asked of the network, no complaints, readable on light, dark and paper."""

from __future__ import annotations

import re

import pytest
from chromium import Browser
from sweep_tables import tables

from tarry.reports.sweeps import Story, make_report, save_report
from tarry.reports.view import view

pytest.importorskip("vl_convert")

FIGURES = "[...document.querySelectorAll('figure > svg')].map(s => s.getBoundingClientRect().height)"
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


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    seen = view(*tables({"VarOpt": 1.0, "Pareto": 3.0, "a <b>bold</b> & name": 2.0}, means=(10, 40)))
    made = make_report(seen, Story("made up", "tarry sweep run x.toml", 18, 18, file="seeds = 4 # <script>"))
    folder = tmp_path_factory.mktemp("report")
    save_report(made, folder, ["html"])
    return made, folder / "index.html"


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


@pytest.mark.parametrize("dark", [False, True])
def test_figures_are_there_and_nothing_else_is_asked_for(browser, report, dark):
    made, page = report
    sight = browser.open(page, dark=dark)
    assert sight.requests == [page.as_uri()]
    assert sight.complaints == []
    heights = browser.ask(FIGURES)
    assert len(heights) == len(made.figures) >= 7
    assert min(heights) > 80
    assert sight.picture.startswith(b"\x89PNG")
    assert browser.ask("document.querySelectorAll('script, b').length") == 0
    assert browser.ask(STICKING_OUT) == 0
    assert browser.ask(HIDDEN) <= 0


@pytest.mark.parametrize("dark", [False, True])
def test_ink_is_told_from_its_ground(browser, report, dark):
    browser.open(report[1], dark=dark)
    found = browser.ask(COLOURS)
    ground = found["ground"] if dark else "rgb(255, 255, 255)"
    assert (luminance(ground) < 0.1) == dark
    assert min(contrast(text, ground) for text in found["text"]) > 4.5
    assert min(contrast(line, ground) for line in set(found["lines"]) - grid(dark)) > 1.8


def grid(dark):
    """Lines that are meant to be faint."""
    return {"rgb(51, 51, 51)", "rgb(92, 92, 92)"} if dark else {"rgb(228, 228, 228)", "rgb(184, 184, 184)"}


def test_a_narrow_screen_and_paper(browser, report):
    browser.open(report[1], width=400, dark=True)
    assert browser.ask(HIDDEN) <= 0
    assert browser.print().startswith(b"%PDF")
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.ask("getComputedStyle(document.querySelector('svg text')).fill") == "rgb(34, 34, 34)"
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
