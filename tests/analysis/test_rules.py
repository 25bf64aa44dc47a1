"""Each rule by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

import rahbo
from rahbo.analysis import best_scored, choose, rules
from rahbo.analysis.rules import scores
from rahbo.errors import NotReadyError
from rahbo.trials import Observations

# Sample means 2, 3, 1 and 5; sample variances 1, 9, none and 16.
DATA = Observations.from_rounds(
    [np.array([x]) for x in (0.1, 0.2, 0.3, 0.4)],
    [[1.0, 2.0, 3.0], [0.0, 3.0, 6.0], [1.0], [1.0, 5.0, 9.0]],
)
NONE = np.full(4, np.nan)


def chosen(rule, bound=(0.0, 0.0, 0.0, 0.0), own=NONE, risk=None, data=DATA, legal=True):
    return choose(rule, known(bound, own, risk, data, legal))


def known(bound, own, risk, data, legal):
    """What rules ask of a state."""
    found = {
        "told": SimpleNamespace(observations=data),
        "worst": (None, None, np.array(bound)[: data.n]),
        "own_bound": np.array(own)[: data.n],
        "legal": np.broadcast_to(legal, data.n),
    }
    return SimpleNamespace(
        risk=risk or rahbo.MeanVariance(1.0), once=lambda function: found[function.__name__]
    )


# -- rules ---------------------------------------------------------------------------------------


def test_pessimistic_takes_the_largest_bound_now():
    assert chosen("pessimistic", bound=(-3.0, -1.0, -2.0, -9.0), own=(9.0, 0.0, 0.0, 0.0)) == 1


def test_own_round_takes_the_largest_bound_then_and_skips_points_never_asked():
    own = (np.nan, -5.0, -4.0, np.nan)
    assert chosen("own_round", bound=(9.0, 8.0, 1.0, 7.0), own=own) == 2


def test_own_round_needs_a_point_of_the_strategy():
    with pytest.raises(NotReadyError, match=r"own_round.*chosen by the strategy"):
        chosen("own_round")


def test_best_observed_takes_the_largest_sample_mean():
    assert chosen("best_observed") == 3


@pytest.mark.parametrize(
    ("alpha", "expected"), [(0.0, 3), (0.1, 3), (0.18, 3), (0.22, 0), (5.0, 0)]
)
def test_empirical_takes_the_largest_risk_of_the_samples(alpha, expected):
    # 2 - alpha, 3 - 9 alpha, not counted, 5 - 16 alpha: the first passes the last at 0.2, and
    # the second is never the best.
    assert chosen("empirical", risk=rahbo.MeanVariance(alpha)) == expected


def test_empirical_counts_a_single_value_only_among_single_values():
    single = Observations.from_rounds([np.array([x]) for x in (0.1, 0.2, 0.3)], [[1.0], [4.0], [2]])
    assert chosen("empirical", data=single) == 1
    lucky = Observations.from_rounds([np.array([0.1]), np.array([0.2])], [[99.0], [1.0, 2.0]])
    assert chosen("empirical", data=lucky) == 1


def test_empirical_uses_the_risk_measure_it_is_given():
    # 2 - 1, 3 - 3 and 5 - 4 at kappa = 1; then the noisy one falls behind.
    for kappa, expected in [(0.9, 3), (1.1, 0)]:
        assert chosen("empirical", risk=rahbo.MeanStd(kappa)) == expected


def test_points_that_are_not_legal_are_passed_over():
    bound = (-3.0, -1.0, -2.0, -9.0)
    assert chosen("pessimistic", bound=bound, legal=(True, False, True, True)) == 2
    assert chosen("best_observed", legal=(True, True, True, False)) == 1
    with pytest.raises(NotReadyError, match="satisfies valid="):
        chosen("pessimistic", bound=bound, legal=False)


def test_scores_are_what_each_rule_goes_by():
    own, legal = (np.nan, 5.0, 6.0, np.nan), (True, True, True, False)
    found = {
        rule: scores(rule, known(np.arange(4.0), own, None, DATA, legal))
        for rule in ("pessimistic", "own_round", "best_observed", "empirical")
    }
    np.testing.assert_array_equal(found["pessimistic"], [0.0, 1.0, 2.0, np.nan])
    np.testing.assert_array_equal(found["own_round"], [np.nan, 5.0, 6.0, np.nan])
    np.testing.assert_array_equal(found["best_observed"], [2.0, 3.0, 1.0, np.nan])
    np.testing.assert_array_equal(found["empirical"], [1.0, -6.0, np.nan, np.nan])


def test_the_best_scored_come_in_order(monkeypatch):
    score = np.array([1.0, np.nan, 3.0, 2.0, 3.0])
    assert list(best_scored(score)) == [2, 4, 3, 0]
    monkeypatch.setattr(rules, "SCORED", 2)
    assert list(best_scored(score)) == [2, 4]
