"""Where to look: what may be proposed, random points, and the points a search begins with."""

from dataclasses import replace

import numpy as np
import pytest

from rahbo.errors import ExhaustedError, SpaceError
from rahbo.policy import Domain, Success
from rahbo.policy.domain import ENUMERATE, hopeful_point, is_listed, random_point, samples
from rahbo.space import Candidates, Categorical, Float, Int, Space


def rng_of(*seed):
    return np.random.default_rng(list(seed))


def cube(d):
    return Space.of({f"x{j}": (0.0, 1.0) for j in range(d)})


def domain(space, known=None, excluded=()):
    known = np.empty((0, space.d)) if known is None else np.asarray(known, dtype=float)
    return Domain(space, known, frozenset(excluded))


def test_allowed_joins_the_constraint_and_the_exclusions():
    space = Space.of({"i": Int(0, 4)}, lambda p: p["i"] != 1)
    X = space.from_uniform(np.array([[0.1], [0.3], [0.5], [0.7], [0.9]]))
    assert [space.decode(x)["i"] for x in X] == [0, 1, 2, 3, 4]
    where = domain(space, excluded=[X[3].tobytes()])
    assert where.allowed(X).tolist() == [True, False, True, False, True]


# -- random points -------------------------------------------------------------------------------


def test_random_points_satisfy_the_constraint_and_avoid_the_excluded():
    space = Space.of({"i": Int(0, 5)}, lambda p: p["i"] % 2 == 0)
    where = domain(space, excluded=[space.encode({"i": 2}).tobytes()])
    rng = rng_of(0)
    drawn = [space.decode(random_point(where, rng))["i"] for _ in range(200)]
    assert set(drawn) == {0, 4}
    assert 60 < drawn.count(0) < 140


def test_the_last_legal_point_of_a_finite_space_is_found_by_listing_it():
    space = Space.of({"a": Int(0, 999), "b": Int(0, 99)}, lambda p: p == {"a": 123, "b": 45})
    x = random_point(domain(space), rng_of(0))
    assert space.decode(x) == {"a": 123, "b": 45}


def test_no_legal_point_is_reported():
    none = Space.of({"i": Int(0, 5)}, lambda p: False)
    with pytest.raises(SpaceError, match="No point of the space satisfies valid="):
        random_point(domain(none), rng_of(0))
    nowhere = Space.of(cube(2), lambda p: False)
    for call in (random_point, samples):
        with pytest.raises(SpaceError, match="valid="):
            call(domain(nowhere), rng_of(0))


def test_hopeful_points_keep_away_from_failures():
    X = np.linspace(0.0, 1.0, 20)[:, None]
    fails = (X[:, 0] < 0.5).astype(int)
    where = replace(domain(cube(1)), success=Success.learn(X, 1 - fails, fails))
    rng = rng_of(5)
    drawn = np.array([hopeful_point(where, rng)[0] for _ in range(300)])
    assert np.mean(drawn < 0.45) < 0.1
    assert np.ptp(drawn) > 0.4
    assert 0.35 < np.mean([random_point(where, rng)[0] < 0.5 for _ in range(300)]) < 0.65


def test_no_hopeful_point_is_none_where_a_random_one_is_an_error():
    nowhere = domain(Space.of({"x": (0.0, 1.0)}, valid=lambda p: False))
    assert hopeful_point(nowhere, rng_of(6)) is None
    with pytest.raises(SpaceError):
        random_point(nowhere, rng_of(6))


def test_a_range_of_two_floats_can_be_used_up(rng):
    space = Space.of({"x": Float(1.0, np.nextafter(1.0, 2.0))})
    used = frozenset(x.tobytes() for x in space.from_uniform(np.array([[0.0], [1.0]])))
    with pytest.raises(ExhaustedError, match="Every point has all its repeats"):
        random_point(Domain(space, np.empty((0, 1)), used), rng)


def test_a_search_begins_everywhere_at_the_bounds_and_with_known_points():
    known = rng_of(3).random((50, 3))
    X = samples(domain(cube(3), known), rng_of(4))
    assert np.all((X >= 0.0) & (X <= 1.0))
    tried = {x.tobytes() for x in X}
    assert all(x.tobytes() in tried for x in known[:30])
    at_bound = ((X == 0.0) | (X == 1.0)).any(axis=1)
    assert 50 < at_bound.sum() < len(X) - 150
    gaps = np.abs(X[:, None] - known[:4]).max(axis=2).min(axis=1)
    assert np.sum((gaps > 0.0) & (gaps < 0.05)) >= 20


def test_a_list_is_tried_as_a_whole():
    space = Space.of(Candidates([{"a": float(i)} for i in range(ENUMERATE + 1)]))
    assert is_listed(space)
    where = domain(space)
    X, allowed = where.everything()
    assert len(X) == ENUMERATE + 1
    assert allowed.all()
    # The same array, so that predictions at it can be kept.
    assert where.everything()[0] is X
    used = replace(where, excluded=frozenset([X[3].tobytes()]))
    assert np.flatnonzero(~used.everything()[1]).tolist() == [3]
    assert len(used.listed()) == ENUMERATE
    assert is_listed(Space.of({"i": Int(1, ENUMERATE)}))
    assert not is_listed(Space.of({"i": Int(0, ENUMERATE)}))
    assert not is_listed(Space.of({"i": Int(0, 3), "x": (0.0, 1.0), "c": Categorical(["a", "b"])}))
