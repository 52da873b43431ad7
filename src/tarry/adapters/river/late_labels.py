"""A River model whose labels come late."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator
from copy import copy
from typing import Any, Self

from river import base

from tarry.adapters.river.checks import check_label, check_weight, check_weighted
from tarry.adapters.waiting import Waiting
from tarry.live import Ticket
from tarry.results import Weights

_WHOSE = "the decision {!r}"


class SchedulerParameter:
    """A scheduler as a parameter of a River model; River takes tuples there for something else."""

    def __init__(self, scheduler: Any) -> None:
        self.scheduler = scheduler

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchedulerParameter) and self.scheduler == other.scheduler

    def __hash__(self) -> int:
        return hash(self.scheduler)

    def __repr__(self) -> str:
        return repr(self.scheduler)


class LateLabels(base.Wrapper[Any], base.Estimator):
    """A classifier or regressor whose labels come late, at most ``capacity`` of them awaited.

    With ``on``, a feature that names the decision (or a function of the features), ``predict_one(x)`` registers it and
    ``learn_one(x, y)`` learns when the label comes; of x only that feature is needed then. Without, ``decide(x)`` gives
    a ticket and ``learn_one(ticket.id, y)`` learns; ``learn_one(x, y)`` is refused then, since nothing would say which
    decision it answers and the capacity could not apply (with ``capacity=None`` it is a label that came at once).

    The features of tracked decisions are kept, of no others; a label that is not (or no more) awaited is ignored. One
    that is None, NaN or infinite is refused and changes nothing, whether it is awaited or not.

    >>> from river import linear_model
    >>> model = LateLabels(linear_model.LinearRegression(), capacity=64, on="trip", seed=1)
    >>> model.predict_one({"trip": 17, "km": 3.0})
    0.0
    >>> model.learn_one({"trip": 17}, 4.0)
    >>> model.fates()["used"]
    1
    """

    _is_number = False

    def __new__(cls, model: Any = None, *_: Any, **__: Any) -> Self:
        """Return an object of the class that fits the model, so that River sees a classifier or a regressor."""
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
        is_ready = scheduler is None or isinstance(scheduler, SchedulerParameter)
        policy = scheduler if is_ready else SchedulerParameter(scheduler)
        self.model, self.capacity, self.on, self.scheduler, self.seed = model, capacity, on, policy, seed
        self._waiting = Waiting(capacity, None if policy is None else policy.scheduler, seed)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model

        model = linear_model.LinearRegression if issubclass(cls, base.Regressor) else linear_model.LogisticRegression
        yield {"model": model(), "capacity": None}

    @property
    def _wrapped_model(self) -> Any:
        return self.model

    def decide(self, x: Any, id: Hashable = None) -> Ticket:
        """Register a decision (under the id of ``on``, if there is one): its id and whether its label will be used."""
        if not isinstance(x, dict | str):  # strings are what River's text pipelines take
            raise ValueError(f"features must be a dict of names to values, got {x!r}")
        if self.on is None:
            return self._waiting.decide(x, id, copy)
        return self._waiting.decide(x, self._name(x) if id is None else id, self._features)

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        """The model's prediction; with ``on``, the decision is registered."""
        if self.on is None and not kwargs:  # the shortest way, since it is the most walked
            return self.model.predict_one(x)
        return self.model.predict_one(x if self.on is None else self._asked(x), **kwargs)

    def learn_one(self, x: Any, y: Any, **kwargs: Any) -> None:
        """Learn from the label of a decision, named by its id or, with ``on``, by features; ``w`` is multiplied in."""
        id = self._whose(x) if isinstance(x, dict) else x
        check_label(y, self._is_number, _WHOSE, id)
        own = kwargs.pop("w", 1.0) if kwargs else 1.0
        if own != 1.0:
            check_weight(own, _WHOSE, id)
        if self.on is None and id is not x:
            self._waiting.decide(x, None, copy)
        features, weight = self._waiting.label(id)
        if weight != 0.0 and own != 0.0:
            try:
                self.model.learn_one(features, y, w=weight * own, **kwargs)
            except BaseException as error:
                self._waiting.give_back([(id, features, weight)], error)
                raise

    def _whose(self, x: Any) -> Hashable:
        if self.on is not None:
            return self._name(x)
        if self.capacity is None:
            return self._waiting.slots.rounds + 1  # it will be decided now
        raise ValueError(
            f"without on=, nothing says which decision these features answer, so the capacity of {self.capacity} would "
            "not apply: name the feature that identifies a decision (on='id'), or answer tickets, "
            "learn_one(ticket.id, y). For labels that come at once, teach the model inside, or give capacity=None"
        )

    def _asked(self, x: Any) -> Any:
        self._waiting.decide(x, self._name(x), self._features)
        return self._features(x)

    def _name(self, x: Any) -> Hashable:
        name: Hashable
        if callable(self.on):
            name = self.on(x)
        elif not isinstance(x, dict) or self.on not in x:
            only = list(x) if isinstance(x, dict) else x
            raise ValueError(f"x has no feature {self.on!r} to name its decision, only {only!r}")
        else:
            name = x[self.on]
        if name is None:
            raise ValueError(f"a decision cannot be named None, got {x!r}: give each its id")
        return name

    def _features(self, x: Any) -> Any:
        """What the model sees; a copy, since x may change until the label comes."""
        features = copy(x)
        if not callable(self.on):
            features.pop(self.on, None)
        return features

    def forget(self, id: Hashable) -> bool:
        """Give up on a decision that the model failed on, and free its room; False if it is none."""
        return self._waiting.forget(id)

    def fates(self) -> dict[str, int]:
        """Decisions by fate; they sum to the decisions made."""
        return self._waiting.fates()

    def weights(self) -> Weights:
        """The moments of the weights; their mean tends to 1."""
        return self._waiting.slots.weights()


# Help and editors look at ``__new__`` first, which takes anything: what counts is below.
LateLabels.__new__.__signature__ = inspect.signature(LateLabels.__init__)  # type: ignore[attr-defined]


class LateClassifier(LateLabels, base.Classifier):
    """What :class:`LateLabels` makes of a classifier."""

    def predict_proba_one(self, x: Any, **kwargs: Any) -> Any:
        """The model's probabilities; with ``on``, the decision is registered."""
        if self.on is None and not kwargs:
            return self.model.predict_proba_one(x)
        return self.model.predict_proba_one(x if self.on is None else self._asked(x), **kwargs)


class LateRegressor(LateLabels, base.Regressor):
    """What :class:`LateLabels` makes of a regressor."""

    _is_number = True
