"""How many slots are enough for a log that a request brings: bounded work, for a thread."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from tarry.live.calls import Moment, Number
from tarry.planning.sources import plan_log
from tarry.service.problems import Refusal

MOST_EVENTS = 200_000  # decisions of a log
_MOST_SCHEDULERS = 12


class PlanRequest(NamedTuple):
    """A log of two time stamps, as CSV or as two lists; the rest as in ``tarry plan``."""

    csv: Annotated[str | None, "A CSV file with a header."] = None
    decided_at: Annotated[list[Moment] | None, "Times of decisions, instead of a file."] = None
    feedback_at: Annotated[list[Moment | None] | None, "Times of feedback, null where none came."] = None
    decided: Annotated[str | None, "The column of decisions (default: a usual name)."] = None
    feedback: Annotated[str | None, "The column of feedback."] = None
    missing: Annotated[str, "What an empty feedback time means: refuse, drop, end or window."] = "end"
    window: Annotated[Number | None, "Days, with missing = window."] = None
    target: Annotated[Number, "Effective sample size wanted, as a share of all labels."] = 0.5
    schedulers: Annotated[list[str] | None, "Those compared (default: as tarry plan)."] = None
    precision: Annotated[Number, "Relative error of second moments, at least 0.01; less takes longer."] = 0.05


def plan(asked: PlanRequest) -> Any:
    """Return the plan for a log; raise Refusal about one that is too large or makes no sense."""
    if not 0.01 <= asked.precision <= 1:
        raise Refusal(422, f"precision must lie between 0.01 and 1, got {asked.precision}", name="precision")
    if len(asked.schedulers or ()) > _MOST_SCHEDULERS:
        raise Refusal(422, f"schedulers: at most {_MOST_SCHEDULERS} are compared here", name="schedulers")
    options = {name: part for name, part in asked._asdict().items() if name not in ("csv", "decided_at", "feedback_at")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        if asked.csv is not None and asked.decided_at is None and asked.feedback_at is None:
            path.write_text(asked.csv, encoding="utf-8")
        elif asked.csv is None and asked.decided_at is not None and asked.feedback_at is not None:
            _write_lists(path, asked.decided_at, asked.feedback_at)
        else:
            raise Refusal(422, "give a log as csv, or as decided_at and feedback_at: one of the two")
        with path.open("rb") as file:
            if sum(1 for _ in file) > MOST_EVENTS + 1:
                raise Refusal(413, f"a log has at most {MOST_EVENTS:,} decisions here: use tarry plan")
        try:
            return plan_log(path, **options, seeds=4).to_dict()
        except ValueError as error:
            raise Refusal(422, str(error).replace(str(path), "the log")) from None


def _write_lists(path: Path, decided: list[Any], feedback: list[Any]) -> None:
    import polars as pl

    if len(decided) != len(feedback):
        raise Refusal(422, f"there are {len(decided)} decisions and {len(feedback)} feedback times: give one each")
    columns = {"decided_at": decided, "feedback_at": feedback}
    pl.DataFrame({name: pl.Series(name, values, strict=False) for name, values in columns.items()}).write_csv(path)
