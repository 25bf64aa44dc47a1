"""How long a proposal takes, beside BoTorch and Optuna, with the quality of what comes out.

All libraries take turns in one process on one thread; see README.md for what each is given.

    python bench/ask.py
    python bench/ask.py --sizes 30 100 --seeds 3 --json out.json
    python bench/ask.py --quick
"""

import argparse
import io
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
import optuna

from acquisition import (
    ALPHA,
    NAMES,
    REPEATS,
    SPACE,
    BoTorch,
    Case,
    Side,
    as_data,
    contests,
    first_data,
    matern,
    measure,
    one_thread,
    table,
    timed,
)
from provenance import commit
from rahbo import Method, Optimizer
from rahbo.model import Refit
from rahbo.risk import MeanVariance

# What must hold: times as fast as the other, at a number of points.
NEED_REFIT = {30: 5.0, 100: 5.0, 300: 5.0, 1000: 5.0}
NEED_DEFAULT = {30: 15.0, 100: 15.0, 300: 12.0, 1000: 30.0}
NEED_OPTUNA = {30: 4.0, 100: 4.0, 300: 4.0, 1000: 4.0}
NEED_LIKELIHOOD = -0.01
NEED_SHORTFALL = 1e-3
NEED_MB = 150.0

REFIT, REFIT_BOTORCH = "rahbo, refit", "BoTorch, refit"
DEFAULT, DEFAULT_BOTORCH = "rahbo", "BoTorch"
OPTUNA = "Optuna"


class Rahbo(Side):
    """`Optimizer`, given the first data as past results."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, seed: int, **settings: object) -> None:
        self.optimizer = Optimizer(
            SPACE, risk=MeanVariance(ALPHA), repeats=REPEATS, seed=seed, data=as_data(X, Y),
            **settings,
        )  # fmt: skip

    def ask(self) -> np.ndarray:
        self.suggestion = self.optimizer.ask()
        return np.array([self.suggestion.params[name] for name in NAMES])

    def tell(self, x: np.ndarray, y: np.ndarray) -> None:
        self.optimizer.tell(self.suggestion, y)

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        model = self.optimizer.model
        belief, units = model.belief(X), model.units
        var = belief.sigma**2 + belief.noise_var
        return units.shift + units.scale * belief.mu, units.scale**2 * var


class Optuna(Side):
    """`GPSampler`, told the empirical mean-variance as its one number a trial."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, seed: int) -> None:
        sampler = optuna.samplers.GPSampler(seed=seed, deterministic_objective=False)
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        box = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in NAMES}
        for params, y in as_data(X, Y):
            trial = optuna.trial.create_trial(params=params, distributions=box, value=_value(y))
            self.study.add_trial(trial)

    def ask(self) -> np.ndarray:
        self.trial = self.study.ask()
        return np.array([self.trial.suggest_float(name, 0.0, 1.0) for name in NAMES])

    def tell(self, x: np.ndarray, y: np.ndarray) -> None:
        self.study.tell(self.trial, _value(y))


def _value(y: np.ndarray) -> float:
    return float(y.mean() - ALPHA * y.var(ddof=1))


SIDES: dict[str, Callable[[np.ndarray, np.ndarray, int], Side]] = {
    REFIT: lambda X, Y, seed: Rahbo(X, Y, seed, method=Method(refit=Refit(1.0))),
    REFIT_BOTORCH: lambda X, Y, seed: BoTorch(X, Y, seed, kernel=matern, warm=True),
    DEFAULT: Rahbo,
    DEFAULT_BOTORCH: BoTorch,
    OPTUNA: Optuna,
}


@dataclass
class Record:
    """What one side did in one run.

    Attributes:
        side: Who.
        n: Points at the start.
        seed: Of the run.
        load: Seconds to take in the first data.
        rounds: Seconds of each ask and tell.
        cpu: Seconds of processor time of the same, which a busy machine disturbs less.
        likelihood: Mean log likelihood of held-out outcomes after the last round.
    """

    side: str
    n: int
    seed: int
    load: float
    rounds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    likelihood: float | None = None


