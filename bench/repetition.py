"""How often repeats that are not noise are noticed, and how often honest noise is taken for that.

    python bench/repetition.py cached              ten kinds of cached objectives (two minutes)
    python bench/repetition.py drawn               2,000 made-up runs of each shape (five minutes)
    python bench/repetition.py honest              200 real runs of each shape (half an hour)
    python bench/repetition.py tables DATA         tables such as ../shared/data/real (an hour)

Each run has 40 evaluations with the default settings unless its kind says otherwise; the tables get
100 as well. A run is counted if it says at any moment that repeats are not noise, not only at its
end. DATA holds ``NAME.npz`` files with ``X (n, d)``, ``Y (n, k)`` and ``names``. A row gives its
repeats without replacement in a random order of its own. One that is used up starts again.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import count
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np

import rahbo
from rahbo.analysis import not_noise
from rahbo.trials import Evaluation, Trial, repetition_of

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
ROWS = rahbo.Candidates([{"x": i / 9, "y": j / 9} for i in range(10) for j in range(10)])
LOOKUP = np.random.default_rng(7).standard_normal((20, 20))
Objective = Callable[..., float]
Kind = tuple[Objective, dict[str, Any]]


def mean(x: float, y: float) -> float:
    """A smooth function with a range of about 1."""
    return -((x - 0.6) ** 2) - (y - 0.2) ** 2


def of_point(x: float, y: float) -> float:
    """Noise that is seeded with the point."""
    return mean(x, y) + 0.3 * Random(repr((x, y))).gauss(0.0, 1.0)


def fixed_model(x: float, y: float) -> float:
    """The score of a model that is trained on a sample of its data with ``random_state=0``."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    target = X @ [1.0, -1.0, 0.5, 0.0] + rng.standard_normal(60)
    part = rng.permutation(60)
    train, test = part[:40], part[40:]
    ridge = X[train].T @ X[train] + 10 ** (4 * x - 2) * np.eye(4)
    residual = target[test] - (1 - 0.1 * y) * X[test] @ np.linalg.solve(
        ridge, X[train].T @ target[train]
    )
    return float(1.0 - np.var(residual) / np.var(target[test]))


def in_turn(n: int, of_points: bool = False) -> Objective:
    """Noise from a few seeds that the calls use in turn, the same for all points or not."""
    calls = count()

    def value(x: float, y: float) -> float:
        seed = next(calls) % n
        return mean(x, y) + 0.3 * Random(repr((x, y, seed)) if of_points else seed).gauss(0.0, 1.0)

    return value


def cached() -> dict[str, Kind]:
    """Return ten kinds of objectives whose repeats are not noise, with settings of the run."""
    return {
        "hash of the point": (lambda x, y: crc32(repr((x, y)).encode()) / 2**32, {}),
        "Random(repr(x))": (of_point, {}),
        "fixed seed in each call": (lambda x, y: mean(x, y) + Random(0).gauss(0.0, 0.3), {}),
        "default_rng(0) inside": (
            lambda x, y: mean(x, y) + (0.1 + x) * np.random.default_rng(0).standard_normal(), {},
        ),
        "random_state=0": (fixed_model, {}),
        "lru_cache": (lru_cache(lambda x, y: mean(x, y) + Random().gauss(0.0, 0.3)), {}),
        "look-up": (lambda x, y: float(LOOKUP[round(19 * x), round(19 * y)]), {}),
        "two seeds in turn": (in_turn(2), {}),
        "three seeds in turn": (in_turn(3), {}),
        "two seeds for each point": (in_turn(2, of_points=True), {}),
        "three seeds for each point": (in_turn(3, of_points=True), {}),
        "batches": (of_point, {"batches": True}),
        "list": (of_point, {"space": ROWS}),
    }  # fmt: skip


def honest(rng: np.random.Generator) -> dict[str, Kind]:
    """Return objectives with noise, each with settings of the run."""

    def noisy(std: float, step: float | None = None) -> Objective:
        def value(x: float, y: float) -> float:
            told = mean(x, y) + std * (0.5 + x) * rng.standard_normal()
            return float(told if step is None else round(told / step) * step)

        return value

    def chance(x: float, y: float) -> float:
        return float(np.clip(1.0 + mean(x, y), 0.02, 0.98))

    def of_fold(x: float, y: float, block: str) -> float:
        return noisy(0.1)(x, y) + 0.2 * int(block)

    return {
        "one value each": (noisy(0.2), {"repeats": 1}),
        "adaptive": (noisy(0.2), {}),
        "rounded, std of 1 step": (noisy(0.05, 0.05), {}),
        "rounded, std of 1/2 step": (noisy(0.05, 0.1), {}),
        "rounded, std of 1/3 step": (noisy(0.05, 0.15), {}),
        "score of 50 cases": (lambda x, y: rng.binomial(50, chance(x, y)) / 50, {}),
        "count": (lambda x, y: float(rng.poisson(5.0 * chance(x, y))), {}),
        "yes or no": (lambda x, y: float(rng.random() < chance(x, y)), {}),
        "mean plus or minus": (lambda x, y: mean(x, y) + 0.2 * rng.choice([-1.0, 1.0]), {}),
        "one in ten is worse": (lambda x, y: mean(x, y) - float(rng.random() < 0.1), {}),
        "quiet": (noisy(1e-3), {}),
        "quiet, three decimals": (noisy(1e-3, 1e-3), {}),
        "five folds": (noisy(0.1), {"repeats": rahbo.Folds(5)}),
        "blocks": (of_fold, {"blocks": 5}),
        "no noise in half of the space": (
            lambda x, y: mean(x, y) + (x > 0.5) * 0.2 * rng.standard_normal(), {},
        ),
    }  # fmt: skip


