"""The table of an experiment: regrets at the end of the runs, mean ± 2 standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from rahbo.experiments.metrics import Band, Runs
from rahbo.experiments.records import Store
from rahbo.experiments.spec import TITLES, Experiment
from rahbo.report.recommendation import Rule
from rahbo.risk import MeanVariance

RULES: tuple[Rule, ...] = get_args(Rule)

NOTES = """\
MV = mean - alpha · noise variance; regret = largest MV - MV at the point, all from the truth.
Numbers are means over n seeds ± 2 standard errors, at the end of the T rounds that count.

- R_T: regret summed over rounds (eq. 3); k R_T: over single evaluations (proof of Theorem 1).
- The last four columns: regret of the point reported at the end (eq. 4) under each rule: the
  largest lower bound now (each method's own), the largest lower bound in a point's own round
  (Corollary 1.1), the largest sample mean, the largest MV of sample mean and sample variance.
- RAHBO-US spends its first 10 rounds on the noise. They count among the T rounds, as every
  evaluation does, except in the rows "as published", where T rounds are counted after them.
- GP-UCB knows no alpha: the same runs are judged with each, and its MV of sample mean and sample
  variance is the sample mean.
"""


@dataclass(frozen=True, eq=False)
class Row:
    """One method on one problem.

    Attributes:
        problem: The problem's name.
        alpha: The risk coefficient that regret is counted with.
        repeats: Evaluations a round, k.
        rounds: Rounds that count, T.
        method: What the method is called.
        seeds: Runs behind each number.
        cumulative: R_T, summed over rounds.
        by_evaluation: R_T, summed over evaluations.
        simple: Regret of the reported point, by rule.
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


def rows(experiments: Iterable[Experiment], store: Store) -> list[Row]:
    """The table of finished experiments; RAHBO-US has a second row, as published."""
    found = []
    for experiment in experiments:
        for problem in experiment.problems:
            for k in experiment.repeats:
                for alpha in experiment.alphas:
                    for method in experiment.methods:
                        cases = experiment.runs_of(problem, method, alpha, k)
                        runs = Runs.load(store, cases)
                        found.append(_row(runs, alpha, TITLES[method]))
                        if runs.case.learning_rounds:
                            title = f"{TITLES[method]} as published"
                            found.append(_row(runs.without_learning(), alpha, title))
    return found


def _row(runs: Runs, alpha: float, method: str) -> Row:
    case, risk = runs.case, MeanVariance(alpha)
    return Row(
        case.problem,
        alpha,
        case.repeats,
        case.rounds,
        method,
        runs.seeds,
        Band.over_seeds(runs.cumulative_regret(risk)[:, -1]),
        Band.over_seeds(runs.cumulative_regret_by_evaluation(risk)[:, -1]),
        {rule: Band.over_seeds(runs.simple_regret(risk, rule)[:, -1]) for rule in RULES},
    )


HEADINGS = (
    "problem", "alpha", "k", "T", "method", "R_T", "k R_T", "lower bound", "own round",
    "best observed", "empirical MV", "n",
)  # fmt: skip


def cells(row: Row) -> tuple[str, ...]:
    """A row as text, one cell a heading of `HEADINGS`."""
    return (
        row.problem,
        f"{row.alpha:g}",
        str(row.repeats),
        str(row.rounds),
        row.method,
        in_words(row.cumulative),
        in_words(row.by_evaluation),
        *(in_words(row.simple[rule]) for rule in RULES),
        str(row.seeds),
    )


def in_words(band: Band) -> str:
    """A number with its error, to two digits of the error; a single seed has none.

    >>> import numpy as np
    >>> in_words(Band(np.float64(12.3456), np.float64(0.123)))
    '12.35 ± 0.12'
    """
    mean, error = float(band.mean), float(band.two_se)
    if not math.isfinite(error):
        return f"{mean:.4g}"
    digits = 1 - math.floor(math.log10(error)) if error > 0 else 3
    digits = min(max(digits, 0), 4)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def stamps(experiments: Iterable[Experiment], store: Store) -> list[str]:
    """What made the records: version and commit, each once."""
    cases = [case for experiment in experiments for case in experiment.cases()]
    made = ((first["version"], first["commit"]) for first in map(store.first, cases))
    return sorted({f"rahbo {version}, commit {commit}" for version, commit in made})


def markdown(name: str, table: Sequence[Row], made_by: Sequence[str], figures: str = "") -> str:
    """The page of an experiment.

    Args:
        name: What the experiment is called.
        table: Its rows.
        made_by: Its stamps.
        figures: Markdown that shows its figures.
    """
    lines = [cells(row) for row in table]
    left = ("problem", "method")
    rule = ("---" if heading in left else "---:" for heading in HEADINGS)
    body = "\n".join(f"| {' | '.join(line)} |" for line in (HEADINGS, tuple(rule), *lines))
    parts = [f"# {name}\n", f"{body}\n", NOTES, f"Records made by {'; '.join(made_by)}.\n"]
    return "\n".join([*parts, figures] if figures else parts)
