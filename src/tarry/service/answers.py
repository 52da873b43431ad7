"""What answers look like: they say what the library's named tuples say; later versions may add fields."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from tarry.service.bodies import Id


class Ticket(BaseModel):
    """A decision on its way: ``released`` ids were tracked until now and need no label any more."""

    id: Id
    tracked: bool
    released: list[Id]


class Tickets(BaseModel):
    """A ticket for each decision."""

    tickets: list[Ticket]


class Row(BaseModel):
    """A training row: weigh it by ``weight``, and every sum is unbiased."""

    features: Any
    label: Any
    weight: float
    id: Id
    relative: float | None
    number: int


class Rows(BaseModel):
    """Rows that have come out."""

    rows: list[Row]


class Outcome(BaseModel):
    """What a call has made of a decision: its fate, the row that came out, if one did, and the call's own answer."""

    id: Id
    fate: str
    row: Row | None
    answer: str


class Outcomes(BaseModel):
    """An outcome for each label or id."""

    outcomes: list[Outcome]


class Receipt(BaseModel):
    """What became of a call, and the weight the feedback was given."""

    id: Id
    status: str
    weight: float


class Receipts(BaseModel):
    """A receipt for each id."""

    receipts: list[Receipt]


class Fate(BaseModel):
    """What has become of a round."""

    id: Id
    fate: str


class Fates(BaseModel):
    """A fate for each id."""

    fates: list[Fate]


class Made(BaseModel):
    """What was made, or was there already."""

    name: str
    made: bool
    scheduler: str
    capacity: int | None
    rounds: int


class Takes(BaseModel):
    """What a session takes: gradients or values, how many numbers for each round, and how many a play has."""

    feedback: str
    size: int
    dimension: int


class MadeSession(Made):
    """A session that was made, or was there already, and why its player was chosen."""

    learner: str
    reason: str
    is_proved: bool
    takes: Takes


class Round(BaseModel):
    """A round: what to play, whether its feedback will be used, and whose need no longer be kept."""

    id: Id
    play: list[float] | None
    tracked: bool
    released: list[Id]
    status: str


class Rounds(BaseModel):
    """A round for each that was asked for."""

    rounds: list[Round]


class Points(BaseModel):
    """Where to evaluate the loss of a round, a point a row."""

    id: Id
    points: list[list[float]]


class Released(BaseModel):
    """Ids that have lost their slots and need no label any more."""

    released: list[Id]


class Due(BaseModel):
    """Ids of decisions whose windows have ended."""

    ids: list[Id]


class Left(BaseModel):
    """How many rows of the outbox are left."""

    acknowledged: int | list[int]
    left: int


class Weights(BaseModel):
    """Moments of the weights; the mean tends to 1."""

    mean: float | None
    second_moment: float | None
    max: float | None
    effective_sample_size: float | None


class Estimate(BaseModel):
    """The mean label of all decisions, with intervals, beside the naive mean of those seen."""

    mean: float | None
    low: float | None
    high: float | None
    naive: float | None
    labels: int
    left_out: int
    outstanding: float | None
    anytime_low: float | None
    anytime_high: float | None
    sum_low: float | None
    sum_high: float | None
    caveat: str
    sum: float | None
    is_settled: bool


class Load(BaseModel):
    """A shard of a join: its slots, those taken, its decisions, and the weight that it holds."""

    capacity: int | None
    tracked: int
    rounds: int
    held: float | None


class Status(BaseModel):
    """What a join or session says of itself; docs/live.md has a table of the fields."""

    name: str
    kind: str
    capacity: int | None
    is_numbered: bool | None = Field(description="Whether rounds go by numbers or by ids; null before the first.")
    takes: Takes | None = Field(description="Of a session: what it is told.")
    rounds: int
    pending: int
    tracked: int
    fates: dict[str, int]
    answers: dict[str, int]
    weights: Weights
    balance: float | None
    certificate: dict[str, Any] | None
    warnings: list[str]
    estimate: Estimate | None
    sizes: dict[str, float] | None
    shards: list[Load] | None = None


class Entry(BaseModel):
    """A join or session in the list."""

    name: str
    kind: str
    status: Status | None = Field(description="Null where it was not asked for, or cannot be told.")
    problem: str | None = Field(None, description="Why it cannot be told.")


class Overview(BaseModel):
    """The joins, or sessions, of the store, oldest first; more under ``next``, if that is not null."""

    items: list[Entry]
    next: int | None


class Ledger(BaseModel):
    """Rounds by fate and their sum; under ``last`` the newest ones, where they were asked for."""

    rounds: int
    fates: dict[str, int]
    sum: int
    last: list[dict[str, Any]] | None = None


class Waiting(BaseModel):
    """A tracked round: since when it waits, where this process knows, and what it would weigh now."""

    round: int
    id: Id
    weight: float
    since: float | None
    ends: float | None


class Tracked(BaseModel):
    """The tracking set, oldest first."""

    rounds: int
    capacity: int | None
    tracked: list[Waiting]


class ExploreLine(BaseModel):
    """What one policy makes of the streams: ``estimates`` has one for each, ``curve`` those along the first, at ``at``.

    ``bias`` is the mean error, and ``bias_error`` its standard error.
    """

    policy: str
    is_unbiased: bool
    mean: float | None
    bias: float | None
    bias_error: float | None
    deviation: float | None
    error: float | None
    seen: float
    fates: dict[str, float]
    estimates: list[float | None]
    curve: list[float | None]


class Exploration(BaseModel):
    """The truth of the first stream, at its end and along it, and what policies make of all of them."""

    horizon: int
    capacity: int
    mean_delay: float
    truth: float
    at: list[int]
    truths: list[float]
    lines: list[ExploreLine]


class PlanFigures(BaseModel):
    """What a capacity would see under a scheduler."""

    capacity: int
    scheduler: str
    is_unbiased: bool
    seen: float
    mean_weight: float
    second_moment: float
    effective: float
    error_factor: float | None
    saturated: float


class Plan(BaseModel):
    """The smallest capacity for the target, the backlog over time, and a row for each capacity and scheduler."""

    capacity: int | None
    scheduler: str | None
    target: float
    preemption: bool
    keep_all: str | None
    row_bytes: float | None
    recommendation: str
    warnings: list[str]
    backlog: dict[str, Any]
    beyond: dict[str, Any] | None
    table: list[PlanFigures]
