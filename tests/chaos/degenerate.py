"""Data sets that break naive numerics, and what a run must still do with each of them.

    python tests/chaos/degenerate.py --sets 2000              about 20 minutes on one core
    python tests/chaos/degenerate.py --first 17 --sets 1      one set again

Every number is a seed and makes one set: a space, settings, values, failures and open suggestions.
The parts are drawn one by one, so that any values meet any space and any settings. For each set a
run must propose legal points, recommend one that was told, with finite numbers, and give a report.
Warnings are errors. The only error allowed is that a list without revisits is used up.
"""

import argparse
import math
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

import rahbo
from rahbo.errors import ExhaustedError
from rahbo.model import (
    RBF,
    DirectNoise,
    KnownNoise,
    Lemma1Beta,
    Linear,
    LogNoise,
    Matern32,
    Matern52,
    Raw,
    Refit,
    Standardized,
)
from rahbo.optimizer import Optimizer
from rahbo.pages import record_of, report_page
from rahbo.policy import (
    GPUCB,
    Adaptive,
    Fixed,
    Folds,
    Rahbo,
    RahboUS,
    RandomSearch,
    Repeating,
    TopTwo,
)
from rahbo.risk import ExpectedShortfall, MeanStd, MeanVariance, Quantile
from rahbo.trials import LARGEST_VALUE

Rng = np.random.Generator


