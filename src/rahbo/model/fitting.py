"""When hyperparameters are learned again, the fits so far, and the models they give.

A round is a trial that gave a value. A fit is a pure function of the rounds up to its stage and of
the fit before it, so fits are kept only to save time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rahbo.errors import NotReadyError, SettingsError
from rahbo.model.assumption import knows_nothing, learn_assuming
from rahbo.model.extension import can_extend, extended
from rahbo.model.joint import Learned, MeanNoiseModel, ModelSettings
from rahbo.model.learning import condition, contradicted, learn
from rahbo.model.places import as_told, summarised
from rahbo.model.units import Raw
from rahbo.numerics import is_number
from rahbo.trials import Evaluation, Observations, Trial, observations_of, valued


@dataclass(frozen=True)
class Refit:
    """When to learn hyperparameters again: each time the rounds have grown by a factor.

    The first fit uses the data known when the strategy first proposes. A factor of 1 refits every
    round. An infinite factor never refits, as in the paper's experiments.

    >>> Refit(1.5).stages(4, 20)
    [4, 6, 9, 13, 19]
    """

    growth: float = 1.1

    def __post_init__(self) -> None:
        if not (is_number(self.growth) and self.growth >= 1):
            raise SettingsError(f"Refit(growth) must be >= 1, got {self.growth!r}.")

    def stages(self, first: int, n: int) -> list[int]:
        """Return the numbers of rounds, from ``first`` up to ``n``, at which to fit."""
        stages = [first]
        while np.isfinite(self.growth):
            following = max(stages[-1] + 1, int(min(stages[-1] * self.growth, n + 1)))
            if following > n:
                break
            stages.append(following)
        return stages


# When to condition on all data again, if hyperparameters are learned less often; in any case after
# so many later rounds.
REBASE, MOST_LATER = Refit(1.1), 256
# Every so many stages, a fit does not start from the one before, once there are enough rounds that
# repeating all fits would take long. In the history of a run with more rounds than LONG, only these
# fits and the first are used.
AFRESH, ENOUGH, LONG = 16, 256, 1000


@dataclass(frozen=True, eq=False)
class StageFit:
    """Hyperparameters learned at one stage of the refit schedule.

    Attributes:
        last: The id of the last trial that the fit used.
        learned: What was learned.
    """

    last: int
    learned: Learned


# The key is the number of rounds at the first fit, and the number of rounds at this one.
Fits = Mapping[tuple[int, int], StageFit]


@dataclass(frozen=True, eq=False)
class Base:
    """The posteriors at a stage, which later rounds extend.

    Attributes:
        key: The number of rounds at the first fit, and the number of rounds at the stage.
        last: The id of the last trial that the model has seen.
        model: Both posteriors.
    """

    key: tuple[int, int]
    last: int
    model: MeanNoiseModel


@dataclass(frozen=True)
class Fitting:
    """How a run learns the model from its trials.

    Attributes:
        model: The settings of the two GPs.
        refit: When hyperparameters are learned again.
        sign: Multiplies user values so that larger is better.
        assumes: Whether points are proposed as if the mean varied, as long as the data hardly show
            that it does. What is believed does not depend on it.
    """

    model: ModelSettings
    refit: Refit
    sign: float
    assumes: bool = field(default=False, compare=False)

    def believe(self, trials: Iterable[Trial], fits: Fits) -> tuple[MeanNoiseModel, Fits]:
        """Return both posteriors and all fits so far.

        The result depends on the trials alone. Passing ``fits`` of the same trials saves time.
        """
        trials = list(trials)
        rounds = _rounds(trials)
        fits, learned = self._learn(rounds, _first_fit(trials), fits)
        return self._given(rounds, learned), fits

    def follow(
        self, trials: Iterable[Trial], fits: Fits, base: Base | None
    ) -> tuple[MeanNoiseModel, Fits, Base]:
        """Return nearly the same posteriors as `believe` at a fraction of the cost.

        All rounds up to a stage are conditioned on, and later ones extend that. A stage comes with
        each fit, and at the latest when the rounds have grown by a tenth or by 256. The result
        depends on the trials alone. Passing ``fits`` and ``base`` of the same trials saves time.
        """
        trials = list(trials)
        rounds, first = _rounds(trials), _first_fit(trials)
        last = max(r.stages(first, len(rounds))[-1] for r in (self.refit, REBASE))
        stage = last + (len(rounds) - last) // MOST_LATER * MOST_LATER
        if base is None or base.key != (first, stage):
            some = rounds[:stage]
            fits, learned = self._learn(some, first, fits)
            base = Base((first, stage), some[-1].id, self._given(some, learned))
        return self._after(base, rounds), fits, base

    def assume(
        self, trials: Iterable[Trial], base: Base, assumed: Base | None
    ) -> tuple[MeanNoiseModel, Base] | None:
        """Return the posteriors to propose by as long as the data hardly show that the mean varies.

        None if the rounds up to the stage of ``base`` do show it, or if the run assumes nothing:
        its strategy does not, its kernel is given, or hyperparameters are never learned again. The
        result depends on the trials alone. Passing what was ``assumed`` before saves time.

        Args:
            trials: All trials of the run.
            base: What `follow` returned for them.
            assumed: What this method returned for some of them.
        """
        learns = isinstance(self.model.kernel, type) and np.isfinite(self.refit.growth)
        if not (self.assumes and learns and knows_nothing(base.model)):
            return None
        rounds = _rounds(list(trials))
        if assumed is None or assumed.key != base.key:
            some = rounds[: base.key[1]]
            learned = learn_assuming(self.model, observations_of(some, self.sign))
            assumed = Base(base.key, base.last, self._given(some, learned))
        return self._after(assumed, rounds), assumed

    def _after(self, base: Base, rounds: list[Trial]) -> MeanNoiseModel:
        """Return the posteriors of a stage, extended by the rounds after it."""
        stage = base.key[1]
        if stage == len(rounds):
            return base.model
        later = observations_of(rounds[stage:], self.sign)
        blocks = base.model.blocks is not None or later.block is not None
        if can_extend(base.model) and not blocks and not self._complete(base.model, later):
            return extended(base.model, later)
        return self._given(rounds, base.model.learned)

    def believed_after(
        self, trials: Sequence[Trial], fits: Fits, ends: Iterable[int]
    ) -> Iterator[MeanNoiseModel]:
        """Yield both posteriors as they were after the first ``end`` trials.

        The hyperparameters are those that the run had at the time, or those of its first fit if
        that came later. For a run of more than a thousand rounds they are those of the last fit
        that started afresh.

        Args:
            trials: All trials of the run.
            fits: The fits that `believe` returned for these trials, to save time.
            ends: Numbers of trials. At least one of the trials up to each must have a value.
        """
        first = _first_fit(list(trials))
        everything = valued(trials)
        for end in ends:
            rounds = valued(trials[:end])
            until = max(first, len(rounds))
            if len(everything) > LONG:
                stages = self.refit.stages(first, until)
                until = stages[_afresh(stages)]
            fits, learned = self._learn(everything[:until], first, fits)
            yield self._given(rounds, learned)

    def _complete(self, model: MeanNoiseModel, later: Observations) -> bool:
        """Return whether later rounds may complete the finite number of values of a known point.

        What is left unknown of such a point follows from all its values together.
        """
        if self.model.population is None:
            return False
        known = {x.tobytes() for x in as_told(model.observations).X}
        return any(x.tobytes() in known for x in later.X)

    def _given(self, rounds: list[Trial], learned: Learned) -> MeanNoiseModel:
        """Return both posteriors given all data.

        Thousands of points are summarised, but not where outputs enter as in the paper.
        """
        observations = observations_of(rounds, self.sign)
        if not isinstance(self.model.outputs, Raw):
            observations = summarised(self.model, observations, learned)
        model = condition(self.model, observations, learned)
        if contradicted(model):
            model = condition(self.model, observations, learn(self.model, observations, learned))
        return model

    def _learn(self, rounds: list[Trial], first: int, fits: Fits) -> tuple[Fits, Learned]:
        """Learn at the last stage of the schedule.

        A fit starts from the stage before. Now and then one starts afresh, so that a run that is
        resumed repeats a few fits and not all of them.
        """
        known = dict(fits)
        previous: Learned | None = None
        stages = self.refit.stages(first, len(rounds))
        for stage in stages[_afresh(stages) :]:
            if (first, stage) not in known:
                some = rounds[:stage]
                data = observations_of(some, self.sign)
                known[first, stage] = StageFit(some[-1].id, learn(self.model, data, previous))
            previous = known[first, stage].learned
        return known, known[first, stages[-1]].learned


class Beliefs:
    """The posteriors of a run that grows, kept for as long as they hold.

    Everything kept follows from the trials. It only saves time.
    """

    def __init__(self, fitting: Fitting) -> None:
        self._fitting = fitting
        self.fits: Fits = {}
        self._now: MeanNoiseModel | None = None
        self._followed: MeanNoiseModel | None = None
        self._base: Base | None = None
        self._assumed: MeanNoiseModel | None = None
        self._assumed_base: Base | None = None

    def now(self, trials: Iterable[Trial]) -> MeanNoiseModel:
        """Return the posteriors given all trials, to report by."""
        if self._now is None:
            self._now, self.fits = self._fitting.believe(trials, self.fits)
        return self._now

    def followed(self, trials: Iterable[Trial]) -> MeanNoiseModel:
        """Return nearly the same posteriors at a fraction of the cost, for each round."""
        if self._followed is None:
            found, self.fits, self._base = self._fitting.follow(trials, self.fits, self._base)
            self._followed = found
        return self._followed

    def assumed(self, trials: Iterable[Trial]) -> MeanNoiseModel | None:
        """Return the posteriors to propose by if the mean is assumed to vary, else None."""
        if self._base is None or self._followed is None:
            self.followed(trials)
        if self._base is not None and self._assumed is None:
            found = self._fitting.assume(trials, self._base, self._assumed_base)
            self._assumed, self._assumed_base = found or (None, None)
        return self._assumed

    def forget(self, trial_id: int) -> None:
        """Drop what depends on this trial or on later ones."""
        self._now = self._followed = self._assumed = None
        if self._base is not None and self._base.last >= trial_id:
            self._base = self._assumed_base = None
        self.fits = fits_before(self.fits, trial_id)

    def reuse(self, fits: Fits) -> None:
        """Take over fits of the same trials."""
        self.fits = {**fits, **self.fits}


def fits_before(fits: Fits, trial_id: int) -> Fits:
    """Return the fits that do not depend on this trial or on later ones."""
    return {key: fit for key, fit in fits.items() if fit.last < trial_id}


def shared_fits(fits: Fits, trials: Sequence[Trial], others: Sequence[Trial]) -> Fits:
    """Return the fits of ``trials`` that are also valid for the run of ``others``.

    Both runs have the same settings. A fit is valid if it used only trials that both runs share.
    """
    pairs = zip(trials, others, strict=False)
    same = (a.is_at(b.x) and _measured(a) == _measured(b) for a, b in pairs)
    n_same = next((i for i, equal in enumerate(same) if not equal), min(len(trials), len(others)))
    return fits_before(fits, n_same)


def _measured(trial: Trial) -> dict[int, Evaluation]:
    return {i: told for i, told in trial.evaluations.items() if told.value is not None}


def _rounds(trials: list[Trial]) -> list[Trial]:
    """Return the trials that gave a value; raise an error if there are none."""
    rounds = valued(trials)
    if not rounds:
        raise NotReadyError("Nothing has been told yet. Call ask() and tell() first.")
    return rounds


def _afresh(stages: list[int]) -> int:
    """Return the index of the last stage at which a fit starts afresh."""
    last = (len(stages) - 1) // AFRESH * AFRESH
    return last if stages[last] >= ENOUGH else 0


def _first_fit(trials: list[Trial]) -> int:
    """Return the number of rounds known when the strategy first proposed, or now; at least 1."""
    chosen = (trial.id for trial in trials if trial.source == "strategy")
    first_chosen = next(chosen, len(trials))
    return max(1, sum(trial.id < first_chosen for trial in valued(trials)))
