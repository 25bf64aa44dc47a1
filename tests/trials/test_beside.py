"""What is told beside a value stays with its repeat."""

import numpy as np
import pytest

from rahbo.errors import DataError
from rahbo.trials import NOTHING, Beside, Trial, checked_name

LOSS, FOLD = Beside({"loss": 2.0}), Beside(block="fold 1")


def trial(**known):
    return Trial(0, {"x": 1.0}, np.array([0.5]), 3, "strategy", **known)


def test_nothing_beside_a_value_counts_as_nothing():
    assert [bool(told) for told in (NOTHING, LOSS, FOLD)] == [False, True, True]


def test_it_goes_with_the_first_free_repeats():
    told = trial(failures={0: "no beam"}).with_values([1.0, 2.0, 3.0], [NOTHING, LOSS, FOLD])
    assert told.values == {1: 1.0, 2: 2.0, 3: 3.0}
    assert told.beside == {2: LOSS, 3: FOLD}
    assert trial().with_values([1.0, 2.0]).beside == {}


def test_telling_the_same_again_changes_nothing_and_something_else_is_an_error():
    told = trial().with_value(1, 5.0, LOSS)
    assert told.with_value(1, 5.0, LOSS) is told
    assert told.with_value(1, 5.0) is told
    with pytest.raises(DataError, match="suggestion 0 'loss' was told as"):
        told.with_value(1, 5.0, Beside({"loss": 3.0}))
    with pytest.raises(DataError, match="its block was told as 'fold 1' and now as 'fold 2'"):
        trial().with_value(1, 5.0, FOLD).with_value(1, 5.0, Beside(block="fold 2"))
    with pytest.raises(DataError, match="now as 6"):
        told.with_value(1, 6.0, LOSS)


def test_what_is_known_only_later_is_added():
    told = trial().with_value(1, 5.0, LOSS)
    more = told.with_value(1, 5.0, Beside({"heat": 7.0})).with_value(1, 5.0, FOLD)
    assert more.beside == {1: Beside({"loss": 2.0, "heat": 7.0}, "fold 1")}
    assert trial().with_value(0, 5.0).with_value(0, 5.0, LOSS).beside == {0: LOSS}


@pytest.mark.parametrize("name", ["", 3, None, "a" * 201, "two\nlines"])
def test_a_name_is_a_short_printable_text(name):
    with pytest.raises(DataError, match="A block must be a text"):
        checked_name("A block", name)
    assert checked_name("A block", "plate 7") == "plate 7"
