"""The tables of an experiment: final regrets, and the points they come from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import get_args

from rahbo.analysis import Rule
from rahbo.experiments.metrics import Band, Runs
from rahbo.experiments.records import Store
from rahbo.experiments.spec import TITLES, Experiment
from rahbo.risk import MeanVariance

RULES: tuple[Rule, ...] = get_args(Rule)
TRUTH = ("f", "noise_var")
MOST_DIGITS = 7
EARLY_ROUNDS = 20

NOTES = """\
MV = mean - alpha · noise variance. Regret = largest MV - MV at the point, both from the truth.
Numbers are means over n seeds ± 2 standard errors, at the end of the T rounds that count.

- R_T is the regret summed over rounds (eq. 3). k R_T is the regret summed over single evaluations
  (proof of Theorem 1).
- The last four columns hold the regret of the point reported at the end (eq. 4) under each rule:
  the largest lower bound now (each method's own), the largest lower bound in a point's own round
  (Corollary 1.1), the largest sample mean, and the largest MV of sample mean and sample variance.
- RAHBO-US spends its first 10 rounds on learning the noise. These rounds are part of the T rounds,
  except in the rows "as published", where T rounds are counted after them.
- GP-UCB has no alpha, so the same runs are judged with each alpha. Its MV of sample mean and sample
  variance is the sample mean.
- In the forest problem a point has the same values at each visit. A revisit counts as a round, and
  k times in k R_T, but nothing is evaluated. There the largest MV of sample mean and sample
  variance uses the row's alpha, for GP-UCB too.
- "above RAHBO" is R_T minus RAHBO's R_T with the same seed. R_20 is the regret summed over the
  first 20 rounds, when all methods explore. The other columns of the second table hold the true
  mean and the true noise variance, at the points tried and at the point reported under each rule.
"""


@dataclass(frozen=True, eq=False)
class TrueBands:
    """True mean and noise variance of points, over seeds."""

    f: Band
    noise_var: Band


@dataclass(frozen=True, eq=False)
class Row:
    """One method on one problem.

    Attributes:
        problem: The problem's name.
        alpha: The risk coefficient of the regret.
        repeats: The number of evaluations per round, k.
        rounds: The number of rounds that count, T.
        method: The method's title.
        seeds: The number of runs behind each number.
        cumulative: R_T, summed over rounds.
        by_evaluation: R_T, summed over evaluations.
        simple: Regret of the reported point, by rule.
        above: R_T minus RAHBO's R_T with the same seed; None for RAHBO, or if RAHBO did not run.
        early: The regret summed over the first rounds only.
        tried: The truth at the points tried, averaged over the rounds that count.
        reported: The truth at the points reported at the end, by rule.
    """

    problem: str
    alpha: float
    repeats: int
    rounds: int
    method: str
    seeds: int
    cumulative: Band
    by_evaluation: Band
    simple: Mapping[Rule, Band]
    above: Band | None
    early: Band
    tried: TrueBands
    reported: Mapping[Rule, TrueBands]


def rows(experiments: Iterable[Experiment], store: Store) -> list[Row]:
    """Return the table of finished experiments; RAHBO-US has a second row, as published."""
    return [
        row
        for e in experiments
        for problem, k, alpha in product(e.problems, e.repeats, e.alphas)
        for row in _compared(
            {m: Runs.load(store, e.runs_of(problem, m, alpha, k)) for m in e.methods}, alpha
        )
    ]


def _compared(by_method: Mapping[str, Runs], alpha: float) -> Iterator[Row]:
    rahbo = by_method.get("rahbo")
    for method, runs in by_method.items():
        against = rahbo if method != "rahbo" else None
        yield _row(runs, alpha, TITLES[method], against)
        if runs.case.learning_rounds:
            yield _row(runs.without_learning(), alpha, f"{TITLES[method]} as published", against)


def _row(runs: Runs, alpha: float, method: str, against: Runs | None) -> Row:
    case, risk = runs.case, MeanVariance(alpha)
    curves = runs.cumulative_regret(risk)
    summed, early = curves[:, -1], curves[:, :EARLY_ROUNDS][:, -1]
    above = None if against is None else summed - against.cumulative_regret(risk)[:, -1]
    return Row(
        case.problem,
        alpha,
        case.repeats,
        case.rounds,
        method,
        runs.seeds,
        Band.over_seeds(summed),
        Band.over_seeds(runs.cumulative_regret_by_evaluation(risk)[:, -1]),
        {rule: Band.over_seeds(runs.simple_regret(risk, rule)[:, -1]) for rule in RULES},
        None if above is None else Band.over_seeds(above),
        Band.over_seeds(early),
        TrueBands(*(Band.over_seeds(runs.tried(name).mean(axis=1)) for name in TRUTH)),
        {
            rule: TrueBands(
                *(Band.over_seeds(runs.judged(name, risk, rule)[:, -1]) for name in TRUTH)
            )
            for rule in RULES
        },
    )


SETUP = ("problem", "alpha", "k", "T")
REPORTED_BY = ("lower bound", "own round", "best observed", "empirical MV")
REGRETS = (*SETUP, "method", "R_T", "k R_T", *REPORTED_BY, "n")
PLACES = (*SETUP, "method", "above RAHBO", f"R_{EARLY_ROUNDS}", "tried", *REPORTED_BY, "n")


def regret_cells(row: Row) -> tuple[str, ...]:
    """Return the regrets of a row as text, one cell per heading of `REGRETS`."""
    simple = (in_words(row.simple[rule]) for rule in RULES)
    summed = in_words(row.cumulative), in_words(row.by_evaluation)
    return (*_setup(row), row.method, *summed, *simple, str(row.seeds))


def place_cells(row: Row) -> tuple[str, ...]:
    """Return the points of a row as text, one cell per heading of `PLACES`."""
    above = "" if row.above is None else in_words(row.above)
    places = (row.tried, *(row.reported[rule] for rule in RULES))
    written = (f"{in_words(place.f)}; {in_words(place.noise_var)}" for place in places)
    return (*_setup(row), row.method, above, in_words(row.early), *written, str(row.seeds))


def _setup(row: Row) -> tuple[str, ...]:
    return row.problem, f"{row.alpha:g}", str(row.repeats), str(row.rounds)


def in_words(band: Band) -> str:
    """Return a number with its error, to two digits of the error or four of the number.

    A single seed has no error.

    >>> import numpy as np
    >>> in_words(Band(np.float64(12.3456), np.float64(0.123)))
    '12.35 ± 0.12'
    """
    mean, error = float(band.mean), float(band.two_se)
    if not math.isfinite(error):
        return f"{mean:.4g}"
    of_error = 1 - math.floor(math.log10(error)) if error > 0 else MOST_DIGITS
    of_mean = 3 - math.floor(math.log10(abs(mean))) if mean != 0 else MOST_DIGITS
    # The error decides the digits, unless it is far smaller than the number.
    digits = min(of_error, max(of_mean, 3), MOST_DIGITS)
    digits = max(digits, 0)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def stamps(experiments: Iterable[Experiment], store: Store) -> list[str]:
    """Return the versions and commits that made the records, each once."""
    cases = [case for experiment in experiments for case in experiment.cases()]
    made = ((first["version"], first["commit"]) for first in map(store.first, cases))
    return sorted({f"rahbo {version}, commit {commit}" for version, commit in made})


def markdown(name: str, table: Sequence[Row], made_by: Sequence[str], figures: str = "") -> str:
    """Return the Markdown page of an experiment.

    Args:
        name: The name of the experiment.
        table: The rows of its tables.
        made_by: The versions and commits that made its records.
        figures: Markdown that shows its figures.
    """
    tables = (
        markdown_table(REGRETS, [regret_cells(row) for row in table]),
        markdown_table(PLACES, [place_cells(row) for row in table]),
    )
    parts = [f"# {name}\n", *tables, NOTES, f"Records made by {'; '.join(made_by)}.\n"]
    return "\n".join([*parts, figures] if figures else parts)


def markdown_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return cells as a Markdown table, with text on the left and numbers on the right."""
    rule = ["---" if heading in ("problem", "method") else "---:" for heading in headings]
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, rule, *lines)) + "\n"
