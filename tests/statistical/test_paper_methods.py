"""The paper's claim on its two synthetic problems, with the method of the paper: alpha = 1, k = 10.

`bench/paper_methods.py` prints the same numbers for any number of seeds.
"""

import numpy as np
import pytest

import presets
import rahbo
from rahbo.policy import GPUCB, Rahbo, RahboUS
from rahbo.problems import branin, sine

pytestmark = pytest.mark.slow

RISK = rahbo.MeanVariance(1.0)


def cumulative_regret(problem, strategy, rounds, seed):
    settings = presets.paper(strategy=strategy)
    opt = rahbo.Optimizer(problem.space, seed=seed, **settings)
    rng = np.random.default_rng(seed)
    for _ in range(10 + rounds):
        suggestion = opt.ask()
        opt.tell(suggestion, [problem.sample(suggestion.params, rng) for _ in range(10)])
    assert [t.source for t in opt.trials[:11]] == ["design"] * 10 + ["strategy"]
    return sum(problem.regret(t.params, RISK) for t in opt.trials[10:])


def mean_regret(problem, strategy, rounds, seeds):
    return np.mean([cumulative_regret(problem, strategy, rounds, seed) for seed in range(seeds)])


def test_rahbo_on_the_sine():
    careful = mean_regret(sine(1.0), Rahbo(), rounds=60, seeds=10)
    assert careful <= 0.35 * mean_regret(sine(1.0), GPUCB(), rounds=60, seeds=10)
    assert careful <= 0.6 * mean_regret(sine(1.0), RahboUS(10), rounds=60, seeds=10)


# Measured 0.599, of which the spread over seeds is large: a kernel learned from ten points and
# never again is wrong in one run of five, and all methods pay the same for exploring the corners.
# The margin is for other machines, where rounding sends single runs elsewhere.
def test_rahbo_on_branin():
    careful = mean_regret(branin(2.0), Rahbo(), rounds=150, seeds=5)
    assert careful <= 0.75 * mean_regret(branin(2.0), GPUCB(), rounds=150, seeds=5)
