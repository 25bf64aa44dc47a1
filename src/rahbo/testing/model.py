"""The promises of a noise model and of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rahbo.model import ConstantBeta, Kernel, NoiseModel, NoisePosterior, SampleVariances, Units
from rahbo.numerics import Array
from rahbo.settings import Method
from rahbo.space import Space
from rahbo.testing.checks import Promises, copied, finite, proposed, run, slopes

# Repeats at each point of the data that a noise model is given, and the number of points.
REPEATS, POINTS = 6, 40


def check_noise(noise: NoiseModel, space: Mapping[str, Any] | None = None) -> None:
    """Check that a noise model keeps its promises, on data made for it and in a short run.

    Args:
        noise: The model.
        space: Where it works, if it works on certain parameters only.

    Raises:
        AssertionError: A promise is broken; the message says which.
    """
    says = Promises(noise)
    says.require(isinstance(noise, NoiseModel), "must be derived from NoiseModel.")
    where = Space.of(space or {"x": (0.0, 1.0), "y": (0.0, 1.0)})
    bound, data = noise.bind(where), _data(where)
    says.require(isinstance(bound, NoiseModel), "bind() must return a noise model.")
    learned = bound.learn(data)
    says.require(
        learned is not None or bound.is_known,
        "learn() must not return None. A model without hyperparameters leaves it out.",
    )
    posterior = _checked_posterior(says, noise, bound, data, learned)
    X = 0.1 + 0.8 * np.random.default_rng(4).random((7, where.d))
    _check_link(says, posterior, X)
    _check_band(says, posterior, X)
    _check_later(says, posterior, X)
    if bound.is_known:
        _check_known(says, bound, data, X)
    else:
        _check_learning(says, bound, data, learned, posterior)
    if bound.extends and posterior.gp is not None:
        _check_extension(says, bound, data, learned)
    _check_run(says, noise, where)


def _data(where: Space, units: Units | None = None) -> SampleVariances:
    """Return sample variances of Gaussian values whose noise grows with the first column."""
    rng = np.random.default_rng(3)
    X = where.snap(rng.random((POINTS, where.d)))
    dof = np.full(POINTS, REPEATS - 1.0)
    s2 = (0.1 + 0.3 * X[:, 0]) ** 2 * rng.chisquare(dof) / dof
    return SampleVariances(X, s2, dof, 1e-8, units=units or Units(0.0, 1.0))


def _checked_posterior(
    says: Promises, noise: NoiseModel, bound: NoiseModel, data: SampleVariances, learned: Any
) -> NoisePosterior:
    """Return the posterior, after checking that it follows from the arguments alone."""
    before = data.s2.copy()
    posterior, X = bound.condition(data, learned), data.X[:5]
    says.require(isinstance(posterior, NoisePosterior), "condition() must return a NoisePosterior.")
    promise = "learn() and condition() must follow from their arguments alone."
    again = bound.condition(data, bound.learn(data))
    for part, same in zip(posterior.latent(X), again.latent(X), strict=True):
        says.equal(same, part, promise, rtol=1e-12)
    says.require(np.array_equal(before, data.s2), "must not change the data.")
    says.require(
        posterior.is_known == bound.is_known or posterior.gp is None,
        "a posterior that is known needs a model that says so.",
    )
    elsewhere = bound.condition(replace(data, s2=3.0 * data.s2), learned)
    near = bound.condition(data, learned, elsewhere)
    says.equal(
        near.variance(X),
        posterior.variance(X),
        "a near posterior may save time, not change the result.",
        rtol=0.05,
    )
    copied(noise)
    return posterior


def _check_link(says: Promises, posterior: NoisePosterior, X: Array) -> None:
    mu, sigma = posterior.latent(X)
    shapes = np.shape(mu) == np.shape(sigma) == (len(X),)
    says.require(
        shapes and finite(mu, sigma) and (sigma >= 0.0).all(),
        "latent() must give two finite arrays (m,), the second >= 0.",
    )
    says.equal(posterior.centre(X), mu, "centre() must be the mean of g.", rtol=1e-6)
    g = mu + np.linspace(-1.0, 1.0, len(mu)) * (sigma + 0.1 * np.abs(mu))
    slope = (posterior.link(g + 1e-6) - posterior.link(g - 1e-6)) / 2e-6
    says.require((slope > 0.0).all(), "link() must rise with g.")
    says.equal(
        posterior.link_slope(g), slope, "link_slope() must be the derivative of link().", rtol=1e-4
    )
    for z in (-1.0, 0.0, 2.0):
        says.equal(
            posterior.variance(X, z),
            posterior.link(mu + z * sigma),
            "variance() must be link(mu + z sigma).",
            rtol=1e-6,
        )
    parts = posterior.latent_with_gradient(X)
    says.equal(parts[0], mu, "the gradient's mean is that of latent().", rtol=1e-6)
    for which, name in enumerate(("mean", "standard deviation")):
        measured = slopes(lambda at, i=which: posterior.latent(at)[i], X)  # type: ignore[misc]
        size = float(np.abs(measured).max(initial=1e-9))
        promise = f"latent_with_gradient() must give the slopes of the {name}."
        says.equal(parts[2 + which], measured, promise, rtol=1e-3, atol=1e-3 * size)


def _check_band(says: Promises, posterior: NoisePosterior, X: Array) -> None:
    width, sigma = posterior.width(ConstantBeta(2.0)), posterior.latent(X)[1]
    if posterior.is_known:
        says.require(width == 0.0 and not sigma.any(), "known noise has no band.")
        return
    says.require(width > 0.0, "noise that is learned has a band: width() must be > 0.")
    says.require(
        (sigma > 0.0).all(),
        "noise that is learned is uncertain, but the standard deviation of g is 0.",
    )
    drawn = posterior.draws(X, np.random.default_rng(0), 400)
    says.require(drawn.shape == (400, len(X)), "draws() must give an array (n, m).")
    says.equal(drawn.std(axis=0), sigma, "draws() must spread like latent().", rtol=0.25)
    gp = posterior.gp
    if gp is not None:
        for part, same in zip(posterior.latent(X), gp.predict(X), strict=True):
            says.equal(part, same, "g must be the GP it names.", rtol=1e-9)
        for z in (0.0, 1.0):
            promise = "at_data() must be variance() at the data."
            says.equal(posterior.at_data(z), posterior.variance(gp.X, z), promise, rtol=1e-3)


def _check_later(says: Promises, posterior: NoisePosterior, X: Array) -> None:
    later = posterior.with_pending(X, np.full(len(X), 5))
    says.require(isinstance(later, NoisePosterior), "with_pending() must return a posterior.")
    says.equal(
        later.centre(X),
        posterior.centre(X),
        "pending repeats come as expected and move nothing.",
        rtol=1e-6,
        atol=1e-6,
    )
    surer = later.latent(X)[1] <= posterior.latent(X)[1] * (1.0 + 1e-6)
    says.require(surer.all(), "pending repeats must not make g less certain.")
    if posterior.gp is not None:
        surer = later.latent(X)[1] < 0.999 * posterior.latent(X)[1]
        says.require(surer.all(), "pending repeats must make a GP more certain.")
    raised = posterior.at_level(0.5)
    if raised is not None:
        promise = "at_level(t) must raise all variances by e^t."
        for z in (0.0, 1.0):
            there, here = raised.variance(X, z), posterior.variance(X, z)
            says.equal(there, np.exp(0.5) * here, promise, rtol=1e-6)
        if raised.gp is not None:
            at_data = np.exp(0.5) * posterior.at_data()
            says.equal(raised.at_data(), at_data, promise, rtol=1e-6)


def _check_known(says: Promises, bound: NoiseModel, data: SampleVariances, X: Array) -> None:
    promise = "known noise is given in the user's units."
    known = bound.known_var(X)
    other = bound.condition(replace(data, units=Units(3.0, 2.0)), None).variance(X)
    says.equal(4.0 * other, bound.condition(data, None).variance(X), promise, rtol=1e-6, atol=1e-6)
    if known is not None:
        here = bound.condition(data, None).variance(X)
        says.equal(here, np.maximum(known, data.floor), promise, rtol=1e-6)


def _check_learning(
    says: Promises,
    bound: NoiseModel,
    data: SampleVariances,
    learned: Any,
    posterior: NoisePosterior,
) -> None:
    X = data.X
    level = float(np.median(posterior.variance(X) / (0.1 + 0.3 * X[:, 0]) ** 2))
    says.require(
        1 / 4 < level < 4,
        f"must find the noise of {REPEATS} Gaussian repeats at "
        f"{len(X)} points, but its median is {level:.2g} times as large.",
    )
    more = replace(data, s2=30.0 * data.s2)
    warm = bound.learn(more, bound.scaled(learned, 2.0))
    ratio = float(np.median(bound.condition(more, warm).variance(X) / posterior.variance(X)))
    says.require(
        ratio > 3.0,
        "must follow the data: with sample variances 30 times as "
        f"large, the noise was {ratio:.2g} times as large.",
    )
    if bound.takes_residuals:
        few = replace(data, dof=np.where(np.arange(len(X)) % 2, 0.3, data.dof))
        none = SampleVariances(X[:0], data.s2[:0], data.dof[:0], data.floor)
        for some in (few, none):
            found = bound.condition(some, bound.learn(few)).variance(X, 1.0)
            says.require(
                finite(found),
                "takes residuals, so it must condition on estimates "
                "with less than one degree of freedom, and on none.",
            )


def _check_extension(
    says: Promises, bound: NoiseModel, data: SampleVariances, learned: Any
) -> None:
    """Compare a posterior that later data extend with one given all data at once."""
    n = POINTS - 10
    first, later = (
        replace(data, X=data.X[rows], s2=data.s2[rows], dof=data.dof[rows])
        for rows in (slice(None, n), slice(n, None))
    )
    before = bound.condition(first, learned)
    if before.gp is None:
        return
    expected = before.gp.expect(later.X)
    targets = bound.targets(later, expected.mu, expected.covariance)
    found = before.given(expected.told(*targets))
    promise = "a posterior that later data extend must be that given all data."
    together = bound.condition(data, learned)
    for z in (-1.0, 0.0, 1.0):
        says.equal(found.variance(data.X, z), together.variance(data.X, z), promise, rtol=0.2)


def _check_run(says: Promises, noise: NoiseModel, where: Space) -> None:
    """Check that a run uses the model: proposals, bands, recommendation and diagnosis."""
    known = noise.is_known
    runs = [run(where.spec, 16, method=Method(noise=one)) for one in (noise, copied(noise))]
    promise = "the same run must propose the same again."
    says.require(proposed(runs[0]) == proposed(runs[1]), promise)
    model = runs[0].model
    own = model.settings.noise.condition(model.data, model.learned.noise)
    X = model.observations.X
    says.equal(model.noise.variance(X), own.variance(X), "a run must believe it.", rtol=0.05)
    found = runs[0].recommend()
    lower, upper = found.noise_std_interval
    says.require(lower <= found.noise_std <= upper, "an interval must hold its estimate.")
    says.require(
        known or lower < upper,
        "is not known, so the interval of the noise of a recommendation must have a width.",
    )
    says.require(
        known == (model.beta_noise == 0.0),
        "the band of the noise must have a width unless it is known.",
    )
    runs[0].diagnose()


def check_kernel(kernel: type[Kernel] | Kernel) -> None:
    """Check that a kernel keeps its promises: a covariance, its gradients, and a short run.

    Args:
        kernel: A kernel, or a class, of which one with two inputs is made.

    Raises:
        AssertionError: A promise is broken; the message says which.
    """
    says = Promises(kernel)
    is_class = isinstance(kernel, type)
    one = kernel([0.4, 0.8], 1.7) if isinstance(kernel, type) else kernel
    says.require(isinstance(one, Kernel), "must be derived from Kernel.")
    rng = np.random.default_rng(5)
    X, Z = rng.random((6, one.d)), rng.random((9, one.d))
    K, slope = one.evaluate(X, Z)
    says.require(
        K.shape == slope.shape == (6, 9) and finite(K, slope),
        "evaluate() must give two finite arrays (m, n).",
    )
    says.equal(one(Z, X), K.T, "must be symmetric.", rtol=1e-9)
    whole, diagonal = one(Z, Z), one.diagonal(Z)
    says.equal(diagonal, whole.diagonal(), "diagonal() must be k(x, x).", rtol=1e-6)
    least = float(np.linalg.eigvalsh(whole).min())
    says.require(
        least > -1e-8 * float(diagonal.max()),
        f"must be positive definite, but has an eigenvalue {least:.3g}.",
    )
    _check_parameters(says, one, X, Z)
    _check_kernel_gradients(says, one, X, Z)
    names = [f"x{i + 1}" for i in range(one.d)]
    space = dict.fromkeys(names, (0.0, 1.0))
    optimizer = run(space, 14, method=Method(kernel=kernel if is_class else one))
    says.require(finite(optimizer.recommend().mean), "a run must recommend something.")


def _check_parameters(says: Promises, one: Kernel, X: Array, Z: Array) -> None:
    theta = one.log_parameters
    says.require(
        theta.shape == (one.d + 1,), "log_parameters must be d lengthscales and the variance."
    )
    same = type(one).from_log_parameters(theta)
    says.equal(same(X, Z), one(X, Z), "from_log_parameters() must make the same kernel.", rtol=1e-9)
    says.require(copied(one) == one, "must be equal to its pickled copy.")
    theta[-1] += np.log(2.0)
    double = type(one).from_log_parameters(theta)
    says.equal(double(X, Z), 2.0 * one(X, Z), "must be proportional to its variance.", rtol=1e-9)


def _check_kernel_gradients(says: Promises, one: Kernel, X: Array, Z: Array) -> None:
    W = np.random.default_rng(6).standard_normal((len(X), len(Z)))
    slope = one.evaluate(X, Z)[1]
    by_x = slopes(lambda at: np.asarray((W * one(at, Z)).sum(axis=1)), X)
    says.equal(
        one.input_gradient(X, Z, W * slope),
        by_x,
        "input_gradient() must be the slope in x.",
        rtol=1e-4,
        atol=1e-6,
    )
    says.equal(
        one.diagonal_gradient(X),
        slopes(one.diagonal, X),
        "diagonal_gradient() must be the slope of k(x, x).",
        rtol=1e-4,
        atol=1e-6,
    )
    V, theta = np.triu(W[:, : len(X)]), one.log_parameters
    K, slope = one.among(X)
    says.equal(
        np.triu(K),
        np.triu(one(X, X)),
        "among() must be evaluate() of points with themselves.",
        rtol=1e-6,
    )

    def weighted(thetas: Array) -> Array:
        made = (type(one).from_log_parameters(theta) for theta in thetas)
        return np.array([float((V * kernel(X, X)).sum()) for kernel in made])

    says.equal(
        one.log_parameter_gradient(X, K, slope, V.copy()),
        slopes(weighted, theta[None])[0],
        "log_parameter_gradient() must be the slope in the "
        "logarithms of lengthscales and variance.",
        rtol=1e-4,
        atol=1e-6,
    )
