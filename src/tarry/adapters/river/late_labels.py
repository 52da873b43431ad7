"""A River model whose labels come late; and what River is given, looked at before anything is done with it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite
from numbers import Real
from typing import Any, NamedTuple, Self

from river import base, compose
from river.active.base import ActiveLearningClassifier

from tarry.adapters.waiting import LateModel, Sizer, Waiting, Window
from tarry.live import Ticket
from tarry.live.weighing import DEFAULT, SPLIT, Weighing
from tarry.schedulers.base import Scheduler

Features = dict[Any, Any] | str  # strings are what River's text pipelines take
_WHOSE = "the decision {!r}"
# Of River's models that take any keyword, these hand the weight on, and keep no counts of labels without it.
FORWARDING = (
    *("ADWINBaggingClassifier", "BaggingClassifier", "BaggingRegressor", "LeveragingBaggingClassifier"),
    *("DriftRetrainingClassifier", "OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier", "PredClipper"),
)


@dataclass(frozen=True, repr=False)
class SchedulerParameter:
    """A scheduler as a parameter of a River model; River takes tuples there for something else."""

    scheduler: Scheduler

    def __repr__(self) -> str:
        return repr(self.scheduler)


class Told(NamedTuple):
    """A label with the weight and the options that the caller gave with it."""

    y: Any
    own: float = 1.0
    options: dict[str, Any] = {}


new_told = partial(tuple.__new__, Told)  # without a Python call


class LateLabels(LateModel, base.Wrapper[Any], base.Estimator):
    """A classifier or regressor whose labels come late, at most ``capacity`` of them awaited.

    With ``on``, a feature that names the decision (or a function of the features), ``predict_one(x)`` registers it and
    ``learn_one(x, y)`` learns when the label comes; of x only that feature is needed then. Without, ``decide(x)`` gives
    a ticket and ``learn_one(ticket.id, y)`` learns; ``learn_one(x, y)`` is refused then, since nothing would say which
    decision it answers and the capacity could not apply (with ``capacity=None`` it is a label that came at once).

    ``size``, a function of the features, says what a decision counts for, such as the value of a basket.
    ``weights="tempered"`` divides a weight by √(Σw²/Σw) so far, so that the model's step suits as many decisions;
    ``"relative"`` by the mean weight, ``"unbiased"`` by nothing. Weights of two and more are told in calls of about
    ``split``; what is above ``max_weight`` is cut, which biases.

    ``window`` is how long a decision waits, such as ``"30d"``: :meth:`advance` learns from those whose windows have
    ended, with ``missing`` as the label where none came. Labels are held until then, unless ``release="arrival"``.
    ``decide``, ``learn_one`` and, with ``on``, ``predict_one`` take ``at``, the moment of the event.

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

    def __new__(cls, model: object = None, *_: object, **__: object) -> Self:
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
        scheduler: Scheduler | SchedulerParameter | str | None = None,
        seed: int | None = None,
        size: Sizer = None,
        weights: str = DEFAULT,
        split: float | None = SPLIT,
        max_weight: float | None = None,
        window: Any = None,
        missing: Any = None,
        release: str | None = None,
    ) -> None:
        check_weighted(model)
        bare = scheduler.scheduler if isinstance(scheduler, SchedulerParameter) else scheduler  # a clone's is wrapped
        self.model, self.capacity, self.on, self.seed, self.size = model, capacity, on, seed, size
        self.weights, self.split, self.max_weight = weights, split, max_weight
        self.window, self.missing, self.release = window, missing, release
        self.scheduler = bare if bare is None or isinstance(bare, str) else SchedulerParameter(bare)
        if missing is not None:
            check_label(missing, self._is_number, "a decision without one", None)
        weighing, span = Weighing(weights, split, max_weight), Window.of(window, missing, release)
        span = span._replace(missing=Told(missing))
        self._waiting = Waiting(capacity, bare, seed, size, weighing=weighing, window=span)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model

        model = linear_model.LinearRegression if issubclass(cls, base.Regressor) else linear_model.LogisticRegression
        yield {"model": model(), "capacity": None}

    @property
    def _wrapped_model(self) -> Any:
        return self.model

    def decide(self, x: Features, id: Hashable = None, *, at: Any = None) -> Ticket:
        """Register a decision (under the id of ``on``, if there is one); return its id and whether it is tracked."""
        if self.on is None:
            return self._waiting.decide(x if type(x) is dict else _copied(x), id, at=at)  # which copies dicts
        kept = self._features(x)  # before a name is looked for, since what has none may be no features at all
        return self._waiting.decide(kept, self._name(x) if id is None else id, at=at)

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """Return the model's prediction; with ``on``, the decision is registered."""
        if self.on is None and not kwargs:  # the shortest way, since it is the most walked
            return self.model.predict_one(x)
        return self.model.predict_one(self._asked(x, kwargs), **kwargs)

    def learn_one(self, x: Features | Hashable, y: Any, **kwargs: Any) -> None:
        """Learn from the label of a decision, named by its id or, with ``on``, by features; ``w`` is multiplied in."""
        id = self._whose(x) if isinstance(x, dict) else x
        check_label(y, self._is_number, _WHOSE, id)
        own, at = (kwargs.pop("w", 1.0), kwargs.pop("at", None)) if kwargs else (1.0, None)
        if own != 1.0:
            check_weight(own, _WHOSE, id)
        if self.on is None and id is not x:  # features without a name: a label that came at once
            self._waiting.decide(_copied(x), at=at)
        if self.window is None and at is None:
            features, weight = self._waiting.end(id)
        else:
            features, weight = self._waiting.label(id, new_told((y, own, kwargs)), at=at)
        if weight != 0.0:
            self._learn(id, features, weight, new_told((y, own, kwargs)))

    def advance(self, now: Any = None) -> int:
        """Learn from decisions whose windows have ended by a moment, now if it is not said; return how many."""
        learnt = 0
        for id, features, weight, told in self._waiting.ended(now):
            self._learn(id, features, weight, told)
            learnt += 1
        return learnt

    def _learn(self, id: Hashable, x: Features, weight: float, told: Told) -> None:
        """Teach the model a label in as many calls as its weight takes."""
        y, own, options = told
        if own == 0.0:
            return
        calls = self._waiting.weighing.calls(weight, step_of, self.model)
        learn = partial(self.model.learn_one, **options) if options else self.model.learn_one
        done = 0
        try:
            while done < calls:
                learn(x, y, w=weight * own / calls)
                done += 1
        except BaseException as error:  # an interrupt too: what was not learnt must not be lost
            self._waiting.give_back([(id, x, weight * (calls - done) / calls, told)], error)
            raise

    def _whose(self, x: Features) -> Hashable:
        if self.on is not None:
            return self._name(x)
        if self.capacity is None:
            return self._waiting.slots.rounds + 1  # it will be decided now
        raise ValueError(
            f"without on=, nothing says which decision these features answer, so the capacity of {self.capacity} would "
            "not apply: name the feature that identifies a decision (on='id'), or answer tickets, "
            "learn_one(ticket.id, y). For labels that come at once, teach the model inside, or give capacity=None"
        )

    def _asked(self, x: Features, options: dict[str, Any]) -> Features:
        """Register a decision that ``on`` names; return what the model sees. The options lose ``at``, its moment."""
        if self.on is None:
            return x
        self._waiting.decide(self._features(x), self._name(x), at=options.pop("at", None))
        return self._features(x)

    def _name(self, x: Features) -> Hashable:
        if not callable(self.on) and (not isinstance(x, dict) or self.on not in x):
            only = list(x) if isinstance(x, dict) else x
            raise ValueError(f"x has no feature {self.on!r} to name its decision, only {only!r}")
        name: Hashable = self.on(x) if callable(self.on) else x[self.on]  # type: ignore[index]
        if name is None:
            raise ValueError(f"a decision cannot be named None, got {x!r}: give each its id")
        return name

    def _features(self, x: Features) -> Features:
        """Return what the model sees: a copy, since x may change until the label comes."""
        features = _copied(x)
        if not callable(self.on) and isinstance(features, dict):
            features.pop(self.on, None)
        return features


