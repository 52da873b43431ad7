"""Methods that choose among finitely many actions: experts and arms."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from tarry.learners import (
    BOLD,
    DORM,
    DUB,
    ODFTRL,
    AdaHedgeD,
    DORMPlus,
    EntropicFTRL,
    Exp3,
    Interleaving,
    TsallisFTRL,
)
from tests.oracles.hard import arms, choices, lagged, sides
from tests.oracles.methods.stated import (
    copies_rate,
    of_copies,
    of_entropy,
    of_exp3,
    of_matching,
    on_choices,
    root,
    sizes_of,
    waited,
)
from tests.oracles.promises import Method, Tight

SHORT = (2**8, 2**10, 2**12, 2**13)
DRAWN: dict[str, Any] = {"patterns": ("coins", "one way"), "horizons": SHORT, "lengths": (4, 16, 64), "long": 2**13}
"""For methods that draw their plays: means over shorter games."""


ACTIONS: dict[str, Method] = {
    "FPL": Method(
        on_choices,
        root,
        lambda game, record: 2 * sqrt(2 * waited(game, 1)),
        Tight(256, length=8, seeds=200),
        stage=choices,
        **DRAWN,
        seeds=75,
    ),
    "EntropicFTRL": Method(
        lambda game: EntropicFTRL.tuned(game.dimension, **sizes_of(game)),
        root,
        of_entropy,
        Tight(4096, length=8),
        stage=sides,
    ),
    "ODFTRL.entropic": Method(
        lambda game: ODFTRL.tuned_entropic(game.dimension, **sizes_of(game)),
        root,
        of_entropy,
        Tight(4096, length=8),
        stage=sides,
    ),
    "DORM": Method(lambda game: DORM(game.dimension), root, of_matching, Tight(2048, length=8), stage=sides),
    "DORMPlus": Method(lambda game: DORMPlus(game.dimension), root, of_matching, Tight(2048, length=8), stage=sides),
    "AdaHedgeD": Method(lambda game: AdaHedgeD(game.dimension), root, stage=sides),
    "DUB": Method(lambda game: DUB(game.dimension), root, stage=sides, lengths=(4, 8, 16, 32, 64)),
    "Exp3": Method(
        lambda game: Exp3.tuned(game.dimension, **sizes_of(game)),
        root,
        of_exp3,
        Tight(1024, length=16, run=1024, seeds=10),
        stage=arms,
        **DRAWN,
        seeds=75,
    ),
    "Exp3, exploring": Method(
        lambda game: Exp3.exploring(game.dimension, **sizes_of(game)),
        root,
        of_exp3,
        Tight(1024, length=16, run=1024, seeds=10),
        stage=arms,
        **DRAWN,
        seeds=50,
    ),
    "BOLD(Exp3)": Method(
        lambda game: BOLD(Exp3(game.dimension, copies_rate(game, game.delays.max_backlog + 1))),
        root,
        lambda game, record: of_copies(game, game.delays.max_backlog + 1),
        Tight(1024, length=4, run=1024, seeds=10),
        stage=arms,
        **DRAWN,
        seeds=50,
    ),
    "Interleaving(Exp3)": Method(
        lambda game: Interleaving(
            Exp3(game.dimension, copies_rate(game, game.delays.max_delay + 1)), game.delays.max_delay
        ),
        root,
        lambda game, record: of_copies(game, game.delays.max_delay + 1),
        Tight(1024, length=4, run=1024, seeds=10),
        stage=arms,
        waits=lagged,
        **DRAWN,
        seeds=50,
    ),
    "TsallisFTRL": Method(
        lambda game: TsallisFTRL(game.dimension),
        root,
        lambda game, record: (
            4 * sqrt(game.dimension * game.horizon) + sqrt(8 * game.delays.total_delay * log(game.dimension))
        ),
        Tight(4096, length=128, run=2048, seeds=5),
        stage=arms,
        **DRAWN | {"patterns": ("coins",)},
        seeds=50,
    ),
}
