"""Settings and numbers as texts: in few digits, but in enough to tell different ones apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rahbo.numerics import Justified, brief

# A number with so many digits and decimal places is taken for one that somebody wrote.
WRITTEN, DECIMALS = 10, 6
# Beyond so many digits, numbers are the same.
EXACT = 15
# Longer numbers are written with an exponent.
LONGEST = 1e12
# The most trials that a text names.
NAMED = 5


def in_one_line(texts: Mapping[str, str]) -> str:
    """Return a setting, whose values are texts, in one line."""
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def settings_told_apart(settings: Sequence[Mapping[str, object]]) -> list[dict[str, str]]:
    """Return settings with their values as texts, in which different numbers differ."""
    names = dict.fromkeys(name for params in settings for name in params)
    texts: list[dict[str, str]] = [{} for _ in settings]
    for name in names:
        having = [(i, params[name]) for i, params in enumerate(settings) if name in params]
        for (i, _), text in zip(having, told_apart([v for _, v in having]), strict=True):
            texts[i][name] = text
    return texts


def short(value: object, digits: int = 6) -> str:
    """Return a value of a parameter as a text.

    A number of at most ten digits with at most six decimal places, such as one from a list, is
    written in full. Any other number has six digits, and more if it has more in front of the point.

    >>> [short(value) for value in (1550.109, 1 / 3, 10000040.9876543)]
    ['1550.109', '0.333333', '10000041']
    """
    if not isinstance(value, float):
        return str(value)
    text, full = f"{value:.{digits}g}", f"{value:.{WRITTEN}g}"
    if float(text) == value:
        return text
    if float(full) == value == round(value, DECIMALS):
        return full
    return f"{value:.0f}" if 10**digits <= abs(value) < LONGEST else text


def told_apart(values: Sequence[object]) -> list[str]:
    """Return values of one parameter as texts, where different numbers have different texts.

    >>> told_apart([1550.1234567891234, 1550.1234712345678])
    ['1550.12346', '1550.12347']
    """
    for digits in range(6, EXACT + 1):
        texts = [short(value, digits) for value in values]
        if len(set(texts)) == len(set(values)):
            return texts
    return [short(value) for value in values]


def scores_told_apart(digits: Justified, one: float, other: float) -> tuple[str, str]:
    """Return two numbers as texts in these digits, or in more if they would look alike.

    >>> scores_told_apart(Justified(-1), 0.61, 0.64)
    ('0.61', '0.64')
    """
    for place in range(digits.place or 0, (digits.place or 0) - EXACT, -1):
        show = digits if digits.place is None else replace(digits, place=place)
        texts = show.text(one), show.text(other)
        if texts[0] != texts[1] or one == other:
            return texts
    return f"{one:.{EXACT}g}", f"{other:.{EXACT}g}"


def brief_beside(number: float, other: float) -> str:
    """Return a number in two digits, or in more if another one would look alike.

    >>> brief_beside(3.0, 1.0), brief_beside(1.002, 1.0)
    ('3', '1.002')
    """
    texts = (brief(number, digits) for digits in range(2, EXACT + 1))
    return next((text for text in texts if float(text) != other), brief(number, EXACT))


def numbered(what: str, numbers: Sequence[int]) -> str:
    """Return trials or rows by their numbers; of many, the first five.

    >>> numbered("trial", [17]), numbered("row", [3, 9, 12])
    ('trial 17', 'rows 3, 9 and 12')
    >>> numbered("trial", range(9))
    'trials 0, 1, 2, 3, 4 and 4 more'
    """
    named = [str(number) for number in numbers]
    if len(named) > NAMED + 1:
        named = [*named[:NAMED], f"{len(named) - NAMED} more"]
    *first, last = named
    return f"{what}s {', '.join(first)} and {last}" if first else f"{what} {last}"


def advice(confirm: int, setting: str) -> str:
    """Return advice to measure a setting so many more times; empty for none.

    >>> advice(1, "this setting")
    'Measure this setting once more before you rely on it.'
    """
    if confirm == 0:
        return ""
    times = "once more" if confirm == 1 else f"{confirm} more times"
    return f"Measure {setting} {times} before you rely on it."


def probability(p: float) -> str:
    """Return an estimated probability in two digits, never as 0 or 1.

    >>> probability(0.625), probability(0.997), probability(0.001)
    ('0.62', '> 0.99', '< 0.01')
    """
    if p > 0.99 or p < 0.01:
        return "> 0.99" if p > 0.5 else "< 0.01"
    return f"{p:.2g}"
