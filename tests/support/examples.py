"""Examples of every member, by room: what contracts, refusals and the compiled games are made of.

A new member gets a line here and is held to its room's contract, with the JIT off and compiled. The first example
of a class is the plain one: it is compiled, and its arguments are those that refusals start from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numba
import numpy as np

import tarry
from tarry import delays, domains, losses, schedulers
from tarry.domains import Ball, Box, Ellipsoid, Product, Shift, Shrink, Simplex, product
from tarry.learners import (
    BOLD,
    DFTBL,
    DOGD,
    DOGDSC,
    DORM,
    DUB,
    DWFTBL,
    DWFTRL,
    FPL,
    FTL,
    GOLD,
    ODFTRL,
    OGD,
    ONS,
    SOLID,
    SOLO,
    AdaDelay,
    AdaFTRL,
    AdaGrad,
    AdaHedgeD,
    Adaptive,
    AdaptiveRevision,
    Differences,
    DORMPlus,
    EntropicFTRL,
    Exp3,
    FTRLProximal,
    Interleaving,
    Mahalanobis,
    OnePoint,
    Ridge,
    TsallisFTRL,
    TwoPoint,
)
from tarry.rates import Anytime, BanditRadius, BanditRate, BestOfBoth, Power, Sequence, inverse_time


class Example(NamedTuple):
    """A learner's constructor, its usual dimension, and arguments that fit a dimension."""

    make: Callable[..., Any]
    dimension: int
    arguments: Callable[[int], dict[str, Any]]

    def learner(self, dimension: int | None = None) -> Any:
        """Return the learner in this dimension, or in its usual one."""
        return self.make(**self.arguments(dimension or self.dimension))


class Policy(NamedTuple):
    """A scheduler and the game it can play in; ``longest`` cuts the delays, ``epochs`` make the guess it follows."""

    scheduler: Any
    capacity: int | None = 4
    information: str = "semi-clairvoyant"
    preemption: bool = True
    saturates: bool = False
    longest: int | None = None
    epochs: Any = None


def first_of_each(examples: Mapping[str, Any], kind: Callable[[Any], Any]) -> dict[Any, str]:
    """Return the name of the first example of each kind."""
    found: dict[Any, str] = {}
    for name, example in examples.items():
        found.setdefault(kind(example), name)
    return found


def box(k):
    """[−1, 1] × [0, 2] × [−1, 1] × …"""
    return Box(np.arange(k) % 2 - 1.0, np.arange(k) % 2 + 1.0)


def off(k):
    """A ball around (1, 0, 2, 1, 0, 2, …)."""
    return Ball(k, center=np.resize([1.0, 0.0, 2.0], k))


def definite(k):
    return np.eye(k) + 0.5 * np.eye(k, k=1) + 0.5 * np.eye(k, k=-1) + np.diag(np.arange(k) == 0)


def near(k):
    """A point near the middle of a unit ball."""
    return np.resize([0.1, 0.2], k) / k


