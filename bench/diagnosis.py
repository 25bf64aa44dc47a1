"""How often the verdicts of a diagnosis are wrong.

    python bench/diagnosis.py                     500 data sets a row, 60 where models are fitted
    python bench/diagnosis.py --sets 2000         more of them
    python bench/diagnosis.py --fits 0            only the test of uneven noise on repeats
    python bench/diagnosis.py --fits 0 --points 50 --ratio 4      on other tables

Points are scrambled Sobol points. A ratio is that of the largest to the smallest noise variance
over the space. "Told" is a permutation test of the one true direction, which no test that has to
find it can beat by much.
"""

import argparse

import numpy as np
from scipy.stats import qmc

from rahbo import MeanVariance, Optimizer
from rahbo.analysis import repeat_scatter, uneven_test
from rahbo.trials import Observations

NOISES = {
    "Gaussian": lambda rng, size: rng.standard_normal(size),
    "uniform": lambda rng, size: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size),
    "t5": lambda rng, size: rng.standard_t(5.0, size) * np.sqrt(0.6),
    "Bernoulli(0.3)": lambda rng, size: ((rng.random(size) < 0.3) - 0.3) / np.sqrt(0.21),
}
# Log noise variance as a function of the points, between 0 and 1, to be multiplied by log ratio.
SHAPES = {
    "none": lambda X: np.zeros(len(X)),
    "step": lambda X: (X[:, 0] > 0.5) * 1.0,
    "linear": lambda X: X[:, 0],
    "middle": lambda X: np.exp(-(((X[:, 0] - 0.5) / 0.2) ** 2)),
    "both ends": lambda X: 4.0 * (X[:, 0] - 0.5) ** 2,
}
COUNTS = {
    "2": lambda X: np.full(len(X), 2),
    "3": lambda X: np.full(len(X), 3),
    "5": lambda X: np.full(len(X), 5),
    "2 to 10, by an input": lambda X: 2 + (8.99 * X[:, 0]).astype(int),
    "10 at both ends, else 2": lambda X: np.where(np.abs(X[:, 0] - 0.5) > 0.3, 10, 2),
}


def table(rng, n, d, shape, noise, counts, ratio, f=None, noise_std=1.0):
    """Random observations of f, and their log noise variances."""
    X = qmc.Sobol(d, rng=rng).random_base2((n - 1).bit_length())[:n]
    g = np.log(ratio) * SHAPES[shape](X)
    mean = np.zeros(n) if f is None else f(X)
    count = COUNTS[counts](X) if isinstance(counts, str) else np.full(n, counts)
    draw = NOISES[noise]
    values = [
        m + noise_std * np.exp(0.5 * v) * draw(rng, k)
        for m, v, k in zip(mean, g, count, strict=True)
    ]
    return Observations.from_rounds(list(X), values), g


def told(scatter, g, rng, permutations=499):
    """Whether a test of the true direction finds it."""
    u, f = scatter.differences, scatter.weight * (g - g.mean())
    shuffled = rng.permuted(np.tile(u, (permutations, 1)), axis=1)
    t = np.abs(np.vstack([u, shuffled]) @ (f - f.mean()))
    return np.mean(t >= t[0]) <= 0.05


def on_repeats(sets, seed, n, d, shape, noise, counts, ratio):
    """Shares of data sets found uneven, by the test and by the one that is told."""
    rng = np.random.default_rng(seed)
    inputs = [np.array([j]) for j in range(d)]
    found = np.zeros((sets, 2), dtype=bool)
    for i in range(sets):
        observations, g = table(rng, n, d, shape, noise, counts, ratio)
        scatter = repeat_scatter(observations)
        if scatter is not None:
            found[i, 0] = uneven_test(scatter, inputs).p_value <= 0.05
            found[i, 1] = shape != "none" and told(scatter, g, rng)
    return found.mean(axis=0)


def smooth(X):
    return np.sin(3.0 * X[:, 0]) + np.cos(4.0 * X[:, 1])


def rising(X):
    return 3.0 * X[:, 0] + np.cos(4.0 * X[:, 1])


def branin(X):
    a, b = 15.0 * X[:, 0] - 5.0, 15.0 * X[:, 1]
    valley = (b - 5.1 / (4.0 * np.pi**2) * a**2 + 5.0 / np.pi * a - 6.0) ** 2
    return -(valley + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(a)) / 50.0


