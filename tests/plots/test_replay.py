"""Runs replayed."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import rahbo
from rahbo.plots import draw_progress, draw_regret, progress, regret_of
from rahbo.policy import GPUCB


def stepwise(direction, strategy=None):
    """A run, and what it recommended after the design and after each round."""
    settings = {} if strategy is None else {"method": rahbo.Method(strategy=strategy)}
    opt = rahbo.Optimizer(
        {"x": (0.0, 1.0)}, direction=direction, n_initial=4, repeats=2, seed=1, **settings
    )
    rng, then = np.random.default_rng(2), {}
    for i in range(8):
        s = opt.ask()
        opt.tell(s, np.sin(5.0 * s.params["x"]) + 0.1 * rng.standard_normal(2))
        if i >= 3:
            then[opt.n_evaluations] = opt.predict(opt.recommend().params)
    return opt, then


@pytest.mark.parametrize(
    ("direction", "strategy"), [("maximize", None), ("minimize", None), ("maximize", GPUCB())]
)
def test_each_mark_is_what_the_run_said_then(direction, strategy):
    opt, then = stepwise(direction, strategy)
    record = progress(opt)
    assert record.evaluations.tolist() == [2, 4, 6, 8, 10, 12, 14, 16]
    assert record.design_end == 8
    for evaluations, there, worst, ends in zip(
        record.evaluations, record.reported, record.pessimistic, record.ends, strict=True
    ):
        if evaluations < 8:
            continue
        expected = then[evaluations]
        assert there.params == expected.params
        np.testing.assert_allclose(there.risk_interval, expected.risk_interval, rtol=1e-9)
        np.testing.assert_allclose(ends, expected.risk_interval)
        np.testing.assert_allclose(worst, expected.pessimistic)


def test_marks_are_few_and_end_with_the_run(mixed):
    record = progress(mixed, marks=4)
    assert len(record.evaluations) == len(record.reported) == 4
    assert record.evaluations[-1] == mixed.n_evaluations
    assert record.reported[-1].params == mixed.recommend().params
    assert progress(mixed, marks=1).evaluations.tolist() == [mixed.n_evaluations]


def test_past_results_alone_are_replayed_too():
    data = [({"x": x}, [x, x + 0.1]) for x in (0.1, 0.5, 0.8)]
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, data=data, valid=lambda p: p["x"] > 0.2, seed=0)
    record = progress(opt)
    assert record.evaluations.tolist() == [4, 6]
    assert record.design_end is None


@pytest.mark.parametrize("run", ["flat", "mixed"])
def test_the_pessimistic_value_is_drawn(run, request):
    record, ax = progress(request.getfixturevalue(run)), Figure().subplots()
    assert draw_progress(record, ax) is ax
    lines = {line.get_label(): line for line in ax.lines}
    np.testing.assert_array_equal(lines["pessimistic value"].get_xdata(), record.evaluations)
    np.testing.assert_array_equal(lines["pessimistic value"].get_ydata(), record.pessimistic)
    assert set(lines["end of initial design"].get_xdata()) == {record.design_end}
    later = record.evaluations >= record.design_end
    low, high = ax.get_ylim()
    assert low < record.pessimistic[later].min() <= record.pessimistic[later].max() < high
    assert ("minimised" in ax.get_ylabel()) == record.minimised


def test_a_poor_start_does_not_squeeze_a_run_without_a_design():
    data = [
        ({"x": x}, [y, y + 0.01]) for x, y in [(0.9, -500.0), *((i / 20, i / 20) for i in range(8))]
    ]
    record = progress(rahbo.Optimizer({"x": (0.0, 1.0)}, data=data, seed=0))
    ax = draw_progress(record, Figure().subplots())
    later = record.pessimistic[len(record.evaluations) // 4 :]
    low, high = ax.get_ylim()
    assert low < later.min() <= later.max() < high
    assert low > record.pessimistic[0]


def test_regret_is_that_of_the_points_reported(flat):
    record = progress(flat)
    curve = regret_of(record, lambda params: params["x"] + 1.0, "ours")
    np.testing.assert_allclose(curve.band.mean, [p.params["x"] + 1.0 for p in record.reported])
    ax = Figure().subplots()
    assert draw_regret([curve], ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), record.evaluations)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), curve.band.mean)
    assert (ax.get_yscale(), ax.get_xlabel()) == ("log", "evaluations")


@pytest.mark.slow
def test_before_any_point_kept_its_limits_the_marks_are_hollow(limited, impossible):
    record = progress(limited)
    assert record.kept[-1]
    ax = draw_progress(record, Figure().subplots())
    drawn = next(one for one in ax.lines if one.get_label() == "pessimistic value").get_ydata()
    np.testing.assert_array_equal(np.isnan(drawn), ~record.kept)
    record = progress(impossible)
    assert not record.kept.any()
    ax = draw_progress(record, Figure().subplots())
    hollow = next(one for one in ax.lines if one.get_label() == "not sure to keep limits")
    np.testing.assert_array_equal(hollow.get_ydata(), record.pessimistic)
