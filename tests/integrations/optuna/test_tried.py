"""Trials with different parameters as a list of settings."""

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import create_trial

from rahbo.integrations.optuna.tried import missing_parameters, row_of, tried
from rahbo.space import Space

optuna.logging.set_verbosity(optuna.logging.WARNING)

KINDS = {
    "C": FloatDistribution(0.01, 100.0, log=True),
    "depth": IntDistribution(1, 5),
    "model": CategoricalDistribution(["svm", "rf"]),
}
SVM, RF = {"model": 0.0, "C": 100.0}, {"model": 1.0, "depth": 2.0}


def test_a_parameter_that_a_trial_lacks_stands_in_the_middle() -> None:
    listed = tried([SVM, RF, dict(SVM)], KINDS, "why")
    assert listed.rows == [
        {"C": 100.0, "depth": None, "model": "svm"},
        {"C": None, "depth": 2, "model": "rf"},
    ]
    space = Space.of(listed)
    assert space.columns == ("C", "depth", "model=rf")
    expected = np.array([[1.0, 0.5, 0.0], [0.5, 0.25, 1.0]])
    np.testing.assert_allclose(space.enumerate(), expected, atol=1e-12)
    for x, row in zip(space.enumerate(), listed.rows, strict=True):
        assert space.decode(x) == row
        np.testing.assert_array_equal(space.encode(row), x)
    assert space.scope == "why"


def test_a_column_says_which_parameters_there_are_where_no_choice_does() -> None:
    kinds = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
    space = Space.of(tried([{"x": 0.2}, {"x": 0.2, "y": 0.5}], kinds, ""))
    assert space.columns == ("x", "y", "with=y")
    np.testing.assert_allclose(space.enumerate(), [[0.2, 0.5, 0.0], [0.2, 0.5, 1.0]])


@pytest.mark.parametrize(
    ("choices", "i", "cell"),
    [(["a", "b"], 1.0, "b"), ([(64,), (64, 64)], 1.0, "(64, 64)"), ([None, "a"], 0.0, None),
     ([True, False], 1.0, False), ([float("inf"), 1.0], 0.0, "inf")],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Choices for a categorical")
def test_a_cell_holds_any_choice_and_tells_it_from_none(choices, i, cell) -> None:
    kinds = {"c": CategoricalDistribution(choices)}
    assert row_of({"c": i}, kinds) == {"c": cell}
    missing = row_of({}, kinds)["c"]
    assert missing == ("not set" if None in choices else None)
    assert missing != cell


def test_missing_parameters_are_named_with_the_first_trial() -> None:
    def trial(number: int, *names: str) -> optuna.trial.FrozenTrial:
        kinds = {name: FloatDistribution(0.0, 1.0) for name in names}
        found = create_trial(params=dict.fromkeys(names, 0.5), distributions=kinds, value=0.0)
        found.number = number
        return found

    assert missing_parameters([trial(0, "x", "y"), trial(1, "x", "y")]) == ""
    said = missing_parameters([trial(3, "x"), trial(4, "y"), trial(7, "x"), trial(9, "x")])
    assert said.endswith("'x' is missing in trial 4, 'y' in trial 3 and 2 others.")
    many = missing_parameters([trial(0, *"abcdefgh"), trial(1, "a")])
    assert many.endswith("'f' in trial 1, and 2 more.")
