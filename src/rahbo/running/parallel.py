"""Evaluate on an executor: each repeat is a task, and a free worker gets a new point at once.

If evaluations are short, tasks wait in the executor's queue, so that no worker waits for a
proposal. `Pace` says how many.

A task has the key (suggestion, repeat) and a seed that depends on it alone. Only the latest future
of a task counts, so a task that runs twice because a worker died is told once.
"""

from __future__ import annotations

import math
import warnings
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from rahbo.errors import ExecutorError, ExhaustedError
from rahbo.running.calls import CallResult, described
from rahbo.running.generators import SHARED, shared_generator
from rahbo.running.marks import Marks
from rahbo.running.pace import Pace
from rahbo.running.pool import LONGEST_WAIT, MAX_CRASHES, Pool
from rahbo.running.result import End
from rahbo.running.run import Run
from rahbo.running.worker import arrive, attempt_there
from rahbo.trials import Suggestion

# In seconds, for a time-out that has passed but cannot be confirmed.
SHORTEST_WAIT = 0.02
# Time-outs after which evaluations that cannot be stopped are considered lost.
PATIENCE = 10


def in_parallel(run: Run, pool: Pool, timeout: float | None) -> End:
    """Spend the budget of a run on a pool.

    Args:
        run: What to evaluate and for how long.
        pool: Where to evaluate.
        timeout: Seconds after which an evaluation has failed, counted from its start if the
            executor shows it.
    """
    tasks = _Tasks(run, pool, timeout)
    try:
        try:
            pool.start(arrive, run.objective)
            shared = None if "seed" in run.wants else shared_generator(run.objective, pool)
            if shared is not None:
                # The caller of `maximize`.
                warnings.warn(SHARED.format(shared), UserWarning, stacklevel=5)
            return tasks.work()
        finally:
            tasks.give_up()
    except (KeyboardInterrupt, ExhaustedError) as error:
        return run.ended_by(error)
    except ExecutorError as error:
        error.optimizer = run.optimizer
        raise
    finally:
        pool.close(idle=tasks.idle)


@dataclass(eq=False)
class _Task:
    """One repeat of a suggestion.

    Attributes:
        suggestion: What to evaluate.
        repeat: The index of the repeat.
        crashes: How often workers died while the task was under way.
        mark: The file that shows that the task has started.
        deadline: When the task times out; infinite until it is seen to run.
        taken_back: Whether the task is not to be evaluated any more.
    """

    suggestion: Suggestion
    repeat: int
    crashes: int = 0
    mark: Path = Path()
    deadline: float = math.inf
    taken_back: bool = False

    @property
    def is_suspect(self) -> bool:
        """Whether the task must run alone, so that another crash can be blamed on it."""
        return self.crashes == MAX_CRASHES - 1


