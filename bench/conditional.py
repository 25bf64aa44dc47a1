"""Conditional Optuna studies: is the recommended trial whole, and how good is it in truth?

    python bench/conditional.py --seeds 20

A study chooses between "svm", with C, and "rf", with depth; the means are at best 0.95 and 0.90.
Prints, for each sampler and noise, how often the recommendation is a whole trial, and the average
shortfall of the true mean of the recommended trial and of the luckiest one from the best.
"""

from __future__ import annotations

import argparse

import numpy as np
import optuna

import rahbo
from rahbo.integrations.optuna import recommend

SAMPLERS = {"random": optuna.samplers.RandomSampler, "tpe": optuna.samplers.TPESampler}


def truth(params: dict) -> float:
    """The mean of a whole setting."""
    if params["model"] == "svm":
        return 0.95 - 0.03 * np.log10(params["C"]) ** 2
    return 0.90 - 0.01 * ((params["depth"] - 6) / 3) ** 2


def study_of(sampler: str, noise: float, trials: int, seed: int) -> optuna.Study:
    """A study with so many trials."""
    rng = np.random.default_rng(seed)

    def objective(trial: optuna.Trial) -> float:
        params = {"model": trial.suggest_categorical("model", ["svm", "rf"])}
        if params["model"] == "svm":
            params["C"] = trial.suggest_float("C", 1e-3, 1e3, log=True)
        else:
            params["depth"] = trial.suggest_int("depth", 1, 15)
        return truth(params) + noise * rng.standard_normal()

    study = optuna.create_study(
        study_name=f"study {seed}", direction="maximize", sampler=SAMPLERS[sampler](seed=seed)
    )
    study.optimize(objective, n_trials=trials)
    return study


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=100)
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    print(
        "| sampler | noise std | whole | an svm | mean in interval | shortfall | of the luckiest |"
    )
    for sampler in SAMPLERS:
        for noise in (0.01, 0.03, 0.1):
            rows = []
            for seed in range(options.seeds):
                study = study_of(sampler, noise, options.trials, seed)
                best = recommend(study, risk=rahbo.MeanStd(1.0))
                mean = truth(best.params) if len(best.params) == 2 else np.nan
                within = best.mean_interval.lower <= mean <= best.mean_interval.upper
                whole = best.params in [trial.params for trial in study.trials]
                svm = best.params["model"] == "svm"
                rows.append((whole, svm, within, 0.95 - mean, 0.95 - truth(study.best_params)))
            shares = [f"{total:.0f}" for total in np.sum(rows, axis=0)[:3]]
            losses = [f"{loss:.4f}" for loss in np.mean(rows, axis=0)[3:]]
            print(f"| {sampler} | {noise} | {' | '.join([*shares, *losses])} |", flush=True)


if __name__ == "__main__":
    main()
