"""scikit-learn: a model with ``partial_fit(X, y, sample_weight=…)`` whose labels come late."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import isfinite
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.adapters.waiting import LateModel, Seed, Sizer, Waiting, Window, check_id
from tarry.live import Ticket
from tarry.live.weighing import DEFAULT, SPLIT, Weighing
from tarry.schedulers.base import Scheduler

try:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
    from sklearn.utils import check_consistent_length, get_tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("the scikit-learn adapter needs scikit-learn: pip install 'tarry[sklearn]'") from error


def _if_model_has(name: str) -> Callable[[Callable[..., Any]], Any]:
    return available_if(lambda self: hasattr(self.estimator, name))  # type: ignore[no-any-return]


class LateLabels(LateModel, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Learn by ``partial_fit`` from labels that come late, at most ``capacity`` of them awaited.

    ``decide(X)`` registers rows and says which are tracked; ``label(ids, y)`` learns from the tracked ones among them
    in one call of the model's ``partial_fit``, each row with its weight. A row of weight zero never reaches the model,
    whose clock it would advance. ``classes`` are a classifier's, as its first ``partial_fit`` needs them. ``size``, a
    function of a row of X, an array of numbers, says what a decision counts for: ``lambda x: x[0]``.

    ``weights="tempered"`` divides a weight by √(Σw²/Σw) so far, so that the model's step suits as many decisions;
    ``"relative"`` by the mean weight, for a penalty that matters more than the step; ``"unbiased"`` by nothing. A row
    of weight two and more is given several times, each with about ``split``; what is above ``max_weight`` is cut, which
    biases.

    ``window`` is how long a decision waits, such as ``"30d"``: :meth:`advance` learns from those whose windows have
    ended, with ``missing`` as the label where none came. Labels are held until then, unless ``release="arrival"``.
    ``at`` is the moment of all decisions or labels of a call.

    As scikit-learn has it, parameters are looked at when they are first used: a model that cannot learn so, or a
    classifier without classes, is refused by the first ``decide``, before any decision is taken. A label that is NaN or
    of no known class is refused, with all told together with it, whether its decision is tracked or not.

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
        scheduler: Scheduler | str | None = None,
        classes: ArrayLike | None = None,
        random_state: Seed | np.random.RandomState = None,
        size: Sizer = None,
        weights: str = DEFAULT,
        split: float | None = SPLIT,
        max_weight: float | None = None,
        window: Any = None,
        missing: Any = None,
        release: str | None = None,
    ) -> None:
        # As scikit-learn's clone wants: kept as given, looked at later.
        self.estimator = estimator
        self.capacity = capacity
        self.scheduler = scheduler
        self.classes = classes
        self.random_state = random_state
        self.size = size
        self.weights = weights
        self.split = split
        self.max_weight = max_weight
        self.window = window
        self.missing = missing
        self.release = release

    def decide(self, X: ArrayLike, ids: Iterable[Hashable] | None = None, *, at: Any = None) -> list[Ticket]:
        """Register the rows of X as decisions, under these ids or under their numbers."""
        self._begin(self.classes)
        rows = self._rows(X)
        names = [None] * len(rows) if ids is None else _listed(ids)
        if len(names) != len(rows):
            raise ValueError(f"X has {len(rows)} rows and there are {len(names)} ids: give one each")
        if ids is not None and None in names:
            raise ValueError(f"row {names.index(None)} has no id: give ids always or never")
        sizes = self.waiting_.sizes(rows)
        self._check_moment(at)
        # A view would keep all of X alive, and see it change.
        return [self.waiting_.decide(row.copy(), *known, at=at) for row, *known in zip(rows, names, sizes, strict=True)]

    def label(self, ids: Iterable[Hashable], y: ArrayLike, *, at: Any = None) -> int:
        """Learn from these decisions' labels; return how many were learnt from: with a window, see :meth:`advance`."""
        self._begin(self.classes)
        names, labels = _listed(ids), _labels(y)
        if len(names) != len(labels):
            raise ValueError(f"there are {len(names)} ids and {len(labels)} labels: give one each")
        self._check_labels(labels, "the decision {!r}", names, self.classes)
        self.waiting_.check_room(names)  # before the first of them leaves its slot
        self._check_moment(at)
        kept = [(name, *self.waiting_.label(name, y, at=at), y) for name, y in zip(names, labels, strict=True)]
        return self._hear([one for one in kept if one[1] is not None and one[2] != 0.0])

    def advance(self, now: Any = None) -> int:
        """Learn from decisions whose windows have ended by a moment, now if it is not said; return how many."""
        self._begin(self.classes)
        return self._hear(list(self.waiting_.ended(now)))

    def _hear(self, heard: list[tuple[Hashable, np.ndarray, float, Any]]) -> int:
        """Learn from ids, rows, weights and labels in one call, a row of great weight several times in it."""
        if not heard:
            return 0
        weighing = self.waiting_.weighing
        rows, labels = np.stack([row for _, row, *_ in heard]), np.asarray([y for *_, y in heard])
        weights = np.array([weight for _, _, weight, _ in heard])
        calls = np.array([weighing.calls(weight, step_of, self.estimator_) for weight in weights.tolist()])
        rows, labels, weights = (np.repeat(part, calls, axis=0) for part in (rows, labels, weights / calls))
        try:
            self._learn(rows, labels, weights, self.classes)
        except BaseException as error:  # an interrupt too: what was not learnt must not be lost
            self.waiting_.give_back(heard, error)
            raise
        return len(heard)

    def _check_moment(self, at: Any) -> None:
        if at is not None:  # before the first of several is decided, or leaves its slot
            self.waiting_.moment(at)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Begin afresh: nothing is awaited any more, and the model knows these rows only."""
        check_weighted(self.estimator)
        # What a first call sets, so that the next is one.
        for name in ("waiting_", "estimator_", "has_learnt_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        is_told = self.classes is not None or not is_classifier(self)
        return self.partial_fit(X, y, self.classes if is_told else np.unique(y), sample_weight)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from rows whose labels are at hand and were awaited by nobody; those of weight zero are left out."""
        known = self.classes if classes is None else classes
        self._begin(known)
        rows, labels = self._rows(X), _labels(y)
        weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, float)
        check_consistent_length(rows, labels, weights)
        bad = weights[~((weights >= 0) & (weights < np.inf))]  # NaN too
        if bad.size:
            raise ValueError(f"sample_weight must be finite and at least 0, got {bad[0]}")
        self._check_labels(labels, "row {}", range(len(labels)), known)
        heard = weights != 0.0
        if heard.any():
            self._learn(rows[heard], labels[heard], weights[heard], known)
        return self

    def _learn(self, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray, classes: ArrayLike | None) -> None:
        first = {} if classes is None else {"classes": np.asarray(classes)}
        self.estimator_.partial_fit(rows, labels, sample_weight=weights, **first)
        self.has_learnt_ = True  # estimator_ does not tell: it is there from the first decision

    def _begin(self, classes: ArrayLike | None) -> None:
        if not hasattr(self, "waiting_"):
            check_weighted(self.estimator)
            state = self.random_state
            seed = int(state.randint(2**31)) if isinstance(state, np.random.RandomState) else state
            weighing = Weighing(self.weights, self.split, self.max_weight)
            window = Window.of(self.window, self.missing, self.release)
            waiting = Waiting(
                self.capacity, self.scheduler, seed, self.size, such_as="x[0]", weighing=weighing, window=window
            )
            if window.length and not (is_classifier(self) and classes is None):  # refused below
                self._check_labels(np.asarray([self.missing]), "a decision without one", [None], classes)
            self.estimator_, self.waiting_ = clone(self.estimator), waiting
        if is_classifier(self) and classes is None and not hasattr(self.estimator_, "classes_"):
            raise ValueError(
                f"{type(self.estimator).__name__} must know its classes before its labels come: "
                "LateLabels(…, classes=[…])"
            )
        if classes is not None and np.ndim(classes) == 0:
            raise ValueError(f"classes must be a list of all classes, got {classes!r}")

    def _rows(self, X: ArrayLike) -> np.ndarray:
        # Models of texts take them as they are; others are given numbers.
        dtype = None if get_tags(self.estimator).input_tags.string else "numeric"
        rows: np.ndarray = validate_data(self, X, reset=not hasattr(self, "n_features_in_"), dtype=dtype)
        return rows

    def _check_labels(self, labels: np.ndarray, whose: str, names: Sequence[Any], classes: ArrayLike | None) -> None:
        """Refuse labels that this kind of model cannot learn from; ``whose`` says which, as a format of its name."""
        if is_classifier(self) and labels.ndim == 1:
            known = np.asarray(self.classes_ if classes is None else classes).tolist()
            bad, wanted = [y not in known for y in labels.tolist()], f"one of the classes {known}"
        else:
            bad, wanted = [any(map(self._is_bad, np.ravel(row))) for row in labels], "a finite number"
        if any(bad):
            i = bad.index(True)
            told = f"{whose.format(names[i])} has the label {labels.tolist()[i]!r}"
            raise ValueError(f"{told}, but it must be {wanted}: nothing changed")

    def _is_bad(self, y: object) -> bool:
        # What is no number may be a target of several outputs; a regressor's is none.
        return not isfinite(y) if isinstance(y, Real) else is_regressor(self) or y is None

    def _ask(self, method: str, X: ArrayLike, *given: ArrayLike | None) -> Any:
        check_is_fitted(
            self, msg="%(name)s has learnt from no label yet, so it cannot predict: label some, or call fit"
        )
        return getattr(self.estimator_, method)(self._rows(X), *given)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "has_learnt_")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags

    @property
    def classes_(self) -> Any:
        check_is_fitted(self, "estimator_")
        return self.estimator_.classes_

    def predict(self, X: ArrayLike) -> Any:
        """Return the model's predictions; nothing is registered."""
        return self._ask("predict", X)

    @_if_model_has("predict_proba")
    def predict_proba(self, X: ArrayLike) -> Any:
        return self._ask("predict_proba", X)

    @_if_model_has("decision_function")
    def decision_function(self, X: ArrayLike) -> Any:
        return self._ask("decision_function", X)

    @_if_model_has("score")
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:
        return self._ask("score", X, y, sample_weight)

    @property
    def _waiting(self) -> Waiting:  # type: ignore[override]
        check_is_fitted(self, "waiting_")
        return self.waiting_


