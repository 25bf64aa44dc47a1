"""What a run says to a user: recommendation, prediction, frontier, diagnosis, and its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    check_level,
    check_rule,
    diagnose,
    frontier_of,
    predict,
    recommend,
    recommend_under,
)
from rahbo.errors import DataError, NotReadyError, at
from rahbo.model import MeanNoiseModel
from rahbo.numerics import one_blas_thread
from rahbo.policy import Limits, limits, report_bound
from rahbo.risk import RiskMeasure
from rahbo.settings import Settings
from rahbo.space import Space, is_frame, is_frame_row
from rahbo.state import State
from rahbo.trials import (
    Observations,
    Trial,
    as_frame,
    header,
    rows_of,
    shortened,
    valued,
    write_csv,
)

Params = Mapping[str, Any]
R = TypeVar("R", Prediction, Recommendation, Frontier, Diagnosis)


class Reports:
    """What a state says to a user. Nothing here changes the run; `Optimizer` asks and tells.

    Attributes:
        state: What the run knows.
        numbers: What the trials are called where their values come from; None if that is here.
    """

    numbers: Numbers | None = None

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def state(self) -> State:
        """What the run knows now. Later changes of the run are in other states."""
        return self._state

    @property
    def settings(self) -> Settings:
        """The settings of the run."""
        return self.state.settings

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial so far, in order. With the settings they are the whole state of the run."""
        return tuple(self.state.trials.values())

    @property
    def space(self) -> Space:
        """The space. A point that was told decodes to the parameters it was told with."""
        return self.settings.space.with_told(self.state.params)

    @property
    def n_evaluations(self) -> int:
        """Single evaluations so far, failures included."""
        return self.state.counts.made()

    @property
    def observations(self) -> Observations:
        """The data, in the sense of maximisation."""
        return self.state.observations

    @property
    def model(self) -> MeanNoiseModel:
        """Both posteriors given all data, in the sense of maximisation."""
        return self.state.model

    @property
    def limits(self) -> Limits | None:
        """What is believed of the outcomes that have limits; None without constraints."""
        with one_blas_thread():
            return limits(self.state)

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
            state = self.state.by(risk)
            _ = state.model  # raises an error before the first value
            if self.settings.space.conditions or special:
                asked = context, conditions, bool(risk_over_conditions)
                found = recommend_under(state, *asked, rule, level)
            else:
                found = recommend(state, rule, level)
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
        for trial in reversed(valued(self.state.trials.values())):
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
            return self.in_user_sign(frontier_of(self.state, level))

    def diagnose(self) -> Diagnosis:
        """Return a diagnosis of the noise and the model.

        It says whether the noise is uneven and over which inputs, whether risk changes the
        decision, how many repeats are worth their cost, and whether the model is calibrated. It
        needs only values, such as a table of past results in ``data``, repeated or not.
        """
        with one_blas_thread():
            return self.in_user_sign(diagnose(self.state))

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
            state = self.state
            bound, kept = report_bound(state), limits(state)
            found = predict(bound, state.risk, X, several, level, kept)
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
