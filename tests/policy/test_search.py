"""The search: against exhaustive grids, known maxima and another optimiser's many restarts."""

import numpy as np
import pytest
from scipy.optimize import minimize

import rahbo
from rahbo.errors import ExhaustedError
from rahbo.policy import (
    Acquisition,
    Domain,
    Success,
    maximise,
    optimistic,
    values,
)
from rahbo.policy.domain import ENUMERATE
from rahbo.policy.feasibility import Hoped
from rahbo.policy.search import maximise_widened
from rahbo.space import Candidates, Categorical, Float, Int, Space


class Quadratic(Acquisition):
    """-(x - c)' A (x - c), one maximum."""

    def __init__(self, centre, A=None):
        self.centre = np.asarray(centre, dtype=float)
        self.A = np.eye(len(self.centre)) if A is None else A

    def value(self, X):
        gaps = X - self.centre
        return -np.einsum("mi,ij,mj->m", gaps, self.A, gaps)

    def value_and_gradient(self, X):
        return self.value(X), -2.0 * (X - self.centre) @ self.A


class Bumps(Acquisition):
    """Gaussian bumps of unequal height and width: many local maxima."""

    def __init__(self, d, rng, n=12):
        self.centres = rng.random((n, d))
        self.heights = rng.uniform(0.5, 1.5, n)
        self.widths = rng.uniform(0.15, 0.4, n) * np.sqrt(d / 2)

    def value(self, X):
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X):
        gaps = X[:, None, :] - self.centres
        bumps = self.heights * np.exp(-0.5 * (gaps**2).sum(axis=2) / self.widths**2)
        return bumps.sum(axis=1), -np.einsum("mn,mnd->md", bumps / self.widths**2, gaps)


class Function(Acquisition):
    """Any function of the rows, with a gradient by differences."""

    def __init__(self, function):
        self.value = function

    def value(self, X):
        raise NotImplementedError

    def value_and_gradient(self, X):
        h = 1e-6
        G = [(self.value(X + h * e) - self.value(X - h * e)) / (2 * h) for e in np.eye(X.shape[1])]
        return self.value(X), np.stack(G, axis=1)


def cube(d):
    return Space.of({f"x{i}": (0.0, 1.0) for i in range(d)})


def domain(space, known=(), excluded=()):
    return Domain(space, np.reshape(np.asarray(known, dtype=float), (-1, space.d)), set(excluded))


def rng_of(*seed):
    return np.random.default_rng(seed)


def best_of_restarts(acquisition, d, rng, restarts=20):
    """The best point that L-BFGS-B finds from random starts, and its value."""

    def loss(x):
        value, gradient = acquisition.value_and_gradient(x[None])
        return -value[0], -gradient[0]

    box = [(0.0, 1.0)] * d
    found = [
        minimize(loss, rng.random(d), jac=True, method="L-BFGS-B", bounds=box)
        for _ in range(restarts)
    ]
    best = min(found, key=lambda result: result.fun)
    return best.x, -best.fun


# -- against an exhaustive search ----------------------------------------------------------------

GRID = 40_000


def random_spec(i, rng):
    """Two in five are discrete throughout, some of them too large to be listed."""
    floats = int(rng.integers(1, 4)) if i % 5 < 3 else 0
    ints = int(rng.integers(0, 4)) if floats else int(rng.integers(1, 4))
    longest = 12 if floats else 30
    spec = {}
    for j in range(floats):
        log = rng.random() < 0.3
        spec[f"f{j}"] = Float(1e-3, 10.0, log=True) if log else Float(-2.0, 3.0)
    for j in range(ints):
        spec[f"i{j}"] = Int(1, 1 + int(rng.integers(1, longest)), log=bool(rng.random() < 0.3))
    for j in range(int(rng.integers(0, 3))):
        spec[f"c{j}"] = Categorical([f"v{k}" for k in range(int(rng.integers(2, 6)))])
    return spec


def steps_of(spec):
    """Grid steps a Float gets, so that the grid has no more than GRID points; 0 for too few."""
    discrete = np.prod([p.count for p in spec.values() if not isinstance(p, Float)], initial=1.0)
    floats = sum(isinstance(p, Float) for p in spec.values())
    if not floats:
        return int(3 < discrete <= GRID)
    steps = int((GRID / discrete) ** (1 / floats) + 1e-9)
    return steps if steps >= 10 else 0


