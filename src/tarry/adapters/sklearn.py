"""scikit-learn: a model with ``partial_fit(X, y, sample_weight=…)`` whose labels come late."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.adapters.waiting import Waiting
from tarry.kernel import make_seed
from tarry.live import Ticket
from tarry.results import Weights

try:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
    from sklearn.utils import check_array, get_tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise ImportError("the scikit-learn adapter needs scikit-learn: pip install 'tarry[sklearn]'") from error


def _if_model_has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.estimator, name))


class LateLabels(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Learn by ``partial_fit`` from labels that come late, at most ``capacity`` of them awaited.

    ``decide(X)`` registers rows and says which are tracked; ``label(ids, y)`` learns from the tracked ones among them
    in one call of the model's ``partial_fit``, each row with its weight. A row of weight zero never reaches the model,
    whose clock it would advance. ``classes`` are a classifier's, as its first ``partial_fit`` needs them.

    >>> from sklearn.linear_model import SGDRegressor
    >>> model = LateLabels(SGDRegressor(random_state=0), capacity=64, random_state=1)
    >>> tickets = model.decide([[0.0, 1.0], [1.0, 1.0]])
    >>> model.label([ticket.id for ticket in tickets], [2.0, 3.0])
    2
    >>> model.predict([[1.0, 1.0]]).shape
    (1,)
    """

    def __init__(
        self,
        estimator: Any,
        capacity: int | None = None,
        *,
        scheduler: Any = None,
        classes: ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.capacity = capacity
        self.scheduler = scheduler
        self.classes = classes
        self.random_state = random_state

    def decide(self, X: ArrayLike, ids: Iterable[Hashable] | None = None) -> list[Ticket]:  # noqa: N803
        """Register the rows of X as decisions, under these ids or under their numbers."""
        self._begin()
        rows = check_array(X, dtype=None)
        names = [None] * len(rows) if ids is None else list(ids)
        if len(names) != len(rows):
            raise ValueError(f"X has {len(rows)} rows and there are {len(names)} ids: give one each")
        return [self.waiting_.decide(row.copy(), name) for row, name in zip(rows, names, strict=True)]

    def label(self, ids: Iterable[Hashable], y: ArrayLike) -> int:
        """Learn from these decisions' labels; how many of them were tracked."""
        self._begin()
        names, labels = list(ids), np.asarray(y)
        if len(names) != len(labels):
            raise ValueError(f"there are {len(names)} ids and {len(labels)} labels: give one each")
        kept = [self.waiting_.label(name) for name in names]
        heard = [i for i, (row, weight) in enumerate(kept) if row is not None and weight != 0.0]
        if heard:
            rows, weights = np.stack([kept[i][0] for i in heard]), np.array([kept[i][1] for i in heard])
            try:
                self._learn(rows, labels[heard], weights)
            except BaseException as error:
                self.waiting_.give_back(((names[i], *kept[i]) for i in heard), error)
                raise
        return len(heard)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Begin afresh: nothing is awaited any more, and the model knows these rows only."""
        for name in ("waiting_", "estimator_"):
            self.__dict__.pop(name, None)
        return self.partial_fit(X, y, np.unique(y) if is_classifier(self) else None, sample_weight)

    def partial_fit(
        self,
        X: ArrayLike,  # noqa: N803
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows whose labels are at hand and were awaited by nobody; those of weight zero are left out."""
        self._begin()
        rows, labels = check_array(X, dtype=None), np.asarray(y)
        weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, float)
        heard = weights != 0.0
        if heard.any():
            self._learn(rows[heard], labels[heard], weights[heard], classes)
        return self

    def _learn(self, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray, classes: Any = None) -> None:
        known = self.classes if classes is None else classes
        first = {} if known is None else {"classes": np.asarray(known)}
        self.estimator_.partial_fit(rows, labels, sample_weight=weights, **first)

    def _begin(self) -> None:
        if hasattr(self, "waiting_"):
            return
        check_weighted(self.estimator)
        self.waiting_ = Waiting(self.capacity, self.scheduler, _seed_of(self.random_state))
        self.estimator_ = clone(self.estimator)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags

    @property
    def classes_(self) -> Any:
        """The model's classes."""
        return self.estimator_.classes_

    def predict(self, X: ArrayLike) -> Any:  # noqa: N803
        """The model's predictions; nothing is registered."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @_if_model_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Any:  # noqa: N803
        """The model's probabilities."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @_if_model_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> Any:  # noqa: N803
        """The model's decision function."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    @_if_model_has("score")  # type: ignore[untyped-decorator]
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:  # noqa: N803
        """The model's own score."""
        check_is_fitted(self)
        return self.estimator_.score(X, y, sample_weight)

    def fates(self) -> dict[str, int]:
        """Decisions by fate; they sum to the decisions made."""
        check_is_fitted(self)
        return self.waiting_.slots.fates()

    def weights(self) -> Weights:
        """The moments of the weights; their mean tends to 1."""
        check_is_fitted(self)
        return self.waiting_.slots.weights()


def check_weighted(model: Any) -> None:
    """Refuse, by name, a model that cannot learn from weighted rows a few at a time."""
    name = type(model).__name__
    if not hasattr(model, "partial_fit"):
        raise ValueError(f"{name} has no partial_fit, so it cannot learn as labels come: use SGDClassifier, say")
    if "sample_weight" not in inspect.signature(model.partial_fit).parameters:
        raise ValueError(
            f"{name}.partial_fit takes no sample_weight: labels that stand for several would count once. "
            "Use a model that does, such as SGDClassifier or GaussianNB"
        )


def _seed_of(random_state: Any) -> int:
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return make_seed(random_state)
