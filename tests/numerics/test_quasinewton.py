"""Batched projected BFGS against known minima, SciPy and itself, row by row."""

import numpy as np
import pytest
from scipy.optimize import Bounds, rosen, rosen_der
from scipy.optimize import minimize as scipy_minimize

from rahbo.numerics import quasi_newton


class Counting:
    """A row-wise function that remembers how often and on how many rows it was called."""

    def __init__(self, function):
        self.function = function
        self.rows = []

    def __call__(self, X):
        self.rows.append(len(X))
        pairs = [self.function(x) for x in X]
        return np.array([f for f, _ in pairs]), np.array([g for _, g in pairs])


def rosenbrock(x):
    return rosen(x), rosen_der(x)


def quadratic(A, b):
    return lambda x: (0.5 * x @ A @ x - b @ x, A @ x - b)


def spd(rng, p, condition=100.0):
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    return Q @ np.diag(np.geomspace(1.0, condition, p)) @ Q.T


@pytest.mark.parametrize("p", [2, 3, 5])
def test_rosenbrock(rng, p):
    starts = rng.uniform(-2.0, 2.0, size=(6, p))
    starts[0] = np.resize([-1.2, 1.0], p)
    box = np.full(p, -5.0), np.full(p, 5.0)
    found = quasi_newton(Counting(rosenbrock), starts, *box, max_iterations=500)
    # In more than 3 dimensions a second, local minimum near x_1 = -1 exists.
    slopes = np.array([rosen_der(x) for x in found.x])
    np.testing.assert_allclose(slopes, 0.0, atol=1e-4)
    at_one = found.value < 1e-10
    assert at_one.sum() >= 4
    np.testing.assert_allclose(found.x[at_one], 1.0, atol=1e-4)


def test_rosenbrock_takes_about_as_many_calls_as_scipy():
    start = np.array([[-1.2, 1.0]])
    counting = Counting(rosenbrock)
    found = quasi_newton(counting, start, np.full(2, -5.0), np.full(2, 5.0), max_iterations=500)
    peer = scipy_minimize(rosen, start[0], jac=rosen_der, method="L-BFGS-B")
    assert found.evaluations == len(counting.rows)
    assert found.evaluations <= 2 * peer.nfev


def test_rosenbrock_with_its_minimum_outside_the_box():
    box = np.array([-1.5, -1.5]), np.array([0.5, 2.0])
    found = quasi_newton(Counting(rosenbrock), np.array([[-1.2, 1.0], [0.4, 2.0]]), *box)
    # On the face x_1 = 1/2 the minimum is x_2 = x_1^2.
    np.testing.assert_allclose(found.x, [[0.5, 0.25]] * 2, atol=1e-6)
    np.testing.assert_allclose(found.value, 0.25, rtol=1e-10)


@pytest.mark.parametrize("p", [1, 2, 4, 8])
def test_unconstrained_quadratic_is_solved_exactly(rng, p):
    A, b = spd(rng, p), rng.normal(size=p)
    found = quasi_newton(
        Counting(quadratic(A, b)),
        rng.normal(size=(3, p)),
        np.full(p, -50.0),
        np.full(p, 50.0),
        gradient_tolerance=1e-9,
    )
    np.testing.assert_allclose(found.x, np.tile(np.linalg.solve(A, b), (3, 1)), atol=1e-8)


