"""Tune training runs that depend on their seed. Each repeat trains with another seed.

    pip install "rahbo[optuna]"
    python examples/training_seeds.py

``study.best_trial`` has the best mean over its few seeds, partly by luck. `recommend` gives a
setting that you can rely on. The program compares both on 40 new seeds.
"""

import numpy as np
import optuna

import rahbo
from rahbo.integrations.optuna import RahboSampler, recommend, repeated

optuna.logging.set_verbosity(optuna.logging.WARNING)
points = np.random.default_rng(0).uniform(-2.0, 2.0, (400, 2))
labels = np.sign(np.sin(3 * points[:, 0]) * points[:, 1])
X, n_train = np.c_[points, np.ones(400)], 100


def accuracy(rate: float, width: int, momentum: float, seed: int) -> float:
    """Train a network with one hidden layer for 100 steps and return its test accuracy."""
    rng = np.random.default_rng(seed)
    W, v = rng.normal(0, 1, (3, width)), rng.normal(0, 1, width) / np.sqrt(width)
    dW, dv = np.zeros_like(W), np.zeros_like(v)
    for _ in range(100):
        batch = rng.choice(n_train, 20, replace=False)
        H = np.tanh(X[batch] @ W)
        slope = np.tanh(H @ v) - labels[batch]
        dv = momentum * dv - rate * H.T @ slope / 20
        dW = momentum * dW - rate * X[batch].T @ (np.outer(slope, v) * (1 - H**2)) / 20
        W, v = W + dW, v + dv
    right = np.sign(np.tanh(X @ W) @ v) == labels
    return float(np.mean(right[n_train:]))


def objective(trial: optuna.Trial, seed: int) -> float:
    """Make one training run."""
    rate = trial.suggest_float("rate", 0.01, 3.0, log=True)
    width = trial.suggest_int("width", 4, 64, log=True)
    return accuracy(rate, width, trial.suggest_float("momentum", 0.0, 0.95), seed)


# Accuracies vary by a few per cent, so their variance is small and alpha must be large.
risk = rahbo.MeanVariance(alpha=10.0)
sampler = RahboSampler(risk=risk, seed=0)
study = optuna.create_study(study_name="seeds", direction="maximize", sampler=sampler)
study.optimize(repeated(objective, 4), n_trials=24)
best, reliable = study.best_trial, recommend(study, risk=risk)
for name, params, promised in (
    ("best trial", best.params, best.value),
    ("recommended", reliable.params, reliable.mean),
):
    fresh = [accuracy(**params, seed=10**6 + i) for i in range(40)]
    print(f"{name:<12} promised {promised:.3f}; 40 new seeds: {np.mean(fresh):.3f} on average, "
          f"{min(fresh):.3f} at worst")  # fmt: skip
print(reliable)
