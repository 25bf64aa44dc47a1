"""The paper's theory: information gains, regret bounds and sample complexity.

`information_gain` and similar functions measure how much rounds tell. `regret_bound` bounds the
regret of a finished run. `sample_complexity` returns, before any data, how many rounds are enough.
"""

from rahbo.theory.bounds import (
    Both,
    ConfidenceBand,
    RegretBound,
    SampleComplexity,
    Theorem1,
    beta_bound,
    corollary_rounds,
    proposition1_bound,
    sample_complexity,
    theorem1_bound,
)
from rahbo.theory.gain import (
    GreedyGain,
    greedy_information_gain,
    information_gain,
    information_gain_terms,
    uneven_gain,
)
from rahbo.theory.runs import RunGains, regret_bound, run_gains

__all__ = [
    "Both",
    "ConfidenceBand",
    "GreedyGain",
    "RegretBound",
    "RunGains",
    "SampleComplexity",
    "Theorem1",
    "beta_bound",
    "corollary_rounds",
    "greedy_information_gain",
    "information_gain",
    "information_gain_terms",
    "proposition1_bound",
    "regret_bound",
    "run_gains",
    "sample_complexity",
    "theorem1_bound",
    "uneven_gain",
]
