"""Means over seeds with their 95 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tarry.results.exponents import student

if TYPE_CHECKING:
    import polars as pl

CONFIDENCE = 0.95


def intervals(frame: pl.DataFrame, keys: list[str], value: str) -> pl.DataFrame:
    """Columns mean, half, low, high, seeds for each of the keys; NaN and missing values are left out.

    ``half`` is Student's quantile times the standard error; it is null, and low = high = mean, with one seed.
    """
    import polars as pl

    found = (
        frame.filter(pl.col(value).is_finite())
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col(value).mean().alias("mean"),
            (pl.col(value).std(ddof=1) / pl.len().sqrt()).alias("half"),
            pl.len().cast(pl.Int64).alias("seeds"),
        )
    )
    quantile = {int(n): student(CONFIDENCE, int(n) - 1) for n in found["seeds"].unique() if n > 1}
    half = pl.col("half") * pl.col("seeds").replace_strict(quantile, default=None, return_dtype=pl.Float64)
    return found.with_columns(half.alias("half")).with_columns(
        (pl.col("mean") - pl.col("half").fill_null(0.0)).alias("low"),
        (pl.col("mean") + pl.col("half").fill_null(0.0)).alias("high"),
    )
