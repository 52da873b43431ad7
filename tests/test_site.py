"""What the site's build adds to the pages: formulas, and a reference made from the package; and the check of a site."""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from system import skip_without

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def beside_the_settings(monkeypatch):
    """Sphinx's settings stand in docs/, and so do the modules that they use."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    yield
    for name in ("generated", "typeset", "pictured", "pages"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("E h_t = σ_t", "E h<sub>t</sub> = σ<sub>t</sub>"),
        ("Σ_{s∈B_t} w_s", "Σ<sub>s∈B<sub>t</sub></sub> w<sub>s</sub>"),
        ("R^w_T(u)", "R<sup>w</sup><sub>T</sub>(u)"),
        ("T^(3/4), 4^m", "T<sup>3/4</sup>, 4<sup>m</sup>"),
        ("`a_b` and [a](b_c.md#d_e)", "`a_b` and [a](b_c.md#d_e)"),
        ("```\na_b\n```\nx_t", "```\na_b\n```\nx<sub>t</sub>"),
        ("$$\na_b\n$$\nand $c_d$", "$$\na_b\n$$\nand $c_d$"),
        (
            "| OGD.strongly_convex | 2d_max, θ_played |",
            "| OGD.strongly_convex | 2d<sub>max</sub>, θ<sub>played</sub> |",
        ),
        ("# Restarts over d_tot", "# Restarts over d_tot"),
    ],
)
def test_indices_are_typeset_and_code_is_not(text, shown):
    from typeset import typeset

    assert typeset(text) == shown


def test_every_public_name_stands_once_in_the_reference():
    from generated import ROOMS, api_pages, public_names

    named = documented("\n".join(api_pages().values()))
    assert len(named) == len(set(named)) > 150
    things = [id(getattr(import_module(path.rpartition(".")[0]), path.rpartition(".")[2])) for path in named]
    assert len(things) == len(set(things))
    for room in ["tarry", *(f"tarry.{room}" for room in set(ROOMS) - {"adapters"})]:
        module = import_module(room)
        for name in public_names(module):
            assert id(getattr(module, name)) in things, name
    listed = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    assert set(re.findall(r"<api/(\w+)>", listed)) == {"tarry", *ROOMS}


def documented(text):
    """Return the names that directives document, those of tables and of some functions after their module's."""
    named, module = [], ""
    for told, name in re.findall(r"^\.\. (currentmodule|autoclass|autofunction|data|function):: ([\w.]+)", text, re.M):
        if told == "currentmodule":
            module = name
        else:
            named.append(f"{module}.{name}" if told in ("data", "function") else name)
    return named


def test_every_entry_of_the_reference_ends_its_first_sentence():
    from generated import api_pages

    for path in documented("\n".join(api_pages().values())):
        thing = getattr(import_module(path.rpartition(".")[0]), path.rpartition(".")[2])
        if callable(thing):
            first = (inspect.getdoc(thing) or "").split("\n\n")[0]
            assert first.endswith((".", ":", "?", "::")), path


def test_joins_and_sessions_show_what_they_take():
    import tarry

    for kind in (tarry.LabelJoin, tarry.Session):
        assert "store" in inspect.signature(kind).parameters


def test_pages_that_the_site_names_are_there():
    from pages import SUBJECTS, UNDER, place_page

    under = [name for names in UNDER.values() for name in names]
    for page in [*SUBJECTS, *UNDER, *under]:
        assert (ROOT / "docs" / f"{page}.md").is_file(), page
    top = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert not [name for name in under if f"<{name}>" in top]
    source = ["# Title\n\nText.\n# Not a title\n"]
    place_page(None, "service", source)
    assert source[0].startswith("# Title\n\n```{index} ! HTTP, ! server, ! token\n```\n")
    assert source[0].count("{index}") == 1
    assert "Shards and scale </scale>" in source[0]


