"""The last number that a program printed, if it is clear which one that is.

A wrong value does more harm than a failed run, so whatever may be a part of something longer is
refused. Everything here takes time linear in the length of the output.
"""

from __future__ import annotations

import re

from rahbo.numerics import NOT_FINITE, UNSIGNED, plain_number

# Characters shown of a pattern, of a line or of a text that is not a number.
SHOWN = 200
# Does not match inside a word, a version or a number with a unit. NaN and infinities match, so
# that an earlier number, such as that of an epoch, is not taken for the value.
NUMBER = re.compile(rf"(?<![\w.])[-+]?(?:{UNSIGNED}|{NOT_FINITE})(?!\.?\w)")
# Text before a match which shows that it is only the end of a number: a comma, an apostrophe or a
# special space after a digit, or a typographic minus. A comma only separates numbers where the
# second has a point, but not after three digits as in 1,234.5, or where the first has a point and
# the second a point or an exponent. The text is searched for in this many characters.
PART = re.compile(r"(?:([0-9.]*[0-9])([,'\u2019\u00a0\u2009\u202f])|[\u2010-\u2014\u2212\uff0d])\Z")
PART_LENGTH = 40
THOUSANDS = re.compile(r"[0-9]{3}(?![0-9])")
# Text up to a match, with its sign, which shows that the match belongs to it: 2026-11-19, 1.5-103,
# 0x1p-3, resnet-50, 10**-3, 0.5+-0.1, 3/10, 10^3, 12:30, 0.512(3), 0.5 ± 0.1 and loss = - 0.5.
GLUED = re.compile(
    r"(?:[\w.)\]}%‰°][-+*^×·⋅]++|[-+]{2}|[/\\^]|(?:(?<![\w.@])|(?<=[0-9]T))[0-9.]*[0-9][:(]"
    r"|(?:±|\+/-|\+-)[ \t]*+|[=:][ \t]*+[-+\u2010-\u2014\u2212][ \t]++)\Z"
)
# Text after a match: 1.#IND, 1+2j, 10-fold, 12:30s, 1.5×10³, 10⁻³ and 1'234x.
GOES_ON = re.compile(
    r"#|[-+][\w.(]|:[0-9]|[ \t]*+[×·⋅*xX][ \t]*+10|[\u2070-\u209f]|['\u2019\u00a0\u2009\u202f][0-9]"
)
# Numbers in a form that is not read: 1D3, 0x1p3, 1_000, 1e-, 1.234.567, other digits, and words for
# a missing one at the end. An earlier number, such as that of an epoch, is not the value then.
FOREIGN = re.compile(
    r"(?<![\w./\\-])[-+]?(?:[0-9][0-9.]*+[dDqQ][0-9]++|0[xX][0-9a-fA-F.]*+[pP][-+]?+[0-9]++"
    r"|[0-9]++(?:_[0-9]++)++(?:\.[0-9]*+)?+|[0-9][0-9.]*+[eE][-+]?|[0-9]{1,3}(?:\.[0-9]{3}){2,}+)"
    r"(?![-+]|\.?\w)|(?![0-9])\d|∞|(?<![\w/])(?:None|null|NULL|NaT|N/A|n/a)\W*+\Z"
)
# Colours and titles show nothing. Other sequences move the cursor, or separate what they stand
# between. A title that lacks its end goes on to the end of the line.
ESCAPE = re.compile(
    r"(\x1b\[[0-?]*+[ -/]*+m|\x1b[\]PX^_][^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?+)"
    r"|\x1b\[[0-?]*+[ -/]*+[@-~]?+|\x1b[ -/]*+[0-~]?+"
)
# Where a tensor lives, as in tensor(0.5, device='cuda:0').
DEVICE = re.compile(r"\b(?:cuda|cpu|gpu|mps|npu|tpu|xpu):[0-9]++(?![\w.])", re.IGNORECASE)
REMEDY = "print the value alone on the last line, such as 0.5 or 1e-3, or use --value-regex"


class UnreadableError(Exception):
    """Raised when an output holds no value; its text says why."""


def as_shown(output: str) -> str:
    r"""Return an output without what controls a terminal: colours, titles, moves of the cursor.

    >>> as_shown("\x1b[1m0.5\x1b[0m\x1b]0;epoch 3\x07")
    '0.5'
    """
    return ESCAPE.sub(lambda match: "" if match[1] is not None else " ", output)


def last_number(output: str) -> float:
    """Return the last number of an output.

    >>> last_number("epoch 10 of 10: accuracy 0.93")
    0.93
    """
    text = DEVICE.sub("device", as_shown(output))
    last = None
    for match in NUMBER.finditer(text):
        last = match
    foreign = FOREIGN.search(text, 0 if last is None else last.end())
    if foreign is not None:
        raise UnreadableError(
            f"{foreign[0].strip()!r} is not read as a number, {_where(text, foreign)}: {REMEDY}"
        )
    if last is None:
        raise UnreadableError("the output holds no number")
    if _is_part(text, last):
        raise UnreadableError(
            f"the last number of the output, {last[0]}, may be part of a longer one, "
            f"{_where(text, last)}: {REMEDY}"
        )
    return plain_number(last[0])


def _where(text: str, found: re.Match[str]) -> str:
    """Return the line of a match in words, or the part of it around the match."""
    begin = max(text.rfind("\n", 0, found.start()) + 1, found.start() - SHOWN // 2)
    end = text.find("\n", found.end())
    line = text[begin : min(len(text) if end < 0 else end, begin + SHOWN)]
    return f"in the line {line.strip()!r}"


def _is_part(text: str, last: re.Match[str]) -> bool:
    """Return whether a match may be a part of something longer."""
    start = max(0, last.start() - PART_LENGTH)
    is_signed = last[0][0] in "+-"
    if GLUED.search(text, start, last.start() + is_signed) or GOES_ON.match(text, last.end()):
        return True
    if last[0].isdecimal() and text[last.end() : last.end() + 1] == ",":
        # 0,5s is not 0.
        return text[last.end() + 1 : last.end() + 2].isdecimal()
    return _is_end(text, last, start)


def _is_end(text: str, last: re.Match[str], start: int) -> bool:
    """Return whether a match may be what follows a comma or another mark within a number."""
    before = PART.search(text, start, last.start())
    if before is None or before[2] is None:
        return before is not None
    # A sign, a point or a word begins a number of its own.
    if not last[0][0].isdecimal():
        return False
    if before[2] != "," or last[0].isdecimal():
        return True
    separates = "." in last[0] and not THOUSANDS.match(last[0])
    return not (separates or before[1].count(".") == 1)
