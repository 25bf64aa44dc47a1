"""Texts as numbers: one strict rule for outputs of programs, tables, options and forms.

Python's own `float` takes more than that, such as ``1_0`` for 10 and digits of other scripts.
"""

from __future__ import annotations

import re

# A number without its sign. D and Q are how Fortran writes an exponent. Possessive quantifiers
# (`++`) keep all digits: giving some back never helps where a digit must not follow. So the time to
# search a text is linear in its length.
UNSIGNED = (
    r"(?:[0-9]++\.?[0-9]*+|\.[0-9]++)"
    r"(?:[eE][-+]?[0-9]++|[dDqQ][-+][0-9]++)?+"
)
NOT_FINITE = r"[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
_PLAIN = re.compile(rf"[-+]?(?:{UNSIGNED}|{NOT_FINITE})")
_EXPONENTS = str.maketrans("dDqQ", "eeee")


def plain_number(text: str) -> float:
    """Return the number that a whole text is; spaces around it do not matter.

    Raises:
        ValueError: The text is anything else.

    >>> plain_number("1.5e3"), plain_number("0.15D-02"), plain_number("-inf")
    (1500.0, 0.0015, -inf)
    """
    bare = text.strip()
    if not _PLAIN.fullmatch(bare):
        raise ValueError(f"{text!r} is not a plain number")
    return float(bare.translate(_EXPONENTS))
