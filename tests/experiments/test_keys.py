"""The keys of games and players are one list, wherever they are spoken of."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import polars as pl
import pytest

import tarry
from tarry.experiments.columns import CELLS, CURVES, GAME_KEYS, GAME_PARTS, GAME_RULES, PLAYER_KEYS, RUNS
from tarry.experiments.tables import GameTable, PlayerTable
from tarry.reports.view import PLAIN, WORDY

PAGE = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")


def test_the_file_and_the_columns_have_the_same_keys():
    assert tuple(GameTable.model_fields) == GAME_KEYS
    assert set(PlayerTable.model_fields) == {*PLAYER_KEYS, "player"} - {"ready"}
    assert {*GAME_KEYS, *PLAYER_KEYS} <= set(CELLS)
    assert all(CELLS[name] == pl.String for name in (*GAME_PARTS, *PLAYER_KEYS))


def test_what_names_settings_and_rows_leaves_no_key_out():
    assert sorted((*PLAIN, *WORDY)) == sorted(GAME_KEYS)


def test_the_game_itself_has_them():
    taken = set(inspect.signature(tarry.Game).parameters)
    # Sizes of rounds come from a user's own data, in Python.
    assert taken - {"sizes"} == {*GAME_PARTS, *GAME_RULES, "capacity"}


def test_the_page_lists_them():
    listed = PAGE.split("**The keys of a game** are ")[1].split("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == set(GAME_KEYS)


@pytest.mark.parametrize(("name", "table"), [("cells", CELLS), ("runs", RUNS), ("curves", CURVES)])
def test_the_page_lists_every_column_with_its_type(name, table):
    told = PAGE.split(f"**{name}**: one row for each")[1].split("\n\n**")[0].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \| (\w+) \|", told, re.MULTILINE) == [(n, str(kind)) for n, kind in table.items()]
