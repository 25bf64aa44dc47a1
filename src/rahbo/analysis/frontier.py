"""Mean against noise: which evaluated point each alpha would report, with no new evaluation.

Notation: for point i, ``l`` the mean and ``u`` the noise variance that the strategy reports by,
each ``(n,)`` in user units and in the sense of maximisation. They are the lower bound of the mean
and the upper bound of the noise variance, or its centre under RAHBO-US.

The pessimistic mean-variance of a point is a line in alpha, see `aversion.envelope`,
    lcb_MV_i(alpha) = l_i - alpha u_i    (Corollary 1.1)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from rahbo.analysis.aversion import envelope, penalty_of
from rahbo.analysis.compliance import warning
from rahbo.analysis.markup import paragraph, table
from rahbo.analysis.posterior import LEVEL
from rahbo.analysis.prediction import Prediction, predict
from rahbo.analysis.reportable import legal, told, worst
from rahbo.analysis.wording import in_one_line, settings_told_apart
from rahbo.errors import NotReadyError, SettingsError
from rahbo.policy import limits, report_bound
from rahbo.state import State


@dataclass(frozen=True)
class Choice:
    """A point that some alpha would report.

    Attributes:
        alpha_from: Smallest alpha that reports the point.
        alpha_to: Largest alpha that reports it, possibly infinite.
        prediction: The prediction at the point.
        n_evaluations: Number of values told at the point.
    """

    alpha_from: float
    alpha_to: float
    prediction: Prediction
    n_evaluations: int


@dataclass(frozen=True)
class Frontier:
    """The trade-off between mean and noise among evaluated points.

    Attributes:
        choices: What each alpha would report, from alpha = 0 to infinity.
        evaluated: The prediction at every evaluated point, for plots.
        worst: The pessimistic mean and noise std of each evaluated point, which decide the choices.
        alpha: The alpha that gives the recommended point: that of the run's risk measure, 0 for a
            strategy that reports by the mean alone, None for a measure without an alpha.
        measure: The run's risk measure if it has no alpha.
        alphas: The smallest and the largest alpha that report the same point as this measure. None
            if the measure has an alpha, or if no alpha reports its point.
        reportable: Whether each evaluated point may be reported, if outcomes have limits: those
            that are sure to keep them or, if there are none, the one that violates them least.
            Empty without limits.
    """

    choices: tuple[Choice, ...]
    evaluated: tuple[Prediction, ...]
    worst: tuple[tuple[float, float], ...]
    alpha: float | None
    measure: str = field(default="", metadata={"if_used": True})
    alphas: tuple[float, float] | None = field(default=None, metadata={"if_used": True})
    reportable: tuple[bool, ...] = field(default=(), metadata={"if_used": True})

    @property
    def candidates(self) -> list[int]:
        """The rows of the evaluated points that may be reported."""
        allowed = self.reportable or (True,) * len(self.evaluated)
        return [i for i, may in enumerate(allowed) if may]

    @property
    def warning(self) -> str:
        """What to know if no setting is sure to keep every limit; empty otherwise."""
        return next((warning(c.prediction.constraints) for c in self.choices), "")

    def at(self, alpha: float) -> Choice:
        """Return the point that this alpha would report."""
        if not alpha >= 0:
            raise SettingsError(f"alpha must be a number >= 0, got {alpha!r}.")
        return next(choice for choice in self.choices if alpha <= choice.alpha_to)

    @property
    def own(self) -> str:
        """What the run reports by, in words: an alpha, or a measure that has none."""
        if self.alpha is not None:
            return f"This run reports by alpha = {self.alpha:.4g}."
        if not self.measure:
            return ""
        if self.alphas is None:
            same = "It reports a point that no alpha reports."
        else:
            same = "It reports the point of alpha = {:.4g} to {:.4g}.".format(*self.alphas)
        return f"This run reports by {self.measure}, which has no alpha. {same}"

    def negated(self) -> Frontier:
        """Return the record of the negated objective."""
        return replace(
            self,
            choices=tuple(replace(c, prediction=c.prediction.negated()) for c in self.choices),
            evaluated=tuple(p.negated() for p in self.evaluated),
            worst=tuple((-mean, noise_std) for mean, noise_std in self.worst),
        )

    @property
    def _shown(self) -> list[dict[str, str]]:
        """The settings of the choices as texts."""
        return settings_told_apart([choice.prediction.params for choice in self.choices])

    def __str__(self) -> str:
        lines = [f"{'alpha':>21}{'mean':>12}{'noise std':>12}{'evaluated':>11}  params"]
        for choice, shown in zip(self.choices, self._shown, strict=True):
            p, params = choice.prediction, in_one_line(shown)
            mean, noise_std, _ = (estimate.value for estimate in p.estimates)
            alphas = f"{choice.alpha_from:.4g} to {choice.alpha_to:.4g}"
            lines.append(
                f"{alphas:>21}{mean:>12}{noise_std:>12}{choice.n_evaluations:>11}  {params}"
            )
        return "\n".join([*lines, *filter(None, [self.own, *self.limited])])

    def _repr_html_(self) -> str:
        rows = []
        for choice, shown in zip(self.choices, self._shown, strict=True):
            p, ends = choice.prediction, f"{choice.alpha_from:.4g} to {choice.alpha_to:.4g}"
            mean, noise_std, _ = (estimate.value for estimate in p.estimates)
            rows.append([ends, mean, noise_std, choice.n_evaluations, *shown.values()])
        names = self.choices[0].prediction.params if self.choices else ()
        found = table(["alpha", "mean", "noise std", "evaluated", *names], rows)
        return found + "".join(map(paragraph, [self.own, *self.limited]))

    @property
    def limited(self) -> list[str]:
        """Sentences on the limits that were considered; empty without limits."""
        if not self.choices or not self.choices[0].prediction.constraints:
            return []
        left = len(self.evaluated) - len(self.candidates)
        checks = self.choices[0].prediction.constraints
        demanded = "; ".join(f"{check.name} {check.constraint.described}" for check in checks)
        if self.warning:
            return [f"Limits: {demanded}.", self.warning]
        return [
            f"Limits: {demanded}. Only settings that are sure to keep them are considered; {left} "
            f"of {len(self.evaluated)} are not."
        ]


def frontier_of(state: State, level: float = LEVEL) -> Frontier:
    """Return the trade-off among evaluated points that satisfy ``valid`` and keep their limits.

    It is in the sense of maximisation.

    Args:
        state: What the run knows.
        level: Probability of each interval.
    """
    data, space = told(state).observations, told(state).space
    valid = space.is_valid(data.X)
    X, count = data.X[valid], data.count[valid]
    if len(X) == 0:
        raise NotReadyError("frontier() needs a point that was told and satisfies valid=.")
    params = [space.decode(x) for x in X]
    evaluated = predict(report_bound(state), state.risk, X, params, level, limits(state))
    lower, noise_var, value = (end[valid] for end in worst(state))
    rows = np.flatnonzero(legal(state)[valid])
    lines = envelope(lower[rows], noise_var[rows])
    ends = zip(lower.tolist(), np.sqrt(noise_var).tolist(), strict=True)
    choices = (Choice(start, end, evaluated[rows[i]], int(count[rows[i]]))
               for i, start, end in lines)  # fmt: skip
    alpha, best = _own_alpha(state), np.max(value[rows])
    chosen = next(((start, end) for i, start, end in lines if value[rows[i]] == best), None)
    return Frontier(
        tuple(choices),
        tuple(evaluated),
        tuple(ends),
        alpha,
        repr(state.risk) if alpha is None else "",
        chosen if alpha is None else None,
        () if limits(state) is None else tuple(legal(state)[valid].tolist()),
    )


def _own_alpha(state: State) -> float | None:
    """Return the alpha that the run reports by; None if it has none."""
    penalty, weight = penalty_of(report_bound(state), state.risk)
    return weight if penalty == "noise variance" or weight == 0.0 else None
