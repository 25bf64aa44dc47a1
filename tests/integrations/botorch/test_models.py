"""The GPs as BoTorch models: the core's posteriors, BoTorch's conventions, and clear refusals."""

import copy
import pickle

import numpy as np
import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    UpperConfidenceBound,
    qKnowledgeGradient,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
)
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import ChainedInputTransform, Normalize, Round
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

from rahbo import MeanStd
from rahbo.errors import DataError, SettingsError
from rahbo.integrations.botorch import HeteroscedasticSingleTaskGP, OptimisticRisk
from rahbo.model import (
    RBF,
    DirectNoise,
    KnownNoise,
    Linear,
    LogNoise,
    Matern32,
    Matern52,
    ModelSettings,
    Raw,
)

UNIT = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
same = torch.testing.assert_close


def close(found, expected):
    if isinstance(found, torch.Tensor):
        found = found.detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def agrees(case, model=None, core=None):
    """Means, bands and noise at single points, and the joint covariance, are those of the core."""
    model, core = model or case.model, core or case.core
    posterior = model.posterior(case.batch)
    mu, sigma = core.mean.predict(case.Z)
    close((posterior.mean[:, 0, 0] - case.shift) / case.scale, mu)
    close(posterior.variance[:, 0, 0].sqrt() / case.scale, sigma)
    joint = model.posterior(torch.as_tensor(case.Z))
    close(joint.covariance_matrix / case.scale**2, core.mean.covariance(case.Z))
    noise = model.noise_model.posterior(case.batch)
    g, s = core.noise.latent(case.Z)
    link, unit = model.noise_model.link, case.scale**2
    close(link(noise.mean)[:, 0, 0] / unit, core.noise.link(g))
    upper = link(noise.mean + noise.variance.sqrt())[:, 0, 0]
    close(upper / unit, core.noise.link(g + s))


def test_posteriors_are_the_core_s(case):
    agrees(case)


def test_input_gradients_are_the_core_s(case):
    X = case.batch.clone().requires_grad_()
    posterior = case.model.posterior(X)
    noise = case.model.noise_model.posterior(X)
    outputs = (posterior.mean, posterior.variance.sqrt(), noise.mean, noise.variance.sqrt())
    found = [torch.autograd.grad(t.sum(), X, retain_graph=True)[0][:, 0] for t in outputs]
    _, _, d_mu, d_sigma = case.core.mean.predict_with_gradient(case.Z)
    _, _, d_g, d_s = case.core.noise.latent_with_gradient(case.Z)
    for slope, unit, expected in zip(
        found, (case.scale, case.scale, 1.0, 1.0), (d_mu, d_sigma, d_g, d_s), strict=True
    ):
        close(slope / unit, expected)


@pytest.mark.parametrize(
    "settings",
    [
        ModelSettings(kernel=RBF, noise=LogNoise(kernel=Matern32), lam=0.5),
        ModelSettings(kernel=Linear([1.0, 2.0], 3.0), noise=LogNoise(lam=2.0)),
        ModelSettings(noise=DirectNoise(), outputs=Raw()),
        ModelSettings(sigma_width=0.0, max_noise_var=4.0),
    ],
    ids=repr,
)
def test_other_settings(make, settings):
    repeats, seen_by_both = make
    case = seen_by_both(*repeats(2, seed=1), settings)
    agrees(case)
    pending = case.Z[:2] * 0.5
    count = np.full(2, 3)
    narrowed = case.model.with_pending(torch.as_tensor(pending), repeats=3)
    agrees(case, narrowed, case.core.with_pending(pending, count))


def test_single_evaluations_alone(make):
    """Residuals tell the noise, given enough of them."""
    repeats, seen_by_both = make
    train_X, train_Y = repeats(2, seed=5, n=40)
    rows = np.unique(train_X.numpy(), axis=0, return_index=True)[1]
    agrees(seen_by_both(train_X[rows], train_Y[rows]))


def test_little_noise_is_not_raised(make):
    """GPyTorch would round noise variances up to 1e-6."""
    repeats, seen_by_both = make
    train_X, _ = repeats(1, seed=6)
    noise = 1e-4 * torch.randn(len(train_X), 1, dtype=torch.float64)
    case = seen_by_both(train_X, torch.sin(6.0 * train_X) + noise)
    assert case.model.likelihood.noise.min() < 1e-6
    agrees(case)


