"""Other libraries on the problems of bench/constraints.py, each with k repeats of a setting.

They get the means of the repeats. The constraint that they are given is the same: the outcome plus
1.645 times its noise must not exceed the limit. With one repeat nothing shows the noise, so they
constrain the outcome itself. With more, the sample standard deviation of the repeats is added. What
they report is their own best feasible trial: for Optuna the best trial that it counts as feasible,
and for BoTorch the evaluated setting with the largest posterior mean among those whose posterior
mean keeps the limit. If there is none, it is the one that violates the limit least.
"""

import warnings
from typing import Any

import numpy as np
from scipy.special import ndtri

PROBABILITY = 0.95
N_INITIAL = 10

Found = tuple[np.ndarray, list[np.ndarray], list[bool]]


class Measured:
    """The evaluations of a run."""

    def __init__(self, problem: Any, seed: int, repeats: int) -> None:
        self.problem, self.repeats = problem, repeats
        self.rng = np.random.default_rng([seed, 99])
        self.tried: list[np.ndarray] = []
        self.over: list[bool] = []

    def __call__(self, x: np.ndarray) -> tuple[float, float]:
        """Return the mean of the objective, and of what must not exceed 0."""
        pairs = [self.problem.measure(x[None], self.rng) for _ in range(self.repeats)]
        f, c = np.array(pairs).T
        self.tried += [x] * self.repeats
        self.over += list(c > self.problem.limit)
        noise = c.std(ddof=1) if self.repeats > 1 else 0.0
        return float(f.mean()), float(c.mean() + ndtri(PROBABILITY) * noise - self.problem.limit)


def by_peer(problem: Any, name: str, method: str, seed: int, evaluations: int) -> Found:
    kind, _, k = method.partition("-")
    measured = Measured(problem, seed, int(k or 1))
    run = by_botorch if kind == "botorch" else by_optuna
    best = run(problem, measured, kind, seed, evaluations // measured.repeats)
    return best[None], measured.tried, measured.over


def by_optuna(problem: Any, measured: Measured, kind: str, seed: int, n: int) -> np.ndarray:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")

    def violation(trial: Any) -> tuple[float]:
        return (trial.user_attrs["violation"],)

    make = optuna.samplers.TPESampler if kind == "tpe" else optuna.samplers.GPSampler
    sampler = make(seed=seed, constraints_func=violation)
    study = optuna.create_study(direction="maximize", sampler=sampler)

    def objective(trial: Any) -> float:
        x = np.array([trial.suggest_float(name, 0.0, 1.0) for name in problem.names])
        value, above = measured(x)
        trial.set_user_attr("violation", above)
        return value

    study.optimize(objective, n_trials=n)
    inside = [t for t in study.trials if t.user_attrs["violation"] <= 0.0]
    if inside:
        best = max(inside, key=lambda t: t.value)
    else:
        best = min(study.trials, key=lambda t: t.user_attrs["violation"])
    return np.array([best.params[name] for name in problem.names])


def by_botorch(problem: Any, measured: Measured, kind: str, seed: int, n: int) -> np.ndarray:
    import torch
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement
    from botorch.acquisition.objective import GenericMCObjective
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler
    from gpytorch.mlls import SumMarginalLogLikelihood

    warnings.simplefilter("ignore")
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    kwargs = {"dtype": torch.double}
    sobol = torch.quasirandom.SobolEngine(problem.d, scramble=True, seed=seed)
    X = sobol.draw(min(N_INITIAL, n)).to(**kwargs)
    Y = torch.tensor([measured(x.numpy()) for x in X], **kwargs)
    bounds = torch.tensor([[0.0] * problem.d, [1.0] * problem.d], **kwargs)

    def fitted() -> Any:
        parts = [
            SingleTaskGP(X, Y[:, i : i + 1], outcome_transform=Standardize(1)) for i in range(2)
        ]
        model = ModelListGP(*parts)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        return model

    while len(X) < n:
        acquisition = qLogNoisyExpectedImprovement(
            fitted(),
            X,
            sampler=SobolQMCNormalSampler(torch.Size([128]), seed=seed),
            objective=GenericMCObjective(lambda Z, X=None: Z[..., 0]),
            constraints=[lambda Z: Z[..., 1]],
            prune_baseline=True,
        )
        x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=5, raw_samples=128)
        X = torch.cat([X, x.detach()])
        Y = torch.cat([Y, torch.tensor([measured(x.detach().numpy()[0])], **kwargs)])
    mean = fitted().posterior(X).mean.detach().numpy()
    inside = mean[:, 1] <= 0.0
    best = np.argmax(np.where(inside, mean[:, 0], -np.inf)) if inside.any() else mean[:, 1].argmin()
    return X[int(best)].numpy()
