"""What a run knows follows from its settings and trials alone."""

import numpy as np
import pytest

from extras import imported, needs
from rahbo import Int, Optimizer
from rahbo.errors import DataError, SpaceError
from rahbo.reports import Reports
from rahbo.state import State
from rahbo.trials import Paged


def told(n=12):
    rng = np.random.default_rng(0)
    opt = Optimizer({"x": (0.0, 2.0)}, repeats=2, seed=0, direction="minimize")
    for _ in range(n):
        s = opt.ask()
        opt.tell(s, (s.params["x"] - 1.0) ** 2 + 0.1 * rng.standard_normal(2))
    return opt


def test_settings_and_trials_are_all_there_is_to_know():
    opt = told()
    known = Reports(State(opt.settings, Paged.of(dict(enumerate(opt.trials)))))
    assert known.recommend() == opt.recommend()
    assert known.predict({"x": 0.3}) == opt.predict({"x": 0.3})
    assert known.frontier() == opt.frontier()
    assert known.n_evaluations == opt.n_evaluations == 24


def test_records_are_in_the_sign_of_the_values():
    opt = told()
    assert opt.recommend().mean < 0.2 < opt.predict({"x": 2.0}).mean


@needs("pandas")
def test_a_row_of_a_frame_is_one_setting():
    opt = Optimizer({"x": (0.0, 2.0), "n": Int(1, 3)}, seed=0)
    for i, x in enumerate((0.2, 1.1, 1.9)):
        opt.tell({"x": x, "n": i + 1}, [x, x + 0.1])
    frame = opt.to_frame()
    first = {"x": 0.2, "n": 1}
    numbers = imported("pandas").DataFrame([first])
    for row in (frame.iloc[0], numbers.iloc[0]):
        assert opt.predict(row) == opt.predict(first)
        assert opt.predict([row, first]) == opt.predict([first, first])
    with pytest.raises(DataError, match=r"\['n'\] are missing"):
        opt.predict(numbers["x"].to_frame().iloc[0])


@needs("pandas")
def test_an_error_in_a_frame_of_settings_says_which():
    with pytest.raises(SpaceError, match=r"^params\[1\]: x=None must be a number"):
        told(2).predict(imported("pandas").DataFrame({"x": [0.5, None]}))
