"""Classes that are found by their name."""

from dataclasses import dataclass, field

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

    assert registered("Spoken", __name__) is Spoken
    assert registered("Inner", __name__) is registered("Unheard") is registered("Spoken") is None
    assert module_outside(Spoken) == __name__
    assert module_outside(MeanStd) is None


def test_the_keywords_of_a_dataclass_are_its_fields():
    assert Counted(3).to_json() == {"n": 3}
    assert Uncounted(3).to_json() is None
    assert Spoken().to_json() is None


def test_a_class_that_is_defined_again_counts_from_then_on():
    for _ in range(2):
        again = defined("DefinedAgain", "notebook")
        assert registered("DefinedAgain", "notebook") is again


def test_classes_of_one_name_are_told_apart_by_their_modules():
    first, second = defined("Twice", "first"), defined("Twice", "second")
    assert registered("Twice", "first") is first
    assert registered("Twice", "second") is second
    assert registered("Twice", "third") is registered("Twice", "__main__") is None
    defined("MeanStd", "elsewhere")
    assert registered("MeanStd") is MeanStd


def test_a_program_is_found_by_its_name_and_as_main():
    once = defined("OfAProgram", "program")
    assert registered("OfAProgram", "__main__") is once
    own = defined("OfMain", "__main__")
    assert registered("OfMain", "program") is own
