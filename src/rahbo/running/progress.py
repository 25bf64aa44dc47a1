"""What is shown and logged while a run goes on, as data and text.

A display that fails goes silent. It never affects the run.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from rahbo.analysis import LEVEL, best_scored, legal, predict, short, told, worst
from rahbo.numerics import one_blas_thread
from rahbo.optimizer import Optimizer
from rahbo.policy import report_bound
from rahbo.running.budget import Budget
from rahbo.running.clock import Clock
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


@dataclass(frozen=True)
class Watch:
    """The functions to call while a run goes on. They raise no errors.

    Attributes:
        evaluated: Called with each evaluation, after it was recorded.
        told: Called with the optimizer after each suggestion.
        noticed: Called once with a text, if the values show that something is wrong.
    """

    evaluated: Callable[[Done], None] = lambda done: None
    told: Callable[[Optimizer], None] = lambda optimizer: None
    noticed: Callable[[str], None] = lambda text: None


def harmless(show: Callable[[T], None]) -> Callable[[T], None]:
    """Return the same function, except that it does nothing after its first error."""
    failed = False

    def shown(what: T) -> None:
        nonlocal failed
        if not failed:
            try:
                show(what)
            except Exception:
                failed = True

    return shown


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

    Args:
        budget: The budget of the run.
        clock: Runs since the start of the call.
        optimizer: The run, with what earlier calls made.
    """

    def __init__(self, budget: Budget, clock: Clock, optimizer: Optimizer) -> None:
        self._budget, self._clock = budget, clock
        self._before = self._counted(optimizer)

    def _counted(self, optimizer: Optimizer) -> float:
        """Return the part of the budget that trials have spent; 0 if only time is limited."""
        budget, counts = self._budget, optimizer.state.counts
        if budget.evaluations is not None:
            return 1.0 - budget.left(counts) / budget.evaluations
        if budget.rounds is not None:
            whole = budget.rounds + optimizer.settings.n_initial
            return (counts.trials.get("design", 0) + counts.trials.get("strategy", 0)) / whole
        return 0.0

    def now(self, optimizer: Optimizer) -> Stage:
        """Return how far the run is."""
        budget, clock = self._budget, self._clock
        share, made = self._counted(optimizer), optimizer.state.counts
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

    def now(self, optimizer: Optimizer) -> str:
        """Return the setting that leads and its risk value in words; it may be a little old."""
        start = monotonic()
        if start >= self._not_before:
            found = leading(optimizer)
            if found is not None:
                self._text = f"best so far {found[1]:.5g} at {printable(one_line(found[0]))}"
            end = monotonic()
            self._not_before = end + max(PAUSE, RARELY * (end - start))
        return self._text


def leading(optimizer: Optimizer) -> tuple[dict[str, Any], float] | None:
    """Return the evaluated point that leads and its risk value; None while there is none.

    It is nearly always the point that `Optimizer.recommend` would give, from the model that
    proposals need anyway. With conditions, it leads under its own.
    """
    if not valued(optimizer.trials):
        return None
    with one_blas_thread():
        state = optimizer.state.quick
        order = best_scored(np.where(legal(state), worst(state)[2], np.nan))
        if not len(order):
            return None
        x = told(state).observations.X[order[0]]
        params = told(state).space.decode(x)
        (found,) = predict(report_bound(state), state.risk, x[None], [params], LEVEL)
        return params, optimizer.in_user_sign(found).risk


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
