"""What a study says: the recommendation, and the optimizer behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from optuna.study import Study
from optuna.trial import TrialState

from rahbo.analysis import Recommendation, Rule
from rahbo.errors import NotReadyError, SpaceError
from rahbo.integrations.optuna.beside import Reading
from rahbo.integrations.optuna.distributions import merged, ranges, varying
from rahbo.integrations.optuna.history import (
    StudyHistory,
    check_settings,
    check_study,
    records,
    shows_settings,
)
from rahbo.integrations.optuna.tried import missing_parameters
from rahbo.optimizer import Optimizer
from rahbo.settings import Keywords


@shows_settings
def recommend(
    study: Study,
    *,
    rule: Rule = "pessimistic",
    level: float = 0.9,
    probability: float = 0.95,
    block_attr: str | None = None,
    **settings: Unpack[Keywords],
) -> Recommendation:
    """Return the risk-averse recommendation for a study, whatever its sampler.

    Trials with equal parameters are repeats, and so are the values of a `repeated` trial. Without
    repeats, the noise is learned from how far each trial lies from what the others predict.

    Args:
        study: A study with one objective. The model uses all ranges that its parameters had. If
            some complete trials lack parameters that others have, only the settings of trials are
            compared, and the recommendation says so.
        rule: As for `Optimizer.recommend`.
        level: As for `Optimizer.recommend`.
        probability: The probability with which each of Optuna's constraints must be kept, noise
            included.
        block_attr: The user attribute that names the block of each trial, such as its fold; None
            if there are no blocks.
        **settings: Settings of `Optimizer`, such as ``risk``.

    Returns:
        The recommendation. Its parameters are those of a trial, exactly as stored.

    >>> import optuna, rahbo
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=20)
    >>> abs(recommend(study, risk=rahbo.MeanVariance(2.0)).params["x"]) < 0.2
    True
    """
    history = _history(study, settings, Reading(probability, block_attr))
    found = history.optimizer.recommend(rule=rule, level=level)
    return found.told_as(params=history.stored)


@shows_settings
def optimizer_of(
    study: Study,
    *,
    probability: float = 0.95,
    block_attr: str | None = None,
    **settings: Unpack[Keywords],
) -> Optimizer:
    """Return an `Optimizer` that was told the finished trials of a study.

    If some complete trials lack parameters that others have, its space is the list of all settings
    that were tried, where None stands for a parameter that a trial lacks.

    Args:
        study: The study, as for `recommend`.
        probability: As for `recommend`.
        block_attr: As for `recommend`.
        **settings: Settings of `Optimizer`. The default seed is derived from the study's name.
    """
    return _history(study, settings, Reading(probability, block_attr)).optimizer


def _history(study: Study, settings: Mapping[str, Any], reading: Reading) -> StudyHistory:
    check_study(study)
    check_settings(settings)
    found = [record for record in records(study) if record.outcomes and not record.under_way]
    if not any(value is not None for record in found for value in record.outcomes):
        raise NotReadyError(
            f"Study {study.study_name!r} has no complete trial with a finite value and finite "
            "constraints. Run some trials first."
        )
    complete = [r.trial for r in found if r.trial.state == TrialState.COMPLETE]
    why, kinds = missing_parameters(complete), merged(ranges(complete))
    if not varying(kinds):
        raise SpaceError(
            f"The complete trials of study {study.study_name!r} must have a parameter that takes "
            "more than one value, but have none. Suggest one in every trial."
        )
    if why:
        return StudyHistory.of_tried(study, kinds, found, settings, reading, why)
    return StudyHistory.of(study, varying(kinds), found, settings, reading)
