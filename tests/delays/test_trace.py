from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry import delays
from tarry.testing import DelaysContract


class TestTrace(DelaysContract):
    def make(self, horizon: int, rng: int) -> delays.Delays:
        draws = np.random.default_rng(rng)
        decided = np.cumsum(draws.exponential(1.0, 1000))
        return delays.trace(decided[:horizon], (decided + draws.exponential(9.0, 1000))[:horizon])


def count(decided: list[float], feedback: list[float | None]) -> list[int]:
    """d_s = #{t : τ_t ≤ φ_s} − s, by counting."""
    return [
        sum(tau <= phi for tau in decided) - s if phi is not None else len(decided) - s
        for s, phi in enumerate(feedback, 1)
    ]


rows = st.lists(st.tuples(st.integers(0, 30), st.one_of(st.none(), st.integers(0, 40))), min_size=1, max_size=40)


@given(rows=rows)
def test_equals_counting(rows: list[tuple[int, int | None]]) -> None:
    rows = [(tau, None if wait is None else tau + wait) for tau, wait in rows]
    found = delays.trace([tau for tau, _ in rows], [phi for _, phi in rows], sort=True, never="end")
    order = sorted(range(len(rows)), key=lambda i: rows[i][0])
    assert found.order.tolist() == order
    assert found.values.tolist() == count([rows[i][0] for i in order], [rows[i][1] for i in order])
    assert found.truncated == sum(phi is None for _, phi in rows)


START = datetime(2024, 5, 1, 12)
HOURS = ([0, 1, 2, 2, 5], [2, None, 2.5, 9, 5])
DATES = tuple([None if h is None else START + timedelta(hours=h) for h in column] for column in HOURS)
EXPECTED = count(*HOURS)


def forms():
    yield "numbers", HOURS
    yield "floats", tuple(np.array(column, float) for column in HOURS)
    yield "datetimes", DATES
    yield "datetime64", tuple(np.array(column, "datetime64[s]") for column in DATES)
    yield "mixed units", (np.array(DATES[0], "datetime64[ns]"), np.array(DATES[1], "datetime64[m]"))
    yield "iso", tuple([None if d is None else d.isoformat() for d in column] for column in DATES)
    yield "iso array", tuple(np.array([None if d is None else str(d) for d in c], object) for c in DATES)
    yield "zoned", tuple([None if d is None else d.replace(tzinfo=UTC) for d in c] for c in DATES)
    yield "polars dates", tuple(pl.Series(column) for column in DATES)
    yield "polars zoned", tuple(pl.Series(c).dt.replace_time_zone("UTC") for c in DATES)
    yield (
        "polars zoned and iso",
        (
            pl.Series(DATES[0]).dt.replace_time_zone("UTC"),
            [None if d is None else d.isoformat() + "Z" for d in DATES[1]],
        ),
    )
    yield "polars numbers", tuple(pl.Series([None if h is None else float(h) for h in c]) for c in HOURS)
    yield "polars strings", tuple(pl.Series([None if d is None else str(d) for d in c]) for c in DATES)


@pytest.mark.parametrize("columns", [pytest.param(columns, id=name) for name, columns in forms()])
def test_every_form_of_timestamp(columns) -> None:
    found = delays.trace(*columns, never="end")
    assert found.values.tolist() == EXPECTED
    assert found.truncated == 1


def test_time_zones_are_respected() -> None:
    found = delays.trace(["2024-05-01T12:00+02:00", "2024-05-01T10:30Z"], ["2024-05-01T10:29Z", "2024-05-02T00:00Z"])
    assert found.values.tolist() == [0, 0]


def test_infinity_is_never() -> None:
    assert delays.trace([0.0, 1.0], [np.inf, 1.0], never="end").truncated == 1


def test_nothing_ever_arrives() -> None:
    assert delays.trace(DATES[0], [None] * 5, never="end").values.tolist() == [4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("decided", "feedback", "options", "sentence"),
    [
        ([0.0, 1.0], [1.0], {}, "got 2 and 1"),
        ([], [], {}, "at least one"),
        ([0.0, 2.0, 1.0], [3.0, 3.0, 3.0], {}, r"row 2 \(1.0\) is earlier than row 1 \(2.0\)"),
        ([0.0, 1.0], [None, 1.0], {}, 'missing in 1 rows, first in row 0: .* never="end"'),
        ([0.0, 1.0], [0.5, 0.5], {}, "row 1 .0.5. comes before its decision .1.0."),
        ([0.0, 1.0], [-np.inf, 1.0], {}, "before its decision"),
        ([0.0, None], [1.0, 1.0], {}, "decided_at is missing in row 1"),
        ([0.0, 1.0], DATES[0][:2], {}, "dates cannot be compared with numbers"),
        (DATES[0][:2], ["2024-06-01T00:00Z"] * 2, {}, "dates with a time zone cannot be compared with dates"),
        (
            [0.0, "2024-06-01"],
            [1.0, 1.0],
            {},
            "row 1 has '2024-06-01' in 'decided_at', row 0 has 0.0 in .* dates cannot be compared with numbers",
        ),
        (
            ["yesterday"],
            ["2024-06-01"],
            {},
            "row 0 has 'yesterday' in 'decided_at', which is no time: .* dates such as",
        ),
        ([True], [1.0], {}, "row 0 has True in .* which is no time"),
        (np.zeros((2, 2)), [1.0], {}, "one column"),
        ([0.0], [1.0], {"never": "drop"}, "never must be"),
    ],
)
def test_refuses(decided, feedback, options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        delays.trace(decided, feedback, **options)


def test_kinds_that_cannot_be_compared_name_their_rows():
    problem = (
        r"row 1 has 2026-01-31T13:30.* in feedback_at, row 0 has 2026-01-31T12:00.*Z in decided_at, and dates cannot "
        r"be compared with dates with a time zone: give all times of a log in one kind, each with its zone .* or none"
    )
    with pytest.raises(ValueError, match=problem):
        delays.trace(["2026-01-31T12:00Z", "2026-01-31T13:00Z"], [None, "2026-01-31T13:30"], never="end")
    with pytest.raises(
        ValueError, match=r"numbers cannot be compared with dates: give all times of a log in one kind$"
    ):
        delays.trace(["2026-01-31T12:00", "2026-01-31T13:00"], [1.0, 2.0])