def grid_of(spec):
    steps = steps_of(spec)
    axes = [
        np.linspace(0.0, 1.0, steps)[:, None] if isinstance(p, Float) else p.units(p.all())
        for p in spec.values()
    ]
    picks = np.meshgrid(*(np.arange(len(axis)) for axis in axes), indexing="ij")
    return np.hstack([axis[pick.ravel()] for axis, pick in zip(axes, picks, strict=True)])


def random_case(i):
    """A random space, and a run in it that was told a random function of the cube."""
    rng = rng_of(2021, i)
    spec = random_spec(i, rng)
    while not steps_of(spec):
        spec = random_spec(i, rng)
    space = Space.of(spec)
    waves = rng.uniform(1.0, 6.0) * rng.standard_normal((space.d, 12))
    phases, heights = rng.uniform(0.0, 2 * np.pi, 12), rng.standard_normal(12)
    slope = rng.standard_normal(space.d)
    data = []
    for x in space.from_uniform(rng.random((int(rng.integers(8, 31)), space.n_uniform))):
        f = np.cos(x @ waves + phases) @ heights / np.sqrt(6)
        noise_std = 0.05 + 0.4 / (1 + np.exp(-3 * (x - 0.5) @ slope))
        data.append((space.decode(x), list(f + noise_std * rng.standard_normal(3))))
    # With any measure the search misses about two of a hundred; with this one none of the first 50.
    return spec, rahbo.Optimizer(spec, seed=i, data=data, risk=rahbo.MeanVariance(1.0))


def test_the_random_spaces_are_of_every_kind():
    specs = [random_case(i)[0] for i in range(50)]
    discrete = [s for s in specs if not any(isinstance(p, Float) for p in s.values())]
    sizes = [Space.of(s).size for s in discrete]
    assert sum(size <= ENUMERATE for size in sizes) >= 5
    assert sum(size > ENUMERATE for size in sizes) >= 3
    kinds = [{type(p) for p in s.values()} for s in specs]
    assert sum(k == {Float} for k in kinds) >= 2
    assert sum(k == {Float, Int, Categorical} for k in kinds) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("i", range(50))
def test_the_proposal_comes_within_a_hundredth_of_the_exhaustive_maximum(i):
    spec, opt = random_case(i)
    acquisition, data = optimistic(opt.model, opt.settings.risk), opt.observations
    known = data.X[np.argsort(-data.mean, kind="stable")]
    x = maximise(acquisition, domain(Space.of(spec), known), rng_of(i))
    F = values(acquisition, grid_of(spec))
    median = np.median(F)
    reach = (acquisition.value(x[None])[0] - median) / (F.max() - median)
    assert reach >= 0.99, f"{reach:.4f} of the way at {opt.settings.space.decode(x)} in {spec}"


# -- known maxima --------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5, 10])
@pytest.mark.parametrize("seed", range(3))
def test_a_maximum_inside_is_found_exactly(d, seed):
    rng = rng_of(seed, d)
    root = rng.standard_normal((d, d))
    acquisition = Quadratic(rng.uniform(0.2, 0.8, d), root @ root.T + np.eye(d))
    x = maximise(acquisition, domain(cube(d)), rng)
    np.testing.assert_allclose(x, acquisition.centre, atol=2e-4)


@pytest.mark.parametrize("seed", range(5))
def test_a_maximum_on_the_border_is_found_exactly(seed):
    rng = rng_of(seed)
    root = rng.standard_normal((4, 4))
    acquisition = Quadratic(rng.uniform(-0.5, 1.5, 4), root @ root.T + 0.5 * np.eye(4))
    x = maximise(acquisition, domain(cube(4)), rng)
    # A concave function has one maximum in the box: any start of another optimiser will do.
    where, expected = best_of_restarts(acquisition, 4, rng, restarts=3)
    assert acquisition.value(x[None])[0] >= expected - 1e-6
    np.testing.assert_array_equal((x == 0.0) | (x == 1.0), (where == 0.0) | (where == 1.0))


