"""Optimise what is expensive to try and answers differently each time.

rahbo is told every repeat of a noisy measurement. From them it learns two things, each with a
Gaussian process: the mean of the objective, and how large the noise is at each point. It tries
next what could be best with luck on both counts, and recommends what is good even without: a point
whose mean is high and whose noise is low, not the luckiest trial. The method is Risk-averse
Heteroscedastic Bayesian Optimization (Makarova, Usmanova, Bogunovic and Krause, NeurIPS 2021).

`maximize` and `minimize` run a function. `Optimizer` is the same by hand, for experiments that a
function cannot run: ask for a point, tell what came of it, ask for a recommendation.

`Float`, `Int` and `Categorical` describe parameters, `Candidates` a list of the only points that
can be tried. `MeanVariance`, `MeanStd`, `Quantile` and `ExpectedShortfall` say what a noisy outcome
is worth. `PBest` and `Gap` end a run once enough is known. `paper_preset` gives the settings of the
paper's experiments.

>>> import random, rahbo
>>> def objective(x):
...     return -((x - 1.0) ** 2) + 0.1 * x * random.gauss(0, 1)
>>> result = rahbo.maximize(objective, {"x": (0.0, 2.0)}, evaluations=50, seed=0)
>>> sorted(result.recommendation.params)
['x']
"""

__version__ = "0.1.0"

from rahbo.optimizer import Optimizer
from rahbo.policy import Adaptive, Folds
from rahbo.risk import ExpectedShortfall, MeanStd, MeanVariance, Quantile
from rahbo.running import Gap, PBest, maximize, minimize
from rahbo.settings import paper_preset
from rahbo.space import Candidates, Categorical, Float, Int

__all__ = [
    "Adaptive",
    "Candidates",
    "Categorical",
    "ExpectedShortfall",
    "Float",
    "Folds",
    "Gap",
    "Int",
    "MeanStd",
    "MeanVariance",
    "Optimizer",
    "PBest",
    "Quantile",
    "__version__",
    "maximize",
    "minimize",
    "paper_preset",
]
