"""The one stateful class: ask for points, tell what came of them, get a recommendation.

The border between minimising and maximising is crossed here: inside, values are multiplied by
``sign`` and always maximised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np

from rahbo.arrays import Array
from rahbo.belief import Fits, believe, fits_before, valued, whole_domain
from rahbo.checks import is_whole
from rahbo.errors import DataError, SettingsError
from rahbo.files import Path
from rahbo.journal import Journal, settings_to_resume
from rahbo.ledger import (
    Suggestion,
    Trial,
    checked_repeat,
    checked_trials,
    checked_values,
    observations_of,
    own_bounds,
    params_by_point,
    past_trials,
    provided_points,
    trial_at,
    trial_named,
)
from rahbo.model.confidence import Confidence
from rahbo.model.joint import MeanNoiseModel, Outputs, Standardized
from rahbo.model.kernels import Kernel, Matern52
from rahbo.model.noise import LogNoise, NoiseModel
from rahbo.observations import Observations
from rahbo.policy.acquisition import RiskBound
from rahbo.policy.confirmation import Contest
from rahbo.policy.repeats import CONFIRMED, Adaptive, Repeats
from rahbo.policy.search import Domain
from rahbo.policy.strategies import Strategy, TopTwo
from rahbo.proposal import Proposal, contest_between, propose, propose_design, with_pending
from rahbo.report import recommendation as report
from rahbo.report.diagnosis import Diagnosis, diagnose
from rahbo.report.frontier import Frontier, frontier
from rahbo.report.posterior import LEVEL, check_level
from rahbo.report.recommendation import Prediction, Recommendation
from rahbo.report.rules import Rule, check_rule
from rahbo.risk import MeanVariance, RiskMeasure
from rahbo.settings import Direction, Refit, make_settings
from rahbo.space import Candidates, Space
from rahbo.threads import one_blas_thread

Params = Mapping[str, Any]


class Optimizer:
    """Optimises something expensive that answers differently each time.

    Args:
        space: ``{name: Float | Int | Categorical}``, a tuple of two floats or a list for short,
            or ``Candidates(rows)``.
        valid: A predicate on the parameters for constraints known in advance.
        risk: What makes an outcome good, in the units of the objective.
        repeats: Evaluations per suggestion: a number, or as many as pay.
        strategy: How points are chosen and reported.
        direction: ``"maximize"`` or ``"minimize"``.
        n_initial: Distinct points of the initial design; past results count towards it. By default
            twice the number of parameters plus 2, and at least 6.
        kernel: Of the mean GP: a class to be learned, or a kernel to be taken as it is (in units
            of ``outputs``).
        noise: The model of the noise variance.
        beta: Width of the confidence band of the mean, in standard deviations.
        beta_noise: Width of the band of the noise variance.
        lam: The regulariser lambda of the mean GP; the noise model has its own.
        outputs: ``Standardized()`` or the paper's ``Raw()``.
        min_noise_var: A lower bound of the noise variance, if known.
        max_noise_var: An upper bound of the noise variance, if known (eq. 16).
        refit: When hyperparameters are learned again.
        seed: Seeds every random choice; drawn if None, and kept in ``settings.seed``.
        data: Past results, pairs of parameters and values.
        trials: The trials of an earlier run with the same settings and seed: this run goes on
            exactly where that one stopped. They hold its past results too, so ``data`` is then
            left aside.
        journal: A file to which every suggestion and every value is written before the call
            returns. If it holds a run, that run goes on; the settings must be its own.

    >>> opt = Optimizer({"x": (0.0, 2.0)}, repeats=3, seed=0)
    >>> suggestion = opt.ask()
    >>> suggestion.id, suggestion.repeats
    (0, 3)
    >>> opt.tell(suggestion, [0.9, 1.1, 1.0])
    >>> opt.recommend().n_evaluations
    3
    """

    def __init__(
        self,
        space: Mapping[str, Any] | Candidates | Space,
        *,
        valid: Callable[[dict[str, Any]], bool] | None = None,
        risk: RiskMeasure = MeanVariance(1.0),  # noqa: B008 - frozen
        repeats: int | Repeats = Adaptive(),  # noqa: B008 - frozen
        strategy: Strategy = TopTwo(),  # noqa: B008 - frozen
        direction: Direction = "maximize",
        n_initial: int | None = None,
        kernel: type[Kernel] | Kernel = Matern52,
        noise: NoiseModel = LogNoise(),  # noqa: B008 - frozen
        beta: float | Confidence = 1.0,
        beta_noise: float | Confidence = 1.0,
        lam: float = 1.0,
        outputs: Outputs = Standardized(),  # noqa: B008 - frozen
        min_noise_var: float | None = None,
        max_noise_var: float | None = None,
        refit: Refit = Refit(),  # noqa: B008 - frozen
        seed: int | None = None,
        data: Iterable[tuple[Params, object]] = (),
        trials: Iterable[Trial] = (),
        journal: Path | None = None,
    ) -> None:
        self.settings = make_settings(
            space, valid=valid, risk=risk, repeats=repeats, strategy=strategy,
            direction=direction, n_initial=n_initial, kernel=kernel, noise=noise, beta=beta,
            beta_noise=beta_noise, lam=lam, outputs=outputs, min_noise_var=min_noise_var,
            max_noise_var=max_noise_var, refit=refit, seed=seed,
        )  # fmt: skip
        begun = list(trials) or past_trials(data, self.settings.space.encode)
        self._trials = checked_trials(begun, self.settings.space.names, self.settings.space.d)
        if journal is not None:
            kept = Journal(journal, self.settings, self._trials, seed)
            self._trials, self.settings = kept, kept.settings
        self._unsettled = {t.id for t in self._trials.values() if t.missing}
        self._handed_out: set[int] = set()
        self._fits: Fits = {}
        self._current: tuple[Observations, MeanNoiseModel] | None = None

    @classmethod
    def resume(cls, path: Path, **code: Any) -> Optimizer:
        """Go on with the run of a journal where it stopped; settings that are code come again."""
        return cls(**settings_to_resume(path, code), journal=path)

    def close(self) -> None:
        """Let go of the journal, so that another process may go on with the run."""
        if isinstance(self._trials, Journal):
            self._trials.close()

    # -- asking ------------------------------------------------------------------------------

    @overload
    def ask(self) -> Suggestion: ...

    @overload
    def ask(self, n: int) -> list[Suggestion]: ...

    def ask(self, n: int | None = None) -> Suggestion | list[Suggestion]:
        """The next suggestion, or a list of ``n`` to be evaluated at the same time.

        Suggestions not fully told count as under way: further ones keep away from them as far as
        they will teach the same. Open suggestions of an earlier run are handed out first.
        """
        if n is None:
            return self._ask_one()
        if not is_whole(n) or n < 1:
            raise SettingsError(f"ask(n) needs a whole number >= 1, got {n!r}.")
        return [self._ask_one() for _ in range(n)]

    def _ask_one(self) -> Suggestion:
        waiting = next((s for s in self.open if s.id not in self._handed_out), None)
        if waiting is None:
            with one_blas_thread():
                waiting = self._propose().suggestion
        self._handed_out.add(waiting.id)
        return waiting

    def _propose(self) -> Trial:
        """Open a trial at the next point: initial design first, then the strategy."""
        settings, domain, trials = self.settings, self._domain(), self._trials.values()
        asked = sum(t.source != "user" for t in trials)
        rng = np.random.default_rng([settings.seed, 1, asked])
        found = propose_design(settings, trials, domain, rng)
        if found is None:
            observations, model = self._model()
            draws = np.random.default_rng([settings.seed, 2, asked])
            asking = with_pending(model, self._missing(), draws)
            found = propose(settings, trials, observations, model, asking, domain, rng)
        return self._open(found)

    def confirm(self, n: int = CONFIRMED) -> list[Suggestion]:
        """Suggest points to measure again before one of them is used, ``n`` evaluations in all.

        The point to recommend comes first, until it has been measured five times. The next in
        line follow, as a bad surprise would put them in the lead. Tell the values of a few
        before you ask for more.
        """
        X, contest = self._contest()
        again = [self._open(Proposal(X[i], "confirm", k)) for i, k in contest.again(n).items()]
        self._handed_out.update(trial.id for trial in again)
        return [trial.suggestion for trial in again]

    @property
    def unconfirmed(self) -> int:
        """How many more times to measure the recommended point, so that it was five times.

        0 where points may not be measured again.
        """
        return self._contest()[1].unconfirmed if self.settings.revisit else 0

    def _contest(self) -> tuple[Array, Contest]:
        with one_blas_thread():
            return contest_between(self.settings, self._trials.values(), *self._model())

    def _open(self, found: Proposal) -> Trial:
        number, params = len(self._trials), self.space.decode(found.x)
        bound = found.own_bound
        trial = Trial(number, params, found.x, found.repeats, found.source, own_bound=bound)
        self._trials[number] = trial
        self._unsettled.add(number)
        return trial

    def _domain(self) -> Domain:
        """Where to look; without revisits, not where points have or get their repeats."""
        settings, trials = self.settings, self._trials.values()
        excluded = set() if settings.revisit else provided_points(trials, settings.repeats.most)
        return Domain(settings.space, np.empty((0, settings.space.d)), excluded)

    # -- telling -----------------------------------------------------------------------------

    def tell(self, suggestion: Suggestion | int | Params, values: object, *,
             repeat: int | None = None) -> None:  # fmt: skip
        """Tell what evaluations gave; all of it is taken or, on an error, none.

        Args:
            suggestion: What was evaluated: a suggestion, its id, or parameters. Parameters of an
                open suggestion belong to it; any others are a new point.
            values: One number or several, in any portions; each is a repeat.
            repeat: The repeat index of a single value. Telling it again changes nothing.
        """
        checked = checked_values(values)
        if repeat is not None and len(checked) != 1:
            raise DataError(f"tell(repeat={repeat!r}) needs one value, got {len(checked)}.")
        trial = self._trial(suggestion, repeat)
        if repeat is None:
            self._update(trial.with_values(checked))
        else:
            self._update(trial.with_value(checked_repeat(repeat), checked[0]))

    def tell_failure(self, suggestion: Suggestion | int | Params, reason: str = "", *,
                     repeat: int | None = None) -> None:  # fmt: skip
        """Tell that evaluations gave no number: one repeat, or all outstanding ones.

        Values already told stay.
        """
        trial = self._trial(suggestion, repeat)
        if repeat is not None:
            lost: tuple[int, ...] = (checked_repeat(repeat),)
        else:
            lost = (0,) if trial.id not in self._trials else trial.missing
        self._update(trial.with_failures(lost, str(reason)))

    def cancel(self, suggestion: Suggestion | int | Params) -> None:
        """Drop what is outstanding of a suggestion; it is no longer waited for."""
        trial = self._trial(suggestion)
        if trial.id not in self._trials:
            raise DataError(f"No open suggestion has the parameters {trial.params!r}.")
        self._update(replace(trial, cancelled=True))

    def _trial(self, suggestion: Suggestion | int | Params, repeat: object = None) -> Trial:
        """The trial meant: that of a suggestion, or of parameters."""
        if isinstance(suggestion, Mapping):
            x = self.settings.space.encode(suggestion)
            return trial_at(x, suggestion, self._trials, self._missing(), repeat is not None)
        return trial_named(suggestion, self._trials)

    def _update(self, trial: Trial) -> None:
        self._trials[trial.id] = trial
        self._unsettled.discard(trial.id)
        if trial.missing:
            self._unsettled.add(trial.id)
        self._current = None
        self._fits = fits_before(self._fits, trial)

    @property
    def open(self) -> tuple[Suggestion, ...]:
        """Suggestions not fully told, oldest first, with the repeats they still miss."""
        return tuple(trial.suggestion for trial in self._missing())

    def _missing(self) -> list[Trial]:
        """Trials that still miss repeats, oldest first."""
        return [self._trials[i] for i in sorted(self._unsettled)]

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial so far, in order: together with the settings, the state of the run."""
        return tuple(self._trials.values())

    @property
    def space(self) -> Space:
        """The space, in which a point that was told decodes to the params it was told with."""
        return self.settings.space.with_told(params_by_point(self._trials.values()))

    @property
    def n_evaluations(self) -> int:
        """Single evaluations so far, failures included."""
        return sum(len(t.values) + len(t.failures) for t in self._trials.values())

    # -- believing ---------------------------------------------------------------------------

    @property
    def observations(self) -> Observations:
        """The data, in the sense of maximisation."""
        return observations_of(self._valued(), self.settings.sign)

    @property
    def model(self) -> MeanNoiseModel:
        """Both posteriors given all data, in the sense of maximisation."""
        with one_blas_thread():
            return self._model()[1]

    def _valued(self) -> list[Trial]:
        return valued(self._trials.values())

    def _model(self) -> tuple[Observations, MeanNoiseModel]:
        if self._current is None:
            trials = self._trials.values()
            observations, model, self._fits = believe(trials, self.settings, self._fits)
            self._current = observations, model
        return self._current

    # -- reporting ---------------------------------------------------------------------------

    def recommend(self, *, rule: Rule = "pessimistic", risk: RiskMeasure | None = None,
                  level: float = LEVEL) -> Recommendation:  # fmt: skip
        """The point to use, among those evaluated, and what is known of it.

        Args:
            rule: ``"pessimistic"``, the largest lower bound now; ``"own_round"``, the largest
                lower bound at the time a point was chosen (Corollary 1.1); ``"best_observed"``,
                the best sample mean; ``"empirical"``, the best risk of sample mean and variance.
            risk: Another risk measure than the run's, for the rules ``"pessimistic"`` and
                ``"empirical"``, at the bounds of mean and noise that the strategy reports by.
            level: The probability of each interval, and of the bound on what may be gained.
        """
        check_rule(rule, risk)
        check_level(level)
        settings = self.settings
        with one_blas_thread():
            observations, trials = self._model()[0], self._trials.values()
            found = report.recommendation(
                rule, observations, self._report_bound(risk), risk or settings.risk,
                domain=replace(whole_domain(trials, observations, settings), space=self.space),
                own_bound=own_bounds(trials, observations),
                level=level, seed=settings.seed, revisit=settings.revisit,
            )  # fmt: skip
        return found if settings.sign > 0 else found.negated()

    def _report_bound(self, other: RiskMeasure | None = None) -> RiskBound:
        """The lower bound that the strategy reports by, or the same of another risk measure."""
        model = self._model()[1]
        bound = self.settings.strategy.report_bound(model, self.settings.risk)
        if other is None:
            return bound
        return replace(bound, risk=other.standardised(model.learned.shift, model.learned.scale))

    def frontier(self, *, level: float = LEVEL) -> Frontier:
        """Mean against noise of the evaluated points, and what each alpha would report.

        It needs no new evaluation, so that alpha may be chosen after looking at it. At the run's
        own alpha it names the recommended point. A strategy that ignores the noise, `GPUCB`,
        recommends what alpha = 0 does; for other alphas it shows the pessimistic choice.

        Args:
            level: The probability of each interval of the records.
        """
        check_level(level)
        settings = self.settings
        with one_blas_thread():
            observations, bound = self._model()[0], self._report_bound()
            found = frontier(bound, settings.risk, observations, self.space, level)
        return found if settings.sign > 0 else found.negated()

    def diagnose(self) -> Diagnosis:
        """Is the noise uneven and over which inputs, does risk matter, how many repeats pay?

        It needs nothing but values, such as a table of past results in ``data``, repeated or not.
        """
        settings = self.settings
        with one_blas_thread():
            found = diagnose(*self._model(), settings.risk, self.space)
        return found if settings.sign > 0 else found.negated()

    @overload
    def predict(self, params: Params, *, level: float = LEVEL) -> Prediction: ...

    @overload
    def predict(self, params: Iterable[Params], *, level: float = LEVEL) -> list[Prediction]: ...

    def predict(self, params: Params | Iterable[Params], *, level: float = LEVEL
                ) -> Prediction | list[Prediction]:  # fmt: skip
        """What is believed of a setting, or of each of several, with intervals at ``level``."""
        check_level(level)
        several = [dict(p) for p in ([params] if isinstance(params, Mapping) else params)]
        X = np.array([self.settings.space.encode(p) for p in several])
        if not several:
            return []
        with one_blas_thread():
            bound = self._report_bound()
            records = report.predict(bound, self.settings.risk, X, several, level)
        if self.settings.sign < 0:
            records = [record.negated() for record in records]
        return records[0] if isinstance(params, Mapping) else records
