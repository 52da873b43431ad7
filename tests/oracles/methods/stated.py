"""Tunings, bounds and orders of the methods as their sources state them, for :mod:`tests.oracles.methods`.

T rounds in blocks of n, D the diameter, G the largest gradient, λ the strong convexity, d the total delay.
"""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Any

import numpy as np

from tarry.game import Record
from tarry.learners import DWFTRL, FPL, ONS, AdaFTRL
from tarry.rates import BestOfBoth
from tests.oracles import theory


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
    """(G²/λ) Σ(½ + σ_t)/t."""
    age = np.arange(1, game.horizon + 1)
    return float(steepness(game) ** 2 / curve(game) * np.sum((0.5 + game.delays.backlog()) / age))


def of_ftl(game: Any) -> float:
    """(G′/λ) Σ_n (G′/2 + G o_n)/n, G′ = G + λD, o_n the rounds still out at the n-th arrival, which is in round t_n."""
    rounds = np.arange(1, game.horizon + 1)
    out = np.sort(rounds + game.delays.values) - rounds
    steep, more = steepness(game), steepness(game) + curve(game) * float(game.domain.diameter)
    return float(more / curve(game) * np.sum((0.5 * more + steep * out) / rounds))


def of_langford(game: Any) -> float:
    """(2 + 1/(2τ))·GD√(τT)."""
    late = game.delays.max_delay
    return (2 + 0.5 / late) * reach(game) * sqrt(late * game.horizon)


def of_dogdsc(game: Any, share: float = 1.0) -> float:
    """(G/(cλ)) Σ_v N_v (G N_v/2 + (G + cλD) o_v)/n_v: N_v arrive in round v, n_v up to then, o_v are out after it.

    At most (1/c)(G²/(2λ) + (G(G + cλD)/λ)σ_max)(1 + ln T), c the share.
    """
    steep, more = steepness(game), steepness(game) + share * curve(game) * float(game.domain.diameter)
    rounds = np.arange(1, game.horizon + 1)
    news = np.bincount(rounds + game.delays.values, minlength=game.horizon + 1)[1:]
    come = np.cumsum(news)
    terms = news * (0.5 * steep * news + more * (rounds - come)) / np.maximum(come, 1)
    return float(steep / (share * curve(game)) * np.sum(terms))


def late_newton(horizon: float, length: float) -> float:
    """n ln(1 + T/(2n)): what is let pass before the first step grows with the delay."""
    return length * log(1 + horizon / (2 * length))


def newton_steps(game: Any) -> ONS:
    """γ = λ/G², ε = max{1/(γD)², 2τG²}."""
    steep = steepness(game)
    curvature = curve(game) / steep**2
    floor = max((curvature * float(game.domain.diameter)) ** -2, 2 * game.delays.max_delay * steep**2)
    return ONS(game.domain, curvature, floor)


def of_newton(game: Any, record: Record) -> float:
    """γεD²/2 + (k/(2γ))(1 + 3√2·τ(1 + γGD)) ln(1 + G²T/(kε))."""
    learner, steep, k = newton_steps(game), steepness(game), game.dimension
    late = 3 * sqrt(2) * game.delays.max_delay * (1 + learner.curvature * reach(game))
    start = learner.curvature * learner.floor * float(game.domain.diameter) ** 2 / 2
    return start + k / (2 * learner.curvature) * (1 + late) * log(1 + steep**2 * game.horizon / (k * learner.floor))


def of_adagrad(game: Any, record: Record) -> float:
    """√2·GD√(T + 2d + 2τ(4τ + 1)), in one dimension."""
    tau = game.delays.max_delay
    return sqrt(2) * reach(game) * sqrt(waited(game, 2) + 2 * tau * (4 * tau + 1))


def of_best_of_both(game: Any, record: Record) -> float:
    """2 min{(G²/λ) Σσ_t/(t−1), GD√(2d)} + (G²/(2λ))H_T."""
    age, scale = np.arange(1, game.horizon), steepness(game) ** 2 / curve(game)
    curved = scale * float(np.sum(game.delays.backlog()[1:] / age))
    flat = reach(game) * sqrt(2 * game.delays.total_delay)
    return 2 * min(curved, flat) + scale / 2 * float(np.sum(1 / age) + 1 / game.horizon)


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


def of_adaftrl(game: Any, record: Record) -> float:
    """(1 + λr²/2)√(D² + 1/λ)·G√T, nothing late."""
    return AdaFTRL(game.domain).regret_factor * steepness(game) * sqrt(game.horizon)


def of_matching(game: Any, record: Record) -> float:
    """√Σ(m_t² + 2 m_t Σ_{B_t} m_s), m_t = ‖⟨g_t, x_t⟩1 − g_t‖₂ of the plays made."""
    rows = np.array([game.losses.row(t) for t in range(1, game.horizon + 1)])
    size = np.linalg.norm(np.sum(rows * record.plays(), axis=1, keepdims=True) - rows, axis=1)
    own, pairs = theory.backlog_sums(size, game.delays.values, np.ones(game.horizon))
    return sqrt(own + 2 * pairs)


def sizes_of(game: Any) -> dict[str, Any]:
    """T and d, as tunings ask for them."""
    return {"horizon": game.horizon, "total_delay": game.delays.total_delay}


def of_entropy(game: Any, record: Record) -> float:
    """√(2 ln K·(T + 2d))."""
    return sqrt(2 * log(game.dimension) * waited(game, 2))


def of_exp3(game: Any, record: Record) -> float:
    """2√(ln K·(K·T + d)), and γK·T where the learner explores."""
    own = 2 * sqrt(log(game.dimension) * (waited(game, 1) + (game.dimension - 1) * game.horizon))
    return own + float(record.player.learner.exploration * game.dimension * game.horizon)


def copies_rate(game: Any, copies: int) -> float:
    """√(ln K/(K·⌈T/n⌉)): Exp3's without delay, in n copies."""
    return sqrt(log(game.dimension) / (game.dimension * ceil(game.horizon / copies)))


def of_copies(game: Any, copies: int) -> float:
    """2n√(ln K·K·⌈T/n⌉)."""
    return 2 * copies * log(game.dimension) / copies_rate(game, copies)


def on_choices(game: Any) -> FPL:
    """FPL for losses of which one entry is 1 and the rest 0."""
    return FPL.tuned(
        game.domain, size=1.0, span=1.0, width=2.0, horizon=game.horizon, total_delay=game.delays.total_delay
    )


def both_rates(game: Any) -> DWFTRL:
    """The rate that is no worse than the better of curvature and regularisation."""
    return DWFTRL(game.domain, BestOfBoth(curve(game), steepness(game), game.domain.diameter))
