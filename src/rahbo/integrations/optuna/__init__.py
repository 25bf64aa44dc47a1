"""Optuna: a risk-averse sampler, repeats of a trial, and the risk-averse answer of any study.

`RahboSampler` proposes parameters, `repeated` evaluates a trial several times, `recommend` answers
for any study, whatever sampled it, and `optimizer_of` gives the `Optimizer` behind that answer.
"""

from rahbo.integrations.optuna.history import optimizer_of, recommend
from rahbo.integrations.optuna.repeats import repeated
from rahbo.integrations.optuna.sampler import RahboSampler

__all__ = ["RahboSampler", "optimizer_of", "recommend", "repeated"]