LEARNERS = {
    "DWFTRL, constant rate": Example(DWFTRL, 3, lambda k: {"domain": Ball(k), "rate": 0.3}),
    "DWFTRL, falling rate, box": Example(DWFTRL, 2, lambda k: {"domain": box(k), "rate": inverse_time(0.5)}),
    "DWFTRL, sequence, simplex": Example(
        DWFTRL, 4, lambda k: {"domain": Simplex(k), "rate": Sequence(0.5 / np.arange(1, 61))}
    ),
    "DWFTRL, Mahalanobis": Example(
        DWFTRL, 2, lambda k: {"domain": Ellipsoid(definite(k)), "rate": 0.2, "norm": Mahalanobis(definite(k))}
    ),
    "DWFTRL, one dimension": Example(DWFTRL, 1, lambda k: {"domain": Ball(k), "rate": 0.3}),
    "DWFTRL, anytime rate": Example(DWFTRL, 2, lambda k: {"domain": Ball(k), "rate": Anytime(2.0, 1.0)}),
    "DWFTRL, best of both": Example(DWFTRL, 2, lambda k: {"domain": Ball(k), "rate": BestOfBoth(0.5, 1.0, 2.0)}),
    "OGD, constant rate": Example(OGD, 3, lambda k: {"domain": Ball(k), "rate": 0.3}),
    "OGD, strongly convex, one dimension": Example(
        OGD.strongly_convex, 1, lambda k: {"domain": box(k), "strong_convexity": 0.5}
    ),
    "DOGD, constant rate": Example(DOGD, 4, lambda k: {"domain": Simplex(k), "rate": 0.3}),
    "DOGD, falling rate": Example(DOGD, 2, lambda k: {"domain": Ball(k), "rate": Power(1.0, 0.5), "start": near(k)}),
    "DOGD, anytime rate": Example(DOGD, 2, lambda k: {"domain": Ball(k), "rate": Anytime(2.0, 1.0)}),
    "DOGDSC": Example(DOGDSC, 2, lambda k: {"domain": box(k), "strong_convexity": 0.5}),
    "FTL": Example(FTL, 2, lambda k: {"domain": box(k), "strong_convexity": 0.5}),
    "ONS": Example(ONS, 3, lambda k: {"domain": Ball(k), "curvature": 0.5, "floor": 0.2}),
    "ONS, box": Example(ONS, 2, lambda k: {"domain": box(k), "curvature": 0.5, "floor": 0.2}),
    "AdaGrad": Example(AdaGrad, 2, lambda k: {"domain": box(k), "scale": 0.5}),
    "AdaGrad.delayed": Example(AdaGrad.delayed, 2, lambda k: {"domain": box(k), "gradient_bound": 1.0, "max_delay": 8}),
    "SOLID, descent": Example(SOLID, 3, lambda k: {"base": OGD(Ball(k), rate=Power(1.0, 0.5))}),
    "SOLID, leader": Example(SOLID, 2, lambda k: {"base": DWFTRL(Ball(k), rate=inverse_time(0.5), start=near(k))}),
    "Interleaving, descent": Example(Interleaving, 2, lambda k: {"base": OGD(Ball(k), rate=0.3), "delay": 3}),
    "Interleaving, leader": Example(
        Interleaving, 3, lambda k: {"base": DWFTRL(Simplex(k), rate=inverse_time(0.5)), "delay": 2}
    ),
    "BOLD, descent": Example(BOLD, 2, lambda k: {"base": DOGDSC(Ball(k), strong_convexity=0.5)}),
    "BOLD, leader": Example(BOLD, 2, lambda k: {"base": DWFTRL(box(k), rate=Power(1.0, 0.5))}),
    "BOLD, plays by slot": Example(BOLD, 3, lambda k: {"base": AdaFTRL(Simplex(k))}),
    "BOLD, blocks": Example(BOLD, 2, lambda k: {"base": DFTBL(Ball(k), rate=0.02, smoothing=0.4, block=2)}),
    "BOLD, two values": Example(BOLD, 2, lambda k: {"base": TwoPoint(OGD(Ball(k), rate=0.1), smoothing=0.1)}),
    "Interleaving, pools": Example(
        Interleaving, 2, lambda k: {"base": GOLD(Ball(k), rate=0.02, smoothing=0.3), "delay": 3}
    ),
    "Interleaving, examples": Example(
        Interleaving, 2, lambda k: {"base": Ridge(Ball(k, radius=100.0), penalty=0.5), "delay": 3}
    ),
    "SOLID, hedge": Example(SOLID, 4, lambda k: {"base": AdaHedgeD(k)}),
    "OnePoint, late quadratics": Example(
        OnePoint, 2, lambda k: {"base": FTL(Ball(k), strong_convexity=0.5), "smoothing": 0.4}
    ),
    "BOLD, arms": Example(BOLD, 3, lambda k: {"base": Exp3(k, rate=0.3)}),
    "BOLD, hybrid arms": Example(BOLD, 3, lambda k: {"base": TsallisFTRL(k)}),
    "BOLD, values": Example(BOLD, 1, lambda k: {"base": DWFTBL(Ball(k), rate=0.02, smoothing=0.4)}),
    "Interleaving, arms": Example(Interleaving, 3, lambda k: {"base": Exp3(k, rate=Power(0.3, 0.5)), "delay": 2}),
    "AdaptiveRevision": Example(AdaptiveRevision, 2, lambda k: {"domain": box(k), "scale": 0.5}),
    "AdaDelay": Example(AdaDelay, 3, lambda k: {"domain": Ball(k), "gradient_bound": 1.0, "max_delay": 8}),
    "SOLO": Example(SOLO, 4, lambda k: {"domain": Ball(k)}),
    "AdaFTRL": Example(AdaFTRL, 2, lambda k: {"domain": box(k)}),
    "AdaFTRL, simplex": Example(AdaFTRL.original, 4, lambda k: {"domain": Simplex(k)}),
    "FTRLProximal": Example(FTRLProximal, 2, lambda k: {"domain": box(k), "scale": 0.5, "floor": 1.0, "ridge": 0.3}),
    "FTRLProximal, one dimension": Example(FTRLProximal.tuned, 1, lambda k: {"domain": box(k)}),
    "FPL, simplex": Example(FPL, 4, lambda k: {"domain": Simplex(k), "spread": 2.0}),
    "FPL, ball": Example(FPL, 1, lambda k: {"domain": Ball(k), "spread": 2.0}),
    "FPL, box": Example(FPL, 2, lambda k: {"domain": box(k), "spread": 2.0}),
    "FPL, product": Example(
        FPL, 4, lambda k: {"domain": Product(Ellipsoid(definite(k - 2)), Simplex(2)), "spread": 2.0}
    ),
    "Adaptive": Example(Adaptive, 2, lambda k: {"domain": box(k), "gradient_bound": 1.0}),
    "Ridge": Example(Ridge, 3, lambda k: {"domain": Ball(k, radius=100.0), "penalty": 0.5}),
    "DWFTBL, ball": Example(DWFTBL, 2, lambda k: {"domain": Ball(k), "rate": 0.02, "smoothing": 0.4}),
    "DWFTBL, product": Example(
        DWFTBL,
        3,
        lambda k: {"domain": Product(Ball(k - 1), box(1)), "rate": Power(0.05, 0.5), "smoothing": Power(0.9, 0.25)},
    ),
    "DWFTBL, level": Example(
        DWFTBL,
        2,
        lambda k: {"domain": Ball(k), "rate": BanditRate(2.0, 1.0, 0.4, 2.0), "smoothing": BanditRadius(1.0, 0.4, 2.0)},
    ),
    "DWFTBL, backlog": Example(
        DWFTBL,
        2,
        lambda k: {
            "domain": Ball(k),
            "rate": BanditRate.for_backlog(2.0, 1.0, 0.4, None, 3),
            "smoothing": BanditRadius.for_backlog(1.0, 0.4, None, 3),
        },
    ),
    "OnePoint, descent": Example(OnePoint, 2, lambda k: {"base": OGD(Ball(k), rate=0.02), "smoothing": 0.4}),
    "OnePoint, delayed descent": Example(OnePoint, 2, lambda k: {"base": DOGD(box(k), rate=0.02), "smoothing": 0.5}),
    "OnePoint, reduction": Example(
        OnePoint, 1, lambda k: {"base": SOLID(DWFTRL(Ball(k), rate=Power(0.02, 0.5))), "smoothing": 0.3}
    ),
    "OnePoint, copies": Example(OnePoint, 3, lambda k: {"base": BOLD(OGD(Ball(k), rate=0.02)), "smoothing": 0.4}),
    "TwoPoint, delayed descent": Example(TwoPoint, 3, lambda k: {"base": DOGD(off(k), rate=0.1), "smoothing": 0.1}),
    "TwoPoint, strongly convex": Example(
        TwoPoint, 2, lambda k: {"base": DOGDSC(Ball(k), strong_convexity=0.5), "smoothing": 0.01}
    ),
    "Differences, leader": Example(
        Differences, 2, lambda k: {"base": DWFTRL(Ball(k), rate=Anytime(2.0, 1.0)), "smoothing": 0.1}
    ),
    "Differences, one dimension": Example(
        Differences, 1, lambda k: {"base": DOGDSC(box(k), strong_convexity=0.5), "smoothing": 0.1}
    ),
    "GOLD": Example(GOLD, 2, lambda k: {"domain": box(k), "rate": Power(0.05, 0.75), "smoothing": Power(0.9, 0.25)}),
    "GOLD, one dimension": Example(GOLD, 1, lambda k: {"domain": Ball(k), "rate": 0.02, "smoothing": 0.3}),
    "DFTBL, single rounds": Example(
        DFTBL, 1, lambda k: {"domain": Ball(k), "rate": 0.02, "smoothing": 0.3, "block": 1}
    ),
    "DFTBL, blocks": Example(DFTBL, 3, lambda k: {"domain": off(k), "rate": 0.02, "smoothing": 0.4, "block": 4}),
    "DFTBL, strongly convex": Example(
        DFTBL, 2, lambda k: {"domain": Ball(k), "rate": Power(0.1, 1.0), "smoothing": 0.4, "block": 3}
    ),
    "EntropicFTRL, constant rate": Example(EntropicFTRL, 4, lambda k: {"dimension": k, "rate": 0.3}),
    "EntropicFTRL, anytime rate": Example(EntropicFTRL, 3, lambda k: {"dimension": k, "rate": Anytime(1.5, 1.0)}),
    "DORM": Example(DORM, 4, lambda k: {"dimension": k}),
    "DORMPlus": Example(DORMPlus, 3, lambda k: {"dimension": k}),
    "AdaHedgeD": Example(AdaHedgeD, 4, lambda k: {"dimension": k}),
    "DUB": Example(DUB, 3, lambda k: {"dimension": k}),
    "ODFTRL": Example(ODFTRL, 1, lambda k: {"domain": Ball(k), "strength": 2.0}),
    "ODFTRL, entropy": Example(ODFTRL.entropic, 4, lambda k: {"dimension": k, "strength": 2.0}),
    "Exp3": Example(Exp3, 3, lambda k: {"dimension": k, "rate": Power(0.2, 0.5)}),
    "Exp3, exploration": Example(Exp3, 2, lambda k: {"dimension": k, "rate": 0.2, "exploration": 0.1}),
    "TsallisFTRL": Example(TsallisFTRL, 4, lambda k: {"dimension": k}),
    "TsallisFTRL, tracked": Example(TsallisFTRL, 3, lambda k: {"dimension": k, "counts": "tracked"}),
}
HINTED = {
    "DORM": (DORM, lambda k: {"dimension": k}),
    "DORMPlus": (DORMPlus, lambda k: {"dimension": k}),
    "AdaHedgeD": (AdaHedgeD, lambda k: {"dimension": k}),
    "DUB": (DUB, lambda k: {"dimension": k}),
    "ODFTRL": (ODFTRL, lambda k: {"domain": box(k), "strength": 2.0}),
    "ODFTRL, entropy": (ODFTRL.entropic, lambda k: {"dimension": k, "strength": 2.0}),
}
for _name, (_make, _arguments) in HINTED.items():
    for _hint in ("recent", "previous", "mean"):
        _hinted = partial(lambda k, arguments, hint: arguments(k) | {"hint": hint}, arguments=_arguments, hint=_hint)
        LEARNERS[f"{_name}, {_hint} hints"] = Example(_make, 3, _hinted)


