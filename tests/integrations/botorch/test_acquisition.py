"""Risk bounds on BoTorch models: the core's values and gradients, and BoTorch's conventions."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.deterministic import GenericDeterministicModel
from botorch.optim import optimize_acqf

from rahbo import ExpectedShortfall, MeanStd, MeanVariance, Quantile
from rahbo.errors import RahboError, SettingsError
from rahbo.integrations.botorch import OptimisticRisk, PessimisticRisk, RiskBound, from_log
from rahbo.model import DirectNoise, LogNoise, ModelSettings, Raw
from rahbo.policy import acquisition
from rahbo.risk import RiskMeasure

RISKS = [MeanVariance(0.3), MeanStd(1.0), Quantile(0.05), ExpectedShortfall(0.1)]
BOUNDS = [
    (OptimisticRisk, acquisition.optimistic),
    (PessimisticRisk, acquisition.pessimistic),
]


@dataclass(frozen=True)
class LogMean(RiskMeasure):
    """A custom measure whose value in user units is not linear in the model's value."""

    def value(self, f, v):
        return np.log(f) - 0.1 * np.asarray(v)

    def gradient(self, f, v):
        return 1.0 / f, np.full_like(v, -0.1)


def deterministic(function):
    return GenericDeterministicModel(lambda X: function(X).sum(-1, keepdim=True))


def gradient_of(bound, X):
    X = X.clone().requires_grad_()
    return torch.autograd.grad(bound(X).sum(), X)[0]


