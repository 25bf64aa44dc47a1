"""What is shown and logged while a run goes on, as data and text."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from rahbo.analysis import LEVEL, best_scored, legal, predict, short, told, worst
from rahbo.numerics import one_blas_thread
from rahbo.optimizer import Optimizer
from rahbo.policy import report_bound
from rahbo.reports import Reports
from rahbo.running.budget import Budget
from rahbo.running.clock import Clock
from rahbo.state import State
from rahbo.trials import Trial, valued

# The characters shown of a failure's reason.
REASON = 200
# The best point so far is looked up again after so many seconds, and after so many times as long
# as it took the last time. So it takes at most a twentieth of the run's time.
PAUSE, RARELY = 1.0, 20.0

LOG = logging.getLogger("rahbo")
T = TypeVar("T")


@dataclass(frozen=True)
class Done:
    """One finished evaluation.

    Attributes:
        params: The parameters that were evaluated.
        value: The value, or None if the evaluation failed.
        failure: Why the evaluation failed; empty if it gave a value.
        outcomes: The outcomes with limits in words; empty if there are none.
    """

    params: Mapping[str, Any]
    value: float | None
    failure: str = ""
    outcomes: str = ""

    def __str__(self) -> str:
        if self.value is not None:
            beside = f", {self.outcomes}" if self.outcomes else ""
            return printable(f"{one_line(self.params)}: {self.value:.6g}{beside}")
        return printable(f"{one_line(self.params)}: failed, {self.why}")

    @property
    def why(self) -> str:
        """Why the evaluation failed, in one line."""
        lines = self.failure.splitlines() or [""]
        # The message of a traceback is its last line.
        why = lines[0] if len(lines) == 1 else f"{lines[0].split(': ')[0]}: {lines[-1]}"
        return printable(why[:REASON])


class Display:
    """Shows a run while it goes on; this one shows nothing.

    To write your own, override what you need, and pass it as ``verbose=``. Its calls come one after
    the other, from the thread that called `maximize`. An exception in one of them does not end the
    run: a warning says it once, and only `ended` is called after it.
    """

    def started(self, course: Course) -> None:
        """Show that the run starts; ``course`` says at any time how far it is."""

    def evaluated(self, done: Done) -> None:
        """Show an evaluation, which is recorded by then."""

    def told(self, state: State) -> None:
        """Show what is known after a suggestion was evaluated; see `leading`."""

    def noticed(self, text: str) -> None:
        """Show that the values show something to be wrong. This happens at most once."""

    def ended(self, state: State) -> None:
        """Show that the run has ended, in whatever way, and release what was taken."""


def harmless(display: Display, failed: Callable[[Exception], None] = lambda error: None) -> Display:
    """Return a display that does the same and raises no error.

    Args:
        display: The display. After its first error, only `Display.ended` is called.
        failed: Called with the first error.
    """
    return _Harmless(display, failed)


class _Harmless(Display):
    def __init__(self, display: Display, failed: Callable[[Exception], None]) -> None:
        self._display, self._failed = display, failed
        self._is_silent = False

    def started(self, course: Course) -> None:
        self._show(self._display.started, course)

    def evaluated(self, done: Done) -> None:
        self._show(self._display.evaluated, done)

    def told(self, state: State) -> None:
        self._show(self._display.told, state)

    def noticed(self, text: str) -> None:
        self._show(self._display.noticed, text)

    def ended(self, state: State) -> None:
        self._show(self._display.ended, state, always=True)

    def _show(self, show: Callable[[T], None], what: T, always: bool = False) -> None:
        if self._is_silent and not always:
            return
        try:
            show(what)
        except Exception as error:
            if not self._is_silent:
                self._is_silent = True
                # Where warnings are errors, saying it fails too.
                with suppress(Exception):
                    self._failed(error)


def warn_of(error: Exception) -> None:
    """Warn that a display failed."""
    warnings.warn(
        f"The display failed with {error!r}. The run goes on without it.", RuntimeWarning,
        stacklevel=2,
    )  # fmt: skip


def printable(text: str) -> str:
    r"""Return text in one line, with codes in place of characters that control a terminal.

    >>> printable("a" + chr(27) + "[2J") == r"a\x1b[2J"
    True
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def one_line(params: Mapping[str, Any]) -> str:
    """Return parameters in one line."""
    return ", ".join(f"{name}={short(value)}" for name, value in params.items())


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> [duration(s) for s in (0.4, 75, 3_700, 200_000)]
    ['0 s', '1 min 15 s', '1 h 1 min', '2 d 7 h']
    """
    whole = max(0, round(seconds))
    for size, name, smaller, below in (
        (86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"),
    ):  # fmt: skip
        if whole >= size:
            return f"{whole // size} {name} {whole % size // smaller} {below}"
    return f"{whole} s"


# -- how far ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """How far a run is.

    Attributes:
        share: The part of the budget that is spent, from 0 to 1.
        spent: The same in words, such as ``"12/100"``.
        left: The seconds until the end, if they can be estimated.
    """

    share: float
    spent: str
    left: float | None


class Course:
    """Follows a run through its budget.

    Attributes:
        optimizer: The run.

    Args:
        budget: The budget of the run.
        clock: Runs since the start of the call.
        optimizer: The run, with what earlier calls made.
    """

    def __init__(self, budget: Budget, clock: Clock, optimizer: Optimizer) -> None:
        self._budget, self._clock, self.optimizer = budget, clock, optimizer
        self._before = self._counted()

    def _counted(self) -> float:
        """Return the part of the budget that trials have spent; 0 if only time is limited."""
        budget, counts = self._budget, self.optimizer.state.counts
        if budget.evaluations is not None:
            return 1.0 - budget.left(counts) / budget.evaluations
        if budget.rounds is not None:
            whole = budget.rounds + self.optimizer.settings.n_initial
            return (counts.trials.get("design", 0) + counts.trials.get("strategy", 0)) / whole
        return 0.0

    def now(self) -> Stage:
        """Return how far the run is."""
        budget, clock = self._budget, self._clock
        share, made = self._counted(), self.optimizer.state.counts
        n = made.made("design", "strategy", "confirm")
        left = clock.left
        if share > self._before:
            left = min(left, clock.elapsed * (1.0 - share) / (share - self._before))
        if budget.evaluations is not None:
            spent = f"{n}/{budget.evaluations}"
        elif budget.rounds is not None:
            spent = f"round {made.trials.get('strategy', 0)}/{budget.rounds}, {n} made"
        else:
            spent = f"{n} made"
        if clock.seconds is not None:
            share = max(share, clock.elapsed / clock.seconds)
        known = None if math.isinf(left) else max(0.0, left)
        return Stage(min(1.0, max(0.0, share)), spent, known)


class Leader:
    """Says which setting leads, without spending much time on it."""

    def __init__(self) -> None:
        self._text = ""
        self._not_before = 0.0

    def now(self, state: State) -> str:
        """Return the setting that leads and its risk value in words; it may be a little old."""
        start = monotonic()
        if start >= self._not_before:
            found = leading(state)
            if found is not None:
                self._text = f"best so far {found[1]:.5g} at {printable(one_line(found[0]))}"
            end = monotonic()
            self._not_before = end + max(PAUSE, RARELY * (end - start))
        return self._text


def leading(state: State) -> tuple[dict[str, Any], float] | None:
    """Return the evaluated setting that leads and its risk value; None while there is none.

    It is nearly always the point that `Optimizer.recommend` would give, from the model that
    proposals need anyway. With conditions, it leads under its own.
    """
    if not valued(state.trials.values()):
        return None
    with one_blas_thread():
        state = state.quick
        order = best_scored(np.where(legal(state), worst(state)[2], np.nan))
        if not len(order):
            return None
        x = told(state).observations.X[order[0]]
        params = told(state).space.decode(x)
        (found,) = predict(report_bound(state), state.risk, x[None], [params], LEVEL)
        return params, Reports(state).in_user_sign(found).risk


# -- logging ------------------------------------------------------------------------------------


def log_failure(done: Done, suggestion: int, repeat: int) -> None:
    """Log that an evaluation failed."""
    # Without any handler, Python would print warnings to stderr, and a run is quiet by default.
    if LOG.hasHandlers():
        LOG.warning("Suggestion %d, repeat %d: %s", suggestion, repeat, done)


def log_notice(text: str) -> None:
    """Log that the values show that something is wrong."""
    if LOG.hasHandlers():
        LOG.warning("%s", text)


def log_trial(trial: Trial, made: int) -> None:
    """Log that a suggestion was evaluated."""
    if LOG.isEnabledFor(logging.INFO):
        LOG.info("Suggestion %d: %s; %d evaluations so far", trial.id, outcome_of(trial), made)


def outcome_of(trial: Trial) -> str:
    """Return the setting of a trial with its values in one line."""
    values = [f"{value:.6g}" for value in trial.values.values()]
    failed = [f"{len(trial.failures)} failed"] if trial.failures else []
    return printable(f"{one_line(trial.params)}: {', '.join([*values, *failed]) or 'no value'}")
