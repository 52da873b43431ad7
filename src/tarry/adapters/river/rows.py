"""What River is given, looked at before anything is done with it: labels, moments and delays, by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf, isfinite
from numbers import Real
from typing import Any

_PLAIN = (bool, int)
_WHERE = "dataset[{}]"


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


class Rows:
    """A data set on its way to ``stream.simulate_qa``, with ``moment`` and ``delay`` to hand it along.

    ``is_over`` once there are no more rows. With ``is_told``, ``wait`` is the delay of the last row, as a scheduler is
    told it: River reveals before it predicts, so d steps of River's are d − 1 of our rounds.
    """

    def __init__(self, dataset: Iterable[Any], moment: Any, delay: Any, *, is_number: bool, is_told: bool) -> None:
        if not hasattr(dataset, "__iter__"):
            raise ValueError(f"dataset must be an iterable of rows (x, y), got {dataset!r}")
        if is_told and moment is not None:
            raise ValueError(f"a scheduler that is told delays needs them in rounds: leave moment out, got {moment!r}")
        self._dataset, self._moment, self._delay = dataset, moment, delay
        self._is_number, self._is_told = is_number, is_told
        self._row, self._time, self._latest = 0, 0, delay
        self.wait, self.is_over = -1, False
        self.moment = None if moment is None else self._time_of
        self.delay = self._wait_of if is_told or callable(delay) or isinstance(delay, str) else delay
        if moment is None and self.delay is delay is not None:
            self._check_wait(delay, "delay is")

    def __iter__(self) -> Iterator[Any]:
        for i, row in enumerate(self._dataset):
            self._row = i
            if not isinstance(row, tuple | list) or len(row) not in (2, 3):
                raise ValueError(f"{self._here()} must be (x, y) or (x, y, keywords), got {row!r}")
            check_label(row[1], self._is_number, _WHERE, i)
            if len(row) == 3 and row[2] and "w" in row[2]:
                check_weight(row[2]["w"], _WHERE, i)
            yield row
        self.is_over = True

    @property
    def due(self) -> Any:
        """When the label of the last row comes, in River's time."""
        return self._now() + self._latest

    @property
    def end(self) -> Any:
        """River's time at the end of the last round: before the row after it, or the last moment."""
        return self._now() + 1 if self._moment is None else self._time

    def _now(self) -> Any:
        return self._row if self._moment is None else self._time

    def _here(self) -> str:
        return _WHERE.format(self._row)

    def _time_of(self, x: Any) -> Any:
        self._time = self._moment(x) if callable(self._moment) else self._feature(x, self._moment, "moment")
        if self.delay is self._delay:
            self._check_wait(self._delay, f"with the moment {self._time!r} of {self._here()}, delay is")
        return self._time

    def _wait_of(self, x: Any, y: Any) -> Any:
        delay = self._delay
        wait = delay(x, y) if callable(delay) else self._feature(x, delay, "delay") if isinstance(delay, str) else delay
        wait = 0 if wait is None and delay is None else wait
        self._check_wait(wait, f"the delay of {self._here()} is")
        self._latest = wait
        if self._is_told:
            if int(wait) != wait:
                raise ValueError(f"a scheduler that is told delays needs whole numbers of rounds, got {wait!r}")
            self.wait = max(int(wait) - 1, 0)
        return wait

    def _feature(self, x: Any, name: Any, what: str) -> Any:
        try:
            return x[name]
        except (KeyError, TypeError):
            raise ValueError(f"{self._here()} has no feature {name!r} to tell its {what}, only {list(x)}") from None

    def _check_wait(self, wait: Any, words: str) -> None:
        try:
            if self._time + wait >= self._time:  # false for what is negative and for NaN
                return
        except TypeError:
            needed = "a number of rows" if self._moment is None else "what can be added to a moment"
            raise ValueError(f"{words} {wait!r}, but it must be {needed}: a number, or a timedelta for dates") from None
        raise ValueError(f"{words} {wait!r}, but a label cannot come before its row: give a delay of at least 0")
