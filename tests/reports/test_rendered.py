"""Pages in a browser: figures there, nothing asked of the network, no complaints, readable on light, dark and paper."""

from __future__ import annotations

import re
from contextlib import ExitStack
from functools import cache

import pytest
from chromium import FONTS, launch, opened
from marking import slow_but
from playwright.sync_api import sync_playwright
from sweep_tables import tables
from sweeping import PAIR, sweep_of
from system import skip_without
from typer.testing import CliRunner

from studies.__main__ import app as studies_app
from studies.table1 import MeasuredLine, Slope, lines
from studies.table1_games import CONTROLS, PLAYER
from studies.table1_page import save_table1
from tarry.cli.app import app
from tarry.experiments import Folder, run_sweep
from tarry.reports.sweeps import Story, make_report, save_report
from tarry.reports.view import view

pytest.importorskip("vl_convert")

FIGURES = "[...document.querySelectorAll('figure > svg')].map(s => s.getBoundingClientRect().height)"
SECTIONS = "[...document.querySelectorAll('section:has(svg)')].map(s => s.id)"
LETTERS = "[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().height).filter(h => h > 0)"
COLOURS = """(() => {
    const seen = (e, what) => getComputedStyle(e)[what];
    const texts = [...document.querySelectorAll('svg text')].map(t => seen(t, 'fill'));
    const marks = ['stroke', 'fill'].flatMap(ink =>
        [...document.querySelectorAll(`svg path[${ink}^="#"]`)].map(p => seen(p, ink)));
    return {ground: seen(document.body, 'backgroundColor'), text: texts, marks: marks};
})()"""
# Texts that their picture cuts off, and pairs of texts in one picture that are written over each other.
STICKING_OUT = """[...document.querySelectorAll('svg')].flatMap(svg => {
    const box = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter(text => {
        const one = text.getBoundingClientRect();
        return one.width > 0 && (one.left < box.left - 1 || one.right > box.right + 1
            || one.top < box.top - 1 || one.bottom > box.bottom + 1);
    }).map(text => text.textContent);
})"""
OVERLAPPING = """[...document.querySelectorAll('svg')].flatMap(svg => {
    const shown = [...svg.querySelectorAll('text:not([opacity="0"])')];
    const seen = shown.map(text => [text.textContent, text.getBoundingClientRect()])
        .filter(([words, box]) => words && box.width > 0);
    return seen.flatMap(([words, a], i) => seen.slice(i + 1).filter(([, b]) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5).map(([others]) => words + ' / ' + others));
})"""
HIDDEN = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browsers(tmp_path_factory):
    """By the family of its fonts: a browser that has no other."""
    skip_without("chromium", *FONTS.values())
    with sync_playwright() as playwright, ExitStack() as stack:

        @cache
        def launched(family):
            one = launch(playwright, family, tmp_path_factory.mktemp("fonts"))
            stack.callback(one.close)
            return one

        yield launched


@pytest.fixture(scope="module")
def tabs(browsers, pages):
    """By family and name of a page: a tab that shows it, opened once."""
    with ExitStack() as stack:
        yield cache(lambda family, name: stack.enter_context(opened(browsers(family), pages(name))))


@pytest.fixture
def show(tabs, pages, family, name):
    """Show the page on a screen or on paper; it has asked for nothing but itself, and complained of nothing."""
    sight = tabs(family, name)

    def shown(*, dark=False, width=1000, media="screen"):
        sight.page.set_viewport_size({"width": width, "height": 1400})
        sight.page.emulate_media(media=media, color_scheme="dark" if dark else "light")
        return sight.page

    yield shown
    assert sight.requests == [pages(name).as_uri()]
    assert sight.complaints == []


# By name: a command that ends with where to write, and the file or folder to be written.
COMMANDS = {
    "demo": ("demo --seeds 2 --horizon 100 --out", "demo"),
    "plan": (
        "plan --model geometric --mean 10 --horizon 200 --seeds 2 --capacity 4 --capacity 8 "
        "--scheduler VarOpt --scheduler drop_oldest --chart",
        "plan.html",
    ),
    "case": ("queue --first 200 --seeds 2 --learners 0 --slots 3 --out", "case"),
}
STORY = Story("made up", "tarry sweep run x.toml", 18, 18, file="seeds = 4 # <script>")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """By name: a report of made up tables, one of a sweep that was played, Table 1, and what commands write."""
    folder = tmp_path_factory.mktemp("pages")
    return cache(lambda name: MAKERS[name](folder) if name in MAKERS else written(folder, name))


def report(folder):
    seen = view(
        *tables({"VarOpt": 1.0, "Pareto": 3.0, "a <b>bold</b> & name": 2.0}, capacities=(4, 64), means=(10, 40))
    )
    return save_report(make_report(seen, STORY), folder / "report", ["html"])[0]


def played_sweep(folder):
    results = Folder(folder / "results")
    run_sweep(sweep_of(folder, PAIR.replace("[3, 6]", "[3]")), results)
    played = view(*results.tables())
    return save_report(make_report(played, STORY), folder / "played", ["html"])[0]


def table1(folder):
    return save_table1(verdicts(), folder / "table1", "python -m studies table1 --quick")[0]