def pareto_tail(t, age):
    return min(1.0, 2.0 / (age + 1.0))


SCHEDULERS = {
    "Pareto": Policy(schedulers.Pareto(2.0), information="non-clairvoyant", saturates=True),
    "Pareto, as printed": Policy(schedulers.Pareto(), capacity=12, saturates=True),
    "Bernoulli": Policy(
        schedulers.Bernoulli(probability=0.3), information="non-clairvoyant", preemption=False, saturates=True
    ),
    "Bernoulli, as printed": Policy(schedulers.Bernoulli(max_backlog=20), preemption=False, saturates=True),
    "Coin": Policy(schedulers.Coin(2.0), information="clairvoyant", preemption=False, saturates=True),
    "Proxy": Policy(schedulers.Proxy([0.9, 0.5, 0.5, 0.3, 0.1]), information="non-clairvoyant", saturates=True),
    "Proxy, by round": Policy(
        schedulers.Proxy(np.linspace(0.3, 0.6, 120)[:, None] * np.geomspace(1, 0.2, 9)), saturates=True
    ),
    "Proxy, by function": Policy(schedulers.Proxy(pareto_tail), saturates=True),
    "Proxy, level": Policy(schedulers.Proxy([[0.4], [0.2]]), preemption=False, saturates=True),
    "VarOpt": Policy(schedulers.VarOpt(), information="non-clairvoyant"),
    "VarOpt, one slot": Policy(schedulers.VarOpt(), capacity=1),
    "Priority": Policy(schedulers.Priority(), information="non-clairvoyant"),
    "Morris": Policy(schedulers.Morris(0.5), information="non-clairvoyant", preemption=False, saturates=True),
    "Thinning": Policy(schedulers.Thinning(safety=2.0), saturates=True),
    "Batching": Policy(schedulers.Batching(max_delay=30), information="non-clairvoyant", preemption=False, longest=30),
    "DoublingBernoulli": Policy(
        schedulers.DoublingBernoulli(safety=20.0), preemption=False, saturates=True, epochs=tarry.Doubling("backlog")
    ),
    "Always": Policy(schedulers.Always(), capacity=None, preemption=False),
    "DropNewest": Policy(schedulers.DropNewest(), information="non-clairvoyant", preemption=False),
    "DropOldest": Policy(schedulers.DropOldest(), information="non-clairvoyant"),
    "Timeout": Policy(schedulers.Timeout(6), information="non-clairvoyant"),
    "Skipping": Policy(schedulers.Skipping(3, patience=2.0), information="non-clairvoyant"),
    "RandomEvict": Policy(schedulers.RandomEvict(), information="non-clairvoyant"),
    "Reservoir": Policy(schedulers.Reservoir()),
}


