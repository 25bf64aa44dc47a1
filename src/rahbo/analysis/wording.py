"""Settings as texts: in few digits, but in enough to tell different ones apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# A number with so many digits and decimal places is taken for one that somebody wrote.
WRITTEN, DECIMALS = 10, 6
# Beyond so many digits, numbers are the same.
EXACT = 15
# Longer numbers are written with an exponent.
LONGEST = 1e12


def in_one_line(texts: Mapping[str, str]) -> str:
    """Return a setting, whose values are texts, in one line."""
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def settings_told_apart(settings: Sequence[Mapping[str, object]]) -> list[dict[str, str]]:
    """Return settings with their values as texts, in which different numbers differ."""
    names = list(settings[0]) if settings else []
    columns = [told_apart([params[name] for params in settings]) for name in names]
    return [dict(zip(names, texts, strict=True)) for texts in zip(*columns, strict=True)]


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
