"""Optuna: a risk-averse sampler, repeats of a trial, and the risk-averse answer of any study.

`RahboSampler` proposes parameters, and `repeated` evaluates a trial several times. `recommend`
answers for any study, whatever sampled it, and `optimizer_of` returns the `Optimizer` behind that
answer. `publish` puts the answer into Optuna's dashboard, which only `publish` needs.
"""

from typing import Unpack

from optuna.study import Study

from rahbo.errors import SettingsError
from rahbo.integrations.optuna.answers import optimizer_of, recommend
from rahbo.integrations.optuna.history import shows_settings
from rahbo.integrations.optuna.repeats import repeated
from rahbo.integrations.optuna.sampler import RahboSampler
from rahbo.settings import Keywords

__all__ = ["RahboSampler", "optimizer_of", "publish", "recommend", "repeated"]


@shows_settings
def publish(
    study: Study,
    *,
    probability: float = 0.95,
    block_attr: str | None = None,
    **settings: Unpack[Keywords],
) -> None:
    """Add the risk view of a study to its page in Optuna's dashboard: two figures and a note.

    The figures and text of an earlier call are replaced, and the rest of the study's note is kept.
    Call it when the study has ended, or from time to time while it runs.

    Args:
        study: The study, as for `recommend`.
        probability: As for `recommend`.
        block_attr: As for `recommend`.
        **settings: Settings of `Optimizer`, such as ``risk``.
    """
    try:
        from rahbo.integrations.optuna import dashboard
    except ModuleNotFoundError as error:
        raise SettingsError(
            f'publish() needs {error.name}. Install it: pip install "rahbo[optuna,dashboard]"'
        ) from error
    dashboard.publish(study, probability, block_attr, **settings)
