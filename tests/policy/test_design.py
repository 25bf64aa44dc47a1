"""The initial design: spread out, distinct, legal, and the same for the same seed."""

import numpy as np
import pytest
from scipy.stats import qmc

from rahbo.errors import SpaceError
from rahbo.policy import design, initial_design
from rahbo.policy.design import next_design_point
from rahbo.space import Candidates, Categorical, Float, Int, Space

CUBE = Space.of({f"x{i}": (0.0, 1.0) for i in range(3)})
MIXED = Space.of(
    {
        "lr": Float(1e-4, 1e-1, log=True),
        "depth": Int(1, 15),
        "kind": Categorical(["a", "b", "c"]),
    }
)
FINITE = Space.of({"i": Int(0, 4), "c": Categorical(["u", "v"])})
LISTED = Space.of(Candidates([{"a": float(i), "k": "xyz"[i % 3]} for i in range(37)]))
SPACES = {"cube": CUBE, "mixed": MIXED, "finite": FINITE, "listed": LISTED}


@pytest.fixture
def few_tries(monkeypatch):
    """Giving up sooner tests the same and takes no seconds."""
    monkeypatch.setattr(design, "MAX_TRIES", 1 << 11)
    return 1 << 11


def below(limit):
    return lambda params: sum(params.values()) < limit


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("seed", [0, 1, 99])
def test_a_longer_design_begins_with_a_shorter_one(space, seed):
    longest = initial_design(space, 40, seed)
    for n in range(1, 40):
        np.testing.assert_array_equal(initial_design(space, n, seed), longest[:n])


def test_the_prefix_property_holds_under_a_constraint():
    space = Space.of(CUBE, below(0.8))
    longest = initial_design(space, 30, 5)
    for n in (1, 2, 7, 16, 29):
        np.testing.assert_array_equal(initial_design(space, n, 5), longest[:n])


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_points_are_distinct_and_legal(space):
    X = initial_design(space, 64, 3)
    assert len(X) == min(64, space.size)
    assert len({x.tobytes() for x in X}) == len(X)
    for x in X:
        np.testing.assert_array_equal(space.encode(space.decode(x)), x)


@pytest.mark.parametrize("space", [FINITE, LISTED], ids=["finite", "listed"])
@pytest.mark.parametrize("seed", range(5))
def test_a_small_space_gives_all_it_has(space, seed):
    X = initial_design(space, 1000, seed)
    assert {x.tobytes() for x in X} == {x.tobytes() for x in space.enumerate()}
    assert len(X) == space.size


@pytest.mark.parametrize("limit", [1.5, 0.5, 0.3])
def test_all_points_satisfy_the_constraint(limit):
    valid = below(limit)
    space = Space.of(CUBE, valid)
    X = initial_design(space, 20, 0)
    assert len(X) == 20
    assert all(valid(space.decode(x)) for x in X)


@pytest.mark.parametrize("seed", range(3))
def test_the_few_points_of_a_finite_space_are_found_by_listing_it(few_tries, seed):
    wanted = {(0, 0), (7, 11), (15, 3), (44, 40), (23, 24)}
    space = Space.of({"a": Int(0, 44), "b": Int(0, 44)}, lambda p: (p["a"], p["b"]) in wanted)
    X = initial_design(space, 10, seed)
    assert {tuple(space.decode(x).values()) for x in X} == wanted
    assert len(X) == 5


def test_a_rare_condition_gives_what_was_found(few_tries):
    space = Space.of({"x": (0.0, 1.0)}, lambda p: p["x"] < 4.5 / few_tries)
    X = initial_design(space, 50, 0)
    # As many points of a Sobol sequence as there are cells have one in each.
    assert 4 <= len(X) <= 5
    assert X.max() < 4.5 / few_tries


@pytest.mark.parametrize("spec", [{"x": (0.0, 1.0)}, {"i": Int(0, 9)}, {"i": Int(0, 10**9)}])
def test_nothing_valid_is_reported(few_tries, spec):
    with pytest.raises(SpaceError, match=r"None of .* satisfies valid="):
        initial_design(Space.of(spec, lambda p: False), 5, 0)


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("n", [8, 20, 50])
def test_points_are_spread_better_than_at_random(d, n):
    space = Space.of({f"x{i}": (0.0, 1.0) for i in range(d)})
    ours = [qmc.discrepancy(initial_design(space, n, seed), method="CD") for seed in range(20)]
    random = [
        qmc.discrepancy(np.random.default_rng(seed).random((n, d)), method="CD")
        for seed in range(20)
    ]
    assert np.mean(ours) < 0.5 * np.mean(random)
    assert np.median(ours) < np.min(random)


def test_each_power_of_two_visits_every_cell_of_its_width():
    X = initial_design(CUBE, 16, 4)
    for column in X.T:
        assert sorted(np.floor(16 * column).astype(int)) == list(range(16))


def test_choices_get_their_share():
    space = Space.of({"kind": Categorical(["a", "b", "c", "d"]), "x": (0.0, 1.0)})
    kinds = [space.decode(x)["kind"] for x in initial_design(space, 32, 1)]
    assert [kinds.count(kind) for kind in "abcd"] == [8] * 4


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_the_same_seed_gives_the_same_design_and_another_another(space):
    first = initial_design(space, 9, 7)
    np.testing.assert_array_equal(initial_design(space, 9, 7), first)
    assert not np.array_equal(initial_design(space, 9, 8), first)


def test_the_design_leaves_the_global_generator_alone():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - the state others may rely on
    initial_design(MIXED, 10, 0)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_thirty_dimensions():
    space = Space.of({f"x{i}": (0.0, 1.0) for i in range(30)})
    assert initial_design(space, 62, 0).shape == (62, 30)


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_the_next_point_of_a_design_is_the_first_that_was_not_seen(space):
    design = initial_design(space, 6, 0)
    seen = {x.tobytes() for x in design[[0, 1, 3]]}
    assert np.array_equal(next_design_point(space, seen, 0), design[2])


def test_a_finite_space_has_no_next_point_once_all_are_seen():
    seen = {x.tobytes() for x in FINITE.enumerate()}
    assert next_design_point(FINITE, seen, 0) is None
