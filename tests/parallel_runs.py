"""What tests of parallel runs have in common."""

from objectives import noisy
from rahbo.numerics import evaluation_seed


def recorded(result):
    """Everything of all trials, comparable with ==."""
    return [(t.params, dict(t.values), dict(t.failures), t.source) for t in result.trials]


def assert_each_told_once(result, evaluations, repeats=3, seed=7):
    """Every value of `noisy` is that of its own parameters and seed, and no other was told."""
    values = {(t.id, i): t.values[i] for t in result.trials for i in t.values}
    assert values == {
        (t.id, i): noisy(**t.params, seed=evaluation_seed(seed, t.id, i))
        for t in result.trials
        for i in range(repeats)
    }
    assert len(values) == result.n_evaluations == evaluations
    assert result.optimizer.open == ()


def at(n, action):
    """A callback that does something once, after so many evaluations."""
    done = []

    def callback(optimizer):
        if optimizer.n_evaluations >= n and not done:
            done.append(True)
            action()

    return callback
