"""Outcomes with limits along an input, and the effects of blocks."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import rahbo
from rahbo.analysis import BlockEffects, Interval
from rahbo.plots import draw_blocks, draw_outcome, outcome_slice, outcomes


def line(ax, label):
    return next(found for found in ax.lines if found.get_label() == label)


def test_the_curve_is_what_predictions_say_of_the_outcome(limited):
    best = limited.recommend()
    record = outcome_slice(limited, "x", "cost", n=5)
    for i, x in enumerate(record.x):
        (check,) = limited.predict({**best.params, "x": float(x)}).constraints
        assert record.quantile[i] == pytest.approx(check.quantile)
        assert (record.lower[i], record.upper[i]) == pytest.approx(tuple(check.interval))
    assert record.constraint == limited.settings.constraints["cost"]
    assert record.reported == best.params["x"]
    assert record.reported_quantile == best.constraints[0].quantile
    told = [(t.params["x"], t.evaluations[0].outcomes["cost"]) for t in limited.trials]
    assert list(zip(record.repeat_x, record.repeat_y, strict=True)) == told
    assert ((record.repeat_nearness >= 0.0) & (record.repeat_nearness <= 1.0)).all()


def test_the_outcome_is_drawn_with_its_limit(limited):
    record, ax = outcome_slice(limited, "x", "cost"), Figure().subplots()
    assert draw_outcome(record, ax) is ax
    np.testing.assert_array_equal(
        line(ax, "95 % quantile of the outcome").get_ydata(), record.quantile
    )
    assert line(ax, "limit").get_ydata() == [0.8, 0.8]
    assert line(ax, "reported point").get_ydata() == [record.reported_quantile]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "cost")


def test_choices_have_bars_and_forbidden_points_a_gap():
    opt = rahbo.Optimizer(
        {"x": (0.0, 1.0), "kind": ["a", "b"]}, seed=0, constraints={"cost": rahbo.AtLeast(0.5)},
        valid=lambda p: p["x"] <= 0.8,
    )  # fmt: skip
    for i in range(8):
        opt.tell({"x": i / 10, "kind": "ab"[i % 2]}, i / 10, outcomes={"cost": 1.0 + i % 2})
    ax = draw_outcome(outcome_slice(opt, "kind", "cost"), Figure().subplots())
    assert len(ax.containers[0].lines[0].get_xdata()) == 2
    record = outcome_slice(opt, "x", "cost", n=11)
    np.testing.assert_array_equal(np.isnan(record.quantile), record.x > 0.8)
    draw_outcome(record, Figure().subplots())


def test_block_effects_are_drawn_with_their_intervals(blocked):
    found, ax = blocked.blocks, Figure().subplots()
    assert draw_blocks(found, ax) is ax
    (bars,) = ax.containers
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["monday", "tuesday"]
    assert bars.lines[0].get_xdata().tolist() == [found.effects[name] for name in names]
    (across,) = (np.array(collection.get_segments()) for collection in bars.lines[2])
    np.testing.assert_allclose(across[:, :, 0], [found.intervals[name] for name in names])
    assert f"{found.std:.3g}" in ax.get_title("right")


def test_of_many_blocks_the_extreme_ones_are_drawn():
    effects = {str(i): float(i) for i in range(100)}
    found = BlockEffects(1.0, Interval(0.5, 2.0), effects, effects, 0.9)
    ax = draw_blocks(found, Figure().subplots())
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) == outcomes.MOST_BLOCKS
    assert (names[0], names[-1]) == ("99", "0")
