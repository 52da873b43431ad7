"""The contracts of losses, and of rows that react to plays: what every one must do."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarry.domains import Domain, nearest
from tarry.game.checked import checked, watching
from tarry.kernel import entry
from tarry.kernel.views import leaves
from tarry.losses import Losses
from tarry.losses.base import Reacting, allocate, gradient_in, react, see, value_in
from tarry.testing.compiled import check_compiled_world

Vector = NDArray[np.float64]


class LossContract:
    """Subclass as ``TestMyLoss(LossContract)`` and give ``loss()`` and ``domain()``.

    Points are sampled in the domain with ``seed``; ``samples`` of them, each in another round.
    ``tolerance`` is relative to the loss's own size.
    """

    samples = 40
    tolerance = 1e-9
    seed = 1

    def loss(self) -> Losses:
        """Return the loss to check: override this."""
        raise NotImplementedError("give the loss under test")

    def domain(self) -> Domain:
        """Return a domain of the loss's dimension: override this."""
        raise NotImplementedError("give a domain of the loss's dimension")

    def points(self) -> Iterator[tuple[int, Vector, Vector]]:
        """Yield rounds, each with two points of the domain (some on its boundary)."""
        rng, domain, horizon = np.random.default_rng(self.seed), self.domain(), self.loss().horizon
        for _ in range(self.samples):
            t = int(rng.integers(1, (horizon or 10**6) + 1))  # losses that are functions have no last round
            # Deep inside, about the boundary, and far outside, whence the nearest point lies on it.
            drawn = rng.normal(size=(2, domain.dimension)) * rng.choice([0.1, 0.5, 3.0])
            x, z = (nearest(domain, domain.center + domain.outer_radius * d) for d in drawn)
            yield t, x, z

    def test_indices_and_answers(self) -> None:
        """In debug mode, before anything else: every index and answer is looked at."""
        loss = checked(self.loss())
        for t, x, _ in self.points():
            play, row, out = checked((x, np.zeros(loss.rows.width), np.zeros(x.size)))
            with watching(), np.errstate(over="ignore"):  # the keyed generator wraps around by design
                value_in(loss.rows, loss, t, row, play)
                gradient_in(loss.rows, loss, t, row, play, out)

    def test_sizes_agree(self) -> None:
        loss, domain = self.loss(), self.domain()
        assert loss.dimension == domain.dimension
        assert loss.horizon is None or loss.horizon >= 1
        assert loss.rows.width >= 1
        assert loss.strong_convexity >= 0

    def test_values_and_gradients_are_finite(self) -> None:
        loss = self.loss()
        for t, x, _ in self.points():
            value, g = loss.value(x, t), loss.gradient(x, t)
            assert np.isfinite(value)
            assert g.shape == x.shape
            assert np.all(np.isfinite(g))
            assert value == loss.value(x.copy(), t), "asked again, a round has another value"
            assert np.array_equal(g, loss.gradient(x.copy(), t)), "asked again, a round has another gradient"

    def test_gradient_lies_between_difference_quotients(self) -> None:
        """(f(x) − f(x − hd))/h ≤ ⟨g, d⟩ ≤ (f(x + hd) − f(x))/h; holds at a kink, and pins g elsewhere."""
        loss, rng, h = self.loss(), np.random.default_rng(self.seed + 1), 1e-5
        for t, x, _ in self.points():
            f, g = loss.value(x, t), loss.gradient(x, t)
            slack = 1e-10 * (1.0 + abs(f)) / h  # rounding of f, magnified by the quotient
            for d in (*np.eye(x.size), rng.normal(size=x.size)):
                low, high = (f - loss.value(x - h * d, t)) / h - slack, (loss.value(x + h * d, t) - f) / h + slack
                assert low <= g @ d <= high, (
                    f"in round {t} at x = {x} the gradient's slope along {d} is {g @ d}, and the loss's own lies "
                    f"between {low} and {high}{'; wrong sign?' if low <= -(g @ d) <= high else ''}"
                )

    def test_lies_above_its_tangents(self) -> None:
        """f(z) ≥ f(x) + ⟨g, z − x⟩ + (λ/2)‖z − x‖²: convex, as strongly as stated."""
        loss = self.loss()
        for t, x, z in self.points():
            d = z - x
            below = loss.value(x, t) + loss.gradient(x, t) @ d + loss.strong_convexity / 2 * (d @ d)
            assert loss.value(z, t) >= below - self._slack(loss, t, x, z), (
                f"in round {t} the value at {z} is {loss.value(z, t)}, below its tangent at x = {x}, which is {below} "
                f"there: the gradient is wrong, or the loss is less convex than strong_convexity = "
                f"{loss.strong_convexity} says"
            )

    def test_lies_below_its_chords(self) -> None:
        loss = self.loss()
        for t, x, z in self.points():
            for share in (0.25, 0.5, 0.9):
                above = share * loss.value(x, t) + (1 - share) * loss.value(z, t)
                bulge = loss.strong_convexity / 2 * share * (1 - share) * float((x - z) @ (x - z))
                value = loss.value(share * x + (1 - share) * z, t)
                assert value <= above - bulge + self._slack(loss, t, x, z)

    def test_bounds_hold(self) -> None:
        loss, domain = self.loss(), self.domain()
        steepest, largest = loss.gradient_bound(domain), loss.value_bound(domain)
        for t, x, _ in self.points():
            assert np.linalg.norm(loss.gradient(x, t)) <= steepest * (1 + self.tolerance)
            assert abs(loss.value(x, t)) <= largest * (1 + self.tolerance)

    def test_it_plays_compiled(self) -> None:
        """Where the JIT is on, and as it does in Python."""
        check_compiled_world(domain=self.domain(), losses=self.loss())

    def test_survives_pickling(self) -> None:
        loss = self.loss()
        again = pickle.loads(pickle.dumps(loss))
        assert again == loss
        for t, x, _ in self.points():
            assert again.value(x, t) == loss.value(x, t)

    def test_smoothed_lies_below(self) -> None:
        """Where there is ``smoothed``: a lower bound, which tends to the loss as smoothing vanishes."""
        loss = self.loss()
        if not getattr(loss, "has_kink", False):
            return
        for t, x, z in self.points():
            exact, slack = loss.value(x, t), self._slack(loss, t, x, z)
            # The last is as good as none.
            values = [loss.smoothed(smoothing).value(x, t) for smoothing in (1.0, 0.1, 1e-9)]
            assert all(value <= exact + slack for value in values)
            assert values[-1] >= exact - 1e-8 - slack

    def _slack(self, loss: Losses, t: int, x: Vector, z: Vector) -> float:
        return self.tolerance * (1.0 + abs(float(loss.value(x, t))) + abs(float(loss.value(z, t))))


