"""Run an objective until the budget is spent or a stop criterion is met."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

from rahbo.errors import ExhaustedError, SettingsError
from rahbo.numerics import is_finite, is_whole, spells_out
from rahbo.optimizer import Optimizer, OptimizerKeywords
from rahbo.running.budget import Budget
from rahbo.running.calls import Objective, attempt
from rahbo.running.clock import Clock
from rahbo.running.display import shown
from rahbo.running.parallel import in_parallel
from rahbo.running.pool import Borrowed, Pool
from rahbo.running.present import Present
from rahbo.running.processes import Processes, n_processes
from rahbo.running.progress import Course, Display
from rahbo.running.result import End, Result
from rahbo.running.run import Callback, Run
from rahbo.running.stopping import Stop, checked_stop
from rahbo.settings import Direction
from rahbo.space import Candidates, Space

# What these functions pass on to the optimizer, whose direction is their own name.
OPTIMIZER_PARAMETERS = [
    parameter
    for name, parameter in inspect.signature(Optimizer).parameters.items()
    if name not in ("space", "direction")
]


@spells_out(OPTIMIZER_PARAMETERS, let_through=("direction",))
def maximize(
    objective: Objective,
    space: Mapping[str, Any] | Candidates | Space,
    *, rounds: int | None = None, evaluations: int | None = None, seconds: float | None = None,
    confirm: int | None = None, stop: Stop | None = None, callback: Callback | None = None,
    n_jobs: int | None = None, executor: Executor | Any = None,
    parallel: int | None = None, timeout: float | None = None, context: Present | None = None,
    verbose: bool | Display | None = None, **settings: Unpack[OptimizerKeywords],
) -> Result:  # fmt: skip
    """Maximise a risk measure of a noisy objective.

    Give ``rounds``, ``evaluations`` or ``seconds``, which may also limit one of the other two. An
    evaluation that raises an exception or returns a number that is not finite counts as failed.
    Ctrl-C returns the result so far. The logger ``rahbo`` gets each suggestion and each failure.

    Args:
        objective: Called with the parameters as keywords; returns one noisy measurement. If it
            takes a ``seed`` that is not a parameter, it gets a whole number that depends only on
            the run's seed, the suggestion and the repeat. With ``blocks=`` it gets the ``block``
            if it takes one; if not, all settings share the ``seed`` of a block.
        space: As for `Optimizer`.
        rounds: Suggestions after the initial design, the paper's T.
        evaluations: Calls of the objective, failed ones too. The last point may get fewer repeats.
        seconds: Wall-clock time of this call, confirmation included. Evaluations under way at the
            end are finished. At least one is made.
        confirm: Evaluations at the end that measure the leading points again. They are part of
            ``evaluations`` or come on top of ``rounds``. By default a tenth, with `Adaptive`.
        stop: A function of the run's `State` that ends it early, such as ``Gap(0.1)``, once the
            initial design is complete. The recommended point is confirmed before.
        callback: Called with the optimizer after each suggestion. Only True ends the run.
        n_jobs: Processes to evaluate in, -1 for all cores. They import the objective; lambdas and
            functions of a notebook need cloudpickle. A process that dies costs one evaluation.
        executor: Evaluates in parallel instead: any executor of ``concurrent.futures``, such as
            threads, or the client of a Dask cluster. It stays open.
        parallel: With ``executor``, the evaluations to keep under way: as many as it has workers.
        timeout: Seconds after which a parallel evaluation failed. Only ``n_jobs`` can stop it.
        context: The present conditions, if the space has any (`Context`): a function that returns
            them as a dict, or an iterable of dicts. It is asked once a suggestion.
        verbose: None shows the progress if stderr is a terminal, otherwise only the first failure.
            False shows nothing, True each evaluation, and a `Display` what it likes.
        **settings: The settings of `Optimizer` except ``direction``. With the ``trials=`` of an
            interrupted run, its rounds and evaluations count, so it ends where it would have
            ended. With ``journal=``, repeating the same call does that however the run ended.

    Raises:
        ObjectiveError: Ten evaluations in a row failed, at eight points or more, or all of a short
            run, or one gave no number. A repeated NameError or TypeError is raised as it is.
        ExecutorError: The executor cannot run any more tasks. Like every exception that ends a run,
            also one of ``callback`` or ``context``, it has what was measured as ``optimizer``.

    >>> from random import Random
    >>> def objective(x, seed):
    ...     return -((x - 1.0) ** 2) + 0.1 * x * Random(seed).gauss(0, 1)
    >>> result = maximize(objective, {"x": (0.0, 2.0)}, evaluations=60, seed=0)
    >>> abs(result.recommendation.params["x"] - 1.0) < 0.3
    True
    """
    budget = Budget(rounds, evaluations, confirm, seconds)
    plan = _Plan(budget, stop, callback, n_jobs, executor, parallel, timeout, context, verbose)
    return _run("maximize", objective, space, plan, settings)


@spells_out(OPTIMIZER_PARAMETERS, let_through=("direction",))
def minimize(
    objective: Objective,
    space: Mapping[str, Any] | Candidates | Space,
    *, rounds: int | None = None, evaluations: int | None = None, seconds: float | None = None,
    confirm: int | None = None, stop: Stop | None = None, callback: Callback | None = None,
    n_jobs: int | None = None, executor: Executor | Any = None,
    parallel: int | None = None, timeout: float | None = None, context: Present | None = None,
    verbose: bool | Display | None = None, **settings: Unpack[OptimizerKeywords],
) -> Result:  # fmt: skip
    """Minimise a noisy objective that should also be reliable. Arguments are as for `maximize`.

    The risk measure is applied to the negated objective: ``MeanVariance(alpha)`` minimises
    mean + alpha·variance.

    >>> result = minimize(lambda x: (x - 1.0) ** 2, {"x": (0.0, 2.0)}, evaluations=60, seed=0)
    >>> result.recommendation.mean < 0.1
    True
    """
    budget = Budget(rounds, evaluations, confirm, seconds)
    plan = _Plan(budget, stop, callback, n_jobs, executor, parallel, timeout, context, verbose)
    return _run("minimize", objective, space, plan, settings)


@dataclass(frozen=True, eq=False)
class _Plan:
    """How long and where to run an objective. `maximize` explains each part."""

    budget: Budget
    stop: Stop | None
    callback: Callback | None
    n_jobs: int | None
    executor: Any
    parallel: int | None
    timeout: float | None
    context: Present | None
    verbose: bool | Display | None

    def check(self, direction: Direction) -> None:
        """Raise an error for an invalid budget, stop criterion or time-out."""
        _check_budget(direction, self.budget)
        checked_stop(self.stop)
        timeout, parallel = self.timeout, self.parallel
        if timeout is not None and not (is_finite(timeout) and timeout > 0.0):
            raise SettingsError(f"timeout must be a positive number of seconds, got {timeout!r}.")
        if not (self.verbose in (None, False, True) or isinstance(self.verbose, Display)):
            raise SettingsError(
                f"verbose must be None, False, True or a Display, got {self.verbose!r}."
            )
        if self.n_jobs is not None and (self.executor is not None or parallel is not None):
            raise SettingsError(
                f"n_jobs={self.n_jobs!r} evaluates in processes, so executor= and parallel= must "
                "be left out. Pass either n_jobs= or executor=."
            )
        if self.n_jobs is None and self.executor is None and (parallel is not None or timeout):
            raise SettingsError(
                f"parallel= needs an executor=, and timeout= that or n_jobs=, got "
                f"parallel={parallel!r} and timeout={timeout!r}. Pass n_jobs=4, for example."
            )

    def pool(self, objective: Objective) -> Pool | None:
        """Return where to evaluate; None for this process, one evaluation after the other."""
        if self.executor is not None:
            return Borrowed(self.executor, self.parallel, objective)
        if self.n_jobs is None:
            return None
        n = n_processes(self.n_jobs)
        alone = self.n_jobs == 1 and self.timeout is None
        return None if alone else Processes(n, objective, self.timeout)


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
    plan.check(direction)
    clock = Clock(plan.budget.seconds)
    pool = plan.pool(objective)
    # Processes keep to it themselves.
    late = None if plan.executor is None else plan.timeout
    settings["direction"] = direction
    optimizer = Optimizer(space, **settings)
    with _never_lost(optimizer):
        try:
            course = Course(plan.budget, clock, optimizer)
            with shown(plan.verbose, course, alone=pool is None) as display:
                run = Run(
                    objective, optimizer, plan.budget, plan.stop, plan.callback, plan.context,
                    clock, display,
                )  # fmt: skip
                with run.interrupts:
                    ended = _in_turn(run) if pool is None else in_parallel(run, pool, late)
            if run.interrupts.is_waiting:
                ended = "interrupt"
            run.check_told()
            if ended == "budget":
                # A run that died may have left suggestions that its budget does not pay for.
                for suggestion in optimizer.open:
                    optimizer.cancel(suggestion)
        finally:
            optimizer.close()
        return Result(optimizer.recommend(), optimizer, ended)


@contextmanager
def _never_lost(optimizer: Optimizer) -> Iterator[None]:
    """Let an exception that ends the run carry what was measured, as its ``optimizer``.

    It may come from anywhere, such as from the user's callback or a reading of the conditions.
    """
    try:
        yield
    except Exception as error:
        known = vars(error)
        if "optimizer" not in known and optimizer.n_evaluations:
            known["optimizer"] = optimizer
            error.add_note(
                "This exception's .optimizer holds all measurements of the run. Continue with "
                "trials=error.optimizer.trials."
            )
        raise


def _in_turn(run: Run) -> End:
    """Evaluate one repeat after the other in this process."""
    optimizer = run.optimizer
    try:
        while not run.is_spent():
            if not optimizer.open and run.has_enough():
                return "stop"
            asked = run.ask()
            if not asked:
                return "budget" if run.clock.is_up else "stop"
            ((suggestion, paid),) = asked
            for repeat in suggestion.indices[:paid]:
                if run.clock.is_up:
                    break
                began = run.clock.elapsed
                arguments = run.arguments(suggestion, repeat)
                outcome = attempt(partial(run.interrupts.call, run.objective), arguments)
                taken = run.clock.elapsed - began
                run.record(suggestion, repeat, replace(outcome, seconds=taken))
            missing = optimizer.state.trials[suggestion.id].n_missing
            run.evaluated(suggestion, complete=not missing)
            if run.is_called_off:
                return "callback"
    except (KeyboardInterrupt, ExhaustedError) as error:
        return run.ended_by(error)
    return "budget"


def _check_budget(direction: Direction, budget: Budget) -> None:
    """Raise an error unless there is a budget, and it is a whole number or a time."""
    rounds, evaluations, seconds = budget.rounds, budget.evaluations, budget.seconds
    if rounds is None and evaluations is None and seconds is None:
        raise SettingsError(
            f"{direction}() needs a budget: evaluations= (calls of the objective), rounds= "
            "(suggestions after the initial design) or seconds=. Pass one of them."
        )
    if rounds is not None and evaluations is not None:
        raise SettingsError(
            f"{direction}() takes one of rounds= (suggestions after the initial design) and "
            f"evaluations= (calls of the objective), got rounds={rounds!r} and "
            f"evaluations={evaluations!r}. Leave one of them out."
        )
    for name, n in (("rounds", rounds), ("evaluations", evaluations)):
        if n is not None and (not is_whole(n) or n < 1):
            raise SettingsError(f"{name} must be a whole number >= 1, got {n!r}.")
    if seconds is not None and not (is_finite(seconds) and seconds > 0.0):
        raise SettingsError(f"seconds must be a positive number, got {seconds!r}.")
