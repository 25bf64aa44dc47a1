"""Classes that are found by their name."""

from dataclasses import dataclass, field

import pytest

from rahbo.errors import SettingsError
from rahbo.numerics import Registered, module_outside, registered
from rahbo.risk import MeanStd


class Spoken(Registered):
    """A class at the top of a module."""


@dataclass(frozen=True)
class Counted(Registered):
    n: int
    twice: int = field(init=False, default=0)


class Uncounted(Counted):
    """May hold more than the fields of its parent."""


def defined(name, module):
    """A class as a module would define it."""
    return type(name, (Registered,), {"__module__": module, "__qualname__": name})


def test_a_class_is_found_by_its_name_unless_it_is_in_a_function():
    class Inner(Registered):
        pass

    assert registered("Spoken") is Spoken
    assert registered("Inner") is registered("Unheard") is None
    assert module_outside(Spoken) == __name__
    assert module_outside(MeanStd) is None


def test_the_keywords_of_a_dataclass_are_its_fields():
    assert Counted(3).to_json() == {"n": 3}
    assert Uncounted(3).to_json() is None
    assert Spoken().to_json() is None


def test_a_class_that_is_defined_again_counts_from_then_on():
    for module in ("notebook", "__main__"):
        again = defined("DefinedAgain", module)
        assert registered("DefinedAgain") is again


@pytest.mark.parametrize("module", ["elsewhere", "__main__"])
def test_a_second_class_of_a_name_is_refused(module):
    with pytest.raises(SettingsError, match=rf"{module} defines a class MeanStd, but rahbo.risk"):
        defined("MeanStd", module)
    assert registered("MeanStd") is MeanStd
    defined("TakenName", "first")
    with pytest.raises(SettingsError, match="second defines a class TakenName, but first"):
        defined("TakenName", "second")
