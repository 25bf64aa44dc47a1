"""Run an objective until the budget is spent or a stop criterion is met."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Unpack

from rahbo.errors import ExhaustedError, SettingsError
from rahbo.numerics import is_finite, is_whole
from rahbo.optimizer import Optimizer, OptimizerKeywords
from rahbo.running.budget import Budget
from rahbo.running.calls import Objective, attempt
from rahbo.running.parallel import in_parallel
from rahbo.running.pool import Pool
from rahbo.running.present import Present
from rahbo.running.result import End, Result
from rahbo.running.run import Callback, Run
from rahbo.running.stopping import Stop
from rahbo.settings import Direction, check_keywords, spells_out
from rahbo.space import Candidates, Space

# What these functions pass on to the optimizer, whose direction is their own name.
OPTIMIZER_PARAMETERS = [
    parameter
    for name, parameter in inspect.signature(Optimizer).parameters.items()
    if name not in ("space", "direction")
]


@spells_out(OPTIMIZER_PARAMETERS)
def maximize(
    objective: Objective,
    space: Mapping[str, Any] | Candidates | Space,
    *,
    rounds: int | None = None,
    evaluations: int | None = None,
    confirm: int | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    executor: Executor | Callable[[], Executor] | None = None,
    parallel: int | None = None,
    timeout: float | None = None,
    context: Present | None = None,
    **settings: Unpack[OptimizerKeywords],
) -> Result:
    """Maximise a risk measure of a noisy objective.

    Give exactly one of ``rounds`` and ``evaluations``. An evaluation that raises an exception or
    returns a number that is not finite counts as failed. Ctrl-C returns the result so far.

    Args:
        objective: Called with the parameters as keywords; returns one noisy measurement. If it
            takes a ``seed`` that is not a parameter, it gets a whole number that depends only on
            the run's seed, the suggestion and the repeat. With ``blocks=`` it gets the ``block``
            if it takes one; if not, all settings share the ``seed`` of a block.
        space: As for `Optimizer`.
        rounds: Suggestions after the initial design, the paper's T.
        evaluations: Calls of the objective, initial design and failures included. The last
            suggestion may get fewer repeats, so that the number is met exactly.
        confirm: Evaluations at the end that measure the leading points again. They are part of
            ``evaluations`` or come on top of ``rounds``. By default a tenth, with `Adaptive`.
        stop: A criterion that ends the run early, such as ``PBest(0.95)`` or ``Gap(0.1)``, once
            the initial design is complete. The recommended point is confirmed before.
        callback: Called with the optimizer after each suggestion is evaluated.
        executor: Evaluates in parallel, with each repeat as its own task. Pass any executor of
            ``concurrent.futures``, such as threads, loky or Dask, which is left open; or a function
            that makes one, which is shut down at the end and replaced when its workers die.
        parallel: Tasks that may run at the same time; by default the number of workers.
        timeout: Seconds after which an evaluation on an executor counts as failed.
        context: The present conditions, if the space has any (`Context`): a function that returns
            them as a dict, or an iterable of dicts. It is asked once for each suggestion.
        **settings: The settings of `Optimizer` except ``direction``. With the ``trials=`` of an
            interrupted run, its rounds and evaluations count, so it ends where it would have
            ended. With ``journal=``, repeating the same call does that however the run ended.

    Raises:
        ObjectiveError: At least ten evaluations in a row failed, at eight points or more, or one
            did not return a number.
        ExecutorError: The executor cannot run any more tasks.

    >>> from random import Random
    >>> def objective(x, seed):
    ...     return -((x - 1.0) ** 2) + 0.1 * x * Random(seed).gauss(0, 1)
    >>> result = maximize(objective, {"x": (0.0, 2.0)}, evaluations=60, seed=0)
    >>> abs(result.recommendation.params["x"] - 1.0) < 0.3
    True
    """
    budget = Budget(rounds, evaluations, confirm)
    plan = _Plan(budget, stop, callback, executor, parallel, timeout, context)
    return _run("maximize", objective, space, plan, settings)


@spells_out(OPTIMIZER_PARAMETERS)
def minimize(
    objective: Objective,
    space: Mapping[str, Any] | Candidates | Space,
    *,
    rounds: int | None = None,
    evaluations: int | None = None,
    confirm: int | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    executor: Executor | Callable[[], Executor] | None = None,
    parallel: int | None = None,
    timeout: float | None = None,
    context: Present | None = None,
    **settings: Unpack[OptimizerKeywords],
) -> Result:
    """Minimise a noisy objective that should also be reliable. Arguments are as for `maximize`.

    The risk measure is applied to the negated objective: ``MeanVariance(alpha)`` minimises
    mean + alpha·variance.

    >>> result = minimize(lambda x: (x - 1.0) ** 2, {"x": (0.0, 2.0)}, evaluations=60, seed=0)
    >>> result.recommendation.mean < 0.1
    True
    """
    budget = Budget(rounds, evaluations, confirm)
    plan = _Plan(budget, stop, callback, executor, parallel, timeout, context)
    return _run("minimize", objective, space, plan, settings)


@dataclass(frozen=True, eq=False)
class _Plan:
    """How long and where to run an objective. `maximize` explains each part."""

    budget: Budget
    stop: Stop | None
    callback: Callback | None
    executor: Executor | Callable[[], Executor] | None
    parallel: int | None
    timeout: float | None
    context: Present | None

    def check(self, direction: Direction) -> None:
        """Raise an error for an invalid budget, stop criterion or time-out."""
        _check_budget(direction, self.budget)
        if self.stop is not None and not isinstance(self.stop, Stop):
            raise SettingsError(
                f"stop must be PBest(0.95), Gap(0.1) or another Stop, got {self.stop!r}."
            )
        timeout, parallel = self.timeout, self.parallel
        if timeout is not None and not (is_finite(timeout) and timeout > 0.0):
            raise SettingsError(f"timeout must be a positive number of seconds, got {timeout!r}.")
        if self.executor is None and (parallel is not None or timeout is not None):
            raise SettingsError(
                f"parallel= and timeout= need an executor=, got parallel={parallel!r} and "
                f"timeout={timeout!r}. Pass one, such as concurrent.futures.ProcessPoolExecutor(4)."
            )


def _run(
    direction: Direction,
    objective: Objective,
    space: Mapping[str, Any] | Candidates | Space,
    plan: _Plan,
    settings: OptimizerKeywords,
) -> Result:
    """Check the arguments, spend the budget, and report."""
    if "direction" in settings:
        raise SettingsError(
            f"{direction}() needs no direction=, got {settings['direction']!r}. "
            "Call maximize() or minimize()."
        )
    check_keywords(maximize if direction == "maximize" else minimize, settings)
    plan.check(direction)
    pool = None if plan.executor is None else Pool(plan.executor, plan.parallel)
    settings["direction"] = direction
    optimizer = Optimizer(space, **settings)
    try:
        run = Run(objective, optimizer, plan.budget, plan.stop, plan.callback, plan.context)
        ended = _in_turn(run) if pool is None else in_parallel(run, pool, plan.timeout)
        if ended == "budget":
            # A run that died may have left suggestions that its budget does not pay for.
            for suggestion in optimizer.open:
                optimizer.cancel(suggestion)
    finally:
        optimizer.close()
    return Result(optimizer.recommend(), optimizer, ended)


def _in_turn(run: Run) -> End:
    """Evaluate one repeat after the other in this process."""
    optimizer = run.optimizer
    try:
        while not run.is_spent():
            if not optimizer.open and run.has_enough():
                return "stop"
            asked = run.ask()
            if not asked:
                return "stop"
            ((suggestion, paid),) = asked
            for repeat in suggestion.indices[:paid]:
                outcome = attempt(run.objective, run.arguments(suggestion, repeat))
                run.record(suggestion, repeat, outcome)
            run.evaluated(suggestion, complete=suggestion.repeats == paid)
    except (KeyboardInterrupt, ExhaustedError) as error:
        return run.ended_by(error)
    return "budget"


def _check_budget(direction: Direction, budget: Budget) -> None:
    """Raise an error unless there is exactly one budget and it is a whole number."""
    rounds, evaluations = budget.rounds, budget.evaluations
    if (rounds is None) == (evaluations is None):
        raise SettingsError(
            f"{direction}() needs exactly one of rounds= (suggestions after the initial design) "
            f"and evaluations= (calls of the objective), got rounds={rounds!r} and "
            f"evaluations={evaluations!r}. Pass one of them."
        )
    name, n = ("rounds", rounds) if evaluations is None else ("evaluations", evaluations)
    if not is_whole(n) or n < 1:
        raise SettingsError(f"{name} must be a whole number >= 1, got {n!r}.")
