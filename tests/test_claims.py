"""Numbers on the pages are those of docs/figures.json, which commands wrote, and so is the picture of the README."""

from __future__ import annotations

import re
import string
import tomllib
from itertools import groupby
from pathlib import Path

import pytest

from studies.figures import MAKE, PICTURES, RUNS, believed_by_slots, front_pictures, score_values
from studies.flights import flights
from studies.measure import measure, quiet
from studies.numbers import read_numbers
from tarry.planning.policies import find_policy

ROOT = Path(__file__).parents[1]
TOLD = tomllib.loads((ROOT / "docs" / "claims.toml").read_text(encoding="utf-8"))
NUMBERS = read_numbers()


class Rows(list):
    """Lines of a table, and the cells of one by its beginning and their heads: rows["relapse | window"]["river"]."""

    def __getitem__(self, key):
        if not isinstance(key, str):
            return super().__getitem__(key)
        (line,) = (line for line in self if line.startswith(f"| {key} |"))
        return dict(zip(*(each.strip("| ").split(" | ") for each in (self[0], line)), strict=True))


def with_rows(value):
    """A value of the file, in which lines of tables are Rows."""
    if isinstance(value, dict):
        return {key: with_rows(one) for key, one in value.items()}
    return Rows(value) if isinstance(value, list) and str(value[0]).startswith("| ") else value


VALUES = {name: with_rows(part["values"]) for name, part in NUMBERS.items()}
VALUES |= {f"{name}_command": part["command"] for name, part in NUMBERS.items()}
# Pages of reference are definitions, and most are written when the site is built.
PATHS = [ROOT / "README.md", *(path for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts)]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PATHS}
STARTS = ("README.md", "docs/index.md", "docs/start/", "docs/explanation/")  # of pages whose prose is compared, too
MEASURED = re.compile(r"\d\.\d|\d%")


def plain(text):
    """The text without what pages write otherwise than Python: line breaks, blanks before per cents, minus signs."""
    return re.sub(r"(\d) %", r"\1%", " ".join(text.replace("\N{MINUS SIGN}", "-").split()))


def filled(row):
    return plain(row.format(**VALUES))


def table_of(name):
    return [plain(line) for line in string.Formatter().get_field(name, (), VALUES)[0]]


CLAIMED = [(claim["page"], filled(row)) for claim in TOLD["claims"] for row in claim.get("shown", ())]
CLAIMED += [
    (claim["page"], line) for claim in TOLD["claims"] for name in claim.get("tables", ()) for line in table_of(name)
]


def tables(text):
    """The rows of each table, the heads first, without the line under them."""
    bare = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    for is_row, lines in groupby(bare.splitlines(), lambda line: line.startswith("|")):
        if is_row and len(rows := [plain(line) for line in lines]) > 2:
            yield [rows[0], *rows[2:]]


def uncovered(page, text):
    """What is measured and no claim: rows of tables, and on pages that are compared as a whole also prose."""
    claims = sorted((claim for where, claim in CLAIMED if where == page), key=len, reverse=True)
    others = [one for one in TOLD["unclaimed"] if one["page"] == page]
    heads = tuple(plain(head) for one in others for head in one.get("tables", ()))
    texts = [plain(text) for one in others for text in one.get("texts", ())]
    rows = [row for head, *rows in tables(text) if not (heads and head.startswith(heads)) for row in rows]
    prose = plain(re.sub(r"^```.*?^```|^\|.*?$", "", text, flags=re.S | re.M)) if page.startswith(STARTS) else ""
    for known in (*claims, *texts):
        rows, prose = [row.replace(known, "") for row in rows], prose.replace(known, "")
    code = re.compile(r"`[^`]*`")
    found = [row for row in rows if MEASURED.search(code.sub("", row))]
    return found + re.findall(r".{,40}\d\.\d.{,20}", code.sub("", prose))


def is_shown(claim, text):
    """Whether a text has these words, and no longer numbers at their ends."""
    before = r"(?<![\d.,])" if claim[0].isdigit() else ""
    after = r"(?!\d|[.,]\d)" if claim[-1].isdigit() else ""
    return re.search(before + re.escape(claim) + after, text) is not None