def test_a_maximum_in_a_corner_is_hit_to_the_bit():
    corner = np.array([0.0, 1.0, 1.0])
    x = maximise(Quadratic(3 * corner - 1), domain(cube(3)), rng_of(0))
    np.testing.assert_array_equal(x, corner)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_many_maxima_are_climbed_as_well_as_by_twenty_restarts(d, seed):
    acquisition = Bumps(d, rng_of(seed, d))
    _, expected = best_of_restarts(acquisition, d, rng_of(seed, d, 1))
    x = maximise(acquisition, domain(cube(d)), rng_of(seed, d, 2))
    assert acquisition.value(x[None])[0] >= expected - 1e-6


def test_a_flat_acquisition_gives_some_legal_point():
    x = maximise(Function(lambda X: np.zeros(len(X))), domain(cube(2)), rng_of(0))
    assert x.shape == (2,)
    assert np.all((x >= 0.0) & (x <= 1.0))


def test_the_proposal_is_canonical():
    space = Space.of({"lr": Float(1e-5, 1.0, log=True), "x": Float(-3.0, 8.0)})
    x = maximise(Quadratic([0.3217, 0.777]), domain(space), rng_of(0))
    np.testing.assert_array_equal(space.canonical(x), x)


def test_thirty_dimensions():
    acquisition = Quadratic(np.linspace(-0.2, 1.2, 30))
    x = maximise(acquisition, domain(cube(30)), rng_of(0))
    np.testing.assert_allclose(x, np.clip(acquisition.centre, 0.0, 1.0), atol=1e-3)


# -- discrete parameters -------------------------------------------------------------------------


def test_a_large_discrete_space_is_climbed_to_the_top():
    space = Space.of({"a": Int(0, 200), "b": Int(0, 200), "c": Categorical(list("pqrs"))})
    goal = space.encode({"a": 37, "b": 163, "c": "r"})
    x = maximise(Quadratic(goal), domain(space), rng_of(0))
    np.testing.assert_array_equal(x, goal)


def test_a_category_that_needs_other_continuous_values_is_found():
    space = Space.of({"x": (0.0, 1.0), "y": (0.0, 1.0), "c": Categorical(["u", "v"])})

    def value(X):
        low = 1.0 - 4 * ((X[:, 0] - 0.1) ** 2 + (X[:, 1] - 0.1) ** 2)
        high = 1.2 - 4 * ((X[:, 0] - 0.9) ** 2 + (X[:, 1] - 0.9) ** 2)
        return np.where(X[:, 2] < 0.5, low, high)

    # The known points suggest the wrong category.
    known = [[0.1, 0.1, 0.0], [0.12, 0.1, 0.0], [0.1, 0.15, 0.0]]
    x = maximise(Function(value), domain(space, known), rng_of(0))
    np.testing.assert_allclose(x, [0.9, 0.9, 1.0], atol=1e-3)


@pytest.mark.parametrize("best", [0, 1, 1023, 1024, 2500, 4999])
def test_a_list_gives_the_exact_best_row(best, rng):
    rows = [{"a": float(a), "b": float(b)} for a, b in rng.random((5000, 2))]
    space = Space.of(Candidates(rows))
    scores = rng.random(5000)
    scores[best] = 2.0
    score_of = dict(zip((x.tobytes() for x in space.enumerate()), scores, strict=True))
    acquisition = Function(lambda X: np.array([score_of[x.tobytes()] for x in X]))
    x = maximise(acquisition, domain(space), rng)
    assert space.decode(x) == rows[best]


@pytest.mark.parametrize("high", [7, ENUMERATE - 1])
def test_a_finite_space_that_can_be_listed_is_searched_exactly(high, rng):
    space = Space.of({"i": Int(0, high)})
    scores = rng.random(high + 1)
    acquisition = Function(lambda X: scores[np.rint(high * X[:, 0]).astype(int)])
    x = maximise(acquisition, domain(space), rng)
    assert space.decode(x)["i"] == np.argmax(scores)


