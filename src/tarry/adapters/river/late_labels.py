"""A River model whose labels come late."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from copy import copy
from typing import Any, Self

from river import base

from tarry.adapters.river.weights import check_weighted
from tarry.adapters.waiting import Waiting
from tarry.live import Ticket
from tarry.results import Weights


class Policy:
    """A scheduler as a parameter of a River model; River takes tuples there for something else."""

    def __init__(self, scheduler: Any) -> None:
        self.scheduler = scheduler

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.scheduler == other.scheduler

    def __hash__(self) -> int:
        return hash(self.scheduler)

    def __repr__(self) -> str:
        return repr(self.scheduler)


class LateLabels(base.Wrapper[Any], base.Estimator):
    """A classifier or regressor whose labels come late, at most ``capacity`` of them awaited.

    With ``on``, a feature that names the decision (or a function of the features), ``predict_one(x)`` registers it and
    ``learn_one(x, y)`` learns when the label comes; of x only that feature is needed then. Without, ``decide(x)`` gives
    a ticket and ``learn_one(ticket.id, y)`` learns; ``learn_one(x, y)`` is a label that came at once. The features of
    tracked decisions are kept, of no others; a label that is not (or no more) awaited is ignored.

    >>> from river import linear_model
    >>> model = LateLabels(linear_model.LinearRegression(), capacity=64, on="trip", seed=1)
    >>> model.predict_one({"trip": 17, "km": 3.0})
    0.0
    >>> model.learn_one({"trip": 17}, 4.0)
    >>> model.fates()["used"]
    1
    """

    def __new__(cls, model: Any = None, *_: Any, **__: Any) -> Self:
        """The class that fits the model, so that River sees a classifier or a regressor."""
        if cls is not LateLabels:
            return super().__new__(cls)
        kinds = ((base.Classifier, LateClassifier), (base.Regressor, LateRegressor))
        fitting = [late for kind, late in kinds if isinstance(model, kind)]
        if not fitting:
            raise ValueError(f"LateLabels needs a classifier or a regressor of River's, got {model!r}")
        return super().__new__(fitting[0])  # type: ignore[return-value]

    def __init__(
        self,
        model: Any,
        capacity: int | None,
        on: str | Callable[[Any], Hashable] | None = None,
        scheduler: Any = None,
        seed: int | None = None,
    ) -> None:
        check_weighted(model)
        policy = scheduler if isinstance(scheduler, Policy) or scheduler is None else Policy(scheduler)
        self.model, self.capacity, self.on, self.scheduler, self.seed = model, capacity, on, policy, seed
        self._waiting = Waiting(capacity, None if policy is None else policy.scheduler, seed)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model

        model = linear_model.LinearRegression if issubclass(cls, base.Regressor) else linear_model.LogisticRegression
        yield {"model": model(), "capacity": 100}

    @property
    def _wrapped_model(self) -> Any:
        return self.model

    def decide(self, x: Any, id: Hashable = None) -> Ticket:
        """Register a decision (under the id of ``on``, if there is one): its id and whether its label will be used."""
        if self.on is None:
            return self._waiting.decide(x, id, copy)
        return self._waiting.decide(self._features(x), self._name(x) if id is None else id)

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        """The model's prediction; with ``on``, the decision is registered."""
        return self.model.predict_one(x if self.on is None else self._asked(x), **kwargs)

    def learn_one(self, x: Any, y: Any, **kwargs: Any) -> None:
        """Learn from the label of a decision, named by its id or, with ``on``, by features; ``w`` is multiplied in."""
        if not isinstance(x, dict):
            id = x
        else:
            id = self.decide(x).id if self.on is None else self._name(x)
        features, weight = self._waiting.label(id)
        if weight != 0.0 and kwargs.get("w", 1.0) != 0.0:
            self.model.learn_one(features, y, **kwargs | {"w": weight * kwargs.get("w", 1.0)})

    def _asked(self, x: Any) -> Any:
        features = self._features(x)
        self._waiting.decide(features, self._name(x))
        return features

    def _name(self, x: Any) -> Hashable:
        if callable(self.on):
            return self.on(x)
        if self.on not in x:
            raise ValueError(f"x has no feature {self.on!r} to name its decision, only {list(x)}")
        name: Hashable = x[self.on]
        return name

    def _features(self, x: Any) -> Any:
        """What the model sees; a copy, since x may change until the label comes."""
        features = copy(x)
        if isinstance(self.on, str):
            features.pop(self.on, None)
        return features

    def fates(self) -> dict[str, int]:
        """Decisions by fate; they sum to the decisions made."""
        return self._waiting.slots.fates()

    def weights(self) -> Weights:
        """The moments of the weights; their mean tends to 1."""
        return self._waiting.slots.weights()


class LateClassifier(LateLabels, base.Classifier):
    """What :class:`LateLabels` makes of a classifier."""

    def predict_proba_one(self, x: Any, **kwargs: Any) -> Any:
        """The model's probabilities; with ``on``, the decision is registered."""
        return self.model.predict_proba_one(x if self.on is None else self._asked(x), **kwargs)


class LateRegressor(LateLabels, base.Regressor):
    """What :class:`LateLabels` makes of a regressor."""
