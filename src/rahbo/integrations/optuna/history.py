"""The trials of a study as evaluations of points, and the recommendation they give.

A *point* is the set of all trials with exactly equal parameters. A trial that `RahboSampler`
proposed records how many evaluations its point should have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from rahbo.analysis import Numbers, Recommendation, Rule
from rahbo.errors import NotReadyError, SettingsError, SpaceError
from rahbo.integrations.optuna.beside import Reading, is_broken_for_sure, outcome_names
from rahbo.integrations.optuna.distributions import Kinds, merged, shared, space_of
from rahbo.integrations.optuna.repeats import VALUES, is_measured, seed_of
from rahbo.numerics import spells_out
from rahbo.optimizer import Optimizer
from rahbo.settings import Keywords, setting_parameters
from rahbo.space import Space
from rahbo.trials import Trial, is_time

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

Internal = dict[str, float]


@shows_settings
def recommend(
    study: Study,
    *,
    rule: Rule = "pessimistic",
    level: float = 0.9,
    probability: float = 0.95,
    block_attr: str | None = None,
    **settings: Unpack[Keywords],
) -> Recommendation:
    """Return the risk-averse recommendation for a study, whatever its sampler.

    Trials with equal parameters are repeats, and so are the values of a `repeated` trial. Without
    repeats, the noise is learned from how far each trial lies from what the others predict.

    Args:
        study: A study with one objective. The model uses the parameters that all complete trials
            have, over all ranges they had.
        rule: As for `Optimizer.recommend`.
        level: As for `Optimizer.recommend`.
        probability: The probability with which each of Optuna's constraints must be kept, noise
            included.
        block_attr: The user attribute that names the block of each trial, such as its fold; None
            if there are no blocks.
        **settings: Settings of `Optimizer`, such as ``risk``.

    Returns:
        The recommendation. Its parameters are exactly as stored in its trials. A parameter that
        only some trials have is left out if the trials of the recommended point differ in it.

    >>> import optuna, rahbo
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=20)
    >>> abs(recommend(study, risk=rahbo.MeanVariance(2.0)).params["x"]) < 0.2
    True
    """
    history = _history(study, settings, Reading(probability, block_attr))
    found = history.optimizer.recommend(rule=rule, level=level)
    return found.told_as(params=history.stored)


@shows_settings
def optimizer_of(
    study: Study,
    *,
    probability: float = 0.95,
    block_attr: str | None = None,
    **settings: Unpack[Keywords],
) -> Optimizer:
    """Return an `Optimizer` that was told the finished trials of a study.

    Args:
        study: The study, as for `recommend`.
        probability: As for `recommend`.
        block_attr: As for `recommend`.
        **settings: Settings of `Optimizer`. The default seed is derived from the study's name.
    """
    return _history(study, settings, Reading(probability, block_attr)).optimizer


def _history(study: Study, settings: Mapping[str, Any], reading: Reading) -> StudyHistory:
    check_study(study)
    check_settings(settings)
    found = [record for record in records(study) if record.outcomes and not record.under_way]
    if not any(value is not None for record in found for value in record.outcomes):
        raise NotReadyError(
            f"Study {study.study_name!r} has no complete trial with a finite value and finite "
            "constraints. Run some trials first."
        )
    kinds = merged(shared(record.trial for record in found))
    if not kinds:
        raise SpaceError(
            f"The complete trials of study {study.study_name!r} must share a parameter that takes "
            "more than one value, but they share none. Suggest one in every trial."
        )
    return StudyHistory.of(study, kinds, found, settings, reading)


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
    return all(name in params and kind._contains(params[name]) for name, kind in kinds.items())


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
        direction = "maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize"
        space = space_of(kinds)
        there = [record for record in found if has(record.params, kinds)]
        names = outcome_names([record.trial for record in there], kinds)
        trials: list[Trial] = []
        for record in there:
            told = _with_outcomes(_blank(trials, record.params, kinds, space), record)
            beside = reading.beside(record.trial, told.values, names)
            trials.append(replace(told, beside=beside))
        for point in lacking:
            blank = _blank(trials, point.params, kinds, space)
            trials.append(replace(blank, n_requested=point.free))
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
        """Return the parameters on which the trials of a point agree, as Optuna stores them."""
        there = [record for record in self.at(params) if record.outcomes]
        first = there[0]
        return {
            name: first.trial.params[name]
            for name, number in first.params.items()
            if all(name in self.kinds or r.params.get(name) == number for r in there)
        }


def _blank(before: list[Trial], params: Internal, kinds: Kinds, space: Space) -> Trial:
    values = external(params, kinds)
    return Trial(len(before), values, space.encode(values), 0, "user")


def _with_outcomes(trial: Trial, record: StudyTrial) -> Trial:
    outcomes, asked = dict(enumerate(record.outcomes)), record.asked
    state = record.trial.state.name.lower()
    # A date of Optuna has no zone: it is that of this machine.
    ended = record.trial.datetime_complete
    seconds = round(ended.timestamp(), 3) if ended is not None else None
    return replace(
        trial,
        n_requested=len(outcomes) + record.under_way,
        source=asked.get("source", "user"),
        values={i: value for i, value in outcomes.items() if value is not None},
        failures={i: state for i, value in outcomes.items() if value is None},
        own_bound=asked.get("bound"),
        cancelled=record.lost,
        times=dict.fromkeys(outcomes, seconds) if is_time(seconds) else {},
    )


def external(params: Internal, kinds: Kinds) -> dict[str, Any]:
    """Return values in user units from Optuna's internal numbers."""
    return {name: kind.to_external_repr(params[name]) for name, kind in kinds.items()}


def numbers(params: Mapping[str, Any], kinds: Kinds) -> Internal:
    """Return Optuna's internal numbers for the values that have a distribution."""
    return {n: float(kinds[n].to_internal_repr(v)) for n, v in params.items() if n in kinds}