def run(n: int, seed: int, rounds: int) -> list[Record]:
    """All sides in turn, round by round, each on its own trajectory from the same data."""
    X, Y = first_data(n, seed)
    sides, records = {}, {}
    for name, make in SIDES.items():
        sides[name], load = timed(lambda make=make: make(X, Y, seed))
        records[name] = Record(name, n, seed, load)
    for i in range(rounds):
        for name in list(SIDES) if i % 2 == 0 else reversed(SIDES):
            rng = np.random.default_rng([seed, n, i])
            wall, cpu = one_round(sides[name], rng)
            records[name].rounds.append(wall)
            records[name].cpu.append(cpu)
        log(f"n = {n}, seed {seed}, round {i + 1}: " + ", ".join(
            f"{name} {1e3 * r.rounds[-1]:.0f} ms" for name, r in records.items()))  # fmt: skip
    rng = np.random.default_rng([seed, n, rounds, 1])
    held_out = rng.random((2000, len(NAMES)))
    y = measure(held_out, rng, repeats=1)[:, 0]
    for name, side in sides.items():
        predicted = side.predict(held_out)
        if predicted is not None:
            records[name].likelihood = log_likelihood(y, *predicted)
    return list(records.values())


def one_round(side: Side, rng: np.random.Generator) -> tuple[float, float]:
    """Wall and processor seconds of an ask and its tell, without the measurement between them."""
    cpu = time.process_time()
    x, asking = timed(side.ask)
    cpu = time.process_time() - cpu
    y = measure(x[None], rng)[0]
    cpu -= time.process_time()
    _, telling = timed(lambda: side.tell(x, y))
    return asking + telling, cpu + time.process_time()


def log_likelihood(y: np.ndarray, mu: np.ndarray, var: np.ndarray) -> float:
    """Mean of log N(y; mu, var)."""
    return float(np.mean(-0.5 * ((y - mu) ** 2 / var + np.log(2.0 * math.pi * var))))


# Run in a fresh interpreter. VmHWM rather than ru_maxrss, which a child inherits from its parent.
MEMORY_PROGRAM = """
import re, resource, sys
import rahbo
def peak():
    try:
        return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
    except OSError:
        scale = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale
before = peak()
import io
import numpy as np
told = np.load(io.BytesIO(sys.stdin.buffer.read()))
names = ["x1", "x2", "x3", "x4"]
data = [(dict(zip(names, row[:4].tolist())), row[4:]) for row in told]
opt = rahbo.Optimizer({name: (0.0, 1.0) for name in names}, seed=0, data=data)
for i in range(3):
    opt.tell(opt.ask(), told[i, 4:])
print(before, peak())
"""


def memory(n: int = 1000) -> tuple[float, float]:
    """Peak MB after `import rahbo`, and after three rounds from ``n`` points."""
    file = io.BytesIO()
    np.save(file, np.hstack(first_data(n, 0)))
    done = subprocess.run(
        [sys.executable, "-c", MEMORY_PROGRAM], input=file.getvalue(), capture_output=True,
        check=True,
    )  # fmt: skip
    before, after = map(float, done.stdout.split())
    return before, after


# -- the report ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seconds:
    """Seconds a round of one side at one size.

    Attributes:
        mean: All rounds together, divided by their number.
        median: Of the rounds.
        cpu: Processor time, mean.
        load: To take in the first data, once.
    """

    mean: float
    median: float
    cpu: float
    load: float


def seconds(records: list[Record], side: str, n: int) -> Seconds:
    mine = [r for r in records if r.side == side and r.n == n]
    wall, cpu = np.array([r.rounds for r in mine]), np.array([r.cpu for r in mine])
    return Seconds(
        mean=float(wall.mean()),
        median=float(np.median(wall)),
        cpu=float(cpu.mean()),
        load=float(np.mean([r.load for r in mine])),
    )


