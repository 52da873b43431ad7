"""Every exported loss keeps the contract, on a shifted ball so that nothing hides at the origin."""

from __future__ import annotations

from typing import Any

import pytest

import tarry.losses as room
from examples import LOSSES
from tarry.domains import Ball
from tarry.losses import Losses
from tarry.testing import LossContract


class TestLosses(LossContract):
    @pytest.fixture(params=LOSSES, autouse=True)
    def _take(self, request: pytest.FixtureRequest) -> None:
        self._made = LOSSES[request.param]()

    def loss(self) -> Any:
        return self._made

    def domain(self) -> Any:
        return Ball(3, radius=1.5, center=[0.4, -1.0, 0.3])

    def test_smoothed_lies_below(self) -> None:
        if getattr(self._made, "smoothing", 0.0):
            self._made = self._made.smoothed(0.0)  # the contract compares with the exact loss
        super().test_smoothed_lies_below()


def exported() -> set[str]:
    members = {name: getattr(room, name) for name in room.__all__}
    return {
        name for name, cls in members.items() if isinstance(cls, type) and issubclass(cls, Losses) and cls is not Losses
    }


def test_every_exported_loss_is_covered() -> None:
    forgotten = exported() ^ {name.split("-")[0] for name in LOSSES}
    assert not forgotten, f"{forgotten}: a line for each exported loss in LOSSES of tests/support/examples.py"
