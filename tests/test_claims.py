"""Numbers on the pages are those of docs/figures.json, which commands wrote, and so is the picture of the README."""

from __future__ import annotations

import math
import re
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

import pytest

from studies import numbers
from studies.claims import ROOT, is_shown, plain, read_claims, rewritten, shown, update_pages, values_of
from studies.figures import MAKE, PANELS, PARTS, PICTURES, RUNS, believed_by_slots, front_pictures, score_values
from studies.flights import flights
from studies.measure import measure, quiet
from studies.numbers import read_numbers, write_numbers
from tarry.planning.policies import find_policy

NUMBERS = read_numbers()
VALUES = values_of(NUMBERS)
CLAIMS, UNCLAIMED = read_claims()
CLAIMED = [(page, line) for page, claim in CLAIMS for line in shown(claim, VALUES)]
# Pages of reference are definitions, and most are written when the site is built.
PATHS = [ROOT / "README.md", *(path for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts)]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PATHS}
FORMAL = tuple(f"docs/{name}.md" for name in ("bibliography", "bounds", "methods", "notation", "paper", "proofs"))
MEASURED = re.compile(r"\d\.\d|\d%")


def tables(text):
    """The rows of each table, the heads first, without the line under them."""
    bare = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    for is_row, lines in groupby(bare.splitlines(), lambda line: line.startswith("|")):
        if is_row and len(rows := [plain(line) for line in lines]) > 2:
            yield [rows[0], *rows[2:]]


def uncovered(page, text):
    """What is measured and no claim: rows of tables, and prose, but for the constants of formal pages."""
    claims = sorted((claim for where, claim in CLAIMED if where == page), key=len, reverse=True)
    others = [one for one in UNCLAIMED if one["page"] == page]
    heads = tuple(plain(head) for one in others for head in one.get("tables", ()))
    texts = [plain(text) for one in others for text in one.get("texts", ())]
    rows = [row for head, *rows in tables(text) if not (heads and head.startswith(heads)) for row in rows]
    prose = plain(re.sub(r"^```.*?^```|^\|.*?$", "", text, flags=re.S | re.M)) if page not in FORMAL else ""
    for known in (*claims, *texts):
        rows, prose = [row.replace(known, "") for row in rows], prose.replace(known, "")
    code = re.compile(r"`[^`]*`")
    found = [row for row in rows if MEASURED.search(code.sub("", row))]
    return found + re.findall(r".{,40}\d\.\d.{,20}", code.sub("", prose))


@pytest.mark.parametrize("page", sorted({page for page, _ in CLAIMED}))
def test_page_shows_the_values_of_the_file(page):
    text = plain(TEXTS[page])
    assert [claim for where, claim in CLAIMED if where == page and not is_shown(claim, text)] == []


def test_a_longer_number_is_another_one():
    assert is_shown("4.8 against 2.1", "It is 4.8 against 2.1.")
    assert not any(
        is_shown("4.8 against 2.1", text) for text in ("14.8 against 2.1", "4.8 against 2.17", "0.4.8 against 2.1")
    )


def grown(value):
    """The value with every number further from 0 by 2, those in lines of tables too."""
    if isinstance(value, dict):
        return {key: grown(one) for key, one in value.items()}
    if isinstance(value, list):
        return [value[0], *map(grown, value[1:])] if str(value[0]).startswith("| ") else [grown(one) for one in value]
    if isinstance(value, str):
        return re.sub(r"(?<![\w.])\d+(?=\.\d)", lambda whole: str(int(whole[0]) + 2), value)
    return value if isinstance(value, bool) else value + math.copysign(2, value)


def test_pages_take_new_values_and_old_ones_back(tmp_path, monkeypatch):
    claims = {"docs/claims.toml": (ROOT / "docs" / "claims.toml").read_text(encoding="utf-8")}
    for page, text in (TEXTS | claims).items():
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text(text, encoding="utf-8")
    monkeypatch.setattr("studies.claims.ROOT", tmp_path)
    other = {name: {**part, "values": grown(part["values"])} for name, part in NUMBERS.items()}
    assert update_pages(NUMBERS, other) == []
    values = values_of(other)
    for page, claim in CLAIMS:
        text = plain((tmp_path / page).read_text(encoding="utf-8"))
        assert all(is_shown(line, text) for line in shown(claim, values)), (page, claim)
    assert update_pages(other, NUMBERS) == []
    changed = {page for page, text in TEXTS.items() if (tmp_path / page).read_text(encoding="utf-8") != text}
    assert changed == set()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A page of one line, its claims, and the numbers that it shows."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "page.md").write_text("It is 4.8, of 7.\n", encoding="utf-8")
    claims = '[[claims]]\npage = "page.md"\nshown = ["is {games[one]:.1f}", "of {games[two][0]:d}"]\n'
    (tmp_path / "docs" / "claims.toml").write_text(claims, encoding="utf-8")
    monkeypatch.setattr("studies.claims.ROOT", tmp_path)
    monkeypatch.setattr(numbers, "NUMBERS", tmp_path / "docs" / "figures.json")
    write_numbers("games", "python -m games --write", {"one": 4.8, "two": [7]})
    return tmp_path