# -- what may not be proposed --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_constraint_is_kept_when_the_maximum_is_on_its_border(seed):
    def valid(params):
        return params["x0"] + params["x1"] <= 0.7

    space = Space.of(cube(2), valid)
    acquisition = Quadratic([0.6, 0.5])
    x = maximise(acquisition, domain(space), rng_of(seed))
    assert valid(space.decode(x))
    # The nearest legal point to the centre is (0.4, 0.3), two times 0.2^2 below it; the median
    # of legal points is far below.
    legal = rng_of(0).random((4000, 2))
    median = np.median(acquisition.value(legal[legal.sum(axis=1) <= 0.7]))
    reach = (acquisition.value(x[None])[0] - median) / (-0.08 - median)
    assert 0.95 <= reach <= 1.0 + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_the_proposal_is_no_worse_than_a_known_point_on_the_border(seed):
    space = Space.of(cube(2), lambda p: p["x0"] + p["x1"] <= 0.7)
    acquisition, best = Quadratic([0.6, 0.5]), np.array([0.4, 0.3])
    x = maximise(acquisition, domain(space, best), rng_of(seed))
    # Up to the tolerance within which a known point is as good as a new one.
    assert acquisition.value(x[None])[0] >= acquisition.value(best[None])[0] - 1e-5


def test_a_constraint_on_choices_is_kept():
    def valid(params):
        return params["c"] != "v" or params["i"] <= 20

    space = Space.of({"i": Int(0, 1999), "c": Categorical(["u", "v", "w"])}, valid)
    acquisition = Quadratic(space.encode({"i": 100, "c": "v"}), np.diag([9.0, 1.0, 1.0, 1.0]))
    assert space.size > ENUMERATE
    x = maximise(acquisition, domain(space), rng_of(0))
    # Staying with v costs 9 * 0.04^2 = 0.014, leaving it costs 2.
    assert space.decode(x) == {"i": 20, "c": "v"}


def test_a_rare_constraint_still_gives_a_legal_point():
    space = Space.of(cube(2), lambda p: abs(p["x0"] - 0.5) + abs(p["x1"] - 0.5) < 0.01)
    x = maximise(Quadratic([0.9, 0.9]), domain(space), rng_of(0))
    assert np.abs(x - 0.5).sum() < 0.01


@pytest.mark.parametrize(
    "spec",
    [Candidates([{"a": i, "b": i * i} for i in range(50)]), {"i": Int(0, 60)}],
    ids=["listed", "small"],
)
def test_excluded_points_of_a_short_list_are_never_proposed(spec):
    space = Space.of(spec)
    acquisition = Function(lambda X: X.sum(axis=1))
    every = space.enumerate()
    excluded: set[bytes] = set()
    for row in every[np.argsort(-acquisition.value(every), kind="stable")]:
        x = maximise(acquisition, domain(space, excluded=excluded), rng_of(0))
        np.testing.assert_array_equal(x, row)
        excluded.add(x.tobytes())
    with pytest.raises(ExhaustedError, match="revisit=False"):
        maximise(acquisition, domain(space, excluded=excluded), rng_of(0))


def test_excluded_points_of_a_large_space_are_never_proposed():
    space = Space.of({"a": Int(0, 99), "b": Int(0, 99)})
    goal = {"a": 40, "b": 60}
    near = [{"a": 40 + i, "b": 60 + j} for i in (-1, 0, 1) for j in (-1, 0, 1)]
    excluded = {space.encode(p).tobytes() for p in near}
    # The best known points are excluded too.
    where = domain(space, [space.encode(goal)], excluded)
    x = maximise(Quadratic(space.encode(goal)), where, rng_of(0))
    params = space.decode(x)
    assert params not in near
    assert abs(params["a"] - 40) + abs(params["b"] - 60) == 2


# -- known points --------------------------------------------------------------------------------


def test_a_known_point_as_good_as_the_maximum_is_reused():
    known = np.array([[0.2, 0.9], [0.4004, 0.6]])
    x = maximise(Quadratic([0.4, 0.6]), domain(cube(2), known), rng_of(0))
    np.testing.assert_array_equal(x, known[1])


def test_a_known_point_beside_a_sharper_maximum_is_not():
    x = maximise(Quadratic([0.4, 0.6]), domain(cube(2), [[0.41, 0.6]]), rng_of(0))
    np.testing.assert_allclose(x, [0.4, 0.6], atol=2e-4)
    steep = Function(lambda X: -np.abs(X - [0.4, 0.6]).sum(axis=1))
    x = maximise(steep, domain(cube(2), [[0.4009, 0.6]]), rng_of(0))
    assert abs(x[0] - 0.4009) > 1e-5


def test_an_excluded_known_point_is_not_reused():
    known = np.array([[0.4004, 0.6]])
    where = domain(cube(2), known, [known[0].tobytes()])
    x = maximise(Quadratic([0.4, 0.6]), where, rng_of(0))
    assert x.tobytes() != known[0].tobytes()
    np.testing.assert_allclose(x, [0.4, 0.6], atol=2e-4)


