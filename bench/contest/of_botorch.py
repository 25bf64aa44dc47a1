"""The published recipe on BoTorch: two GPs, both refitted every step.

One GP of the sample means with the known noise s²/k, one of the s² with a noise level of its own;
Matérn 5/2 kernels with the Gamma priors that BoTorch had at the time, outcomes standardised.
Proposed: the largest mu_f + beta sigma_f - alpha (mu_v - beta sigma_v); reported: the evaluated
point with the largest mu_f - beta sigma_f - alpha (mu_v + beta sigma_v), with beta = 2.

The published code departs from its paper where it is plainly wrong, and that is not repeated: one
set of repeats serves mean and variance, the noise of a mean is s²/k and not s², beta multiplies
sigma itself, and the variance is clamped nowhere.
"""

import numpy as np
import torch
from botorch.acquisition.analytic import AnalyticAcquisitionFunction
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.models.utils.gpytorch_modules import get_matern_kernel_with_gamma_prior
from botorch.optim import optimize_acqf
from botorch.utils.transforms import t_batch_mode_transform
from gpytorch.mlls import ExactMarginalLogLikelihood

from contest.methods import Peer, Report

BETA = 2.0
NUM_RESTARTS, RAW_SAMPLES = 10, 512
# Of the variance of the sample means: what a sample variance of 0 is taken to be.
FLOOR = 1e-6


class Bound(AnalyticAcquisitionFunction):
    """mu_f + sign beta sigma_f - alpha (mu_v - sign beta sigma_v)."""

    def __init__(self, f: Model, v: Model, alpha: float, sign: float) -> None:
        super().__init__(model=f)
        self.v, self.alpha, self.width = v, alpha, sign * BETA

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: torch.Tensor) -> torch.Tensor:
        f, v = self.model.posterior(X), self.v.posterior(X)
        mean = f.mean + self.width * f.variance.clamp_min(1e-14).sqrt()
        var = v.mean - self.width * v.variance.clamp_min(1e-14).sqrt()
        return (mean - self.alpha * var).squeeze(-1).squeeze(-1)


class BoTorch(Peer):
    def __init__(self, task: str, seed: int, k: int) -> None:
        super().__init__(task, seed, k)
        self._fitted: tuple[int, Model, Model] | None = None

    def propose(self) -> np.ndarray:
        torch.manual_seed(1000 * self.seed + self.asked)
        f, v = self.models()
        bounds = torch.tensor([[0.0] * self.space.d, [1.0] * self.space.d], dtype=torch.float64)
        bound = Bound(f, v, self.risk.alpha, 1.0)
        x, _ = optimize_acqf(bound, bounds, q=1, num_restarts=NUM_RESTARTS, raw_samples=RAW_SAMPLES)
        return x.detach().numpy()[0]

    def hope(self, X: np.ndarray) -> np.ndarray:
        return self.bound(X, 1.0)

    def report(self) -> Report:
        return self.reported(int(np.argmax(self.bound(self.X, -1.0))))

    def bound(self, X: np.ndarray, sign: float) -> np.ndarray:
        f, v = self.models()
        with torch.no_grad():
            return Bound(f, v, self.risk.alpha, sign)(torch.from_numpy(X).unsqueeze(1)).numpy()

    def models(self) -> tuple[Model, Model]:
        """Both GPs, fitted once to the same data."""
        if self._fitted is None or self._fitted[0] != len(self.X):
            mean, s2 = self.Y.mean(axis=1), self.Y.var(axis=1, ddof=1)
            floor = FLOOR * max(float(mean.var()), 1e-12)
            f = self.fit(mean, np.maximum(s2 / self.k, floor))
            self._fitted = len(self.X), f, self.fit(s2, None)
        return self._fitted[1:]

    def fit(self, y: np.ndarray, var: np.ndarray | None) -> SingleTaskGP:
        columns = [None if c is None else torch.from_numpy(c).unsqueeze(-1) for c in (y, var)]
        kernel = get_matern_kernel_with_gamma_prior(self.space.d)
        model = SingleTaskGP(torch.from_numpy(self.X), *columns, covar_module=kernel)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model


METHODS = {"botorch": BoTorch}
