"""Numbers of a page in few digits, but in enough to tell them apart."""

from rahbo.numerics import ALL_DIGITS as ALL
from rahbo.numerics import FEW_DIGITS as FEW
from rahbo.numerics import Justified, digits_of, rounded

__all__ = ["ALL", "FEW", "Justified", "digits_of", "rounded"]