RNG = np.random.default_rng(7)
ROWS = RNG.normal(size=(25, 3))
LABELS = RNG.normal(size=25)
SIGNS = np.where(RNG.random(25) < 0.5, -1.0, 1.0)
OFFSETS = RNG.normal(size=25)


def cubic_value(row, x):
    total = 0.0
    for i in range(x.size):
        total += abs(x[i] - row[i]) ** 3 / 3.0
    return total


def cubic_gradient(row, x, out):
    for i in range(x.size):
        out[i] = (x[i] - row[i]) * abs(x[i] - row[i])


def called_value(x, t):
    return float(np.sqrt(1.0 + t * (x @ x)))


def called_gradient(x, t):
    return t * x / np.sqrt(1.0 + t * (x @ x))


LOSSES = {
    "Linear": lambda: losses.Linear(ROWS),
    "Linear-offsets-ridge": lambda: losses.Linear(ROWS, offsets=OFFSETS, ridge=0.3),
    "Linear-drifting": lambda: losses.Linear(losses.drifting(3, rng=1)),
    "Linear-blocks": lambda: losses.Linear(losses.blocks(3, rng=1), ridge=0.2),
    "Quadratic": lambda: losses.Quadratic(ROWS, strong_convexity=0.7),
    "Quadratic-offsets-ridge": lambda: losses.Quadratic(ROWS, 0.7, offsets=OFFSETS, ridge=0.3),
    "Quadratic-drifting": lambda: losses.Quadratic(losses.Drawn.drifting_targets(3, rng=1)),
    "Quadratic-blocks": lambda: losses.Quadratic(losses.Drawn.block_targets(3, rng=1)),
    "Distance": lambda: losses.Distance(ROWS, scale=1.3),
    "Distance-smoothed": lambda: losses.Distance(ROWS, smoothing=0.5, ridge=0.1),
    "Distance-drawn": lambda: losses.Distance(losses.Drawn.block_targets(3, rng=1), ridge=0.2),
    "LeastSquares": lambda: losses.LeastSquares(ROWS, LABELS),
    "LeastSquares-ridge": lambda: losses.LeastSquares(ROWS, LABELS, ridge=0.5),
    "Logistic": lambda: losses.Logistic(ROWS, SIGNS),
    "Logistic-ridge": lambda: losses.Logistic(ROWS, (SIGNS + 1) / 2, ridge=0.5),
    "Quantile": lambda: losses.Quantile(ROWS, LABELS, level=0.9),
    "Quantile-smoothed": lambda: losses.Quantile(ROWS, LABELS, level=0.9, smoothing=0.5, ridge=0.1),
    "Absolute": lambda: losses.Absolute(ROWS, LABELS),
    "Absolute-smoothed": lambda: losses.Absolute(ROWS, LABELS, smoothing=0.5, ridge=0.1),
    "Hinge": lambda: losses.Hinge(ROWS, SIGNS),
    "Hinge-smoothed": lambda: losses.Hinge(ROWS, SIGNS, smoothing=0.5, ridge=0.1),
    "Huber": lambda: losses.Huber(ROWS, LABELS, width=0.8),
    "Huber-ridge": lambda: losses.Huber(ROWS, LABELS, width=0.8, ridge=0.5),
    "Custom": lambda: losses.Custom(
        ROWS, cubic_value, cubic_gradient, dimension=3, gradient_bound=500.0, value_bound=500.0
    ),
    "Callables": lambda: losses.Callables(
        called_value, called_gradient, dimension=3, horizon=25, gradient_bound=200.0, value_bound=200.0
    ),
}


