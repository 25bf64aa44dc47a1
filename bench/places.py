"""Thousands of points: what does a summary of them lose, beside other ways to have fewer?

    python bench/places.py --sizes 3000 5000 10000 --seeds 5 --json places.jsonl
    python bench/places.py --sizes 3000 --most 1000 --noise 0.01 --exact-up-to 3000

Data are as an optimiser leaves them: a third of the points uniform, the others around four good
places, the optimum among them, at scales of 0.02 to 0.2. One point in ten has 2 to 5 values. All
ways have the same hyperparameters, learned from 600 points, or their own with --learn.

exact       all points
thinned     every k-th point
left out    the points of `places`, without the values of others
unmoved     as `places`, with values merged as they are
places      `find_places`

Columns: held-out log likelihood of single values, uniform and near the optimum; how often f near
the optimum lies in mu +- 1.645 sigma; the error (RMS) and the bias of log noise variance, uniform;
the regret of the best pessimistic bound among 4,000 candidates, as a share of optimum less median;
the share of values that are used; processor seconds of the summary and of `condition`; peak memory
of the summary. Means over seeds. In brackets, the difference to `places` over the seeds that both
have, with two standard errors.
"""

import argparse
import json
import time
import tracemalloc
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from provenance import commit
from rahbo import MeanVariance, problems
from rahbo.model import (
    Learned,
    MeanNoiseModel,
    ModelSettings,
    Places,
    condition,
    find_places,
    learn,
)
from rahbo.numerics import Array
from rahbo.policy import pessimistic, pessimistic_values
from rahbo.trials import Observations

PROBLEMS = {
    "branin": lambda: problems.branin(2.0),
    "hartmann6": problems.hartmann6,
    "ridge10": problems.ridge10,
}
RISK, SETTINGS = MeanVariance(1.0), ModelSettings()
WAYS = ("exact", "thinned", "left out", "unmoved", "places")
FRESH, CANDIDATES, LEARNED_FROM = 1500, 4000, 600


