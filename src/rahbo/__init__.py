"""Optimise what is expensive to try and answers differently each time."""

from rahbo.optimizer import Optimizer
from rahbo.risk import ExpectedShortfall, MeanStd, MeanVariance, Quantile
from rahbo.settings import paper_preset
from rahbo.space import Candidates, Categorical, Float, Int

__version__ = "0.1.0"

__all__ = [
    "Candidates",
    "Categorical",
    "ExpectedShortfall",
    "Float",
    "Int",
    "MeanStd",
    "MeanVariance",
    "Optimizer",
    "Quantile",
    "paper_preset",
]
