"""The sampler, which proposes what to try next in a study.

A proposal depends only on the contents of the storage, the seed and the number of the trial, so any
number of workers may share a study. Each trial keeps its proposal in the system attribute `ASKED`:
    params      the proposed parameters, in Optuna's internal numbers
    repeats     the total number of evaluations that its point should have
    source      where a new suggestion came from, as in `rahbo.trials.Trial`; absent for a repeat
    bound       the lower bound of a new suggestion (Corollary 1.1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack
from zlib import crc32

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from rahbo.integrations.optuna.beside import KEY, Reading, checked_constraints
from rahbo.integrations.optuna.distributions import (
    Internal,
    Kinds,
    external,
    holds,
    newest,
    numbers,
    shared,
)
from rahbo.integrations.optuna.history import (
    ASKED,
    FAILED,
    Point,
    StudyHistory,
    StudyTrial,
    check_settings,
    check_study,
    has,
    points,
    records,
    shows_settings,
)
from rahbo.integrations.optuna.repeats import seed_of
from rahbo.optimizer import Optimizer
from rahbo.settings import Keywords, Method
from rahbo.trials import Trial

# Only this many later trials make room for a trial without parameters, in case it never gets any.
RECENT = 8


class RahboSampler(BaseSampler):
    """A sampler that proposes reliably good points and repeats them.

    The objective makes one noisy measurement, or is `repeated`. With ``repeats=5`` a point is
    proposed again, with exactly equal parameters, until it has five evaluations, whichever workers
    make them. By default, `Adaptive` repeats the initial design and then the points where repeats
    pay off. Running trials count as evaluations, unless their heartbeat is stale. A trial that
    fails or is pruned counts as a failure, and proposals avoid its neighbourhood.

    Optuna's constraints, which must be at most 0, are noisy outcomes: each has a model of its own,
    every repeat of a point counts, and proposals are weighed by the chance that all are kept.

    The model uses the parameters that all complete trials have, in the range of the newest trial.
    Other, conditional parameters are sampled independently, and are kept when a point is repeated.
    The same holds for the parameters of the first trial, because the space is not known yet.

    All other keywords are settings of `Optimizer`: ``risk``, ``repeats``, ``method``, ...

    Args:
        seed: Seeds every random choice. All workers of a study should use the same one. The
            default is derived from the name of the study.
        independent_sampler: Samples conditional parameters; random sampling by default.
        constraints_func: As for the samplers of Optuna before version 7: takes a finished trial and
            returns the numbers that must be at most 0. `Trial.set_constraint` needs none.
        probability: The probability with which each constraint must be kept, noise included.
        block_attr: The user attribute that names the block of each trial, such as its fold or its
            seed; None if there are no blocks.

    >>> import optuna, random, rahbo
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def objective(trial):
    ...     x = trial.suggest_float("x", 0, 2)
    ...     return -((x - 1) ** 2) + 0.1 * x * random.gauss(0, 1)
    >>> sampler = RahboSampler(risk=rahbo.MeanVariance(1.0), repeats=3, seed=0)
    >>> study = optuna.create_study(direction="maximize", sampler=sampler)
    >>> study.optimize(objective, n_trials=9)
    >>> len({trial.params["x"] for trial in study.trials})
    3
    """

    @shows_settings
    def __init__(
        self,
        *,
        independent_sampler: BaseSampler | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        probability: float = 0.95,
        block_attr: str | None = None,
        **settings: Unpack[Keywords],
    ) -> None:
        check_settings(settings)
        seed = settings.pop("seed", None)
        # Settings that need the space are checked once it is known.
        given: dict[str, Any] = dict(settings)
        checked = {k: v for k, v in given.items() if k not in ("valid", "noise_std")}
        if isinstance(given.get("method"), Method):
            del checked["method"]
        self._repeats = Optimizer({"x": (0.0, 1.0)}, seed=seed, **checked).settings.repeats
        self._seed = seed
        self._settings = given
        self._independent = independent_sampler
        self._constraints_func = constraints_func
        self._reading = Reading(probability, block_attr)
        self._latest: Optimizer | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_latest": None}

    def reseed_rng(self) -> None:
        """Reseed the independent sampler; our own draws depend on the number of the trial."""
        if self._independent is not None:
            self._independent.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Give repeats to a point that the user chose, too."""
        check_study(study)
        if self._independent is not None:
            self._independent.before_trial(study, trial)
        if _chosen(trial) and ASKED not in trial.system_attrs:
            self._note(study, trial, ASKED, {"repeats": self._repeats.initial(None)})

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Store the constraints of a trial, and mark one whose objective failed.

        The mark tells it from a trial whose worker died.
        """
        if self._constraints_func is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            self._note(study, trial, KEY, checked_constraints(self._constraints_func(trial)))
        if self._independent is not None:
            self._independent.after_trial(study, trial, state, values)
        if state == TrialState.FAIL:
            self._note(study, trial, FAILED, True)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters that all complete trials have."""
        check_study(study)
        return newest(shared(study.get_trials(deepcopy=False)))

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return a repeat of a point that lacks evaluations, or a new suggestion."""
        check_study(study)
        kinds = {name: kind for name, kind in search_space.items() if not kind.single()}
        # A retried trial keeps its proposal.
        asked = trial.system_attrs.get(ASKED) or {}
        if not kinds or not has(asked.get("params", {}), kinds):
            asked = self._asked(study, trial, kinds)
            self._note(study, trial, ASKED, asked)
        return external(asked["params"], kinds)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return the value that the trial repeats, or an independent one."""
        check_study(study)
        asked = trial.system_attrs.get(ASKED) or {}
        number = asked.get("params", {}).get(param_name)
        if number is not None and holds(param_distribution, number):
            return param_distribution.to_external_repr(number)
        sampler = self._independent
        if sampler is None:
            entropy = [self._seed_in(study), trial.number, crc32(param_name.encode())]
            drawn = np.random.SeedSequence(entropy).generate_state(1)[0]
            sampler = RandomSampler(seed=int(drawn))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def _asked(self, study: Study, trial: FrozenTrial, kinds: Kinds) -> dict[str, Any]:
        """Return the proposal for a trial."""
        if not kinds:
            return {"params": {}, "repeats": self._repeats.initial(None), "source": "design"}
        found = [record for record in records(study) if record.trial.number != trial.number]
        # Workers that started earlier and are choosing now take the first points in line.
        earlier = [record for record in found if record.trial.number < trial.number]
        ahead = sum(record.undecided for record in earlier[-RECENT:])
        known = points(found)
        lacking = [p for p in known.values() if p.free > 0 and has(p.params, kinds)]
        outstanding = [point for point in lacking for _ in range(point.free)]
        if ahead < len(outstanding) and not _chosen(trial):
            point = outstanding[ahead]
            return {"params": point.params, "repeats": point.wanted}
        history = self._history(study, kinds, found, lacking)
        opened = _open(history.optimizer, max(0, ahead - len(outstanding)))
        params = {**history.numbers(opened.params), **numbers(_chosen(trial), kinds)}
        point = known.get(frozenset({**_constants(found, kinds), **params}.items()), Point(params))
        return {
            "params": params,
            "repeats": point.given + opened.n_requested,
            "source": opened.source,
            "bound": opened.own_bound,
        }

    def _history(
        self, study: Study, kinds: Kinds, found: list[StudyTrial], lacking: list[Point]
    ) -> StudyHistory:
        """Return the history of the study, which reuses the fits of the latest one."""
        settings = {**self._settings, "seed": self._seed_in(study)}
        history = StudyHistory.of(study, kinds, found, settings, self._reading, lacking)
        if self._latest is not None:
            history.optimizer.reuse_fits(self._latest)
        self._latest = history.optimizer
        return history

    def _seed_in(self, study: Study) -> int:
        return seed_of(study) if self._seed is None else self._seed

    def _note(self, study: Study, trial: FrozenTrial, name: str, value: Any) -> None:
        study._storage.set_trial_system_attr(trial._trial_id, name, value)


def _chosen(trial: FrozenTrial) -> dict[str, Any]:
    """Return the parameters set before any proposal: those enqueued, or of a retried trial."""
    return {**trial.system_attrs.get("fixed_params", {}), **trial.params}


def _open(optimizer: Optimizer, ahead: int) -> Trial:
    """Return the next suggestion after the open ones and those that ``ahead`` workers take."""
    suggestion = optimizer.ask(len(optimizer.open) + ahead + 1)[-1]
    return optimizer.trials[suggestion.id]


def _constants(found: list[StudyTrial], kinds: Kinds) -> Internal:
    """Return the newest complete trial's values of the shared parameters that do not vary."""
    complete = [record for record in found if record.trial.state == TrialState.COMPLETE]
    others = shared(record.trial for record in complete).keys() - kinds.keys()
    return {name: complete[-1].params[name] for name in others}
