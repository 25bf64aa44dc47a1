"""Choices placed under conditions."""

import numpy as np

import rahbo
from rahbo.analysis import placed_under


def test_trials_belong_to_choices_whatever_their_conditions():
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "t": rahbo.Context(15.0, 25.0)}, seed=0)
    for x, t in ((0.2, 16.0), (0.8, 16.0), (0.2, 24.0)):
        opt.tell({"x": x, "t": t}, [x, x + 0.1])
    known = placed_under(opt.snapshot(), opt.settings.space.at({"t": 16.0}))
    at = {known.space.decode(x)["x"]: known.trials_at(x) for x in known.observations.X}
    assert at == {0.2: (0, 2), 0.8: (1,)}
    assert known.count_here.tolist() == [2, 2]
    assert known.trials_at(np.array([0.5, 0.1])) == ()
    found = opt.recommend(context={"t": 16.0})
    assert found.trials == at[found.params["x"]]
    assert opt.recommend().trials == at[opt.recommend().params["x"]]
