"""Members of the library by short name, room by room: what sweeps may name, and what stores may hold.

A name in these tables is stable: results and stores keep it, whatever becomes of the class behind it. What takes a
Python function (``Custom``, ``Callables``, ``Rule``) is not here, since a file cannot hold one.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import ModuleType
from typing import Any

from tarry import delays, domains, learners, losses, players, rates, schedulers, theory, tracking

Table = dict[str, Callable[..., Any]]


def _table(room: ModuleType, names: str) -> Table:
    """Return the members of a room by name; ``Morris.for_backlog`` is a constructor with a name of its own."""
    return {name: attrgetter(name)(room) for name in names.split()}


def _exported(room: ModuleType) -> Table:
    """Return the members of a room that lists them itself; what it does not export stands in stores only."""
    return {name: made for name, made in room.MEMBERS.items() if name in room.__all__}


# Learners, and the norms that they are made from.
LEARNERS = _table(
    learners,
    "BOLD DFTBL DFTBL.tuned DFTBL.strongly_convex DOGD DOGD.tuned DOGD.original DOGDSC DORM DUB "
    "DWFTBL DWFTBL.unlimited DWFTRL FPL FPL.tuned FTL GOLD GOLD.tuned "
    "ODFTRL ODFTRL.entropic ODFTRL.tuned_entropic ODFTRL.tuned "
    "OGD OGD.falling OGD.fixed OGD.strongly_convex OGD.langford SOLID SOLO SOLO.original "
    "AdaDelay AdaFTRL AdaFTRL.original AdaHedgeD Adaptive AdaptiveRevision DORMPlus "
    "Differences Differences.tuned Differences.strongly_convex EntropicFTRL EntropicFTRL.tuned "
    "Euclidean Exp3 Exp3.tuned Exp3.exploring "
    "FTRLProximal FTRLProximal.tuned Idle Interleaving Mahalanobis "
    "OnePoint OnePoint.flaxman OnePoint.bistritz OnePoint.ryabchenko Ridge TsallisFTRL "
    "TwoPoint TwoPoint.agarwal TwoPoint.strongly_convex TwoPoint.shamir TwoPoint.tuned",
)

# Rates and radii. They stand inside a learner only.
RATES = _table(
    rates,
    "Anytime BanditRadius BanditRadius.for_backlog BanditRate BanditRate.for_backlog BestOfBoth Constant DoublingRate "
    "EnergyRadius EnergyRate Power Sequence inverse_time",
)

# Formulas that give a rate, a radius or a probability. They stand inside a learner only.
TUNINGS = _table(
    theory,
    "arms_rate bandit_free_rate bandit_free_smoothing bandit_rate bandit_smoothing calibrated_probability "
    "calibrated_safety convex_rate energy_probability energy_smoothing experts_rate morris_epsilon optimised_rate "
    "universal_safety",
)

# The tables by the key under which a sweep names their members.
MEMBERS: dict[str, Table] = {
    "domain": _table(domains, "Ball Box Ellipsoid Product Shift Shrink Simplex"),
    "losses": _exported(losses),
    "delays": _exported(delays),
    "learner": LEARNERS,
    "scheduler": _exported(schedulers)
    | _table(schedulers, "Bernoulli.calibrated Morris.for_backlog Pareto.calibrated"),
    "epochs": _table(tracking, "Doubling Single"),
    "player": _table(
        players,
        "bandit_convex bandit_strongly_convex beyond_peak_backlog convex finite_actions recommended strongly_convex",
    ),
}

# The same for members that stand inside another one, as its parameters.
INSIDE = MEMBERS | {"learner": TUNINGS | RATES | LEARNERS}

# Names of earlier versions and what they are called today, by the same keys.
RENAMED = {"delays": delays.RENAMED, "learner": rates.RENAMED, "scheduler": schedulers.RENAMED}
