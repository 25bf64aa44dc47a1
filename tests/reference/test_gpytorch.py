"""The GP and its evidence gradients against GPyTorch to near machine precision."""

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch import kernels as gk

from rahbo.model import GP, RBF, Evidence, Hyperprior, Linear, Matern32, Matern52

KERNELS = [RBF, Matern32, Matern52, Linear]


class Exact(gpytorch.models.ExactGP):
    """Constant mean, one kernel, fixed noise variances."""

    def __init__(self, X, y, noise_var, kernel, m):
        likelihood = gpytorch.likelihoods.FixedNoiseGaussianLikelihood(noise_var)
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel
        self.double()
        self.mean_module.initialize(constant=torch.tensor(m, dtype=torch.float64))

    def forward(self, X):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


def theirs(kernel, lam):
    """The kernel of the prior f ~ GP(m, kappa / lam)."""
    d, lengths = kernel.d, torch.as_tensor(kernel.lengthscales)
    if isinstance(kernel, Linear):
        peer = gk.LinearKernel(ard_num_dims=d).double()
        peer.variance = (kernel.variance / lam / lengths**2)[None]
        return peer
    shape = {
        RBF: lambda: gk.RBFKernel(ard_num_dims=d),
        Matern32: lambda: gk.MaternKernel(nu=1.5, ard_num_dims=d),
        Matern52: lambda: gk.MaternKernel(nu=2.5, ard_num_dims=d),
    }[type(kernel)]()
    peer = gk.ScaleKernel(shape).double()
    # A plain number would pass through single precision.
    peer.outputscale = torch.tensor(kernel.variance / lam, dtype=torch.float64)
    peer.base_kernel.lengthscale = lengths
    return peer


@pytest.fixture(autouse=True)
def exact_algebra():
    """Cholesky factors instead of conjugate gradients."""
    settings = gpytorch.settings
    with (
        settings.fast_computations(False, False, False),
        settings.max_cholesky_size(10_000),
    ):
        yield


def problem(seed, n, d):
    rng = np.random.default_rng(seed)
    X, X_new = rng.random((n, d)), rng.random((12, d))
    noise_var = np.exp(rng.uniform(-7.0, 0.0, n))
    y = 2.0 * np.sin(X @ rng.uniform(1.0, 5.0, d)) + rng.normal(size=n) * np.sqrt(noise_var)
    return X, y, noise_var, X_new, np.exp(rng.uniform(-1.2, 1.0, d)), np.exp(rng.uniform(-1, 1.5))


def same(found, expected):
    """Equal to 1e-8 relative, an array that passes through zero relative to its size."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * np.max(np.abs(expected)))


def peer_of(kernel, X, y, noise_var, lam, m):
    tensors = [torch.as_tensor(a) for a in (X, y, noise_var)]
    return Exact(*tensors, theirs(kernel, lam), m)


@pytest.mark.parametrize(("lam", "m"), [(1.0, 0.0), (0.35, -1.3), (5.0, 0.8)])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 1), (30, 2), (60, 6), (25, 12)])
@pytest.mark.parametrize("kind", KERNELS)
def test_posterior_and_likelihood(kind, n, d, lam, m):
    for seed in range(3):
        X, y, noise_var, X_new, lengths, variance = problem(seed, n, d)
        kernel = kind(lengths, variance)
        gp = GP.condition(kernel, X, y, noise_var, lam=lam, prior_mean=m)
        peer = peer_of(kernel, X, y, noise_var, lam, m)
        peer.train()
        with torch.no_grad():
            prior = peer.likelihood(peer(*peer.train_inputs))
            log_likelihood = float(prior.log_prob(peer.train_targets))
        peer.eval()
        with torch.no_grad():
            posterior = peer(torch.as_tensor(X_new))
            mean, covariance = posterior.mean.numpy(), posterior.covariance_matrix.numpy()
        mu, sigma = gp.predict(X_new)
        same(mu, mean)
        np.testing.assert_allclose(sigma**2, np.diag(covariance), rtol=1e-8)
        same(gp.covariance(X_new), covariance)
        assert gp.log_likelihood == pytest.approx(log_likelihood, rel=1e-8)


@pytest.mark.parametrize("kind", KERNELS)
def test_kernel_values(kind):
    X, _, _, X_new, lengths, variance = problem(3, 20, 4)
    kernel = kind(lengths, variance)
    with torch.no_grad():
        peer = theirs(kernel, 1.0)(torch.as_tensor(X_new), torch.as_tensor(X))
        expected = peer.to_dense().numpy()
    np.testing.assert_allclose(kernel(X_new, X), expected, rtol=1e-10)


@pytest.mark.parametrize("lam", [1.0, 0.35])
@pytest.mark.parametrize("kind", KERNELS)
def test_evidence_gradient_equals_automatic_differentiation(kind, lam):
    X, y, noise_var, _, lengths, variance = problem(5, 25, 3)
    kernel = kind(lengths, variance)
    prior = Hyperprior(0.0, np.inf, 0.0, np.inf, 0.4, 0.0)
    value, gradient, m = Evidence(kind, X, y, noise_var, None, lam, prior)(kernel.log_parameters)
    assert m == 0.4
    theta = torch.tensor(kernel.log_parameters, requires_grad=True)
    points, d = torch.as_tensor(X), 3
    if kind is Linear:
        scaled = points / torch.exp(theta[:d])
        K = torch.exp(theta[d]) * scaled @ scaled.T
    else:
        # Zero distances have no derivative: the diagonal is the variance itself.
        base = theirs(kernel, 1.0).base_kernel
        unit = type(base)(nu=base.nu) if isinstance(base, gk.MaternKernel) else type(base)()
        unit = unit.double()
        unit.lengthscale = 1.0
        scaled = points / torch.exp(theta[:d])
        K = torch.exp(theta[d]) * unit(scaled, scaled).to_dense()
    A = K / lam + torch.diag(torch.as_tensor(noise_var))
    mean = torch.full((25,), 0.4, dtype=torch.float64)
    expected = torch.distributions.MultivariateNormal(mean, A).log_prob(torch.as_tensor(y))
    expected.backward()
    assert value == pytest.approx(expected.item(), rel=1e-8)
    same(gradient, theta.grad.numpy())


@pytest.mark.parametrize("kind", KERNELS)
def test_pending_points_are_their_fantasies(kind):
    X, y, noise_var, X_new, lengths, variance = problem(6, 20, 2)
    kernel, pending, pending_var = kind(lengths, variance), X_new[:3], np.array([0.1, 0.2, 0.4])
    gp = GP.condition(kernel, X, y, noise_var, prior_mean=0.2)
    outputs = np.append(y, gp.predict(pending)[0])
    peer = peer_of(
        kernel, np.vstack([X, pending]), outputs, np.append(noise_var, pending_var), 1.0, 0.2
    )
    peer.eval()
    with torch.no_grad():
        posterior = peer(torch.as_tensor(X_new[3:]))
        mean, var = posterior.mean.numpy(), posterior.variance.numpy()
    mu, sigma = gp.with_pending(pending, pending_var).predict(X_new[3:])
    same(mu, mean)
    np.testing.assert_allclose(sigma**2, var, rtol=1e-8)