@entry
def _face(rows: Reacting, state: Any, plays: Vector, slots: NDArray[np.int64], out: Vector) -> None:
    for t in range(1, plays.shape[0] + 1):
        react(rows, state, t, out[t - 1])
        see(rows, state, t, plays[t - 1], slots[t - 1])


class ReactingContract:
    """Subclass as ``TestMyAdversary(ReactingContract)`` and give ``rows()``; pytest collects the rest.

    Plays are drawn with ``seed``, of ``dimension`` entries (None: as many as a row has) and norm at most 1; override
    ``plays`` where that is not the domain.
    """

    horizon = 50
    dimension: int | None = None
    seed = 1

    def rows(self) -> Reacting:
        """Return the rows to check: override this."""
        raise NotImplementedError("give the rows under test")

    def plays(self, rng: np.random.Generator) -> Vector:
        """Return plays, one a row."""
        drawn = rng.normal(size=(self.horizon, self.dimension or self.rows().width))
        return np.asarray(drawn / np.maximum(1.0, np.linalg.norm(drawn, axis=1))[:, None])

    def _met(self, plays: Vector, compiled: bool = False) -> Vector:
        rows, out = self.rows(), np.full((self.horizon, self.rows().width), np.nan)
        slots = np.arange(self.horizon) % 4 - 1  # some rounds are not tracked
        run = _face.dispatcher_for(rows) if compiled else _face.plain
        run(rows, allocate(rows), plays, slots, out)
        return out

    def test_indices_and_answers(self) -> None:
        """In debug mode, before anything else: every index and answer is looked at."""
        rows, plays = self.rows(), checked(self.plays(np.random.default_rng(self.seed)))
        state, row = checked(allocate(rows)), checked(np.zeros(rows.width))
        with watching():
            for t in range(1, self.horizon + 1):
                react(checked(rows), state, t, row)
                see(checked(rows), state, t, plays[t - 1], t % 4 - 1)

    def test_rows_are_finite_and_bounded(self) -> None:
        rows, table = self.rows(), self._met(self.plays(np.random.default_rng(self.seed)))
        assert rows.reacts, "rows that react inherit tarry.losses.base.Reacting"
        assert np.all(np.isfinite(table)), "an entry of a row is not written, or not finite"
        assert np.linalg.norm(table, axis=1).max() <= rows.largest_norm() * (1 + 1e-9)

    def test_a_row_knows_the_plays_before_it_alone(self) -> None:
        plays, others = (self.plays(np.random.default_rng(self.seed + i)) for i in (0, 1))
        table = self._met(plays)
        for t in (1, self.horizon // 2, self.horizon):
            changed = self._met(np.concatenate((plays[: t - 1], others[t - 1 :])))
            assert np.array_equal(table[:t], changed[:t]), f"a row up to round {t} depends on plays from round {t} on"

    def test_seeds_share_nothing(self) -> None:
        rows = self.rows()
        first, two = (leaves(allocate(rows)) for _ in range(2))
        assert all(map(np.array_equal, first, two)), "two fresh states differ"
        assert not any(map(np.shares_memory, first, two)), "two fresh states share an array"
        plays = self.plays(np.random.default_rng(self.seed))
        assert np.array_equal(self._met(plays), self._met(plays)), "the same plays met other rows"

    def test_compiled_rows_are_those_of_python(self) -> None:
        plays = self.plays(np.random.default_rng(self.seed))
        assert np.allclose(self._met(plays, compiled=True), self._met(plays), rtol=1e-12, atol=1e-12)

    def test_survives_pickling(self) -> None:
        assert pickle.loads(pickle.dumps(self.rows())) == self.rows()