@dataclass(frozen=True)
class Case:
    """A problem with its noise variance multiplied by a factor, on the unit cube."""

    problem: problems.Problem
    factor: float

    def user(self, X: Array) -> Array:
        kinds = self.problem.space.values()
        low = np.array([kind.low for kind in kinds], dtype=float)
        return low + X * (np.array([kind.high for kind in kinds], dtype=float) - low)

    def f(self, X: Array) -> Array:
        return self.problem.f(self.user(X))

    def noise_var(self, X: Array) -> Array:
        return self.factor * self.problem.noise_var(self.user(X))

    def risk(self, X: Array) -> Array:
        return RISK.value(self.f(X), self.noise_var(X))

    def good_places(self, rng: np.random.Generator) -> Array:
        """The optimum and three good points that are not close to each other."""
        best = self.problem.optimum(RISK).params
        row = self.problem.params_to_row(best)
        low, high = self.user(np.zeros((1, len(row))))[0], self.user(np.ones((1, len(row))))[0]
        found = [(row - low) / (high - low)]
        X = rng.random((5000, len(row)))
        for x in X[np.argsort(-self.risk(X), kind="stable")]:
            if len(found) < 4 and min(np.abs(x - g).max() for g in found) > 0.15:
                found.append(x)
        return np.array(found)

    def around(self, places: Array, m: int, rng: np.random.Generator) -> Array:
        scale = np.exp(rng.uniform(np.log(0.02), np.log(0.2), (m, 1)))
        centre = places[rng.integers(len(places), size=m)]
        return np.clip(centre + scale * rng.standard_normal(centre.shape), 0.0, 1.0)

    def data(self, n: int, places: Array, rng: np.random.Generator) -> Observations:
        spread = rng.random((n // 3, places.shape[1]))
        X = rng.permutation(np.vstack([spread, self.around(places, n - n // 3, rng)]))
        count = np.where(rng.random(n) < 0.1, rng.integers(2, 6, n), 1)
        f, std = self.f(X), np.sqrt(self.noise_var(X))
        values = [f[i] + std[i] * rng.standard_normal(count[i]) for i in range(n)]
        return Observations.from_rounds(list(X), values)


def every(data: Observations, most: int) -> Places:
    """Evenly thinned points."""
    rows = np.unique(np.linspace(0, data.n - 1, most).astype(np.intp))
    place = np.full(data.n, -1, dtype=np.intp)
    place[rows] = np.arange(len(rows))
    return Places(rows, place, np.zeros(data.n))


def summary(way: str, data: Observations, learned: Learned, most: int) -> Observations:
    """The data that this way leaves."""
    if way == "exact":
        return data
    if way == "thinned":
        return every(data, most).summarise(data)
    if way == "left out":
        return find_places(replace(SETTINGS, population=10**9), data, learned, most).summarise(data)
    found = find_places(SETTINGS, data, learned, most)
    if way == "unmoved":
        found = replace(found, shift=np.zeros(data.n))
    return found.summarise(data)


def judge(case: Case, model: MeanNoiseModel, places: Array, rng: np.random.Generator) -> dict:
    """The scores of a model, with fresh points and noise from `rng`."""
    found, d = {}, places.shape[1]
    near = np.clip(places[0] + 0.06 * rng.standard_normal((FRESH, d)), 0.0, 1.0)
    for where, X in (("uniform", rng.random((FRESH, d))), ("near", near)):
        f, v, belief = case.f(X), case.noise_var(X), model.belief(X)
        y = f + np.sqrt(v) * rng.standard_normal(FRESH)
        mu, sigma = model.units.to_outcome(belief.mu), model.units.std_to_user(belief.sigma)
        noise_var = model.units.var_to_user(belief.noise_var)
        total, ratio = sigma**2 + noise_var, np.log(noise_var / v)
        log_p = -0.5 * ((y - mu) ** 2 / total + np.log(2.0 * np.pi * total))
        found[f"likelihood {where}"] = float(np.mean(log_p))
        found[f"coverage {where}"] = float(np.mean(np.abs(f - mu) < 1.645 * sigma))
        found[f"noise error {where}"] = float(np.sqrt(np.mean(ratio**2)))
        found[f"noise bias {where}"] = float(np.mean(ratio))
    X = np.vstack([rng.random((CANDIDATES // 4, d)), case.around(places, 3 * CANDIDATES // 4, rng)])
    value, uniform = case.risk(X), case.risk(rng.random((5000, d)))
    chosen = int(np.argmax(pessimistic_values(pessimistic(model, RISK), X)[2]))
    best = max(float(value.max()), float(case.risk(places[:1])[0]))
    found["regret"] = float((value.max() - value[chosen]) / (best - np.median(uniform)))
    return found


def runs(name: str, n: int, seed: int, options: argparse.Namespace) -> list[dict]:
    """One record a way."""
    case = Case(PROBLEMS[name](), options.noise)
    rng = np.random.default_rng([seed, n])
    places = case.good_places(rng)
    data = case.data(n, places, rng)
    first = learn(SETTINGS, every(data, LEARNED_FROM).summarise(data))
    found = []
    for way in options.ways:
        if way == "exact" and n > options.exact_up_to:
            continue
        start = time.process_time()
        some = summary(way, data, first, options.most)
        summed = time.process_time()
        learned = learn(SETTINGS, some, first) if options.learn else first
        fitted = time.process_time()
        model = condition(SETTINGS, some, learned)
        done = time.process_time()
        tracemalloc.start()
        summary(way, data, first, options.most)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        scores = judge(case, model, places, np.random.default_rng([seed, n, 1]))
        found.append(
            {"problem": name, "n": n, "seed": seed, "way": way, "places": some.n, **scores,
             "values": len(some.values) / len(data.values), "summary s": summed - start,
             "condition s": done - fitted, "MB": peak / 1e6}
        )  # fmt: skip
    return found


def show(records: list[dict]) -> None:
    """One row a problem, size and way."""
    cases = defaultdict(list)
    for record in records:
        cases[record["problem"], record["n"], record["way"]].append(record)
    likelihoods = ["likelihood uniform", "likelihood near"]
    others = ["coverage near", "noise error uniform", "noise bias uniform", "noise error near",
              "regret", "values", "summary s", "condition s", "MB"]  # fmt: skip
    print("| problem | n | way | seeds |", " | ".join(likelihoods + others), "|")
    print("| --- | ---: | --- | ---: |", " | ".join(["---:"] * len(likelihoods + others)), "|")
    for (problem, n, way), rows in cases.items():
        base = {r["seed"]: r for r in cases[problem, n, "places"]}
        cells = []
        for name in likelihoods:
            cell = f"{np.mean([r[name] for r in rows]):.4f}"
            gaps = [r[name] - base[r["seed"]][name] for r in rows if r["seed"] in base]
            if way != "places" and len(gaps) > 1:
                error = 2.0 * np.std(gaps, ddof=1) / np.sqrt(len(gaps))
                cell += f" ({np.mean(gaps):+.4f} ± {error:.4f})"
            cells.append(cell)
        cells += [f"{np.mean([r[name] for r in rows]):.3g}" for name in others]
        print(f"| {problem} | {n} | {way} | {len(rows)} |", " | ".join(cells), "|")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[3000, 5000, 10000])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=2000)
    parser.add_argument("--noise", type=float, default=1.0, help="multiplies the noise variance")
    parser.add_argument("--learn", action="store_true", help="learn from each summary")
    parser.add_argument("--exact-up-to", type=int, default=5000)
    parser.add_argument("--json", type=Path, help="append a line a run, and show all in the file")
    options = parser.parse_args()
    print(f"commit {commit()}, {vars(options)}\n", flush=True)
    records = []
    for n in options.sizes:
        for name in options.problems:
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                found = runs(name, n, seed, options)
                records += found
                if options.json:
                    with options.json.open("a") as file:
                        file.writelines(json.dumps(record) + "\n" for record in found)
    if options.json:
        records = [json.loads(line) for line in options.json.read_text().splitlines()]
    show(records)
