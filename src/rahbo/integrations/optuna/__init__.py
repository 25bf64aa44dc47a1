"""Optuna: a risk-averse sampler, repeats of a trial, and the risk-averse answer of any study.

`RahboSampler` proposes parameters, `repeated` evaluates a trial several times, `recommend` answers
for any study, whatever sampled it, and `optimizer_of` gives the `Optimizer` behind that answer.
`publish` puts that answer into Optuna's dashboard, which need not be installed for the others.
"""

from typing import Any

from optuna.study import Study

from rahbo.errors import SettingsError
from rahbo.integrations.optuna.history import optimizer_of, recommend
from rahbo.integrations.optuna.repeats import repeated
from rahbo.integrations.optuna.sampler import RahboSampler

__all__ = ["RahboSampler", "optimizer_of", "publish", "recommend", "repeated"]


def publish(study: Study, **settings: Any) -> None:
    """Put the risk view of a study into its page of Optuna's dashboard: two figures and a note.

    What an earlier call put there is replaced; the rest of the study's note stays. Call it when
    the study is over, or now and then while it runs.

    Args:
        study: As for `recommend`.
        **settings: Those of `Optimizer`, such as ``risk``.
    """
    try:
        from rahbo.integrations.optuna import dashboard
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"Optuna's dashboard needs {error.name}. Install it: "
            'pip install "rahbo[optuna,dashboard]"'
        ) from error
    dashboard.publish(study, **settings)
