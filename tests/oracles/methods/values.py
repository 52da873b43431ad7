"""Methods that learn from values on convex sets."""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import Any

from tarry.learners import DFTBL, DWFTBL, GOLD, Differences, OnePoint, TwoPoint
from tests.oracles.hard import blind, disc, prompt
from tests.oracles.methods.bandits import (
    anytime_bandit,
    explored,
    explored_by_cubes,
    explored_in_blocks,
    explored_on_curves,
    known,
    of_anytime_bandit,
    of_bistritz,
    of_blocks,
    of_differences,
    of_flaxman,
    of_ryabchenko,
    of_steady_bandit,
    of_two_curved_points,
    of_two_points,
    of_unlimited,
    steady_bandit,
)
from tests.oracles.methods.stated import curve, logarithm, root, root_alone, shared_logarithm, steepness
from tests.oracles.promises import Method, Tight

SHORT = (2**8, 2**10, 2**12, 2**13)
AT_ONCE: dict[str, Any] = {"waits": prompt, "length": 1, "lengths": ()}
"""For methods that promise nothing for delays."""
ONE_VALUE: dict[str, Any] = {
    "stage": disc,
    "patterns": ("still", "one way"),
    "late": ("one way",),
    "length": 1,
    "horizons": (2**10, 2**13),
    "lengths": (2**7, 2**11),
    "long": 2**12,
}
"""One value a round: exploring costs T^(3/4) where one should stay, and finding the way there as much."""
MORE_VALUES: dict[str, Any] = {
    "stage": disc,
    "patterns": ("alternating", "one way"),
    "horizons": (2**8, 2**10, 2**12),
    "lengths": (4, 16, 64),
    "long": 2**11,
}
CURVED: dict[str, Any] = {"stage": partial(disc, curvature=0.5), "patterns": ("alternating",)}
shallow = partial(disc, curvature=0.1, dimension=1)
ONE_WAY = Tight(2048, run=2048, seeds=4)

VALUES: dict[str, Method] = {
    "OnePoint.flaxman": Method(
        lambda game: OnePoint.flaxman(*known(game)),
        lambda horizon, length: horizon**0.75,
        of_flaxman,
        ONE_WAY._replace(horizon=4096, run=4096),
        **ONE_VALUE | AT_ONCE | {"patterns": ("still",)},
    ),
    "OnePoint.bistritz": Method(
        lambda game: OnePoint.bistritz(*known(game), game.delays.total_delay),
        explored_by_cubes,
        of_bistritz,
        ONE_WAY._replace(length=64),
        **ONE_VALUE,
    ),
    "OnePoint.ryabchenko": Method(
        lambda game: OnePoint.ryabchenko(*known(game), game.delays.total_delay),
        explored,
        of_ryabchenko,
        ONE_WAY._replace(length=64),
        **ONE_VALUE,
    ),
    "DFTBL.tuned": Method(
        lambda game: DFTBL.tuned(*known(game), game.delays.max_delay),
        explored_in_blocks,
        of_blocks,
        ONE_WAY._replace(length=64),
        **ONE_VALUE,
    ),
    "DFTBL.strongly_convex": Method(
        lambda game: DFTBL.strongly_convex(game.domain, curve(game), *known(game)[1:]),
        explored_on_curves,
        **ONE_VALUE | {"stage": partial(disc, curvature=1.0), "patterns": ("still",)},
    ),
    "GOLD.tuned": Method(
        lambda game: GOLD.tuned(*known(game)[:3]), explored_by_cubes, **ONE_VALUE | {"lengths": (2**6, 2**10)}
    ),
    "TwoPoint.tuned": Method(
        lambda game: TwoPoint.tuned(game.domain, steepness(game), game.horizon, game.delays.total_delay),
        root,
        of_two_points,
        ONE_WAY._replace(length=8),
        **MORE_VALUES,
    ),
    "TwoPoint.agarwal": Method(
        lambda game: TwoPoint.agarwal(game.domain, steepness(game), game.horizon), root_alone, **MORE_VALUES | AT_ONCE
    ),
    "TwoPoint.shamir": Method(
        lambda game: TwoPoint.shamir(game.domain, steepness(game), game.horizon), root_alone, **MORE_VALUES | AT_ONCE
    ),
    "TwoPoint.strongly_convex": Method(
        lambda game: TwoPoint.strongly_convex(game.domain, curve(game), game.horizon),
        logarithm,
        of_two_curved_points,
        Tight(4096, stage=shallow),
        **MORE_VALUES | AT_ONCE | CURVED,
    ),
    "Differences.tuned": Method(
        lambda game: Differences.tuned(game.domain, steepness(game), game.horizon, game.delays.total_delay),
        root,
        of_differences,
        ONE_WAY._replace(length=8, seeds=1),
        **MORE_VALUES,
    ),
    "Differences.strongly_convex": Method(
        lambda game: Differences.strongly_convex(game.domain, curve(game), game.horizon),
        shared_logarithm,
        **MORE_VALUES | CURVED | {"length": 2},
    ),
    "DWFTBL.unlimited": Method(
        lambda game: DWFTBL.unlimited(*known(game), game.delays.total_delay),
        explored,
        of_unlimited,
        **ONE_VALUE | {"patterns": ("still",)},
    ),
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
