"""The space of a scikit-learn search as its users write it."""

import numpy as np
import pytest

from rahbo import Candidates, Categorical, Float
from rahbo.errors import SpaceError
from rahbo.integrations.grids import with_choices


def test_a_list_holds_choices_as_in_scikit_learn() -> None:
    space = {"C": [0.1, 1.0], "degree": np.array([2, 3]), "gamma": (0.1, 1.0), "p": Float(1.0, 2.0)}
    assert with_choices(space) == {
        **space, "C": Categorical([0.1, 1.0]), "degree": Categorical([2, 3])
    }  # fmt: skip


def test_an_error_names_the_parameter() -> None:
    with pytest.raises(SpaceError, match=r"^C: Categorical needs two or more distinct"):
        with_choices({"C": [1.0, 1.0]})


def test_other_spaces_stay_as_they_are() -> None:
    rows = Candidates([{"C": 0.1}, {"C": 1.0}])
    assert with_choices(rows) is rows
