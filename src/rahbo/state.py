"""What a run knows: its settings, its trials, and everything that follows from them.

A `State` never changes. Whatever follows from it is computed when it is first asked for and kept in
its memory, so nothing is computed twice. `State.told` returns the
next state and hands on what is still true: hyperparameters, factors, posteriors.

Data and models follow from the trials. They are shared by all views of the same trials: those under
given conditions (`State.at`) and by another risk measure (`State.by`). What policy and analysis
derive, they keep by `State.once`, in one view alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from rahbo.errors import NotReadyError, SettingsError
from rahbo.model import Fitting, MeanNoiseModel, Models, Past, outcome_of, shared_fits
from rahbo.numerics import is_whole, one_blas_thread
from rahbo.risk import RiskMeasure
from rahbo.space import Space
from rahbo.trials import (
    Counts,
    Observations,
    Paged,
    Repetition,
    Trial,
    gave_more,
    observations_of,
    params_by_point,
    repetition_of,
    valued,
)

if TYPE_CHECKING:
    # A strategy is a setting and a function of a state, so the types know one another.
    from rahbo.policy import Strategy
    from rahbo.settings import Settings

T = TypeVar("T")
# What is believed of the objective, or of the outcome of this name.
Track = str | None


class _Memory:
    """What was computed so far. Two threads may compute the same; the results are the same too.

    Attributes:
        found: Results by what they are results of.
        past: What was learned of each track from some of the trials.
    """

    __slots__ = ("found", "past")

    def __init__(self) -> None:
        self.found: dict[Hashable, Any] = {}
        self.past: dict[Track, Past] = {}

    def after(self, old: Trial | None, new: Trial) -> _Memory:
        """Return what is still true after a trial changed, or was opened if it was None before."""
        later, found = _Memory(), self.found
        if gave_more(old, new):
            # Another thread may add a track meanwhile.
            known = list(self.past.items())
            later.past = {track: past.before(new.id) for track, past in known}
        else:
            made = new.n_made - (0 if old is None else old.n_made)
            gone = {"counts", "open", "params", *(["repetition"] if made else [])}
            later.found = {key: found[key] for key in list(found) if key not in gone}
            later.past = dict(self.past)
        if "counts" in found:
            later.found["counts"] = found["counts"].after(old, new)
        if "open" in found:
            others = [trial for trial in found["open"] if trial.id != new.id]
            still = sorted([*others, new], key=lambda trial: trial.id) if new.n_missing else others
            later.found["open"] = tuple(still)
        return later


@dataclass(frozen=True, eq=False)
class State:
    """What a run knows at one moment, in the sense of maximisation.

    Attributes:
        settings: The settings of the run.
        trials: The trials by id.
        handed_out: Ids of the suggestions that somebody has.
        given: The space at given conditions; None if none are given.
        other_risk: A risk measure to report by instead of the run's; None for the run's own.
    """

    settings: Settings
    trials: Paged[Trial]
    handed_out: frozenset[int] = frozenset()
    given: Space | None = None
    other_risk: RiskMeasure | None = None
    _shared: _Memory = field(default_factory=_Memory, repr=False)
    _own: _Memory = field(default_factory=_Memory, init=False, repr=False)

    def once(self, function: Callable[[State], T]) -> T:
        """Return what a function makes of this state, computed the first time only."""
        found = self._own.found
        if function not in found:
            found[function] = function(self)
        known: T = found[function]
        return known

    def once_with_models(self, function: Callable[[State], T]) -> T:
        """Return the same for a function of the models alone, which all views share."""
        found = self._shared.found
        if function not in found:
            found[function] = function(self)
        known: T = found[function]
        return known

    def __post_init__(self) -> None:
        if not isinstance(self.trials, Paged):
            object.__setattr__(self, "trials", Paged.of(self.trials))

    def __reduce__(self) -> tuple[Any, ...]:
        # Models follow from settings and trials, and some cannot be pickled.
        fields = self.settings, self.trials, self.handed_out, self.given, self.other_risk
        return State, fields

    # -- other states ------------------------------------------------------------------------

    def told(self, trial: Trial) -> State:
        """Return the state with a new trial, or with a new state of a known one."""
        shared = self._shared.after(self.trials.get(trial.id), trial)
        trials = Paged(*self.trials.grown({trial.id: trial}))
        return replace(self, trials=trials, _shared=shared)

    def handing_out(self, ids: Iterable[int]) -> State:
        """Return the state in which somebody has these suggestions."""
        return replace(self, handed_out=self.handed_out.union(ids))

    def taking_back(self, ids: Iterable[int]) -> State:
        """Return the state in which nobody has these suggestions."""
        return replace(self, handed_out=self.handed_out.difference(ids))

    def at(self, space: Space) -> State:
        """Return the same state at the conditions that a space is at."""
        return self if space is self.space else replace(self, given=space)

    def by(self, risk: RiskMeasure | None) -> State:
        """Return the same state with another risk measure to report by; None changes nothing."""
        if risk is None:
            return self
        if not isinstance(risk, RiskMeasure):
            raise SettingsError(
                f"risk must be a RiskMeasure such as MeanStd(kappa=1.0), got {risk!r}."
            )
        return replace(self, other_risk=risk)

    def reported_by(self, strategy: Strategy) -> State:
        """Return the same state with another strategy to report by."""
        method = replace(self.settings.method, strategy=strategy)
        shared = _Memory()
        # What is assumed depends on the strategy.
        found = list(self._shared.found.items())
        shared.found = {key: one for key, one in found if key == ("model", None)}
        shared.past = dict(self._shared.past)
        return replace(self, settings=replace(self.settings, method=method), _shared=shared)

    @property
    def quick(self) -> State:
        """The same state, with the models to propose by in place of those to report by."""
        shared = _Memory()
        shared.found = {("model", None): self.followed}
        shared.found |= {("model", name): one for name, one in self.outcomes_followed.items()}
        return replace(self, _shared=shared)

    def after(self, ends: Iterable[int]) -> Iterator[State]:
        """Yield what was known after the first ``end`` trials, for each end.

        Nothing is learned again: the hyperparameters are those the run had at the time, or those
        of its first fit if that came later. At least one trial up to each end needs a value.
        """
        trials, ends = list(self.trials.values()), list(ends)
        for end in ends:
            if not is_whole(end) or not 1 <= end <= len(trials):
                raise SettingsError(
                    f"Each end must be a number of trials from 1 to {len(trials)}, got {end!r}."
                )
            if not valued(trials[:end]):
                raise NotReadyError(
                    f"None of the first {end} trials has a value. Pass a larger end."
                )
        past = {track: self._models_after(track, ends) for track in self._tracks}
        for end in ends:
            shared = _Memory()
            shared.found = {("model", track): next(models) for track, models in past.items()}
            known = Paged.of({trial.id: trial for trial in trials[:end]})
            yield replace(self, trials=known, _shared=shared)

    def learning_from(self, other: State) -> State:
        """Return this state with the fits of another run that it would make itself.

        The models of both objectives have the same settings.
        """
        shared = _Memory()
        shared.found, shared.past = dict(self._shared.found), dict(self._shared.past)
        theirs, ours = list(other.trials.values()), list(self.trials.values())
        for track, past in list(other._shared.past.items()):
            if track is None or (
                track in self._outcomes and self._fitting(track) == other._fitting(track)
            ):
                own = shared.past.get(track, Past())
                fits = shared_fits(past.fits, theirs, ours)
                shared.past[track] = replace(own, fits={**fits, **own.fits})
        return replace(self, _shared=shared)

    # -- the data ----------------------------------------------------------------------------

    @property
    def space(self) -> Space:
        """Where to look: the space, at given conditions if there are any."""
        return self.given or self.settings.space

    @property
    def risk(self) -> RiskMeasure:
        """The risk measure to report by, in user units."""
        return self.other_risk or self.settings.risk

    @property
    def observations(self) -> Observations:
        """The data by point, in the sense of maximisation."""
        return self._fact(
            "observations", lambda trials: observations_of(valued(trials), self.settings.sign)
        )

    @property
    def counts(self) -> Counts:
        """How many trials and evaluations there are, by where their points came from."""
        return self._fact("counts", Counts.of)

    @property
    def open(self) -> tuple[Trial, ...]:
        """The trials with missing repeats, oldest first."""
        return self._fact("open", lambda trials: tuple(t for t in trials if t.n_missing))

    @property
    def params(self) -> Mapping[bytes, Mapping[str, Any]]:
        """The parameters of the first trial at each point, by the bytes of the point."""
        return self._fact("params", params_by_point)

    @property
    def repetition(self) -> Repetition | None:
        """What shows that repeats are not noise; None if nothing does."""
        return self._fact("repetition", repetition_of)

    def _fact(self, name: str, of: Callable[[Iterable[Trial]], T]) -> T:
        """Return what follows from the trials alone."""
        found = self._shared.found
        if name not in found:
            found[name] = of(self.trials.values())
        known: T = found[name]
        return known

    # -- the models --------------------------------------------------------------------------

    @property
    def model(self) -> MeanNoiseModel:
        """Both posteriors of the objective given all data, to report by."""
        return self._needed(self._believed("model", None, Fitting.believe))

    @property
    def followed(self) -> MeanNoiseModel:
        """Nearly the same posteriors at a fraction of the cost, to propose by."""
        return self._needed(self._believed("followed", None, Fitting.follow))

    @property
    def assumed(self) -> MeanNoiseModel | None:
        """The posteriors to propose by while the data hardly show that the mean varies."""
        _ = self.followed
        return self._believed("assumed", None, Fitting.assume)

    @property
    def outcome_models(self) -> Models:
        """What is believed of each outcome with a limit, to report by."""
        return {name: self._believed("model", name, Fitting.believe) for name in self._outcomes}

    @property
    def outcomes_followed(self) -> Models:
        """What is believed of each outcome with a limit, to propose by."""
        return {name: self._believed("followed", name, Fitting.follow) for name in self._outcomes}

    @property
    def _outcomes(self) -> Iterable[str]:
        return self.settings.outcome_fittings

    @property
    def _tracks(self) -> Sequence[Track]:
        return [None, *self._outcomes]

    def _fitting(self, track: Track) -> Fitting:
        settings = self.settings
        return settings.fitting if track is None else settings.outcome_fittings[track]

    def _told_of(self, track: Track) -> list[Trial]:
        """Return the trials, with the values of an outcome in place of those of the objective."""
        trials = self.trials.values()
        return list(trials if track is None else outcome_of(trials, track))

    def _believed(
        self,
        how: str,
        track: Track,
        learn: Callable[[Fitting, list[Trial], Past], tuple[MeanNoiseModel | None, Past]],
    ) -> MeanNoiseModel | None:
        """Return the posteriors of a track; None if no value of an outcome was told."""
        shared = self._shared
        if (how, track) not in shared.found:
            model, trials, past = None, self._told_of(track), shared.past.get(track, Past())
            if track is None or any(trial.n_values for trial in trials):
                with one_blas_thread():
                    model, learned = learn(self._fitting(track), trials, past)
                # Another thread may have learned something meanwhile.
                shared.past[track] = learned.beside(past, shared.past.get(track, Past()))
            shared.found[how, track] = model
        known: MeanNoiseModel | None = shared.found[how, track]
        return known

    def _needed(self, model: MeanNoiseModel | None) -> MeanNoiseModel:
        if model is None:
            raise NotReadyError("Nothing has been told yet. Call ask() and tell() first.")
        return model

    def _models_after(self, track: Track, ends: Sequence[int]) -> Iterator[MeanNoiseModel | None]:
        """Yield the posteriors of a track as they were after the first ``end`` trials."""
        self._believed("model", track, Fitting.believe)  # learns what is not learned yet
        trials = self._told_of(track)
        known = [end for end in ends if valued(trials[:end])]
        fits = self._shared.past.get(track, Past()).fits
        models = self._fitting(track).believed_after(trials, fits, known)
        for end in ends:
            yield next(models) if end in known else None


def kept(function: Callable[[State], T]) -> Callable[[State], T]:
    """Let a function of a state be computed once for each state; see `State.once`."""

    @wraps(function)
    def first_time(state: State) -> T:
        return state.once(function)

    return first_time


def kept_with_models(function: Callable[[State], T]) -> Callable[[State], T]:
    """Let a function of the models alone be computed once, until a value is told."""

    @wraps(function)
    def first_time(state: State) -> T:
        return state.once_with_models(function)

    return first_time
