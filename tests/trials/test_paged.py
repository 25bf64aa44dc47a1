"""Mappings in pages. What they hold is tested with the evaluations of a trial."""

import copy
import pickle

import pytest

import rahbo
from rahbo.trials import Paged
from rahbo.trials.paged import PAGE


def test_a_change_copies_one_page():
    known = Paged.of({i: str(i) for i in range(5 * PAGE)})
    later = Paged(*known.grown({PAGE: "new", 5 * PAGE: "more"}))
    assert (len(later), later[PAGE], known[PAGE]) == (5 * PAGE + 1, "new", str(PAGE))
    assert [n for n, page in later.pages.items() if page is not known.pages.get(n)] == [1, 5]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_hold_the_same(copied):
    known = Paged.of({3: "a", 1: "b"})
    assert list(copied(known).items()) == [(1, "b"), (3, "a")]


def test_the_trials_of_a_run_are_one():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, data=[({"x": 0.5}, 1.0)] * (PAGE + 3))
    assert [trial.id for trial in opt.state.trials.values()] == list(range(PAGE + 3))