@pytest.mark.parametrize("p", [1, 2, 5])
def test_separable_quadratic_in_a_box_is_clipped(rng, p):
    scale, centre = rng.uniform(0.5, 20.0, p), rng.uniform(-2.0, 3.0, p)
    found = quasi_newton(
        Counting(quadratic(np.diag(scale), scale * centre)),
        rng.uniform(size=(4, p)),
        np.zeros(p),
        np.ones(p),
    )
    np.testing.assert_allclose(found.x, np.tile(np.clip(centre, 0.0, 1.0), (4, 1)), atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_coupled_quadratic_in_a_box_agrees_with_scipy(seed):
    rng = np.random.default_rng(seed)
    A, b = spd(rng, 6), 20.0 * rng.normal(size=6)
    function = quadratic(A, b)
    found = quasi_newton(
        Counting(function), rng.uniform(size=(5, 6)), np.zeros(6), np.ones(6), max_iterations=300
    )
    peer = scipy_minimize(
        function,
        np.full(6, 0.5),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(0.0, 1.0),
        options={"ftol": 1e-15, "gtol": 1e-9},
    )
    assert np.any((peer.x == 0.0) | (peer.x == 1.0))
    np.testing.assert_allclose(found.x, np.tile(peer.x, (5, 1)), atol=1e-5)
    np.testing.assert_allclose(found.value, peer.fun, rtol=1e-9)


def test_rows_are_independent_of_each_other(rng):
    starts = rng.uniform(-2.0, 2.0, size=(7, 3))
    box = np.full(3, -1.5), np.full(3, 1.2)
    together = quasi_newton(Counting(rosenbrock), starts, *box)
    for i in range(7):
        alone = quasi_newton(Counting(rosenbrock), starts[i : i + 1], *box)
        np.testing.assert_allclose(together.x[i], alone.x[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(together.value[i], alone.value[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(together.hessian[i], alone.hessian[0], rtol=1e-9, atol=1e-12)


def test_order_of_rows_does_not_matter(rng):
    starts = rng.uniform(-1.0, 1.0, size=(5, 2))
    box = np.full(2, -5.0), np.full(2, 5.0)
    forward = quasi_newton(Counting(rosenbrock), starts, *box)
    backward = quasi_newton(Counting(rosenbrock), starts[::-1], *box)
    np.testing.assert_allclose(forward.x, backward.x[::-1], rtol=1e-12, atol=1e-12)


def test_finished_rows_are_not_evaluated_again(rng):
    A, b = spd(rng, 4), rng.normal(size=4)
    solved = np.linalg.solve(A, b)
    starts = np.vstack([solved, solved, np.zeros(4)])
    counting = Counting(quadratic(A, b))
    quasi_newton(counting, starts, np.full(4, -9.0), np.full(4, 9.0))
    assert counting.rows[0] == 3
    assert set(counting.rows[1:]) == {1}


def test_start_at_the_minimum_costs_one_call():
    found = quasi_newton(Counting(rosenbrock), np.ones((1, 2)), np.full(2, -5.0), np.full(2, 5.0))
    assert found.evaluations == 1
    np.testing.assert_array_equal(found.x, np.ones((1, 2)))


def test_start_outside_the_box_is_clipped_and_the_argument_is_kept():
    start = np.array([[9.0, -9.0]])
    found = quasi_newton(Counting(rosenbrock), start, np.full(2, -2.0), np.full(2, 2.0))
    np.testing.assert_array_equal(start, [[9.0, -9.0]])
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


def test_every_trial_stays_in_the_box(rng):
    lower, upper = np.array([-0.5, 0.1]), np.array([0.7, 0.3])
    seen = []

    def watched(X):
        seen.append(X.copy())
        return Counting(rosenbrock)(X)

    quasi_newton(watched, rng.normal(size=(4, 2)), lower, upper)
    X = np.vstack(seen)
    assert np.all((lower <= X) & (upper >= X))


def test_equal_bounds_hold_a_variable():
    lower, upper = np.array([-5.0, 0.3]), np.array([5.0, 0.3])
    found = quasi_newton(Counting(rosenbrock), np.array([[2.0, 2.0]]), lower, upper)
    # With x_2 = c held, the slope in x_1 is 400 x^3 + (2 - 400 c) x - 2.
    roots = np.roots([400.0, 0.0, 2.0 - 400.0 * 0.3, -2.0])
    real = roots[np.abs(roots.imag) < 1e-12].real
    assert found.x[0, 1] == 0.3
    assert np.min(np.abs(real - found.x[0, 0])) < 1e-6


def test_infinite_values_are_walls():
    def walled(x):
        if x[0] > 0.6:
            return np.inf, np.full(2, np.nan)
        return (x[0] - 0.5) ** 2 + (x[1] - 0.2) ** 2, 2.0 * (x - [0.5, 0.2])

    # The first step from here would overshoot into the wall.
    steep = Counting(lambda x: tuple(np.multiply(100.0, part) for part in walled(x)))
    found = quasi_newton(steep, np.array([[0.0, 0.9], [0.59, 0.0]]), np.zeros(2), np.ones(2))
    np.testing.assert_allclose(found.x, [[0.5, 0.2]] * 2, atol=1e-6)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_a_start_without_a_value_stays_and_leaves_the_others_alone(bad):
    def partly(x):
        if x[0] < 0.0:
            return bad, np.full(2, np.nan)
        return rosenbrock(x)

    starts = np.array([[-1.0, 0.0], [0.5, 0.5]])
    found = quasi_newton(Counting(partly), starts, np.full(2, -5.0), np.full(2, 5.0))
    np.testing.assert_array_equal(found.x[0], starts[0])
    assert not np.isfinite(found.value[0])
    np.testing.assert_allclose(found.x[1], 1.0, atol=1e-4)


def test_all_starts_without_a_value_end_at_once():
    def nowhere(X):
        return np.full(len(X), np.inf), np.full(X.shape, np.nan)

    found = quasi_newton(nowhere, np.zeros((3, 2)), np.zeros(2), np.ones(2))
    assert found.evaluations == 1
    assert np.all(np.isinf(found.value))


def test_values_never_rise(rng):
    starts = rng.uniform(-2.0, 2.0, size=(10, 4))
    for iterations in (0, 1, 3, 10):
        found = quasi_newton(
            Counting(rosenbrock),
            starts,
            np.full(4, -5.0),
            np.full(4, 5.0),
            max_iterations=iterations,
        )
        np.testing.assert_allclose(found.value, [rosen(x) for x in found.x], rtol=1e-12)
        assert np.all(found.value <= [rosen(x) for x in starts])


def test_curvature_approaches_the_hessian(rng):
    off = []
    for _ in range(40):
        A, b = spd(rng, 3, condition=5.0), rng.normal(size=3)
        found = quasi_newton(
            Counting(quadratic(A, b)),
            rng.normal(size=(1, 3)),
            np.full(3, -9.0),
            np.full(3, 9.0),
            # Steps at the end of a tighter search would learn from rounding errors.
            gradient_tolerance=1e-6,
        )
        off.append(np.abs(found.hessian[0] - A).max())
    # A direction in which no step was needed is not learned.
    assert np.quantile(off, 0.9) < 0.3


def test_warm_start_with_the_curvature_of_a_neighbour_is_quick(rng):
    A, b = spd(rng, 6, condition=1000.0), rng.normal(size=6)
    box = np.full(6, -9.0), np.full(6, 9.0)
    cold = quasi_newton(Counting(quadratic(A, b)), rng.normal(size=(1, 6)), *box)
    shifted = quadratic(A, b + 0.01 * rng.normal(size=6))
    warm = quasi_newton(Counting(shifted), cold.x, *box, hessian=A[None])
    again = quasi_newton(Counting(shifted), cold.x, *box)
    assert warm.evaluations <= 3
    assert warm.evaluations < again.evaluations
    np.testing.assert_allclose(warm.value, again.value, rtol=1e-9)


def test_given_curvature_is_not_overwritten(rng):
    B = np.eye(2)[None]
    quasi_newton(
        Counting(rosenbrock), np.zeros((1, 2)), np.full(2, -5.0), np.full(2, 5.0), hessian=B
    )
    np.testing.assert_array_equal(B, np.eye(2)[None])


def test_misleading_curvature_is_dropped():
    found = quasi_newton(
        Counting(rosenbrock),
        np.zeros((1, 2)),
        np.full(2, -5.0),
        np.full(2, 5.0),
        hessian=-np.eye(2)[None],
        max_iterations=300,
    )
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)


def test_max_step_bounds_each_iteration(rng):
    found = quasi_newton(
        Counting(rosenbrock),
        np.full((1, 2), -3.0),
        np.full(2, -5.0),
        np.full(2, 5.0),
        max_step=0.1,
        max_iterations=5,
    )
    assert np.max(np.abs(found.x + 3.0)) <= 5 * 0.1 + 1e-12


def test_value_tolerance_stops_early():
    start, box = np.array([[-1.2, 1.0]]), (np.full(2, -5.0), np.full(2, 5.0))
    exact = quasi_newton(Counting(rosenbrock), start, *box)
    rough = quasi_newton(Counting(rosenbrock), start, *box, value_tolerance=0.5)
    assert rough.evaluations < exact.evaluations
    assert rough.value[0] > exact.value[0]


def test_after_scouting_only_the_leaders_continue(rng):
    starts = rng.uniform(-2.0, 2.0, size=(6, 3))
    box = np.full(3, -5.0), np.full(3, 5.0)
    counting = Counting(rosenbrock)
    found = quasi_newton(counting, starts, *box, scouting=4, leaders=2)
    scouts = quasi_newton(Counting(rosenbrock), starts, *box, max_iterations=4)
    lead = np.argsort(scouts.value, kind="stable")[:2]
    rest = quasi_newton(
        Counting(rosenbrock), scouts.x[lead], *box, hessian=scouts.hessian[lead], max_iterations=96
    )
    np.testing.assert_array_equal(found.x[lead], rest.x)
    others = np.setdiff1d(np.arange(6), lead)
    np.testing.assert_array_equal(found.x[others], scouts.x[others])
    # Going on instead of starting anew saves one call.
    assert found.evaluations == scouts.evaluations + rest.evaluations - 1
    assert max(counting.rows[scouts.evaluations :]) <= 2


def test_a_leader_that_finished_while_scouting_keeps_its_place(rng):
    A = np.eye(2)
    starts = np.array([[0.0, 0.0], [0.9, -0.7], [0.8, 0.3]])
    found = quasi_newton(
        Counting(quadratic(A, np.zeros(2))), starts, -np.ones(2), np.ones(2), scouting=1, leaders=1
    )
    # The first row starts at the minimum and leads, so the others do not continue.
    assert found.value[0] == 0.0
    assert (found.value[1:] > 1e-3).all()


def test_each_group_has_its_own_leaders(rng):
    starts = rng.uniform(-2.0, 2.0, size=(6, 3))
    box = np.full(3, -5.0), np.full(3, 5.0)
    groups = np.array([1, 0, 1, 0, 0, 1])
    together = quasi_newton(
        Counting(rosenbrock), starts, *box, scouting=4, leaders=1, groups=groups
    )
    for group in (0, 1):
        mine = groups == group
        alone = quasi_newton(Counting(rosenbrock), starts[mine], *box, scouting=4, leaders=1)
        np.testing.assert_array_equal(together.x[mine], alone.x)
        np.testing.assert_array_equal(together.value[mine], alone.value)
