"""What the certificate of a session says of itself: what is not known, what was exceeded, how it is shown."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.learners import DWFTBL, DWFTRL
from tarry.rates import inverse_time

DOMAIN = tarry.domains.Ball(3)


def test_what_is_not_known_is_said():
    player = tarry.Player(DWFTBL(DOMAIN, rate=0.1, smoothing=0.5))
    session = tarry.Session(player, capacity=4)
    session.tell(session.ask().id, value=2.0)
    found = session.status().certificate
    assert np.isnan([found.bound, found.overlap, found.smoothing]).all()
    assert found.variance == pytest.approx(0.5 * 0.1 * (3 * 2.0 / 0.5) ** 2)
    assert "overlap and smoothing are unknown without gradient_bound and value_bound" in found.caveat
    assert "unknown" in repr(found)
    half = tarry.Session(player, capacity=4, gradient_bound=1.0)
    half.tell(half.ask().id, value=2.0)
    assert half.status().certificate.sizes == "value as observed, gradient_bound 1"
    assert half.status().certificate.smoothing == pytest.approx(3 * 1.0 * 2.0 * 0.5)
    assert "overlap is unknown without value_bound:" in half.status().certificate.caveat


def test_a_bound_that_is_none_certifies_nothing():
    session = tarry.Session(tarry.Player(DWFTRL(DOMAIN, rate=0.1)), capacity=4, gradient_bound=1.0)
    session.tell(session.ask().id, gradient=[0.6, 0.8, 0.0])
    assert session.status().certificate.variance == pytest.approx(0.05)
    session.tell(session.ask().id, gradient=[1.5, 0.0, 0.0])
    found = session.status().certificate
    assert np.isnan(found.bound)
    assert found.regularisation == pytest.approx(20.0)
    assert "a gradient of size 1.5 came, above gradient_bound=1" in found.caveat
    assert found.holds == "nothing is certified"


@pytest.mark.parametrize("options", [{"gradient_bound": -1.0}, {"gradient_bound": np.inf}, {"value_bound": 1.0}])
def test_bad_bounds(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        tarry.Session(tarry.Player(DWFTRL(DOMAIN, rate=0.1)), capacity=4, **options)


def test_the_strongly_convex_form_can_be_declined(tmp_path):
    player = tarry.Player(DWFTRL(DOMAIN, rate=inverse_time(0.5)))
    found = {}
    for curvature in (None, 0.5, 0.25, 0):
        store = f"sqlite:///{tmp_path}/{curvature}.db"
        with tarry.Session(player, capacity=4, store=store, rng=1, strong_convexity=curvature) as session:
            session.tell(session.ask().id, gradient=[1.0, 0.0, 0.0])
        with tarry.Session.open(store) as session:
            found[curvature] = session.status().certificate
    assert found[None] == found[0.5]
    assert found[0] == found[0.25]
    assert found[0].holds == "on every path"
    assert found[0].regularisation == pytest.approx(4.0 * 0.5 / 2)
    assert found[None].regularisation == 0.0
    for bad in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="strong_convexity"):
            tarry.Session(player, capacity=4, strong_convexity=bad)


def test_it_is_shown():
    session = tarry.Session(tarry.Player(DWFTRL(DOMAIN, rate=0.1)), capacity=4)
    session.tell(session.ask().id, gradient=[3.0, 4.0, 0.0])
    found = session.status().certificate
    assert repr(found) == (
        "Certificate(21.25 = regularisation 20 + variance 1.25 + overlap 0 over 1 rounds; "
        "size of feedback as observed; on every path)"
    )
    assert session.status().rows()["certificate bound"] == "21.25"
    assert "<td>on every path</td>" in session._repr_html_()
    assert "<td>21.25</td>" in found._repr_html_()
