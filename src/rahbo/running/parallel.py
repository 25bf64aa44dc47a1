"""Evaluate in parallel: each repeat is a task, and a free worker gets a new point at once.

A task has the key (suggestion, repeat) and a seed that depends on it alone. It is told by that key,
so an executor that runs a task twice gives one value.
"""

from __future__ import annotations

import math
import warnings
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from dataclasses import dataclass
from time import monotonic

from rahbo.errors import ExecutorError, ExhaustedError
from rahbo.running.calls import CallResult, described, with_outcomes
from rahbo.running.generators import COPIED, Drawn
from rahbo.running.pool import CONTINUE, LONGEST_WAIT, Pool
from rahbo.running.result import End
from rahbo.running.run import Run
from rahbo.trials import Suggestion

# Time-outs after which evaluations that cannot be stopped are considered lost.
PATIENCE = 10


def in_parallel(run: Run, pool: Pool, timeout: float | None) -> End:
    """Spend the budget of a run on a pool.

    Args:
        run: What to evaluate and for how long.
        pool: Where to evaluate.
        timeout: Seconds after which an evaluation that cannot be stopped has failed, or None.
    """
    tasks = _Tasks(run, pool, timeout)
    try:
        try:
            run.interrupts.call(pool.start)
            return tasks.work()
        finally:
            tasks.give_up()
    except (KeyboardInterrupt, ExhaustedError) as error:
        return run.ended_by(error)
    except ExecutorError as error:
        error.optimizer = run.optimizer
        raise
    finally:
        pool.close()


@dataclass(frozen=True, eq=False)
class _Task:
    """One repeat of a suggestion, and when it times out."""

    suggestion: Suggestion
    repeat: int
    deadline: float = math.inf


