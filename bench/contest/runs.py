"""One run of one method on one problem, and the file that keeps what came of it."""

import json
import os
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from contest.methods import Report, alone, make_method
from contest.problems import Evaluations, normalised_regret, problem_of, risk_of

MARK = 10


@dataclass(frozen=True, order=True)
class Job:
    """A run: everything it depends on besides the code."""

    seed: int
    problem: str
    method: str
    budget: int


@dataclass
class Record:
    """What a run gave.

    Attributes:
        job: Of which run.
        commit: Of rahbo.
        points: Points asked for, revisits included.
        seconds: That the method itself took: asking, telling and reporting.
        cpu: The same in processor time.
        marks: Numbers of single evaluations, every tenth.
        f: True mean at the point reported at each mark; None before there is one.
        noise_var: True noise variance there.
        interval: What the method said of MV there, where it says something.
        tried_f: True mean at the truly best of the points evaluated by each mark. Old records lack
            it.
        tried_noise_var: True noise variance there.
    """

    job: Job
    commit: str
    points: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    marks: list[int] = field(default_factory=list)
    f: list[float | None] = field(default_factory=list)
    noise_var: list[float | None] = field(default_factory=list)
    interval: list[tuple[float, float] | None] = field(default_factory=list)
    tried_f: list[float | None] = field(default_factory=list)
    tried_noise_var: list[float | None] = field(default_factory=list)

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "Record":
        return cls(**record | {"job": Job(**record["job"])})


@dataclass
class _Truth:
    """The true mean and noise variance of a point."""

    f: float | None = None
    noise_var: float | None = None

    @classmethod
    def at(cls, task: str, params: dict[str, Any]) -> "_Truth":
        problem = problem_of(task)
        X = problem.params_to_row(params)[None]
        return cls(float(problem.f(X)[0]), float(problem.noise_var(X)[0]))

    def or_better(self, other: "_Truth", task: str) -> "_Truth":
        """The one with the larger MV."""
        if self.f is None:
            return other
        value = risk_of(task).value
        return max(self, other, key=lambda point: value(point.f, point.noise_var))


class _Stopwatch:
    """Adds up the time inside ``with``."""

    def __init__(self) -> None:
        self.seconds = self.cpu = 0.0

    def __enter__(self) -> None:
        self.seconds -= time.perf_counter()
        self.cpu -= time.process_time()

    def __exit__(self, *exception: object) -> None:
        self.seconds += time.perf_counter()
        self.cpu += time.process_time()


def run(job: Job, commit: str) -> Record:
    """Spend the budget.

    What is reported at a mark rests on the blocks of repeats that are complete by then. Only
    what takes fewer repeats than it asked for gets the last ones of a budget that k does not
    divide.
    """
    warnings.simplefilter("ignore")
    if alone(job.method) is not None:
        return _run_alone(job, commit)
    evaluate, watch = Evaluations(problem_of(job.problem), job.seed), _Stopwatch()
    record, tried = Record(job, commit), _Truth()
    with watch:
        method = make_method(job.method, job.problem, job.seed)
    marks = iter(range(MARK, job.budget + 1, MARK))
    ahead, spent = next(marks, None), 0
    while spent < job.budget:
        with watch:
            params, wanted = method.ask()
        repeats = min(wanted, job.budget - spent)
        if repeats < wanted and not method.takes_fewer:
            break
        report = None
        while ahead is not None and ahead < spent + repeats:
            if report is None and spent:
                with watch:
                    report = method.report()
            _keep(record, ahead, report, tried)
            ahead = next(marks, None)
        values, new = evaluate(params, repeats)
        tried = tried.or_better(_Truth.at(job.problem, params), job.problem)
        with watch:
            method.tell(values, new)
        spent += repeats
    rest = [mark for mark in (ahead, *marks) if mark is not None]
    if rest:
        with watch:
            report = method.report()
        for mark in rest:
            _keep(record, mark, report, tried)
    record.points, record.seconds, record.cpu = evaluate.asked, watch.seconds, watch.cpu
    return record


def _run_alone(job: Job, commit: str) -> Record:
    """The run of a method that makes its own evaluations; its time includes theirs."""
    record, watch, tried = Record(job, commit), _Stopwatch(), _Truth()
    marks = list(range(MARK, job.budget + 1, MARK))
    with watch:
        whole = alone(job.method)(task=job.problem, seed=job.seed, budget=job.budget, marks=marks)
    for mark, report in zip(marks, whole.reports, strict=True):
        for params, spent in whole.tried:
            if mark - MARK < spent <= mark:
                tried = tried.or_better(_Truth.at(job.problem, params), job.problem)
        _keep(record, mark, report, tried)
    record.points, record.seconds, record.cpu = len(whole.tried), watch.seconds, watch.cpu
    return record


def _keep(record: Record, mark: int, report: Report | None, tried: _Truth) -> None:
    found = _Truth() if report is None else _Truth.at(record.job.problem, report.params)
    record.marks.append(mark)
    record.f.append(found.f)
    record.noise_var.append(found.noise_var)
    record.interval.append(None if report is None else report.interval)
    record.tried_f.append(tried.f)
    record.tried_noise_var.append(tried.noise_var)


class Store:
    """Records in a file, one JSON line a run."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.records = {record.job: record for record in self._read()}

    def add(self, record: Record) -> None:
        """Keep a record, here and in the file."""
        self.records[record.job] = record
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(record)) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def missing(self, jobs: Iterable[Job]) -> list[Job]:
        return [job for job in jobs if job not in self.records]

    def of(self, jobs: Iterable[Job]) -> list[Record]:
        return [self.records[job] for job in jobs if job in self.records]

    def _read(self) -> Iterator[Record]:
        if self.path is None or not self.path.exists():
            return
        text = self.path.read_text("utf-8")
        whole, _, cut_off = text.rpartition("\n")
        if cut_off:
            # A run that was killed while it wrote: what it began is dropped, and run again.
            part = self.path.with_suffix(".part")
            part.write_text(whole + "\n" if whole else "", "utf-8")
            part.replace(self.path)
        yield from (Record.from_dict(json.loads(line)) for line in whole.splitlines())


def regret_curve(record: Record) -> np.ndarray:
    """Normalised regret at each mark ``(marks,)``; a middling point's, 1, before any report."""
    return _curve(record.job.problem, record.f, record.noise_var)


def tried_curve(record: Record) -> np.ndarray | None:
    """The same of the best point tried by then; None in records that do not know it."""
    if not record.tried_f:
        return None
    return _curve(record.job.problem, record.tried_f, record.tried_noise_var)


def _curve(problem: str, f: list[float | None], noise_var: list[float | None]) -> np.ndarray:
    mean, var = (np.array(a, dtype=float) for a in (f, noise_var))
    return np.where(np.isnan(mean), 1.0, normalised_regret(problem, mean, var))
