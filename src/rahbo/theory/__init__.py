"""What the theory promises: information gains, regret bounds, sample complexity.

`information_gain` and its kin measure what rounds tell; `regret_bound` bounds the regret of a
finished run; `sample_complexity` says how many rounds are enough before the first one.
"""

from rahbo.theory.bounds import (
    Band,
    Both,
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
    "Band",
    "Both",
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