# Help and editors would look at ``__new__`` first, which takes anything.
_ASKED = list(inspect.signature(LateLabels.__init__).parameters.values())[1:]
LateLabels.__signature__ = inspect.Signature(_ASKED)  # type: ignore[attr-defined]


class LateClassifier(LateLabels, base.Classifier):
    """What :class:`LateLabels` makes of a classifier."""

    def predict_proba_one(self, x: Features, **kwargs: Any) -> Any:
        if self.on is None and not kwargs:
            return self.model.predict_proba_one(x)
        return self.model.predict_proba_one(self._asked(x, kwargs), **kwargs)


class LateRegressor(LateLabels, base.Regressor):
    """What :class:`LateLabels` makes of a regressor."""

    _is_number = True


def check_weighted(model: Any) -> None:
    """Refuse, by name, a model that would lose the weights of labels or that learns from no labels."""
    if isinstance(model, type):
        raise ValueError(f"{model.__name__} is a class: give a model, {model.__name__}(…)")
    if isinstance(model, ActiveLearningClassifier):
        raise ValueError(f"{type(model).__name__} chooses its labels itself: wrap the classifier inside it")
    if not getattr(model, "_supervised", False):
        raise ValueError(f"{model} learns from no labels, so there is nothing to await")
    if isinstance(model, compose.Pipeline):
        *before, final = model.steps.values()
        for step in before:
            for part in step.transformers.values() if isinstance(step, compose.TransformerUnion) else [step]:
                if part._supervised and not _takes_weight(part):
                    raise _weightless(part)
        check_weighted(final)
    elif not _takes_weight(model):
        if type(model).__name__ not in FORWARDING:
            raise _weightless(model)
        check_weighted(model._wrapped_model)


