"""The health of weights in four numbers."""

from __future__ import annotations

from typing import Any, NamedTuple


class Weights(NamedTuple):
    """Moments of the weights over rounds (unseen ones weigh zero): numbers, or arrays with one entry per seed."""

    mean: Any
    second_moment: Any
    max: Any
    effective_sample_size: Any
