"""Bluesky: an optimizer for blop's plans, with repeats, failures, stopping and a journal.

`RahboOptimizer` takes the place of blop's `AxOptimizer` in an `OptimizationProblem`. Each repeat of
a setting is a suggestion of its own. Its ``"_id"`` is the number of the rahbo suggestion and the
index of the repeat, such as ``"7-2"``, so that it still means the same after a restart.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from threading import Lock
from typing import Any, Unpack

import numpy as np
from blop import protocols
from blop.protocols import ID_KEY
from bluesky.utils import FailedPause, RunEngineControlException

from rahbo import Candidates, Categorical, Float, Int
from rahbo.errors import DataError, ExhaustedError, SettingsError, SpaceError
from rahbo.journal import FileName, Storage
from rahbo.numerics import is_real_number, is_whole, unwrapped
from rahbo.optimizer import Optimizer
from rahbo.running import Stop, checked_stop
from rahbo.settings import Keywords
from rahbo.space import Parameter, Space
from rahbo.trials import Suggestion, checked_told

__all__ = ["RahboOptimizer", "space_of"]

# What blop calls a reading at the present positions of the actuators.
BASELINE = "baseline"
# What the RunEngine throws into a plan when an operator ends it. It says nothing of the setting.
ENDED_BY_OPERATOR = (RunEngineControlException, FailedPause)

Place = tuple[int, int]


@dataclass(frozen=True)
class Reading:
    """What an ingested point says.

    Attributes:
        place: The suggestion and the repeat that it belongs to; None if it was measured elsewhere.
        setting: The parameters that it contains.
        value: The objective, or None if the reading failed.
        reason: Why there is no value.
        outcomes: The outcomes with limits; None if there are no limits.
        block: The block, or None.
    """

    place: Place | None
    setting: dict[str, Any]
    value: Real | None
    reason: str
    outcomes: dict[str, Any] | None
    block: Any


class RahboOptimizer(
    protocols.Optimizer,
    protocols.CanRegisterSuggestions,
    protocols.TrialFaultAware,
    protocols.SupportsStoppingCriteria,
    protocols.Checkpointable,
):
    """An optimizer for blop's plans that finds settings that are good and quiet.

    All other keywords are settings of `Optimizer`: ``risk``, ``repeats``, ``method``, ...

    Args:
        dofs: The degrees of freedom: blop's ``RangeDOF`` and ``ChoiceDOF``, or a space of rahbo.
        objective: blop's ``Objective``, or the name of the outcome to optimise.
        evaluations: Stop after this many readings, failures and manual points included. A run that
            goes on from its journal counts those it has. None leaves it to the plan.
        stop: A function of a state that ends the run early, such as `Gap`, once the
            initial design is done.
        block_outcome: The outcome that names the block of a reading, such as the fill of the ring;
            None if there are no blocks.
        journal: The file or `Storage` that keeps the run. If it already holds one, that run
            continues.

    Attributes:
        rahbo: The `Optimizer` behind it, for `recommend`, `predict` and `frontier`.

    >>> optimizer = RahboOptimizer({"pitch": (-1.0, 1.0)}, "flux", repeats=3, seed=0)
    >>> suggestions = optimizer.suggest(3)
    >>> [suggestion["_id"] for suggestion in suggestions]
    ['0-0', '0-1', '0-2']
    >>> optimizer.ingest([{"_id": s["_id"], "flux": 1.0 - s["pitch"] ** 2} for s in suggestions])
    >>> len(optimizer.rahbo.trials), optimizer.rahbo.n_evaluations
    (1, 3)
    """

    def __init__(
        self,
        dofs: Sequence[Any] | Mapping[str, Any] | Candidates | Space,
        objective: Any,
        *,
        evaluations: int | None = None,
        stop: Stop | None = None,
        block_outcome: str | None = None,
        journal: FileName | Storage | None = None,
        **settings: Unpack[Keywords],
    ) -> None:
        if evaluations is not None and not (is_whole(evaluations) and evaluations >= 1):
            raise SettingsError(f"evaluations must be a whole number >= 1, got {evaluations!r}.")
        if settings.get("blocks") is not None:
            raise SettingsError(
                "blocks= asks for readings in a given block, which blop's plans cannot do. Name "
                "the outcome that holds the block instead: block_outcome='fill'."
            )
        self.objective, direction = _objective(objective, settings.get("direction"))
        settings["direction"] = direction
        space = dofs if isinstance(dofs, Mapping | Candidates | Space) else space_of(dofs)
        self.rahbo = Optimizer(space, journal=journal, **settings)
        if self.rahbo.settings.space.conditions:
            raise SettingsError(
                "blop's plans cannot pass the conditions "
                f"{list(self.rahbo.settings.space.conditions)}. Use Optimizer.ask(context=...)."
            )
        self._evaluations = evaluations
        self._stop = checked_stop(stop, self.rahbo.settings)
        self._block_outcome, self._has_journal = block_outcome, journal is not None
        self._lock = Lock()
        # Repeats that blop has and has not reported.
        self._out: set[Place] = set()

    # -- what to measure ---------------------------------------------------------------------

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Return as many settings to measure as asked for, one by default.

        The repeats of a setting are suggestions of their own, with the same parameters. Those that
        do not fit into one call are returned by the next. Fewer are returned only if a list of
        candidates is exhausted.
        """
        n = 1 if num_points is None else num_points
        if not (is_whole(n) and n >= 1):
            raise SettingsError(f"suggest(n) needs a whole number >= 1, got {n!r}.")
        with self._lock:
            while len(self._free()) < n:
                try:
                    self.rahbo.ask()
                except ExhaustedError:
                    if not self._free():
                        raise
                    break
            return self._give(self._free()[:n])

    def confirm(self, n: int = 5) -> list[dict[str, Any]]:
        """Return ``n`` more readings of the leading settings, before one of them is used.

        Pass them to blop's plan ``sample_suggestions``. The recommended setting comes first, until
        it has been measured five times.
        """
        with self._lock:
            given = self.rahbo.confirm(n)
            return self._give([(s, i) for s in given for i in s.indices])

    def register_suggestions(
        self, suggestions: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return settings chosen by hand with an ``"_id"`` each, so that they can be measured.

        One that `suggest` or `confirm` returned, and that has not been ingested, keeps its
        ``"_id"``. Another ``"_id"`` is replaced.
        """
        with self._lock:
            kept = [self._is_out(suggestion) for suggestion in suggestions]
            chosen = [_params(s) for s, own in zip(suggestions, kept, strict=True) if not own]
            for params in chosen:
                self.rahbo.settings.space.encode(params)  # refuses all if one is wrong
            opened = [self.rahbo.ask_at(params) for params in chosen]
            new = iter(self._give([(s, 0) for s in opened]))
            return [
                dict(suggestion) if own else next(new)
                for suggestion, own in zip(suggestions, kept, strict=True)
            ]

    def take_back(self) -> None:
        """Let `suggest` return again what blop has and will not report.

        Call it after ``RE.halt()``, or if ``sample_suggestions`` was ended. blop tells an optimizer
        about neither.
        """
        with self._lock:
            self._out.clear()

    def _free(self) -> list[tuple[Suggestion, int]]:
        """Return the missing repeats that blop does not have, oldest first."""
        missing = ((s, i) for s in self.rahbo.open for i in s.indices)
        return [(s, i) for s, i in missing if (s.id, i) not in self._out]

    def _give(self, repeats: list[tuple[Suggestion, int]]) -> list[dict[str, Any]]:
        """Return repeats as blop's suggestions, and remember that blop has them."""
        self._out.update((s.id, i) for s, i in repeats)
        return [{ID_KEY: f"{s.id}-{i}", **s.params} for s, i in repeats]

    def _is_out(self, suggestion: Mapping[str, Any]) -> bool:
        """Return whether blop has this suggestion from us, unchanged."""
        place = _place(suggestion.get(ID_KEY))
        if place is None or place not in self._out:
            return False
        return self.rahbo.trials[place[0]].params == _params(suggestion)

    # -- what was measured -------------------------------------------------------------------

    def ingest(self, points: Sequence[Mapping[str, Any]]) -> None:
        """Record outcomes. A reading without a finite number is a failure.

        If one point is wrong, none is recorded.

        A point with one of our ``"_id"`` is told once: the same outcome again has no effect. A
        point without one, or with ``"baseline"``, was measured elsewhere and must contain its
        parameters.
        """
        with self._lock:
            readings = [self._read(point) for point in points]
            self._check(readings)
            for reading in readings:
                self._record(reading)
            self._give_up(r.place[0] for r in readings if r.place is not None)

    def register_failures(self, suggestions: Sequence[Mapping[str, Any]]) -> None:
        """Record that readings failed, as blop's plans do when one raises an exception.

        If an operator aborted or stopped the plan, the setting is not to blame. Its suggestions
        are then returned again by `suggest`.
        """
        error = sys.exc_info()[1]
        reason = "" if error is None else f"{type(error).__name__}: {error}"
        with self._lock:
            places = [self._known(suggestion.get(ID_KEY)) for suggestion in suggestions]
            self._out.difference_update(places)
            if isinstance(error, ENDED_BY_OPERATOR):
                return
            for number, repeat in places:
                self.rahbo.tell_failure(number, reason, repeat=repeat)
            self._give_up(number for number, _ in places)

    def _read(self, point: Mapping[str, Any]) -> Reading:
        """Return what a point says."""
        if self.objective not in point:
            raise DataError(
                f"An outcome needs the objective {self.objective!r}, got {sorted(point)}. Return "
                "it from the evaluation function, with NaN if a reading failed."
            )
        value = _single(self.objective, point[self.objective])
        limited = self.rahbo.settings.constraints
        return Reading(
            place=None if point.get(ID_KEY) in (None, BASELINE) else self._known(point[ID_KEY]),
            setting={n: point[n] for n in self.rahbo.settings.space.names if n in point},
            value=value,
            reason=f"{self.objective}={point[self.objective]!r}" if value is None else "",
            outcomes={name: point.get(name) for name in limited} or None,
            block=None if self._block_outcome is None else point.get(self._block_outcome),
        )

    def _check(self, readings: Sequence[Reading]) -> None:
        """Raise the error that telling the readings would raise, before any is told."""
        own, trials = self.rahbo.settings, dict(enumerate(self.rahbo.trials))
        for r in readings:
            if r.place is None:
                own.space.encode(r.setting)
            if r.value is None:
                continue
            (told,) = checked_told(r.value, r.outcomes, own.constraints, r.block, own.blocks or ())
            if r.place is not None:
                number, repeat = r.place
                trials[number] = trials[number].with_told({repeat: told})

    def _record(self, reading: Reading) -> None:
        """Tell one reading."""
        r, repeat = reading, None
        where: int | dict[str, Any] = r.setting
        if r.place is not None:
            where, repeat = r.place
        if r.value is None:
            self.rahbo.tell_failure(where, r.reason, repeat=repeat)
        else:
            self.rahbo.tell(where, r.value, repeat=repeat, outcomes=r.outcomes, block=r.block)
        if r.place is not None:
            self._out.discard(r.place)

    def _give_up(self, numbers: Iterable[int]) -> None:
        """Cancel the other repeats of suggestions that failed and have no value."""
        for number in set(numbers):
            trial = self.rahbo.trials[number]
            if trial.failures and not trial.n_values and trial.n_missing:
                self.rahbo.cancel(number)

    def _known(self, identifier: object) -> Place:
        """Return the suggestion and the repeat that an ``"_id"`` means."""
        place, trials = _place(identifier), self.rahbo.trials
        if place is None or place[0] >= len(trials) or place[1] >= trials[place[0]].n_requested:
            raise DataError(
                f"{ID_KEY}={identifier!r} is not a suggestion of this run, which has made "
                f"{len(trials)}. Leave it out for a point that was measured elsewhere."
            )
        return place

    # -- what is known -----------------------------------------------------------------------

    def get_best_points(self) -> list[tuple[str, dict[str, Any], dict[str, float]]]:
        """Return the recommended setting: the ``"_id"`` of its first reading, and mean outcomes.

        The outcomes are the means of all readings at the setting. ``rahbo.recommend()`` returns
        the whole recommendation, with the noise and its intervals.
        """
        best = self.rahbo.recommend()
        x = self.rahbo.settings.space.encode(best.params)
        here = [trial for trial in self.rahbo.trials if trial.n_values and trial.is_at(x)]
        told = {self.objective: [value for trial in here for value in trial.values.values()]}
        for each in (each for trial in here for each in trial.evaluations.values()):
            for name, value in each.outcomes.items():
                told.setdefault(name, []).append(value)
        outcomes = {name: float(np.mean(values)) for name, values in told.items()}
        return [(f"{here[0].id}-{min(here[0].values)}", best.params, outcomes)]

    def should_stop(self) -> tuple[bool, str | None]:
        """Return whether the run may end, and why: the readings are made, or ``stop`` is met."""
        made = self.rahbo.n_evaluations
        if self._evaluations is not None and made >= self._evaluations:
            return True, f"{made} of {self._evaluations} evaluations were made."
        designed = self.rahbo.state.counts.trials.get("strategy", 0) > 0
        if self._stop is not None and designed and self._stop(self.rahbo.state):
            return True, f"{self._stop!r} is met after {made} evaluations."
        return False, None

    def checkpoint(self) -> None:
        """Check that the run has a journal. It is up to date at any time, so nothing is written."""
        if not self._has_journal:
            raise SettingsError(
                "A checkpoint needs a journal. Pass journal='run.jsonl' to RahboOptimizer."
            )

    def close(self) -> None:
        """Release the journal, so that another process can continue the run."""
        self.rahbo.close()


def space_of(dofs: Sequence[Any]) -> dict[str, Parameter]:
    """Return blop's degrees of freedom as a space of rahbo.

    The name of a degree of freedom is that of its actuator, as in blop's suggestions.
    """
    return {dof.parameter_name: _parameter(dof) for dof in dofs}


def _parameter(dof: Any) -> Parameter:
    """Return a degree of freedom as a parameter."""
    if getattr(dof, "dependent_parameters", None):
        raise SpaceError(
            f"{dof.parameter_name} switches other degrees of freedom on and off, which rahbo "
            "cannot follow. Leave dependent_parameters out."
        )
    values = getattr(dof, "values", None)
    if values is not None:
        return Categorical(list(values))
    low, high = dof.bounds
    whole, log, step = dof.parameter_type == "int", dof.scaling == "log", dof.step_size
    if step is not None and not (whole and step == 1):
        raise SpaceError(
            f"{dof.parameter_name} has step_size={step!r}, but rahbo proposes any number between "
            "the bounds. Leave step_size out and let the actuator round, or list the values."
        )
    return Int(low, high, log) if whole else Float(low, high, log)


def _objective(objective: Any, direction: Any) -> tuple[str, Any]:
    """Return the name of the objective and the direction."""
    if isinstance(objective, str):
        return objective, direction or "maximize"
    name, minimize = getattr(objective, "name", None), getattr(objective, "minimize", None)
    if not isinstance(name, str) or not isinstance(minimize, bool):
        raise SettingsError(
            "objective must be one Objective of blop or the name of an outcome, got "
            f"{objective!r}. Combine several into one in the evaluation function."
        )
    own = "minimize" if minimize else "maximize"
    if direction not in (None, own):
        raise SettingsError(
            f"{objective!r} says {own}, got direction={direction!r}. Leave direction out."
        )
    return name, own


def _params(suggestion: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a suggestion."""
    return {name: value for name, value in suggestion.items() if name != ID_KEY}


def _place(identifier: object) -> Place | None:
    """Return the suggestion and the repeat that an ``"_id"`` of ours names; None if it is not."""
    found = re.fullmatch(r"(\d+)-(\d+)", identifier) if isinstance(identifier, str) else None
    return None if found is None else (int(found[1]), int(found[2]))


def _single(name: str, value: Any) -> Real | None:
    """Return the one number of an outcome; None if the reading gave none."""
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.size == 1:
        value = unwrapped(value.reshape(()))
    if not is_real_number(value):
        raise DataError(
            f"The outcome {name!r} must be one number, got {value!r}. rahbo learns the noise from "
            "repeats, so return each reading by itself, without its error."
        )
    return value if math.isfinite(value) else None
