"""The trials of a study as evaluations of points.

A *point* is the set of all trials with exactly equal parameters. A trial that `RahboSampler`
proposed records how many evaluations its point should have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from rahbo.analysis import Numbers
from rahbo.errors import SettingsError
from rahbo.integrations.optuna.beside import Reading, is_broken_for_sure, outcome_names
from rahbo.integrations.optuna.distributions import (
    Internal,
    Kinds,
    external,
    holds,
    numbers,
    space_of,
)
from rahbo.integrations.optuna.repeats import VALUES, is_measured, seed_of
from rahbo.integrations.optuna.tried import row_of, tried
from rahbo.numerics import spells_out
from rahbo.optimizer import Optimizer
from rahbo.settings import setting_parameters
from rahbo.space import Space
from rahbo.trials import Trial

# System attributes of a trial: what it was proposed for, and whether its objective failed.
ASKED, FAILED = "rahbo:asked", "rahbo:failed"
# If more workers than this die at a point, the point is assumed to kill them and has failed.
MAX_LOST = 3
# Settings of `Optimizer` that come from the study.
IN_STUDY = ("space", "direction", "data", "trials", "journal", "constraints", "blocks")

# Settings that a study cannot have, with a reason of their own.
REFUSED = (*IN_STUDY, "safe", "try_first")
# Every function that takes settings shows them, and says why it refuses these.
shows_settings = spells_out(
    [parameter for parameter in setting_parameters() if parameter.name not in REFUSED],
    let_through=REFUSED,
)


def check_study(study: Study) -> None:
    """Refuse a study with several objectives."""
    if len(study.directions) > 1:
        raise SettingsError(
            f"A study must have one objective, but {study.study_name!r} has "
            f"{len(study.directions)}. Use one study for each, or combine them into one value."
        )


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings that come from the study."""
    refused = [name for name in IN_STUDY if name in settings]
    if refused:
        raise SettingsError(
            f"The study itself determines {', '.join(refused)}. Leave out these settings."
        )
    if settings.get("try_first"):
        raise SettingsError(
            "try_first= is not possible with Optuna, which has study.enqueue_trial() for it. Call "
            "that instead."
        )
    if settings.get("safe"):
        raise SettingsError(
            "safe=True is not possible with Optuna, whose first trial is sampled at random. Use "
            "rahbo.Optimizer."
        )


# -- trials ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StudyTrial:
    """One trial of a study.

    Attributes:
        trial: Optuna's own record of the trial.
        params: The parameters in Optuna's internal numbers; for an unfinished trial, also those
            that were proposed but not suggested yet.
        outcomes: The values of its evaluations, None for a failure.
        lost: Whether its worker died.
    """

    trial: FrozenTrial
    params: Internal
    outcomes: tuple[float | None, ...]
    lost: bool

    @property
    def asked(self) -> dict[str, Any]:
        """The proposal that led to the trial; empty if `RahboSampler` did not propose it."""
        return self.trial.system_attrs.get(ASKED) or {}

    @property
    def under_way(self) -> bool:
        """Whether it is running or waiting to run."""
        return not self.lost and not self.trial.state.is_finished()

    @property
    def undecided(self) -> bool:
        """Whether it is running and has no parameters yet."""
        running = self.under_way and self.trial.state == TrialState.RUNNING
        return running and not self.asked and not self.params

    @property
    def key(self) -> frozenset[tuple[str, float]]:
        """A key that is equal for trials with equal parameters."""
        return frozenset(self.params.items())


def records(study: Study) -> list[StudyTrial]:
    """Return all trials of a study, in order."""
    storage = study._storage
    watched = _has_heartbeat(storage)
    stale = set(storage._get_stale_trial_ids(study._study_id)) if watched else set()
    found = []
    for trial in study.get_trials(deepcopy=False):
        # If a worker dies, others mark its trial as failed. If an objective fails, its own worker
        # also sets `FAILED`.
        unexplained = trial.state == TrialState.FAIL and FAILED not in trial.system_attrs
        lost = trial._trial_id in stale or (watched and unexplained)
        params = numbers(trial.params, trial.distributions)
        if lost or not trial.state.is_finished():
            asked = trial.system_attrs.get(ASKED) or {}
            params = {**asked.get("params", {}), **params}
        found.append(StudyTrial(trial, params, () if lost else _outcomes(trial), lost))
    deaths = Counter(record.key for record in found if record.lost)
    return [
        replace(record, outcomes=(None,), lost=False)
        if record.lost and deaths[record.key] > MAX_LOST
        else record
        for record in found
    ]


def _has_heartbeat(storage: BaseStorage) -> bool:
    interval = getattr(storage, "get_heartbeat_interval", None)
    return interval is not None and interval() is not None


def _outcomes(trial: FrozenTrial) -> tuple[float | None, ...]:
    """Return the values of a trial so far; None for a failure or an infinite constraint."""
    if trial.state in (TrialState.FAIL, TrialState.PRUNED):
        return (None,)
    kept = trial.user_attrs.get(VALUES)
    values = kept if isinstance(kept, list) else []
    if trial.state == TrialState.COMPLETE:
        values = values or [trial.value]
        if is_broken_for_sure(trial):
            return (None,) * len(values)
    return tuple(float(value) if is_measured(value) else None for value in values)


# -- points ----------------------------------------------------------------------------------


@dataclass(eq=False)
class Point:
    """All trials with equal parameters.

    Attributes:
        params: The parameters in Optuna's internal numbers.
        wanted: The number of evaluations the point should have.
        given: The number it has or is about to get, including failures.
        known: Whether at least one evaluation gave a value or was lost with its worker.
    """

    params: Internal
    wanted: int = 0
    given: int = 0
    known: bool = False

    @property
    def free(self) -> int:
        """The number of missing evaluations. If the first one failed, no more are made."""
        return max(0, self.wanted - self.given) if self.known else 0