def agrees(case, bound, core_bound):
    """Whether values and gradients are those of the core, relative to the outputs' scale."""
    value, gradient = core_bound.value_and_gradient(case.Z)
    found = bound(case.batch).numpy()
    slope = gradient_of(bound, case.batch)[:, 0].numpy()
    np.testing.assert_allclose((found - case.shift) / case.scale, value, rtol=0, atol=1e-6)
    np.testing.assert_allclose(slope / case.scale, gradient, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("risk", [*RISKS, LogMean()], ids=repr)
@pytest.mark.parametrize(("bound", "of_core"), BOUNDS)
def test_values_and_gradients_are_the_core_s(case, risk, bound, of_core):
    agrees(case, bound(case.model, case.model.noise_model, risk), of_core(case.core, risk))


@pytest.mark.parametrize("risk", RISKS, ids=repr)
@pytest.mark.parametrize(("bound", "of_core"), BOUNDS)
def test_direct_noise_has_its_own_link_and_floor(make, risk, bound, of_core):
    repeats, seen_by_both = make
    settings = ModelSettings(noise=DirectNoise(), outputs=Raw(), min_noise_var=20.0)
    case = seen_by_both(*repeats(2, seed=4, most=4), settings)
    clipped = case.core.noise.variance(case.Z, -2.0) < 20.0
    assert clipped.any()
    agrees(case, bound(case.model, case.model.noise_model, risk), of_core(case.core, risk))


@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("noise", [LogNoise(), DirectNoise()], ids=repr)
def test_units_do_not_matter(make, noise, unit):
    """GPyTorch would take variances below 1e-10 for rounding errors."""
    repeats, seen_by_both = make
    X, Y = repeats(2, seed=4)
    case = seen_by_both(X, unit * Y, ModelSettings(noise=noise))
    risk = MeanVariance(0.3 / unit)
    bound = OptimisticRisk(case.model, case.model.noise_model, risk)
    agrees(case, bound, acquisition.optimistic(case.core, risk))
    bound.set_X_pending(case.batch[5:7, 0])
    pending = case.core.with_pending(case.Z[5:7], np.ones(2, dtype=np.intp))
    agrees(case, bound, acquisition.optimistic(pending, risk))


def test_widths_are_standard_deviations(plane):
    risk, wider = MeanStd(1.0), acquisition.optimistic(plane.core, MeanStd(1.0)).widened(1.5)
    bound = OptimisticRisk(plane.model, plane.model.noise_model, risk, beta=3.0, beta_noise=3.0)
    agrees(plane, bound, wider)
    central = RiskBound(plane.model, plane.model.noise_model, risk, z_f=0.0, z_noise=0.0)
    agrees(plane, central, acquisition.central(plane.core, risk))


def test_gradient_is_the_slope_of_the_value(plane):
    bound = OptimisticRisk(plane.model, plane.model.noise_model, Quantile(0.1))
    assert torch.autograd.gradcheck(bound, (plane.batch[4:8].clone().requires_grad_(),))


def test_any_two_models_will_do(plane):
    """Ordinary BoTorch models, as the user may have them, against the formula."""
    mean = SingleTaskGP(plane.X, plane.Y)
    scatter = (plane.Y - plane.Y.mean()).square()
    log_noise, noise = (SingleTaskGP(plane.X, t) for t in (scatter.log(), scatter))
    X = plane.batch
    f, g, v = (m.posterior(X) for m in (mean, log_noise, noise))
    ucb = f.mean + 2.0 * f.variance.sqrt()
    lcb_log = (g.mean - 2.0 * g.variance.sqrt()).exp()
    lcb = v.mean - 2.0 * v.variance.sqrt()
    assert (lcb < 0.0).any()
    same = torch.testing.assert_close
    same(OptimisticRisk(mean, log_noise, MeanVariance(0.1))(X), (ucb - 0.1 * lcb_log)[:, 0, 0])
    direct = torch.nn.Identity()
    bound = OptimisticRisk(mean, noise, MeanVariance(0.1), link=direct)
    same(bound(X), (ucb - 0.1 * lcb)[:, 0, 0])
    bound = OptimisticRisk(mean, noise, MeanStd(1.0), link=direct, min_noise_var=0.04)
    same(bound(X), (ucb - lcb.clamp_min(0.04).sqrt())[:, 0, 0])


def test_a_known_noise_is_a_deterministic_model(plane):
    bound = OptimisticRisk(
        plane.model, deterministic(torch.square), MeanStd(0.5), link=torch.nn.Identity()
    )
    f = plane.model.posterior(plane.batch)
    expected = f.mean + 2.0 * f.variance.sqrt() - 0.5 * plane.batch.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(bound(plane.batch), expected[:, 0, 0])
    assert gradient_of(bound, plane.batch).isfinite().all()


def test_a_clipped_variance_has_no_slope():
    mean, none = deterministic(lambda X: X), deterministic(lambda X: -X)
    bound = OptimisticRisk(mean, none, MeanStd(1.0), link=torch.nn.Identity())
    X = torch.rand(5, 1, 2, dtype=torch.float64)
    torch.testing.assert_close(bound(X), X.sum(-1)[:, 0])
    torch.testing.assert_close(gradient_of(bound, X), torch.ones_like(X))


def test_batches_of_any_shape(plane):
    bound = OptimisticRisk(plane.model, plane.model.noise_model, MeanVariance(0.1))
    X = torch.rand(2, 3, 1, 2, dtype=torch.float64)
    assert bound(X).shape == (2, 3)
    torch.testing.assert_close(bound(X)[1, 2], bound(X[1, 2])[0])
    assert bound(X[0, 0]).shape == (1,)
    with pytest.raises(AssertionError, match="q"):
        bound(torch.rand(4, 2, 2, dtype=torch.float64))


def test_batched_models_are_broadcast(plane):
    X, Y = plane.X[:8].expand(3, 8, 2), plane.Y[:8].expand(3, 8, 1)
    bound = OptimisticRisk(
        SingleTaskGP(X, Y + torch.arange(3.0)[:, None, None]),
        plane.model.noise_model,
        MeanVariance(0.1),
    )
    points = torch.rand(5, 1, 1, 2, dtype=torch.float64)
    assert bound(points).shape == (5, 3)
    assert gradient_of(bound, points).shape == points.shape


def test_optimize_acqf_finds_what_a_grid_finds(plane):
    bound = OptimisticRisk(plane.model, plane.model.noise_model, MeanVariance(0.1))
    unit = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    x, value = optimize_acqf(bound, unit, q=1, num_restarts=4, raw_samples=64)
    axis = torch.linspace(0.0, 1.0, 51, dtype=torch.float64)
    grid = bound(torch.cartesian_prod(axis, axis)[:, None, :]).max()
    assert value >= grid
    assert bound(x) == pytest.approx(value.item(), rel=1e-9)


def test_pending_points_are_the_core_s(case):
    pending = np.random.default_rng(1).random((3, case.Z.shape[1]))
    bound = OptimisticRisk(case.model, case.model.noise_model, MeanStd(1.0))
    before = bound(case.batch)
    bound.set_X_pending(torch.as_tensor(pending))
    with_pending = case.core.with_pending(pending, np.ones(3, dtype=np.intp))
    agrees(case, bound, acquisition.optimistic(with_pending, MeanStd(1.0)))
    assert (bound(case.batch) < before).any()
    bound.set_X_pending(None)
    torch.testing.assert_close(bound(case.batch), before)


def test_sequential_batches_heed_their_earlier_points(plane):
    bound = OptimisticRisk(plane.model, plane.model.noise_model, MeanVariance(0.1), beta=4.0)
    unit = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    X, values = optimize_acqf(bound, unit, q=3, num_restarts=2, raw_samples=32, sequential=True)
    assert torch.pdist(X).max() > 0.1
    assert bound.X_pending is None
    bound.set_X_pending(X[:2])
    assert bound(X[2:]).item() == pytest.approx(values[2].item(), rel=1e-9)


def test_pending_points_of_other_models_are_refused(plane):
    mean = SingleTaskGP(plane.X, plane.Y)
    bound = OptimisticRisk(mean, plane.model.noise_model, MeanVariance(0.1))
    with pytest.raises(SettingsError, match="with_pending"):
        bound.set_X_pending(plane.batch[0])
    bound.set_X_pending(None)
    assert bound.X_pending is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_link_stays_inside_the_range_of_floats(dtype):
    v = from_log(torch.tensor([-1e4, 0.0, 1e4], dtype=dtype))
    assert v.dtype == dtype
    assert v.isfinite().all()
    assert v[0] > 0.0
    assert v[1] == 1.0


@pytest.mark.parametrize(
    "change",
    [
        {"risk": 1.0},
        {"model": 3},
        {"noise_model": "two outputs"},
        {"beta": -1.0},
        {"beta_noise": math.nan},
        {"min_noise_var": -0.1},
        {"beta": "2"},
    ],
    ids=repr,
)
def test_bad_settings_are_refused(plane, change):
    if change.get("noise_model") == "two outputs":
        both = torch.cat([plane.Y, plane.Y], dim=-1)
        change = {"noise_model": SingleTaskGP(plane.X, both)}
    good = {
        "model": plane.model,
        "noise_model": plane.model.noise_model,
        "risk": MeanVariance(1.0),
    }
    for bound in (OptimisticRisk, PessimisticRisk):
        bound(**good)
        with pytest.raises(RahboError, match="must be"):
            bound(**(good | change))
