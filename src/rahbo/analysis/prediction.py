"""What is predicted at a setting: mean, noise and risk with intervals, in the user's units."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from rahbo.analysis.compliance import ConstraintCheck, checks
from rahbo.analysis.markup import paragraph, table
from rahbo.analysis.posterior import Interval, marginals
from rahbo.analysis.wording import in_one_line, settings_told_apart
from rahbo.numerics import Array, Justified
from rahbo.policy import Limits, RiskBound, pessimistic_values
from rahbo.risk import RiskMeasure


class Estimate(NamedTuple):
    """An estimate as texts, in the digits that its interval justifies.

    Attributes:
        name: What is estimated.
        value: The estimate.
        lower: The lower end of its interval.
        upper: The upper end of its interval.
    """

    name: str
    value: str
    lower: str
    upper: str


@dataclass(frozen=True)
class Prediction:
    """The mean, noise and risk predicted at one setting, in user units.

    Each interval is a credible interval: it contains the true value with probability ``level``. The
    interval at a setting is the same wherever it is shown.

    Attributes:
        params: The setting.
        mean: Posterior mean of the objective.
        mean_interval: Interval of the mean.
        noise_std: Standard deviation of a single evaluation.
        noise_std_interval: Interval of the noise standard deviation.
        risk: Risk measure of the mean and the central noise estimate.
        risk_interval: Interval of the risk measure.
        level: Probability of each interval.
        pessimistic: The value that the strategy reports by: the risk measure at the pessimistic
            bounds of mean and noise, or the lower bound of the mean for one that ignores the noise.
        constraints: What is known of each outcome that has a limit.
    """

    params: dict[str, Any]
    mean: float
    mean_interval: Interval
    noise_std: float
    noise_std_interval: Interval
    risk: float
    risk_interval: Interval
    level: float
    pessimistic: float
    constraints: tuple[ConstraintCheck, ...] = field(
        default=(), kw_only=True, metadata={"if_used": True}
    )

    @property
    def feasible(self) -> bool:
        """Whether every limit is kept, even by the pessimistic bound of its outcome."""
        return all(check.kept for check in self.constraints)

    def negated(self) -> Self:
        """Return the record of the negated objective."""
        return replace(
            self,
            mean=-self.mean,
            mean_interval=self.mean_interval.negated(),
            risk=-self.risk,
            risk_interval=self.risk_interval.negated(),
            pessimistic=-self.pessimistic,
        )

    @property
    def estimates(self) -> tuple[Estimate, Estimate, Estimate]:
        """The mean, the noise std and the risk value as texts."""
        return (
            Estimate("mean", *self.mean_interval.texts(self.mean)),
            Estimate("noise std", *self.noise_std_interval.texts(self.noise_std)),
            Estimate("risk value", *self.risk_interval.texts(self.risk)),
        )

    @property
    def _shown(self) -> dict[str, str]:
        """The setting as texts."""
        return settings_told_apart([self.params])[0]

    @property
    def risk_digits(self) -> Justified:
        """How to write risk values like the one here."""
        return Justified.by(self.risk, self.risk_interval)

    def __str__(self) -> str:
        named = f"{100 * self.level:g} % interval"
        lines = [
            f"{name:<11}{value:>12}   {named} [{lower}, {upper}]"
            for name, value, lower, upper in self.estimates
        ]
        decided = f"pessimistic{self.risk_digits.text(self.pessimistic):>12}"
        limits = [str(check) for check in self.constraints]
        return "\n".join([in_one_line(self._shown), *lines, *limits, decided])

    def _repr_html_(self) -> str:
        interval = f"{100 * self.level:g} % interval"
        rows = [
            *((e.name, e.value, f"{e.lower} to {e.upper}") for e in self.estimates),
            ("pessimistic", self.risk_digits.text(self.pessimistic), ""),
        ]
        return "".join([
            table(["parameter", "value"], list(self._shown.items())),
            table(["", "estimate", interval], rows),
            *(paragraph(str(check)) for check in self.constraints),
        ])  # fmt: skip


def predict(
    bound: RiskBound,
    risk: RiskMeasure,
    X: Array,
    params: list[dict[str, Any]],
    level: float,
    limits: Limits | None = None,
) -> list[Prediction]:
    """Return the predictions at ``X (m, d)``, in the sense of maximisation.

    Args:
        bound: The strategy's lower bound, with the model.
        risk: The risk measure, in user units.
        X: The settings.
        params: The same settings in user units.
        level: Probability of each interval.
        limits: The limits of outcomes, if there are any.
    """
    found = marginals(bound.model, risk, X, level)
    worst = pessimistic_values(bound, X)[2]
    kept = checks(limits, X, level)
    return [
        Prediction(
            params[i],
            mean=float(found.mean[i, 1]),
            mean_interval=_interval(found.mean[i]),
            noise_std=float(found.noise_std[i, 1]),
            noise_std_interval=_interval(found.noise_std[i]),
            risk=float(found.risk[i, 1]),
            risk_interval=_interval(found.risk[i]),
            level=float(level),
            pessimistic=float(worst[i]),
            constraints=kept[i],
        )
        for i in range(len(X))
    ]


def _interval(found: Array) -> Interval:
    """Return the interval of a lower end, a centre and an upper end, ``(3,)``."""
    return Interval(float(found[0]), float(found[2]))
