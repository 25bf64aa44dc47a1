"""The one stateful class: ask for points, tell the results, get a recommendation.

Minimising becomes maximising here: inside, values are multiplied by ``sign`` and are always
maximised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Any, Unpack, overload

import numpy as np

from rahbo.analysis import is_current, space_for
from rahbo.errors import DataError, NotReadyError, SettingsError
from rahbo.journal import FileName, Journal, settings_to_resume
from rahbo.knowledge import Knowledge, Params
from rahbo.model import shared_fits
from rahbo.numerics import (
    Array,
    Stream,
    generator,
    is_whole,
    one_blas_thread,
    shared_by_threads,
    spells_out,
)
from rahbo.policy import (
    CONFIRMED,
    UNSAFE,
    Contest,
    Domain,
    Proposal,
    contest_between,
    next_blocks,
    propose_design,
    propose_first,
    propose_safely,
    propose_several,
    safely_repeated,
    with_pending,
)
from rahbo.settings import Keywords, Settings, setting_parameters
from rahbo.space import Candidates, Space, is_frame
from rahbo.trials import (
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
    valued,
)

# A data frame is read as well, and has no type that could be named without its library.
PastResults = Iterable[tuple[Params, object] | tuple[Params, object, object]] | Any


class OptimizerKeywords(Keywords, total=False):
    """The keywords of `Optimizer`: its settings, and what a run begins with."""

    data: PastResults
    trials: Iterable[Trial] | None
    journal: FileName | None


@shared_by_threads("ask", "confirm", "reuse_fits")
class Optimizer(Knowledge):
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
        strategy: How points are chosen and reported.
        direction: ``"maximize"`` or ``"minimize"``.
        n_initial: Distinct points of the initial design; past results count towards it. By default
            twice the number of parameters plus 2, and at least 6.
        kernel: Kernel of the mean GP: a class, whose hyperparameters are learned, or a kernel
            that is used unchanged (in units of ``outputs``).
        noise: Model of the noise variance.
        beta: Width of the confidence band of the mean, in standard deviations.
        beta_noise: Width of the confidence band of the noise variance.
        lam: Regulariser lambda of the mean GP; the noise model has its own.
        outputs: ``Standardized()`` or the paper's ``Raw()``.
        min_noise_var: Lower bound on the noise variance, if known.
        max_noise_var: Upper bound on the noise variance, if known (eq. 16).
        refit: When hyperparameters are learned again.
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
        data: Past results, as pairs of parameters and values. A third part may name the block of
            the values, or of each. A data frame is read too: its columns are the parameters,
            ``value`` and, if there are any, ``block``, outcomes, ``failure`` and ``time``. Each row
            is one evaluation, and one without a value has failed.
        trials: Trials of an earlier run with the same settings and seed. This run continues
            exactly where that one stopped. ``data`` is then ignored: the trials include it.
        journal: File to which every suggestion and value is written before the call returns. If
            it already holds a run, that run continues; the settings must match.

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
        journal: FileName | None = None,
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
        if journal is not None:
            kept = Journal(journal, known, kept, settings)
            known = kept.settings
        super().__init__(known, kept)

    @classmethod
    def resume(cls, path: FileName, **code: Unpack[Keywords]) -> Optimizer:
        """Continue the run in a journal. Settings that are code must be passed again."""
        return cls(**settings_to_resume(path, code), journal=path)

    def close(self) -> None:
        """Release the journal, so that another process can continue the run."""
        if isinstance(self.ledger.trials, Journal):
            self.ledger.trials.close()

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
        at = space_for(self.settings.space, context, float(self.n_evaluations))
        given = self.ledger.hand_out(self._upcoming(n or 1, at))
        return given[0] if n is None else given

    def _upcoming(self, n: int, at: Space) -> Iterator[Trial]:
        """Yield open trials that were not handed out yet, then open others at the next points."""
        proposals = None
        for left in range(n, 0, -1):
            trial = self._waiting(at)
            if trial is None:
                proposals = proposals or self._propose(left, at)
                with one_blas_thread():
                    trial = next(proposals)
            yield trial

    def _waiting(self, at: Space) -> Trial | None:
        """Return the oldest open trial not handed out; one for conditions that passed is ended."""
        while (trial := self.ledger.waiting()) is not None:
            if not at.conditions or is_current(trial, self.settings.space, at):
                return trial
            self._update(replace(trial, cancelled=True))
        return None

    def _propose(self, n: int, at: Space) -> Iterator[Trial]:
        """Open ``n`` trials, at points of the initial design first, then those of the strategy."""
        settings, trials = self.policy.at(at), self.ledger.trials.values()
        first = self._first(at)
        for left in range(n, 0, -1):
            asked = sum(t.source != "user" for t in trials)
            domain = Domain(settings.space, np.empty((0, settings.space.d)), self.excluded())
            rng = generator(settings.seed, Stream.PROPOSAL, asked)
            if first and (found := propose_first(settings, trials, domain, first)):
                yield self._open(found, at.with_told(first))
                continue
            if self.settings.safe:
                yield self._open(self._propose_safely(domain, at, asked, rng), at)
                continue
            found = propose_design(settings, trials, domain, rng)
            if found is None:
                model, assumed = self.beliefs.followed(trials), self.beliefs.assumed(trials)
                # Predictions at a list are kept for later asks, but not those for one condition.
                if at.conditions:
                    model = replace(model, lists={})
                    assumed = assumed and replace(assumed, lists={})
                missing = self.ledger.missing()
                domain = replace(domain, limits=self.limits_given(self.outcomes.followed(trials)))
                yield from (self._open(p, at) for p in propose_several(
                    settings, trials, model, missing, domain, asked, left, assumed))  # fmt: skip
                return
            yield self._open(found, at)

    def _first(self, at: Space) -> dict[bytes, Params]:
        """Return the settings to try first, by the bytes of their points under the conditions."""
        wished = map(at.with_given, self.settings.try_first)
        return {at.encode(params).tobytes(): params for params in wished}

    def _propose_safely(
        self, domain: Domain, at: Space, asked: int, rng: np.random.Generator
    ) -> Proposal:
        """Return the next point of a run that evaluates only what surely keeps its constraints."""
        trials, settings = self.ledger.trials.values(), self.policy.at(at)
        if not valued(trials):
            raise NotReadyError(UNSAFE)
        draws = generator(settings.seed, Stream.PENDING, asked)
        model = with_pending(self.beliefs.followed(trials), self.ledger.missing(), draws)
        domain = replace(domain, limits=self.limits_given(self.outcomes.followed(trials)))
        return propose_safely(settings, trials, model, domain, rng)

    def confirm(self, n: int = CONFIRMED, *, context: Params | None = None) -> list[Suggestion]:
        """Suggest points to measure again before one of them is used, ``n`` evaluations in all.

        The recommended point comes first, until it has been measured five times. The points that
        would take its place follow. Tell a few values before you ask for more. In a space with
        conditions the points are those for ``context``, which is needed as for `ask`.
        """
        at = space_for(self.settings.space, context, float(self.n_evaluations))
        return self.ledger.hand_out(self._open_again(n, at))

    def _open_again(self, n: int, at: Space) -> Iterator[Trial]:
        X, contest = self._contest(at)
        if self.settings.safe:
            X, contest = safely_repeated(self.limits, X, contest)
        for i, k in contest.again(n).items():
            yield self._open(Proposal(X[i], "confirm", k), at)

    @property
    def unconfirmed(self) -> int:
        """How many measurements the recommended point is short of five.

        0 where points may not be measured again or repeats are not noise, and where conditions are
        given.
        """
        space = self.settings.space
        if not self.policy.confirmed or space.conditions:
            return 0
        return self._contest(space)[1].unconfirmed

    def _contest(self, at: Space) -> tuple[Array, Contest]:
        settings = self.settings.policy.at(at)
        with one_blas_thread():
            trials = self.ledger.trials.values()
            return contest_between(settings, trials, self.model, self.limits)

    def excluded(self) -> Set[bytes]:
        """Return the points that may not be proposed, as bytes. A subclass may exclude more."""
        return self.policy.excluded(self.ledger.trials.values())

    def _open(self, found: Proposal, at: Space) -> Trial:
        x, n, named = found.x, found.repeats, self.settings.blocks
        blocks = next_blocks(named, self.ledger.trials.values(), x, n) if named else ()
        n = len(blocks) if named else n
        params = at.with_told({**at.told, **self.ledger.params()}).decode(x)
        return self.ledger.open(x, params, n, found.source, found.own_bound, blocks)

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
        known = own.blocks or ()
        told = checked_told(values, outcomes, own.constraints, block, known, now())
        if repeat is not None and len(told) != 1:
            raise DataError(f"tell(repeat={repeat!r}) needs one value, got {len(told)}.")
        trial = self._trial(suggestion, repeat)
        i = None if repeat is None else checked_repeat(repeat)
        if i is None:
            self._update(trial.with_more(told))
        else:
            self._update(trial.with_told({i: told[0]}))

    def tell_failure(self, suggestion: Suggestion | int | Params, reason: str = "", *,
                     repeat: int | None = None) -> None:  # fmt: skip
        """Record that one repeat, or all outstanding ones, gave no number.

        Values already told are kept.
        """
        trial = self._trial(suggestion, repeat)
        if repeat is not None:
            lost: tuple[int, ...] = (checked_repeat(repeat),)
        else:
            lost = (0,) if trial.id not in self.ledger.trials else trial.missing
        self._update(trial.with_failures(lost, str(reason), now()))

    def cancel(self, suggestion: Suggestion | int | Params) -> None:
        """Drop the outstanding repeats of a suggestion."""
        trial = self._trial(suggestion)
        if trial.id not in self.ledger.trials:
            raise DataError(f"cancel() needs an open suggestion, got {trial.params!r}. See .open.")
        self._update(replace(trial, cancelled=True))

    def _trial(self, suggestion: Suggestion | int | Params, repeat: object = None) -> Trial:
        """Return the trial of a suggestion or of parameters."""
        if isinstance(suggestion, Mapping):
            x = self.settings.space.encode(suggestion)
            return trial_at(
                x, suggestion, self.ledger.trials, self.ledger.missing(), repeat is not None
            )
        return trial_named(suggestion, self.ledger.trials)

    def _update(self, trial: Trial) -> None:
        # Models first, so that none is out of date after an interrupt.
        self.beliefs.forget(trial.id)
        self.outcomes.forget(trial.id)
        self.ledger.record(trial)

    @property
    def open(self) -> tuple[Suggestion, ...]:
        """Suggestions not fully told, oldest first, each with its missing repeats."""
        return tuple(trial.suggestion for trial in self.ledger.missing())

    def reuse_fits(self, other: Optimizer) -> None:
        """Reuse what another run learned from trials that both runs share, to save time.

        This run would make the same fits itself. If the settings differ, nothing is reused.
        """
        # One lock at a time, so that two runs can take from each other.
        with other.ledger.lock.here():
            theirs, trials = other.beliefs.fits, other.trials
            of_outcomes = other.outcomes.fits()
        with self.ledger.lock.here():
            if self.settings.models_the_same_as(other.settings):
                self.beliefs.reuse(shared_fits(theirs, trials, self.trials))
                self.outcomes.reuse(of_outcomes, trials, self.trials)
