"""What a run knows at one moment, for reports."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat

from rahbo.errors import NotReadyError, SettingsError
from rahbo.model import Fits, Fitting, MeanNoiseModel, as_told
from rahbo.numerics import Array, Index, Mask, is_whole
from rahbo.policy import (
    Domain,
    Limits,
    PolicySettings,
    RiskBound,
    pessimistic_values,
    whole_domain,
)
from rahbo.risk import RiskMeasure
from rahbo.space import Space
from rahbo.trials import Observations, Trial, own_bounds, params_by_point, valued


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a run knows at one moment, in the sense of maximisation.

    Attributes:
        settings: How points are chosen and reported.
        trials: The trials so far.
        bound: The lower bound that the strategy reports by, with the model.
        limits: The limits of outcomes, if there are any.
    """

    settings: PolicySettings
    trials: Collection[Trial]
    bound: RiskBound
    limits: Limits | None = None

    @classmethod
    def of(
        cls,
        settings: PolicySettings,
        trials: Collection[Trial],
        model: MeanNoiseModel,
        risk: RiskMeasure | None = None,
        limits: Limits | None = None,
    ) -> Snapshot:
        """Return what is known from these trials.

        Args:
            settings: The settings of the run.
            trials: The trials so far.
            model: The model given their values.
            risk: A risk measure to use instead of the run's. The strategy's bounds on mean and
                noise stay the same.
            limits: The limits of outcomes, if there are any.
        """
        check_risk(risk)
        bound = settings.strategy.report_bound(model, settings.risk)
        if risk is not None:
            bound = replace(bound, risk=model.units.risk_to_model(risk))
            settings = replace(settings, risk=risk)
        return cls(settings, trials, bound, limits)

    @property
    def model(self) -> MeanNoiseModel:
        """Both posteriors."""
        return self.bound.model

    @property
    def observations(self) -> Observations:
        """The data by point, in the sense of maximisation."""
        return as_told(self.bound.model.observations)

    @property
    def count_here(self) -> Index:
        """How many values at each point ``(n,)`` are about the decision at hand: all of them."""
        return self.observations.count

    @property
    def risk(self) -> RiskMeasure:
        """The risk measure, in user units."""
        return self.settings.risk

    @property
    def not_noise(self) -> str:
        """What to know if repeats are not noise; empty otherwise."""
        return str(self.settings.repetition or "")

    @cached_property
    def space(self) -> Space:
        """The space. A point that was told decodes to the parameters it was told with."""
        return self.settings.space.with_told(params_by_point(self.trials))

    def trials_at(self, x: Array) -> tuple[int, ...]:
        """Return the trials that gave values at an evaluated point ``x (d,)``."""
        return tuple(self._trials_by_point.get(x.tobytes(), ()))

    @cached_property
    def _trials_by_point(self) -> dict[bytes, list[int]]:
        told = sorted(valued(self.trials), key=lambda trial: trial.id)
        found = dict[bytes, list[int]]()
        for trial, x in zip(told, self._placed(told), strict=True):
            found.setdefault(x.tobytes(), []).append(trial.id)
        return found

    def _placed(self, trials: Sequence[Trial]) -> Sequence[Array]:
        """Return the evaluated point to which each trial belongs, each ``(d,)``."""
        return [trial.x for trial in trials]

    @cached_property
    def domain(self) -> Domain:
        """Where the best setting may lie."""
        return whole_domain(self.space, self.trials, self.observations, self.limits)

    @cached_property
    def legal(self) -> Mask:
        """Which evaluated points may be reported, ``(n,)``.

        They satisfy ``valid`` and keep the limits of outcomes. If there are none of these, it is
        the one that violates the limits least.
        """
        return self._reportable(self.observations.X)

    def _reportable(self, X: Array) -> Mask:
        valid = self.space.is_valid(X)
        return valid if self.limits is None else self.limits.reportable(X, valid)

    @cached_property
    def own_bound(self) -> Array:
        """The strategy's bound when it chose a point, ``(n,)``; NaN if it did not choose it."""
        return own_bounds(self.trials, self.observations)

    @cached_property
    def worst(self) -> tuple[Array, Array, Array]:
        """The mean, noise variance and value that the strategy reports by, each ``(n,)``."""
        return pessimistic_values(self.bound, self.observations.X)

    @property
    def pessimistic(self) -> Array:
        """The value that the strategy reports by at each evaluated point, ``(n,)``."""
        return self.worst[2]

    @property
    def best_pessimistic(self) -> float | None:
        """The largest value that the strategy reports by; None if no evaluated point is legal.

        A point that is not sure to keep the limits of its outcomes does not count, even if there
        is no other. Of thousands of points, those count that the model has kept.
        """
        X = self.bound.model.observations.X
        legal = self.space.is_valid(X)
        if self.limits is not None:
            legal &= self.limits.kept(X)
        value = pessimistic_values(self.bound, X)[2][legal]
        return float(value.max()) if len(value) else None


def check_risk(risk: object) -> None:
    """Refuse what is neither a risk measure nor None."""
    if risk is not None and not isinstance(risk, RiskMeasure):
        raise SettingsError(f"risk must be a RiskMeasure such as MeanStd(kappa=1.0), got {risk!r}.")


def snapshots_after(
    settings: PolicySettings,
    fitting: Fitting,
    trials: Sequence[Trial],
    fits: Fits,
    ends: Iterable[int],
    risk: RiskMeasure | None = None,
    limits: Iterable[Limits | None] = (),
) -> Iterator[Snapshot]:
    """Yield what was known after the first ``end`` trials, for each end.

    The hyperparameters are those that the run had at the time, see `Fitting.believed_after`. The
    ``limits`` are those of each end, if outcomes have limits.
    """
    ends = list(ends)
    for end in ends:
        if not is_whole(end) or not 1 <= end <= len(trials):
            raise SettingsError(
                f"Each end must be a number of trials from 1 to {len(trials)}, got {end!r}."
            )
        if not valued(trials[:end]):
            raise NotReadyError(f"None of the first {end} trials has a value. Pass a larger end.")
    past = fitting.believed_after(trials, fits, ends)
    then = chain(limits, repeat(None))
    for end, model, limit in zip(ends, past, then, strict=False):
        yield Snapshot.of(settings, trials[:end], model, risk, limit)
