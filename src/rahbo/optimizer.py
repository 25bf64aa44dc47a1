"""The one stateful class: ask for points, tell the results, get a recommendation.

Minimising becomes maximising here: inside, values are multiplied by ``sign`` and are always
maximised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import partial
from typing import Any, Unpack, overload

from rahbo.analysis import is_current, space_for
from rahbo.errors import DataError, SettingsError
from rahbo.journal import FileName, Journal, Storage, settings_to_resume
from rahbo.numerics import Array, SharedLock, is_whole, one_blas_thread, spells_out
from rahbo.policy import (
    CONFIRMED,
    Contest,
    Proposal,
    contest_of,
    next_blocks,
    propose,
    repeating,
    safely_repeated,
)
from rahbo.reports import Params, Reports
from rahbo.settings import Keywords, Settings, setting_parameters
from rahbo.space import Candidates, Space, is_frame
from rahbo.state import State
from rahbo.trials import (
    MOST_REPEATS,
    Paged,
    Suggestion,
    Trial,
    checked_repeat,
    checked_told,
    checked_trials,
    listed_trials,
    now,
    past_trials,
    trial_at,
    trial_named,
    trials_in,
)

# A data frame is read as well, and has no type that could be named without its library.
PastResults = Iterable[tuple[Params, object] | tuple[Params, object, object]] | Any


class OptimizerKeywords(Keywords, total=False):
    """The keywords of `Optimizer`: its settings, and what a run begins with."""

    data: PastResults
    trials: Iterable[Trial] | None
    journal: FileName | Storage | None


class Optimizer(Reports):
    """Optimises something that is expensive to evaluate and gives a different result each time.

    Threads may share an optimizer: their calls wait for each other.

    Args:
        space: A dict ``{name: Float | Int | Categorical}``, or ``Candidates(rows)``. In the dict a
            tuple of two floats is short for a Float, and a list is short for a Categorical. A
            `Context` or `Time` in it is a condition that is given, not chosen.
        valid: A predicate on the parameters, for constraints known in advance.
        risk: The risk measure to maximise, in the units of the objective. By default it is the mean
            minus one noise standard deviation, which means the same in all units.
        repeats: Evaluations per suggestion: an int, or `Adaptive` for as many as pay.
        direction: ``"maximize"`` or ``"minimize"``.
        n_initial: Distinct points of the initial design; past results count towards it. By default
            twice the number of parameters plus 2, and at least 6.
        noise_std: The noise standard deviation, if it is known: a number, a function of the
            parameters (a dict), or one number for each row of `Candidates`, such as a column of a
            table. 0 says that there is no noise.
        constraints: Limits of outcomes beside the objective, by the name of the outcome, such as
            ``{"loss": AtMost(5.0)}``. Each must hold with its probability, noise included.
        safe: Whether to evaluate only settings that surely keep the constraints. It needs a setting
            that keeps them to start from.
        blocks: The blocks in which each point can be evaluated, such as the folds of a
            cross-validation: a list of names, or their number. Each suggestion then says in which
            block to evaluate it. None if there is no such set; values may still be told with one.
        try_first: Settings to evaluate before all others, as dicts of parameters, for example the
            one in use today. They are the first points of the initial design. They are evaluated
            even with ``safe=True``, so that a run can start from settings known to be safe.
        seed: Seeds every random choice; drawn and kept in ``settings.seed`` if None.
        method: How points are chosen and what the model assumes: a `Method`, such as
            ``rahbo.paper()``.
        data: Past results, as pairs of parameters and values. A third part may name the block of
            the values, or of each. A data frame is read too: its columns are the parameters,
            ``value`` and, if there are any, ``block``, outcomes, ``failure`` and ``time``. Each row
            is one evaluation, and one without a value has failed.
        trials: Trials of an earlier run with the same settings and seed. This run continues
            exactly where that one stopped. ``data`` is then ignored: the trials include it.
        journal: File to which every suggestion and value is written before the call returns. If
            it already holds a run, that run continues; the settings must match. A `Storage` keeps
            them elsewhere, such as in a database.

    >>> opt = Optimizer({"x": (0.0, 2.0)}, repeats=3, seed=0)
    >>> suggestion = opt.ask()
    >>> suggestion.id, suggestion.repeats
    (0, 3)
    >>> opt.tell(suggestion, [0.9, 1.1, 1.0])
    >>> opt.recommend().n_evaluations
    3
    """

    @spells_out(setting_parameters())
    def __init__(
        self,
        space: Mapping[str, Any] | Candidates | Space,
        *,
        data: PastResults = (),
        trials: Iterable[Trial] | None = None,
        journal: FileName | Storage | None = None,
        **settings: Unpack[Keywords],
    ) -> None:
        known = Settings.of(space, settings)
        of, blocks = known.constraints, known.blocks or ()
        begun = listed_trials(trials) or (
            trials_in(data, known.space, of, blocks)
            if is_frame(data)
            else past_trials(data, known.space.encode, of, blocks)
        )
        kept = checked_trials(begun, known.space)
        self._lock, self._journal = SharedLock(), None
        if journal is not None:
            self._journal = Journal(journal, known, kept, settings)
            known, kept = self._journal.settings, self._journal.trials
        super().__init__(State(known, Paged.of(kept)))

    def __getstate__(self) -> dict[str, Any]:
        # A copy, in this or another process, does not write the file.
        return {**self.__dict__, "_journal": None}

    @classmethod
    def resume(cls, journal: FileName | Storage, **code: Unpack[Keywords]) -> Optimizer:
        """Continue the run in a journal. Settings that are code must be passed again."""
        return cls(**settings_to_resume(journal, code), journal=journal)

    def close(self) -> None:
        """Release the journal, so that another process can continue the run."""
        with self._lock.here():
            if self._journal is not None:
                self._journal.close()

    # -- asking ------------------------------------------------------------------------------

    @overload
    def ask(self, *, context: Params | None = None) -> Suggestion: ...

    @overload
    def ask(self, n: int, *, context: Params | None = None) -> list[Suggestion]: ...

    def ask(self, n: int | None = None, *, context: Params | None = None
            ) -> Suggestion | list[Suggestion]:  # fmt: skip
        """Return the next suggestion, or a list of ``n`` to evaluate at the same time.

        Suggestions not fully told are taken into account: new ones avoid points that would teach
        the same. Open suggestions of an earlier run are handed out first.

        Args:
            n: How many suggestions; None returns one, not a list.
            context: The present conditions by name, if the space has any (`Context`). Open
                suggestions of an earlier run for other conditions are cancelled.
        """
        if n is not None and not (is_whole(n) and n >= 1):
            raise SettingsError(f"ask(n) needs a whole number >= 1, got {n!r}.")
        given = self._hand_out(lambda: self._upcoming(n or 1, self._at(context)))
        return given[0] if n is None else given

    def _at(self, context: Params | None) -> Space:
        """Return the space at the present conditions, if it has any."""
        return space_for(self.settings.space, context, float(self.n_evaluations))

    def _hand_out(self, choose: Callable[[], Iterable[Trial]]) -> list[Suggestion]:
        """Return suggestions that no other call returns. An interrupted call hands out none."""
        given: list[Suggestion] = []
        try:
            with self._lock.here(), one_blas_thread():
                given = [trial.suggestion for trial in choose()]
                self._state = self._state.handing_out(one.id for one in given)
        except BaseException:
            with self._lock.here():
                self._state = self._state.taking_back(one.id for one in given)
            raise
        return given

    def _upcoming(self, n: int, at: Space) -> Iterator[Trial]:
        """Yield open trials that nobody has, then open others at the next points."""
        taken: set[int] = set()
        proposals: Iterator[Proposal] = iter(())
        while len(taken) < n:
            trial = self._waiting(at, taken)
            if trial is None:
                found = next(proposals, None)
                if found is None:
                    also = self.excluded()
                    proposals = propose(self._state.at(at), n - len(taken), also)
                    found = next(proposals)
                trial = self._open(found, at)
            taken.add(trial.id)
            yield trial

    def _waiting(self, at: Space, taken: Set[int]) -> Trial | None:
        """Return the oldest open trial that nobody has; one for conditions that passed is ended."""
        for trial in self._state.open:
            if trial.id in self._state.handed_out or trial.id in taken:
                continue
            if not at.conditions or is_current(trial, self.settings.space, at):
                return trial
            self._record(replace(trial, cancelled=True))
        return None

    def ask_at(self, params: Params, repeats: int = 1) -> Suggestion:
        """Return a suggestion at a setting of your own, which `tell` takes like any other.

        Args:
            params: The setting.
            repeats: How many evaluations are wanted there.
        """
        if not (is_whole(repeats) and 1 <= repeats <= MOST_REPEATS):
            raise SettingsError(
                f"ask_at(repeats) must be a whole number from 1 to {MOST_REPEATS}, got {repeats!r}."
            )
        x = self.settings.space.encode(params)

        def opened() -> Iterator[Trial]:
            number = len(self._state.trials)
            yield self._record(Trial(number, dict(params), x, int(repeats), "user"))

        return self._hand_out(opened)[0]

    def confirm(self, n: int = CONFIRMED, *, context: Params | None = None) -> list[Suggestion]:
        """Suggest points to measure again before one of them is used, ``n`` evaluations in all.

        The recommended point comes first, until it has been measured five times. The points that
        would take its place follow. Tell a few values before you ask for more. In a space with
        conditions the points are those for ``context``, which is needed as for `ask`.
        """

        def again() -> Iterator[Trial]:
            at = self._at(context)
            state = self._state.at(at)
            X, contest = safely_repeated(state, *self._contest(state))
            for i, k in contest.again(n).items():
                yield self._open(Proposal(X[i], "confirm", k), at)

        return self._hand_out(again)

    @property
    def unconfirmed(self) -> int:
        """How many measurements the recommended point is short of five.

        0 where points may not be measured again or repeats are not noise, and where conditions are
        given.
        """
        state = self._state
        if not repeating(state).confirmed or state.space.conditions:
            return 0
        with one_blas_thread():
            return self._contest(state)[1].unconfirmed

    def _contest(self, state: State) -> tuple[Array, Contest]:
        """Return the points that may be recommended, and the contest between them."""
        return contest_of(state)

    def excluded(self) -> Set[bytes]:
        """Return further points that may not be proposed, as bytes; a subclass may name some."""
        return frozenset()

    def _open(self, found: Proposal, at: Space) -> Trial:
        state, x, n, named = self._state, found.x, found.repeats, self.settings.blocks
        blocks = next_blocks(named, state.trials.values(), x, n) if named else ()
        wish = {} if found.wish is None else {x.tobytes(): found.wish}
        params = at.with_told({**wish, **state.params}).decode(x)
        return self._record(
            Trial(
                len(state.trials),
                params,
                x,
                len(blocks) if named else n,
                found.source,
                own_bound=found.own_bound,
                blocks=blocks,
            )
        )

    # -- telling -----------------------------------------------------------------------------

    def tell(self, suggestion: Suggestion | int | Params, values: object, *,
             repeat: int | None = None, outcomes: Mapping[str, object] | None = None,
             block: object = None) -> None:  # fmt: skip
        """Record measured values. On an error, none of them is recorded.

        Args:
            suggestion: What was evaluated: a suggestion, its id, or parameters. Parameters that
                match an open suggestion belong to it; any others are a new point.
            values: One number or several; each is a repeat. They may come in any portions. With
                constraints, a value may also be a dict of the objective and the named outcomes.
            repeat: The repeat index of a single value. Telling the same value again has no effect,
                but outcomes that were not known yet may be added to it.
            outcomes: Outcomes with limits, by name: as many numbers as values; None where one is
                missing.
            block: The block of the values, such as a plate or a day, or a list with one for each
                value; None for no block, or for the blocks that the suggestion states.
        """
        own = self.settings
        told = checked_told(values, outcomes, own.constraints, block, own.blocks or (), now())
        if repeat is not None and len(told) != 1:
            raise DataError(f"tell(repeat={repeat!r}) needs one value, got {len(told)}.")
        with self._lock.here():
            trial = self._trial(suggestion, repeat)
            if repeat is None:
                self._record(trial.with_more(told))
            else:
                self._record(trial.with_told({checked_repeat(repeat): told[0]}))

    def tell_failure(self, suggestion: Suggestion | int | Params, reason: str = "", *,
                     repeat: int | None = None) -> None:  # fmt: skip
        """Record that one repeat, or all outstanding ones, gave no number.

        Values already told are kept.
        """
        with self._lock.here():
            trial = self._trial(suggestion, repeat)
            if repeat is not None:
                lost: tuple[int, ...] = (checked_repeat(repeat),)
            else:
                lost = trial.missing if trial.id in self._state.trials else (0,)
            self._record(trial.with_failures(lost, str(reason), now()))

    def cancel(self, suggestion: Suggestion | int | Params) -> None:
        """Drop the outstanding repeats of a suggestion."""
        with self._lock.here():
            trial = self._trial(suggestion)
            if trial.id not in self._state.trials:
                raise DataError(
                    f"cancel() needs an open suggestion, got {trial.params!r}. See .open."
                )
            self._record(replace(trial, cancelled=True))

    def _trial(self, suggestion: Suggestion | int | Params, repeat: object = None) -> Trial:
        """Return the trial of a suggestion or of parameters."""
        if isinstance(suggestion, Mapping):
            x, by_repeat = self.settings.space.encode(suggestion), repeat is not None
            return trial_at(x, suggestion, self._state.trials, self._state.open, by_repeat)
        return trial_named(suggestion, self._state.trials)

    def _record(self, trial: Trial) -> Trial:
        """Keep a new trial, or a new state of one, and return it.

        The journal has it before the state does, and both change together or not at all.
        """
        before = self._state.trials.get(trial.id)
        keep = partial(setattr, self, "_state", self._state.told(trial))
        if self._journal is None:
            keep()
        else:
            self._journal.write(before, trial, keep)
        return trial

    @property
    def open(self) -> tuple[Suggestion, ...]:
        """Suggestions not fully told, oldest first, each with its missing repeats."""
        return tuple(trial.suggestion for trial in self._state.open)

    def reuse_fits(self, other: Optimizer) -> None:
        """Reuse what another run learned from trials that both runs share, to save time.

        This run would make the same fits itself. If the settings differ, nothing is reused.
        """
        theirs = other.state
        with self._lock.here():
            if self.settings.models_the_same_as(theirs.settings):
                self._state = self._state.learning_from(theirs)