def test_order_and_sign_of_zero_do_not_matter():
    train_X = torch.tensor([[0.0], [0.5], [-0.0], [1.0], [0.5]], dtype=torch.float64)
    train_Y = torch.tensor([[1.0], [2.0], [1.4], [0.0], [2.2]], dtype=torch.float64)
    model = HeteroscedasticSingleTaskGP(train_X, train_Y)
    assert len(model.train_targets) == 3
    order = torch.tensor([3, 2, 4, 0, 1])
    other = HeteroscedasticSingleTaskGP(train_X[order], train_Y[order])
    X = torch.rand(4, 1, 1, dtype=torch.float64)
    same(model.posterior(X).mean, other.posterior(X).mean, rtol=1e-4, atol=1e-4)


def test_observation_noise_is_the_learned_one(case):
    noisy = case.model.posterior(case.batch, observation_noise=True)
    plain = case.model.posterior(case.batch)
    close(noisy.mean, plain.mean.detach().numpy())
    learned = case.core.noise.variance(case.Z) * case.scale**2
    close((noisy.variance - plain.variance)[:, 0, 0], learned)
    # With as many points as there are in the data, GPyTorch would take those of the data.
    n = len(case.model.train_targets)
    joint = torch.rand(n, case.Z.shape[1], dtype=torch.float64)
    added = case.model.posterior(joint, observation_noise=True).variance
    added = added - case.model.posterior(joint).variance
    expected = case.core.noise.variance(joint.numpy())
    close(added[:, 0] / case.scale**2, expected)
    given = case.model.posterior(case.batch, observation_noise=torch.zeros(20, 1, 1).double())
    same(given.variance, plain.variance)


def test_shapes(plane):
    model = plane.model
    assert model.num_outputs == model.noise_model.num_outputs == 1
    assert model.batch_shape == torch.Size([])
    X = torch.rand(4, 5, 3, 2, dtype=torch.float64)
    for noise in (False, True):
        posterior = model.posterior(X, observation_noise=noise)
        assert posterior.mean.shape == (4, 5, 3, 1)
        assert posterior.rsample(torch.Size([7])).shape == (7, 4, 5, 3, 1)
    same(model.subset_output([0]).posterior(X).mean, model.posterior(X).mean)
    both = ModelListGP(model, model.noise_model)
    assert both.posterior(X).mean.shape == (4, 5, 3, 2)
    same(both.subset_output([1]).posterior(X).mean, model.noise_model.posterior(X).mean)


def test_conditioning_is_a_new_fit_at_the_same_hyperparameters(plane):
    """A single value at a new point, with the noise of eq. 16."""
    x = torch.tensor([[0.31, 0.62]], dtype=torch.float64)
    y = torch.tensor([[55.0]], dtype=torch.float64)
    fresh = copy.deepcopy(plane.model)
    model = fresh.condition_on_observations(x, y)
    bound = plane.core.noise.variance(x.numpy(), plane.core.beta_noise) * plane.scale**2
    before = plane.model.posterior(x)
    gain = before.variance.item() / (before.variance.item() + bound.item())
    after = model.posterior(x)
    expected = before.mean.item() + gain * (55.0 - before.mean.item())
    assert after.mean.item() == pytest.approx(expected, rel=1e-9)
    assert after.variance.item() == pytest.approx(before.variance.item() * (1.0 - gain), rel=1e-6)
    same(model.noise_model.posterior(x).mean, plane.model.noise_model.posterior(x).mean)


def test_fantasies_average_to_what_is_believed_now(plane):
    X, Z = torch.rand(2, 3, 2, dtype=torch.float64), torch.rand(2, 4, 2, dtype=torch.float64)
    sampler = SobolQMCNormalSampler(torch.Size([256]), seed=0)
    fantasies = plane.model.fantasize(X, sampler)
    posterior, now = fantasies.posterior(Z), plane.model.posterior(Z)
    assert posterior.mean.shape == (256, 2, 4, 1)
    same(posterior.mean.mean(0), now.mean, rtol=1e-3, atol=1e-3)
    total = posterior.variance[0] + posterior.mean.var(0)
    same(total, now.variance, rtol=0.05, atol=0.0)
    assert fantasies.posterior(Z, observation_noise=True).variance.shape == (256, 2, 4, 1)


@pytest.mark.parametrize("repeats", [0, 1.5, True, "2"])
def test_bad_repeats_of_pending_points(plane, repeats):
    with pytest.raises(SettingsError, match="whole number"):
        plane.model.with_pending(plane.batch[0], repeats)


