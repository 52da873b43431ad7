"""Members of the library by short name, room by room: what sweeps may name, and what stores may hold.

A name in these tables is stable: results and stores keep it, whatever becomes of the class behind it. What takes a
Python function (``Custom``, ``Callables``, ``Rule``) is not here, since a file cannot hold one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from types import ModuleType
from typing import Any

from tarry import delays, domains, learners, losses, players, rates, schedulers, theory, tracking

Table = dict[str, Callable[..., Any]]


def _table(room: ModuleType, names: str) -> Table:
    """Return the members of a room by name; ``Morris.for_backlog`` is a constructor with a name of its own."""
    return {name: attrgetter(name)(room) for name in names.split()}


def _exported(room: ModuleType) -> Table:
    """Return the members of a room that lists them itself, in the order of its exports."""
    return {name: room.MEMBERS[name] for name in room.__all__ if name in room.MEMBERS}


def _part(tuning: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the function that gives one field of a tuning: a parameter of a learner is one number."""

    @wraps(tuning)
    def number(**known: Any) -> Any:
        return getattr(tuning(**known), name)

    return number


# Learners, the norms that they are made from, and their constructors with names.
LEARNERS = _exported(learners) | _table(
    learners,
    "DFTBL.tuned DFTBL.strongly_convex DOGD.tuned DOGD.original DOGDSC.original DWFTBL.unlimited FPL.tuned "
    "GOLD.tuned ODFTRL.entropic ODFTRL.tuned_entropic ODFTRL.tuned OGD.falling OGD.fixed OGD.strongly_convex "
    "OGD.langford ONS.exp_concave SOLO.original AdaFTRL.original AdaGrad.tuned AdaGrad.delayed Differences.tuned "
    "Differences.strongly_convex EntropicFTRL.tuned Exp3.tuned Exp3.exploring FTRLProximal.tuned OnePoint.flaxman "
    "OnePoint.bistritz OnePoint.ryabchenko TwoPoint.agarwal TwoPoint.strongly_convex TwoPoint.shamir TwoPoint.tuned",
)

# Rates and radii. They stand inside a learner only.
RATES = _table(
    rates,
    "Anytime BanditRadius BanditRadius.for_backlog BanditRate BanditRate.for_backlog BestOfBoth Constant DoublingRate "
    "Power Sequence inverse_time",
)

# Formulas that give a rate, a radius or a probability. They stand inside a learner only.
TUNINGS = _table(theory, "calibrated_probability calibrated_safety convex_rate morris_epsilon optimised_rate") | {
    "arms_rate": _part(theory.arms_tuning, "rate"),
    "bandit_free_rate": _part(theory.priority_bandit_tuning, "rate"),
    "bandit_free_smoothing": _part(theory.priority_bandit_tuning, "smoothing"),
    "bandit_rate": _part(theory.bandit_tuning, "rate"),
    "bandit_smoothing": _part(theory.bandit_tuning, "smoothing"),
    "experts_rate": _part(theory.experts_tuning, "rate"),
    "universal_safety": theory.calibrated_safety,
}

# The tables by the key under which a sweep names their members.
MEMBERS: dict[str, Table] = {
    "domain": domains.MEMBERS,
    "losses": _exported(losses) | _table(losses, "Drawn.block_targets Drawn.drifting_targets"),
    "delays": _exported(delays),
    "learner": LEARNERS,
    "scheduler": _exported(schedulers)
    | _table(schedulers, "Bernoulli.calibrated Morris.for_backlog Pareto.calibrated"),
    "epochs": _table(tracking, "Doubling Single"),
    "player": _table(
        players,
        "bandit_convex bandit_strongly_convex convex finite_actions recommended strongly_convex",
    ),
}

# The same for members that stand inside another one, as its parameters.
INSIDE = MEMBERS | {"learner": TUNINGS | RATES | LEARNERS}
