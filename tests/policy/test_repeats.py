"""How often to evaluate a point."""

import dataclasses

import pytest

from rahbo.errors import SettingsError
from rahbo.policy.repeats import Fixed, as_repeats


def test_a_number_means_that_many_repeats():
    assert as_repeats(7) == Fixed(7)
    assert as_repeats(7).n_repeats == 7


def test_a_record_is_taken_as_it_is():
    fixed = Fixed(3)
    assert as_repeats(fixed) is fixed


def test_five_repeats_by_default_and_one_at_least():
    assert Fixed().n_repeats == 5
    assert Fixed(1).n_repeats == 1


@pytest.mark.parametrize("bad", [0, -3, 2.0, 2.5, "3", None, True, float("nan")])
def test_other_numbers_are_named(bad):
    for make in (Fixed, as_repeats):
        with pytest.raises(SettingsError, match="repeats must be a whole number >= 1, got"):
            make(bad)


def test_settings_are_frozen_values():
    assert len({Fixed(2), Fixed(2), Fixed(3)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Fixed(2).n_repeats = 4
