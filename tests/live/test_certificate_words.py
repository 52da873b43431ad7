"""What the certificate of a session says of itself: what is not known, what was exceeded, how it is shown."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.learners import DWFTBL, DWFTRL

DOMAIN = tarry.domains.Ball(3)


def test_what_is_not_known_is_said():
    player = tarry.Player(DWFTBL(DOMAIN, rate=0.1, smoothing=0.5))
    session = tarry.Session(player, capacity=4)
    session.tell(session.ask().id, value=2.0)
    found = session.status().certificate
    assert np.isnan([found.bound, found.pairs, found.smoothing]).all()
    assert found.own == pytest.approx(0.5 * 0.1 * (3 * 2.0 / 0.5) ** 2)
    assert "pairs and smoothing are unknown without gradient_bound and value_bound" in found.caveat
    assert "unknown" in repr(found)
    half = tarry.Session(player, capacity=4, gradient_bound=1.0)
    half.tell(half.ask().id, value=2.0)
    assert half.status().certificate.smoothing == pytest.approx(3 * 1.0 * 2.0 * 0.5)
    assert "pairs are unknown without value_bound:" in half.status().certificate.caveat


def test_a_bound_that_is_none_certifies_nothing():
    session = tarry.Session(tarry.Player(DWFTRL(DOMAIN, rate=0.1)), capacity=4, gradient_bound=1.0)
    session.tell(session.ask().id, gradient=[0.6, 0.8, 0.0])
    assert session.status().certificate.own == pytest.approx(0.05)
    session.tell(session.ask().id, gradient=[1.5, 0.0, 0.0])
    found = session.status().certificate
    assert np.isnan(found.bound)
    assert found.regularisation == pytest.approx(20.0)
    assert "a gradient of size 1.5 came, above gradient_bound=1" in found.caveat


@pytest.mark.parametrize("options", [{"gradient_bound": -1.0}, {"gradient_bound": np.inf}, {"value_bound": 1.0}])
def test_bad_bounds(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        tarry.Session(tarry.Player(DWFTRL(DOMAIN, rate=0.1)), capacity=4, **options)


def test_it_is_shown():
    session = tarry.Session(tarry.Player(DWFTRL(DOMAIN, rate=0.1)), capacity=4)
    session.tell(session.ask().id, gradient=[3.0, 4.0, 0.0])
    found = session.status().certificate
    assert repr(found) == (
        "Certificate(21.25 = regularisation 20 + own 1.25 + pairs 0 over 1 rounds; sizes as observed; on every path)"
    )
    assert session.status().rows()["certificate bound"] == "21.25"
    assert "<td>on every path</td>" in session._repr_html_()
    assert "<td>21.25</td>" in found._repr_html_()
