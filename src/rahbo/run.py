"""One run of an objective: what it may spend, how it is called, what is recorded.

The loops that drive a run, in turn or in parallel, share this and differ in nothing else.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Container
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from rahbo.checks import is_number, is_whole
from rahbo.errors import ObjectiveError, SettingsError
from rahbo.ledger import LARGEST, Suggestion
from rahbo.optimizer import Optimizer
from rahbo.stopping import Stop

# An objective that fails this often in a row, and at this many points, is taken to be broken.
# Where a fifth of the space fails, so many points in a row have a chance of three in a million.
MAX_FAILURES = 10
MAX_FAILED_POINTS = 8

Objective = Callable[..., float]
Callback = Callable[[Optimizer], object]
End = Literal["budget", "stop", "exhausted", "interrupt"]


@dataclass(frozen=True)
class Outcome:
    """What came of one call of the objective.

    Attributes:
        value: The measurement, if there is one.
        failure: Why there is none.
        no_number: What was returned instead of a number: no objective does that.
        error: The exception behind a failure.
    """

    value: float | None = None
    failure: str = ""
    no_number: str | None = None
    error: BaseException | None = None


def attempt(objective: Objective, arguments: dict[str, Any]) -> Outcome:
    """Call the objective once."""
    try:
        returned: object = objective(**arguments)
    except Exception as error:
        return Outcome(failure=repr(error), error=error)
    if isinstance(returned, np.ndarray) and returned.ndim == 0:
        returned = returned.item()
    if isinstance(returned, bool | np.bool_) or not isinstance(returned, Real):
        return Outcome(no_number=repr(returned))
    # A whole number may be too large to become a float.
    value = math.inf if is_whole(returned) and not is_number(returned) else float(returned)
    return Outcome(value) if abs(value) <= LARGEST else Outcome(failure=f"returned {value!r}")


class Run:
    """An objective, the optimizer that learns of it, and when to end.

    Args:
        objective: Called with the parameters as keywords, and a ``seed`` if it wants one.
        optimizer: Asked and told.
        rounds: Suggestions after the initial design, or None.
        evaluations: Calls of the objective, or None.
        stop: Ends the run earlier.
        callback: Called with the optimizer after each suggestion is evaluated.
    """

    def __init__(
        self,
        objective: Objective,
        optimizer: Optimizer,
        rounds: int | None = None,
        evaluations: int | None = None,
        stop: Stop | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.objective = objective
        self.optimizer = optimizer
        self._wants_seed = _check_signature(objective, optimizer.settings.space.names)
        self._rounds = rounds
        self._evaluations = evaluations
        self._stop = stop
        self._callback = callback
        self._failed: list[tuple[object, ...]] = []

    # -- how long ----------------------------------------------------------------------------

    @property
    def left(self) -> float:
        """Evaluations that may still be made; past results cost nothing."""
        if self._evaluations is None:
            return math.inf
        asked = [trial for trial in self.optimizer.trials if trial.source != "user"]
        return self._evaluations - sum(len(t.values) + len(t.failures) for t in asked)

    def is_spent(self, under_way: int = 0, asked: Container[int] = ()) -> bool:
        """Whether nothing more may be asked for.

        Args:
            under_way: Evaluations being made.
            asked: Ids of the suggestions they belong to. Others that are open, left by an earlier
                run, are not yet paid.
        """
        if self._rounds is None:
            return self.left <= under_way
        chosen = sum(trial.source == "strategy" for trial in self.optimizer.trials)
        return chosen >= self._rounds and all(s.id in asked for s in self.optimizer.open)

    def has_enough(self) -> bool:
        """Whether the initial design is told and the criterion to stop is met."""
        trials = self.optimizer.trials
        if self._stop is None or any(t.source == "design" and t.missing for t in trials):
            return False
        told = {trial.x.tobytes() for trial in trials if trial.values}
        chosen = any(trial.source == "strategy" for trial in trials)
        past_design = chosen or len(told) >= self.optimizer.settings.n_initial
        return past_design and self._stop.is_met(self.optimizer)

    def ended_by(self, error: BaseException) -> End:
        """What to call the end by an interrupt or for lack of points; raised if nothing is told."""
        if not any(trial.values for trial in self.optimizer.trials):
            raise error
        return "interrupt" if isinstance(error, KeyboardInterrupt) else "exhausted"

    # -- one evaluation ----------------------------------------------------------------------

    def arguments(self, suggestion: Suggestion, repeat: int) -> dict[str, Any]:
        """What the objective is called with."""
        if not self._wants_seed:
            return dict(suggestion.params)
        seed = evaluation_seed(self.optimizer.settings.seed, suggestion.id, repeat)
        return {**suggestion.params, "seed": seed}

    def record(self, suggestion: Suggestion, repeat: int, outcome: Outcome) -> None:
        """Tell the optimizer; too many failures in a row, or no number, are an error."""
        if outcome.no_number is not None:
            raise ObjectiveError(
                f"The objective must return one number, got {outcome.no_number} at "
                f"{suggestion.params}. Return a float; raise an exception where an evaluation "
                "fails.",
                self.optimizer,
            )
        if outcome.value is not None:
            self.optimizer.tell(suggestion, outcome.value, repeat=repeat)
            self._failed.clear()
            return
        self.optimizer.tell_failure(suggestion, outcome.failure, repeat=repeat)
        self._failed.append(tuple(suggestion.params.values()))
        points = len(set(self._failed))
        enough = min(MAX_FAILED_POINTS, self.optimizer.settings.space.size)
        if len(self._failed) >= MAX_FAILURES and points >= enough:
            raise ObjectiveError(
                f"The objective failed {len(self._failed)} times in a row at {points} points, last "
                f"at {suggestion.params}: {outcome.failure}. Correct it, or keep such points out "
                "with valid=; the error's .optimizer holds what was measured.",
                self.optimizer,
            ) from outcome.error

    def evaluated(self, suggestion: Suggestion, complete: bool) -> None:
        """A suggestion got all its repeats, or all that the budget had left for it."""
        if not complete:
            self.optimizer.cancel(suggestion)
        if self._callback is not None:
            self._callback(self.optimizer)


def evaluation_seed(run_seed: int, suggestion_id: int, repeat: int) -> int:
    """The seed of one evaluation, a whole number under 2^31.

    It depends on nothing else, so an evaluation that is made again gives the same again.
    """
    sequence = np.random.SeedSequence(run_seed, spawn_key=(suggestion_id, repeat))
    return int(sequence.generate_state(1)[0] >> 1)


def _check_signature(objective: Objective, names: tuple[str, ...]) -> bool:
    """Whether the objective wants a seed; an error if it does not take the parameters."""
    if not callable(objective):
        raise SettingsError(
            f"The objective must be a function of {list(names)}, got {objective!r}."
        )
    try:
        signature = inspect.signature(objective)
    except (TypeError, ValueError):
        # Some functions written in C do not say what they take.
        return False
    bound = objective.keywords if isinstance(objective, functools.partial) else {}
    seed = None if "seed" in bound else signature.parameters.get("seed")
    by_keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    wants_seed = "seed" not in names and seed is not None and seed.kind in by_keyword
    try:
        signature.bind(**dict.fromkeys([*names, "seed"] if wants_seed else names))
    except TypeError as error:
        raise SettingsError(
            f"The objective must take the parameters {list(names)} as keywords, but its signature "
            f"is {signature}: {error}. Name its arguments as in the space."
        ) from error
    return wants_seed
