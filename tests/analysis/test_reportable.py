"""What was told, as a report sees it."""

import numpy as np

import rahbo
from rahbo.analysis import choose, legal, told, worst
from rahbo.policy import GPUCB, pessimistic_values, report_bound

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def run(**settings):
    rng = np.random.default_rng(0)
    data = [
        ({"x": x, "y": y}, np.sin(5.0 * x) + y + (0.05 + 0.3 * y) * rng.standard_normal(3))
        for x, y in rng.random((10, 2)).tolist()
    ]
    return rahbo.Optimizer(SPACE, seed=0, data=data, **settings)


def test_it_is_what_reports_go_by():
    opt = run()
    state, data = opt.state, told(opt.state).observations
    assert data is opt.model.observations
    assert legal(state).all()
    lower, noise_var, value = pessimistic_values(report_bound(state), data.X)
    np.testing.assert_array_equal(worst(state), [lower, noise_var, value])
    np.testing.assert_allclose(value, lower - np.sqrt(noise_var), rtol=1e-12)
    chosen = data.X[choose("pessimistic", state)]
    assert opt.recommend().params == told(state).space.decode(chosen)


def test_another_risk_measure_is_applied_at_the_strategys_bounds():
    state = run(method=rahbo.Method(strategy=GPUCB())).state
    plain, averse = worst(state), worst(state.by(rahbo.MeanVariance(3.0)))
    np.testing.assert_array_equal(plain[0], averse[0])
    np.testing.assert_array_equal(plain[2], plain[0])
    np.testing.assert_allclose(averse[2], averse[0] - 3.0 * averse[1], rtol=1e-12)


def test_points_are_legal_where_valid_holds():
    opt = run(valid=lambda p: p["x"] < 0.7)
    X = told(opt.state).observations.X
    assert legal(opt.state).tolist() == (X[:, 0] < 0.7).tolist()
    assert not legal(opt.state).all()


def test_trials_belong_to_choices_whatever_their_conditions():
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "t": rahbo.Context(15.0, 25.0)}, seed=0)
    for x, t in ((0.2, 16.0), (0.8, 16.0), (0.2, 24.0)):
        opt.tell({"x": x, "t": t}, [x, x + 0.1])
    here = told(opt.state.at(opt.settings.space.at({"t": 16.0})))
    at = {here.space.decode(x)["x"]: here.trials_at(x) for x in here.observations.X}
    assert at == {0.2: (0, 2), 0.8: (1,)}
    assert here.count_here.tolist() == [2, 2]
    assert here.trials_at(np.array([0.5, 0.1])) == ()
    found = opt.recommend(context={"t": 16.0})
    assert found.trials == at[found.params["x"]]
    assert opt.recommend().trials == at[opt.recommend().params["x"]]