class _Tasks:
    """The tasks of a run: waiting, under way, or overdue and impossible to stop."""

    def __init__(self, run: Run, pool: Pool, timeout: float | None) -> None:
        self._run = run
        self._pool = pool
        self._timeout = timeout
        self._marks = Marks(shared=False)
        self._pace = Pace()
        self._waiting: deque[_Task] = deque()
        # In the order of submission.
        self._under_way: dict[Future[CallResult], _Task] = {}
        # These were told as failures, but their workers are still busy.
        self._overdue: set[Future[CallResult]] = set()
        # The number of unfinished tasks of each suggestion, by its id.
        self._unsettled: dict[int, int] = {}
        self._last_event = self._awake_since = monotonic()
        self._is_ending = False

    @property
    def idle(self) -> bool:
        """Whether no worker is busy with a task."""
        return not self._under_way and not self._overdue

    def work(self) -> End:
        """Keep the workers busy until the budget is spent or the stop criterion is met."""
        # Threads show by themselves what has started, unless it is timed.
        timed = self._timeout is not None or self._pool.owner is not None
        self._marks = Marks(shared=timed and self._pool.is_local)
        self._awake_since = monotonic()
        # Open suggestions of an earlier run are evaluated first.
        news = not self._run.optimizer.open
        while (end := self._end(news)) is None:
            more = self._fill()
            if not self._under_way and not self._waiting and self._run.is_spent():
                return "budget"
            news = self._settle(patiently=not more)
        self._is_ending = True
        self._take_back_queue()
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

    def _take_back_queue(self) -> None:
        """Take back the tasks that no worker has started, if that can be seen."""
        if not self._pool.is_local:
            # A cluster may cancel a task that is running, and its value would be lost.
            return
        for future, task in list(self._under_way.items()):
            if self._pool.cancel(future):
                del self._under_way[future]
            else:
                task.taken_back = self._marks.take_back(task.mark)

    def give_up(self) -> None:
        """Cancel the tasks under way, but tell the values that have already arrived."""
        self._marks.close()
        for future in self._overdue:
            self._pool.cancel(future)
        for future, task in list(self._under_way.items()):
            if not self._pool.cancel(future) and not future.done():
                continue
            del self._under_way[future]
            if not future.cancelled() and future.exception() is None:
                self._run.tell(task.suggestion, task.repeat, future.result())

    # -- submitting --------------------------------------------------------------------------

    def _fill(self) -> bool:
        """Submit tasks until no more are needed, or after one search for points.

        Return whether there is room for more, so that another search should follow.
        """
        asked = False
        while (room := self._room()) > 0:
            if not self._waiting:
                if asked or not self._ask(room):
                    return asked
                asked = True
            others = self._under_way.values()
            if others and any(task.is_suspect for task in (self._waiting[0], *others)):
                return False
            self._submit(self._waiting.popleft())
        return False

    def _room(self) -> int:
        """Return how many tasks to submit: for free workers, and for the executor's queue."""
        pool, ahead = self._pool, 0
        # A run of one task at a time is the same as without an executor. A cluster does not show
        # which tasks run, so that one in its queue could time out.
        if pool.queues and pool.parallel > 1 and (pool.is_local or self._timeout is None):
            ahead = self._pace.ahead(pool.workers) - (pool.parallel - pool.workers)
        return pool.parallel + max(0, ahead) - len(self._under_way) - len(self._overdue)

    def _ask(self, room: int) -> bool:
        """Ask for suggestions and queue their repeats. Return whether anything was queued."""
        under_way = len(self._under_way)
        if self._run.is_spent(under_way, self._unsettled):
            return False
        at_once = self._pace.at_once(min(self._pool.workers, self._pool.parallel))
        try:
            found = self._run.ask(min(room, at_once), under_way, self._unsettled)
        except ExhaustedError:
            # If repeats under way fail, their point may be proposed again.
            if under_way:
                return False
            raise
        for suggestion, paid in found:
            repeats = suggestion.indices[:paid]
            self._unsettled[suggestion.id] = len(repeats)
            self._waiting.extend(_Task(suggestion, repeat) for repeat in repeats)
        now = monotonic()
        self._pace.turned(now - self._awake_since)
        self._awake_since = now
        return bool(found)

    def _submit(self, task: _Task) -> None:
        task.mark, task.deadline = self._marks.new(), math.inf
        arguments = self._run.arguments(task.suggestion, task.repeat)
        objective, owner = self._run.objective, self._pool.owner
        try:
            future = self._pool.submit(attempt_there, objective, arguments, task.mark, owner)
        except BrokenExecutor as error:
            # A worker died while it was idle or busy with another task.
            self._waiting.appendleft(task)
            self._rebuild(error)
        except Exception as error:
            if self._pool.is_broken:
                # The workers have just died, and the executor has not reported it yet.
                self._waiting.appendleft(task)
                self._rebuild(BrokenExecutor(str(error)))
                return
            raise ExecutorError(
                f"The executor takes no more tasks: {described(error)}. The error's .optimizer "
                "holds all measurements. Continue with trials=error.optimizer.trials and another "
                "executor."
            ) from error
        else:
            self._under_way[future] = task

    # -- settling ----------------------------------------------------------------------------

    def _settle(self, patiently: bool = True) -> bool:
        """Wait for progress, or only see what there is. Return whether a suggestion completed."""
        unsettled = len(self._unsettled)
        try:
            done, late = self._wait(patiently)
        except BrokenExecutor as error:
            self._rebuild(error)
            return len(self._unsettled) < unsettled
        self._overdue -= done
        broken = self._take([future for future in self._under_way if future in done])
        if broken is not None:
            self._rebuild(broken)
        elif late:
            self._fail(late)
        return len(self._unsettled) < unsettled

    def _wait(self, patiently: bool) -> tuple[set[Future[CallResult]], list[Future[CallResult]]]:
        """Wait for futures that are done or past their deadline, and return both.

        Without patience there may be none.
        """
        liveness, clock = self._pool.watch(), self._run.clock
        while True:
            futures = [*self._under_way, *self._overdue]
            longest = self._start_clocks()
            if 0.0 < clock.left < longest:
                longest = clock.left
            done, _ = wait(futures, longest if patiently else 0.0, return_when=FIRST_COMPLETED)
            now = monotonic()
            past = {f: t.deadline for f, t in self._under_way.items() if t.deadline <= now}
            # No task is blamed for a cluster that is not heard.
            late = [f for f in past if f not in done and past[f] <= liveness.heard_at]
            if done or late:
                self._last_event = now
            if not patiently or (clock.is_up and not self._is_ending):
                return done, late
            if done or late:
                self._awake_since = now
                return done, late
            liveness.check(urgent=bool(past))

    def _start_clocks(self) -> float:
        """Give each running task a deadline. Return the seconds to wait before the next check."""
        if self._timeout is None:
            return LONGEST_WAIT
        now = monotonic()
        for task in self._running():
            if task.deadline == math.inf:
                task.deadline = now + self._timeout
        soonest = min((task.deadline for task in self._under_way.values()), default=math.inf)
        waited = now - self._last_event
        if self._overdue and soonest == math.inf and waited > PATIENCE * self._timeout:
            raise ExecutorError(
                f"All workers are busy with evaluations past their time-out of {self._timeout:g} s "
                f"and none came free for {waited:.0f} s: threads and remote workers cannot be "
                "stopped. Use processes. The error's .optimizer holds all measurements."
            )
        return max(SHORTEST_WAIT, min(LONGEST_WAIT, self._timeout / 10, soonest - now))

    def _running(self) -> list[_Task]:
        """Return the tasks under way that workers have started."""
        tasks = list(self._under_way.values())
        if self._pool.is_local:
            return [task for task in tasks if task.mark.exists()]
        # Remote starts cannot be seen. Workers take tasks in order, so the first ones are running.
        return tasks[: max(0, self._pool.workers - len(self._overdue))]

    def _take(self, done: list[Future[CallResult]]) -> BrokenExecutor | None:
        """Record the outcomes of tasks, except those of a broken pool. Return its error, if any.

        Workers catch the objective's exceptions: a future's own exception comes from the transport.
        """
        broken = None
        for future in done:
            error = CancelledError() if future.cancelled() else future.exception()
            if isinstance(error, KeyboardInterrupt):
                raise error
            if isinstance(error, BrokenExecutor):
                broken = error
                continue
            task = self._under_way.pop(future)
            if task.taken_back:
                continue
            if isinstance(error, CancelledError):
                self._retry([task], [task], error)
            elif error is not None:
                self._record(task, CallResult(failure=described(error), error=error))
            else:
                self._record(task, future.result())
        return broken

    def _rebuild(self, error: BrokenExecutor) -> None:
        """Replace the pool and retry the tasks that were under way."""
        self._take([future for future in self._under_way if future.done()])
        # If none was seen to start, those that came first are taken to have started.
        blamed = self._running() or list(self._under_way.values())[: self._pool.workers]
        lost = self._take_all()
        self._pool.renew()
        self._retry(lost, blamed, error)

    def _take_all(self) -> list[_Task]:
        """Return the tasks of a pool that is gone, except those that are not wanted any more."""
        lost = [task for task in self._under_way.values() if not task.taken_back]
        self._under_way.clear()
        self._overdue.clear()
        return lost

    def _retry(self, lost: list[_Task], blamed: list[_Task], error: Exception) -> None:
        """Queue tasks whose worker died again, or record a failure if that happened too often.

        Args:
            lost: All tasks that the pool had.
            blamed: Those among them that had started.
            error: The error that the pool reported.
        """
        for task in blamed:
            task.crashes += 1
        self._waiting.extendleft(t for t in reversed(lost) if t.crashes < MAX_CRASHES)
        for task in lost:
            if task.crashes >= MAX_CRASHES:
                failure = f"lost with its worker {task.crashes} times: {described(error)}"
                self._record(task, CallResult(failure=failure, error=error))

    def _fail(self, late: list[Future[CallResult]]) -> None:
        """Record that evaluations took too long, and kill their workers where possible."""
        killed = self._pool.kill()
        failed = [self._under_way.pop(future) for future in late]
        if killed:
            # From now on the other futures only report that their pool was killed.
            lost = self._take_all()
            self._pool.renew()
            self._waiting.extendleft(reversed(lost))
        else:
            self._overdue.update(late)
        for task in failed:
            self._record(task, CallResult(failure=f"timed out after {self._timeout:g} s"))

    def _record(self, task: _Task, outcome: CallResult) -> None:
        """Record the outcome of one task, and finish its suggestion if it was the last one."""
        suggestion = task.suggestion
        if outcome.seconds is not None:
            self._pace.evaluated(outcome.seconds)
        self._run.record(suggestion, task.repeat, outcome)
        self._unsettled[suggestion.id] -= 1
        if self._unsettled[suggestion.id] == 0:
            del self._unsettled[suggestion.id]
            missing = self._run.optimizer.trials[suggestion.id].n_missing
            self._run.evaluated(suggestion, complete=not missing)
