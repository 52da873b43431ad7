"""The inequalities behind certificates, recounted from what happened by plain double loops over arrived rounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Heard(NamedTuple):
    """A round whose feedback was used: when it was played and heard, its weight and the size of its feedback."""

    s: int
    at: int
    weight: float
    size: float


def by_gradients(heard, rates):
    """Σ ½ η m² and Σ η m_t m_s over t and s in B_t; ``rates[t]`` is η_{t−1}."""
    own = pairs = 0.0
    for t in heard:
        own += 0.5 * rates[t.s] * (t.weight * t.size) ** 2
        for s in heard:
            if s.s < t.s <= s.at:
                pairs += rates[t.s] * t.weight * t.size * s.weight * s.size
    return own, pairs


def by_arrival(heard, rates, now, epochs=None):
    """Σ ½ η_v M_v² and Σ m_s Σ_{s≤v<a(s)} η_v M_v up to round ``now``; ``rates[t]`` is η_{t−1}.

    The last round of an epoch (``epochs`` lists those of all rounds) is closed at the rate that the epoch had.
    """
    news = {v: sum(s.weight * s.size for s in heard if s.at == v) for v in range(1, now + 1)}
    is_last = {v: epochs is not None and v < len(epochs) and epochs[v] != epochs[v - 1] for v in news}
    eta = {v: rates[v] if is_last[v] else rates[v + 1] for v in news}
    own = sum(0.5 * eta[v] * news[v] ** 2 for v in news)
    moved = sum(s.weight * s.size * sum(eta[v] * news[v] for v in range(s.s, s.at)) for s in heard)
    return own, moved


def by_values(heard, rates, radii):
    """Σ ½ η (wf/δ)², Σ c√q, √(Σc · Σcq), Σ η w_t w_s and Σ wδ, all without k, M, G and r."""
    own = exact = lengths = spreads = plain = smoothed = 0.0
    for t in heard:
        own += 0.5 * rates[t.s] * (t.weight * t.size / radii[t.s]) ** 2
        smoothed += t.weight * radii[t.s]
        q = sum(s.weight**2 for s in heard if s.s < t.s <= s.at)
        c = rates[t.s] * t.weight / radii[t.s]
        exact += c * np.sqrt(q)
        lengths += c
        spreads += c * q
        plain += rates[t.s] * t.weight * sum(s.weight for s in heard if s.s < t.s <= s.at)
    return own, exact, np.sqrt(lengths * spreads), plain, smoothed


def backlogs(delays):
    """σ_t of every round, by counting."""
    n = len(delays)
    return [sum(1 for s in range(t) if s + delays[s] >= t) for t in range(n)]


def total_epochs(delays):
    """The epoch of every round under doubling over the total, from its definition, and the magnitudes."""
    totals = np.cumsum(1 + np.array(backlogs(delays)))
    levels = [next(m for m in range(99) if total <= 4.0**m) for total in totals]
    return levels, [4.0**m for m in levels]


def heard_by(record, now, size):
    """Rounds used by the end of round ``now``, from the log."""
    rows = record.events().filter(record.events()["event"] == "feedback").iter_rows(named=True)
    return [Heard(row["s"], row["t"], row["weight"], size(row["s"])) for row in rows if row["t"] <= now]


def rates_of(rule, horizon):
    """η_{t−1} by t from 1, η_0 = η_1."""
    eta = [min(rule.cap, rule.scale * t**-rule.exponent) for t in range(1, horizon + 1)]
    return dict(enumerate([eta[0], *eta], 1))
