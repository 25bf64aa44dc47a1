"""The two GPs of the core as BoTorch models, learned from every repeat.

The notation is BoTorch's: ``X (..., q, d)`` are batches of q points considered jointly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import botorch
import gpytorch
import numpy as np
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import InputTransform
from botorch.models.transforms.outcome import Standardize
from gpytorch.kernels import LinearKernel, MaternKernel, RBFKernel
from gpytorch.means import ZeroMean
from gpytorch.mlls import MarginalLogLikelihood
from torch import Tensor

from rahbo.errors import DataError, SettingsError
from rahbo.integrations.botorch.acquisition import Link, from_log, like, shifted
from rahbo.model import (
    GP,
    RBF,
    DirectNoise,
    DirectPosterior,
    Kernel,
    Linear,
    LogNoise,
    LogPosterior,
    Matern32,
    Matern52,
    MeanNoiseModel,
    ModelSettings,
    condition,
    learn,
)
from rahbo.numerics import Array, is_whole, one_blas_thread
from rahbo.trials import Observations

# How far outside the unit cube a scaled input may lie because of single-precision rounding.
ROUNDING = 1e-4


class _CoreGP(SingleTaskGP):
    """A GP of the core as a BoTorch model of shift + scale times its output.

    It uses the core's hyperparameters, which must not be fitted again. Internally, its prior has
    mean 0 and variance 1, the scale that GPyTorch's absolute tolerances are meant for.
    """

    def __init__(
        self,
        gp: GP,
        train_X: Tensor,
        *,
        shift: float,
        scale: float,
        input_transform: InputTransform | None,
    ) -> None:
        spread = math.sqrt(gp.kernel.variance / gp.lam)
        residual, noise_var = gp.y - gp.prior_mean, gp.noise_var
        with botorch.settings.validate_input_scaling(False), _any_noise():
            super().__init__(
                train_X,
                like(train_X, residual / spread)[:, None],
                like(train_X, noise_var / spread**2)[:, None],
                covar_module=_covariance(gp.kernel, train_X),
                mean_module=ZeroMean(),
                outcome_transform=None,
                input_transform=input_transform,
            )
        # Set after construction, because a transform passed above would learn its own units.
        self.outcome_transform = _units(shift + scale * gp.prior_mean, scale * spread, train_X)
        # A subset of the only output is a plain copy.
        self._subset_batch_dict: dict[str, int] = {}
        self.requires_grad_(False)

    def custom_fit(self, mll: MarginalLogLikelihood, **kwargs: Any) -> MarginalLogLikelihood:
        """Do nothing: the model is already fitted, and code may still call `fit_gpytorch_mll`."""
        return mll.eval()

    def condition_on_observations(self, X: Tensor, Y: Tensor, **kwargs: Any) -> Any:
        """Return the model given outputs ``Y (..., p, 1)`` at ``X (..., p, d)``."""
        if self.prediction_strategy is None:
            # GPyTorch updates the cache of an earlier prediction, so there must be one.
            self.posterior(X)
        with _any_noise():
            return super().condition_on_observations(X, Y, **kwargs)

    def _expecting(self, X: Tensor, noise_var: Tensor) -> Any:
        """Return the model given outputs at ``X (p, d)`` that equal its present means."""
        noise = self._inner(noise_var)
        with torch.no_grad():
            return self.condition_on_observations(X, self.posterior(X).mean, noise=noise)

    def _inner(self, var: Tensor) -> Tensor:
        """Return a variance in the internal units of the model."""
        return var / self.outcome_transform.stdvs**2


class NoiseGP(_CoreGP):
    """A model of the log noise variance, or, with `DirectNoise`, of the noise variance itself.

    Attributes:
        link: Turns a prediction of this model into a noise variance.
        min_noise_var: The smallest noise variance that can be told from zero, or the one set.
    """

    def __init__(
        self,
        core: MeanNoiseModel,
        train_X: Tensor,
        input_transform: InputTransform | None,
    ) -> None:
        posterior, unit = core.noise, core.units.var_to_user(1.0)
        assert isinstance(posterior, DirectPosterior)
        log = isinstance(posterior, LogPosterior)
        shift, scale = (math.log(unit), 1.0) if log else (0.0, unit)
        super().__init__(
            posterior.gp, train_X, shift=shift, scale=scale, input_transform=input_transform
        )
        self.link: Link = from_log if log else _unchanged
        self.min_noise_var = core.min_noise_var * unit
        self._eta_var, self._eta_unit = posterior.eta_var, scale**2

    def with_pending(self, X: Tensor, repeats: int = 1) -> Any:
        """Return the model given ``repeats`` evaluations at each of ``X (p, d)``, as expected."""
        if repeats == 1:
            return self
        eta_var = float(self._eta_var(np.array([repeats]))[0]) * self._eta_unit
        return self._expecting(X, X.new_full((len(X), 1), eta_var))


class HeteroscedasticSingleTaskGP(_CoreGP):
    """A BoTorch model that learns from every repeat how noisy each point is.

    Equal rows of train_X are repeats of one point. Points may have different numbers of repeats.
    A GP on the log noise variance is learned from the scatter of the repeats, and the mean GP uses
    the noise it implies at each point (eq. 16). The constructor learns everything with rahbo's own
    core, so `fit_gpytorch_mll` does nothing.

    Inputs must lie in the unit cube; use an input_transform such as `Normalize` if they do not.
    There is no outcome_transform argument: outputs are standardised internally, and the posterior
    is in the units of train_Y.

    `posterior(X, observation_noise=True)` is the posterior of one further evaluation: it adds the
    learned noise at X. `fantasize` and `condition_on_observations` treat new outputs as single
    evaluations with the bound of eq. 16 as their noise, and do not change the noise model. If you
    pass a noise, it must be in the units of the outcome_transform, as BoTorch requires.

    Args:
        train_X: One row per evaluation, ``N x d``, float32 or float64.
        train_Y: One value per evaluation, ``N x 1``.
        settings: Settings of the two GPs; the noise must be `LogNoise` or `DirectNoise`.
        input_transform: As for any BoTorch model. It is applied as given, not learned from outputs.

    Attributes:
        noise_model: The model of the log noise variance at X, a `NoiseGP`.

    Raises:
        DataError: The data are malformed, are all at one point, or have no repeats, which
            `DirectNoise` needs.
        SettingsError: The settings do not describe a model that can be learned from data.
    """

    def __init__(
        self,
        train_X: Tensor,
        train_Y: Tensor,
        *,
        settings: ModelSettings | None = None,
        input_transform: InputTransform | None = None,
    ) -> None:
        _check_data(train_X, train_Y)
        observations = _observations(_scaled(train_X, input_transform), train_Y)
        core = _learned(observations, settings or ModelSettings())
        # The first row of train_X for each distinct point.
        first = np.unique(observations.rounds, return_index=True)[1]
        rows = {x.tobytes(): int(i) for x, i in zip(observations.X, first, strict=True)}
        units = core.units
        super().__init__(
            core.mean,
            train_X[first.tolist()],
            shift=units.shift,
            scale=units.scale,
            input_transform=input_transform,
        )
        assert core.noise.gp is not None
        of_noise = train_X[[rows[x.tobytes()] for x in core.noise.gp.X]]
        # In eval mode it does not learn new bounds from the points that have repeats.
        own_transform = None if input_transform is None else deepcopy(input_transform).eval()
        self.noise_model = NoiseGP(core, of_noise, own_transform)
        width, highest = core.settings.sigma_width, core.settings.max_noise_var
        self._noise_width = core.beta_noise if width is None else width
        self._max_noise_var = math.inf if highest is None else highest

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: Any = None,
    ) -> Any:
        """Return the joint posterior at ``X (..., q, d)``.

        The class docstring explains `observation_noise`.
        """
        if observation_noise is True:
            observation_noise = self._inner(self._noise_var(X, 0.0))
        return super().posterior(
            X,
            output_indices=output_indices,
            observation_noise=observation_noise,
            posterior_transform=posterior_transform,
        )

    def condition_on_observations(
        self, X: Tensor, Y: Tensor, noise: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """Return the model given single outputs ``Y (..., p, 1)`` at ``X (..., p, d)``."""
        if noise is None:
            noise = self._learning_noise(X).expand(Y.shape)
        return super().condition_on_observations(X, Y, noise=noise, **kwargs)

    def fantasize(
        self, X: Tensor, sampler: Any, observation_noise: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """Return models given outputs at ``X (..., p, d)`` that are drawn from the posterior."""
        if observation_noise is None:
            observation_noise = self._learning_noise(X)
        return super().fantasize(X, sampler, observation_noise, **kwargs)

    def with_pending(self, X: Tensor, repeats: int = 1) -> Any:
        """Return the model given ``repeats`` evaluations at each of ``X (p, d)``, as expected.

        The bands narrow and the means stay the same. Use it to propose more points while some are
        still being evaluated.
        """
        if not (is_whole(repeats) and repeats >= 1):
            raise SettingsError(f"repeats must be a whole number >= 1, got {repeats!r}.")
        with torch.no_grad():
            noise_var = self._noise_var(X, self._noise_width) / repeats
        pending = self._expecting(X, noise_var)
        pending.noise_model = self.noise_model.with_pending(X, repeats)
        return pending

    def _noise_var(self, X: Tensor, z: float) -> Tensor:
        """Return the noise variance ``z`` standard deviations from its centre, ``(..., q, 1)``."""
        v = self.noise_model.link(shifted(self.noise_model, X, z))
        lowest = self.noise_model.min_noise_var
        return v.clamp(lowest, max(self._max_noise_var, lowest))

    def _learning_noise(self, X: Tensor) -> Tensor:
        """Return the noise variance assumed for a single evaluation (eq. 16), in internal units."""
        return self._inner(self._noise_var(X, self._noise_width))


def _unchanged(v: Tensor) -> Tensor:
    return v


def _any_noise() -> Any:
    """Return a context in which GPyTorch does not raise small noise; the core has its own floor."""
    return gpytorch.settings.min_fixed_noise(double_value=0.0)


def _covariance(kernel: Kernel, train_X: Tensor) -> gpytorch.kernels.Kernel:
    """Return the GPyTorch kernel of a core kernel divided by its variance."""
    d, lengths = kernel.d, like(train_X, kernel.lengthscales)
    if isinstance(kernel, Linear):
        linear = LinearKernel(ard_num_dims=d).to(train_X)
        linear.variance = (1.0 / lengths**2)[None]
        return linear
    kinds: dict[type[Kernel], Callable[[], gpytorch.kernels.Kernel]] = {
        RBF: lambda: RBFKernel(ard_num_dims=d),
        Matern32: lambda: MaternKernel(nu=1.5, ard_num_dims=d),
        Matern52: lambda: MaternKernel(nu=2.5, ard_num_dims=d),
    }
    if type(kernel) not in kinds:
        raise SettingsError(
            f"The kernel must be RBF, Matern32, Matern52 or Linear, got {kernel!r}. Choose one of "
            "these, as other kernels have no counterpart in GPyTorch."
        )
    stationary = kinds[type(kernel)]().to(train_X)
    stationary.lengthscale = lengths
    return stationary


def _units(shift: float, scale: float, train_X: Tensor) -> Standardize:
    """Return the transform (y - shift) / scale."""
    transform = Standardize(m=1, min_stdv=0.0).to(train_X)
    # Two values with this standard deviation train it.
    transform(train_X.new_tensor([[0.0], [math.sqrt(2.0) * scale]]))
    transform.means.fill_(shift)
    return transform.eval()


def _check_data(train_X: object, train_Y: object) -> None:
    """Refuse data that are not one finite row and one finite value per evaluation."""
    shapes = "train_X must be an N x d and train_Y an N x 1 tensor"
    if not (isinstance(train_X, Tensor) and isinstance(train_Y, Tensor)):
        kinds = f"{type(train_X).__name__} and {type(train_Y).__name__}"
        raise DataError(f"{shapes}, got {kinds}. Convert them with torch.as_tensor().")
    sizes = f"{tuple(train_X.shape)} and {tuple(train_Y.shape)}"
    if train_X.dim() != 2 or 0 in train_X.shape or train_Y.shape != (len(train_X), 1):
        raise DataError(
            f"{shapes}, got shapes {sizes}. Pass one row per evaluation, with equal rows for the "
            "repeats of a point. For several outputs, use one model each (ModelListGP)."
        )
    if train_X.dtype != train_Y.dtype or train_X.dtype not in (torch.float32, torch.float64):
        raise DataError(
            "train_X and train_Y must both be float64 or both float32, got "
            f"{train_X.dtype} and {train_Y.dtype}. Convert them with .double()."
        )
    if train_X.device != train_Y.device:
        raise DataError(
            "train_X and train_Y must be on one device, got "
            f"{train_X.device} and {train_Y.device}. Move them with .to(device)."
        )
    for name, t in (("train_X", train_X), ("train_Y", train_Y)):
        bad = (~t.isfinite()).any(dim=-1).nonzero().flatten().tolist()
        if bad:
            raise DataError(
                f"{name} must be finite, got {t[bad[0]].tolist()} in row {bad[0]}. Leave out "
                "evaluations that failed."
            )


def _scaled(train_X: Tensor, input_transform: InputTransform | None) -> Array:
    """Return the inputs as the kernel sees them, ``(N, d)``."""
    X = train_X
    if input_transform is not None:
        with torch.no_grad():
            # In training mode a transform may learn from the inputs.
            input_transform.to(X)(X)
            X = input_transform.preprocess_transform(X)
    # Adding 0 makes -0 the same point as 0.
    cube: Array = X.detach().cpu().double().numpy() + 0.0
    low, high = float(cube.min()), float(cube.max())
    if low < -ROUNDING or high > 1.0 + ROUNDING:
        raise DataError(
            f"train_X must lie in the unit cube, got values from {low:g} to {high:g}. Pass "
            "input_transform=Normalize(d, bounds=...) from botorch.models.transforms."
        )
    return cube


def _observations(cube: Array, train_Y: Tensor) -> Observations:
    """Return all values, grouped by distinct point."""
    observations = Observations.from_rounds(list(cube), train_Y.detach().cpu().double().tolist())
    if observations.n < 2:
        raise DataError(
            f"A model needs at least two distinct points, got one with {len(cube)} values. "
            "Evaluate an initial design first."
        )
    return observations


def _learned(observations: Observations, settings: ModelSettings) -> MeanNoiseModel:
    """Return both posteriors, learned from all data at once."""
    if not isinstance(settings.noise, LogNoise | DirectNoise):
        raise SettingsError(
            f"The noise must be LogNoise() or DirectNoise(), got {settings.noise!r}. For known "
            "noise, use SingleTaskGP with train_Yvar."
        )
    if not settings.noise.takes_residuals and observations.count.max() < 2:
        raise DataError(
            f"DirectNoise needs points with two values or more, got {observations.n} points with "
            "one value each. Evaluate some of them again, best all of them, or use LogNoise()."
        )
    with one_blas_thread():
        return condition(settings, observations, learn(settings, observations))
