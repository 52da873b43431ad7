"""Clinical follow-up: does a patient die within a year of diagnosis? Bad news comes early, good news after a year.

Aids2 (MASS): patients in Australia with real dates. A death is known on its day, survival when the year is over.
Patients diagnosed in the last year of the record are left out, whatever became of them: to keep only those who died
would be the very bias this is about. So are those who were lost from sight within the year.
"""

from __future__ import annotations

import numpy as np

from tarry.cases.sources import read_aids
from tarry.cases.stream import Stream, first_rows
from tarry.delays import array, trace

YEAR = 365
DAY = 24 * 60


def clinical(first: int | None = None) -> Stream:
    """The stream of patients by date of diagnosis; ``first`` takes only so many.

    Features: 1, age, the date, sex, and one-hot state and category of transmission.
    """
    import polars as pl

    table = read_aids().with_columns(lived=pl.col("death") - pl.col("diag"))
    end = int(table["death"].max())  # type: ignore[arg-type]
    died = (pl.col("status") == "D") & (pl.col("lived") <= YEAR)
    table = (
        table.with_columns(dies=died)
        .filter((pl.col("diag") <= end - YEAR) & (pl.col("dies") | (pl.col("lived") >= YEAR)))
        .sort("diag", maintain_order=True)
    )
    table = table.head(first_rows(first, table.height))
    diagnosed = table["diag"].to_numpy()
    told = np.minimum(table["death"].to_numpy(), diagnosed + YEAR)
    columns = [np.ones(table.height), (table["age"].to_numpy() - 38) / 20, (diagnosed - 9500) / 2000]
    for name in ("sex", "state", "T.categ"):
        values = table[name].to_numpy()
        columns += [values == value for value in np.unique(values)]
    return Stream(
        name="clinical, one-year mortality",
        features=np.column_stack(columns).astype(np.float64),
        labels=table["dies"].to_numpy().astype(np.float64),
        delays=array(trace(diagnosed, told).values),
        times=diagnosed.astype(np.float64) * DAY,
        unit="%",
        scale=100.0,
        event=0.5,
    )
