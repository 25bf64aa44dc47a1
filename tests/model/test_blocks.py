"""The effects of blocks, compared with dense Gaussian computations."""

import numpy as np
import pytest

import rahbo
from rahbo.model import Matern52, ModelSettings, condition, learn
from rahbo.model.blocks import (
    Equations,
    effects_from,
    equations_of,
    first_effects,
    removed_by,
    separated,
    values_in_blocks,
    within_points,
)
from rahbo.trials import Observations


def some_data(rng, n=9, blocks=4, unnamed=0.2):
    counts = rng.integers(1, 5, n)
    values = [rng.normal(size=k).tolist() for k in counts]
    named = [
        None if rng.random() < unnamed else f"b{rng.integers(blocks)}" for _ in range(counts.sum())
    ]
    return Observations.from_rounds(list(rng.random((n, 2))), values, 1.0, named)


def design_of(data):
    return np.equal.outer(data.block, np.arange(len(data.blocks))).astype(float)


@pytest.mark.parametrize("lam", [1.0, 1.7])
def test_equations_agree_with_the_dense_posterior(rng, lam):
    data, kernel, m = some_data(rng), Matern52(np.array([0.5, 0.7]), 2.0), 0.3
    rho2 = rng.uniform(0.2, 2.0, data.n)
    found = equations_of(kernel, lam, m, data, data.values, rho2)
    Z, y = design_of(data), data.values - m
    base = kernel(data.X, data.X)[np.ix_(data.point, data.point)] / lam + np.diag(rho2[data.point])

    def log_p(A):
        return -0.5 * (np.linalg.slogdet(A)[1] + y @ np.linalg.solve(A, y))

    for v in (0.1, 1.0, 5.0):
        A = base + v * Z @ Z.T
        inverse = np.linalg.inv(found.S + np.eye(Z.shape[1]) / v)
        np.testing.assert_allclose(inverse @ found.r, v * Z.T @ np.linalg.solve(A, y), atol=1e-10)
        dense = v * np.eye(Z.shape[1]) - v**2 * Z.T @ np.linalg.solve(A, Z)
        np.testing.assert_allclose(inverse, dense, atol=1e-10)
        gain = -0.5 * np.linalg.slogdet(np.eye(Z.shape[1]) + v * found.S)[1]
        gain += 0.5 * found.r @ inverse @ found.r
        np.testing.assert_allclose(gain, log_p(A) - log_p(base), rtol=1e-9, atol=1e-9)


def test_effects_are_the_posterior_averaged_over_their_variance(rng):
    data, kernel = some_data(rng, n=12), Matern52(np.array([0.5, 0.7]), 2.0)
    rho2 = np.full(data.n, 0.5)
    equations = equations_of(kernel, 1.0, 0.0, data, data.values, rho2)
    found = effects_from(data.blocks, equations, np.sqrt(0.5), 1.0)
    # The same by brute force: the prior conditioned on w^T b = 0.
    w = equations.total / np.linalg.norm(equations.total)
    P = np.eye(len(w)) - np.outer(w, w)
    log_p, means, covariances = [], [], []
    for v in found.var:
        prior = v * P
        A = np.eye(len(w)) + prior @ equations.S
        V = np.linalg.solve(A, prior)
        b = V @ equations.r
        half_cauchy = 0.5 * np.log(v) - np.log1p(v)
        log_p.append(half_cauchy - 0.5 * np.linalg.slogdet(A)[1] + 0.5 * equations.r @ b)
        means.append(b)
        covariances.append(V)
    p = np.exp(np.array(log_p) - max(log_p))
    p /= p.sum()
    means = np.array(means)
    np.testing.assert_allclose(found.weights, p, atol=1e-10)
    np.testing.assert_allclose(found.mean, p @ means, atol=1e-9)
    spread = means - p @ means
    total = np.tensordot(p, np.array(covariances), 1) + (p[:, None] * spread).T @ spread
    np.testing.assert_allclose(found.covariance, total, atol=1e-9)
    np.testing.assert_allclose(found.mean @ equations.total, 0.0, atol=1e-9)
    assert abs(found.centred().mean.sum()) < 1e-9


def test_a_balanced_table_gives_the_closed_form_of_a_two_way_layout(rng):
    n, B = 30, 5
    b = np.array([1.0, -0.5, 0.25, 0.0, -0.75])
    y = rng.normal(size=(n, 1)) + b + 0.1 * rng.normal(size=(n, B))
    data = Observations.from_rounds(list(rng.random((n, 2))), y, 1.0, list("abcde") * n)
    found, level = first_effects(data.blocks, data, data.values, 1e-12, 1.0)
    effects = y.mean(axis=0) - y.mean()
    rest = y - y.mean(axis=1, keepdims=True) - effects
    noise_var = (rest**2).sum() / ((n - 1) * (B - 1))
    assert level == pytest.approx(noise_var, rel=0.08)
    # b_hat = effects n v_b / (n v_b + rho^2): hardly shrunk here.
    np.testing.assert_allclose(found.mean, effects, atol=0.01 * np.abs(effects).max())
    np.testing.assert_allclose(
        found.covariance, noise_var / n * (np.eye(B) - 1 / B), atol=0.1 * noise_var / n
    )
    equations, squares, dof = within_points(data, data.values)
    assert (squares, dof) == (pytest.approx(n * (B - 1) * y.var(axis=1, ddof=1).mean()), n * 4)
    np.testing.assert_allclose(equations.S, n * (np.eye(B) - 1 / B), atol=1e-12)


