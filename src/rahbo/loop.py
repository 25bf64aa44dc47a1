"""Run an objective: ask, evaluate each repeat, tell, until a budget is spent or enough known."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from rahbo.checks import is_number, is_whole
from rahbo.errors import ExhaustedError, ObjectiveError, SettingsError
from rahbo.ledger import LARGEST, Suggestion, Trial
from rahbo.optimizer import Optimizer
from rahbo.report.recommendation import Recommendation
from rahbo.settings import Direction
from rahbo.space import Candidates, Space
from rahbo.stopping import Stop

# An objective that fails this often in a row, and at this many points, is taken to be broken.
# Where a fifth of the space fails, so many points in a row have a chance of three in a million.
MAX_FAILURES = 10
MAX_FAILED_POINTS = 8

Objective = Callable[..., float]
Callback = Callable[[Optimizer], object]
End = Literal["budget", "stop", "exhausted", "interrupt"]


@dataclass(frozen=True, eq=False)
class Result:
    """What a run came to.

    Attributes:
        recommendation: The point to use.
        optimizer: The run itself, to predict with, to plot or to go on with.
        stopped_by: What ended it: the ``"budget"``, the criterion ``"stop"``, a list of candidates
            that is ``"exhausted"``, or an ``"interrupt"``.
    """

    recommendation: Recommendation
    optimizer: Optimizer
    stopped_by: End = "budget"

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every suggestion with every value it gave, in order."""
        return self.optimizer.trials

    @property
    def n_evaluations(self) -> int:
        """Single evaluations, failures and past results included."""
        return self.optimizer.n_evaluations

    def __str__(self) -> str:
        failed = sum(len(trial.failures) for trial in self.trials)
        spent = f"{self.n_evaluations} evaluations at {self.optimizer.observations.n} points"
        spent += f", {failed} failed" if failed else ""
        ended = "" if self.stopped_by == "budget" else f"; ended by {self.stopped_by}"
        return f"{self.recommendation}\nout of {spent}; seed {self.optimizer.settings.seed}{ended}"


def maximize(
    objective: Objective,
    space: Mapping[str, Any] | Candidates | Space,
    *,
    rounds: int | None = None,
    evaluations: int | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    **settings: Any,
) -> Result:
    """Maximise a risk measure of a noisy objective.

    Give exactly one of ``rounds`` and ``evaluations``. An evaluation that raises, or gives a
    number that is not finite, is recorded as a failure and the run goes on. An interrupt
    (Ctrl-C) ends it early with what is known.

    Args:
        objective: Called with the parameters as keywords; returns one noisy measurement. If it
            has a parameter ``seed`` that is no parameter of the space, it is also given a whole
            number that depends on the run's seed, the suggestion and the repeat alone.
        space: As for `Optimizer`.
        rounds: Suggestions after the initial design, the paper's T.
        evaluations: Calls of the objective, initial design and failures included. The last
            suggestion may get fewer repeats, so that the number is met exactly.
        stop: Ends the run earlier, ``PBest(0.95)`` or ``Gap(0.1)``: looked at after each
            suggestion, never within the initial design.
        callback: Called with the optimizer after each suggestion is evaluated.
        **settings: Those of `Optimizer`, ``direction`` excepted. With ``trials=`` of an
            interrupted run, its rounds and evaluations count: it is brought to the same end.
            With ``journal=`` the same call again does that, however the run was ended.

    Raises:
        ObjectiveError: Ten evaluations or more failed in a row, at eight points or more, or one
            gave something that is no number.

    >>> from random import Random
    >>> def objective(x, seed):
    ...     return -((x - 1.0) ** 2) + 0.1 * x * Random(seed).gauss(0, 1)
    >>> result = maximize(objective, {"x": (0.0, 2.0)}, evaluations=60, seed=0)
    >>> result.n_evaluations
    60
    >>> abs(result.recommendation.params["x"] - 1.0) < 0.3
    True
    """
    return _run("maximize", objective, space, rounds, evaluations, stop, callback, settings)


def minimize(
    objective: Objective,
    space: Mapping[str, Any] | Candidates | Space,
    *,
    rounds: int | None = None,
    evaluations: int | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    **settings: Any,
) -> Result:
    """Minimise a noisy objective that should also be reliable; as `maximize` in all else.

    The risk measure is applied to the negated objective: ``MeanVariance(alpha)`` minimises
    mean + alpha·variance.

    >>> result = minimize(lambda x: (x - 1.0) ** 2, {"x": (0.0, 2.0)}, evaluations=60, seed=0)
    >>> result.recommendation.mean < 0.1
    True
    """
    return _run("minimize", objective, space, rounds, evaluations, stop, callback, settings)


