"""Blocks: how well their effects are recovered, and how many fold evaluations they save.

    python bench/blocks.py recover --seeds 0:200
    python bench/blocks.py search --seeds 1000:1020 --out blocks.jsonl
    python bench/blocks.py report blocks.jsonl

`recover` simulates values with known effects and prints how often 90 % intervals of the std between
blocks, of the mean and of each effect contain the truth. `search` looks up every fold score in a
table, so that a run is cheap: the paper's forest table and three searches over data sets that come
with scikit-learn. `Folds(5)` evaluates each setting on all folds, `blocks=5` one fold at a time. In
tables named "shuffled" the folds of each setting are in random order, so that there are no block
effects. The regret is that of the recommended setting: the best mean over folds less alpha times
their sample variance, less its own. Develop on seeds 100 and above, judge on 1000 and above.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from time import process_time

import numpy as np

import rahbo
import rahbo.model
from rahbo.problems import forest

FOLDS, BUDGET, STEP = 5, 100, 5
# The forest with the paper's coefficient, and all tables without risk.
CASES = {
    "forest": 0.0, "digits": 0.0, "cancer": 0.0, "diabetes": 0.0, "forest alpha 20": 20.0,
    "forest shuffled": 0.0, "digits shuffled": 0.0, "cancer shuffled": 0.0,
    "diabetes shuffled": 0.0,
}  # fmt: skip


@cache
def table(name: str) -> tuple[dict, np.ndarray]:
    """The space of a table, and its scores by setting and fold."""
    first, *rest = name.split()
    if "shuffled" in rest:
        space, scores = table(first)
        return space, np.random.default_rng(0).permuted(scores, axis=-1)
    if first == "forest":
        problem = forest()
        return dict(problem.space), problem.scores
    path = Path(__file__).parent / ".tables" / f"{first}.npy"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        np.save(path, fitted(first))
    scores = np.load(path)
    sizes = zip("abc"[: scores.ndim - 1], scores.shape[:-1], strict=True)
    return {axis: rahbo.Int(0, size - 1) for axis, size in sizes}, scores


def fitted(name: str) -> np.ndarray:
    """The scores of a grid of settings on five folds, which are the last axis."""
    from sklearn import datasets
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
    from sklearn.tree import DecisionTreeClassifier

    cv = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    if name == "digits":
        X, y = (part[:600] for part in datasets.load_digits(return_X_y=True))
        shape = 12, 8, 16

        def made(i: int, j: int, k: int) -> object:
            return DecisionTreeClassifier(
                max_depth=3 + i, min_samples_leaf=1 + j, max_features=4 * (1 + k), random_state=0
            )
    elif name == "cancer":
        X, y = datasets.load_breast_cancer(return_X_y=True)
        shape = 8, 8, 10

        def made(i: int, j: int, k: int) -> object:
            return ExtraTreesClassifier(
                10, max_depth=1 + i, min_samples_leaf=1 + j, max_features=1 + k, random_state=0
            )
    else:
        X, y = datasets.load_diabetes(return_X_y=True)
        X = X / X.std(axis=0)
        cv = KFold(FOLDS, shuffle=True, random_state=0)
        shape = 40, 40

        def made(i: int, j: int) -> object:
            return KernelRidge(alpha=10 ** (0.1 * i - 2), kernel="rbf", gamma=10 ** (0.1 * j - 4))

    scores = [cross_val_score(made(*at), X, y, cv=cv) for at in np.ndindex(*shape)]
    return np.array(scores).reshape(*shape, FOLDS)


def value(scores: np.ndarray, alpha: float) -> np.ndarray:
    return scores.mean(axis=-1) - alpha * scores.var(axis=-1, ddof=1)


def search(name: str, how: str, seed: int) -> dict:
    """One run: the regret of the recommended setting after every few fold evaluations."""
    alpha, (space, scores) = CASES[name], table(name)
    settings = {"blocks": FOLDS} if how == "blocks" else {"repeats": rahbo.Folds(FOLDS)}
    opt = rahbo.Optimizer(space, risk=rahbo.MeanVariance(alpha), seed=seed, **settings)
    low = [part.low for part in space.values()]
    best, regrets, made, began = float(value(scores, alpha).max()), {}, 0, process_time()

    def at(params: dict) -> np.ndarray:
        return scores[tuple(int(params[axis]) - a for axis, a in zip(space, low, strict=True))]

    while made < BUDGET:
        s = opt.ask()
        known = at(s.params)
        opt.tell(s, [known[int(b)] for b in s.blocks] if s.blocks else known)
        due = range(made + 1, min(made + s.repeats, BUDGET) + 1)
        made += s.repeats
        if marks := [n for n in due if n % STEP == 0]:
            lost = best - float(value(at(opt.recommend().params), alpha))
            regrets |= dict.fromkeys(map(str, marks), lost)
    return {"table": name, "how": how, "seed": seed, "regrets": regrets,
            "seconds": round(process_time() - began, 2)}  # fmt: skip


def report(path: str) -> None:
    """Where blocks reach the regret that all folds have at the end, with standard errors."""
    curves = defaultdict(dict)
    for line in Path(path).read_text().splitlines():
        row = json.loads(line)
        curves[row["table"], row["how"]][row["seed"]] = row["regrets"]
    print("| table | runs | all folds, end | blocks, a third | blocks, end | reached at |")
    print("|---|---|---|---|---|---|")
    for name in CASES:
        folds, blocks = curves[name, "folds"], curves[name, "blocks"]
        seeds = sorted(folds.keys() & blocks.keys())
        if not seeds:
            continue
        marks = [str(n) for n in range(STEP, BUDGET + 1, STEP)]
        of = {how: np.array([[rows[s].get(m, np.nan) for m in marks] for s in seeds])
              for how, rows in (("folds", folds), ("blocks", blocks))}  # fmt: skip
        goal = of["folds"][:, -1].mean()
        mean = of["blocks"].mean(axis=0)
        reached = next((m for m, r in zip(marks, mean, strict=True) if r <= goal), "not")
        third = marks.index(str(BUDGET // 3 // STEP * STEP))
        cells = [said(of["folds"][:, -1]), said(of["blocks"][:, third]), said(of["blocks"][:, -1])]
        print(f"| {name} | {len(seeds)} | {' | '.join(cells)} | {reached} |")


def said(regrets: np.ndarray) -> str:
    return f"{regrets.mean():.5f} ± {regrets.std(ddof=1) / np.sqrt(len(regrets)):.5f}"


def simulated(seed: int, blocks: int, std: float, points: int, repeats: int) -> list[float]:
    """Whether 90 % intervals contain the truth: of the std, of the mean, of the effects."""
    rng = np.random.default_rng(seed)
    kernel = rahbo.model.Matern52(np.array([0.4, 0.6]), 1.0)
    X = rng.random((points + 40, 2))
    root = np.linalg.cholesky(kernel(X, X) + 1e-10 * np.eye(len(X)))
    f, b = root @ rng.normal(size=len(X)), std * rng.normal(size=blocks)
    opt = rahbo.Optimizer({"u": (0.0, 1.0), "v": (0.0, 1.0)}, seed=seed)
    settings = [{"u": float(u), "v": float(v)} for u, v in X]
    total = np.zeros(blocks)
    for i in range(points):
        j = rng.choice(blocks, repeats, replace=False)
        total[j] += 1
        noise = 0.2 * (1.0 + X[i, 0]) * rng.normal(size=repeats)
        opt.tell(settings[i], f[i] + b[j] + noise, block=j)
    # The mean is that of the average value.
    level, found = total @ b / total.sum(), opt.blocks
    low, high = found.std_interval
    mean = [p.mean_interval.lower <= t + level <= p.mean_interval.upper
            for p, t in zip(opt.predict(settings[points:]), f[points:], strict=True)]  # fmt: skip
    effects = [abs(found.effects[str(j)] - b[j] + level) <= 1.645 * found.effect_stds[str(j)]
               for j in range(blocks) if total[j]]  # fmt: skip
    return [low <= std <= high, float(np.mean(mean)), float(np.mean(effects))]


def recover(seeds: range) -> None:
    for case in ((5, 0.5, 15, 2), (5, 2.0, 15, 2), (20, 0.5, 25, 2), (5, 0.5, 40, 1)):
        rows = np.array([simulated(seed, *case) for seed in seeds], dtype=float)
        error = rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
        said = ", ".join(f"{name} {m:.3f} ± {e:.3f}" for name, m, e in zip(
            ("std", "mean", "effects"), rows.mean(axis=0), error, strict=True))  # fmt: skip
        print("{} blocks of std {}, {} points with {} values: ".format(*case) + said, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["recover", "search", "report"])
    parser.add_argument("path", nargs="?")
    parser.add_argument("--seeds", default="100:110")
    parser.add_argument("--tables", default=",".join(CASES))
    parser.add_argument("--out", default="blocks.jsonl")
    given = parser.parse_args()
    seeds = range(*map(int, given.seeds.split(":")))
    if given.what == "report":
        report(given.path or given.out)
    elif given.what == "recover":
        recover(seeds)
    else:
        with open(given.out, "a") as out:
            for seed in seeds:
                for name in given.tables.split(","):
                    for how in ("folds", "blocks"):
                        print(json.dumps(search(name, how, seed)), file=out, flush=True)


if __name__ == "__main__":
    sys.exit(main())