def test_other_acquisitions(plane):
    model, best = plane.model, 55.0
    acquisitions = {
        UpperConfidenceBound(model, beta=4.0): 1,
        LogExpectedImprovement(model, best_f=best): 1,
        qLogExpectedImprovement(model, best_f=best): 2,
        qLogNoisyExpectedImprovement(model, X_baseline=plane.X.unique(dim=0)): 2,
        qKnowledgeGradient(model, num_fantasies=2): 1,
    }
    for acquisition, q in acquisitions.items():
        X, value = optimize_acqf(
            acquisition, UNIT, q=q, num_restarts=2, raw_samples=16, options={"maxiter": 15}
        )
        assert X.shape == (q, 2)
        assert value.isfinite()


def test_fitting_again_changes_nothing(plane):
    model = copy.deepcopy(plane.model)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    same(model.posterior(plane.batch).mean, plane.model.posterior(plane.batch).mean)
    model.train()
    same(model.posterior(plane.batch).variance, plane.model.posterior(plane.batch).variance)


def test_input_transform(plane):
    """In user units through Normalize, it is the same model; its noise model as well."""
    low, high = torch.tensor([-5.0, 100.0]).double(), torch.tensor([10.0, 300.0]).double()
    to_user = low + (high - low) * torch.cat([plane.X, plane.batch[:, 0]])
    n = len(plane.X)
    transform = Normalize(2, bounds=torch.stack([low, high]))
    model = HeteroscedasticSingleTaskGP(to_user[:n], plane.Y, input_transform=transform)
    X = to_user[n:, None, :]
    for ours, theirs in ((model, plane.model), (model.noise_model, plane.model.noise_model)):
        found, expected = ours.posterior(X), theirs.posterior(plane.batch)
        same(found.mean, expected.mean, rtol=1e-6, atol=1e-6)
        same(found.variance, expected.variance, rtol=1e-6, atol=1e-6)
    pending = model.with_pending(X[:2, 0], repeats=2)
    expected = plane.model.with_pending(plane.batch[:2, 0], repeats=2)
    same(pending.posterior(X).variance, expected.posterior(plane.batch).variance)
    sampler = SobolQMCNormalSampler(torch.Size([4]), seed=0)
    found = model.fantasize(X[:2, 0], sampler).posterior(X[:, 0])
    expected = plane.model.fantasize(plane.batch[:2, 0], sampler).posterior(plane.batch[:, 0])
    same(found.mean, expected.mean)


def test_an_input_transform_may_learn_its_bounds(make):
    """The noise model, which has fewer points, keeps the bounds of all."""
    repeats, _ = make
    train_X, train_Y = repeats(2, seed=8)
    model = HeteroscedasticSingleTaskGP(100.0 * train_X, train_Y, input_transform=Normalize(2))
    own = model.noise_model.input_transform
    same(own.bounds, model.input_transform.bounds)
    same(own.bounds, 100.0 * torch.stack([train_X.amin(0), train_X.amax(0)]))


def test_rounded_inputs_are_repeats():
    train_X = torch.rand(30, 1, dtype=torch.float64) * 4.0
    train_Y = train_X.round() + 0.1 * torch.randn(30, 1, dtype=torch.float64)
    bounds = torch.tensor([[0.0], [4.0]], dtype=torch.float64)
    unit = HeteroscedasticSingleTaskGP(
        train_X / 4.0, train_Y, input_transform=Normalize(1, bounds=bounds / 4.0)
    )
    assert len(unit.train_targets) == 30
    rounded = HeteroscedasticSingleTaskGP(
        train_X,
        train_Y,
        input_transform=ChainedInputTransform(
            a=Round(integer_indices=[0], approximate=False), b=Normalize(1, bounds=bounds)
        ),
    )
    assert len(rounded.train_targets) == len(train_X.round().unique())


