"""Turn records into curves: regrets by round and by evaluation, with their spread over seeds.

Notation: arrays ``(seeds, T)`` run over the rounds that count, T of them in every run. Records hold
the true mean and noise variance, so one run gives the regret for any risk measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rahbo.analysis import Rule
from rahbo.experiments.records import RoundRecord, Store
from rahbo.experiments.spec import Case, problem_named
from rahbo.numerics import Array
from rahbo.problems import Tabulated
from rahbo.risk import MeanVariance, RiskMeasure


@dataclass(frozen=True, eq=False)
class Runs:
    """Several runs that differ only in their seed.

    The T rounds that count are the first ones after the initial design. Rounds spent on learning
    the noise count like all others.

    Attributes:
        case: The case of any of the runs.
        records: One list of rounds per run, including the initial design.
        skipped: The number of rounds after the initial design that do not count.
    """

    case: Case
    records: Sequence[Sequence[RoundRecord]]
    skipped: int = 0

    @classmethod
    def load(cls, store: Store, cases: Sequence[Case]) -> Runs:
        """Load the runs of cases that differ only in their seed."""
        return cls(cases[0], [store.read(case) for case in cases])

    def without_learning(self) -> Runs:
        """Return the runs counted as published: T rounds from the end of the learning rounds."""
        return replace(self, skipped=self.case.learning_rounds)

    @property
    def seeds(self) -> int:
        """The number of runs."""
        return len(self.records)

    def tried(self, quantity: str) -> Array:
        """Return ``"f"`` or ``"noise_var"`` at the points tried, ``(seeds, T)``."""
        return np.array([[r["tried"][quantity] for r in run] for run in self._counted()])

    def reported(self, quantity: str, rule: Rule = "pessimistic") -> Array:
        """Return ``"f"`` or ``"noise_var"`` at the point reported after each round, same shape."""
        return np.array([[r["reported"][rule][quantity] for r in run] for run in self._counted()])

    def best_tried(self, quantity: str, risk: RiskMeasure) -> Array:
        """Return the quantity at the best point tried so far, including the initial design."""
        end = self._start + self.case.rounds
        f, noise_var = (
            np.array([[r["tried"][name] for r in run[:end]] for run in self.records])
            for name in ("f", "noise_var")
        )
        value = risk.value(f, noise_var)
        before = np.maximum.accumulate(value, axis=1)[:, :-1]
        better = np.concatenate([np.full((len(value), 1), True), value[:, 1:] > before], axis=1)
        best = np.maximum.accumulate(np.where(better, np.arange(end), 0), axis=1)
        there = np.take_along_axis({"f": f, "noise_var": noise_var}[quantity], best, axis=1)
        return np.asarray(there[:, self._start :])

    def judged(self, quantity: str, risk: RiskMeasure, rule: Rule = "pessimistic") -> Array:
        """Return the quantity at the reported point, judging the rule ``"empirical"`` by ``risk``.

        That is possible on a `Tabulated` problem, where the values of a point are its truth. There
        the rule can use a risk measure that the method did not know; GP-UCB, for example, knows
        none. On other problems the rule uses the risk measure of the method.
        """
        if rule == "empirical" and isinstance(problem_named(self.case.problem), Tabulated):
            return self.best_tried(quantity, risk)
        return self.reported(quantity, rule)

    def cumulative_regret(self, risk: RiskMeasure) -> Array:
        """Return the cumulative regret by round, ``(seeds, T)``.

        R_T = sum_t [MV(x*) - MV(x_t)]    (eq. 3)
        """
        value = risk.value(self.tried("f"), self.tried("noise_var"))
        return np.cumsum(self._best(risk) - value, axis=1)

    def cumulative_regret_by_evaluation(self, risk: RiskMeasure) -> Array:
        """Return the cumulative regret counted once per evaluation, as in Theorem 1's proof.

        R_T = sum_t k [MV(x*) - MV(x_t)]

        On a `Tabulated` problem a revisit also counts k times, although nothing is evaluated.
        """
        return self.case.repeats * self.cumulative_regret(risk)

    def simple_regret(self, risk: RiskMeasure, rule: Rule = "pessimistic") -> Array:
        """Return the regret of the point that `judged` reports after each round (eq. 4)."""
        value = risk.value(self.judged("f", risk, rule), self.judged("noise_var", risk, rule))
        return np.asarray(self._best(risk) - value)

    def suboptimality(self, rule: Rule = "pessimistic") -> Array:
        """Return f(x*) - f at the reported point, with x* the optimum of f, ``(seeds, T)``."""
        return np.asarray(self._best(MeanVariance(0.0)) - self.reported("f", rule))

    def evaluations(self) -> Array:
        """Return the number of single evaluations up to each round, ``(seeds, T)``."""
        return np.array([[r["evaluations"] for r in run] for run in self._counted()], dtype=float)

    @property
    def _start(self) -> int:
        return self.case.n_initial + self.skipped

    def _counted(self) -> list[Sequence[RoundRecord]]:
        end = self._start + self.case.rounds
        return [run[self._start : end] for run in self.records]

    def _best(self, risk: RiskMeasure) -> float:
        return problem_named(self.case.problem).optimum(risk).value


@dataclass(frozen=True, eq=False)
class Band:
    """A mean over seeds and twice its standard error, each ``(T,)`` or a number."""

    mean: Array
    two_se: Array

    @classmethod
    def over_seeds(cls, curves: Array) -> Band:
        """Return the band of ``curves (seeds, …)``; the error of a single seed is NaN."""
        n = len(curves)
        spread = np.std(curves, axis=0, ddof=1) if n > 1 else np.full(curves.shape[1:], np.nan)
        return cls(np.mean(curves, axis=0), 2.0 * spread / np.sqrt(n))
