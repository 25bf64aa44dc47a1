"""Optimise what is expensive to evaluate and gives a different result each time.

You tell rahbo every repeat of a noisy measurement. It learns two things from them, each with a
Gaussian process: the mean of the objective, and the size of the noise at each point. It evaluates
next what could be best under optimistic assumptions about both. It recommends what is good under
pessimistic ones: a point with a high mean and low noise, not the luckiest trial. The method is
Risk-averse Heteroscedastic Bayesian Optimization (Makarova, Usmanova, Bogunovic and Krause,
NeurIPS 2021).

`maximize` and `minimize` run a function. `Optimizer` is for experiments that a function cannot
run: ask for a point, tell the results, get a recommendation.

`Float`, `Int` and `Categorical` describe parameters. `Candidates` lists points when no others can
be tried. `Context` and `Time` are conditions that are given, not chosen. `MeanVariance`, `MeanStd`,
`Quantile` and `ExpectedShortfall` say what a noisy outcome is worth. `AtMost` and `AtLeast` set
limits for other outcomes. `Adaptive` and `Folds` decide how often a point is measured. `Gap` ends
a run early. A `Method` is what only its author sets, and `paper` returns that of the paper.

>>> import random, rahbo
>>> def objective(x):
...     return -((x - 1.0) ** 2) + 0.1 * x * random.gauss(0, 1)
>>> result = rahbo.maximize(objective, {"x": (0.0, 2.0)}, evaluations=50, seed=0)
>>> sorted(result.recommendation.params)
['x']
"""

__version__ = "0.1.0"

from typing import TYPE_CHECKING

from rahbo.model import AtLeast, AtMost
from rahbo.optimizer import Optimizer
from rahbo.policy import Adaptive, Folds
from rahbo.risk import ExpectedShortfall, MeanStd, MeanVariance, Quantile
from rahbo.running import Gap, maximize, minimize
from rahbo.settings import Method, paper
from rahbo.space import Candidates, Categorical, Context, Float, Int, Time

__all__ = [
    "Adaptive",
    "AtLeast",
    "AtMost",
    "Candidates",
    "Categorical",
    "Context",
    "ExpectedShortfall",
    "Float",
    "Folds",
    "Gap",
    "Int",
    "MeanStd",
    "MeanVariance",
    "Method",
    "Optimizer",
    "Quantile",
    "Time",
    "__version__",
    "maximize",
    "minimize",
    "paper",
]


if not TYPE_CHECKING:
    # Type checkers take a module that has this for one with all names.
    from rahbo.numerics import refuse_former as __getattr__  # noqa: F401
