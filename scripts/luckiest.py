"""Draw why the luckiest trial is the wrong answer, and count how often it is.

    python scripts/luckiest.py --out docs/figures/luckiest.png

A table of 100 trials of the sine problem at random points, one number each. From the same table
two answers: the trial with the largest number, and what rahbo recommends. Draws one table and
prints the averages over several. `rahbo demo` does the same for a run of rahbo.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import rahbo
from rahbo.numerics import Array
from rahbo.plots import figure_of_promises, styled
from rahbo.problems import Promise, sine

PROBLEM, TRIALS, NOISY_FROM = sine(), 100, 1.0


def table(seed: int) -> tuple[Array, Array]:
    """Points ``(n,)`` and one value at each ``(n,)``."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 2.0, TRIALS)
    return x, np.array([PROBLEM.sample({"x": float(at)}, rng) for at in x])


def answers(x: Array, y: Array) -> tuple[Promise, Promise]:
    """The luckiest trial, and the recommendation from the same table."""
    data = [({"x": float(at)}, float(value)) for at, value in zip(x, y, strict=True)]
    best = rahbo.Optimizer(PROBLEM.space, data=data, seed=0).recommend()
    return (
        Promise.of(PROBLEM, x[np.argmax(y)], y.max()),
        Promise.of(PROBLEM, best.params["x"], best.mean),
    )


def count(seeds: int) -> str:
    """Averages over tables, as the rows of a Markdown table."""
    pairs = [answers(*table(seed)) for seed in range(seeds)]
    lines = []
    for name, found in zip(
        ("luckiest trial", "recommended"), zip(*pairs, strict=True), strict=True
    ):
        noisy = sum(answer.x > NOISY_FROM for answer in found)
        promised, mean, std = (
            np.mean([getattr(answer, field) for answer in found])
            for field in ("promised", "mean", "noise_std")
        )
        lines.append(f"| {name} | {promised:.2f} | {mean:.2f} | {std:.2f} | {noisy} of {seeds} |")
    return "\n".join(lines)


def main() -> None:
    """Draw and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("luckiest.png"))
    parser.add_argument("--seed", type=int, default=0, help="of the table that is drawn")
    parser.add_argument("--seeds", type=int, default=20, help="tables to average over")
    options = parser.parse_args()
    x, y = table(options.seed)
    with styled():
        figure_of_promises(PROBLEM, x, y, *answers(x, y)).savefig(options.out)
    print("| | promised | gives on average | noise std | in the noisy half |")
    print(count(options.seeds))


if __name__ == "__main__":
    main()