MAKERS = {"report": report, "played": played_sweep, "table1": table1}


def written(folder, name):
    """What a command writes."""
    command, file = COMMANDS[name]
    words = [word.replace("_", " ") for word in command.split()]
    done = CliRunner().invoke(studies_app if name == "case" else app, [*words, str(folder / file)])
    assert done.exit_code == 0, done.output
    return folder / file / ("" if file.endswith(".html") else "index.html")


def verdicts():
    """Table 1 with a line of every verdict."""
    made = []
    for i, line in enumerate(lines()):
        away = (0.0, 0.3, -0.3, 0.1, 0.0)[i % 5]
        own, others = (Slope(at, at - 0.05, at + 0.05, 8) for at in (line.claim + away, line.claim + 0.5 * (i % 5 < 4)))
        made.append(MeasuredLine(line, {PLAYER: own} | dict.fromkeys(CONTROLS, others)))
    return made


# By page: the sections that have to hold a figure.
EXPECTED = {
    "report": {"regret", "bounds", "regret-capacity", "weights", "occupancy", "fates"},
    "played": {"regret", "fates"},
    "table1": set(),
}
BOTH = pytest.mark.parametrize("dark", [False, True])
EACH_FONT = pytest.mark.parametrize("family", slow_but(FONTS, {"DejaVu Sans"}))  # the wider one
ANY_FONT = pytest.mark.parametrize("family", ["DejaVu Sans"])
EVERY = pytest.mark.parametrize("name", EXPECTED)
ALL = pytest.mark.parametrize("name", slow_but([*EXPECTED, *COMMANDS], {*EXPECTED, "plan"}))


def luminance(colour):
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.slow
def test_fonts_differ_in_width(browsers, tmp_path):
    page = tmp_path / "words.html"
    page.write_text("<span style='font: 100px Arial, sans-serif'>random evict *</span>")
    widths = {}
    for family in FONTS:
        with opened(browsers(family), page) as sight:
            widths[family] = sight.page.evaluate("document.querySelector('span').getBoundingClientRect().width")
    assert widths["DejaVu Sans"] > 1.1 * widths["Liberation Sans"]


@ANY_FONT
def test_a_planted_fault_is_seen(browsers, family, tmp_path):
    page = tmp_path / "bad.html"
    image, script = "<img src='http://tarry.invalid/a.png'>", "<script>console.error('planted'); nowhere()</script>"
    page.write_text(
        f"{image}{script}<svg width=200 height=50><text x=190 y=20>cut off here</text>"
        "<text x=5 y=20>one word</text><text x=9 y=20>another</text></svg>"
    )
    with opened(browsers(family), page) as sight:
        assert "http://tarry.invalid/a.png" in sight.requests
        assert any("planted" in text for text in sight.complaints)
        assert len(sight.complaints) >= 3
        assert sight.page.evaluate(STICKING_OUT) == ["cut off here"]
        assert sight.page.evaluate(OVERLAPPING) == ["one word / another"]


@EACH_FONT
@ALL
def test_figures_are_there_and_nothing_else_is_asked_for(show, pages, name):
    ask = show().evaluate
    heights = ask(FIGURES)
    sections = EXPECTED.get(name, set())
    assert sections <= set(ask(SECTIONS))
    assert len(heights) == pages(name).read_text(encoding="utf-8").count("<svg") >= max(1, len(sections))
    assert min(heights) > 80
    assert ask("document.querySelectorAll('script, b').length") == 0
    assert ask(STICKING_OUT) == []
    assert ask(OVERLAPPING) == []
    assert ask(HIDDEN) <= 0


@ANY_FONT
@BOTH
@EVERY
def test_ink_is_told_from_its_ground(show, dark):
    found = show(dark=dark).evaluate(COLOURS)
    ground = found["ground"] if dark else "rgb(255, 255, 255)"
    assert (luminance(ground) < 0.1) == dark
    assert min(contrast(text, ground) for text in found["text"]) > 4.5
    assert min(contrast(mark, ground) for mark in set(found["marks"]) - grid(dark)) > 1.8


def grid(dark):
    """Lines that are meant to be faint."""
    return {"rgb(51, 51, 51)", "rgb(92, 92, 92)"} if dark else {"rgb(228, 228, 228)", "rgb(184, 184, 184)"}


@EACH_FONT
@EVERY
def test_a_narrow_screen(show):
    """The page fits; figures keep the size of their letters, and are moved sideways."""
    ask = show(width=400, dark=True).evaluate
    assert ask(HIDDEN) <= 0
    assert min(ask(LETTERS)) > 9
    assert ask("document.querySelector('figure').scrollWidth") > 400


@ANY_FONT
@EVERY
def test_paper(show):
    ask = show(dark=True, media="print").evaluate
    assert ask("getComputedStyle(document.querySelector('svg text')).fill") == "rgb(34, 34, 34)"
    assert ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@ANY_FONT
@pytest.mark.parametrize("name", slow_but(EXPECTED, {"played"}))
def test_it_can_be_printed(show):
    assert show(dark=True, media="print").pdf(format="A4").startswith(b"%PDF")
