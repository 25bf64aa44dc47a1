"""What the conformance tests say of a broken promise."""

import numpy as np
import pytest

from rahbo.testing.checks import Promises, copied, proposed, run, slopes


def test_a_broken_promise_names_the_object_and_the_numbers():
    says = Promises("it")
    with pytest.raises(AssertionError, match=r"'it': must rise\."):
        says.require(False, "must rise.")
    with pytest.raises(AssertionError, match=r"'it': the mean\. Got 2 instead of 3\."):
        says.equal([1.0, 2.0], [1.0, 3.0], "the mean.", rtol=1e-6)
    with pytest.raises(AssertionError, match=r"shape is \(2,\) instead of \(1,\)"):
        says.equal([1.0, 2.0], [1.0], "the mean.", rtol=1e-6)
    says.equal([1.0, np.inf], [1.0 + 1e-9, np.inf], "the mean.", rtol=1e-6)


def test_what_cannot_be_pickled_is_named():
    with pytest.raises(AssertionError, match="picklable"):
        copied(lambda: None)


def test_slopes_are_central_differences():
    X = np.array([[0.2, 0.5], [0.7, 0.1]])
    found = slopes(lambda at: at[:, 0] ** 2 + 3.0 * at[:, 1], X)
    np.testing.assert_allclose(found, [[0.4, 3.0], [1.4, 3.0]], rtol=1e-6)


def test_a_run_has_failures_and_outcomes_if_wanted():
    optimizer = run({"x": (0.0, 1.0)}, 5, failing=True, repeats=1)
    assert [bool(trial.failures) for trial in optimizer.trials] == [False] * 3 + [True, False]
    assert len(proposed(optimizer)) == 5
