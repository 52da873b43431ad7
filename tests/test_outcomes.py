"""Fates and answers are numbers that read as words."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tarry import Answer, Fate


@pytest.mark.parametrize("word", [*Fate, *Answer])
def test_they_read_as_their_names(word):
    assert str(word) == f"{word}" == "{}".format(word) == word.name  # noqa: UP032
    assert f"{word:>12}" == word.name.rjust(12)


def test_they_are_numbers_still():
    assert Answer(Fate.EXPIRED) is Answer.EXPIRED
    assert Answer.EXPIRED == Fate.EXPIRED == 4
    assert json.dumps([Answer.LATE]) == "[8]"
    assert np.arange(6)[Fate.PENDING] == 5
