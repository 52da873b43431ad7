"""Every method of docs/methods.md with a stated regret: its tuning, its bound, its order. Another is one more entry.

T rounds in blocks of n, D the diameter, G the largest gradient, λ the strong convexity, d the total delay.
"""

from __future__ import annotations

from functools import partial
from math import ceil, log, sqrt
from typing import Any

import numpy as np

from tarry import theory
from tarry.game import Record
from tarry.game.hard import arms, blind, bowl, choices, lagged, prompt, sides
from tarry.learners import (
    BOLD,
    DOGD,
    DOGDSC,
    DORM,
    DUB,
    DWFTBL,
    DWFTRL,
    FPL,
    OGD,
    SOLID,
    SOLO,
    AdaDelay,
    AdaHedgeD,
    Adaptive,
    AdaptiveRevision,
    Anytime,
    BestOfBoth,
    DORMPlus,
    EntropicFTRL,
    Exp3,
    Interleaving,
    LevelRadius,
    LevelRate,
    TsallisFTRL,
    inverse_time,
)
from tarry.testing.promises import Method, Tight

LATE = tuple(2**i for i in range(14, 21))
SHORT = tuple(2**i for i in range(8, 14))


def steepness(game: Any) -> float:
    """G."""
    return float(game.losses.gradient_bound(game.domain))


def reach(game: Any) -> float:
    """GD."""
    return steepness(game) * float(game.domain.diameter)


def curve(game: Any) -> float:
    """λ."""
    return float(game.losses.strong_convexity)


def waited(game: Any, share: float) -> float:
    """T + share·d."""
    return float(game.horizon + share * game.delays.total_delay)


def tuned_step(game: Any) -> float:
    """D/(G√(T + 2d))."""
    return float(game.domain.diameter) / (steepness(game) * sqrt(waited(game, 2)))


def root(horizon: float, length: float) -> float:
    """√(Tn), the order of √(T + 2d) in batches."""
    return sqrt(horizon * length)


def root_alone(horizon: float, length: float) -> float:
    """√T."""
    return sqrt(horizon)


def logarithm(horizon: float, length: float) -> float:
    """n ln T."""
    return length * log(horizon)


def shared_logarithm(horizon: float, length: float) -> float:
    """n(1 + ln(T/n)): n copies of a method, a logarithm each."""
    return length * (1 + log(horizon / length))


def of_hazan(game: Any, copies: int = 1) -> float:
    """n(G²/(2λ))(1 + ln(T/n)): strongly convex descent without delay, in n copies."""
    return copies * steepness(game) ** 2 / (2 * curve(game)) * (1 + log(ceil(game.horizon / copies)))


def of_zinkevich(game: Any, copies: int = 1) -> float:
    """1.5·GD·n√(T/n): descent with steps D/(G√t) without delay, in n copies."""
    return 1.5 * reach(game) * copies * sqrt(ceil(game.horizon / copies))


def of_constant_step(game: Any, rate: float) -> float:
    """D²/(2η) + ηG²(T/2 + d)."""
    return float(game.domain.diameter**2 / (2 * rate) + rate * steepness(game) ** 2 * waited(game, 2) / 2)


def of_inverse_time(game: Any, record: Record) -> float:
    """(G²/λ) Σ(½ + σ_t)/max(1, t − 1)."""
    age = np.maximum(1, np.arange(game.horizon))
    return float(steepness(game) ** 2 / curve(game) * np.sum((0.5 + game.delays.backlog()) / age))


def of_best_of_both(game: Any, record: Record) -> float:
    """2 min{(G²/λ) Σσ_t/(t−1), GD√(2d)} + (G²/(2λ))(1 + H_{T−1})."""
    age, scale = np.arange(1, game.horizon), steepness(game) ** 2 / curve(game)
    curved = scale * float(np.sum(game.delays.backlog()[1:] / age))
    flat = reach(game) * sqrt(2 * game.delays.total_delay)
    return 2 * min(curved, flat) + scale / 2 * (1 + float(np.sum(1 / age)))