@pytest.mark.parametrize("page", sorted({page for page, _ in CLAIMED}))
def test_page_shows_the_values_of_the_file(page):
    text = plain(TEXTS[page])
    assert [claim for where, claim in CLAIMED if where == page and not is_shown(claim, text)] == []


def test_a_longer_number_is_another_one():
    assert is_shown("4.8 against 2.1", "It is 4.8 against 2.1.")
    assert not any(
        is_shown("4.8 against 2.1", text) for text in ("14.8 against 2.1", "4.8 against 2.17", "0.4.8 against 2.1")
    )


@pytest.mark.parametrize("page", sorted(TEXTS))
def test_every_measured_number_in_a_table_is_a_claim(page):
    assert uncovered(page, TEXTS[page]) == [], "write it with a command, and say so in docs/claims.toml"


@pytest.mark.parametrize("other", TOLD["unclaimed"], ids=lambda one: one["page"])
def test_what_is_named_as_unclaimed_is_there_with_its_reason(other):
    text = plain(TEXTS[other["page"]])
    assert other["why"]
    assert [one for key in ("tables", "texts") for one in other.get(key, ()) if plain(one) not in text] == []


@pytest.mark.parametrize(
    ("page", "right", "wrong"),
    [
        ("README.md", "| 14.6 |", "| 14.7 |"),
        ("docs/explanation/models.md", "+59.6 (5.1)*", "+58.6 (5.1)*"),
        ("docs/speed.md", "| 23.0 |", "| 24.0 |"),
        ("docs/measured.md", "| 1.29 |", "| 1.28 |"),
        ("docs/explanation/when-not.md", "4.8 against 2.1", "4.9 against 2.1"),
    ],
)
def test_a_wrong_number_and_a_new_table_are_noticed(page, right, wrong):
    assert right in TEXTS[page]
    assert uncovered(page, TEXTS[page].replace(right, wrong, 1))
    assert uncovered(page, TEXTS[page] + "\n| a | b |\n|---|---|\n| faster by | 17.3 |\n") == ["| faster by | 17.3 |"]


def test_every_row_of_expectations_in_the_readme_is_a_claim():
    text = TEXTS["README.md"].partition("## What to expect")[2].partition("\n## ")[0]
    (_, *rows), *_ = tables(text)
    claims = [claim for page, claim in CLAIMED if page == "README.md"]
    assert len(rows) == 3
    for row in rows:
        assert any(row.startswith(claim) for claim in claims), row


def test_every_part_has_its_command_and_day():
    assert MAKE.keys() == RUNS.keys() <= NUMBERS.keys()
    for name, part in NUMBERS.items():
        assert re.match(r"(WRITE_NUMBERS=1 .*)?python -m (studies|benchmarks|pytest)", part["command"])
        assert "--write" in part["command"] or "WRITE_NUMBERS=1" in part["command"] or name in MAKE
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", part["date"])
        assert part.get("machine") or not part["command"].startswith("python -m benchmarks ")


def test_pictures_are_drawn_from_the_numbers():
    for file, drawn in front_pictures(NUMBERS["flights"]["values"]).items():
        assert (PICTURES / file).read_text(encoding="utf-8") == drawn, "run python -m studies figures flights"


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", ["VarOpt", "drop newest"])
def test_the_command_gives_these_numbers_again(name):
    """One policy of the whole year: sums agree to rounding on every machine."""
    stored = NUMBERS["flights"]["values"]["policies"][name]
    with quiet():
        again = score_values(measure(flights(), find_policy(name), 8, RUNS["flights"]))
    assert again == pytest.approx(stored, rel=1e-4)


def test_policies_of_the_picture_are_played_at_every_number_of_slots(monkeypatch):
    monkeypatch.setattr("studies.figures.SLOTS", (2, 4))
    from studies.cases import flights_case

    with quiet():
        rows = believed_by_slots(flights_case(first=400), 2, lambda _: None)
    assert [(row["policy"], row["slots"]) for row in rows[:3]] == [("VarOpt", 2), ("VarOpt", 4), ("drop newest", 2)]
    assert len(rows) == 8