def step_of(model: Any) -> Any:
    """Return the length of the step that a model, or the last of a pipeline, takes next; None where it has none."""
    while isinstance(model, compose.Pipeline):
        model = list(model.steps.values())[-1]
    return getattr(getattr(model, "optimizer", None), "learning_rate", None)


def _takes_weight(model: base.Estimator) -> bool:
    return "w" in inspect.signature(type(model).learn_one).parameters  # type: ignore[attr-defined]


def _copied(x: Any) -> Features:
    """Return features that stay as they are, of a dict a copy; raise ValueError for what are none."""
    if not isinstance(x, (dict, str)):  # River's text pipelines take strings
        raise ValueError(f"features must be a dict of names to values, got {x!r}")
    return x.copy() if type(x) is dict else copy(x)


def _weightless(model: base.Estimator) -> ValueError:
    return ValueError(
        f"{type(model).__name__}.learn_one takes no weight w, or takes any keyword and does not use it: labels that "
        "stand for several would count once. Use a model that does, such as linear_model.LogisticRegression"
    )


def check_label(y: Any, is_number: bool, whose: str, name: Hashable) -> None:
    """Refuse None, NaN and infinity, which no model forgets, and for regressors whatever is no number.

    ``whose`` is how to say whose label it is, as a format of ``name``.
    """
    kind = type(y)  # most labels are seen at a glance to be good, and there is one a row
    if kind is bool or kind is int or (kind is float and isfinite(y)) or (kind is str and not is_number):
        return
    if y is None:
        raise ValueError(
            f"{whose.format(name)} has the label None, which to River means that it is still a question: leave out "
            "what will never be labelled, or tell what its absence means when its window ends"
        )
    if isfinite(y) if isinstance(y, Real) else not is_number:
        return
    wanted = "a finite number" if is_number else "a class, and NaN and infinity are none"
    raise ValueError(f"{whose.format(name)} has the label {y!r}, but it must be {wanted}: nothing was learnt from it")


def check_weight(own: object, whose: str, name: Hashable) -> None:
    """Refuse a weight of the caller's own that is no number from 0 up."""
    if not isinstance(own, Real) or not 0.0 <= float(own) < inf:
        raise ValueError(f"{whose.format(name)} has the weight w={own!r}, but a weight must be finite and at least 0")