def test_a_tutorial_begins_with_its_title():
    """As the gallery writes it; tests/support/site_check.py looks at the built pages."""
    from pages import place_page

    note = ".. only:: html\n\n    .. note::\n        :class: sphx-glr-download-link-note\n\n        Go to the end\n\n"
    source = [f"{note}.. _sphx_glr_gallery_01.py:\n\nConversions\n===========\n"]
    place_page(None, "gallery/01", source)
    assert source == [".. _sphx_glr_gallery_01.py:\n\nConversions\n===========\n"]


def test_the_search_is_held_to_its_first_results():
    from site_check import WORDS, misplaced

    assert misplaced("sweep", WORDS["sweep"], list(WORDS["sweep"])) == []
    assert "finds reference/api/live" in misplaced("sweep", WORDS["sweep"], ["reference/api/live"])[0]
    assert "too little" in misplaced("sweep", WORDS["sweep"], ["experiments"])[0]


def test_pages_of_the_reference_are_made_from_the_package():
    from generated import other_pages

    pages = other_pages()
    for option in ("--window", "--target", "--per-day", "--scheduler", "--engine"):
        assert f"`{option}" in pages["commands.md"], option
    assert "## `POST /v1/joins/{name}/label`" in pages["http.md"]
    assert "| `decisions` | list of Decision |" in pages["http.md"]
    assert "`TARRY_SERVE_PORT` | `8731`" in pages["settings.md"]
    assert "the River adapter needs river: pip install 'tarry[river]'" in pages["errors.md"]


def test_a_raised_sentence_is_found_and_others_are_not(tmp_path):
    from generated import sentences

    file = tmp_path / "module.py"
    file.write_text(
        'raise ValueError(f"rate must be positive, got {rate!r}: " "give 0.1")\nraise error\nraise A("x")\n'
    )
    assert list(sentences(file)) == [("ValueError", "rate must be positive, got {rate}: give 0.1")]


PAGE = '<!doctype html><html lang="en"><head><title>t</title></head><body><p>text</p>{more}</body></html>'
FAULTS = {
    "oops": "<script>console.error('oops')</script>",
    "gone.svg": '<img src="gone.svg" alt="">',
    "asks for https://example.org": '<script src="https://example.org/x.js"></script>',
    "too wide at 400": '<div style="width: 900px">wide</div>',
}


def test_the_check_of_a_page_finds_what_is_wrong(tmp_path):
    skip_without("chromium", "fonts-dejavu-core")
    from chromium import launch
    from site_check import complaints_about

    pages = {"good": "", "bad": "".join(FAULTS.values())}
    with sync_playwright() as playwright:
        browser = launch(playwright, "DejaVu Sans", tmp_path)
        folder = tmp_path / "site"
        folder.mkdir()
        found = {}
        for name, more in pages.items():
            (folder / f"{name}.html").write_text(PAGE.replace("{more}", more), encoding="utf-8")
            found[name] = complaints_about(browser, folder / f"{name}.html", folder)
        browser.close()
    assert found["good"] == []
    for told in FAULTS:
        assert any(told in one for one in found["bad"]), told


def test_docstrings_are_typeset_but_for_code_and_examples():
    from typeset import plain_signature, typeset_docstring

    lines = ["Weigh w_t by ``max_delay`` and max_delay, |x| ≤ 1.", "", ">>> x_t | 1", "x_t", "", "R^2 of σ_max"]
    typeset_docstring(None, "class", "name", None, None, lines)
    assert lines[0] == "Weigh w\\ :sub:`t`\\  by ``max_delay`` and max_delay, \\|x\\| ≤ 1."
    assert lines[2:4] == [">>> x_t | 1", "x_t"]
    assert lines[5] == "R\\ :sup:`2`\\  of σ\\ :sub:`max`\\ "
    told = "(a: ~typing.Annotated[int, functools.partial(<function as_int at 0x1>, least=1)], b: int)"
    assert plain_signature(None, "", "", None, None, told, None) == ("(a: int, b: int)", None)


def test_no_line_of_prose_reads_as_a_comment_or_a_quote():
    """A line that begins with % vanishes from the site, and one with > becomes a quote."""
    marks = re.compile(r"^\s*[%>]")
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
        assert [line for line in prose.splitlines() if marks.match(line)] == [], path
