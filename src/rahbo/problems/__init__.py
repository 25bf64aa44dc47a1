"""Test problems whose mean, noise variance and optimum are known.

They are maximised, use user units, and find their optimum under any risk measure, so the regret of
a point is exact.
"""

from rahbo.problems.base import Optimum, Problem, Tabulated
from rahbo.problems.fel import euxfel, fel
from rahbo.problems.forest import forest
from rahbo.problems.larger import hartmann6, ridge10
from rahbo.problems.newsvendor import newsvendor
from rahbo.problems.promise import Promise
from rahbo.problems.synthetic import branin, sine
from rahbo.problems.timeline import Timeline, timeline

__all__ = [
    "Optimum",
    "Problem",
    "Promise",
    "Tabulated",
    "Timeline",
    "branin",
    "euxfel",
    "fel",
    "forest",
    "hartmann6",
    "newsvendor",
    "ridge10",
    "sine",
    "timeline",
]
