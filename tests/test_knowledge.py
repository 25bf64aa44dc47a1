"""What a run knows follows from its settings and trials alone."""

import numpy as np

from rahbo import Optimizer
from rahbo.knowledge import Knowledge


def told(n=12):
    rng = np.random.default_rng(0)
    opt = Optimizer({"x": (0.0, 2.0)}, repeats=2, seed=0, direction="minimize")
    for _ in range(n):
        s = opt.ask()
        opt.tell(s, (s.params["x"] - 1.0) ** 2 + 0.1 * rng.standard_normal(2))
    return opt


def test_settings_and_trials_are_all_there_is_to_know():
    opt = told()
    known = Knowledge(opt.settings, dict(enumerate(opt.trials)))
    assert known.recommend() == opt.recommend()
    assert known.predict({"x": 0.3}) == opt.predict({"x": 0.3})
    assert known.frontier() == opt.frontier()
    assert known.n_evaluations == opt.n_evaluations == 24


def test_records_are_in_the_sign_of_the_values():
    opt = told()
    assert opt.recommend().mean < 0.2 < opt.predict({"x": 2.0}).mean
