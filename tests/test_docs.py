"""Examples run as shown, links exist, and every member is mentioned; blocks of code are in test_blocks.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from examples import DOMAINS, LEARNERS, LOSSES, SCHEDULERS
from tarry import delays
from tarry.outcomes import WITHOUT_WEIGHTS

ROOT = Path(__file__).parents[1]
PLACES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
# Written when the site is built.
MADE = {f"reference/{name}.md" for name in ("commands", "http", "settings", "errors")} | {"gallery/index.rst"}
NAMED = {path.relative_to(ROOT).as_posix().removeprefix("docs/"): path for path in PLACES}
PAGES = {name: path.read_text(encoding="utf-8") for name, path in NAMED.items() if name not in MADE}
# Pages that say where policies without weights err.
WEIGHTLESS = ["planning.md", "choosing.md", "explanation/why-weights.md", "explanation/when-not.md"]

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TUTORIALS = sorted((ROOT / "examples" / "tutorials").glob("*.py"))


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_prints_what_is_shown(path):
    # As modules from the root: some use the studies, which stand there.
    command = [sys.executable, "-m", f"examples.{path.stem}"]
    assert _output(command, ROOT) == path.with_suffix(".out").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_runs(path, tmp_path):
    """As a script of its own; the site's build runs it too, and shows what it prints."""
    assert _output([sys.executable, str(path)], tmp_path)


def anchors(text):
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    bare = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    made = [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.*)$", bare, re.M)]
    return set(made)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_lead_somewhere(page):
    here = Path(page if page in ("README.md", "CONTRIBUTING.md") else f"docs/{page}").parent
    for target, _, anchor in re.findall(r"\]\(([^)#\s]*)(#([^)\s]+))?\)", re.sub(r"`[^`]*`", "", PAGES[page])):
        if target.startswith(("http", "mailto")):
            continue
        path = os.path.normpath(here / target) if target else ""
        inside = path.removeprefix("docs/") if target else page
        if inside in MADE or inside.startswith(("gallery/", "reference/api/")):
            continue
        assert not target or (ROOT / path).exists(), target
        if anchor:
            assert anchor in anchors(PAGES[inside]), f"{inside}#{anchor}"


@pytest.mark.parametrize("page", WEIGHTLESS)
def test_a_page_says_of_policies_without_weights_what_tables_say(page):
    assert WITHOUT_WEIGHTS in " ".join(PAGES[page].split()).lower()


def test_docs_show_the_plan_of_the_example():
    """Its sentences, and every row of the table that stands there."""
    told = (ROOT / "examples" / "04_plan.out").read_text(encoding="utf-8")
    page = " ".join(PAGES["planning.md"].split())
    *sentences, answer = (line for line in told.splitlines() if not line.startswith(" "))
    assert len(sentences) == 2
    assert all(line in page for line in [*sentences, answer])
    # Slots, share seen, what it is worth, errors.
    of_example = re.findall(r"^ +([\d,]+) slots: +([\d.]+%) seen, worth +([\d.]+%), errors x([\d.]+)$", told, re.M)
    row = r"^ +([\d,]+) +([\d.]+%) +[\d.]+ +([\d.]+%) +\d+ +×([\d.]+) +[\d.]+%$"
    of_page = re.findall(row, PAGES["planning.md"], re.M)
    assert len(of_page) > 4
    assert set(of_page) <= set(of_example)


def _output(command, folder):
    """Return what a command prints in this folder; it has to end well."""
    # Without the helpers of the tests, one of which is called examples too.
    places = [place for place in sys.path if place and Path(place).name != "support"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    options = {"capture_output": True, "text": True, "timeout": 300, "check": False}
    done = subprocess.run(command, cwd=folder, env=environment, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def members():
    made = [example.learner() for example in LEARNERS.values()] + [make() for make in LOSSES.values()]
    made += [policy.scheduler for policy in SCHEDULERS.values()] + list(DOMAINS.values())
    return {type(member).__name__: type(member) for member in made} | delays.MEMBERS


@pytest.mark.parametrize("name", sorted(members()))
def test_the_reference_lists_a_member(name):
    assert re.search(rf"`(?:\w+\.)?{name}`", PAGES["reference/api.md"]), f"add `{name}` to docs/reference/api.md"


@pytest.mark.parametrize(("name", "made"), sorted(members().items()))
def test_a_page_or_an_example_tells_of_a_member(name, made):
    """A new member begins with an example in its docstring; pages follow when there is more to say."""
    told = [text for page, text in PAGES.items() if page not in ("reference/api.md", "CONTRIBUTING.md")]
    is_told = any(re.search(rf"\b{name}\b", text) for text in told) or ">>>" in made.__doc__
    assert is_told, f"the docstring of {name} needs an example (>>>) that prints a number"
