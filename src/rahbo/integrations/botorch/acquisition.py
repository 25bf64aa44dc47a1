"""The risk measure at the ends of the confidence intervals of any two BoTorch models.

For a risk measure R that rises with the mean and does not rise with the noise variance:
    optimistic  R(ucb_f, lcb_var)
    pessimistic R(lcb_f, ucb_var)
This is the same as in `rahbo.policy.acquisition`, but in the units of the models' outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import gpytorch
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.models.model import Model
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor
from torch.autograd.function import once_differentiable

from rahbo.errors import SettingsError
from rahbo.numerics import Array, is_finite
from rahbo.risk import RiskMeasure

Link = Callable[[Tensor], Tensor]


def from_log(g: Tensor) -> Tensor:
    """Return the noise variance exp(g), with g clamped so that the result is a finite float."""
    most = 0.9 * math.log(torch.finfo(g.dtype).max)
    return g.clamp(-most, most).exp()


def shifted(model: Model, X: Tensor, z: float) -> Tensor:
    """Return mu + z sigma at ``X (..., q, d)``, with shape ``(..., q, 1)``."""
    posterior = model.posterior(X)
    if z == 0.0:
        return posterior.mean
    # GPyTorch raises variances to 1e-10 or 1e-6, which is too large for outputs in small units.
    tiny = torch.finfo(X.dtype).tiny
    with gpytorch.settings.min_variance(float_value=tiny, double_value=tiny):
        variance = posterior.variance
    # The derivative of the root is infinite at 0, but a certain model must have a finite one.
    return posterior.mean + z * variance.clamp_min(tiny).sqrt()


def like(t: Tensor, array: Array) -> Tensor:
    """Return an array as a tensor with the dtype and device of ``t``."""
    return torch.tensor(array, dtype=t.dtype, device=t.device)


class _RiskValue(torch.autograd.Function):
    """R(f, v), with the value and the gradient computed by the risk measure itself."""

    @staticmethod
    def forward(ctx: Any, f: Tensor, v: Tensor, risk: RiskMeasure) -> Tensor:
        arrays = [t.detach().cpu().double().numpy() for t in (f, v)]
        ctx.save_for_backward(*(like(f, slope) for slope in risk.gradient(*arrays)))
        return like(f, risk.value(*arrays))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        by_f, by_v = ctx.saved_tensors
        return upstream * by_f, upstream * by_v, None


class RiskBound(AcquisitionFunction):
    """R(mu + z_f sigma, link(g + z_noise s)): the risk at one end of each confidence interval.

    It is a function of one point, ``b x 1 x d``, with first derivatives, for `optimize_acqf` and
    similar optimisers.

    Pending points, such as those of `optimize_acqf(..., q=3, sequential=True)`, count as single
    evaluations whose values are as expected, so they narrow the band of the mean. This needs a
    model that has `with_pending`, such as `HeteroscedasticSingleTaskGP`.

    Args:
        model: A model of the mean, with one output.
        noise_model: A model of the noise, with one output.
        risk: The risk measure, in the units of the model's outputs.
        z_f: The number of posterior standard deviations added to the mean.
        z_noise: The number of posterior standard deviations added to the noise prediction.
        link: Turns the noise prediction into a noise variance. Use `from_log` if the noise model
            predicts the logarithm, and `torch.nn.Identity()` if it predicts the variance itself.
            None means the noise model's own `link`, or `from_log` if it has none.
        min_noise_var: The smallest noise variance given to risk measures that need one >= 0. None
            means the noise model's own `min_noise_var`, or 0 if it has none.
    """

    def __init__(
        self,
        model: Model,
        noise_model: Model,
        risk: RiskMeasure,
        *,
        z_f: float,
        z_noise: float,
        link: Link | None = None,
        min_noise_var: float | None = None,
    ) -> None:
        super().__init__(model=_single_output("model", model))
        self.noise_model = _single_output("noise_model", noise_model)
        if not isinstance(risk, RiskMeasure):
            raise SettingsError(f"risk must be a risk measure, got {risk!r}. Try MeanStd().")
        self.risk = risk
        self.z_f, self.z_noise = _finite("z_f", z_f), _finite("z_noise", z_noise)
        own: Link = getattr(noise_model, "link", from_log)
        self.link = own if link is None else link
        if min_noise_var is None:
            min_noise_var = getattr(noise_model, "min_noise_var", 0.0)
        self.min_noise_var = _at_least_0("min_noise_var", min_noise_var)
        self._without_pending, self.X_pending = model, None

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        """Return the values ``(b,)`` at ``X (b, 1, d)``."""
        f = shifted(self.model, X, self.z_f)
        v = self.link(shifted(self.noise_model, X, self.z_noise))
        if not self.risk.allows_negative_variance:
            v = v.clamp_min(self.min_noise_var)
        f, v = torch.broadcast_tensors(f[..., 0, 0], v[..., 0, 0])
        return _RiskValue.apply(f, v, self.risk)

    def set_X_pending(self, X_pending: Tensor | None = None) -> None:  # noqa: N802
        """Set the pending points ``X_pending (p, d)``, one evaluation each; None clears them."""
        model = self._without_pending
        if X_pending is not None and not hasattr(model, "with_pending"):
            raise SettingsError(
                "Pending points need a model that has with_pending(), such as "
                f"HeteroscedasticSingleTaskGP, got {type(model).__name__}. Condition the model on "
                "them yourself, or ask for one point at a time."
            )
        super().set_X_pending(X_pending)
        pending = self.X_pending
        self.model = model if pending is None else model.with_pending(pending)


class _Band(RiskBound):
    """A bound at the upper end of the mean's band and the lower end of the noise's, or opposite."""

    end: ClassVar[float]

    def __init__(
        self,
        model: Model,
        noise_model: Model,
        risk: RiskMeasure,
        *,
        beta: float = 2.0,
        beta_noise: float = 2.0,
        **options: Any,
    ) -> None:
        z_f = self.end * _at_least_0("beta", beta)
        z_noise = -self.end * _at_least_0("beta_noise", beta_noise)
        super().__init__(model, noise_model, risk, z_f=z_f, z_noise=z_noise, **options)


class OptimisticRisk(_Band):
    """R(ucb_f, lcb_var), which RAHBO maximises (Algorithm 1, line 4).

    Args:
        model: A model of the mean, as in `RiskBound`.
        noise_model: A model of the noise, as in `RiskBound`.
        risk: The risk measure, as in `RiskBound`.
        beta: The half-width of the mean's band, in posterior standard deviations. BoTorch's beta
            is the square of this one.
        beta_noise: The half-width of the noise prediction's band, in posterior standard deviations.
        **options: `link` and `min_noise_var` of `RiskBound`.
    """

    end = 1.0


class PessimisticRisk(_Band):
    """R(lcb_f, ucb_var), which decides what RAHBO reports (Corollary 1.1).

    The arguments are those of `OptimisticRisk`.
    """

    end = -1.0


def _single_output(name: str, model: Model) -> Model:
    if not isinstance(model, Model) or model.num_outputs != 1:
        raise SettingsError(
            f"{name} must be a BoTorch model with one output, got {type(model).__name__}. Choose "
            "an output with subset_output()."
        )
    return model


def _finite(name: str, value: object) -> float:
    if not is_finite(value):
        raise SettingsError(f"{name} must be a finite number, got {value!r}.")
    return float(value)


def _at_least_0(name: str, value: object) -> float:
    number = _finite(name, value)
    if number < 0.0:
        raise SettingsError(f"{name} must be a number >= 0, got {value!r}.")
    return number
