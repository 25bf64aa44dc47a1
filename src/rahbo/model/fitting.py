"""When hyperparameters are learned again, the fits so far, and the models they give.

A round is a trial that gave a value. A fit is a pure function of the rounds up to its stage and of
the fit before it, so fits are kept only to save time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rahbo.errors import NotReadyError, SettingsError
from rahbo.model.assumption import knows_nothing, learn_assuming
from rahbo.model.extension import can_extend, extended
from rahbo.model.joint import Learned, MeanNoiseModel, ModelSettings
from rahbo.model.learning import condition, contradicted, learn
from rahbo.model.places import as_told, summarised
from rahbo.numerics import Registered, is_number
from rahbo.trials import Evaluation, Observations, Trial, observations_of, valued


@dataclass(frozen=True)
class Refit(Registered):
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


@dataclass(frozen=True, eq=False)
class Past:
    """What was learned from some of the trials of a run. It follows from them and saves time.

    Attributes:
        fits: The fits so far.
        base: The posteriors that rounds extend.
        assumed: The same if the mean is assumed to vary.
    """

    fits: Fits = field(default_factory=dict)
    base: Base | None = None
    assumed: Base | None = None

    def beside(self, before: Past, now: Past) -> Past:
        """Return what is known now, with what was learned here since it was ``before``."""
        return Past(
            {**now.fits, **self.fits},
            now.base if self.base is before.base else self.base,
            now.assumed if self.assumed is before.assumed else self.assumed,
        )

    def before(self, trial_id: int) -> Past:
        """Return what does not depend on this trial or on later ones."""
        fits = fits_before(self.fits, trial_id)
        holds = self.base is not None and self.base.last < trial_id
        return Past(fits, self.base, self.assumed) if holds else Past(fits)


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

    def believe(self, trials: Sequence[Trial], past: Past) -> tuple[MeanNoiseModel, Past]:
        """Return both posteriors, and all that was learned so far.

        The result depends on the trials alone. What was learned from them before saves time.
        """
        rounds = _rounds(trials)
        fits, learned = self._learn(rounds, _first_fit(trials), past.fits)
        return self._given(rounds, learned), replace(past, fits=fits)

    def follow(self, trials: Sequence[Trial], past: Past) -> tuple[MeanNoiseModel, Past]:
        """Return nearly the same posteriors as `believe` at a fraction of the cost.

        All rounds up to a stage are conditioned on, and later ones extend that. A stage comes with
        each fit, and at the latest when the rounds have grown by a tenth or by 256. The result
        depends on the trials alone. What was learned from them before saves time.
        """
        rounds, first = _rounds(trials), _first_fit(trials)
        last = max(r.stages(first, len(rounds))[-1] for r in (self.refit, REBASE))
        stage = last + (len(rounds) - last) // MOST_LATER * MOST_LATER
        base = past.base
        if base is None or base.key != (first, stage):
            some = rounds[:stage]
            fits, learned = self._learn(some, first, past.fits)
            base = Base((first, stage), some[-1].id, self._given(some, learned))
            past = replace(past, fits=fits, base=base)
        return self._after(base, rounds), past

    def assume(self, trials: Sequence[Trial], past: Past) -> tuple[MeanNoiseModel | None, Past]:
        """Return the posteriors to propose by as long as the data hardly show that the mean varies.

        None if the rounds up to the last stage of `follow` do show it, or if the run assumes
        nothing: its strategy does not, its kernel is given, or hyperparameters are never learned
        again. The result depends on the trials alone.
        """
        learns = isinstance(self.model.kernel, type) and np.isfinite(self.refit.growth)
        base, assumed = past.base, past.assumed
        if base is None or not (self.assumes and learns and knows_nothing(base.model)):
            return None, replace(past, assumed=None)
        rounds = _rounds(trials)
        if assumed is None or assumed.key != base.key:
            some = rounds[: base.key[1]]
            learned = learn_assuming(self.model, observations_of(some, self.sign))
            assumed = Base(base.key, base.last, self._given(some, learned))
        return self._after(assumed, rounds), replace(past, assumed=assumed)

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
        first = _first_fit(trials)
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
        if not self.model.outputs.unchanged:
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


def _rounds(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that gave a value; raise an error if there are none."""
    rounds = valued(trials)
    if not rounds:
        raise NotReadyError("Nothing has been told yet. Call ask() and tell() first.")
    return rounds


def _afresh(stages: list[int]) -> int:
    """Return the index of the last stage at which a fit starts afresh."""
    last = (len(stages) - 1) // AFRESH * AFRESH
    return last if stages[last] >= ENOUGH else 0


def _first_fit(trials: Sequence[Trial]) -> int:
    """Return the number of rounds known when the strategy first proposed, or now; at least 1."""
    n = 0
    for trial in trials:
        if trial.source == "strategy":
            break
        n += trial.n_values > 0
    return max(1, n)
