"""The surface of the first version against today's: nothing is lost, and the changelog has every new name.

``support/first_version.json`` lists names, attributes and commands of the first version; its code made the list.
"""

from __future__ import annotations

import importlib
import json
import re
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import typer

import studies.__main__
import tests.oracles.theory as oracles
from tarry.cli.app import app

HERE = Path(__file__).parent
SURFACE = {
    kind: {place: names.split() for place, names in places.items()}
    for kind, places in json.loads((HERE / "support" / "first_version.json").read_text("utf-8")).items()
}
CHANGES = re.search(
    r"^### Changed.*?(?=^### )", (HERE.parent / "CHANGELOG.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)[0]

MOVED = {
    # Rates and radii have a room of their own.
    **{
        f"tarry.learners.{name}": f"tarry.rates.{name}"
        for name in ["Anytime", "BestOfBoth", "Constant", "Power", "Rule", "Sequence"]
    },
    "tarry.learners.inverse_time": "tarry.rates.inverse_time",
    "tarry.learners.BacklogRadius": "tarry.rates.BanditRadius.for_backlog",
    "tarry.learners.BacklogRate": "tarry.rates.BanditRate.for_backlog",
    "tarry.learners.LevelRadius": "tarry.rates.BanditRadius",
    "tarry.learners.LevelRate": "tarry.rates.BanditRate",
    "tarry.learners.Doubled": "tarry.rates.DoublingRate",
    "tarry.schedulers.Guessing": "tarry.schedulers.DoublingBernoulli",
    "tarry.domains.Custom": "tarry.domains.CustomDomain",
    "tarry.losses.block_targets": "tarry.losses.Drawn.block_targets",
    "tarry.losses.drifting_targets": "tarry.losses.Drawn.drifting_targets",
    # A recommendation is a player beside its reason.
    "tarry.players.Recommended": "tarry.players.Recommendation",
    "tarry.players.Tentative": "tarry.players.Recommendation",
    "tarry.players.Unreviewed": "tarry.players.Recommendation",
    "tarry.live.stores.Memory": "tarry.live.stores.memory.Memory",
    # Models take weights= as a parameter.
    **{
        f"tarry.adapters.{late}.weights": f"tarry.adapters.{late}.moments"
        for late in ["river.LateClassifier", "river.LateRegressor", "sklearn.LateLabels", "torch.LateLabels"]
    },
    # The case studies have left the package.
    **{
        f"tarry.cases.{name}": f"studies.cases.{name}"
        for name in [
            "Case",
            "POLICIES",
            "Policy",
            "Spread",
            "Stream",
            "believe",
            "measure",
            "save_page",
            "save_pictures",
        ]
    },
    **{f"tarry.cases.{name}_case": f"studies.cases.{name}_case" for name in ("clinical", "flights", "queue")},
    "tarry.cases.heard": "studies.measure.heard",
    "tarry.cases.Figures": "studies.measure.Scores",
    "tarry.cases.Result": "studies.measure.LearnerResult",
    # One form for many: outcomes say what the variants said.
    "tarry.Record.doubts": "tarry.Record.assumption_warnings",
    "tarry.Session.ask_each": "tarry.Session.ask_many",
    "tarry.LabelJoin.finish_outcomes": "tarry.LabelJoin.finish_many",
    "tarry.LabelJoin.label_outcomes": "tarry.LabelJoin.label_many",
    "tarry.LabelJoin.label_each": "tarry.LabelJoin.label_many",
}
"""Where a name of the first version is today."""

FORMER = {
    "tarry.theory": {
        "arms_bound": "arms_tuning(…).bound",
        "arms_rate": "arms_tuning(…).rate",
        "bandit_convex_bound": "bernoulli_bandit_bound",
        "bandit_convex_line": "bernoulli_bandit_bound(…, line=True)",
        "bandit_convex_rate": "bernoulli_bandit_tuning(…).rate",
        "bandit_convex_smoothing": "bernoulli_bandit_tuning(…).smoothing",
        "bandit_free_rate": "priority_bandit_tuning(…).rate",
        "bandit_free_smoothing": "priority_bandit_tuning(…).smoothing",
        "bandit_rate": "bandit_tuning(…).rate",
        "bandit_smoothing": "bandit_tuning(…).smoothing",
        "bandit_strongly_convex_bound": "bernoulli_bandit_bound(…, strong_convexity=…)",
        "bandit_strongly_convex_smoothing": "bernoulli_bandit_tuning(…, strong_convexity=…).smoothing",
        "batch_length": "weights.batch_length",
        "batching_convex_bound": "batching_bound",
        "batching_cost": "batching_costs(…).cost",
        "batching_second_moments": "batching_costs(…).second_moments",
        "batching_strongly_convex_bound": "batching_bound(…, strong_convexity=…)",
        "bernoulli_anytime_bound": "bernoulli_bound",
        "convex_bound": "pareto_bound",
        "experts_bound": "experts_tuning(…).bound",
        "experts_rate": "experts_tuning(…).rate",
        "morris_convex_bound": "morris_bound",
        "morris_cost": "morris_costs(…).cost",
        "morris_saturation": "morris_costs(…).saturation",
        "morris_strongly_convex_bound": "morris_bound(…, strong_convexity=…)",
        "morris_tail": "calibrate.morris_tail",
        "pareto_cost": "pareto_costs(…).cost",
        "pareto_second_moments": "pareto_costs(…).second_moments",
        "strongly_convex_bandit_weighted_regret_bound": "bandit_weighted_regret_bound(…, strong_convexity=…)",
        "strongly_convex_bound": "bernoulli_bound(…, strong_convexity=…)",
        "strongly_convex_weighted_regret_bound": "weighted_regret_bound(…, strong_convexity=…)",
        "tracking_cost": "priority_costs(…).cost",
        "total_doubling_bound": 'priority_bound(…, rate="restarted") or pareto_bound(…, restarted=True)',
        "tracking_anytime_bound": 'priority_bound(…, rate="anytime")',
        "tracking_bandit_bound": "bandit_bound",
        "tracking_convex_bound": "priority_bound",
        "tracking_free_bandit_bound": "priority_bandit_bound",
        "tracking_strongly_convex_bandit_bound": "bandit_bound(…, strong_convexity=…)",
        "tracking_strongly_convex_bound": "priority_bound(…, strong_convexity=…)",
        "universal_safety": "calibrated_safety",
    },
    "tarry.planning": {
        "MODELS": "sources.MODELS",
        "Backlog": "measure.Backlog",
        "Bound": "bounds.Bound",
        "Figures": "measure.Figures",
        "Log": "sources.Log",
        "Policy": "policies.Policy",
        "model_delays": "sources.model_delays",
        "second_moment_target": "plan(…, max_second_moment=…)",
        "trivial_bound": "Constants(…).trivial_bound",
    },
}
"""The form that gives the same number now, by room and name of the first version."""

INTERNAL = {
    "tarry.delays": "Backlog Bursts Fixed Generated Geometric Listed Lognormal Pareto Trace Uniform backlog_of delay "
    "uncut",
    "tarry.domains": "Product as_definite as_dimension as_domain as_vector",
    "tarry.reports": "Cell Replays Report Story View bounds_table check_chart demo_page plan_tables summary_table view",
    "tarry.adapters.gym": "Noted Outside OutsideState",
    "tarry.adapters.sklearn": "check_weighted",
    "tarry.Record": "build",
    "tarry.Doubling": "guesses_backlog",
    "tarry.planning.Policy": "build of_delay survivals unnamed",
    "tarry.live.stores": "Head",
}
"""What the first version exported from inside: classes behind a function, checks, pieces of a page."""

GONE = {
    "tarry.learners": "EnergyRadius EnergyRate",
    "tarry.players": "beyond_peak_backlog",
    "tarry.theory": "energy_curved_rate energy_curved_smoothing energy_offset energy_probability energy_rates "
    "energy_smoothing energy_thresholds",
}
"""Members after notes of which there is no public record; the changelog lists the members under Removed."""

STUDIES = {"tarry table1": "table1", "tarry compare": "compare"} | {
    f"tarry case {name}": name for name in ("flights", "clinical", "queue", "pictures")
}
"""Commands that are studies now, by their name there."""

WITHDRAWN = {"tarry table1": {"--engine", "--scheduler", "--task"}}
"""Options that went: Table 1 is no sweep any more, and its lines choose their seeds as they are played."""


def place_today(path: str) -> str:
    """Return where a name of the first version is today: in MOVED, in its room's names of FORMER, or as it was."""
    room, name = path.rsplit(".", 1)
    try:
        importlib.import_module(room)
    except ModuleNotFoundError:  # the name of a class's attribute
        former = place_today(room)
        return MOVED.get(path, f"{former}.{name}") if former != room else MOVED.get(path, path)
    # What is written there may be a call, as in "arms_tuning(…).bound".
    now = re.match(r"[\w.]+", FORMER.get(room, {}).get(name, name))[0]
    return MOVED.get(path, f"{room}.{now}")


def reach(path: str) -> object:
    """Return what a dotted path names; raise AttributeError or ImportError where there is nothing."""
    parts = path.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        return attrgetter(".".join(parts[split:]))(found) if parts[split:] else found
    raise ImportError(path)


def is_internal(place: str, name: str) -> bool:
    """Return whether the first version exported what is no capability of its own; oracles only check others."""
    if name in GONE.get(place, "").split():
        return True
    return name in INTERNAL.get(place, "").split() or (place == "tarry.theory" and name in vars(oracles))


@pytest.mark.parametrize("place", [*SURFACE["names"], *SURFACE["attributes"]])
def test_every_name_is_there_or_its_new_place_is(place):
    for name in (SURFACE["names"] | SURFACE["attributes"])[place]:
        if not is_internal(place, name):
            reach(place_today(f"{place}.{name}"))


def test_the_changelog_has_every_renamed_name():
    listed = (SURFACE["names"] | SURFACE["attributes"]).items()
    public = [f"{place}.{name}" for place, names in listed for name in names if not is_internal(place, name)]
    for old in public:
        new = place_today(old)
        former, name = old.rsplit(".", 1)[1], new.rsplit(".", 1)[1]
        assert former == name or re.search(rf"\b{former}\b", CHANGES), f"{old} -> {new}"


def commands(group: Any, name: str) -> dict[str, Any]:
    """Return a command and everything below by their full names, lazy groups loaded."""
    found = {name: group}
    if hasattr(group, "list_commands"):
        context = group.context_class(group)
        for inner in group.list_commands(context):
            # Resolving loads the commands that help knows by their line alone.
            found |= commands(group.resolve_command(context, [inner])[1], f"{name} {inner}")
    return found


def options(command: Any) -> set[str]:
    return {way for parameter in command.params for way in [*parameter.opts, *parameter.secondary_opts]}


def test_every_command_and_option_is_there():
    today = commands(typer.main.get_command(app), "tarry")
    moved = commands(typer.main.get_command(studies.__main__.app), "studies")
    for name, ways in SURFACE["commands"].items():
        command = moved[f"studies {STUDIES[name]}"] if name in STUDIES else today[name]
        assert set(ways) - WITHDRAWN.get(name, set()) <= options(command), name


def test_a_lost_name_would_be_noticed():
    with pytest.raises(AttributeError):
        reach("tarry.learners.Anytime")  # moved: MOVED says where
    assert not {"--capacity", "--no-such-option"} <= options(
        commands(typer.main.get_command(app), "tarry")["tarry plan"]
    )