def _run(
    direction: Direction,
    objective: Objective,
    space: Mapping[str, Any] | Candidates | Space,
    rounds: int | None,
    evaluations: int | None,
    stop: Stop | None,
    callback: Callback | None,
    settings: dict[str, Any],
) -> Result:
    """Check the arguments, spend the budget, and report."""
    if "direction" in settings:
        raise SettingsError(
            f"{direction}() needs no direction=, got {settings['direction']!r}. "
            "Call maximize() or minimize()."
        )
    _check_budget(direction, rounds, evaluations)
    if stop is not None and not isinstance(stop, Stop):
        raise SettingsError(f"stop must be PBest(0.95), Gap(0.1) or another Stop, got {stop!r}.")
    optimizer = Optimizer(space, direction=direction, **settings)
    ended: End = "budget"
    try:
        evaluate = _Evaluation(objective, optimizer)
        while not _is_spent(optimizer, rounds, evaluations):
            if stop is not None and _past_design(optimizer) and stop.is_met(optimizer):
                ended = "stop"
                break
            left = math.inf if evaluations is None else evaluations - _n_evaluated(optimizer)
            suggestion = optimizer.ask()
            for repeat in suggestion.indices[: int(min(left, suggestion.repeats))]:
                evaluate(suggestion, repeat)
            if suggestion.repeats > left:
                optimizer.cancel(suggestion)
            if callback is not None:
                callback(optimizer)
        else:
            # A run that died before it dropped what its budget does not pay for.
            for suggestion in optimizer.open:
                optimizer.cancel(suggestion)
    except (KeyboardInterrupt, ExhaustedError) as error:
        if not any(trial.values for trial in optimizer.trials):
            raise
        ended = "interrupt" if isinstance(error, KeyboardInterrupt) else "exhausted"
    finally:
        optimizer.close()
    return Result(optimizer.recommend(), optimizer, ended)


def _past_design(optimizer: Optimizer) -> bool:
    """Whether the initial design is told and no suggestion is open."""
    trials = optimizer.trials
    told = {trial.x.tobytes() for trial in trials if trial.values}
    chosen = any(trial.source == "strategy" for trial in trials)
    return (chosen or len(told) >= optimizer.settings.n_initial) and not optimizer.open


def _check_budget(direction: str, rounds: int | None, evaluations: int | None) -> None:
    """Refuse no budget, two budgets and budgets that are no whole numbers."""
    if (rounds is None) == (evaluations is None):
        raise SettingsError(
            f"{direction}() needs exactly one of rounds= (suggestions after the initial design) "
            f"and evaluations= (calls of the objective), got rounds={rounds!r} and "
            f"evaluations={evaluations!r}. Pass one of them."
        )
    name, budget = ("rounds", rounds) if evaluations is None else ("evaluations", evaluations)
    if budget is None or not is_whole(budget) or budget < 1:
        raise SettingsError(f"{name} must be a whole number >= 1, got {budget!r}.")


def _is_spent(optimizer: Optimizer, rounds: int | None, evaluations: int | None) -> bool:
    """Whether the budget is used up; a suggestion left open by an earlier run is not yet paid."""
    if evaluations is not None:
        return _n_evaluated(optimizer) >= evaluations
    chosen = sum(trial.source == "strategy" for trial in optimizer.trials)
    return rounds is not None and chosen >= rounds and not optimizer.open


def _n_evaluated(optimizer: Optimizer) -> int:
    """Evaluations that were asked for; past results cost nothing."""
    asked = (trial for trial in optimizer.trials if trial.source != "user")
    return sum(len(trial.values) + len(trial.failures) for trial in asked)


class _Evaluation:
    """Calls the objective for one repeat and tells the optimizer what came of it."""

    def __init__(self, objective: Objective, optimizer: Optimizer) -> None:
        self._objective = objective
        self._optimizer = optimizer
        self._wants_seed = _check_signature(objective, optimizer.settings.space.names)
        self._failed: list[tuple[object, ...]] = []

    def __call__(self, suggestion: Suggestion, repeat: int) -> None:
        arguments = dict(suggestion.params)
        if self._wants_seed:
            arguments["seed"] = evaluation_seed(
                self._optimizer.settings.seed, suggestion.id, repeat
            )
        try:
            outcome = self._objective(**arguments)
        except Exception as error:
            self._fail(suggestion, repeat, repr(error), error)
            return
        value = self._number(outcome, suggestion)
        if abs(value) <= LARGEST:
            self._optimizer.tell(suggestion, value, repeat=repeat)
            self._failed.clear()
        else:
            self._fail(suggestion, repeat, f"returned {value!r}", None)

    def _number(self, outcome: object, suggestion: Suggestion) -> float:
        if isinstance(outcome, np.ndarray) and outcome.ndim == 0:
            outcome = outcome.item()
        if is_whole(outcome) and not is_number(outcome):
            return math.inf
        if isinstance(outcome, bool | np.bool_) or not isinstance(outcome, Real):
            raise ObjectiveError(
                f"The objective must return one number, got {outcome!r} at {suggestion.params}. "
                "Return a float; raise an exception where an evaluation fails.",
                self._optimizer,
            )
        return float(outcome)

    def _fail(
        self, suggestion: Suggestion, repeat: int, reason: str, cause: Exception | None
    ) -> None:
        self._optimizer.tell_failure(suggestion, reason, repeat=repeat)
        self._failed.append(tuple(suggestion.params.values()))
        points = len(set(self._failed))
        enough = min(MAX_FAILED_POINTS, self._optimizer.settings.space.size)
        if len(self._failed) >= MAX_FAILURES and points >= enough:
            raise ObjectiveError(
                f"The objective failed {len(self._failed)} times in a row at {points} points, last "
                f"at {suggestion.params}: {reason}. Correct it, or keep such points out with "
                "valid=; the error's .optimizer holds what was measured.",
                self._optimizer,
            ) from cause


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