@dataclass
class Case:
    """One degenerate data set, with the parts that it was drawn from."""

    number: int
    parts: dict[str, str] = field(default_factory=dict)
    space: Any = None
    settings: dict[str, Any] = field(default_factory=dict)
    data: list[tuple[dict[str, Any], list[float]]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    pending: int = 0

    def __str__(self) -> str:
        return f"set {self.number}: " + ", ".join(f"{k} {v}" for k, v in self.parts.items())


def pick(rng: Rng, options: dict[str, Callable[[], Any]], case: Case, part: str) -> Any:
    """Return one of the options at random, and note which."""
    name = list(options)[int(rng.integers(len(options)))]
    case.parts[part] = name
    return options[name]()


# -- spaces --------------------------------------------------------------------------------------


def spaces(rng: Rng) -> dict[str, Callable[[], Any]]:
    """Return the kinds of spaces."""
    wide = int(rng.integers(2, 51))
    return {
        "one input": lambda: {"x": rahbo.Float(0.0, 1.0)},
        "two inputs": lambda: {"a": rahbo.Float(-5.0, 10.0), "b": rahbo.Float(0.0, 15.0)},
        "2 to 50 inputs": lambda: {f"x{i}": rahbo.Float(0.0, 1.0) for i in range(wide)},
        "50 inputs": lambda: {f"x{i}": rahbo.Float(0.0, 1.0) for i in range(50)},
        "log over 300 decades": lambda: {"x": rahbo.Float(1e-150, 1e150, log=True)},
        "log over all decades": lambda: {"x": rahbo.Float(1e-290, 1e290, log=True)},
        "1 ulp": lambda: {"x": rahbo.Float(1.0, math.nextafter(1.0, 2.0))},
        "1 ulp, log": lambda: {"x": rahbo.Float(1.0, math.nextafter(1.0, 2.0), log=True)},
        "few ulps and another": lambda: {
            "x": rahbo.Float(1e12, 1e12 + 1e-3), "y": rahbo.Float(-1.0, 1.0)
        },
        "tiny range": lambda: {"x": rahbo.Float(0.0, 1e-290)},
        "largest range": lambda: {"x": rahbo.Float(-1e290, 1e290)},
        "int of two": lambda: {"n": rahbo.Int(0, 1)},
        "huge int": lambda: {"n": rahbo.Int(-(10**12), 10**12)},
        "huge int, log": lambda: {"n": rahbo.Int(1, 10**12, log=True)},
        "ints": lambda: {f"n{i}": rahbo.Int(1, 3) for i in range(int(rng.integers(1, 9)))},
        "100 choices": lambda: {"c": rahbo.Categorical([f"c{i}" for i in range(100)])},
        "choices and a number": lambda: {
            "c": rahbo.Categorical(["a", "b", "c", None, 1, True]), "x": rahbo.Float(0.0, 1.0)
        },
        "10 × 10 choices": lambda: {
            f"c{i}": rahbo.Categorical(list(range(10))) for i in range(10)
        },
        "one row": lambda: rahbo.Candidates([{"x": 1.0}], revisit=bool(rng.integers(2))),
        "list": lambda: rahbo.Candidates(
            [{"x": float(i), "y": float(i * i)} for i in range(30)], revisit=bool(rng.integers(2))
        ),
        "list in 1 ulp": lambda: rahbo.Candidates(
            [{"x": 1.0 + i * 2.0**-52} for i in range(8)], revisit=bool(rng.integers(2))
        ),
        "list of choices": lambda: rahbo.Candidates(
            [{"c": f"c{i}", "k": "same"} for i in range(40)], revisit=bool(rng.integers(2))
        ),
        "mixed list": lambda: rahbo.Candidates(
            [{"c": i if i % 2 else f"c{i}", "x": i // 3} for i in range(60)],
            revisit=bool(rng.integers(2)),
        ),
        "constrained": lambda: {"x": rahbo.Float(0.0, 1.0), "y": rahbo.Float(0.0, 1.0)},
    }  # fmt: skip


def in_disc(params: dict[str, Any]) -> bool:
    """Return whether a point lies in a small disc."""
    return bool((params["x"] - 0.9) ** 2 + (params["y"] - 0.9) ** 2 < 0.1)


# -- points --------------------------------------------------------------------------------------


def points(rng: Rng, d: int) -> dict[str, Callable[[], Any]]:
    """Return the kinds of designs, as points of the unit cube ``(n, d)``."""
    n = int(rng.integers(1, 26))
    line = rng.random((n, 1))
    return {
        "one point": lambda: rng.random((1, d)),
        "two points": lambda: rng.random((2, d)),
        "anywhere": lambda: rng.random((n, d)),
        "collinear": lambda: np.clip(line * rng.random(d), 0.0, 1.0),
        "corners": lambda: np.round(rng.random((n, d))),
        "one corner": lambda: np.zeros((1, d)),
        "duplicates": lambda: rng.random((3, d))[rng.integers(3, size=n)],
        "1e-9 apart": lambda: np.clip(0.5 + 1e-9 * np.arange(n)[:, None] * np.ones(d), 0, 1),
        "1 ulp apart": lambda: 0.5 + 2.0**-53 * np.arange(n)[:, None] * np.ones(d),
        "a cluster and one far": lambda: np.vstack(
            [0.5 + 1e-6 * rng.standard_normal((n, d)), np.ones((1, d))]
        ),
        "many": lambda: rng.random((90, d)),
    }


# -- values --------------------------------------------------------------------------------------


def values(rng: Rng, n: int) -> dict[str, Callable[[], Any]]:
    """Return the kinds of values, ``(n,)``."""
    normal = rng.standard_normal(n)
    largest = LARGEST_VALUE
    outlier = np.where(np.arange(n) == int(rng.integers(n)), 1e30, normal)
    return {
        "zero": lambda: np.zeros(n),
        "constant": lambda: np.full(n, 3.7),
        "1 ulp apart": lambda: 1.0 + 2.0**-52 * rng.integers(2, size=n),
        "1 ulp apart, large": lambda: 1e15 + 0.125 * rng.integers(2, size=n),
        "smallest": lambda: 5e-324 * rng.integers(3, size=n),
        "1e-300": lambda: 1e-300 * normal,
        "1e-160": lambda: 1e-160 * normal,
        "1e-60": lambda: 1e-60 * normal,
        "1e60": lambda: np.clip(1e60 * normal, -largest, largest),
        "largest": lambda: largest * rng.choice([-1.0, 1.0], n),
        "largest, one sign": lambda: np.full(n, largest) * rng.choice([1.0, 1.0 - 2.0**-52], n),
        "offset": lambda: 1e12 + 1e-3 * normal,
        "offset 1e16": lambda: 1e16 + 2.0 * rng.integers(5, size=n),
        "heavy tails": lambda: rng.standard_cauchy(n),
        "heavier tails": lambda: np.clip(rng.standard_cauchy(n) ** 9, -largest, largest),
        "outlier": lambda: outlier,
        "two outliers": lambda: np.concatenate([[1e30, -1e30], normal])[:n],
        "all scales": lambda: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-300, 60, n),
        "binary": lambda: rng.integers(2, size=n).astype(float),
        "rounded": lambda: np.round(10.0 * normal) / 10.0,
        "ordinary": lambda: normal,
        "step": lambda: np.where(np.arange(n) < n // 2, 0.0, 1e9),
    }


def numbers(rng: Rng) -> dict[str, Callable[[], list[int]]]:
    """Return the kinds of repeat numbers: a function of the number of points is drawn later."""
    return {
        "single": lambda: [1],
        "pairs": lambda: [2],
        "five": lambda: [5],
        "one to four": lambda: [1, 4, 2, 3],
        "one with 3000": lambda: [3000] + [1] * 200,
        "one single": lambda: [1] + [3] * 200,
    }


# -- settings ------------------------------------------------------------------------------------


def settings(rng: Rng, d: int) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return the kinds of each setting; the empty name leaves the default."""
    leave: dict[str, Callable[[], Any]] = {"": lambda: ...}
    size = 10.0 ** rng.uniform(-60, 60)
    return {
        "risk": {
            "MV": lambda: MeanVariance(1.0),
            "MV 0": lambda: MeanVariance(0.0),
            "MV 1e6": lambda: MeanVariance(1e6),
            "MV 1e60": lambda: MeanVariance(1e60),
            "MV 1e-60": lambda: MeanVariance(1e-60),
            "std": lambda: MeanStd(2.0),
            "quantile": lambda: Quantile(0.05),
            "far quantile": lambda: Quantile(1e-9),
            "shortfall": lambda: ExpectedShortfall(0.1),
        },
        "strategy": leave | {
            " again": lambda: ...,
            "TopTwo": lambda: TopTwo(1.0),
            "Rahbo": Rahbo,
            "US": lambda: RahboUS(int(rng.integers(3))),
            "GPUCB": GPUCB,
            "random": RandomSearch,
        },
        "repeats": leave | {
            " again": lambda: ...,
            "1": lambda: Fixed(1),
            "3": lambda: Fixed(3),
            "folds": lambda: Folds(5),
            "adaptive": lambda: Adaptive(1, 10**4, setup=float(rng.integers(4))),
            "many": lambda: Fixed(10**4),
        },
        "noise": leave | {
            " again": lambda: ...,
            "direct": DirectNoise,
            "direct, bound": lambda: DirectNoise(max_noise_var=size, kurtosis=1.0),
            "log, RBF": lambda: LogNoise(RBF),
            "log, kernel": lambda: LogNoise(RBF(np.full(d, 0.5), 2.0), lam=0.1),
            "known": lambda: KnownNoise(1e-3),
            "known 0": lambda: KnownNoise(0.0),
            "known, sized": lambda: KnownNoise(size),
        },
        "kernel": leave | {
            " again": lambda: ...,
            "RBF": lambda: RBF,
            "Matern32": lambda: Matern32,
            "linear": lambda: Linear,
            "kernel": lambda: Matern52(np.full(d, 0.3), 1.0),
            "long kernel": lambda: RBF(np.full(d, 1e6), 1e-6),
            "short kernel": lambda: Matern52(np.full(d, 1e-9), 1e6),
        },
        "outputs": leave | {" again": lambda: ..., "raw": Raw, "standardized": Standardized},
        "beta": leave | {"0": lambda: 0.0, "1e6": lambda: 1e6, "lemma": lambda: Lemma1Beta(1.0)},
        "beta_noise": leave | {"0": lambda: 0.0, "2": lambda: 2.0},
        "lam": leave | {" again": lambda: ..., "1e-9": lambda: 1e-9, "1e9": lambda: 1e9},
        "min_noise_var": leave | {
            " again": lambda: ...,
            "1e-6": lambda: 1e-6,
            "sized": lambda: size,
            "tiny": lambda: 1e-300,
        },
        "max_noise_var": leave | {
            " again": lambda: ...,
            "1e-5": lambda: 1e-5,
            "sized": lambda: size,
        },
        "refit": leave | {"never": lambda: Refit(math.inf), "always": lambda: Refit(1.0)},
        "direction": leave | {"minimize": lambda: "minimize"},
        "n_initial": leave | {"1": lambda: 1, "3": lambda: 3},
    }  # fmt: skip


def preset(rng: Rng) -> dict[str, Any]:
    """Return the paper's settings."""
    risk = MeanVariance(float(rng.choice([0.0, 1.0, 100.0])))
    return {"risk": risk, "repeats": 2, "n_initial": 2, "method": rahbo.paper()}


# -- a set ---------------------------------------------------------------------------------------


def make(number: int) -> Case:
    """Return the degenerate data set with this number."""
    rng = np.random.default_rng([16, number])
    case = Case(number)
    case.space = pick(rng, spaces(rng), case, "space")
    constraint = {"valid": in_disc} if case.parts["space"] == "constrained" else {}
    d = Optimizer(case.space, seed=0, **constraint).settings.space.d
    if rng.random() < 0.2:
        case.settings = preset(rng)
        case.parts["settings"] = "paper"
    elif rng.random() < 0.3:
        case.parts["settings"] = "default"
    else:
        for name, options in settings(rng, d).items():
            chosen = pick(rng, options, case, name)
            if chosen is not ...:
                case.settings[name] = chosen
        lowest, highest = (case.settings.get(f"{end}_noise_var") for end in ("min", "max"))
        if lowest is not None and highest is not None and lowest > highest:
            del case.settings["min_noise_var"]
        parts = [part.name for part in fields(rahbo.Method) if part.name in case.settings]
        case.settings["method"] = rahbo.Method(**{name: case.settings.pop(name) for name in parts})
    case.settings |= constraint | {"seed": number}
    told = pick(rng, points(rng, d), case, "points")
    fill(case, rng, told)
    case.parts = {k: v for k, v in case.parts.items() if v.strip()}
    return case


def fill(case: Case, rng: Rng, told: Any) -> None:
    """Draw the values and failures at points of the cube, and the number of open suggestions."""
    space = Optimizer(case.space, **case.settings).settings.space
    told = np.clip(told, 0.0, 1.0)
    params = [space.decode(x) for x in space.snap(told)]
    counts = pick(rng, numbers(rng), case, "repeats told")
    each = [counts[i % len(counts)] for i in range(len(params))]
    kinds = values(rng, sum(each))
    flat = pick(rng, kinds, case, "values")
    if rng.random() < 0.15:
        # The repeats of a point agree to the last bit.
        case.parts["agreeing"] = "repeats"
        flat = np.repeat(pick(rng, values(rng, len(params)), case, "values"), each)
    ends = np.cumsum(each)
    case.data = [
        (p, flat[end - n : end].tolist()) for p, n, end in zip(params, each, ends, strict=True)
    ]
    failing = pick(
        rng,
        {"": lambda: 0, " ": lambda: 0, "one": lambda: 1, "all but one point": lambda: 40},
        case,
        "failures",
    )
    for x in rng.random((failing, space.d)):
        case.failures.append(space.decode(space.snap(x[None])[0]))
    if failing > 1:
        case.data = case.data[:1]
    case.pending = pick(rng, {"": lambda: 0, "one": lambda: 1, "four": lambda: 4}, case, "pending")


# -- the check -----------------------------------------------------------------------------------


def check(case: Case) -> dict[str, float]:
    """Raise an error if a run does not do with a set what it must; return the seconds of steps."""
    seconds: dict[str, float] = {}
    started = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal started
        now = time.perf_counter()
        seconds[name], started = now - started, now

    with warnings.catch_warnings(), np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("error")
        opt = Optimizer(case.space, data=case.data, **case.settings)
        for params in case.failures:
            opt.tell_failure(params, "failed")
        lap("tell")
        check_proposals(opt, case)
        lap("ask")
        check_recommendation(opt)
        lap("recommend")
        check_report(opt)
        lap("report")
        check_others(opt)
        lap("others")
    return seconds


def check_proposals(opt: Optimizer, case: Case) -> None:
    """Ask for the open suggestions and one more, and tell the last."""
    space = opt.settings.space
    for _ in range(case.pending + 2):
        try:
            found = opt.ask()
        except ExhaustedError:
            assert not Repeating.of(opt.settings).revisit, (
                "only a run without revisits can be exhausted"
            )
            assert math.isfinite(space.size) or "ulp" in case.parts["space"], found
            return
        x = space.encode(found.params)
        assert np.all((x >= 0.0) & (x <= 1.0)), x
        assert space.is_valid(x[None])[0], found
        assert 1 <= found.repeats <= opt.settings.repeats.most, found
    opt.tell(found, case.data[0][1][0])


def check_recommendation(opt: Optimizer) -> None:
    """Check that a point that was told is recommended, with finite numbers."""
    found = opt.recommend()
    told = [trial.params for trial in opt.trials if trial.values]
    assert found.params in told, found
    numbers = [found.mean, found.noise_std, found.risk, found.pessimistic, found.score]
    numbers += [*found.mean_interval, *found.noise_std_interval, *found.risk_interval]
    numbers += [found.sample_mean, found.gain.expected, found.gain.bound]
    assert np.isfinite(numbers).all(), found
    assert found.noise_std >= 0.0
    assert found.p_best is None or 0.0 <= found.p_best <= 1.0
    for middle, (lower, upper) in (
        (found.mean, found.mean_interval),
        (found.noise_std, found.noise_std_interval),
        (found.risk, found.risk_interval),
    ):
        assert lower <= middle <= upper, found
    str(found)


def check_report(opt: Optimizer) -> None:
    """Check that the report page can be made, and holds no number that is none."""
    page = report_page(record_of(opt, source="degenerate", made="now"))
    shown = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert "nan" not in re.findall(r"[a-z]+", shown.lower()), "the page shows nan"


def check_others(opt: Optimizer) -> None:
    """Check that what is seldom called gives finite numbers too."""
    space = opt.settings.space
    anywhere = [space.decode(x) for x in space.from_uniform(np.full((1, space.n_uniform), 0.7))]
    for found in opt.predict(anywhere):
        numbers = [found.mean, found.noise_std, found.risk, found.pessimistic]
        assert np.isfinite(numbers).all(), found
    if Repeating.of(opt.settings).revisit:
        assert sum(s.repeats for s in opt.confirm(3)) == 3


def main() -> None:
    """Check many sets and print those that fail and those that are slow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=100, help="how many sets (100)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first set (0)")
    parser.add_argument("--step", type=int, default=1, help="take every so many sets only (1)")
    parser.add_argument("--slow", type=float, default=15.0, help="what is slow, in seconds (15)")
    args = parser.parse_args()
    numbers = range(args.first, args.first + args.sets, args.step)
    failed, times = 0, {}
    for number in numbers:
        case, begun = Case(number), time.perf_counter()
        try:
            case = make(number)
            seconds = check(case)
        except Exception as error:
            failed += 1
            where = reversed(traceback.extract_tb(error.__traceback__)[-7:])
            place = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in where)
            why = f"{type(error).__name__}: {str(error)[:300]}"
            print(f"FAILED {case}\n   {why}\n   {place}", flush=True)
            continue
        times[number] = time.perf_counter() - begun
        if times[number] > args.slow:
            parts = ", ".join(f"{k} {v:.1f}" for k, v in seconds.items())
            print(f"SLOW {times[number]:.1f} s ({parts}) {case}", flush=True)
    slowest = sorted(times, key=lambda n: -times[n])[:5]
    listed = ", ".join(f"set {n} {times[n]:.1f} s" for n in slowest)
    print(
        f"{failed} of {len(numbers)} sets failed. Median {np.median(list(times.values())):.2f} s."
    )
    print(f"Slowest: {listed}.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
