"""What River is given, looked at before anything is done with it: models, labels and weights."""

from __future__ import annotations

import inspect
from math import inf, isfinite
from numbers import Real
from typing import Any

from river import compose
from river.active.base import ActiveLearningClassifier

_PLAIN = (bool, int)  # kinds of labels that are seen at a glance to be good
# Of River's models that take any keyword, these hand the weight on, and keep no counts of labels without it.
FORWARDING = (
    *("ADWINBaggingClassifier", "BaggingClassifier", "BaggingRegressor", "LeveragingBaggingClassifier"),
    *("DriftRetrainingClassifier", "OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier", "PredClipper"),
)


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


def _takes_weight(model: Any) -> bool:
    return "w" in inspect.signature(type(model).learn_one).parameters


def _weightless(model: Any) -> ValueError:
    return ValueError(
        f"{type(model).__name__}.learn_one takes no weight w, or takes any keyword and does not use it: labels that "
        "stand for several would count once. Use a model that does, such as linear_model.LogisticRegression"
    )


def check_label(y: Any, is_number: bool, whose: str, name: Any) -> None:
    """Refuse None, NaN and infinity, which no model forgets, and for regressors whatever is no number.

    ``whose`` is how to say whose label it is, as a format of ``name``.
    """
    kind = y.__class__
    if kind in _PLAIN or (kind is float and isfinite(y)) or (kind is str and not is_number):
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


def check_weight(own: Any, whose: str, name: Any) -> None:
    """Refuse a weight of the caller's own that is no number from 0 up."""
    if not isinstance(own, Real) or not 0.0 <= float(own) < inf:
        raise ValueError(f"{whose.format(name)} has the weight w={own!r}, but a weight must be finite and at least 0")
