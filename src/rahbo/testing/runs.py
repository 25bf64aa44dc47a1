"""The promises of what takes part in a run of `maximize`: stop rules and displays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from rahbo.errors import ObjectiveError, SettingsError
from rahbo.optimizer import Optimizer
from rahbo.running import Display, Result, Stop, checked_stop, harmless, maximize
from rahbo.state import State
from rahbo.testing.checks import Promises

# A text that could move the cursor of a terminal is a choice like any other.
SPACE = {"x": (0.0, 1.0), "kind": ["a", "b\x1b[2J"]}
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
    fresh = State(state.settings, state.trials)
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
    shown = _shown(make(), lambda display: _run(SPACE, verbose=display))
    Promises(make()).require(
        shown is not None and _trials(shown) == _trials(plain),
        "it changes the run. It must only look at it.",
    )
    half = plain.trials[: len(plain.trials) // 2]
    _shown(make(), lambda display: _run(SPACE, verbose=display, trials=half))
    _shown(make(), lambda display: maximize(_equal, SPACE, evaluations=16, verbose=display))
    _shown(make(), lambda display: maximize(_failing, SPACE, evaluations=4, verbose=display))


def _shown(display: Display, run: Callable[[Display], Result]) -> Result | None:
    """Return a run with a display that must not fail; None if the run does."""
    check, errors, found = Promises(display), list[Exception](), None
    check.require(isinstance(display, Display), "it must be an instance of a subclass of Display.")
    with suppress(ObjectiveError):
        found = run(harmless(display, errors.append))
    check.require(not errors, f"it fails: {errors}.")
    return found


def _equal(x: float, kind: str) -> float:
    """Return the same at each repeat, which is noticed."""
    return x


def _failing(x: float, kind: str) -> float:
    raise ValueError("no\nbeam")


def _objective(seed: int, **params: Any) -> float:
    """Return a noisy value of any parameters; one in nine evaluations fails."""
    if seed % 9 == 0:
        raise ValueError("no\nbeam")
    numbers = (value for value in params.values() if isinstance(value, float))
    return float(sum(numbers) + 0.1 * np.random.default_rng(seed).standard_normal())


def _run(space: Mapping[str, Any], **given: Any) -> Result:
    """Return a small run in a space."""
    settings = {"evaluations": EVALUATIONS, "n_initial": DESIGN, "repeats": 2, "verbose": False}
    return maximize(_objective, space, **{**settings, "seed": 1, **given})


def _trials(result: Result) -> list[tuple[Any, ...]]:
    return [(t.params, dict(t.values), len(t.failures), t.source) for t in result.trials]
