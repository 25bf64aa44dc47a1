"""Share an Optuna study between four workers. Any free worker makes the next repeat of a point.

Run it with ``pip install "rahbo[optuna]"``. The storage here is a file. A team would use a server,
such as PostgreSQL, with workers on any number of machines.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import optuna

import rahbo
from rahbo.integrations.optuna import RahboSampler, recommend

EVALUATIONS = 60
optuna.logging.set_verbosity(optuna.logging.WARNING)


def objective(trial: optuna.Trial) -> float:
    """Make one noisy measurement. The fast setting is better on average, and erratic."""
    speed = trial.suggest_float("speed", 0.0, 1.0)
    fast, slow = np.exp(-(((speed - 0.8) / 0.2) ** 2)), np.exp(-(((speed - 0.25) / 0.2) ** 2))
    noise = np.random.default_rng(trial.number).standard_normal()
    return float(fast + 0.8 * slow + (0.05 + 0.7 * fast) * noise)


def open_study(file: str) -> optuna.Study:
    """Open the shared study. The first process creates it."""
    backend = optuna.storages.journal.JournalFileBackend(file)
    return optuna.create_study(
        study_name="speed",
        storage=optuna.storages.JournalStorage(backend),
        sampler=RahboSampler(risk=rahbo.MeanVariance(1.0), repeats=3, seed=0),
        direction="maximize",
        load_if_exists=True,
    )


def main() -> None:
    """Start the workers, wait for them, and print the luckiest and the recommended setting."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "study.log")
        study = open_study(file)
        workers = [subprocess.Popen([sys.executable, __file__, file]) for _ in range(4)]
        print("workers ended with", [worker.wait() for worker in workers])
        points = Counter(trial.params["speed"] for trial in study.trials)
        print(f"{len(study.trials)} trials at {len(points)} points; luckiest:", study.best_params)
        print("recommended:", recommend(study, risk=rahbo.MeanVariance(1.0)))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        stop = optuna.study.MaxTrialsCallback(EVALUATIONS)
        open_study(sys.argv[1]).optimize(objective, callbacks=[stop])
    else:
        main()
