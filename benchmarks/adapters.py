"""The River adapter against bare River: the same model, data and delay, ten features.

Evaluation is measured whole, ours against River's own ``progressive_val_score``. Live use is measured against a loop
that predicts, keeps the features, and learns when the label comes; LateLabels does the keeping. "Every label" has room
for all of them, so that nothing is saved by not learning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.measure import Figure, Row, interleave, nanoseconds, ratio
from benchmarks.stage import SEED, some_rows

ROUNDS, DELAY, FEW, PLENTY = 4_000, 100, 16, 200

Data = list[tuple[dict[str, float], bool]]


def _stream() -> Data:
    return [({f"x{i}": float(v) for i, v in enumerate(row)}, bool(row.sum() > 0)) for row in some_rows(ROUNDS)]


def _model() -> Any:
    from river import linear_model

    return linear_model.LogisticRegression()


def _theirs() -> Callable[[], Any]:
    from river import evaluate, metrics

    return partial(evaluate.progressive_val_score, _stream(), _model(), metrics.LogLoss(), delay=DELAY)


def _ours(capacity: int) -> Callable[[], Any]:
    from river import metrics

    from tarry.adapters.river import progressive_val_score

    limits = {"delay": DELAY, "capacity": capacity, "seed": SEED}
    return partial(progressive_val_score, _stream(), _model(), metrics.LogLoss(), **limits)


def _bare() -> Callable[[], None]:
    data, model = _stream(), _model()

    def play() -> None:
        waiting: deque[tuple[dict[str, float], bool]] = deque()
        for x, y in data:
            model.predict_proba_one(x)
            waiting.append((x, y))
            if len(waiting) > DELAY:
                model.learn_one(*waiting.popleft())

    return play


def _late(capacity: int) -> Callable[[], None]:
    from tarry.adapters.river import LateLabels

    data, model = _stream(), LateLabels(_model(), capacity, seed=SEED)

    def play() -> None:
        waiting: deque[tuple[Any, bool]] = deque()
        for x, y in data:
            model.predict_proba_one(x)
            waiting.append((model.decide(x).id, y))
            if len(waiting) > DELAY:
                model.learn_one(*waiting.popleft())

    return play


def _against(ours: Callable[[int], Callable[[], Any]], theirs: Any, capacity: int, _quick: bool) -> Figure:
    mine, bare = interleave([partial(ours, capacity), theirs])
    detail = f"{nanoseconds(mine, ROUNDS) / 1e3:.2f} us a row, River {nanoseconds(bare, ROUNDS) / 1e3:.2f} us"
    return Figure(ratio(mine, bare), detail)


ROWS = [
    Row("adapter river evaluation, every label", 1.2, partial(_against, _ours, _theirs, PLENTY)),
    Row("adapter river evaluation, 16 slots", 1.2, partial(_against, _ours, _theirs, FEW)),
    Row("adapter river live, 16 slots", 1.2, partial(_against, _late, _bare, FEW)),
    Row("adapter river live, every label", 2.5, partial(_against, _late, _bare, PLENTY)),
]
