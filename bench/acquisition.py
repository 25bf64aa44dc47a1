"""The problem and the BoTorch pieces of `ask.py`, and a contest on identical fitted models.

Each case fits rahbo's two GPs, copies them into BoTorch, and lets both libraries maximise the same
acquisition. Alone, this file prints the cases:

    python bench/acquisition.py --cases 20
"""

import argparse
import math
import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from botorch.acquisition.analytic import AnalyticAcquisitionFunction
from botorch.exceptions.warnings import BotorchWarning
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.optim import optimize_acqf
from botorch.utils.transforms import t_batch_mode_transform
from gpytorch.constraints import Positive
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior
from linear_operator.utils.warnings import NumericalWarning
from optuna.exceptions import ExperimentalWarning
from scipy.special import polygamma, psi
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

from rahbo import Optimizer
from rahbo.model import GP, MeanNoiseModel
from rahbo.policy import Domain, maximise, optimistic
from rahbo.risk import MeanVariance

T = TypeVar("T")

D = 4
REPEATS = 5
ALPHA = 1.0
BETA = 1.0
NAMES = tuple(f"x{j + 1}" for j in range(D))
SPACE = dict.fromkeys(NAMES, (0.0, 1.0))
# What optimize_acqf is given in BoTorch's tutorials.
NUM_RESTARTS = 10
RAW_SAMPLES = 512

_HEIGHT = np.array([1.0, 1.2, 3.0, 3.2])
_CENTRE = 1e-4 * np.array(
    [[1312, 1696, 5569, 124], [2329, 4135, 8307, 3736], [2348, 1451, 3522, 2883],
     [4047, 8828, 8732, 5743]]
)  # fmt: skip
_SHARPNESS = np.array([[10, 3, 17, 3.5], [0.05, 10, 17, 0.1], [3, 3.5, 1.7, 10], [17, 8, 0.05, 10]])


def mean(X: np.ndarray) -> np.ndarray:
    """The Hartmann function of four inputs, to be maximised, ``(m,)`` at ``X (m, 4)``."""
    squared = np.sum(_SHARPNESS * (X[:, None, :] - _CENTRE) ** 2, axis=-1)
    return (np.exp(-squared) @ _HEIGHT - 1.1) / 0.839


def noise_var(X: np.ndarray) -> np.ndarray:
    """A step of the noise variance from 0.02 to 0.42 across ``x1 + x4 = 0.8``, ``(m,)``."""
    return 0.02 + 0.4 / (1.0 + np.exp(-6.0 * (X[:, 0] + X[:, 3] - 0.8)))


def measure(X: np.ndarray, rng: np.random.Generator, repeats: int = REPEATS) -> np.ndarray:
    """Noisy values ``(m, repeats)``."""
    noise = rng.standard_normal((len(X), repeats))
    return mean(X)[:, None] + np.sqrt(noise_var(X))[:, None] * noise


