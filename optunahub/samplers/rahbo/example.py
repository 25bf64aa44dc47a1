"""Tune a noisy objective whose highest spot is erratic, and ask for a reliable one."""

from __future__ import annotations

import math
import random

import optuna
import optunahub


module = optunahub.load_module(package="samplers/rahbo")
noise = random.Random(0)


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0.0, 1.0)
    high = 3.0 * math.exp(-(((x - 0.75) / 0.15) ** 2))
    steady = 2.0 * math.exp(-(((x - 0.25) / 0.15) ** 2))
    return high + steady + (0.03 + 0.3 * high) * noise.gauss(0.0, 1.0)


risk = module.MeanVariance(alpha=4.0)
sampler = module.RahboSampler(risk=risk, seed=0)
study = optuna.create_study(direction="maximize", sampler=sampler)
study.optimize(objective, n_trials=40)

print("The luckiest trial:", study.best_params)
print(module.recommend(study, risk=risk))
