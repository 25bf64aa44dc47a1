"""Run cases one after the other or several at a time, with the same results either way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any

import numpy as np

from rahbo.analysis import choices, told
from rahbo.errors import NotReadyError, SettingsError
from rahbo.experiments.records import RoundRecord, Store
from rahbo.experiments.spec import METHODS, Case, problem_named
from rahbo.numerics import evaluation_seed, one_blas_thread
from rahbo.optimizer import Optimizer
from rahbo.problems import Problem, Tabulated
from rahbo.risk import MeanVariance
from rahbo.settings import paper
from rahbo.trials import Suggestion

OnFinished = Callable[[Case], object]


def run_case(case: Case) -> list[RoundRecord]:
    """Run a case by the paper, and return for each round what was tried and reported.

    Nothing is reported before the initial design is complete, as all methods are the same until
    then.
    """
    problem, optimizer = problem_named(case.problem), _optimizer(case)
    return [
        {
            "round": suggestion.id,
            "source": optimizer.trials[-1].source,
            "evaluations": optimizer.n_evaluations,
            "tried": _truth(problem, suggestion.params),
            "reported": _reported(problem, optimizer) if suggestion.id >= case.n_initial else {},
        }
        for suggestion in _rounds(case, optimizer)
    ]


def replay(case: Case) -> Optimizer:
    """Run a case again without recording, and return the optimizer at its end."""
    optimizer = _optimizer(case)
    for _ in _rounds(case, optimizer):
        pass
    return optimizer


def _rounds(case: Case, optimizer: Optimizer) -> Iterator[Suggestion]:
    """Ask and tell round by round, and yield each suggestion once it is told."""
    problem = problem_named(case.problem)
    for _ in range(case.n_rounds):
        suggestion = optimizer.ask()
        if isinstance(problem, Tabulated) and _is_told(optimizer, suggestion):
            # The same values are no new evidence, so the round counts but is not told.
            optimizer.cancel(suggestion)
        else:
            optimizer.tell(suggestion, _values(case, problem, suggestion))
        yield suggestion


def _is_told(optimizer: Optimizer, suggestion: Suggestion) -> bool:
    return any(t.n_values and t.params == suggestion.params for t in optimizer.trials)


def _optimizer(case: Case) -> Optimizer:
    return Optimizer(
        problem_named(case.problem).space,
        risk=MeanVariance(case.alpha),
        repeats=case.repeats,
        n_initial=case.n_initial,
        seed=case.seed,
        method=replace(paper(), strategy=METHODS[case.method]),
    )


def _values(case: Case, problem: Problem, suggestion: Suggestion) -> list[float]:
    """Return the values of a suggestion, with noise that depends on the number of the round."""
    if isinstance(problem, Tabulated):
        values = problem.values(suggestion.params)
        if len(values) != case.repeats:
            raise SettingsError(
                f"{problem.name} has {len(values)} values per point, so repeats must be "
                f"{len(values)}, got {case.repeats}."
            )
        return values
    seeds = (evaluation_seed(case.seed, suggestion.id, i) for i in suggestion.indices)
    return problem.samples(suggestion.params, map(np.random.default_rng, seeds))


def _reported(problem: Problem, optimizer: Optimizer) -> dict[str, Any]:
    """Return the truth at the point that each rule would report now."""
    state = optimizer.state
    with one_blas_thread():
        rows = choices(state)
    X, space = told(state).observations.X, told(state).space
    return {rule: _truth(problem, space.decode(X[i])) for rule, i in rows.items()}


def _truth(problem: Problem, params: dict[str, Any]) -> dict[str, Any]:
    X = problem.params_to_row(params)[None]
    return {
        "params": params,
        "f": float(problem.f(X)[0]),
        "noise_var": float(problem.noise_var(X)[0]),
    }


def run_cases(
    cases: Sequence[Case], store: Store, *, jobs: int = 1, progress: OnFinished | None = None
) -> None:
    """Run the cases that the store does not hold yet.

    Args:
        cases: The cases to run.
        store: Holds the records of finished cases, and receives the new ones.
        jobs: The number of processes.
        progress: Called with each case once its records are written.

    Raises:
        NotReadyError: A process died. Finished cases are kept.
    """
    if jobs < 1:
        raise SettingsError(f"jobs must be a whole number >= 1, got {jobs!r}.")
    for case in _finished(store.missing(cases), store, jobs):
        if progress is not None:
            progress(case)


def _finished(cases: Sequence[Case], store: Store, jobs: int) -> Iterator[Case]:
    if jobs == 1 or len(cases) < 2:
        yield from (_run_and_keep(case, store) for case in cases)
        return
    # Each worker is a fresh interpreter, because forking a process that has used BLAS is unsafe.
    with ProcessPoolExecutor(
        min(jobs, len(cases)), get_context("spawn"), initializer=_end_with_parent
    ) as pool:
        futures = [pool.submit(_run_and_keep, case, store) for case in cases]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool as error:
            raise NotReadyError(
                "A process of the experiment died, perhaps for lack of memory. Finished runs are "
                "kept. Start again with fewer jobs."
            ) from error
        finally:
            for future in futures:
                future.cancel()


def _run_and_keep(case: Case, store: Store) -> Case:
    store.write(case, run_case(case))
    return case


def _end_with_parent() -> None:
    """End this worker if its parent process is killed; otherwise it would wait for ever."""
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()
