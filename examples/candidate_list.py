"""Find the best row of a list when each sample is enough for four measurements.

    python examples/candidate_list.py

Here a formula stands for the lab. Replace `measure` by your own function: it gets a row of the list
and the number of measurements to make. The program prints the recommended row and the most
promising row that was not tried.
"""

import itertools

import numpy as np

import rahbo

SOLVENTS = ("water", "ethanol", "toluene")
ROWS = [
    {"solvent": solvent, "temperature": temperature, "load": load}
    for solvent, temperature, load in itertools.product(
        SOLVENTS, (20.0, 40.0, 60.0, 80.0), (0.5, 1.0, 2.0)
    )
]
PER_SAMPLE = 4


def measure(row: dict, n: int, rng: np.random.Generator) -> list[float]:
    """Return the yields of ``n`` runs. Toluene is best on average, and erratic when hot."""
    best = {"water": 0.50, "ethanol": 0.72, "toluene": 0.78}[row["solvent"]]
    mean = best - ((row["temperature"] - 60.0) / 80.0) ** 2 - 0.05 * (row["load"] - 1.0) ** 2
    noise_std = 0.02 + (0.004 * row["temperature"] if row["solvent"] == "toluene" else 0.0)
    return list(mean + noise_std * rng.standard_normal(n))


def main() -> None:
    """Measure 16 of the 36 samples and print which one to use."""
    rng = np.random.default_rng(0)
    lab = rahbo.Optimizer(
        rahbo.Candidates(ROWS, revisit=False),  # do not propose a sample that is used up
        risk=rahbo.MeanStd(1.0),
        repeats=PER_SAMPLE,
        seed=0,
    )
    for _ in range(16):
        suggestion = lab.ask()
        lab.tell(suggestion, measure(suggestion.params, suggestion.repeats, rng))

    print("recommended:", lab.recommend())
    print(f"{lab.observations.n} of {len(ROWS)} samples used, {lab.n_evaluations} measurements")
    untried = [row for row in ROWS if all(t.params != row for t in lab.trials)]
    promising = max(lab.predict(untried), key=lambda prediction: prediction.risk)
    print(f"\nThe most promising row not yet tried:\n{promising}")


if __name__ == "__main__":
    main()