def speed_table(
    records: list[Record], ours: str, others: list[tuple[str, dict[int, float]]]
) -> str:
    """Time a round, and how many times as long the others take."""
    head = ["n", "rahbo, ms/round", "median round", "loading"]
    for other, _ in others:
        head += [f"{other.split(',')[0]}, ms/round", "median round", "times as long"]
        head += ["by medians", "by processor time", "needed", ""]
    lines = ["| " + " | ".join(head) + " |", "|" + "---:|" * len(head)]
    for n in sorted({r.n for r in records}):
        own = seconds(records, ours, n)
        cells = [str(n), *(f"{1e3 * s:.1f}" for s in (own.mean, own.median, own.load))]
        for other, need in others:
            s = seconds(records, other, n)
            ratio = s.mean / own.mean
            cells += [f"{1e3 * s.mean:.0f}", f"{1e3 * s.median:.0f}", f"{ratio:.1f}",
                      f"{s.median / own.median:.1f}", f"{s.cpu / own.cpu:.1f}"]  # fmt: skip
            cells += [f"{need[n]:g}", verdict(ratio >= need[n])] if n in need else ["", ""]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def likelihood_table(records: list[Record]) -> str:
    """Held-out log likelihood a point, averaged over seeds."""
    lines = [
        "| n | rahbo, refit | BoTorch, refit | difference | rahbo | BoTorch | difference "
        "| lowest of the seeds | |",
        "|" + "---:|" * 9,
    ]
    for n in sorted({r.n for r in records}):
        by_side = {
            side: np.array([r.likelihood for r in records if r.side == side and r.n == n])
            for side in (REFIT, REFIT_BOTORCH, DEFAULT, DEFAULT_BOTORCH)
        }
        refit = by_side[REFIT] - by_side[REFIT_BOTORCH]
        default = by_side[DEFAULT] - by_side[DEFAULT_BOTORCH]
        a, b, c, d = (f"{v.mean():.4f}" for v in by_side.values())
        lines.append(
            f"| {n} | {a} | {b} | {refit.mean():+.4f} | {c} | {d} | {default.mean():+.4f} "
            f"| {default.min():+.4f} | {verdict(default.mean() >= NEED_LIKELIHOOD)} |"
        )
    return "\n".join(lines)


def verdict(holds: bool) -> str:
    return "yes" if holds else "**no**"


def report(records: list[Record], cases: list[Case], peaks: tuple[float, float] | None) -> str:
    """All of it in Markdown."""
    parts = [provenance(), ""]
    if records:
        rounds, seeds = len(records[0].rounds), len({r.seed for r in records})
        parts += [
            f"{rounds} rounds from each n, seeds: {seeds}.\n",
            "### Both refit both GPs every round\n",
            speed_table(records, REFIT, [(REFIT_BOTORCH, NEED_REFIT)]),
            "\n### Each with its own defaults\n",
            speed_table(records, DEFAULT, [(DEFAULT_BOTORCH, NEED_DEFAULT), (OPTUNA, NEED_OPTUNA)]),
            "\n### Held-out log likelihood after the last round, nats a point\n",
            likelihood_table(records),
        ]
    if cases:
        worst = max(c.shortfall for c in cases)
        parts += [
            "\n### Acquisition maximum on identical fitted models\n",
            table(cases),
            f"\nWorst shortfall {worst:+.1e} of the spread, allowed {NEED_SHORTFALL:g}: "
            f"{verdict(worst <= NEED_SHORTFALL)}.",
        ]
    if peaks is not None:
        parts.append(
            f"\nPeak memory {peaks[1]:.0f} MB after 3 rounds at n = 1000, {peaks[0]:.0f} MB after "
            f"the import: {peaks[1] - peaks[0]:.0f} MB above it, allowed {NEED_MB:g}: "
            f"{verdict(peaks[1] - peaks[0] <= NEED_MB)}."
        )
    return "\n".join(parts)


def provenance() -> str:
    """Commit, versions and machine, so that a number can be traced."""
    names = ("numpy", "scipy", "torch", "gpytorch", "botorch", "optuna")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    return (
        f"Commit {commit()}; Python {platform.python_version()}, {versions}; "
        f"{cpu()}, {os.cpu_count()} cores, one thread used."
    )


def cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def log(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[30, 100, 300, 1000])
    parser.add_argument("--seeds", type=int, default=1, help="runs of each size")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--cases", type=int, default=20, help="acquisition contests")
    parser.add_argument("--quick", action="store_true", help="n = 30 and 100, 5 rounds, 4 cases")
    parser.add_argument("--json", type=Path, help="also write every number here")
    args = parser.parse_args()
    if args.quick:
        args.sizes, args.rounds, args.cases = [30, 100], 5, 4
    return args


def main() -> None:
    args = arguments()
    start = time.perf_counter()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with one_thread():
        if args.sizes:
            run(12, 0, 2)  # loads what the libraries import late
        records = [
            r for n in args.sizes for seed in range(args.seeds) for r in run(n, seed, args.rounds)
        ]
        cases = contests(args.cases)
        peaks = memory()
    print(report(records, cases, peaks))
    log(f"done in {time.perf_counter() - start:.0f} s")
    if args.json is not None:
        everything = {
            "provenance": provenance(),
            "records": [asdict(r) for r in records],
            "cases": [asdict(c) for c in cases],
            "memory_mb": peaks,
        }
        args.json.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
