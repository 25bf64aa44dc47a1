"""What a run knows: its trials, what is believed after them, and what that says to a user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from rahbo.analysis import (
    LEVEL,
    BlockEffects,
    Conditions,
    Diagnosis,
    Frontier,
    Numbers,
    Prediction,
    Recommendation,
    Rule,
    Snapshot,
    check_level,
    check_rule,
    diagnose,
    frontier_of,
    predict,
    recommend,
    recommend_under,
    snapshots_after,
)
from rahbo.errors import DataError, NotReadyError, at
from rahbo.model import Beliefs, MeanNoiseModel, Models, OutcomeBeliefs
from rahbo.numerics import one_blas_thread, shared_by_threads
from rahbo.policy import Limits, PolicySettings
from rahbo.risk import RiskMeasure
from rahbo.settings import Settings
from rahbo.space import Space, is_frame, is_frame_row
from rahbo.trials import (
    Counts,
    Ledger,
    Observations,
    Trial,
    as_frame,
    header,
    observations_of,
    rows_of,
    shortened,
    valued,
    write_csv,
)

Params = Mapping[str, Any]
R = TypeVar("R", Prediction, Recommendation, Frontier, Diagnosis)


@shared_by_threads()
class Knowledge:
    """The settings and trials of a run, and everything that follows from them.

    Nothing here changes the run. `Optimizer` adds asking and telling.

    Args:
        settings: The settings of the run.
        trials: The trials by id. Changes of the run are written there.

    Attributes:
        settings: The settings of the run.
        ledger: The trials, and who has them.
        beliefs: The models after these trials, kept to save time.
        outcomes: The models of outcomes with limits, kept to save time.
        numbers: What the trials are called where their values come from; None if that is here.
    """

    numbers: Numbers | None = None

    def __init__(self, settings: Settings, trials: MutableMapping[int, Trial]) -> None:
        self.settings = settings
        self.ledger = Ledger(trials)
        self._lock = self.ledger.lock
        self.beliefs = Beliefs(settings.fitting)
        self.outcomes = OutcomeBeliefs(settings.outcome_fittings)

    def __getstate__(self) -> dict[str, Any]:
        # Models follow from settings and trials, and some cannot be pickled.
        with self._lock.here():
            kept = self.ledger.copied()
        fresh = Beliefs(self.settings.fitting)
        outcomes = OutcomeBeliefs(self.settings.outcome_fittings)
        known = {**self.__dict__, "ledger": kept, "_lock": kept.lock}
        return {**known, "beliefs": fresh, "outcomes": outcomes}

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial so far, in order. With the settings they are the whole state of the run."""
        return tuple(self.ledger.trials.values())

    @property
    def space(self) -> Space:
        """The space. A point that was told decodes to the parameters it was told with."""
        return self.settings.space.with_told(self.ledger.params())

    @property
    def n_evaluations(self) -> int:
        """Single evaluations so far, failures included."""
        return self.counts.made()

    @property
    def counts(self) -> Counts:
        """How many trials and evaluations there are, by where their points came from."""
        return self.ledger.counts

    @property
    def policy(self) -> PolicySettings:
        """The settings that decide where to evaluate next, and whether repeats are noise."""
        return self.settings.policy.given(self.ledger.repetition)

    # -- believing ---------------------------------------------------------------------------

    @property
    def observations(self) -> Observations:
        """The data, in the sense of maximisation."""
        return observations_of(valued(self.ledger.trials.values()), self.settings.sign)

    @property
    def model(self) -> MeanNoiseModel:
        """Both posteriors given all data, in the sense of maximisation."""
        with one_blas_thread():
            return self.beliefs.now(self.ledger.trials.values())

    @property
    def limits(self) -> Limits | None:
        """What is believed of the outcomes that have limits; None without constraints."""
        with one_blas_thread():
            return self.limits_given(self.outcomes.now(self.ledger.trials.values()))

    def limits_given(self, models: Models) -> Limits | None:
        """Return the limits with these models of their outcomes; None without constraints."""
        return Limits.of(self.settings.constraints, models)

    def snapshot(self, *, risk: RiskMeasure | None = None) -> Snapshot:
        """Return what is known now, for reports and plots, under this risk or the run's own."""
        return Snapshot.of(self.policy, self.trials, self.model, risk, self.limits)

    def snapshots_after(
        self, ends: Iterable[int], *, risk: RiskMeasure | None = None
    ) -> Iterator[Snapshot]:
        """Yield what was known after the first ``end`` trials, for each end.

        Nothing is learned again: the hyperparameters are those the run had at the time, or those
        of its first fit if that came later. At least one trial up to each end needs a value.
        """
        _ = self.model  # learns what is not learned yet
        own, fits, trials, ends = self.settings, self.beliefs.fits, self.trials, list(ends)
        if not own.constraints:
            return snapshots_after(own.policy, own.fitting, trials, fits, ends, risk)
        _ = self.limits
        past = map(self.limits_given, self.outcomes.after(trials, ends))
        return snapshots_after(own.policy, own.fitting, trials, fits, ends, risk, past)

    # -- as a table --------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each value and each failure, as a list of dicts.

        The names are ``trial`` and ``source``, the parameters and conditions, ``repeat``, ``block``
        and ``value``, the outcomes with limits, ``failure``, the reason if there is no value, and
        ``time``, when the value or failure was told, such as ``2026-11-16T23:14:07.123Z``. What is
        missing is None. A parameter or outcome that has the name of another column is called
        ``parameter NAME`` or ``outcome NAME``.
        """
        settings = self.settings
        return rows_of(self.trials, settings.space.names, tuple(settings.constraints))

    def to_frame(self) -> Any:
        """Return the `rows` as a pandas DataFrame, with each ``time`` as a date in UTC.

        Raises:
            MissingLibraryError: pandas is not installed.
        """
        return as_frame(self._header, self.rows())

    def to_csv(self, path: str | PathLike[str]) -> Path:
        """Write the `rows` as a CSV file and return its path. An existing file is replaced."""
        return write_csv(path, self._header, self.rows())

    @property
    def _header(self) -> list[str]:
        return header(self.settings.space.names, self.settings.constraints)

    # -- reporting ---------------------------------------------------------------------------

    def recommend(self, *, rule: Rule = "pessimistic", risk: RiskMeasure | None = None,
                  level: float = LEVEL, context: Params | None = None,
                  conditions: Conditions | None = None,
                  risk_over_conditions: bool = False) -> Recommendation:  # fmt: skip
        """Return the evaluated point to use, and what is known about it.

        Args:
            rule: ``"pessimistic"``, the largest lower bound now; ``"own_round"``, the largest
                lower bound at the time a point was chosen (Corollary 1.1); ``"best_observed"``,
                the best sample mean; ``"empirical"``, the best risk of sample mean and variance.
            risk: A risk measure to use instead of the run's, for the rules ``"pessimistic"`` and
                ``"empirical"``. The strategy's bounds on mean and noise stay the same.
            level: Probability of each interval and of the bound on the gain.
            context: The conditions to decide for, in a space with conditions. The record's
                ``params`` contain them.
            conditions: Several equally likely conditions, to find one setting for all of them, as
                dicts or a data frame; ``params`` then has no conditions. By default those told so
                far, at most 64 of them. Time is always the newest one.
            risk_over_conditions: Whether the variance of the mean between these conditions is
                added to the noise variance.
        """
        check_rule(rule, risk)
        check_level(level)
        if is_frame(conditions):
            conditions = self.settings.space.conditions_in(conditions)
        special = context is not None or conditions is not None or risk_over_conditions
        with one_blas_thread():
            known = self.snapshot(risk=risk)
            if self.settings.space.conditions or special:
                asked = context, conditions, bool(risk_over_conditions)
                found = recommend_under(known, *asked, rule, level)
            else:
                found = recommend(known, rule, level)
            return self.in_user_sign(found).told_as(self.numbers)

    def tried_at(self, params: Params) -> dict[str, Any]:
        """Return parameters with the conditions under which these choices were tried last.

        In a space without conditions they are returned unchanged. A report shows a recommended
        choice at this point.
        """
        space = self.settings.space
        if not space.conditions:
            return dict(params)
        chosen = {name: v for name, v in params.items() if name not in space.conditions}
        for trial in reversed(valued(self.ledger.trials.values())):
            there = space.encode({**trial.params, **chosen})
            if trial.is_at(there) and space.is_valid(there[None])[0]:
                return self.space.decode(there)
        raise NotReadyError(f"No value was told at {dict(params)!r}.")

    def frontier(self, *, level: float = LEVEL) -> Frontier:
        """Return mean against noise of the evaluated points, and what each alpha would report.

        It needs no new evaluation, so you can choose alpha after looking at it. At the run's own
        alpha it gives the recommended point; for a measure without one, `Frontier.alphas` says at
        which alphas. `GPUCB` ignores the noise and so recommends the
        point of alpha = 0; for other alphas the frontier shows the pessimistic choice.

        Args:
            level: Probability of each interval in the records.
        """
        check_level(level)
        with one_blas_thread():
            return self.in_user_sign(frontier_of(self.snapshot(), level))

    def diagnose(self) -> Diagnosis:
        """Return a diagnosis of the noise and the model.

        It says whether the noise is uneven and over which inputs, whether risk changes the
        decision, how many repeats are worth their cost, and whether the model is calibrated. It
        needs only values, such as a table of past results in ``data``, repeated or not.
        """
        with one_blas_thread():
            return self.in_user_sign(diagnose(self.snapshot()))

    @property
    def blocks(self) -> BlockEffects | None:
        """How much blocks differ, and the effect of each; None if fewer than two have values."""
        with one_blas_thread():
            found = BlockEffects.of(self.model, LEVEL)
        return found if found is None or self.settings.sign > 0 else found.negated()

    @overload
    def predict(self, params: Params, *, level: float = LEVEL) -> Prediction: ...

    @overload
    def predict(self, params: Iterable[Params], *, level: float = LEVEL) -> list[Prediction]: ...

    def predict(self, params: Params | Iterable[Params], *, level: float = LEVEL
                ) -> Prediction | list[Prediction]:  # fmt: skip
        """Return the mean, noise and risk predicted at one setting, or at each of several.

        One setting is a dict or a row of a pandas frame. Several settings are an iterable of these,
        or a data frame whose columns are the parameters.
        """
        check_level(level)
        is_one = isinstance(params, Mapping) or is_frame_row(params)
        several = self._settings_in([params] if is_one else params)
        if not several:
            return []
        X = np.empty((len(several), self.settings.space.d))
        for i, one in enumerate(several):
            with nullcontext() if is_one else at(f"params[{i}]"):
                X[i] = self.settings.space.encode(one)
        with one_blas_thread():
            known = self.snapshot()
            found = predict(known.bound, known.risk, X, several, level, known.limits)
        records = [self.in_user_sign(record) for record in found]
        return records[0] if is_one else records

    def _settings_in(self, given: Any) -> list[dict[str, Any]]:
        """Return several settings as dicts."""
        space = self.settings.space
        if is_frame(given):
            return space.rows_in(given)
        found = list(given) if isinstance(given, Iterable) else [given]
        for i, one in enumerate(found):
            if is_frame_row(one):
                with at(f"params[{i}]"):
                    (found[i],) = space.rows_in(one.to_frame().T)
            elif not isinstance(one, Mapping):
                raise DataError(
                    f"params[{i}]: A setting must be a dict of {list(space.names)}, got "
                    f"{shortened(repr(one))}. Pass a dict, a list of dicts or a data frame."
                )
        return [dict(one) for one in found]

    def in_user_sign(self, record: R) -> R:
        """Return a record of the maximised quantity in the sign of the user's values."""
        return record if self.settings.sign > 0 else record.negated()
