"""Races by the rule of `rahbo race`: wrong calls, runs beside equal allocation, bias, other rules.

    python bench/race.py --seed 1000                     # all parts, some minutes
    python bench/race.py --part null --races 200 --seed 5

The rule was chosen with seeds below 1000.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence

import numpy as np

from rahbo.numerics import Array, Index
from rahbo.race import Course, Ended, Rule, Tally, simulate, verdict_of

Noise = Callable[[np.random.Generator, int], Array]
RULE = Rule(0.05)


def _lognormal(rng: np.random.Generator, n: int) -> Array:
    return (np.exp(rng.standard_normal(n)) - math.exp(0.5)) / math.sqrt((math.e - 1.0) * math.e)


# Mean 0 and standard deviation 1.
NOISES: dict[str, Noise] = {
    "Gaussian": lambda rng, n: rng.standard_normal(n),
    "Student t, 3 dof": lambda rng, n: rng.standard_t(3, n) / math.sqrt(3.0),
    "lognormal": _lognormal,
    "two values, 50 %": lambda rng, n: 2.0 * (rng.random(n) < 0.5) - 1.0,
    "two values, 10 %": lambda rng, n: ((rng.random(n) < 0.1) - 0.1) / 0.3,
}


def drawn(noise: Noise, means: Array, stds: Array, seed: int) -> Callable[[Index, Index], Array]:
    """Return a function that draws values of entrants."""
    rng = np.random.default_rng(seed)
    return lambda races, entrants: means[entrants] + stds[entrants] * noise(rng, len(entrants))


def in_turn(tally: Tally, state: object, step: int) -> Index:
    """Choose one entrant after the other."""
    return np.full(len(tally.counts), step % tally.counts.shape[1])


# -- entrants that do not differ -----------------------------------------------------------------


def null(races: int, seed: int) -> None:
    """Print how many races between equal entrants are called."""
    print(f"\nRaces called, of {races} between entrants with the same mean (wanted: at most 5 %)")
    print(
        "| noise | noise std | 2 | 3 | 5 | 10 | 20 entrants |\n|---|---|---:|---:|---:|---:|---:|"
    )
    for number, (name, noise) in enumerate(NOISES.items()):
        for kind, pattern in (("equal", [1.0]), ("1 and 3 in turn", [1.0, 3.0])):
            called = []
            for k in (2, 3, 5, 10, 20):
                stds = np.resize(pattern, k)
                draw = drawn(noise, np.zeros(k), stds, seed + 100 * number + k)
                ended = simulate(draw, races, k, 100 * k, RULE)
                called.append(f"{100.0 * np.mean(ended.winner >= 0):.1f} %")
            print(f"| {name} | {kind} | {' | '.join(called)} |", flush=True)


def near_ties(races: int, seed: int) -> None:
    """Print how many races are called for somebody who is not best."""
    print(f"\nWrong calls, of {races}: two entrants share the best mean, the others are worse by d")
    for k in (3, 10):
        for d in (0.1, 0.5, 2.0):
            means = np.where(np.arange(k) < 2, 0.0, -d)
            draw = drawn(NOISES["Gaussian"], means, np.ones(k), seed + k)
            ended = simulate(draw, races, k, 100 * k, RULE)
            called = 100.0 * np.mean(ended.winner >= 0)
            print(f"  {k} entrants, d = {d}: {called:.1f} %", flush=True)


# -- runs ----------------------------------------------------------------------------------------


def fixed_sample(k: int, wrong: float, missed: float, seed: int) -> int:
    """Return the runs of a fixed number for each entrant, then one look at the best pair.

    The threshold of the t statistic lets so many equal entrants be called, and the number is such
    that the best of entrants that differ is missed so often.
    """
    rng = np.random.default_rng(seed)
    # Two equal entrants, with all others far behind, are the likeliest to be called.
    needed = float(np.quantile(np.abs(rng.standard_normal(200_000)), 1.0 - wrong))
    others = rng.standard_normal((20_000, k - 1)).max(axis=1)
    best = rng.standard_normal(20_000)
    n = 5
    while np.mean((best + 0.5 * math.sqrt(n) - others) / math.sqrt(2.0) < needed) > missed:
        n += 1
    return n * k


def runs(races: int, seed: int) -> None:
    """Print the runs until the best of entrants is called that differ by half a noise std."""
    print(f"\nRuns until the best is called, mean of {races} races; it leads by 0.5 noise std")
    print("| entrants | top two | wrong | equal, same rule | ratio | fixed, 5 % and 1 % | ratio |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for k in (2, 3, 5, 10, 20):
        means = np.where(np.arange(k) == 0, 0.5, 0.0)
        found: list[Ended] = []
        for chooser in ({}, {"choose": in_turn}):
            draw = drawn(NOISES["Gaussian"], means, np.ones(k), seed + k)
            found.append(simulate(draw, races, k, 1000 * k, RULE, **chooser))
        ours, same = (float(each.runs.mean()) for each in found)
        wrong = 100.0 * np.mean(found[0].winner != 0)
        fixed = fixed_sample(k, 0.05, 0.01, seed)
        print(
            f"| {k} | {ours:.0f} | {wrong:.1f} % | {same:.0f} | {ours / same:.2f} | {fixed} | "
            f"{ours / fixed:.2f} |",
            flush=True,
        )


# -- the lead ------------------------------------------------------------------------------------


def raced(means: Sequence[float], noise: Noise, seed: int, evaluations: int) -> Course:
    """Run one race to its end."""
    rng = np.random.default_rng(seed)
    course = Course(len(means), RULE, evaluations)
    while course.ended is None:
        ((entrant, number),) = course.wanted(1)
        course.offer(entrant, number, float(means[entrant] + noise(rng, 1)[0]))
    return course


def seeds(races: int, seed: int) -> None:
    """Print what it costs and gains to compare runs with the same seed."""
    print(f"\nTwo entrants, of {races} races with at most 200 runs: called if they do not differ,")
    print("and called with mean runs if one leads by 0.5 noise std")
    print("| share of noise from the seed | compared | called | called | runs |")
    print("|---:|---|---:|---:|---:|")
    for share in (0.0, 0.5, 0.9):
        for matched in (False, True):
            found = []
            for lead in (0.0, 0.5):
                courses = [_with_seeds(lead, share, matched, seed + i) for i in range(races)]
                called = [course.ended == "decided" for course in courses]
                found.append((np.mean(called), np.mean([course.runs for course in courses])))
            (wrong, _), (right, made) = found
            how = "by seed" if matched else "by mean"
            print(
                f"| {share} | {how} | {100 * wrong:.1f} % | {100 * right:.1f} % | {made:.0f} |",
                flush=True,
            )


def _with_seeds(lead: float, share: float, matched: bool, seed: int) -> Course:
    rng = np.random.default_rng(seed)
    common, own = rng.standard_normal(200), rng.standard_normal((2, 200))
    values = math.sqrt(share) * common + math.sqrt(1.0 - share) * own
    values[0] += lead
    course = Course(2, RULE, 200, matched=matched)
    while course.ended is None:
        ((entrant, number),) = course.wanted(1)
        course.offer(entrant, number, float(values[entrant, number]))
    return course


def bias(races: int, seed: int) -> None:
    """Print how far the reported lead of a winner is from the truth."""
    print(f"\nReported lead less true lead, of {races} races (standard error in brackets)")
    print("| noise | entrants | true lead | plain difference | reported | interval holds it |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, k, lead in (
        ("Gaussian", 2, 0.5), ("Gaussian", 2, 1.0), ("Gaussian", 3, 0.5), ("Gaussian", 5, 0.5),
        ("Student t, 3 dof", 2, 0.5), ("lognormal", 2, 0.5),
    ):  # fmt: skip
        means = [lead] + [0.0] * (k - 1)
        plain, said, held = [], [], []
        for i in range(races):
            course = raced(means, NOISES[name], seed + i, 1000 * k)
            names = [str(j) for j in range(k)]
            verdict = verdict_of(course, names, 1.0)
            if verdict.decision != "winner" or verdict.best != "0":
                continue
            assert verdict.lead is not None
            assert verdict.lead_interval is not None
            means_of = [each.mean for each in verdict.standings]
            plain.append(means_of[0] - max(means_of[1:]) - lead)
            said.append(verdict.lead - lead)
            held.append(verdict.lead_interval[0] <= lead <= verdict.lead_interval[1])
        error = [np.std(each) / math.sqrt(len(each)) for each in (plain, said)]
        print(
            f"| {name} | {k} | {lead} | {np.mean(plain):+.3f} ({error[0]:.3f}) | "
            f"{np.mean(said):+.3f} ({error[1]:.3f}) | {100.0 * np.mean(held):.0f} % |",
            flush=True,
        )


# -- what loops do today -------------------------------------------------------------------------


def other_rules(races: int, seed: int) -> None:
    """Print how often a change is kept by rules of today's loops, and by a race."""
    print(f"\nChanges kept, of {races}, by the gain of the change in noise std")
    print(
        "| rule | runs | gain 0 | gain -0.5 | gain 0.5 | gain 2 |\n|---|---:|---:|---:|---:|---:|"
    )
    gains = (0.0, -0.5, 0.5, 2.0)
    rng = np.random.default_rng(seed)
    noise = NOISES["Gaussian"]
    last = [np.mean(g + noise(rng, races) > noise(rng, races)) for g in gains]
    print(f"| the last number is better | 2 | {_percent(last)} |")
    for repeats, times in ((5, 1.0), (5, 2.0), (5, 3.0)):
        kept = []
        for gain in gains:
            old = noise(rng, races * repeats).reshape(races, repeats)
            middle = np.median(old, axis=1)
            mad = np.median(np.abs(old - middle[:, None]), axis=1)
            kept.append(np.mean(gain + noise(rng, races) > middle + times * mad))
        print(f"| better than the median by {times:g} MAD of 5 repeats | 6 | {_percent(kept)} |")
    kept, made = [], []
    for gain in gains:
        draw = drawn(noise, np.array([0.0, gain]), np.ones(2), seed)
        ended = simulate(draw, races, 2, 400, RULE)
        kept.append(np.mean(ended.winner == 1))
        made.append(f"{ended.runs.mean():.0f}")
    print(f"| race, at most 400 runs | {', '.join(made)} | {_percent(kept)} |", flush=True)


def _percent(shares: Sequence[float]) -> str:
    return " | ".join(f"{100.0 * share:.1f} %" for share in shares)


PARTS = {
    "null": null, "ties": near_ties, "runs": runs, "seeds": seeds, "bias": bias,
    "rules": other_rules,
}  # fmt: skip


def main() -> None:
    """Print one part or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--races", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1000)
    given = parser.parse_args()
    for name, part in PARTS.items():
        if given.part in (name, "all"):
            part(given.races, given.seed)


if __name__ == "__main__":
    main()
