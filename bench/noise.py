"""Models of the noise variance: how much of what could be known of the noise does each lose?

Points are spread over a problem's space and evaluated k times each, with noise of the problem's
variance v and of several shapes. Each model learns from the same sample variances. At fresh points
the loss of taking v' for v is the divergence of Gaussians, in nats an evaluation:
    KL = (v / v' - 1 - log(v / v')) / 2
with v' taken as a hundredth of the mean variance at least, so that no single point decides.

With one value a point, only what is left of the mean tells the noise: the whole model learns.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from provenance import commit
from rahbo import problems
from rahbo.model import (
    GP,
    DirectNoise,
    Evidence,
    Hyperparameters,
    Hyperprior,
    LogNoise,
    LogPosterior,
    ModelSettings,
    NoiseModel,
    NoisePosterior,
    SampleVariances,
    condition,
    fit,
    learn,
)
from rahbo.model.lognoise import expected_error_var, gaussian_targets
from rahbo.policy import initial_design
from rahbo.space import Space
from rahbo.trials import Observations

PROBLEMS = {
    "sine": (problems.sine, 20),
    "branin": (lambda: problems.branin(2.0), 30),
    "hartmann6": (problems.hartmann6, 60),
    "ridge10": (problems.ridge10, 60),
}
SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "Gaussian": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), shape),
    "t5": lambda rng, shape: rng.standard_t(5, shape) / np.sqrt(5.0 / 3.0),
    "two values": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
}
FRESH = 500


class GaussianLog(LogNoise):
    """Log s^2 taken as Gaussian, with the mean and variance it has under the chi-squared law."""

    takes_residuals = False

    def learn(
        self, data: SampleVariances, previous: Hyperparameters | None = None
    ) -> Hyperparameters:
        z, error_var = gaussian_targets(data)
        prior = self.hyperprior(data)
        return fit(Evidence(self.kernel, data.X, z, error_var, None, self.lam, prior), previous)

    def condition(
        self, data: SampleVariances, hyperparameters: Hyperparameters | None
    ) -> NoisePosterior:
        assert hyperparameters is not None
        z, error_var = gaussian_targets(data)
        gp = GP.condition(
            hyperparameters.kernel, data.X, z, error_var, prior_mean=hyperparameters.prior_mean
        )
        return LogPosterior(gp, expected_error_var)


class ShortLog(LogNoise):
    """As `LogNoise`, with the lengthscales of the outputs."""

    def hyperprior(self, data: SampleVariances) -> Hyperprior:
        level, weak = super().hyperprior(data), Hyperprior.weak(data.X.shape[1])
        return replace(weak, mean=level.mean, mean_var=level.mean_var)


MODELS: dict[str, NoiseModel] = {
    "log, χ²": LogNoise(),
    "log, χ², short prior": ShortLog(),
    "log, Gaussian": GaussianLog(),
    "direct": DirectNoise(),
}


def loss(problem: problems.Problem, n: int, k: int, shape: str, model: str, seed: int) -> float:
    """Nats an evaluation at fresh points, on average."""
    space = Space.of(problem.space)
    rng = np.random.default_rng([seed, k])
    X = initial_design(space, n, seed)
    rows = np.array([problem.params_to_row(space.decode(x)) for x in X])
    noise = np.sqrt(problem.noise_var(rows))[:, None] * SHAPES[shape](rng, (n, k))
    data = Observations.from_rounds(list(X), (problem.f(rows)[:, None] + noise).tolist())
    settings = ModelSettings(noise=MODELS[model])
    learned = condition(settings, data, learn(settings, data))
    fresh = space.from_uniform(rng.random((FRESH, space.n_uniform)))
    v = problem.noise_var(np.array([problem.params_to_row(space.decode(x)) for x in fresh]))
    guess = learned.noise.variance(fresh) * learned.units.scale**2
    ratio = v / np.maximum(guess, 0.01 * v.mean())
    return float(np.mean(ratio - 1.0 - np.log(ratio)) / 2.0)


def table(shape: str, repeats: list[int], seeds: int) -> None:
    """One row a problem and number of repeats, one column a model."""
    print(f"\n{shape} noise:\n")
    print("| problem | points × repeats |", " | ".join(MODELS), "|")
    print("| --- | --- |", " | ".join(["---:"] * len(MODELS)), "|")
    for name, (make, n) in PROBLEMS.items():
        problem = make()
        for k in repeats:
            cells = []
            for model in MODELS:
                if k == 1 and not MODELS[model].takes_residuals:
                    cells.append("")
                    continue
                found = [loss(problem, n, k, shape, model, seed) for seed in range(seeds)]
                error = 2.0 * np.std(found, ddof=1) / np.sqrt(seeds)
                cells.append(f"{np.mean(found):.3f} ± {error:.3f}")
            print(f"| {name} | {n} × {k} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--repeats", type=int, nargs="+", default=[1, 2, 5, 10])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    arguments = parser.parse_args()
    print(f"commit {commit()}, {arguments.seeds} seeds; nats an evaluation ± 2 standard errors")
    for shape in arguments.shapes:
        table(shape, arguments.repeats, arguments.seeds)
