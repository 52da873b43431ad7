"""Rows that a scikit-learn model cannot learn from are refused early, or held and told of."""

import numpy as np
import pytest
from sklearn.linear_model import SGDRegressor

from tarry.adapters.sklearn import LateLabels


class Picky(SGDRegressor):
    def partial_fit(self, X, y, sample_weight=None):
        if np.max(y) > 5:
            raise RuntimeError("too much")
        return super().partial_fit(X, y, sample_weight=sample_weight)


def test_failed_rows_are_at_most_capacity_and_none_is_lost():
    late = LateLabels(Picky(random_state=0), capacity=2, random_state=1)
    failed = []
    for i in range(40):
        (ticket,) = late.decide([[1.0, i]])
        if not ticket.tracked:
            continue
        kind, words = (RuntimeError, "much") if len(failed) < 2 else (ValueError, "failed on 2 decisions, .* at most 2")
        with pytest.raises(kind, match=words):
            late.label([ticket.id], [6.0])
        if kind is RuntimeError:
            failed.append(ticket.id)
        assert len(late.waiting_._returned) <= 2
    fates = late.fates()
    assert (len(failed), fates["used"], fates["pending"], sum(fates.values())) == (2, 0, 4, 40)
    assert late.forget(failed[0])
    waiting = list(late.waiting_._kept)
    with pytest.raises(ValueError, match="failed on 1 decisions"):
        late.label(waiting, [1.0, 1.0])
    assert list(late.waiting_._kept) == waiting, "nothing changed"
    assert late.label(failed, [1.0, 1.0]) == 1
    assert late.label(waiting, [1.0, 1.0]) == 2
    fates = late.fates()
    assert (fates["used"], fates["pending"], fates["expired"]) == (3, 0, 1)


@pytest.mark.parametrize("rows", [[["a", "b"]], np.array([["a", 1.0]], object)])
def test_rows_of_text_are_refused_at_once(rows):
    late = LateLabels(SGDRegressor(), capacity=2)
    with pytest.raises(ValueError, match=r"could not convert string|not compatible with arrays of bytes/strings"):
        late.decide(rows)
    assert late.fates()["pending"] == 0


def test_labels_that_the_model_refuses_may_come_again():
    late, twin = (LateLabels(Picky(random_state=0), capacity=2, random_state=1) for _ in range(2))
    ids = [ticket.id for ticket in late.decide(np.arange(10.0).reshape(5, 2))]
    twin.decide(np.arange(10.0).reshape(5, 2))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="too much") as told:
            late.label(ids, [6.0] * 5)
        assert "label them again" in told.value.__notes__[0]
    assert late.label(ids, np.ones(5)) == twin.label(ids, np.ones(5)) == 2
    assert late.predict([[1.0, 2.0]]) == twin.predict([[1.0, 2.0]])
    assert late.label(ids, np.ones(5)) == 0
