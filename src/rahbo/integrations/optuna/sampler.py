"""The sampler: what to try next in a study.

A proposal depends on what the storage holds, on the seed and on the number of the trial, and on
nothing else, so any number of workers may share a study. What a trial was proposed for is kept
with it, in the system attribute `ASKED`:
    params      its parameters as far as they are proposed, in Optuna's internal numbers
    repeats     the evaluations that its point is to have in all
    source      where a new suggestion came from, as in `ledger.Trial`; a repeat has none
    bound       the lower bound of a new suggestion (Corollary 1.1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from rahbo.integrations.optuna.distributions import Kinds, newest, shared
from rahbo.integrations.optuna.history import (
    ASKED,
    FAILED,
    History,
    Internal,
    Point,
    StudyTrial,
    check_settings,
    check_study,
    external,
    has,
    numbers,
    points,
    records,
)
from rahbo.integrations.optuna.repeats import seed_of
from rahbo.optimizer import Optimizer
from rahbo.trials import Trial

# A trial that has no parameters yet is waited for by so many trials after it, in case it never has.
RECENT = 8


class RahboSampler(BaseSampler):
    """Proposes points that are good even without luck, and repeats them.

    The objective makes one noisy measurement, or is `repeated`. With ``repeats=5`` a point is
    proposed again, with exactly equal parameters, until it has five evaluations, whichever workers
    make them; without, `Adaptive` repeats the initial design and then whatever pays. Running
    trials count, and those whose heartbeat is stale do not. A trial that fails, is pruned or
    breaks a constraint is a failure: proposals turn away from where these are.

    The model knows the parameters that all complete trials have, in the range of the newest one.
    Other, conditional parameters are sampled independently, and repeated with a point. So are the
    parameters of the first trial, whose space is not known yet.

    Args:
        seed: Of every random choice; all workers of a study should have the same. By default one
            that belongs to the name of the study.
        independent_sampler: For conditional parameters; random by default.
        **settings: Those of `Optimizer`: ``risk``, ``repeats``, ``strategy``, ``n_initial``, ...

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

    def __init__(
        self,
        *,
        seed: int | None = None,
        independent_sampler: BaseSampler | None = None,
        **settings: Any,
    ) -> None:
        check_settings(settings)
        # What needs the space is checked once it is known.
        checked = {k: v for k, v in settings.items() if k not in ("kernel", "noise", "valid")}
        self._repeats = Optimizer({"x": (0.0, 1.0)}, seed=seed, **checked).settings.repeats
        self._seed = seed
        self._settings = settings
        self._independent = independent_sampler
        self._latest: Optimizer | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_latest": None}

    def reseed_rng(self) -> None:
        """Reseed the independent sampler; ours draws by the number of the trial."""
        if self._independent is not None:
            self._independent.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """A point that the user chose is to have its repeats, too."""
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
        """Note a failure of the objective, which a trial of a dead worker lacks."""
        if self._independent is not None:
            self._independent.after_trial(study, trial, state, values)
        if state == TrialState.FAIL:
            self._note(study, trial, FAILED, True)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """The parameters that all complete trials have."""
        check_study(study)
        return newest(shared(study.get_trials(deepcopy=False)))

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """A repeat of a point that lacks evaluations, or a new suggestion."""
        check_study(study)
        kinds = {name: kind for name, kind in search_space.items() if not kind.single()}
        # A retried trial goes on with what it was asked for.
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
        """What the trial repeats, or a value that depends on nothing else."""
        check_study(study)
        asked = trial.system_attrs.get(ASKED) or {}
        number = asked.get("params", {}).get(param_name)
        if number is not None and param_distribution._contains(number):
            return param_distribution.to_external_repr(number)
        sampler = self._independent
        if sampler is None:
            entropy = [self._seed_in(study), trial.number, crc32(param_name.encode())]
            drawn = np.random.SeedSequence(entropy).generate_state(1)[0]
            sampler = RandomSampler(seed=int(drawn))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def _asked(self, study: Study, trial: FrozenTrial, kinds: Kinds) -> dict[str, Any]:
        """What a trial is proposed for."""
        if not kinds:
            return {"params": {}, "repeats": self._repeats.initial(None), "source": "design"}
        found = [record for record in records(study) if record.trial.number != trial.number]
        # Workers that choose at this moment, and began before: they take what comes first.
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
    ) -> History:
        """All of the study; fits that the latest history had are not made again."""
        settings = {**self._settings, "seed": self._seed_in(study)}
        history = History.of(study, kinds, found, settings, lacking)
        if self._latest is not None:
            history.optimizer.reuse_fits(self._latest)
        self._latest = history.optimizer
        return history

    def _seed_in(self, study: Study) -> int:
        return seed_of(study) if self._seed is None else self._seed

    def _note(self, study: Study, trial: FrozenTrial, name: str, value: Any) -> None:
        study._storage.set_trial_system_attr(trial._trial_id, name, value)


def _chosen(trial: FrozenTrial) -> dict[str, Any]:
    """Parameters that were there before anything was proposed: enqueued, or of a trial retried."""
    return {**trial.system_attrs.get("fixed_params", {}), **trial.params}


def _open(optimizer: Optimizer, ahead: int) -> Trial:
    """The suggestion after those that are open and those that workers ahead open."""
    suggestion = optimizer.ask(len(optimizer.open) + ahead + 1)[-1]
    return optimizer.trials[suggestion.id]


def _constants(found: list[StudyTrial], kinds: Kinds) -> Internal:
    """What the newest complete trial has in place of the shared parameters that do not vary."""
    complete = [record for record in found if record.trial.state == TrialState.COMPLETE]
    others = shared(record.trial for record in complete).keys() - kinds.keys()
    return {name: complete[-1].params[name] for name in others}