class _Tasks:
    """The tasks of a run: waiting, under way, or overdue and impossible to stop."""

    def __init__(self, run: Run, pool: Pool, timeout: float | None) -> None:
        self._run = run
        self._pool = pool
        self._timeout = math.inf if timeout is None else timeout
        self._waiting: deque[tuple[Suggestion, int]] = deque()
        self._under_way: dict[Future[CallResult], _Task] = {}
        # These were told as failures, but their workers are still busy.
        self._overdue: set[Future[CallResult]] = set()
        # The number of unfinished tasks of each suggestion, by its id.
        self._unsettled: dict[int, int] = {}
        self._last_event = monotonic()
        self._is_ending = False
        self._drawn: Drawn | None = Drawn()

    def work(self) -> End:
        """Keep the workers busy until the budget is spent or the stop criterion is met."""
        # Open suggestions of an earlier run are evaluated first.
        news = not self._run.optimizer.open
        while (end := self._end(news)) is None:
            more = self._fill()
            if not self._under_way and not self._waiting and self._run.is_spent():
                return "budget"
            news = self._settle(patiently=not more)
        self._is_ending = True
        while self._under_way:
            self._settle()
        for suggestion in self._run.optimizer.open:
            if suggestion.id in self._unsettled:
                self._run.optimizer.cancel(suggestion)
        return end

    def _end(self, news: bool) -> End | None:
        """Return why no more tasks are to be started; None if there may be more.

        Args:
            news: Whether a suggestion was completed, so that the stop criterion has to be checked.
        """
        if self._run.is_called_off:
            return "callback"
        if self._run.clock.is_up:
            return "budget"
        return "stop" if news and self._run.has_enough() else None

    def give_up(self) -> None:
        """Cancel the tasks under way, but tell the values that have already arrived."""
        for future in [*self._overdue, *self._under_way]:
            future.cancel()
        for future, task in self._under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                outcome = with_outcomes(future.result(), self._run.optimizer.settings.constraints)
                self._run.tell(task.suggestion, task.repeat, outcome)
        self._under_way.clear()

    # -- submitting --------------------------------------------------------------------------

    def _fill(self) -> bool:
        """Submit tasks until no more are needed, or after one search for points.

        Return whether there is room for more, so that another search should follow.
        """
        searched = False
        while (room := self._pool.parallel - len(self._under_way) - len(self._overdue)) > 0:
            if not self._waiting:
                if searched or not self._ask(room):
                    return searched
                searched = True
            self._submit(*self._waiting.popleft())
        return False

    def _ask(self, room: int) -> bool:
        """Ask for suggestions and queue their repeats. Return whether anything was queued."""
        under_way = len(self._under_way)
        if self._run.is_spent(under_way, self._unsettled):
            return False
        # How many repeats a suggestion has is known from the first one on.
        n = room if self._unsettled or self._run.clock.made else 1
        try:
            found = self._run.ask(n, under_way, self._unsettled)
        except ExhaustedError:
            # If repeats under way fail, their point may be proposed again.
            if under_way:
                return False
            raise
        for suggestion, paid in found:
            repeats = suggestion.indices[:paid]
            self._unsettled[suggestion.id] = len(repeats)
            self._waiting.extend((suggestion, repeat) for repeat in repeats)
        return bool(found)

    def _submit(self, suggestion: Suggestion, repeat: int) -> None:
        arguments = self._run.arguments(suggestion, repeat)
        future = self._pool.submit(arguments, (suggestion.id, repeat))
        self._under_way[future] = _Task(suggestion, repeat, monotonic() + self._timeout)

    # -- settling ----------------------------------------------------------------------------

    def _settle(self, patiently: bool = True) -> bool:
        """Wait for progress, or only see what there is. Return whether a suggestion completed."""
        unsettled = len(self._unsettled)
        done, late = self._wait(patiently)
        self._overdue -= done
        for future in [future for future in self._under_way if future in done]:
            self._take(future)
        for future in late:
            self._overdue.add(future)
            failure = f"timed out after {self._timeout:g} s"
            self._record(self._under_way.pop(future), CallResult(failure=failure))
        return len(self._unsettled) < unsettled

    def _wait(self, patiently: bool) -> tuple[set[Future[CallResult]], list[Future[CallResult]]]:
        """Wait for futures that are done or past their deadline, and return both.

        Without patience there may be none.
        """
        clock = self._run.clock
        while True:
            soonest = min((task.deadline for task in self._under_way.values()), default=math.inf)
            longest = min(LONGEST_WAIT, max(0.0, soonest - monotonic()))
            if 0.0 < clock.left < longest:
                longest = clock.left
            futures = [*self._under_way, *self._overdue]
            done, _ = self._run.interrupts.call(
                wait, futures, longest if patiently else 0.0, return_when=FIRST_COMPLETED
            )
            now = monotonic()
            late = [f for f, t in self._under_way.items() if t.deadline <= now and f not in done]
            if done or late:
                self._last_event = now
            if done or late or not patiently or (clock.is_up and not self._is_ending):
                return done, late
            self._pool.check()
            self._check_progress(now - self._last_event)

    def _check_progress(self, waited: float) -> None:
        """Raise an error if all workers have been busy with overdue evaluations for long."""
        if self._overdue and not self._under_way and waited > PATIENCE * self._timeout:
            raise ExecutorError(
                f"All workers are busy with evaluations past their time-out of {self._timeout:g} s "
                f"and none came free for {waited:.0f} s. An executor cannot stop them; n_jobs= "
                f"can. {CONTINUE}"
            )

    def _take(self, future: Future[CallResult]) -> None:
        """Record the outcome of a task, or end the run with an executor that lost it.

        Workers catch the objective's exceptions: a future's own exception comes from the transport.
        """
        error = CancelledError() if future.cancelled() else future.exception()
        if isinstance(error, KeyboardInterrupt | ExecutorError):
            raise error
        if isinstance(error, BrokenExecutor | CancelledError):
            raise ExecutorError(
                f"The executor lost an evaluation: {described(error)}. Workers died, or a cluster "
                f"lost its scheduler. {CONTINUE}"
            ) from error
        task = self._under_way.pop(future)
        if error is not None:
            self._record(task, CallResult(failure=described(error), error=error))
        else:
            self._record(task, future.result())

    def _record(self, task: _Task, outcome: CallResult) -> None:
        """Record the outcome of one task, and finish its suggestion if it was the last one."""
        kind = self._drawn and self._drawn.copied(outcome.drawn)
        if kind:
            self._drawn = None
            # The caller of `maximize`.
            warnings.warn(COPIED.format(kind), UserWarning, stacklevel=9)
        suggestion = task.suggestion
        self._run.record(suggestion, task.repeat, outcome)
        self._unsettled[suggestion.id] -= 1
        if self._unsettled[suggestion.id] == 0:
            del self._unsettled[suggestion.id]
            missing = self._run.optimizer.trials[suggestion.id].n_missing
            self._run.evaluated(suggestion, complete=not missing)
