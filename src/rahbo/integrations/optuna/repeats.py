"""Several evaluations in one trial."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from optuna.study import Study
from optuna.trial import Trial

from rahbo.errors import ObjectiveError, SettingsError
from rahbo.numerics import evaluation_seed, is_finite, is_whole
from rahbo.trials import LARGEST_VALUE

# The user attribute with every value of a repeated trial; None for an evaluation that failed.
VALUES = "rahbo:values"

Objective = Callable[..., float]


def repeated(
    objective: Objective, repeats: int = 5, *, catch: tuple[type[Exception], ...] = ()
) -> Objective:
    """An objective that evaluates another several times in one trial, and returns the mean.

    Every value is kept on the trial as soon as it is there, in the user attribute
    ``rahbo:values``; a trial that is retried with these goes on from them. Optuna shows and
    compares the mean; the single values are for `RahboSampler` and `recommend`.

    Args:
        objective: A function of an Optuna trial that makes one noisy measurement. If it has a
            parameter ``seed``, it is also given a whole number of its own for each evaluation.
        repeats: Evaluations in a trial.
        catch: Exceptions that cost one evaluation, as does a number that is not finite; any other
            ends the trial. A trial without a value fails.

    >>> import optuna, random
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(direction="maximize")
    >>> def objective(trial):
    ...     return trial.suggest_float("x", 0, 1) + random.gauss(0, 0.1)
    >>> study.optimize(repeated(objective, 3), n_trials=1)
    >>> len(study.trials[0].user_attrs["rahbo:values"])
    3
    """
    if not is_whole(repeats) or repeats < 1:
        raise SettingsError(f"repeated() needs a whole number of repeats >= 1, got {repeats!r}.")
    return _Repeated(objective, int(repeats), catch)


# A class, not a closure, so that it can be sent to other processes.
@dataclass(frozen=True)
class _Repeated:
    objective: Objective
    repeats: int
    catch: tuple[type[Exception], ...]

    def __call__(self, trial: Trial) -> float:
        outcomes = list(trial.user_attrs.get(VALUES, ()))
        while len(outcomes) < self.repeats:
            outcomes.append(self._evaluate(trial, len(outcomes)))
            trial.set_user_attr(VALUES, list(outcomes))
        values = [value for value in outcomes if value is not None]
        return float(np.mean(values)) if values else math.nan

    def _evaluate(self, trial: Trial, repeat: int) -> float | None:
        arguments: dict[str, Any] = {}
        if _wants_seed(self.objective):
            arguments["seed"] = evaluation_seed(seed_of(trial.study), trial.number, repeat)
        try:
            outcome = self.objective(trial, **arguments)
        except self.catch:
            return None
        try:
            value = float(outcome)
        except (TypeError, ValueError):
            raise ObjectiveError(
                f"The objective must return one number, got {outcome!r} at {trial.params}. "
                "Return a float; raise an exception where an evaluation fails."
            ) from None
        return value if is_measured(value) else None


def _wants_seed(objective: Objective) -> bool:
    try:
        return "seed" in inspect.signature(objective).parameters
    except (TypeError, ValueError):
        # Some functions written in C do not say what they take.
        return False


def is_measured(value: object) -> bool:
    """Whether a value is a number that a model can be told."""
    return is_finite(value) and abs(value) <= LARGEST_VALUE


def seed_of(study: Study) -> int:
    """A seed that all workers of a study share."""
    return crc32(study.study_name.encode())
