"""Means over seeds with their 95 % intervals, by Student's quantile."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

CONFIDENCE = 0.95


def student(confidence: float, freedom: int) -> float:
    """Student's two-sided quantile; infinite where nothing is free.

    >>> round(student(0.95, 9), 3)
    2.262
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1.0 + confidence) / 2.0)) if freedom > 0 else inf


def intervals(frame: pl.DataFrame, keys: list[str], value: str) -> pl.DataFrame:
    """Columns mean, half, low, high, seeds for each of the keys, from values that are finite (see :func:`lost`).

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


def lost(values: pl.Series) -> int:
    """How many values are not finite, and so in no mean."""
    return int(values.len() - (values.is_finite().sum() or 0))
