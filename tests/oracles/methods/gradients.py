"""Methods that learn from gradients on convex sets."""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import Any

from tarry.domains import Box
from tarry.learners import (
    BOLD,
    DOGD,
    DOGDSC,
    DWFTRL,
    FTL,
    ODFTRL,
    OGD,
    SOLID,
    SOLO,
    AdaDelay,
    AdaFTRL,
    AdaGrad,
    Adaptive,
    AdaptiveRevision,
    FTRLProximal,
    Interleaving,
)
from tarry.rates import Anytime, inverse_time
from tests.oracles.hard import bowl, lagged, prompt, segment
from tests.oracles.methods.stated import (
    both_rates,
    curve,
    late_newton,
    logarithm,
    newton_steps,
    of_adadelay,
    of_adaftrl,
    of_adagrad,
    of_best_of_both,
    of_constant_step,
    of_dogdsc,
    of_ftl,
    of_hazan,
    of_inverse_time,
    of_langford,
    of_newton,
    of_solo,
    of_zinkevich,
    reach,
    root,
    root_alone,
    shared_logarithm,
    sizes_of,
    steepness,
    tuned_step,
    waited,
)
from tests.oracles.promises import Method, Tight

LATE = (2**14, 2**16, 2**18, 2**20)
PROMPT: dict[str, Any] = {"waits": prompt, "length": 1, "horizons": (2**10, 2**13), "lengths": ()}
"""For methods that promise nothing for delays."""
boxed = partial(segment, domain=Box(-1.0, 1.0))
shallow = partial(bowl, curvature=0.1)
CURVED: dict[str, Any] = {
    "patterns": ("alternating", "waves"),
    "length": 2,
    "horizons": LATE,
    "lengths": (2, 8, 16),
    "long": 2**20,
}
"""For logarithms: games so long that constants beside them do not count."""

