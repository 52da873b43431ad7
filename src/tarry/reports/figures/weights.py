"""What weights cost: effective sample size and moments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tarry.reports.figures.cast import Cast
from tarry.reports.figures.look import Figure
from tarry.reports.figures.metrics import Metric, metric_chart

if TYPE_CHECKING:
    from tarry.reports.view import View

TEXT = (
    "A round that is seen stands for those that are not, by its weight; heavy weights are noise. Left: effective "
    "sample size, (Σw)²/Σw², as a share of all rounds; unlimited tracking has 100 %. Middle: the mean squared weight, "
    "the factor by which errors' variance grows; 1 is the least where weights are unbiased. Right: the heaviest "
    "weight."
)


def weight_figures(view: View, cast: Cast) -> list[Figure]:
    """Effective sample size, second moment and largest weight."""
    import polars as pl

    shown = metric_chart(
        view,
        cast,
        [
            Metric("effective sample size", pl.col("effective_sample_size") / pl.col("horizon")),
            Metric("mean squared weight", pl.col("weight_second_moment"), ",~r", is_log=True),
            Metric("largest weight", pl.col("weight_max"), ",~r", is_log=True),
        ],
    )
    return (
        [Figure("weights", "Weights and effective sample size", TEXT + shown[1] + cast.note, shown[0])] if shown else []
    )
