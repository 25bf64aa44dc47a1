"""Which points are measured again, and how much of a budget that takes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import rahbo
from rahbo.errors import NotReadyError, SettingsError
from rahbo.policy import CONFIRMED, Contest, contest_of, share_of
from rahbo.policy.confirmation import SMALLEST_BUDGET
from rahbo.trials import MOST_REPEATS


def contest(reported, tried, under_way=None):
    zeros = np.zeros(len(reported), dtype=np.intp)
    pending = zeros if under_way is None else np.array(under_way)
    return Contest(np.array(reported, dtype=float), np.array(tried), pending)


def test_the_reasons_for_five_values_are_true():
    low, high = np.sqrt(4 / chi2.ppf([0.95, 0.05], 4))
    assert (round(low, 2), round(high, 1)) == (0.65, 2.4)
    low, high = np.sqrt(1 / chi2.ppf([0.95, 0.05], 1))
    assert (round(low, 1), round(high)) == (0.5, 16)
    assert round(1 - 0.9**CONFIRMED, 2) == 0.41


@pytest.mark.parametrize(
    ("evaluations", "kept"), [(1, 0), (29, 0), (30, 5), (54, 5), (60, 6), (100, 10), (1000, 100)]
)
def test_about_a_tenth_of_a_budget_is_kept(evaluations, kept):
    assert share_of(evaluations) == kept


@given(st.integers(SMALLEST_BUDGET, 10**6))
def test_a_share_is_enough_to_confirm_and_leaves_most_to_the_search(evaluations):
    assert CONFIRMED <= share_of(evaluations) <= evaluations / 6


def test_the_point_to_recommend_is_measured_until_it_is_confirmed():
    assert contest([1, 3, 2], [9, 1, 1]).unconfirmed == 4
    assert contest([1, 3, 2], [9, 1, 1]).again(1) == {1: 1}
    assert contest([1, 3, 2], [9, 1, 1]).again(4) == {1: 4}
    assert contest([1, 3, 2], [9, 7, 1]).unconfirmed == 0


def test_then_it_is_measured_once_more_as_long_as_it_leads():
    assert contest([1, 3, 2], [9, 7, 1]).again(1) == {1: 1}


def test_what_is_made_at_the_same_time_goes_down_the_line():
    assert contest([1, 3, 2], [2, 1, 1]).again(11) == {1: 4, 2: 4, 0: 3}
    assert contest([1, 3, 2], [2, 6, 1]).again(3) == {1: 1, 2: 2}
    # Where all have enough, the leader gets the rest.
    assert contest([1, 3, 2], [5, 5, 5]).again(5) == {1: 3, 2: 1, 0: 1}


def test_what_is_under_way_counts():
    assert contest([1, 3, 2], [1, 1, 1], [0, 4, 0]).again(1) == {2: 1}
    assert contest([1, 3, 2], [1, 1, 1], [0, 3, 0]).again(2) == {1: 1, 2: 1}
    assert contest([1, 3, 2], [1, 1, 1], [0, 4, 0]).unconfirmed == 4


def test_one_point_is_enough():
    assert contest([0.5], [20]).again(3) == {0: 3}


def test_of_equal_points_the_first_leads():
    assert contest([2, 2], [1, 4]).again(1) == {0: 1}


def test_a_large_number_is_handed_out_at_once_and_a_larger_one_refused():
    found = contest([1, 3, 2], [2, 6, 1])
    assert found.again(MOST_REPEATS) == {1: MOST_REPEATS - 7, 2: 4, 0: 3}
    with pytest.raises(SettingsError, match="whole number up to 1000000, got 1000000000"):
        found.again(10**9)


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.integers(1, 9), st.integers(0, 6)), min_size=1),
    st.integers(1, 40),
)
def test_any_number_is_handed_out_in_full(points, n):
    reported, tried, under_way = zip(*points, strict=True)
    chosen = contest(reported, tried, under_way).again(n)
    assert sum(chosen.values()) == n
    assert all(0 <= i < len(points) for i in chosen)


# -- the contest of a run ------------------------------------------------------------------------

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def told(n, **settings):
    rng = np.random.default_rng(0)
    opt = rahbo.Optimizer(SPACE, seed=0, **settings)
    for _ in range(n):
        s = opt.ask()
        opt.tell(s, [s.params["x"] + 0.1 * rng.standard_normal() for _ in s.indices])
    return opt


@pytest.mark.slow
def test_a_contest_is_between_the_points_that_may_be_recommended():
    opt = told(8, valid=lambda p: p["x"] < 0.8)
    opt.tell({"x": 0.9, "y": 0.5}, 100.0)
    s = opt.ask()
    X, contest = contest_of(opt.state)
    assert (X[:, 0] < 0.8).all()
    assert len(X) == opt.observations.n - 1 == len(contest.reported)
    assert contest.tried.sum() == opt.n_evaluations - 1
    at = [i for i, x in enumerate(X) if opt.trials[s.id].is_at(x)]
    assert contest.under_way.sum() == (contest.under_way[at].sum() if at else 0)
    best = X[np.argmax(contest.reported)]
    assert opt.recommend().params == opt.space.decode(best)


def test_what_cannot_be_confirmed_says_why():
    opt = told(0, valid=lambda p: p["x"] < 0.8)
    opt.tell({"x": 0.9, "y": 0.5}, 100.0)
    with pytest.raises(NotReadyError, match="valid="):
        contest_of(opt.state)
    opt = told(3, repeats=rahbo.Folds(2))
    with pytest.raises(SettingsError, match="revisit=False"):
        contest_of(opt.state)
