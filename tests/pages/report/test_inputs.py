from page_runs import SPACE
from rahbo import Candidates, Context, Int
from rahbo.pages.report.inputs import places, report_inputs, value_at
from rahbo.space import Space

ROWS = [{"t": 1.0, "kind": "a"}, {"t": 2.0, "kind": "b"}, {"t": 2.0, "kind": None}]


def test_each_place_of_a_grid_is_a_legal_value():
    space = Space.of(SPACE)
    for n in (2, 5, 41):
        for name, found in zip(space.names, report_inputs(space, n), strict=True):
            assert 2 <= len(found.grid) <= max(n, 3)
            for place in found.grid:
                params = {"lr": 0.01, "depth": 3, "kind": "a", name: value_at(space, name, place)}
                space.encode(params)


def test_choices_stand_at_their_index_and_numbers_at_themselves():
    space = Space.of(SPACE)
    assert places(space, [{"lr": 0.01, "depth": 3, "kind": "c"}]) == [[0.01, 3, 2]]
    lr, depth, kind = report_inputs(space, 3)
    assert (lr.log, depth.log) == (True, False)
    assert kind.choices == ("a", "b", "c")
    assert depth.grid == (1, 7, 12)


def test_candidates_have_axes_and_no_grid():
    space = Space.of(Candidates(ROWS))
    t, kind = report_inputs(space, 5)
    assert (t.choices, t.grid, kind.grid) == ((), (), ())
    assert kind.choices == ("a", "b", "None")
    assert places(space, ROWS) == [[1.0, 0], [2.0, 1], [2.0, 2]]


def test_long_texts_are_cut():
    space = Space.of({"x" * 1000: ["y" * 1000, "z"]})
    (found,) = report_inputs(space, 3)
    assert len(found.name) == 200
    assert len(found.choices[0]) == 200


def test_whole_numbers_and_conditions_are_known():
    space = Space.of({"n": Int(1, 5), "x": (0.0, 1.0), "room": Context(15.0, 25.0)})
    assert [(one.whole, one.given) for one in report_inputs(space, 5)] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    rows = Candidates([{"n": 1, "x": 0.5, "kind": "a"}, {"n": 2, "x": 1, "kind": "b"}])
    assert [one.whole for one in report_inputs(Space.of(rows), 5)] == [True, False, False]