@pytest.mark.parametrize("name", ["page.md", "docs/figures.json"])
def test_a_reader_of_a_file_that_is_written_has_it_whole(folder, name):
    old = (folder / name).read_text(encoding="utf-8")
    with (folder / name).open(encoding="utf-8") as reader:
        write_numbers("games", "python -m games --write", {"one": 5.1, "two": [7]})
        assert reader.read() == old
    assert "5.1" in (folder / name).read_text(encoding="utf-8")


def test_claims_are_read_when_numbers_are_written(folder):
    (folder / "docs" / "claims.toml").write_text("claims = []", encoding="utf-8")
    write_numbers("games", "python -m games --write", {"one": 5.1, "two": [7]})
    assert (folder / "page.md").read_text(encoding="utf-8") == "It is 4.8, of 7.\n"


@pytest.mark.parametrize(
    "values",
    [{"one": 5.1}, *({"one": 5.1, "two": two} for two in ([], 8, [8.5], None))],
    ids=["no key", "no item", "no list", "no whole number", "nothing"],
)
def test_a_claim_that_new_values_do_not_fill_is_left_by_hand_and_others_are_changed(folder, values, capsys):
    write_numbers("games", "python -m games --write", values)
    assert capsys.readouterr().err == "change by hand: page.md: of {games[two][0]:d}\n"
    assert (folder / "page.md").read_text(encoding="utf-8") == "It is 5.1, of 7.\n"
    # Back again the old values do not fill it: only a key that they do not have is none to tell of.
    write_numbers("games", "python -m games --write", {"one": 5.2, "two": [7]})
    assert len(capsys.readouterr().err.splitlines()) == ("two" in values)
    assert (folder / "page.md").read_text(encoding="utf-8") == "It is 5.2, of 7.\n"


def test_two_commands_that_write_at_once_are_both_kept(folder, monkeypatch):
    pytest.importorskip("fcntl")

    def slowly():
        found = read_numbers()
        time.sleep(0.1)
        return found

    monkeypatch.setattr(numbers, "read_numbers", slowly)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: write_numbers(name, "python -m games --write", {"one": 1}), ("a", "b")))
    assert read_numbers().keys() == {"games", "a", "b"}


def test_numbers_are_kept_where_files_have_no_locks(folder, monkeypatch):
    monkeypatch.setattr(numbers, "fcntl", None)
    write_numbers("a", "python -m games --write", {"one": 1})
    assert read_numbers().keys() == {"games", "a"}


@pytest.mark.parametrize("page", sorted(TEXTS))
def test_every_measured_number_is_a_claim(page):
    assert uncovered(page, TEXTS[page]) == [], "write it with a command, and say so in docs/claims.toml"


@pytest.mark.parametrize("other", UNCLAIMED, ids=lambda one: one["page"])
def test_what_is_named_as_unclaimed_is_there_with_its_reason(other):
    text = plain(TEXTS[other["page"]])
    assert other["why"]
    assert [one for key in ("tables", "texts") for one in other.get(key, ()) if plain(one) not in text] == []


@pytest.mark.parametrize("is_row", [True, False], ids=["row", "prose"])
@pytest.mark.parametrize("page", ["README.md", "docs/explanation/models.md", "docs/speed.md", "docs/measured.md"])
def test_a_wrong_number_and_a_new_table_are_noticed(page, is_row):
    claims = [line for where, line in CLAIMED if where == page and line.startswith("|") == is_row]
    right = max((line for line in claims if re.search(r"\d\.\d", line)), key=len)
    wrong = re.sub(r"\d(?=\.\d)", lambda digit: str((int(digit[0]) + 1) % 10), right, count=1)
    assert uncovered(page, rewritten(TEXTS[page], right, wrong))
    assert uncovered(page, TEXTS[page] + "\n| a | b |\n|---|---|\n| faster by | 17.3 |\n") == ["| faster by | 17.3 |"]


def test_every_row_of_expectations_in_the_readme_is_a_claim():
    text = TEXTS["README.md"].partition("## What to expect")[2].partition("\n## ")[0]
    (_, *rows), *_ = tables(text)
    claims = [claim for page, claim in CLAIMED if page == "README.md"]
    assert len(rows) == 5
    for row in rows:
        assert any(row.startswith(claim) for claim in claims), row


def test_every_part_has_its_command_and_day():
    assert MAKE.keys() == RUNS.keys() <= NUMBERS.keys()
    for name, part in NUMBERS.items():
        assert re.match(r"(WRITE_NUMBERS=1 .*)?python -m (studies|benchmarks|pytest)", part["command"])
        assert "--write" in part["command"] or "WRITE_NUMBERS=1" in part["command"] or name in PARTS
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", part["date"])
        assert part.keys() <= {"command", "date", "values", "machine"}, "as write_numbers leaves it, not by hand"
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
    places = [(row["policy"], row["slots"], row["panel"] == PANELS[0]) for row in rows[:4]]
    assert places == [("VarOpt", slots, is_recorded) for slots in (2, 4) for is_recorded in (True, False)]
    assert len(rows) == 16
