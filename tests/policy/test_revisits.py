"""How often points may be measured."""

import numpy as np
import pytest

import rahbo
from rahbo.policy import Fixed, Repeating, excluded, has_all, repeating
from rahbo.trials import Repetition

ROWS = [{"x": float(i)} for i in range(3)]


def settings(space=None, **given):
    return rahbo.Optimizer(space or {"x": (0.0, 1.0)}, seed=0, **given).settings


@pytest.mark.parametrize(
    ("given", "revisit", "most", "confirmed"),
    [
        ({}, True, 10, 5),
        ({"repeats": 3}, True, 3, 5),
        ({"repeats": rahbo.Folds(4)}, False, 4, 0),
        ({"blocks": 4}, False, 4, 4),
        ({"blocks": 30}, False, 30, 10),
        ({"noise_std": 0}, False, 1, 0),
        ({"space": rahbo.Candidates(ROWS, revisit=False)}, False, 10, 0),
    ],
)
def test_what_was_set_decides(given, revisit, most, confirmed):
    how = Repeating.of(settings(**given))
    assert (how.revisit, how.most, how.confirmed) == (revisit, most, confirmed)


def test_repeats_that_are_not_noise_are_spared_unless_the_user_asked_for_them():
    shown, doubted = Repetition(1), Repetition(1, lacking=2)
    how = Repeating.of(settings(), shown)
    assert how.is_spared
    assert (how.repeats.min, how.most, how.confirmed) == (1, 1, 0)
    unsure = Repeating.of(settings(), doubted)
    assert unsure.in_doubt
    assert unsure.revisit
    asked = Repeating.of(settings(repeats=3), shown)
    assert asked.repeats == Fixed(3)
    assert not asked.is_spared
    assert asked.confirmed == 0
    assert Repeating.of(settings(repeats=3), doubted).repetition is None


def test_points_that_have_their_repeats_are_excluded_where_they_may_not_be_visited_again():
    opt = rahbo.Optimizer(rahbo.Candidates(ROWS, revisit=False), repeats=2, seed=0)
    opt.tell({"x": 0.0}, [1.0, 2.0])
    opt.tell({"x": 1.0}, [1.0])
    assert excluded(opt.state) == {opt.settings.space.encode({"x": 0.0}).tobytes()}
    again = rahbo.Optimizer(rahbo.Candidates(ROWS), data=[({"x": 0.0}, [1.0, 2.0])])
    assert excluded(again.state) == set()


def test_where_only_repeats_are_left_that_teach_nothing_none_is_excluded():
    rows = [{"x": float(i)} for i in range(12)]
    data = [(row, [np.sin(row["x"])] * 2) for row in rows]
    opt = rahbo.Optimizer(rahbo.Candidates(rows), data=data[:-1])
    assert repeating(opt.state).is_spared
    assert not has_all(opt.state)
    assert len(excluded(opt.state)) == 11
    opt.tell(*data[-1])
    assert has_all(opt.state)
    assert excluded(opt.state) == set()