def noticed(objective: Objective, evaluations: int, seed: int, space: Any = None,
            batches: bool = False, **settings: Any) -> tuple[bool, bool]:  # fmt: skip
    """Return whether a run says that repeats are not noise: at any moment, and at its end."""
    said = []
    with ThreadPoolExecutor(2) as threads:
        where = {"executor": threads, "parallel": 2} if batches else {}
        result = rahbo.maximize(
            objective, SPACE if space is None else space, evaluations=evaluations, seed=seed,
            callback=lambda run: said.append(bool(not_noise(run.state))),
            verbose=False, **where, **settings,
        )  # fmt: skip
    return any(said), bool(result.recommendation.not_noise)


def drawn(objective: Objective, seed: int, repeats: Any = None, blocks: int = 0) -> bool:
    """Return whether a made-up run says at any moment that repeats are not noise.

    It has 100 evaluations and no optimiser. It begins with pairs at eight settings. Then new
    settings and repeats of the four best take turns by chance.
    """
    rng, best = np.random.default_rng([seed, 1]), list[tuple[float, int]]()
    settings, told, made = rng.random((100, 2)), list[Trial](), 0
    new, each = 0, {None: 2, 1: 1}.get(repeats, 5)
    while made < 100:
        again = new >= 8 and each < 5 and rng.random() < 0.4
        i = sorted(best)[-1 - int(rng.integers(4))][1] if again else new
        k = each if i == new < 8 or each == 5 else 1
        new += not again
        x, y = settings[i].tolist()
        named = [str(j) for j in range(k)] if blocks else []
        values = [objective(x, y, block=name) for name in named] or [
            objective(x, y) for _ in range(k)
        ]
        trial = Trial(len(told), {}, settings[i], k, "strategy", blocks=tuple(named))
        told.append(trial.with_more([Evaluation(value) for value in values]))
        best.append((values[0], i))
        made += k
        if str(repetition_of(told) or ""):
            return True
    return False


def report(name: str, found: list[tuple[bool, bool]], began: float) -> None:
    """Print one line of the result."""
    ever, at_end = (sum(column) for column in zip(*found, strict=True))
    took = perf_counter() - began
    print(f"{name:42} {ever:4d} {at_end:4d} of {len(found):4d} {took:6.0f} s", flush=True)


class Table:
    """A table of repeats as an objective.

    Args:
        path: The file.
        seed: Seeds the orders of the repeats.
    """

    def __init__(self, path: Path, seed: int) -> None:
        file, self.rng = np.load(path), np.random.default_rng(seed)
        self.names, self.Y = [str(name) for name in file["names"]], file["Y"].astype(float)
        self.rows = [dict(zip(self.names, row, strict=True)) for row in file["X"].tolist()]
        self.row = {tuple(row.values()): i for i, row in enumerate(self.rows)}
        self.order: dict[int, Iterator[float]] = {}

    def __call__(self, **params: float) -> float:
        """Return the next repeat of a row."""
        i = self.row[tuple(params[name] for name in self.names)]
        value = next(self.order[i], math.nan) if i in self.order else math.nan
        if math.isnan(value):
            told = self.Y[i][np.isfinite(self.Y[i])]
            self.order[i] = iter(self.rng.permutation(told).tolist())
            value = next(self.order[i])
        return value


def main() -> None:
    """Run one part of the study and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "part", nargs="?", default="cached", choices=["cached", "drawn", "honest", "tables"]
    )
    parser.add_argument("data", nargs="?", type=Path, help="the folder with the tables")
    parser.add_argument("--runs", type=int, help="runs of each; by default 10, 2000, 200 and 20")
    parser.add_argument("--only", default="", help="only kinds or files with this in their name")
    asked = parser.parse_args()
    print(f"{'':42} ever  end")
    runs = asked.runs or {"cached": 10, "drawn": 2000, "honest": 200, "tables": 20}[asked.part]
    if asked.part == "tables":
        if asked.data is None:
            parser.error("tables needs the folder with the tables")
        for path in sorted(asked.data.glob(f"*{asked.only}*.npz")):
            for n in (40, 100):
                began, found = perf_counter(), []
                for seed in range(runs):
                    table = Table(path, seed)
                    rows = rahbo.Candidates(table.rows)
                    found.append(noticed(table, n, seed, rows, risk=rahbo.MeanStd(1.0)))
                report(f"{path.stem}, {n} evaluations", found, began)
        return
    for name in cached() if asked.part == "cached" else honest(np.random.default_rng(0)):
        if asked.only in name:
            began, found = perf_counter(), []
            for seed in range(runs):
                kinds = cached() if asked.part == "cached" else honest(np.random.default_rng(seed))
                objective, settings = kinds[name]
                if asked.part == "drawn":
                    found.append((drawn(objective, seed, **settings), False))
                    continue
                found.append(noticed(objective, 40, seed, **settings))
            report(name, found, began)


if __name__ == "__main__":
    main()