def of_adadelay(game: Any, record: Record) -> float:
    """√2·D√Λ_T for gradients of one size."""
    tau = game.delays.max_delay
    return reach(game) * sqrt(2 * (waited(game, 2) + (tau + 1) * (3 * tau + 1)))


def of_solo(game: Any, record: Record) -> float:
    """(|u − x₁|²/(2·scale) + 2.75·scale)G√T + 3.5·min{scale·√(T−1), D}G, u at most D/2 away."""
    across = float(game.domain.diameter)
    scale = across / sqrt(5.5)
    per_root = across**2 / (8 * scale) + 2.75 * scale
    return steepness(game) * (per_root * sqrt(game.horizon) + 3.5 * min(scale * sqrt(game.horizon - 1), across))


def of_matching(game: Any, record: Record) -> float:
    """√Σ(m_t² + 2 m_t Σ_{B_t} m_s), m_t = ‖⟨g_t, x_t⟩1 − g_t‖₂ of the plays made."""
    rows = np.array([game.losses.row(t) for t in range(1, game.horizon + 1)])
    size = np.linalg.norm(np.sum(rows * record.plays(), axis=1, keepdims=True) - rows, axis=1)
    own, pairs = theory.backlog_sums(size, game.delays.values, np.ones(game.horizon))
    return sqrt(own + 2 * pairs)


def entropic_rate(game: Any) -> float:
    """√(ln K/(T/2 + d))."""
    return sqrt(2 * log(game.dimension) / waited(game, 2))


def exp3_rate(game: Any) -> float:
    """√(ln K/(K·T + d))."""
    return sqrt(log(game.dimension) / (waited(game, 1) + (game.dimension - 1) * game.horizon))


def on_choices(game: Any) -> FPL:
    """FPL for losses of which one entry is 1 and the rest 0."""
    return FPL.tuned(
        game.domain, size=1.0, span=1.0, width=2.0, horizon=game.horizon, total_delay=game.delays.total_delay
    )


def both_rates(game: Any) -> DWFTRL:
    """The rate that is no worse than the better of curvature and regularisation."""
    return DWFTRL(game.domain, BestOfBoth(curve(game), steepness(game), game.domain.diameter))


def steady_bandit(game: Any) -> DWFTBL:
    """DW-FTBL from one end, with a constant radius r/25 and the rate that is best for it, where nothing is late."""
    radius = game.domain.inner_radius / 25
    length = game.dimension * game.losses.value_bound(game.domain) / radius
    rate = game.domain.diameter / (length * sqrt(game.horizon))
    return DWFTBL(game.domain, rate, radius, start=game.domain.linear_minimiser(np.ones(game.dimension)))


def of_steady_bandit(game: Any, record: Record) -> float:
    """Theorem 5 for constant rate and radius, where nothing is late."""
    rate, even = steady_bandit(game).rate.value, np.ones(game.horizon)
    spread = theory.spread_of(
        value_bound=game.losses.value_bound(game.domain),
        gradient_bound=steepness(game),
        inner_radius=game.domain.inner_radius,
        dimension=game.dimension,
    )
    return theory.expected_bandit_bound(
        diameter=game.domain.diameter,
        gradient_bound=steepness(game),
        spread=spread,
        rates=rate * even,
        ratios=even / 25,
        moments=even,
        crosses=0 * even,
        backlogs=game.delays.backlog(),
    )


def anytime_bandit(game: Any) -> DWFTBL:
    """DW-FTBL that follows the observed backlog, unit weights."""
    spread = theory.spread_of(
        value_bound=game.losses.value_bound(game.domain),
        gradient_bound=steepness(game),
        inner_radius=game.domain.inner_radius,
        dimension=game.dimension,
    )
    rate = LevelRate(game.domain.diameter, steepness(game), spread, 1.0)
    return DWFTBL(game.domain, rate, LevelRadius(game.domain.inner_radius, spread, 1.0))