@numba.njit
def project_on_ball(x, scratch):
    squares = 0.0
    for i in range(x.size):
        scratch[i] = x[i] * x[i]
        squares += scratch[i]
    if squares > 4.0:
        x *= 2.0 / np.sqrt(squares)


def project_on_cube(x):
    np.clip(x, 0.0, 1.0, out=x)


def lowest_corner(g):
    return np.where(g > 0, 0.0, 1.0)


def random_definite(k, condition, seed=0):
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.standard_normal((k, k)))
    matrix = (axes * np.geomspace(1.0, condition, k)) @ axes.T
    return (matrix + matrix.T) / 2


DOMAINS = {
    "ball": Ball(3, radius=2.0),
    "ball, one dimension": Ball(1),
    "ball, moved": Ball(4, radius=0.5, center=[5.0, -3.0, 0.0, 1.0]),
    "box": Box([-1.0, 0.0, 2.0], [1.0, 5.0, 2.5]),
    "box with a flat side": Box([0.0, 1.0], [2.0, 1.0]),
    "interval": Box(-1.0, 3.0),
    "simplex": Simplex(5),
    "simplex, one point": Simplex(1, scale=2.0),
    "simplex, large": Simplex(40, scale=7.5),
    "ellipsoid": Ellipsoid(random_definite(4, 10.0), radius=1.5, center=[1.0, 2.0, -1.0, 0.0]),
    "ellipsoid, thin": Ellipsoid(random_definite(5, 1e6)),
    "ellipsoid, round": Ellipsoid(np.eye(3), radius=3.0),
    "product": Product(Ball(2, radius=2.0), Box([-1.0], [4.0])),
    "product of four": product(Ellipsoid(random_definite(3, 50.0)), Simplex(4), Ball(2), Box(0.0, [1.0, 2.0])),
    "shift": Shift(Simplex(3), [1.0, -1.0, 0.5]),
    "shift of a product": Shift(product(Ball(1), Ellipsoid(random_definite(2, 5.0))), [3.0, 3.0, 3.0]),
    "shrunken box": Shrink(Box([-1.0, 0.0], [1.0, 5.0]), 0.7),
    "shrunken product": Shrink(Product(Ball(2, radius=2.0, center=[1.0, 1.0]), Box([-1.0], [4.0])), 0.25),
    "shrunken to a point": Shrink(Ball(2, center=[1.0, 2.0]), 0.0),
    "custom, compiled": domains.CustomDomain(project_on_ball, 3, np.zeros(3), 4.0, 2.0, 2.0),
    "custom, plain": domains.CustomDomain(project_on_cube, 2, [0.5, 0.5], 2**0.5, 0.5, linear_minimiser=lowest_corner),
    "custom, in a product": Product(domains.CustomDomain(project_on_cube, 2, [0.5, 0.5], 2**0.5, 0.5), Ball(2)),
}