def on_models(sets, seed, f, n, counts, shape, ratio, noise_std):
    """Shares of each answer, and of wrong ones among the claims that risk matters."""
    rng = np.random.default_rng(seed)
    risk, square = MeanVariance(1.0), {"x1": (0.0, 1.0), "x2": (0.0, 1.0)}
    answers, wrong = [], 0
    for _ in range(sets):
        observations, _ = table(rng, n, 2, shape, "Gaussian", counts, ratio, f, noise_std)
        rows = [dict(zip(square, x, strict=True)) for x in observations.X.tolist()]
        data = [(row, observations.repeats(i)) for i, row in enumerate(rows)]
        page = Optimizer(square, risk=risk, seed=0, data=data).diagnose()
        at = (page.decision.risk_averse.params, page.decision.risk_neutral.params)
        X = np.array([list(params.values()) for params in at])
        averse, neutral = risk.value(f(X), noise_std**2 * ratio ** SHAPES[shape](X))
        wrong += page.decision.answer == "yes" and averse <= neutral
        answers.append((page.unevenness.answer, page.decision.answer, page.calibration.answer))
    return answers, wrong


def tables_of_the_test(sets, n, ratio):
    print(f"\nFalse alarms of the test at 5 % on even noise, {n} points in 3 dimensions\n")
    print("| repeats | " + " | ".join(NOISES) + " |\n|---|" + "---|" * len(NOISES))
    for counts in COUNTS:
        shares = [on_repeats(sets, 1, n, 3, "none", noise, counts, 1.0)[0] for noise in NOISES]
        print(f"| {counts} | " + " | ".join(f"{s:.3f}" for s in shares) + " |", flush=True)
    print(f"\nPower at a variance ratio of {ratio:g}, {n} points × 5 repeats: the test (told)\n")
    print("| noise variance | noise | 1 input | 2 inputs | 3 inputs | 4 inputs |")
    print("|---|---|---|---|---|---|")
    rows = [(shape, "Gaussian") for shape in SHAPES if shape != "none"]
    for shape, noise in [*rows, *(("step", noise) for noise in list(NOISES)[1:])]:
        dimensions = (1, 2, 3, 4) if noise == "Gaussian" else (1, 3)
        cells = {d: on_repeats(sets, 2, n, d, shape, noise, "5", ratio) for d in dimensions}
        text = (
            f"{c[0]:.3f} ({c[1]:.3f})" if c is not None else ""
            for c in map(cells.get, (1, 2, 3, 4))
        )
        print(f"| {shape} | {noise} | " + " | ".join(text) + " |", flush=True)


def table_of_the_page(fits):
    print("\nAnswers where models are fitted, 2 inputs, Gaussian noise, mean-variance, alpha = 1\n")
    print(
        "| f | points × repeats | noise variance | uneven: yes / no / cannot tell "
        "| risk matters: yes (wrong) / no / cannot tell | bands: calibrated / narrow / wide |"
    )
    print("|---|---|---|---|---|---|")
    for f, n, counts, shape, ratio, std in (
        (smooth, 30, 5, "none", 1.0, 0.3),
        (rising, 30, 5, "linear", 100.0, 0.2),
        (rising, 60, 5, "linear", 100.0, 0.2),
        (smooth, 60, 1, "none", 1.0, 0.3),
        (branin, 60, 1, "none", 1.0, 0.1),
        (smooth, 60, 1, "step", 10.0, 0.3),
    ):
        answers, wrong = on_models(fits, 3, f, n, counts, shape, ratio, std)
        uneven, decision, bands = (np.array(a) for a in zip(*answers, strict=True))
        u, r = (
            [np.mean(a == word) for word in ("yes", "no", "cannot tell")]
            for a in (uneven, decision)
        )
        c = [np.mean(bands == word) for word in ("calibrated", "too narrow", "too wide")]
        print(
            f"| {f.__name__} | {n} × {counts} | {shape}, ratio {ratio:g} "
            f"| {u[0]:.2f} / {u[1]:.2f} / {u[2]:.2f} "
            f"| {r[0]:.2f} ({wrong / fits:.2f}) / {r[1]:.2f} / {r[2]:.2f} "
            f"| {c[0]:.2f} / {c[1]:.2f} / {c[2]:.2f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=500, help="data sets a row of the test")
    parser.add_argument("--fits", type=int, default=60, help="data sets a row with models")
    parser.add_argument("--points", type=int, default=30, help="points of a table of the test")
    parser.add_argument("--ratio", type=float, default=4.0, help="variance ratio of its power")
    args = parser.parse_args()
    if args.sets:
        tables_of_the_test(args.sets, args.points, args.ratio)
    if args.fits:
        table_of_the_page(args.fits)


if __name__ == "__main__":
    main()
