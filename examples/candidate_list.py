"""A lab that can only make what is on its list, with enough of each sample for four measurements.

    python examples/candidate_list.py

Here a formula stands for the lab. Replace `measure` by your own: it gets a row of the list and
how many measurements to make.
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
    """The yields of ``n`` runs: toluene is best on average, and erratic when hot."""
    best = {"water": 0.50, "ethanol": 0.72, "toluene": 0.78}[row["solvent"]]
    mean = best - ((row["temperature"] - 60.0) / 80.0) ** 2 - 0.05 * (row["load"] - 1.0) ** 2
    noise_std = 0.02 + (0.004 * row["temperature"] if row["solvent"] == "toluene" else 0.0)
    return list(mean + noise_std * rng.standard_normal(n))


def main() -> None:
    """Ask for samples, measure them, print what to use."""
    rng = np.random.default_rng(0)
    lab = rahbo.Optimizer(
        rahbo.Candidates(ROWS, revisit=False),  # a sample that is used up is not asked for again
        risk=rahbo.MeanStd(1.0),
        repeats=PER_SAMPLE,
        seed=0,
    )
    for _ in range(16):  # of 36 rows
        suggestion = lab.ask()
        lab.tell(suggestion, measure(suggestion.params, suggestion.repeats, rng))

    print("recommended:", lab.recommend())
    print(f"{lab.observations.n} of {len(ROWS)} samples used, {lab.n_evaluations} measurements")
    untried = [row for row in ROWS if all(t.params != row for t in lab.trials)]
    promising = max(lab.predict(untried), key=lambda prediction: prediction.risk)
    print(f"\nThe most promising row not yet tried:\n{promising}")


if __name__ == "__main__":
    main()
