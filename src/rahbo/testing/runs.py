"""The promises of what takes part in a run of `maximize`: stop rules and displays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from rahbo.errors import ObjectiveError, SettingsError
from rahbo.optimizer import Optimizer
from rahbo.running import Course, Display, Done, Result, Stop, checked_stop, maximize
from rahbo.state import State
from rahbo.testing.checks import Promises

SPACE = {"x": (0.0, 1.0)}
EVALUATIONS, DESIGN = 24, 4


def check_stop(stop: Stop, space: Mapping[str, Any] | None = None) -> None:
    """Check that a stop rule of your own keeps what `maximize` relies on.

    Args:
        stop: The rule.
        space: A space for its small runs, if it needs certain parameters.

    Raises:
        AssertionError: A promise is broken; the message says which.
    """
    check, space = Promises(stop), space or SPACE
    try:
        checked_stop(stop, Optimizer(space, seed=0).settings)
    except SettingsError as error:
        raise AssertionError(f"{stop!r}: {error}") from error
    answers: list[bool] = []

    def look(optimizer: Optimizer) -> None:
        state = optimizer.state
        if len(state.trials) >= DESIGN and state.observations.n:
            answers.append(_answer(check, stop, state))

    run = _run(space, callback=look)
    check.require(
        _trials(run) == _trials(_run(space)), "it changes the run. It must only look at the state."
    )
    ended = _run(space, stop=stop)
    if any(answers[1:]):
        check.require(ended.stopped_by == "stop", "a run must end where it returns True.")
    half = ended.trials[: max(1, len(ended.trials) // 2)]
    again = _run(space, stop=stop, trials=half)
    check.require(
        _trials(again) == _trials(ended),
        "a resumed run ends elsewhere. It must depend on nothing but the state.",
    )


def _answer(check: Promises, stop: Stop, state: State) -> bool:
    """Return what a rule says of a state, after checking that it always says so."""
    answer = stop(state)
    check.require(
        isinstance(answer, bool | np.bool_), f"it must return True or False, got {answer!r}."
    )
    fresh = State(state.settings, dict(state.trials))
    for other in (state, fresh):
        check.require(
            stop(other) == answer, "it must give the same answer for the same state each time."
        )
    return bool(answer)


def check_display(make: Callable[[], Display]) -> None:
    """Check that a display of your own fails nowhere and changes no run.

    Args:
        make: Returns a new display, which is shown one run.

    Raises:
        AssertionError: A promise is broken; the message says which.
    """
    plain = _run(SPACE)
    shown = _shown(make, lambda display: _run(SPACE, verbose=display))
    Promises(make()).require(
        shown is not None and _trials(shown) == _trials(plain),
        "it changes the run. It must only look at it.",
    )
    half = plain.trials[: len(plain.trials) // 2]
    _shown(make, lambda display: _run(SPACE, verbose=display, trials=half))
    _shown(make, lambda display: maximize(_failing, SPACE, evaluations=4, verbose=display))


def _shown(make: Callable[[], Display], run: Callable[[Display], Result]) -> Result | None:
    """Return a run with a new display, None if it fails, after checking that the display worked."""
    display, found = make(), None
    if not isinstance(display, Display):
        raise AssertionError(f"{display!r}: it must be an instance of a subclass of Display.")
    listening = _Listening(display)
    with suppress(ObjectiveError):
        found = run(listening)
    for name, error in listening.errors:
        raise AssertionError(f"{display!r}: {name}() fails: {error!r}.") from error
    return found


class _Listening(Display):
    """Passes calls on, and keeps the errors of the display that it passes them to.

    At the start it shows what a run seldom has: odd texts, a failure, and a notice.
    """

    def __init__(self, display: Display) -> None:
        self._display = display
        self.errors: list[tuple[str, Exception]] = []

    def started(self, course: Course) -> None:
        self._pass_on("started", course)
        self.noticed("Repeats of a setting are always equal.")
        self.evaluated(Done({"x": 0.5, "kind": "a\x1b[2J"}, 1.0, outcomes="loss=6 (above 5)"))
        self.evaluated(Done({"x": 0.5}, None, "Traceback\n  line 3\nValueError: no"))

    def evaluated(self, done: Done) -> None:
        self._pass_on("evaluated", done)

    def told(self, state: State) -> None:
        self._pass_on("told", state)

    def noticed(self, text: str) -> None:
        self._pass_on("noticed", text)

    def ended(self, state: State) -> None:
        self._pass_on("ended", state)

    def _pass_on(self, name: str, what: object) -> None:
        try:
            getattr(self._display, name)(what)
        except Exception as error:
            self.errors.append((name, error))


def _failing(x: float) -> float:
    raise ValueError("no\nbeam")


def _objective(seed: int, **params: Any) -> float:
    """Return a noisy value of any parameters; one in nine evaluations fails."""
    if seed % 9 == 0:
        raise ValueError("no beam")
    numbers = (value for value in params.values() if isinstance(value, float))
    return float(sum(numbers) + 0.1 * np.random.default_rng(seed).standard_normal())


def _run(space: Mapping[str, Any], **given: Any) -> Result:
    """Return a small run in a space."""
    settings = {"evaluations": EVALUATIONS, "n_initial": DESIGN, "repeats": 2, "verbose": False}
    return maximize(_objective, space, **{**settings, "seed": 1, **given})


def _trials(result: Result) -> list[tuple[Any, ...]]:
    return [(t.params, dict(t.values), len(t.failures), t.source) for t in result.trials]