GRADIENTS: dict[str, Method] = {
    "OGD.falling": Method(
        lambda game: OGD.falling(game.domain, steepness(game)),
        root_alone,
        lambda game, record: of_zinkevich(game),
        Tight(4096, run=64),
        **PROMPT,
    ),
    "OGD.fixed": Method(
        lambda game: OGD.fixed(game.domain, steepness(game), game.horizon),
        root_alone,
        lambda game, record: reach(game) * sqrt(game.horizon),
        Tight(4096),
        **PROMPT,
    ),
    "OGD.strongly_convex": Method(
        lambda game: OGD.strongly_convex(game.domain, curve(game)),
        logarithm,
        lambda game, record: of_hazan(game),
        Tight(4096, stage=shallow),
        stage=bowl,
        **PROMPT | {"horizons": LATE},
    ),
    "OGD.langford": Method(
        lambda game: OGD.langford(game.domain, steepness(game), game.delays.max_delay),
        root,
        lambda game, record: of_langford(game),
        Tight(4096, length=2, turn=4, run=64),
        waits=lagged,
        patterns=("waves", "alternating", "one way"),
    ),
    "DOGD.tuned": Method(
        lambda game: DOGD.tuned(game.domain, steepness(game), **sizes_of(game)),
        root,
        lambda game, record: of_constant_step(game, tuned_step(game)),
        Tight(4096, length=8),
    ),
    "DOGD.original": Method(
        lambda game: DOGD.original(game.domain, steepness(game), **sizes_of(game)),
        root,
        lambda game, record: of_constant_step(game, game.domain.diameter / (steepness(game) * sqrt(waited(game, 1)))),
        Tight(4096, length=8),
    ),
    "DOGDSC": Method(
        lambda game: DOGDSC(game.domain, curve(game)),
        logarithm,
        lambda game, record: of_dogdsc(game),
        Tight(4096, length=8, stage=shallow),
        stage=bowl,
        **CURVED,
    ),
    "DOGDSC.original": Method(
        lambda game: DOGDSC.original(game.domain, curve(game)),
        logarithm,
        lambda game, record: of_dogdsc(game, 0.5),
        Tight(4096, length=8, stage=shallow),
        stage=bowl,
        **CURVED,
    ),
    "ONS": Method(
        newton_steps,
        logarithm,
        of_newton,
        Tight(4096, stage=shallow),
        stage=bowl,
        **PROMPT | {"horizons": LATE},
    ),
    "ONS, late": Method(newton_steps, late_newton, of_newton, stage=bowl, **CURVED),
    "FTL": Method(
        lambda game: FTL(game.domain, curve(game)),
        logarithm,
        lambda game, record: of_ftl(game),
        Tight(4096, length=8, stage=shallow),
        stage=bowl,
        **CURVED,
    ),
    "SOLID(OGD)": Method(
        lambda game: SOLID(OGD(game.domain, tuned_step(game))),
        root,
        lambda game, record: of_constant_step(game, tuned_step(game)),
        Tight(4096, length=8),
    ),
    "Interleaving(OGD.falling)": Method(
        lambda game: Interleaving(OGD.falling(game.domain, steepness(game)), game.delays.max_delay),
        root,
        lambda game, record: of_zinkevich(game, game.delays.max_delay + 1),
        Tight(4096, length=8),
        waits=lagged,
    ),
    "Interleaving(OGD.strongly_convex)": Method(
        lambda game: Interleaving(OGD.strongly_convex(game.domain, curve(game)), game.delays.max_delay),
        shared_logarithm,
        lambda game, record: of_hazan(game, game.delays.max_delay + 1),
        Tight(4096, length=8, stage=shallow),
        stage=bowl,
        waits=lagged,
        **CURVED,
    ),
    "BOLD(OGD.falling)": Method(
        lambda game: BOLD(OGD.falling(game.domain, steepness(game))),
        root,
        lambda game, record: of_zinkevich(game, game.delays.max_backlog + 1),
        Tight(4096, length=8),
    ),
    "BOLD(OGD.strongly_convex)": Method(
        lambda game: BOLD(OGD.strongly_convex(game.domain, curve(game))),
        shared_logarithm,
        lambda game, record: of_hazan(game, game.delays.max_backlog + 1),
        Tight(4096, length=8, stage=shallow),
        stage=bowl,
        **CURVED,
    ),
    "AdaptiveRevision": Method(lambda game: AdaptiveRevision(game.domain, game.domain.diameter / 2), root),
    "AdaDelay": Method(
        lambda game: AdaDelay(game.domain, steepness(game), game.delays.max_delay),
        root,
        of_adadelay,
        Tight(4096, length=8),
    ),
    "SOLO": Method(
        lambda game: SOLO(game.domain),
        root_alone,
        of_solo,
        Tight(4096, run=75),
        **PROMPT,
    ),
    "AdaFTRL": Method(lambda game: AdaFTRL(game.domain), root_alone, of_adaftrl, Tight(4096, run=75), **PROMPT),
    "FTRLProximal.tuned": Method(
        lambda game: FTRLProximal.tuned(game.domain),
        root_alone,
        lambda game, record: sqrt(2) * reach(game) * sqrt(game.horizon),
        Tight(4096, run=64),
        stage=boxed,
        **PROMPT,
    ),
    "AdaGrad.tuned": Method(
        lambda game: AdaGrad.tuned(game.domain), root_alone, of_adagrad, Tight(4096, run=64), stage=boxed, **PROMPT
    ),
    "AdaGrad.delayed": Method(
        lambda game: AdaGrad.delayed(game.domain, steepness(game), game.delays.max_delay),
        root,
        of_adagrad,
        Tight(4096, length=8),
        stage=boxed,
    ),
    "ODFTRL.tuned": Method(
        lambda game: ODFTRL.tuned(game.domain, gradient_bound=steepness(game), **sizes_of(game)),
        root,
        lambda game, record: of_constant_step(game, tuned_step(game)),
        Tight(4096, length=8),
    ),
    "DWFTRL, tuned": Method(
        lambda game: DWFTRL(game.domain, tuned_step(game)),
        root,
        lambda game, record: of_constant_step(game, tuned_step(game)),
        Tight(4096, length=8),
    ),
    "DWFTRL, Anytime": Method(
        lambda game: DWFTRL(game.domain, Anytime(game.domain.diameter, steepness(game))),
        root,
        lambda game, record: 1.5 * reach(game) * sqrt(waited(game, 2)),
        Tight(4096, length=8),
    ),
    "DWFTRL, inverse_time": Method(
        lambda game: DWFTRL(game.domain, inverse_time(curve(game))),
        logarithm,
        of_inverse_time,
        Tight(4096, length=8, stage=shallow),
        stage=bowl,
        **CURVED,
    ),
    "DWFTRL, BestOfBoth, curved": Method(
        both_rates,
        logarithm,
        of_best_of_both,
        Tight(4096, stage=shallow),
        stage=partial(bowl, curvature=1.0),
        **CURVED | {"patterns": ("waves", "alternating"), "lengths": (2, 8, 16), "long": 2**21},
    ),
    "DWFTRL, BestOfBoth, flat": Method(
        both_rates,
        root,
        of_best_of_both,
        Tight(4096, length=128, run=724),
        stage=partial(bowl, curvature=0.01),
        patterns=("alternating", "one way"),
        length=64,
        lengths=(64, 128, 256, 512),
    ),
    "Adaptive": Method(lambda game: Adaptive(game.domain, steepness(game)), root),
}