shallow = partial(bowl, curvature=0.1)
CURVED: dict[str, Any] = {
    "patterns": ("alternating", "waves"),
    "length": 2,
    "horizons": LATE,
    "lengths": (2, 4, 8, 16),
    "long": 2**20,
}
"""For logarithms: games so long that constants beside them do not count."""
DRAWN: dict[str, Any] = {"patterns": ("coins", "one way"), "horizons": SHORT, "lengths": (4, 16, 64), "long": 2**13}
"""For methods that draw their plays: means over shorter games."""

METHODS: dict[str, Method] = {
    "OGD.falling": Method(
        lambda game: OGD.falling(game.domain, steepness(game)),
        root_alone,
        lambda game, record: of_zinkevich(game),
        Tight(4096, run=64),
        waits=prompt,
        length=1,
        lengths=(),
    ),
    "OGD.fixed": Method(
        lambda game: OGD.fixed(game.domain, steepness(game), game.horizon),
        root_alone,
        lambda game, record: reach(game) * sqrt(game.horizon),
        Tight(4096),
        waits=prompt,
        length=1,
        lengths=(),
    ),
    "OGD.strongly_convex": Method(
        lambda game: OGD.strongly_convex(game.domain, curve(game)),
        logarithm,
        lambda game, record: of_hazan(game),
        Tight(4096, stage=shallow),
        stage=bowl,
        waits=prompt,
        length=1,
        horizons=LATE,
        lengths=(),
    ),
    "OGD.langford": Method(
        lambda game: OGD.langford(game.domain, steepness(game), game.delays.max_delay),
        root,
        lambda game, record: 2 * sqrt(2) * reach(game) * sqrt(game.delays.max_delay * game.horizon),
        Tight(4096, length=2, turn=4, run=64),
        waits=lagged,
        patterns=("waves", "alternating", "one way"),
    ),
    "DOGD.tuned": Method(
        lambda game: DOGD(game.domain, tuned_step(game)),
        root,
        lambda game, record: of_constant_step(game, tuned_step(game)),
        Tight(4096, length=8),
    ),
    "DOGD.original": Method(
        lambda game: DOGD.original(game.domain, steepness(game), game.horizon, game.delays.total_delay),
        root,
        lambda game, record: of_constant_step(game, game.domain.diameter / (steepness(game) * sqrt(waited(game, 1)))),
        Tight(4096, length=8),
    ),
    "DOGDSC": Method(
        lambda game: DOGDSC(game.domain, curve(game)),
        logarithm,
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
        waits=prompt,
        length=1,
        lengths=(),
    ),
    "FPL": Method(
        on_choices,
        root,
        lambda game, record: 2 * sqrt(2 * waited(game, 1)),
        Tight(256, length=8, seeds=200),
        stage=choices,
        **DRAWN,
        seeds=150,
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
        **CURVED | {"long": 2**22},
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
    "EntropicFTRL": Method(
        lambda game: EntropicFTRL(game.dimension, entropic_rate(game)),
        root,
        lambda game, record: sqrt(2 * log(game.dimension) * waited(game, 2)),
        Tight(4096, length=8),
        stage=sides,
    ),
    "DORM": Method(lambda game: DORM(game.dimension), root, of_matching, Tight(2048, length=8), stage=sides),
    "DORMPlus": Method(lambda game: DORMPlus(game.dimension), root, of_matching, Tight(2048, length=8), stage=sides),
    "AdaHedgeD": Method(lambda game: AdaHedgeD(game.dimension), root, stage=sides),
    "DUB": Method(lambda game: DUB(game.dimension), root, stage=sides, lengths=(4, 8, 16, 32, 64)),
    "Exp3": Method(
        lambda game: Exp3(game.dimension, exp3_rate(game)),
        root,
        lambda game, record: 2 * log(game.dimension) / exp3_rate(game),
        Tight(1024, length=16, run=1024, seeds=10),
        stage=arms,
        **DRAWN,
        seeds=150,
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
        seeds=100,
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
        stage=blind,
        patterns=("one way",),
        length=1,
        horizons=SHORT,
        lengths=(4, 16, 64, 256),
        long=2**12,
        seeds=40,
    ),
}