# BoTorch advises against single precision whenever it is used.
@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
@pytest.mark.parametrize("default", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_precision_is_that_of_the_data(make, dtype, default):
    repeats, _ = make
    train_X, train_Y = (t.to(dtype) for t in repeats(2, seed=3))
    torch.set_default_dtype(default)
    try:
        model = HeteroscedasticSingleTaskGP(train_X, train_Y)
        X = torch.rand(6, 1, 2, dtype=dtype, requires_grad=True)
        bound = OptimisticRisk(model, model.noise_model, MeanStd(1.0))
        value = bound(X)
        gradient = torch.autograd.grad(value.sum(), X)[0]
        noisy = model.posterior(X, observation_noise=True)
        bound.set_X_pending(X[:2, 0].detach())
        outputs = (value, gradient, noisy.mean, noisy.variance, bound(X))
    finally:
        torch.set_default_dtype(torch.float32)
    assert {t.dtype for t in outputs} == {dtype}
    assert all(t.isfinite().all() for t in outputs)
    exact = HeteroscedasticSingleTaskGP(train_X.double(), train_Y.double())
    expected = exact.posterior(X.double())
    tolerance = 1e-6 if dtype == torch.float64 else 5e-3
    found = model.posterior(X)
    same(found.mean.double(), expected.mean, rtol=tolerance, atol=tolerance)
    same(found.variance.double(), expected.variance, rtol=10 * tolerance, atol=tolerance)


def test_everything_moves_with_the_model(plane):
    """No tensor is left behind on a device, or in a precision."""
    moved = copy.deepcopy(plane.model).to("meta")
    for model in (moved, moved.noise_model):
        tensors = [*model.parameters(), *model.buffers(), *model.train_inputs]
        tensors += [model.train_targets, model.likelihood.noise]
        assert {t.device.type for t in tensors} == {"meta"}
        held = [v for m in model.modules() for v in vars(m).values()]
        assert all(v.device.type == "meta" for v in held if isinstance(v, torch.Tensor))


def test_copies_and_pickles(plane):
    for other in (copy.deepcopy(plane.model), pickle.loads(pickle.dumps(plane.model))):
        same(other.posterior(plane.batch).mean, plane.model.posterior(plane.batch).mean)
        noise = other.posterior(plane.batch, observation_noise=True).variance
        same(noise, plane.model.posterior(plane.batch, observation_noise=True).variance)


def data(n=8, d=2):
    generator = torch.Generator().manual_seed(0)
    train_X = torch.rand(n, d, generator=generator, dtype=torch.float64).repeat(2, 1)
    return train_X, torch.rand(2 * n, 1, generator=generator, dtype=torch.float64)


def changed(t, value):
    t = t.clone()
    t[3, 0] = value
    return t


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (changed(X, np.nan), Y), r"train_X must be finite.*row 3"),
        (lambda X, Y: (X, changed(Y, np.nan)), r"train_Y must be finite.*row 3"),
        (lambda X, Y: (X, changed(Y, np.inf)), r"train_Y must be finite.*row 3"),
        (lambda X, Y: (X, Y[:, 0]), "one row per evaluation"),
        (lambda X, Y: (X, Y[1:]), "one row per evaluation"),
        (lambda X, Y: (X[0], Y), "one row per evaluation"),
        (lambda X, Y: (X[:0], Y[:0]), "one row per evaluation"),
        (lambda X, Y: (X, Y.repeat(1, 2)), "ModelListGP"),
        (lambda X, Y: (X.expand(3, -1, -1), Y.expand(3, -1, -1)), "one row per evaluation"),
        (lambda X, Y: (X.numpy(), Y), "as_tensor"),
        (lambda X, Y: (X, Y.float()), "float64"),
        (lambda X, Y: (X.half(), Y.half()), "float64"),
        (lambda X, Y: (X, Y.to("meta")), "one device"),
        (lambda X, Y: (10.0 * X, Y), "unit cube"),
        (lambda X, Y: (X - 0.5, Y), "unit cube"),
        (lambda X, Y: (X[:1].repeat(5, 1), Y[:5]), "two distinct points"),
        (lambda X, Y: (X[:1], Y[:1]), "two distinct points"),
    ],
)
def test_bad_data_are_refused(change, message):
    with pytest.raises(DataError, match=message):
        HeteroscedasticSingleTaskGP(*change(*data()))


def test_single_values_leave_the_noise_open_and_the_papers_model_refuses_them():
    X, Y = (t[:5] for t in data())
    model = HeteroscedasticSingleTaskGP(X, Y)
    noise = model.noise_model.posterior(X)
    assert (noise.variance > 0.1).all()
    with pytest.raises(DataError, match="DirectNoise needs points with two values"):
        HeteroscedasticSingleTaskGP(X, Y, settings=ModelSettings(noise=DirectNoise()))


class Custom(Matern52):
    """A kernel that GPyTorch does not know."""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (ModelSettings(noise=KnownNoise(0.1)), "train_Yvar"),
        (ModelSettings(kernel=Custom), "no counterpart"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(SettingsError, match=message):
        HeteroscedasticSingleTaskGP(*data(), settings=settings)


def test_the_withdrawn_model_s_task(make):
    """Noise that grows along one input is found, where one level fits all for SingleTaskGP."""
    repeats, _ = make
    train_X, train_Y = repeats(2, seed=11, n=40)
    model = HeteroscedasticSingleTaskGP(train_X, train_Y)
    X = torch.tensor([[[0.05, 0.5]], [[0.95, 0.5]]], dtype=torch.float64)
    for m, uneven in ((model, True), (SingleTaskGP(train_X, train_Y), False)):
        added = m.posterior(X, observation_noise=True).variance - m.posterior(X).variance
        assert (added[1] > 10.0 * added[0]).item() == uneven