def check_weighted(model: object) -> None:
    """Refuse, by name, a model that cannot learn from weighted rows a few at a time."""
    if isinstance(model, type):
        raise ValueError(f"{model.__name__} is a class: give a model, {model.__name__}(…)")
    name = type(model).__name__
    if not hasattr(model, "partial_fit"):
        raise ValueError(f"{name} has no partial_fit, so it cannot learn as labels come: use SGDClassifier, say")
    if "sample_weight" not in inspect.signature(model.partial_fit).parameters:
        raise ValueError(
            f"{name}.partial_fit takes no sample_weight: labels that stand for several would count once. "
            "Use a model that does, such as SGDClassifier or GaussianNB"
        )


def step_of(model: Any) -> float | None:
    """Return the length of the step that a model takes next; None where it has none that can be read."""
    kind, eta = getattr(model, "learning_rate", None), getattr(model, "eta0", None)
    if kind == "optimal":  # SGDClassifier's own schedule, which begins at α^(-1/4)
        return float(1.0 / (model.alpha * getattr(model, "t_", 1.0) + model.alpha**0.25))
    return getattr(model, "learning_rate_init", None) if eta is None or kind is None else float(eta)


def _listed(ids: Iterable[Hashable]) -> list[Any]:
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise ValueError(f"ids must be a list of ids, got {ids!r}")
    names = list(ids)
    for name in names:
        check_id(name)
    return names


def _labels(y: ArrayLike) -> np.ndarray:
    labels = np.asarray(y)
    if labels.ndim == 0:
        raise ValueError(f"y must be a list of labels, got {y!r}")
    return labels
