"""Methods that learn from values on convex sets."""

from __future__ import annotations

from functools import partial
from math import sqrt

from tarry.game.hard import blind, prompt
from tarry.testing.methods.stated import (
    anytime_bandit,
    of_anytime_bandit,
    of_steady_bandit,
    root_alone,
    steady_bandit,
)
from tarry.testing.promises import Method, Tight

SHORT = tuple(2**i for i in range(8, 14))

VALUES: dict[str, Method] = {
    "DWFTBL, constant": Method(
        steady_bandit,
        root_alone,
        of_steady_bandit,
        Tight(4096, run=4096, seeds=10),
        stage=partial(blind, slope=0.6),
        waits=prompt,
        horizons=(),
        lengths=(),
    ),
    "DWFTBL, level": Method(
        anytime_bandit,
        lambda horizon, length: 2.45 * sqrt(horizon * (length - 1) / 2) + 6 * horizon**0.75,
        of_anytime_bandit,
        stage=blind,
        patterns=("one way",),
        length=1,
        horizons=SHORT,
        lengths=(4, 16, 64, 256),
        long=2**12,
        seeds=40,
    ),
}
