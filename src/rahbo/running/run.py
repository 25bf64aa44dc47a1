"""One run of an objective: what it may spend, how it is called, what is recorded.

The serial and the parallel loop share this module.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import suppress
from typing import Any

import numpy as np

from rahbo.analysis import not_noise
from rahbo.errors import ExhaustedError, ObjectiveError
from rahbo.numerics import evaluation_seed
from rahbo.optimizer import Optimizer
from rahbo.policy import Repeating, has_all, repeating, share_of
from rahbo.running.budget import Budget, all_complete, confirmations, open_trials
from rahbo.running.calls import CallResult, Objective, wanted_keywords, with_outcomes
from rahbo.running.clock import Clock
from rahbo.running.interrupts import Interrupts
from rahbo.running.mistakes import MISTAKES, Mistakes
from rahbo.running.present import Present, context_of
from rahbo.running.progress import Display, Done, log_failure, log_notice, log_trial
from rahbo.running.result import End
from rahbo.running.stopping import Stop, checked_stop
from rahbo.trials import Suggestion, Trial

# An objective that fails this often in a row, at this many points, is considered broken. If a fifth
# of the space fails, eight failing points in a row have a chance of three in a million.
MAX_FAILURES = 10
MAX_FAILED_POINTS = 8

# In place of a suggestion, for the seeds that all settings share: no suggestion has this number.
SHARED = 2**31

Callback = Callable[[Optimizer], object]


class Run:
    """An objective, the optimizer that asks for points, and when to end.

    Args:
        objective: Called with the parameters as keywords, and a ``seed`` or ``block`` if it
            takes one.
        optimizer: Suggests the points and records the values.
        budget: The length of the run.
        stop: A function of a state that ends the run early, or None.
        callback: Called with the optimizer after each suggestion is evaluated. True ends the run.
        context: Where the present conditions come from, in a space with conditions.
        clock: Runs since the start of the call, with the seconds of the budget.
        display: Shows evaluations. It raises no errors.

    Attributes:
        clock: The same.
        interrupts: Decides when Ctrl-C is raised.
        wants: The optional keywords that the objective takes.
        confirming: Whether the last suggestion measures a point again.
        is_called_off: Whether the callback has ended the run.
    """

    # Exceptions that end a run which has no value yet, see `Mistakes`.
    mistakes: tuple[type[BaseException], ...] = MISTAKES

    def __init__(
        self,
        objective: Objective,
        optimizer: Optimizer,
        budget: Budget,
        stop: Stop | None = None,
        callback: Callback | None = None,
        context: Present | None = None,
        clock: Clock | None = None,
        display: Display | None = None,
    ) -> None:
        self.objective = objective
        self.optimizer = optimizer
        names, blocks = optimizer.settings.space.names, optimizer.settings.blocks
        self.wants = wanted_keywords(objective, names, ("seed", "block") if blocks else ("seed",))
        budget.check(optimizer)
        self._budget = budget
        self._stop = checked_stop(stop, optimizer.settings)
        self._callback = callback
        self._context = context_of(context, optimizer.settings.space)
        self._criterion_met = False
        self.clock = clock or Clock(budget.seconds)
        self._display = display or Display()
        self.confirming = self.is_called_off = False
        self.interrupts = Interrupts()
        # How many evaluations the end of the time is reserved for, once it has come to that.
        self._reserved = 0
        self._failed: list[tuple[object, ...]] = []
        self._last_failure = CallResult()
        self._mistakes = Mistakes(self.mistakes, optimizer.settings.space.size)
        # Repeats of the latest suggestion.
        self._each = 1
        # Whether it was said that repeats are not noise.
        self._is_noticed = False

    # -- how long ----------------------------------------------------------------------------

    @property
    def left(self) -> float:
        """How many evaluations may still be made; past results cost nothing."""
        return self._budget.left(self.optimizer.state.counts)

    def is_spent(self, under_way: int = 0, asked: Container[int] = ()) -> bool:
        """Return whether nothing more may be asked for.

        Args:
            under_way: The number of evaluations under way.
            asked: Ids of the suggestions they belong to. Other open suggestions were left by an
                earlier run and are not yet paid for.
        """
        return self._for_all(under_way, asked) <= 0

    def _for_all(self, under_way: int, asked: Container[int]) -> float:
        """Return how many evaluations may still be asked for, to search and to confirm."""
        left = self._budget.for_all(self.optimizer, under_way, asked)
        if left <= 0 or self.clock.is_up:
            return 0
        if self._is_late():
            left = min(left, self._reserved - confirmations(self.optimizer.trials, asked))
        return left

    def _is_late(self) -> bool:
        """Return whether the rest of the time is needed to confirm the leading points."""
        if self._reserved == 0 and self.clock.seconds is not None:
            kept = self._budget.confirm
            n = share_of(self.clock.made) if kept is None else kept
            told = any(trial.n_values for trial in self.optimizer.trials)
            if n > 0 and told and self.clock.leaves_only(n, self._each):
                self._reserved = min(n, self._budget.kept(self.optimizer))
        return self._reserved > 0 and not all_complete(self.optimizer)

    def has_enough(self) -> bool:
        """Return whether the stop criterion is met and the recommended point is confirmed.

        If the criterion is met but the point is not confirmed, `ask` confirms it.
        """
        stop, optimizer = self._stop, self.optimizer
        self._criterion_met = (
            stop is not None
            and self._is_past_design()
            and bool(self.interrupts.call(stop, optimizer.state))
        )
        if not self._criterion_met:
            return False
        kept = self._budget.kept(optimizer)
        return confirmations(optimizer.trials) >= kept or optimizer.unconfirmed == 0

    def _is_past_design(self) -> bool:
        optimizer = self.optimizer
        if any(trial.source == "design" for trial in open_trials(optimizer)):
            return False
        if optimizer.state.counts.trials.get("strategy", 0) > 0:
            return True
        told = {trial.x.tobytes() for trial in optimizer.trials if trial.n_values}
        return len(told) >= optimizer.settings.n_initial

    # -- what next ---------------------------------------------------------------------------

    def ask(
        self, n: int = 1, under_way: int = 0, asked: Container[int] = ()
    ) -> list[tuple[Suggestion, int]]:
        """Return the next suggestions, and how many repeats of each the budget pays for.

        Return none if what is under way has to be told first.

        Args:
            n: How many evaluations are wanted. One suggestion may give more. For more than one
                suggestion the optimizer is asked once.
            under_way: As for `is_spent`.
            asked: As for `is_spent`.
        """
        optimizer = self.optimizer
        enough = n * Repeating.of(optimizer.settings).most
        room = self._budget.for_search(optimizer, under_way, asked, enough)
        if self._is_late():
            room = 0
        if room <= 0 and not any(trial.n_values for trial in optimizer.trials):
            # There is nothing to confirm, so the search may spend what is reserved for it.
            room = 0 if under_way else self._budget.for_all(optimizer, under_way, asked)
            if room <= 0:
                return []
        self.confirming = self._criterion_met or room <= 0
        earlier = open_trials(optimizer, asked)
        if not (self.confirming or earlier) and has_all(optimizer.state):
            said = repeating(optimizer.state).repetition
            raise ExhaustedError(f"Every point has its value. {said}")
        if not self.confirming:
            return self._paid(self._search(1 if earlier else n, room, self._given()), room)
        unpaid = [trial for trial in earlier if not self._is_paid(trial)]
        for trial in unpaid:
            # A run that died may have left suggestions that the search cannot pay for.
            optimizer.cancel(trial.id)
        if unpaid:
            return self.ask(n, under_way, asked)
        room = self._for_all(under_way, asked)
        if earlier:
            found = self._search(1, 1, self._given())
        else:
            found = self._ask_to_confirm(int(min(n, room)))
        return self._paid(found, room)

    def _is_paid(self, trial: Trial) -> bool:
        """Return whether the evaluations reserved for confirmation may go to an open trial.

        A search in place of confirmation is paid by them. That it was one follows from the trials,
        see `all_complete`, but not with conditions or in a safe run. There it is taken for one.
        """
        settings = self.optimizer.settings
        in_place = settings.blocks and (settings.safe or settings.space.conditions)
        return trial.source == "confirm" or bool(in_place)

    def _search(self, n: int, room: float, given: dict[str, Any]) -> list[Suggestion]:
        """Ask for new points that take about ``n`` evaluations, at least for one."""
        suggestions = int(min(min(n, room) // self._each, self._budget.rounds_left(self.optimizer)))
        if suggestions > 1:
            # If so many points are not left, those that were found are handed out one by one.
            with suppress(ExhaustedError):
                return self.optimizer.ask(suggestions, **given)
        return [self.optimizer.ask(**given)]

    def _ask_to_confirm(self, n: int) -> list[Suggestion]:
        """Ask for more evaluations of leading points; none if enough are under way.

        If no point may be measured again, ask for new points instead, if the budget allows any.
        """
        optimizer = self.optimizer
        if self._criterion_met:
            again = [t for t in open_trials(optimizer) if t.source == "confirm"]
            coming = sum(trial.n_missing for trial in again)
            n = min(n, optimizer.unconfirmed - coming)
        if n <= 0:
            return []
        given = self._given()
        found = optimizer.confirm(n, **given)
        if found:
            return found
        if self._criterion_met or self._budget.rounds_left(optimizer) <= 0:
            raise ExhaustedError("Every point has all its blocks. Call recommend().")
        self.confirming = False
        return self._search(n, n, given)

    def _given(self) -> dict[str, Any]:
        """Return the keyword for the present conditions, if there are any."""
        context = self.interrupts.call(self._context)
        return {} if context is None else {"context": context}

    def _paid(self, suggestions: list[Suggestion], room: float) -> list[tuple[Suggestion, int]]:
        """Return suggestions with the repeats that are paid; one that gets none is cancelled."""
        paid = []
        for suggestion in suggestions:
            self._each = max(1, suggestion.repeats)
            n = int(min(room, suggestion.repeats))
            room -= n
            if n > 0:
                paid.append((suggestion, n))
            else:
                self.optimizer.cancel(suggestion)
        return paid

    def ended_by(self, error: BaseException) -> End:
        """Return what ended the run: an interrupt, or no points left.

        If nothing was told, raise the error instead.
        """
        if isinstance(error, ExhaustedError):
            self.check_told()
        if not any(trial.n_values for trial in self.optimizer.trials):
            raise error
        return "interrupt" if isinstance(error, KeyboardInterrupt) else "exhausted"

    def check_told(self) -> None:
        """Raise the objective's own error if every evaluation has failed."""
        trials = self.optimizer.trials
        failed = [(trial, why) for trial in trials for why in trial.failures.values()]
        if not failed or any(trial.n_values for trial in trials):
            return
        last, why = failed[-1]
        n = len(failed)
        times = "The only evaluation" if n == 1 else f"All {n} evaluations"
        raise ObjectiveError(
            f"{times} of the objective failed, {'' if n == 1 else 'the last one '}at "
            f"{last.params}: {why}. Correct the objective, or exclude such points with valid=.",
            self.optimizer,
        ) from self._last_failure.cause

    # -- one evaluation ----------------------------------------------------------------------

    def arguments(self, suggestion: Suggestion, repeat: int) -> dict[str, Any]:
        """Return the keywords for one call of the objective."""
        found, wants, settings = dict(suggestion.params), self.wants, self.optimizer.settings
        key = (suggestion.id, repeat)
        if suggestion.blocks:
            block = dict(zip(suggestion.indices, suggestion.blocks, strict=True))[repeat]
            if "block" in wants:
                found["block"] = block
            elif settings.blocks:
                # All settings share the seed of a block, so that their values can be compared.
                key = (SHARED, settings.blocks.index(block))
        return {**found, "seed": evaluation_seed(settings.seed, *key)} if "seed" in wants else found

    def record(self, suggestion: Suggestion, repeat: int, outcome: CallResult) -> None:
        """Tell the optimizer an outcome.

        Too many failures in a row, or a result that is not a number, raise an error.
        """
        outcome = with_outcomes(outcome, self.optimizer.settings.constraints)
        self.clock.evaluated(outcome.seconds)
        self._check(suggestion, outcome)
        done = self.done(suggestion, outcome)
        if outcome.value is not None:
            self.tell(suggestion, repeat, outcome)
            self._failed.clear()
            self._display.evaluated(done)
            return
        self.optimizer.tell_failure(suggestion, outcome.failure, repeat=repeat)
        log_failure(done, suggestion.id, repeat)
        self._display.evaluated(done)
        self._last_failure = outcome
        self._raise_mistake(suggestion, outcome)
        self._failed.append(tuple(suggestion.params.values()))
        points = len(set(self._failed))
        enough = min(MAX_FAILED_POINTS, self.optimizer.settings.space.size)
        if len(self._failed) >= MAX_FAILURES and points >= enough:
            raise ObjectiveError(
                f"The objective failed {len(self._failed)} times in a row at {points} points, last "
                f"at {suggestion.params}: {outcome.failure}. Correct it, or exclude such points "
                "with valid=. The error's .optimizer holds all measurements.",
                self.optimizer,
            ) from outcome.cause

    def _raise_mistake(self, suggestion: Suggestion, outcome: CallResult) -> None:
        """Raise the objective's own error if the objective itself is wrong, not the setting."""
        trials = self.optimizer.trials
        # Past results are of no help: another program may have measured them.
        if any(trial.n_values and trial.source != "user" for trial in trials):
            return
        error = outcome.cause
        if error is not None and self._mistakes.is_one(error, suggestion.params):
            error.add_note(
                "No evaluation gave a value, and this error was the same at several points."
            )
            raise error

    def done(self, suggestion: Suggestion, outcome: CallResult) -> Done:
        """Return what is shown of an evaluation."""
        return Done(suggestion.params, outcome.value, outcome.failure)

    def tell(self, suggestion: Suggestion, repeat: int, outcome: CallResult) -> None:
        """Tell the optimizer a measurement, if there is one."""
        if outcome.value is not None:
            told = {"outcomes": outcome.outcomes} if outcome.outcomes else {}
            self.optimizer.tell(suggestion, outcome.value, repeat=repeat, **told)

    def _check(self, suggestion: Suggestion, outcome: CallResult) -> None:
        """Raise an error if the objective did not return what it must return."""
        names = list(self.optimizer.settings.constraints)
        if outcome.no_number is not None and not names:
            raise ObjectiveError(
                f"The objective must return one number, got {outcome.no_number} at "
                f"{suggestion.params}. Return a float, or raise an exception if an evaluation "
                "fails.",
                self.optimizer,
            )
        bare = outcome.value is not None and outcome.outcomes is None
        if names and (bare or outcome.no_number is not None):
            shown = ", ".join(f"{name!r}: ..." for name in ("value", *names))
            raise ObjectiveError(
                f"The objective must return its value and the outcomes {', '.join(names)} by name, "
                f"got {outcome.value if bare else outcome.no_number} at {suggestion.params}. "
                f"Return a dict such as {{{shown}}}, with None for an outcome that is missing.",
                self.optimizer,
            )

    def evaluated(self, suggestion: Suggestion, complete: bool) -> None:
        """Finish a suggestion that got all its repeats, or all that the budget paid for."""
        if not complete:
            self.optimizer.cancel(suggestion)
        log_trial(self.optimizer.state.trials[suggestion.id], self.optimizer.n_evaluations)
        self._notice()
        self._display.told(self.optimizer.state)
        if self._callback is not None:
            answer = self.interrupts.call(self._callback, self.optimizer)
            # Only True ends the run. A callback may return anything else by accident.
            self.is_called_off |= isinstance(answer, bool | np.bool_) and bool(answer)

    def _notice(self) -> None:
        """Say once that repeats are not noise, as soon as that shows."""
        said = not_noise(self.optimizer.state)
        if said and not self._is_noticed:
            self._is_noticed = True
            log_notice(said)
            self._display.noticed(said)