def test_degrees_of_freedom_lost_are_those_of_the_residuals(rng):
    """With n points in all B blocks, residuals have (n - 1)(B - 1) degrees of freedom."""
    n, B = 12, 4
    y = rng.normal(size=(n, 1)) + 3.0 * rng.normal(size=B) + 0.1 * rng.normal(size=(n, B))
    data = Observations.from_rounds(list(rng.random((n, 2))), y, 1.0, list("abcd") * n)
    found, level = first_effects(data.blocks, data, data.values, 1e-12, 3.0)
    removed = removed_by(data, found, np.full(n, level), 1.0, np.zeros(n, dtype=bool))
    assert removed.dof.sum() == pytest.approx(B - 1, rel=0.05)
    # A complete point has the mean of all effects, which is known: it is zero.
    np.testing.assert_allclose(removed.mean_var, 0.0, atol=1e-12)


def test_points_alone_in_their_blocks_are_told_apart():
    X = list(np.eye(6))
    values = [[1.0, 2.0], [3.0, 4.0], [5.0], [6.0, 7.0], [8.0], [9.0, 9.5]]
    # b holds one point alone; e and f share one; c holds two; h's point has a value in no block.
    named = ["b", "b", "e", "f", "c", "c", None, "g", "h", None]
    found, alone = separated(Observations.from_rounds(X, values, 1.0, named))
    assert alone.tolist() == [True, False, False, False, True, False]
    assert found.blocks == ("b", "e", "f", "c", "g", "h")
    assert found.block.tolist() == [-1, -1, 1, 2, 3, 3, -1, -1, 5, -1]
    none, alone = separated(Observations.from_rounds(X[:2], values[:2], 1.0, ["b", "b", "c", "c"]))
    assert none.block is None
    assert alone.all()
    shared = Observations.from_rounds(X[:2], values[:2], 1.0, ["b", "c", "c", "b"])
    assert separated(shared)[0] is shared


def test_a_lucky_day_does_not_win(rng):
    X = np.linspace(0.0, 1.0, 8)
    days = {f"day {j}": b for j, b in enumerate((3.0, -4.0, 2.0, -1.0))}
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
    for x in X:
        told = [-4.0 * (x - 0.3) ** 2 + b + 0.1 * rng.normal() for b in days.values()]
        opt.tell({"x": float(x)}, told, block=list(days))
    # One setting of its own on a day on which everything reads high.
    opt.tell({"x": 0.75}, 5.0 - 4.0 * 0.45**2 + 0.1 * rng.normal(size=4), block="day 4")
    found = opt.recommend()
    assert abs(found.params["x"] - 0.3) < 0.1
    assert opt.predict({"x": 0.75}).mean < 2.0


def test_a_block_for_each_point_changes_nothing(rng):
    X, counts = rng.random((12, 3)), [3] * 12
    values = [(np.sin(6.0 * x[0]) + 0.05 * rng.normal(size=3)).tolist() for x in X]
    named = [f"split {i}" for i, n in enumerate(counts) for _ in range(n)]
    settings = ModelSettings()
    plain, blocked = (Observations.from_rounds(list(X), values, 1.0, b) for b in ((), named))
    models = [condition(settings, data, learn(settings, data)) for data in (plain, blocked)]
    assert models[1].blocks is None
    for a, b in zip(*(model.mean.predict(X) for model in models), strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_block_has_no_effect():
    data = Observations.from_rounds([np.array([0.1]), np.array([0.5])], [[1.0], [2.0]], 1.0, "aa")
    found = effects_from(data.blocks, Equations(np.eye(1), np.ones(1), np.array([2.0])), 1.0, 1.0)
    assert found.mean.tolist() == [0.0]
    assert found.covariance.tolist() == [[0.0]]
    assert values_in_blocks(data).tolist() == [[1.0], [1.0]]


def test_without_blocks_nothing_changes(rng):
    X = list(rng.random((8, 2)))
    values = rng.normal(size=(8, 2))
    plain = Observations.from_rounds(X, values)
    named = Observations.from_rounds(X, values, 1.0, [None] * 16)
    assert named.block is None
    settings = ModelSettings()
    models = [condition(settings, data, learn(settings, data)) for data in (plain, named)]
    assert models[0].blocks is None
    np.testing.assert_array_equal(models[0].mean.weights, models[1].mean.weights)


@pytest.mark.slow
def test_intervals_hold_what_they_state():
    """90 % intervals of the effects and of v_b, in 60 simulations."""
    inside, of_var = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, B, std = 14, 6, 0.6
        X, b = rng.random((n, 2)), std * rng.normal(size=B)
        block = np.array([rng.choice(B, 2, replace=False) for _ in range(n)])
        y = np.sin(5.0 * X.sum(axis=1))[:, None] + b[block] + 0.2 * rng.normal(size=(n, 2))
        data = Observations.from_rounds(list(X), y, 1.0, [str(j) for j in block.ravel()])
        settings = ModelSettings()
        model = condition(settings, data, learn(settings, data))
        found, scale = model.blocks, model.units.scale
        b = b[[int(name) for name in found.names]]
        total = values_in_blocks(data).sum(axis=0)
        off = scale * found.mean - (b - total @ b / total.sum())
        inside += (np.abs(off) < 1.645 * scale * np.sqrt(found.covariance.diagonal())).tolist()
        low, high = scale * found.std_quantiles(np.array([0.05, 0.95]))
        of_var.append(low < std < high)
    # The standard error of the first is about 0.03, of the second 0.04.
    assert 0.8 < np.mean(inside) < 0.97
    assert np.mean(of_var) > 0.78