def points(found: Iterable[StudyTrial]) -> dict[frozenset[tuple[str, float]], Point]:
    """Return the points of some trials, oldest first."""
    by_key: dict[frozenset[tuple[str, float]], Point] = {}
    for record in found:
        point = by_key.setdefault(record.key, Point(record.params))
        point.wanted = max(point.wanted, record.asked.get("repeats", 0))
        point.known |= record.lost or any(value is not None for value in record.outcomes)
        if record.lost:
            continue
        point.given += max(1, len(record.outcomes))
        meant = by_key.get(frozenset(record.asked.get("params", {}).items()), point)
        if meant is not point and "source" not in record.asked:
            # Count a repeat that ended up with other parameters, so it is not retried for ever.
            meant.given += 1
    return by_key


def has(params: Internal, kinds: Kinds) -> bool:
    """Return whether each distribution contains its parameter's value."""
    return all(name in params and holds(kind, params[name]) for name, kind in kinds.items())


@dataclass(frozen=True, eq=False)
class StudyHistory:
    """The trials of a study, restricted to some of its parameters.

    Attributes:
        kinds: The distributions of these parameters.
        records: The trials that have all these parameters.
        optimizer: An optimizer that was told these trials, in this order.
    """

    kinds: Kinds
    records: list[StudyTrial]
    optimizer: Optimizer

    @classmethod
    def of(
        cls,
        study: Study,
        kinds: Kinds,
        found: Iterable[StudyTrial],
        settings: Mapping[str, Any],
        reading: Reading,
        lacking: Iterable[Point] = (),
    ) -> StudyHistory:
        """Read some trials, and count the evaluations that points lack as under way.

        A lost trial is a cancelled one. It still counts as asked for, because the random numbers of
        a proposal depend on how many came before.
        """
        space = space_of(kinds)
        there = [record for record in found if has(record.params, kinds)]
        rows = [external(record.params, kinds) for record in there]
        more = [(external(point.params, kinds), point.free) for point in lacking]
        return cls._told(study, kinds, there, space, rows, settings, reading, more)

    @classmethod
    def of_tried(
        cls,
        study: Study,
        kinds: Kinds,
        found: Iterable[StudyTrial],
        settings: Mapping[str, Any],
        reading: Reading,
        why: str,
    ) -> StudyHistory:
        """Read trials with different parameters. Only their own settings can be recommended.

        A trial that failed may have failed before it had all its parameters. It counts if a
        complete one has the same.
        """
        found = list(found)
        whole = {frozenset(r.params) for r in found if r.trial.state == TrialState.COMPLETE}
        there = [record for record in found if frozenset(record.params) in whole]
        kinds = {
            name: kind
            for name, kind in kinds.items()
            if not kind.single() or any(name not in record.params for record in there)
        }
        listed = tried([record.params for record in there], kinds, why)
        rows = [row_of(record.params, kinds) for record in there]
        return cls._told(study, kinds, there, Space.of(listed), rows, settings, reading)

    @classmethod
    def _told(
        cls,
        study: Study,
        kinds: Kinds,
        there: list[StudyTrial],
        space: Space,
        rows: list[dict[str, Any]],
        settings: Mapping[str, Any],
        reading: Reading,
        lacking: Iterable[tuple[dict[str, Any], int]] = (),
    ) -> StudyHistory:
        """Tell an optimizer trials whose settings in user units are ``rows``."""
        direction = "maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize"
        names = outcome_names([record.trial for record in there], kinds)
        trials: list[Trial] = []
        for record, row in zip(there, rows, strict=True):
            told = reading.told(record.trial, record.outcomes, names)
            trials.append(_asked(_blank(trials, row, space), record).with_told(told))
        for row, free in lacking:
            trials.append(replace(_blank(trials, row, space), n_requested=free))
        settings = {"seed": seed_of(study), **settings, "direction": direction}
        if names:
            settings["constraints"] = reading.limits(names.values())
        optimizer = Optimizer(space, trials=trials, **settings)
        numbers = {i: (record.trial.number,) for i, record in enumerate(there)}
        optimizer.numbers = Numbers("trial", numbers)
        return cls(kinds, there, optimizer)

    def at(self, params: Mapping[str, Any]) -> list[StudyTrial]:
        """Return the trials at a point."""
        x = self.optimizer.settings.space.encode(params)
        pairs = zip(self.records, self.optimizer.trials, strict=False)
        return [record for record, trial in pairs if trial.is_at(x)]

    def numbers(self, params: Mapping[str, Any]) -> Internal:
        """Return a point in Optuna's internal numbers, exactly as stored if it was tried."""
        there = self.at(params)
        exact = there[0].params if there else numbers(params, self.kinds)
        return {name: exact[name] for name in self.kinds}

    def stored(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters of the first trial with a value at a point, as Optuna stores them.

        Others there have the same, where all trials of the study have the same parameters.
        """
        return next(
            dict(record.trial.params)
            for record in self.at(params)
            if any(value is not None for value in record.outcomes)
        )


def _blank(before: list[Trial], params: dict[str, Any], space: Space) -> Trial:
    return Trial(len(before), params, space.encode(params), 0, "user")


def _asked(trial: Trial, record: StudyTrial) -> Trial:
    return replace(
        trial,
        n_requested=len(record.outcomes) + record.under_way,
        source=record.asked.get("source", "user"),
        own_bound=record.asked.get("bound"),
        cancelled=record.lost,
    )
