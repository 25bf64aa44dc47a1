"""Risk-averse Bayesian optimisation for objectives whose noise depends on the parameters.

The implementation is the package rahbo, see requirements.txt.
"""

from rahbo import ExpectedShortfall
from rahbo import MeanStd
from rahbo import MeanVariance
from rahbo import Quantile
from rahbo.integrations.optuna import RahboSampler
from rahbo.integrations.optuna import recommend
from rahbo.integrations.optuna import repeated


__all__ = [
    "ExpectedShortfall",
    "MeanStd",
    "MeanVariance",
    "Quantile",
    "RahboSampler",
    "recommend",
    "repeated",
]
