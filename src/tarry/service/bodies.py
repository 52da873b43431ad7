"""What requests look like: the fields are those of the command line and of the library."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StrictBool, StrictFloat, StrictInt, StrictStr, Tag
from typing_extensions import TypedDict

from tarry.live.configuration import MISSING

MOST_ROWS = 10_000  # of one request
MOST_ENTRIES = 10_000  # of a play
LONGEST_ID = 1024  # letters or bytes
# Spelled out: \w has letters of every script to Python, and those of ASCII to readers of the description.
NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.:@ -]{0,127}$"


class Bytes(TypedDict):
    """An id of bytes, in base64."""

    bytes: Annotated[StrictStr, Field(max_length=4 * -(-LONGEST_ID // 3))]


# A bound keeps numbers to what every JSON reader takes apart; the library's own is 2¹⁰²⁴.
Id = Annotated[StrictStr, Field(max_length=LONGEST_ID)] | StrictInt | Bytes
Moment = StrictStr | StrictInt | StrictFloat
Number = StrictInt | StrictFloat
Entries = Annotated[list[Number], Field(max_length=MOST_ENTRIES)]
Ids = Annotated[list[Id], Field(max_length=MOST_ROWS)]


class Wire(BaseModel):
    """A body of a request: no fields but those that are known."""

    model_config = ConfigDict(extra="forbid")


def _said(name: str, value: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [value]}, title=name)


def _one_or_many(single: Any, batch: Any, key: str) -> Any:
    """Return the type of a body that is one row, or has several of them under a key."""

    def choose(body: Any) -> str:
        return "batch" if isinstance(body, batch) or (isinstance(body, dict) and key in body) else "single"

    return Annotated[Annotated[single, Tag("single")] | Annotated[batch, Tag("batch")], Discriminator(choose)]


class NewJoin(Wire):
    """A join that is wanted; where the same one is there, it is found."""

    model_config = _said("NewJoin", {"capacity": 64})

    capacity: StrictInt | None = Field(description="Decisions that may wait at once (null: no limit).")
    labels: StrictStr = Field("first", description="Several labels for a decision: first, last, sum or all.")
    window: Moment | None = Field(None, description="How long a decision waits for its label: 30d, 36h, or seconds.")
    missing: Any = Field(None, description="The label of decisions that got none in their window.")
    release: StrictStr | None = Field(None, description="Rows come out at the end of their window, or at arrival.")
    outbox: StrictBool = Field(False, description="Keep rows until ack.")
    information: StrictStr = Field("non-clairvoyant", description="Or clairvoyant, semi-clairvoyant.")
    preemption: StrictBool = Field(True, description="Whether a tracked decision may be dropped again.")
    scheduler: StrictStr | dict[str, Any] | None = Field(
        None, description="Who is tracked: a name, or a scheduler as an export has it (default: as recommended)."
    )
    backlog: StrictInt | None = Field(None, ge=0, description="Without preemption: a guess of the backlog.")
    seed: Annotated[StrictInt, Field(ge=0, lt=1 << 64)] | None = Field(None, description="Of every draw.")
    memory: StrictInt = Field(1_000_000, ge=1, description="Decisions whose fates are remembered.")
    shards: StrictInt = Field(1, ge=1, description="Parts with a lock each; with several, decisions need ids.")

    def rules(self) -> dict[str, Any]:
        """Return what a join takes beside capacity, scheduler and seed."""
        always = ("information", "preemption", "labels", "memory", "shards")
        chosen = {name: getattr(self, name) for name in always}
        chosen |= {name: value for name in ("window", "release") if (value := getattr(self, name)) is not None}
        if MISSING in self.model_fields_set:  # null is a label
            chosen[MISSING] = self.missing
        return chosen | ({"outbox": True} if self.outbox else {})


class NewSession(Wire):
    """A session that is wanted: a player from plain words, or ``player`` as an export has it."""

    model_config = _said("NewSession", {"dimension": 2, "rate": 0.5, "capacity": 8})

    capacity: StrictInt | None = Field(None, description="Slots, C (null: no limit).")
    domain: StrictStr = Field("ball", description="Where plays lie: ball, box or simplex.")
    dimension: Annotated[StrictInt, Field(ge=1, le=MOST_ENTRIES)] | None = Field(None, description="Entries of a play.")
    radius: Number = Field(1.0, description="Of the ball.")
    lower: Number | Entries | None = Field(None, description="Of the box: a number, or one for every entry.")
    upper: Number | Entries | None = Field(None, description="Of the box: a number, or one for every entry.")
    scale: Number = Field(1.0, description="Sum of the entries on the simplex.")
    feedback: StrictStr = Field("gradient", description="What will be told: gradient or value.")
    strong_convexity: Number | None = Field(None, description="λ, for strongly convex losses.")
    gradient_bound: Number | None = Field(None, description="Largest norm of a gradient, G.")
    value_bound: Number | None = Field(None, description="Largest |loss|, M, for bandit feedback.")
    rate: Number | None = Field(None, description="Instead of a recommendation: this constant rate.")
    smoothing: Number | None = Field(None, description="With rate and values: the radius δ.")
    player: dict[str, Any] | None = Field(None, description="Instead of all these: a player as an export has it.")
    information: StrictStr = Field("non-clairvoyant", description="Or clairvoyant, semi-clairvoyant.")
    preemption: StrictBool = Field(True, description="Whether a tracked round may be dropped again.")
    backlog: StrictInt | None = Field(None, ge=0, description="Without preemption: a guess of the backlog.")
    seed: Annotated[StrictInt, Field(ge=0, lt=1 << 64)] | None = Field(None, description="Of every draw.")
    memory: StrictInt = Field(1_000_000, ge=1, description="Rounds whose fates are remembered.")


class Ask(Wire):
    """A round to begin."""

    model_config = _said("Ask", {"id": "r1"})

    id: Id | None = None
    delay: StrictInt | None = Field(None, description="In the clairvoyant model: when feedback will come.")
    size: Number | None = Field(None, description="What it counts for, for VarOpt (default: 1).")


class AskList(Wire):
    """Several rounds, one after the other, in one transaction."""

    model_config = _said("Asks", {"rounds": [{"id": "r1"}, {"id": "r2"}]})

    rounds: Annotated[list[Ask], Field(max_length=MOST_ROWS)]


Asks = _one_or_many(Ask, AskList, "rounds")


class Tell(Wire):
    """The feedback of a round: its gradient, or its value, or several values."""

    model_config = _said("Tell", {"id": "r1", "gradient": [0.5, -1.0]})

    id: Id
    gradient: Entries | None = None
    value: Number | Entries | None = None


class TellList(Wire):
    """Feedback of several rounds, in one transaction: all of it or none."""

    model_config = _said("Tells", {"feedback": [{"id": "r1", "gradient": [0.5, -1.0]}]})

    feedback: Annotated[list[Tell], Field(max_length=MOST_ROWS)]


Tells = _one_or_many(Tell, TellList, "feedback")


class Resize(Wire):
    """What is to change of a join while decisions wait."""

    model_config = _said("Resize", {"capacity": 128})

    capacity: StrictInt | None = None
    memory: StrictInt = 0
    window: Moment = ""


class Decision(Wire):
    """A decision whose label will come."""

    model_config = _said("Decision", {"id": "u1-17", "features": {"basket": 10}})

    id: Id | None = Field(None, description="Its id (default: a number).")
    features: Any = Field(None, description="Kept while it is tracked, and given back with the label.")
    delay: StrictInt | None = Field(None, description="In the clairvoyant model: when the label will come.")
    size: Number | None = Field(None, description="What it counts for, for VarOpt (default: 1).")
    at: Moment | None = Field(None, description="With windows: when it was made (default: now).")


class DecisionList(Wire):
    """Several decisions, in one transaction: all of them or none."""

    model_config = _said("Decisions", {"decisions": [{"id": "u1-17", "features": {"basket": 10}}]})

    decisions: Annotated[list[Decision], Field(max_length=MOST_ROWS)]


Decisions = _one_or_many(Decision, DecisionList, "decisions")


class Label(Wire):
    """A label that has come."""

    model_config = _said("Label", {"id": "u1-17", "label": 1})

    id: Id
    label: Any = Field(description="Any JSON value; the estimate counts numbers.")
    key: Id | None = Field(None, description="Where labels gather: a name under which this one counts once.")
    at: Moment | None = Field(None, description="With windows: when it came to be (default: now).")


class LabelList(Wire):
    """Several labels, in one transaction: all of them or none."""

    model_config = _said("Labels", {"labels": [{"id": "u1-17", "label": 1}]})

    labels: Annotated[list[Label], Field(max_length=MOST_ROWS)]


Labels = _one_or_many(Label, LabelList, "labels")


class IdList(Wire):
    """Ids of decisions or rounds."""

    model_config = _said("Ids", {"ids": ["u1-17"]})

    ids: Ids


class Finish(Wire):
    """Decisions whose windows end now; ``missing`` is the label of those that got none."""

    model_config = _said("Finish", {"ids": ["u1-17"]})

    ids: Ids
    missing: Any = None


class Now(Wire):
    """A moment, the present one if it is not said."""

    model_config = _said("Now", {})

    now: Moment | None = None


class Ack(Wire):
    """The number of the last row that is yours now; of a join in shards, several."""

    model_config = _said("Ack", {"number": 12})

    number: (
        Annotated[StrictInt, Field(ge=0)]
        | Annotated[list[Annotated[StrictInt, Field(ge=0)]], Field(max_length=MOST_ROWS)]
    )


class Nothing(Wire):
    """An empty object."""

    model_config = _said("Nothing", {})


class OneId(Wire):
    """The id of a round."""

    model_config = _said("Id", {"id": "r1"})

    id: Id


class PlanRequest(Wire):
    """A log of two time stamps, as CSV or as two lists; the rest as in ``tarry plan``."""

    model_config = _said(
        "Plan", {"decided_at": [0, 1, 2, 3, 4, 5, 6, 7], "feedback_at": [3, 5, 4, 9, 8, 9, 7, 12], "target": 0.5}
    )

    csv: StrictStr | None = Field(None, description="A CSV file with a header.")
    decided_at: list[Moment] | None = None
    feedback_at: list[Moment | None] | None = None
    decided: StrictStr | None = Field(
        None, max_length=200, description="The column of decisions (default: a usual name)."
    )
    feedback: StrictStr | None = Field(None, max_length=200, description="The column of feedback.")
    missing: StrictStr = Field("end", description="What an empty feedback time means: refuse, drop, end or window.")
    window: Number | None = Field(None, description="Days, with missing = window.")
    target: Number = Field(0.5, gt=0, le=1, description="Effective sample size wanted, as a share of all labels.")
    schedulers: Annotated[list[StrictStr], Field(max_length=12)] | None = None
    precision: Number = Field(0.05, ge=0.01, le=1, description="Relative error of second moments; less takes longer.")


class ExploreRequest(Wire):
    """A stream of late labels and what to try on it."""

    model_config = _said("Explore", {"law": "geometric", "parameters": {"mean": 50}, "capacity": 16})

    law: StrictStr = Field("geometric", description="fixed, uniform, geometric, pareto, lognormal, bursts or queue.")
    parameters: Annotated[dict[str, Number | StrictStr], Field(max_length=8)] = Field(
        {"mean": 50}, description="Of the law, in decisions."
    )
    lean: StrictStr = Field("slow", description="Whose labels are 1 more often: slow, quick or neither.")
    capacity: StrictInt = Field(16, ge=1, le=10_000)
    policies: Annotated[list[StrictStr], Field(min_length=1, max_length=6)] = ["VarOpt", "drop newest", "time out"]
    patience: StrictInt | None = Field(None, ge=1, description="Of time out, in decisions (default: the mean delay).")
    horizon: StrictInt = Field(2000, ge=10, le=20_000)
    streams: StrictInt = Field(
        16, ge=2, le=64, description="How many streams to draw; all policies meet the same ones."
    )
    seed: StrictInt = Field(0, ge=0, lt=1 << 62, description="Of delays and labels.")
