import numpy as np
import pytest

from page_runs import run
from rahbo import Candidates
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
    assert depth.field.mean == pytest.approx([p.mean for p in there], rel=1e-3)
    for end, name in enumerate(("lower", "upper")):
        means = getattr(depth.field, f"mean_{name}")
        assert means == pytest.approx([p.mean_interval[end] for p in there], rel=1e-3)
        noise = getattr(depth.field, f"noise_{name}")
        assert noise == pytest.approx([p.noise_std_interval[end] for p in there], rel=1e-3)


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
    assert [v is None for v in depth.field.mean] == [d >= 7 for d in depth.at]


def test_a_list_of_candidates_is_shown_point_by_point():
    rows = [{"x": i / 7, "kind": "ab"[i % 2]} for i in range(8)]
    optimizer = run(5, 2, Candidates(rows))
    found = maps_through(optimizer, optimizer.recommend().params, [0.5, 0.5])
    assert found.slices == found.maps == ()
    assert len(found.listed.places) == len(found.listed.noise) == 8
    assert found.listed.mean[3] == pytest.approx(optimizer.predict(rows[3]).mean, rel=1e-3)
