import numpy as np
import pytest

import constrained
from page_runs import run
from rahbo import AtLeast, AtMost, Candidates, Optimizer
from rahbo.pages.report.inputs import report_inputs
from rahbo.pages.report.maps import COARSE, maps_through


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_maps_show_what_the_optimizer_predicts(direction):
    optimizer = run(direction=direction)
    at = optimizer.recommend().params
    found = maps_through(optimizer, at, [0.1, 0.7, 0.2])
    assert found.inputs == (1, 2, 0)
    assert [s.input for s in found.slices] == [1, 2, 0]
    assert {(m.across, m.up) for m in found.maps} == {(0, 1), (0, 2), (1, 2)}
    (depth,) = (s for s in found.slices if s.input == 1)
    there = optimizer.predict([{**at, "depth": int(d)} for d in depth.at])
    assert depth.mean.middle == pytest.approx([p.mean for p in there], rel=1e-3)
    for end, name in enumerate(("lower", "upper")):
        means = [p.mean_interval[end] for p in there]
        assert getattr(depth.mean, name) == pytest.approx(means, rel=1e-3)
        stds = [p.noise_std_interval[end] for p in there]
        assert getattr(depth.noise, name) == pytest.approx(stds, rel=1e-3)


def test_rows_of_a_map_are_of_its_second_input():
    optimizer = run()
    at = optimizer.recommend().params
    (found,) = (
        m for m in maps_through(optimizer, at, [1, 1, 1]).maps if m.up == 2 and not m.across
    )
    noise = np.array(found.noise).reshape(len(found.y), len(found.x))
    assert noise.shape == (3, COARSE)
    lr = report_inputs(optimizer.settings.space, COARSE)[0].grid[5]
    there = optimizer.predict({**at, "lr": lr, "kind": "b"})
    assert noise[1, 5] == pytest.approx(there.noise_std, rel=1e-3)


def test_what_is_not_allowed_has_no_colour():
    optimizer = run(valid=lambda params: params["depth"] < 7)
    found = maps_through(optimizer, optimizer.recommend().params, [0, 1, 0])
    depth = found.slices[0]
    assert [v is None for v in depth.mean.middle] == [d >= 7 for d in depth.at]


def test_a_list_of_candidates_is_shown_point_by_point():
    rows = [{"x": i / 7, "kind": "ab"[i % 2]} for i in range(8)]
    optimizer = run(5, 2, Candidates(rows))
    found = maps_through(optimizer, optimizer.recommend().params, [0.5, 0.5])
    assert found.slices == found.maps == ()
    assert len(found.listed.places) == len(found.listed.noise) == 8
    assert found.listed.mean[3] == pytest.approx(optimizer.predict(rows[3]).mean, rel=1e-3)


def test_outcomes_with_limits_are_mapped_too():
    optimizer = constrained.told(20, valid=lambda p: p["x"] <= 0.9)
    at = optimizer.recommend().params
    found = maps_through(optimizer, at, [0.5, 0.5])
    along = next(s for s in found.slices if s.input == 1)
    (cost,) = along.outcomes
    there = [optimizer.predict({**at, "y": y}).constraints[0] for y in along.at]
    assert cost.middle == pytest.approx([check.quantile for check in there], rel=1e-3, abs=1e-3)
    assert cost.upper == pytest.approx([check.interval[1] for check in there], rel=1e-3, abs=1e-3)
    (over,) = found.maps
    (quantiles,) = over.outcomes
    assert [q is None for q in quantiles] == [m is None for m in over.mean]
    allowed = [i for i, q in enumerate(quantiles) if q is not None]
    i = allowed[-1]
    point = {"x": over.x[i % len(over.x)], "y": over.y[i // len(over.x)]}
    expected = optimizer.predict(point).constraints[0].quantile
    assert quantiles[i] == pytest.approx(expected, rel=1e-3)
    assert 0 < len(allowed) < len(quantiles)


def test_outcomes_of_a_list_are_mapped_too():
    limits = {"cost": AtLeast(0.5), "other": AtMost(1.0)}
    rows = [{"x": i / 4} for i in range(5)]
    optimizer = Optimizer(Candidates(rows), seed=0, constraints=limits)
    for i, row in enumerate(rows):
        optimizer.tell(row, [i / 4, i / 4 + 0.1], outcomes={"cost": [1.0, 1.0 + i]})
    listed = maps_through(optimizer, rows[0], [1.0]).listed
    first, second = listed.outcomes
    there = [optimizer.predict(row).constraints[0].quantile for row in rows]
    assert first == pytest.approx(there, rel=1e-3)
    assert second == [None] * 5
