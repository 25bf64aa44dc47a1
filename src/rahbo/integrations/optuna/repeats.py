"""Make several evaluations in one trial."""

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

# The user attribute that holds all values of a repeated trial; None for a failed evaluation.
VALUES = "rahbo:values"

Objective = Callable[..., float]


def repeated(
    objective: Objective, repeats: int = 5, *, catch: tuple[type[Exception], ...] = ()
) -> Objective:
    """Return an objective that evaluates another several times in one trial and returns the mean.

    Each value is stored at once in the trial's user attribute ``rahbo:values``. A retried trial
    that has this attribute continues from its values. Optuna shows and compares the mean, while
    `RahboSampler` and `recommend` use the single values.

    Args:
        objective: A function of an Optuna trial that makes one noisy measurement. If it has a
            parameter ``seed``, it also gets a different whole number for each evaluation.
        repeats: The number of evaluations in a trial.
        catch: Exceptions that fail one evaluation only, as a non-finite number does. Any other
            exception ends the trial. A trial without a value fails.

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


# A class can be sent to other processes, a closure cannot.
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
                "Return a float, or raise an exception if an evaluation fails."
            ) from None
        return value if is_measured(value) else None


def _wants_seed(objective: Objective) -> bool:
    try:
        return "seed" in inspect.signature(objective).parameters
    except (TypeError, ValueError):
        # Some functions written in C do not expose their signature.
        return False


def is_measured(value: object) -> bool:
    """Return whether a value is a number that a model can use."""
    return is_finite(value) and abs(value) <= LARGEST_VALUE


def seed_of(study: Study) -> int:
    """Return a seed that all workers of a study share."""
    return crc32(study.study_name.encode())