def first_data(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sobol points ``(n, 4)`` and their repeated values ``(n, REPEATS)``."""
    rng = np.random.default_rng([seed, n])
    sobol = qmc.Sobol(D, scramble=True, rng=rng)
    X = sobol.random(1 << math.ceil(math.log2(n)))[:n]
    return X, measure(X, rng)


def as_data(X: np.ndarray, Y: np.ndarray) -> list[tuple[dict[str, float], np.ndarray]]:
    """The pairs that `Optimizer` takes as past results."""
    return [(dict(zip(NAMES, x.tolist(), strict=True)), y) for x, y in zip(X, Y, strict=True)]


class OptimisticRisk(AnalyticAcquisitionFunction):
    """Algorithm 1, line 4, of a GP of f and a GP of log rho^2.

    mu_f + beta sigma_f - alpha exp(mu_g - beta sigma_g)
    """

    def __init__(self, f: Model, g: Model, alpha: float) -> None:
        super().__init__(model=f)
        self.g = g
        self.alpha = alpha

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: torch.Tensor) -> torch.Tensor:
        f, g = self.model.posterior(X), self.g.posterior(X)
        upper = f.mean + BETA * f.variance.clamp_min(1e-14).sqrt()
        lower = torch.exp(g.mean - BETA * g.variance.clamp_min(1e-14).sqrt())
        return (upper - self.alpha * lower).squeeze(-1).squeeze(-1)


def optimise(acquisition: OptimisticRisk) -> np.ndarray:
    """BoTorch's best point ``(4,)``: q = 1, its own starts, batching, stopping and retries."""
    bounds = torch.tensor([[0.0] * D, [1.0] * D], dtype=torch.float64)
    x, _ = optimize_acqf(
        acquisition, bounds, q=1, num_restarts=NUM_RESTARTS, raw_samples=RAW_SAMPLES
    )
    return x.detach().numpy()[0]


def matern() -> ScaleKernel:
    """rahbo's default kernel with rahbo's hyperpriors, in GPyTorch."""
    lengthscale = LogNormalPrior(math.log(0.2) + 0.5 * math.log(D), math.sqrt(3.0))
    return ScaleKernel(
        MaternKernel(
            nu=2.5, ard_num_dims=D, lengthscale_prior=lengthscale,
            lengthscale_constraint=Positive(initial_value=0.2 * math.sqrt(D)),
        ),
        outputscale_prior=LogNormalPrior(0.0, 1.0),
        outputscale_constraint=Positive(initial_value=1.0),
    )  # fmt: skip


class Side(ABC):
    """One library at work on the problem: `ask` and `tell` are what is timed."""

    @abstractmethod
    def ask(self) -> np.ndarray:
        """The next point ``(4,)``."""

    @abstractmethod
    def tell(self, x: np.ndarray, y: np.ndarray) -> None:
        """Take the repeats ``y (k,)`` at ``x (4,)``."""

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean and variance of one fresh outcome at ``X (m, 4)``, where the library has them."""
        return None


class BoTorch(Side):
    """Two `SingleTaskGP`: of log s^2 with its known error, then of the means with its bound.

    The statistical model is that of rahbo's default; see README.md for every choice.
    """

    def __init__(
        self, X: np.ndarray, Y: np.ndarray, seed: int, *,
        kernel: Callable[[], torch.nn.Module] | None = None, warm: bool = False,
    ) -> None:  # fmt: skip
        self.X, self.Y, self.seed = X, Y, seed
        self.kernel, self.warm = kernel, warm
        self.f: SingleTaskGP | None = None
        self.g: SingleTaskGP | None = None

    def ask(self) -> np.ndarray:
        torch.manual_seed(1000 * self.seed + len(self.X))
        self.fit()
        return optimise(OptimisticRisk(self.f, self.g, ALPHA))

    def tell(self, x: np.ndarray, y: np.ndarray) -> None:
        self.X, self.Y = np.vstack([self.X, x]), np.vstack([self.Y, y])

    def fit(self) -> None:
        X, half = torch.from_numpy(self.X), 0.5 * (REPEATS - 1)
        log_s2 = np.log(self.Y.var(axis=1, ddof=1)) - psi(half) + np.log(half)
        self.g = self._fitted(X, log_s2, np.full(len(X), polygamma(1, half)), self.g)
        with torch.no_grad():
            g = self.g.posterior(X)
            upper = torch.exp(g.mean + BETA * g.variance.sqrt())[:, 0].numpy()
        self.f = self._fitted(X, self.Y.mean(axis=1), upper / REPEATS, self.f)

    def _fitted(
        self, X: torch.Tensor, y: np.ndarray, var: np.ndarray, last: SingleTaskGP | None
    ) -> SingleTaskGP:
        columns = [torch.from_numpy(v).unsqueeze(-1) for v in (y, var)]
        model = SingleTaskGP(X, *columns, covar_module=self.kernel() if self.kernel else None)
        if self.warm and last is not None:
            model.covar_module.load_state_dict(last.covar_module.state_dict())
            model.mean_module.load_state_dict(last.mean_module.state_dict())
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.fit()
        with torch.no_grad():
            points = torch.from_numpy(X).unsqueeze(1)
            f, g = self.f.posterior(points), self.g.posterior(points)
            return f.mean.numpy().ravel(), (f.variance + torch.exp(g.mean)).numpy().ravel()


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for NumPy, SciPy and torch alike, and no warnings of the other libraries."""
    torch.set_num_threads(1)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        for category in (BotorchWarning, NumericalWarning, ExperimentalWarning):
            warnings.simplefilter("ignore", category)
        yield


@dataclass(frozen=True)
class Case:
    """One contest.

    Attributes:
        seed: Of the data.
        n: Distinct points behind the models.
        rahbo: Acquisition value at rahbo's point.
        botorch: The same function at BoTorch's point.
        spread: Largest less median value of 10,000 Sobol points.
        shortfall: By how much rahbo's value is lower, in units of the spread.
        disagreement: Largest difference of the two libraries' acquisition values at 256 points.
        rahbo_seconds: Time of rahbo's search.
        botorch_seconds: Time of BoTorch's search.
    """

    seed: int
    n: int
    rahbo: float
    botorch: float
    spread: float
    shortfall: float
    disagreement: float
    rahbo_seconds: float
    botorch_seconds: float


def contest(seed: int, n: int) -> Case:
    """Both libraries maximise the optimistic bound of the same two GPs."""
    optimizer = _begun(seed, n)
    model, observations = optimizer.model, optimizer.observations
    bound = optimistic(model, MeanVariance(ALPHA))
    other = copied(model, observations.mean)

    known = observations.X[np.argsort(-observations.mean, kind="stable")]
    domain = Domain(optimizer.settings.space, known, set())
    rng = np.random.default_rng([seed, 1])
    ours, our_seconds = timed(lambda: maximise(bound, domain, rng))
    torch.manual_seed(seed)
    theirs, their_seconds = timed(lambda: optimise(other))

    sobol = qmc.Sobol(D, scramble=True, rng=np.random.default_rng([seed, 2]))
    grid = sobol.random(1 << 14)[:10_000]
    F = np.concatenate([bound.value(piece) for piece in np.array_split(grid, 10)])
    spread = float(F.max() - np.median(F))
    with torch.no_grad():
        again = other(torch.from_numpy(grid[:256]).unsqueeze(1)).numpy()
    disagreement = float(np.abs(again - F[:256]).max())
    if disagreement > 1e-6:
        raise RuntimeError(f"The copied models differ by {disagreement:.1e}: no fair contest.")
    a, b = bound.value(np.vstack([ours, theirs])).tolist()
    return Case(seed, n, a, b, spread, (b - a) / spread, disagreement, our_seconds, their_seconds)


def _begun(seed: int, n: int) -> Optimizer:
    """A run of ``n`` points: all spread evenly, or, for odd seeds, the last 15 chosen by rahbo."""
    chosen = 15 if seed % 2 else 0
    X, Y = first_data(n - chosen, seed)
    optimizer = Optimizer(
        SPACE, risk=MeanVariance(ALPHA), repeats=REPEATS, seed=seed, data=as_data(X, Y)
    )
    rng = np.random.default_rng([seed, 3])
    for _ in range(chosen):
        suggestion = optimizer.ask()
        x = np.array([[suggestion.params[name] for name in NAMES]])
        optimizer.tell(suggestion, measure(x, rng)[0])
    return optimizer


def copied(model: MeanNoiseModel, sample_means: np.ndarray) -> OptimisticRisk:
    """The same posteriors and the same acquisition in BoTorch."""
    units, noise = model.units, model.noise.gp
    if noise is None:
        raise RuntimeError("The contest needs a learned noise model.")
    f = _copied_gp(model.mean, (sample_means - units.shift) / units.scale)
    return OptimisticRisk(f, _copied_gp(noise, noise.y), ALPHA * units.scale)


def _copied_gp(gp: GP, y: np.ndarray) -> SingleTaskGP:
    column = [torch.from_numpy(v.copy()).unsqueeze(-1) for v in (y, gp.noise_var)]
    kernel = matern()
    model = SingleTaskGP(
        torch.from_numpy(gp.X.copy()), *column, covar_module=kernel, outcome_transform=None
    )
    kernel.outputscale = gp.kernel.variance
    kernel.base_kernel.lengthscale = torch.from_numpy(gp.kernel.lengthscales)
    model.mean_module.constant = gp.prior_mean
    return model.eval()


def timed(action: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def contests(cases: int) -> list[Case]:
    """Cases of different data, from 20 to 200 points."""
    sizes = np.linspace(20, 200, cases).astype(int)
    done = []
    for seed, n in enumerate(sizes.tolist()):
        done.append(contest(seed, n))
        print(f"acquisition case {seed}, n = {n}: shortfall {done[-1].shortfall:+.1e}",
              file=sys.stderr, flush=True)  # fmt: skip
    return done


def table(cases: list[Case]) -> str:
    """The cases in Markdown."""
    lines = [
        "| case | n | value, rahbo | value, BoTorch | spread | shortfall / spread "
        "| models differ by | search, rahbo | search, BoTorch |",
        "|" + "---:|" * 9,
    ]
    lines += [
        f"| {c.seed} | {c.n} | {c.rahbo:.6f} | {c.botorch:.6f} | {c.spread:.3f} "
        f"| {c.shortfall:+.1e} | {c.disagreement:.0e} | {1e3 * c.rahbo_seconds:.0f} ms "
        f"| {1e3 * c.botorch_seconds:.0f} ms |"
        for c in cases
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20)
    with one_thread():
        print(table(contests(parser.parse_args().cases)))


if __name__ == "__main__":
    main()
