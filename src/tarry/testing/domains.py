"""The contract of domains: what every one must do."""

from __future__ import annotations

import pickle

import numpy as np
from numpy.typing import NDArray

from tarry.domains import Domain, nearest, project
from tarry.game.checked import checked, watching
from tarry.kernel import entry
from tarry.testing.compiled import check_compiled_world

Points = NDArray[np.float64]


@entry
def _project_rows(domain: Domain, points: Points, scratch: Points) -> None:
    for i in range(points.shape[0]):
        project(domain, points[i], scratch)


class DomainContract:
    """A suite for one domain; pytest collects the subclass's tests.

    Points are drawn around the centre, in and out of the set, from a fixed ``seed``. ``tolerance`` is
    relative to the set's size and to how far away it stands.

        class TestHalfBall(DomainContract):
            def domain(self):
                return HalfBall(3)
    """

    seed = 0
    count = 48  # points of a kind
    tolerance = 1e-9

    def domain(self) -> Domain:
        """Return the domain to check: override this."""
        raise NotImplementedError(f"{type(self).__name__} must say which domain it checks: override domain()")

    def scattered(self, domain: Domain) -> Points:
        """Return points near, around and far from the set."""
        rng = np.random.default_rng(self.seed)
        # Three orders of magnitude around the size of the set, or of something where it is a point.
        reach = max(domain.outer_radius, 1e-3) * 10.0 ** rng.uniform(-1.5, 1.5, (self.count, 1))
        return np.asarray(domain.center + reach * _directions(rng, self.count, domain.dimension))

    def members(self, domain: Domain) -> Points:
        """Return points of the set: projections, minimisers in random directions, and means of two of them."""
        rng = np.random.default_rng(self.seed + 1)
        points = [nearest(domain, x) for x in self.scattered(domain)]
        points += [domain.linear_minimiser(g) for g in _directions(rng, self.count, domain.dimension)]
        ends = np.array([*points, domain.center])
        # Convex sets hold what lies between two of their points.
        mixed = rng.uniform(size=(len(ends), 1))
        return np.concatenate((ends, mixed * ends + (1 - mixed) * ends[rng.permutation(len(ends))]))

    def slack(self, domain: Domain, *points: Points) -> float:
        """Return how much rounding to forgive at these points."""
        sizes = [domain.diameter, domain.outer_radius, float(np.linalg.norm(domain.center))]
        return float(self.tolerance * max([*sizes, *(float(np.linalg.norm(x)) for x in points)]))

    def test_indices_and_answers(self) -> None:
        """In debug mode, before anything else: every index and answer is looked at."""
        domain = self.domain()
        points = checked((self.scattered(domain), np.full(domain.dimension, np.nan)))
        with watching(), np.errstate(divide="ignore", invalid="ignore"):
            for i in range(points[0].shape[0]):
                project(checked(domain), points[0][i], points[1])

    def test_center_has_the_dimension(self) -> None:
        domain = self.domain()
        assert domain.dimension == int(domain.dimension) >= 1
        assert domain.center.shape == (domain.dimension,)
        assert _moved(domain, domain.center) <= self.slack(domain)

    def test_projection_never_expands(self) -> None:
        domain = self.domain()
        points = self.scattered(domain)
        for x, y in zip(points, points[::-1], strict=True):
            apart = np.linalg.norm(nearest(domain, x) - nearest(domain, y))
            assert apart <= np.linalg.norm(x - y) + self.slack(domain, x, y)

    def test_projection_is_nearest(self) -> None:
        # p is the nearest point to x iff ⟨x − p, y − p⟩ ≤ 0 for every y of the set.
        domain = self.domain()
        members = self.members(domain)
        for x in self.scattered(domain):
            p, slack = nearest(domain, x), self.slack(domain, x)
            assert np.max((members - p) @ (x - p)) <= slack * (np.linalg.norm(x - p) + slack)

    def test_projection_lands_in_the_set(self) -> None:
        # No set reaches further in a direction than its linear minimiser says.
        domain = self.domain()
        for x in self.scattered(domain):
            p, slack = nearest(domain, x), self.slack(domain, x)
            furthest = domain.linear_minimiser(p - x)
            assert (p - furthest) @ (x - p) <= slack * (np.linalg.norm(x - p) + slack)

    def test_projection_fixes_points_of_the_set(self) -> None:
        domain = self.domain()
        for x in self.members(domain):  # projections are among them
            assert _moved(domain, x) <= self.slack(domain)

    def test_projection_reads_nothing_from_scratch(self) -> None:
        domain = self.domain()
        for x in self.scattered(domain):
            point = x.copy()
            project(domain, point, np.full(domain.dimension + 2, np.nan))  # NaN spreads from wherever it is read
            assert np.array_equal(point, nearest(domain, x))

    def test_compiled_projection_agrees(self) -> None:
        # Compiling is half of the test: it fails where the projection allocates.
        domain = self.domain()
        points = self.scattered(domain)
        expected = np.array([nearest(domain, x) for x in points])
        _project_rows.dispatcher_for(domain)(domain, points, np.full(domain.dimension, np.nan))
        # Compiled arithmetic may differ in the last digits.
        assert np.max(np.abs(points - expected)) <= 1e-3 * self.slack(domain, *expected)

    def test_it_plays_compiled(self) -> None:
        """Where the JIT is on, and as it does in Python."""
        check_compiled_world(domain=self.domain())

    def test_diameter_and_outer_ball_cover_the_set(self) -> None:
        domain = self.domain()
        members, slack = self.members(domain), self.slack(domain)
        for x in members:
            assert np.max(np.linalg.norm(members - x, axis=1)) <= domain.diameter + slack
        assert np.max(np.linalg.norm(members - domain.center, axis=1)) <= domain.outer_radius + slack

    def test_inner_ball_is_inside(self) -> None:
        domain = self.domain()
        rng = np.random.default_rng(self.seed + 2)
        for u in _directions(rng, self.count, domain.dimension):
            assert _moved(domain, domain.center + domain.inner_radius * u) <= self.slack(domain)

    def test_depth_is_room_around_a_point(self) -> None:
        domain = self.domain()
        rng = np.random.default_rng(self.seed + 3)
        assert domain.depth(domain.center) >= domain.inner_radius - self.slack(domain)
        for x in self.scattered(domain):
            assert domain.depth(x) >= 0.0
            assert domain.depth(x) == 0.0 or _moved(domain, x) <= self.slack(domain, x), "a point outside has depth"
        for x in self.members(domain):
            y = x + domain.depth(x) * _directions(rng, 1, domain.dimension)[0]
            assert _moved(domain, y) <= self.slack(domain)

    def test_linear_minimiser_attains_the_minimum(self) -> None:
        domain = self.domain()
        rng = np.random.default_rng(self.seed + 4)
        members = self.members(domain)
        for g in (*_directions(rng, self.count, domain.dimension), np.zeros(domain.dimension)):
            least = domain.linear_minimiser(g)
            assert _moved(domain, least) <= self.slack(domain)
            assert g @ least <= np.min(members @ g) + self.slack(domain)

    def test_is_picklable_and_equals_its_copy(self) -> None:
        domain = self.domain()
        copy = pickle.loads(pickle.dumps(domain))
        assert type(copy) is type(domain)
        assert copy == domain
        assert hash(copy) == hash(domain)
        assert domain != object()
        assert type(domain).__name__ in repr(domain)


def _moved(domain: Domain, x: Points) -> float:
    """Return how far projecting moves a point: 0 in the set."""
    return float(np.linalg.norm(nearest(domain, x) - x))


def _directions(rng: np.random.Generator, count: int, dimension: int) -> Points:
    """Return unit vectors; one in four has a single non-zero entry, where corners and ties are."""
    drawn = rng.standard_normal((count, dimension))
    for i in range(0, count, 4):
        only = rng.integers(dimension)
        drawn[i, np.arange(dimension) != only] = 0.0
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