def test_known_points_lead_to_a_peak_too_narrow_to_be_hit_by_chance():
    spot = np.array([0.31, 0.62, 0.17, 0.85])
    needle = Function(lambda X: np.exp(-0.5 * ((X - spot) ** 2).sum(axis=1) / 0.02**2))
    x = maximise(needle, domain(cube(4), [spot + 0.015]), rng_of(0))
    np.testing.assert_allclose(x, spot, atol=1e-3)


# -- determinism, memory -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "space",
    [cube(3), Space.of({"x": (0.0, 1.0), "i": Int(0, 9), "c": Categorical(list("abc"))})],
    ids=["cube", "mixed"],
)
def test_the_same_generator_gives_the_same_point(space):
    acquisition = Bumps(space.d, rng_of(1))
    first, second = (maximise(acquisition, domain(space), rng_of(5)) for _ in range(2))
    assert first.tobytes() == second.tobytes()


# -- parts of a search ---------------------------------------------------------------------------


def test_what_rounds_to_an_excluded_point_is_not_proposed(rng):
    # Only the two ends of this range can be told apart.
    space = Space.of({"x": Float(1e12, 1e12 + 1e-3)})
    used = frozenset([np.array([0.0]).tobytes()])
    domain = Domain(space, np.empty((0, 1)), used)
    assert maximise(Quadratic([0.3]), domain, rng).tolist() == [1.0]


# -- several widths ------------------------------------------------------------------------------


def widened_case(valid=None, failures=False):
    """Both GPs of a function of three inputs, and where to look."""
    rng = rng_of(21)
    spec = {f"x{j}": (0.0, 1.0) for j in range(3)}
    space = Space.of(spec, valid)
    data = []
    for x in rng.random((40, 3)):
        f = np.sin(6 * x[0]) + np.cos(5 * x[1]) - (x[2] - 0.3) ** 2
        data.append((space.decode(x), [f + (0.1 + 0.3 * x[1]) * rng.standard_normal()]))
    opt = rahbo.Optimizer(spec, seed=0, data=data)
    success = None
    if failures:
        failed = (opt.observations.X[:, 2] > 0.6).astype(int)
        success = Success.learn(opt.observations.X, 1 - failed, failed)
    where = Domain(space, opt.observations.best_first(), frozenset(), success)
    return optimistic(opt.model, opt.settings.risk), where


@pytest.mark.parametrize("kind", ["free", "valid", "failures"])
def test_several_widths_find_what_each_finds_alone(kind):
    valid = (lambda p: p["x0"] + p["x1"] < 1.2) if kind == "valid" else None
    bound, where = widened_case(valid, kind == "failures")
    widths = (1.0, 2.0, 4.0)
    together = list(maximise_widened(bound, widths, where, rng_of(0)))
    for width, x in zip(widths, together, strict=True):
        wide = bound.widened(width)
        alone = maximise(wide, where, rng_of(1))
        measure = wide
        if where.success is not None:
            F = values(wide, rng_of(2).random((500, 3)))
            measure = Hoped(wide, where.success, float(F.min()))
        F = values(measure, rng_of(2).random((500, 3)))
        tolerance = 1e-2 * np.ptp(F)
        assert where.allowed(x[None])[0]
        assert measure.value(x[None])[0] >= measure.value(alone[None])[0] - tolerance
        assert measure.value(x[None])[0] >= F[where.allowed(rng_of(2).random((500, 3)))].max()


def test_several_widths_of_a_list_are_exact():
    rows = rng_of(5).random((300, 2))
    space = Space.of(Candidates([{"a": float(a), "b": float(b)} for a, b in rows]))
    rng = rng_of(6)
    data = [(space.decode(x), [float(np.sin(5 * x[0]) + rng.normal())]) for x in space.enumerate()]
    opt = rahbo.Optimizer(space.spec, seed=0, data=data[:25])
    bound = optimistic(opt.model, opt.settings.risk)
    widths = (1.0, 2.0, 4.0)
    for width, x in zip(widths, maximise_widened(bound, widths, domain(space), rng), strict=True):
        F = bound.widened(width).value(space.enumerate())
        np.testing.assert_array_equal(x, space.enumerate()[np.argmax(F)])