def timestamps(horizon, rng):
    draws = np.random.default_rng(rng)
    decided = np.cumsum(draws.exponential(1.0, 1000))
    return decided[:horizon], (decided + draws.exponential(9.0, 1000))[:horizon]


DELAYS = {
    "fixed": lambda horizon, rng: delays.fixed(horizon=horizon, delay=5),
    "bursts": lambda horizon, rng: delays.bursts(horizon=horizon, length=10, slow=25, fast=1),
    "uniform": lambda horizon, rng: delays.uniform(horizon=horizon, low=2, high=30, rng=rng),
    "geometric": lambda horizon, rng: delays.geometric(horizon=horizon, mean=40, rng=rng),
    "lognormal": lambda horizon, rng: delays.lognormal(horizon=horizon, median=20, spread=1.2, rng=rng),
    "pareto": lambda horizon, rng: delays.pareto(horizon=horizon, shape=0.9, scale=20, rng=rng),
    "trace": lambda horizon, rng: delays.trace(*timestamps(horizon, rng)),
    "queue": lambda horizon, rng: delays.queue(horizon=horizon, servers=3, service="exponential", load=0.9, rng=rng),
    "array": lambda horizon, rng: delays.array(np.random.default_rng(rng).integers(0, 50, 1000)[:horizon]),
}
