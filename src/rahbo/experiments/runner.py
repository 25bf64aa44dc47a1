"""Run cases: one after the other, or several at a time, each exactly as it would run alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, get_args

import numpy as np

from rahbo.experiments.records import Record, Store
from rahbo.experiments.spec import METHODS, Case, problem_named
from rahbo.loop import evaluation_seed
from rahbo.optimizer import Optimizer
from rahbo.problems import Problem
from rahbo.report.recommendation import Rule
from rahbo.settings import paper_preset

Progress = Callable[[Case], object]


def run_case(case: Case) -> list[Record]:
    """One run under the paper preset: what was tried and what would be reported, each round."""
    problem = problem_named(case.problem)
    preset = paper_preset(case.alpha, case.repeats, case.n_initial)
    settings = preset | {"strategy": METHODS[case.method]}
    optimizer = Optimizer(problem.space, seed=case.seed, **settings)
    records = []
    for _ in range(case.n_rounds):
        suggestion = optimizer.ask()
        seeds = (evaluation_seed(case.seed, suggestion.id, i) for i in suggestion.indices)
        values = [problem.sample(suggestion.params, np.random.default_rng(s)) for s in seeds]
        optimizer.tell(suggestion, values)
        records.append(
            {
                "round": suggestion.id,
                "source": optimizer.trials[-1].source,
                "evaluations": optimizer.n_evaluations,
                "tried": _truth(problem, suggestion.params),
                "reported": _reported(problem, optimizer),
            }
        )
    return records


def _reported(problem: Problem, optimizer: Optimizer) -> Record:
    """The truth at the point that each rule would report now."""
    strategic = any(trial.source == "strategy" for trial in optimizer.trials)
    rules = [rule for rule in get_args(Rule) if strategic or rule != "own_round"]
    return {rule: _truth(problem, optimizer.recommend(rule=rule).params) for rule in rules}


def _truth(problem: Problem, params: dict[str, Any]) -> Record:
    X = problem.params_to_row(params)[None]
    return {
        "params": params,
        "f": float(problem.f(X)[0]),
        "noise_var": float(problem.noise_var(X)[0]),
    }


def run_cases(
    cases: Sequence[Case], store: Store, *, jobs: int = 1, progress: Progress | None = None
) -> None:
    """Run what the store does not hold yet.

    Args:
        cases: What to run.
        store: Where records go, and which cases are finished.
        jobs: Processes.
        progress: Called with each case once its records are kept.
    """
    for case in _finished(store.missing(cases), store, jobs):
        if progress is not None:
            progress(case)


def _finished(cases: Sequence[Case], store: Store, jobs: int) -> Iterator[Case]:
    if jobs == 1 or len(cases) < 2:
        yield from (_run_and_keep(case, store) for case in cases)
        return
    # A fresh interpreter for each worker: forking a process that has used BLAS is not safe.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_run_and_keep, case, store) for case in cases]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def _run_and_keep(case: Case, store: Store) -> Case:
    store.write(case, run_case(case))
    return case
