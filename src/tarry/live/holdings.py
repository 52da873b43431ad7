"""The arrays of a session or join: the player's state and its own counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.results import Answer

ROUNDS, ANSWERED, NAMING, ANSWERS = range(4)
SUMS = 8


class Holdings(NamedTuple):
    """``play`` is the player's state, ``counts`` are by the names above, ``sums`` those of an estimate."""

    play: Any
    counts: np.ndarray
    sums: np.ndarray


def fresh_holdings(play: Any) -> Holdings:
    """Before the first round."""
    return Holdings(play, np.zeros(ANSWERS + len(Answer), np.int64), np.zeros(SUMS))
