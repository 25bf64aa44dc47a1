"""`-p NAME=...`: read a parameter from its short form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rahbo.cli.cells import typed_name
from rahbo.errors import SettingsError, SpaceError, at
from rahbo.numerics import plain_number
from rahbo.space import Categorical, Float, Int, Parameter, is_range

NAME = re.compile(r"[^\W\d][\w.-]*")
# The placeholder that every command may use besides its parameters.
SEED = "seed"
# The placeholder for the block of an evaluation, in a run with blocks.
BLOCK = "block"
KINDS = ("int", "float", "log")
FORMS = "LOW:HIGH:int, LOW:HIGH:float, LOW:HIGH:log, or choices separated by commas"


def named(text: str) -> tuple[str, Parameter]:
    """Return the name and the parameter of ``NAME=...``.

    >>> named("lr=1e-4:1e-1:log")
    ('lr', Float(0.0001, 0.1, log=True))
    >>> named("depth=1:15:int")
    ('depth', Int(1, 15))
    >>> named("criterion=gini,entropy")
    ('criterion', Categorical(['gini', 'entropy']))
    """
    name, equals, written = text.partition("=")
    if not equals:
        raise SpaceError(f"A parameter must be written NAME={FORMS}, got {text!r}.")
    return checked_name(name), described(name, written)


def parameters_in(texts: Iterable[str]) -> dict[str, Parameter]:
    """Return the parameters of ``NAME=...``, each given once."""
    found: dict[str, Parameter] = {}
    for name, parameter in map(named, texts):
        if name in found:
            raise SettingsError(f"-p names the parameter {name!r} twice. Drop one of the two.")
        found[name] = parameter
    return found


def of_column(text: str) -> tuple[str, Parameter | None]:
    """Return the name of a table's column and, if they are written, its range and scale.

    >>> of_column("lr=1e-4:1e-1:log"), of_column("learning rate")
    (('lr', Float(0.0001, 0.1, log=True)), ('learning rate', None))
    """
    name, equals, written = text.partition("=")
    return typed_name(name), described(name, written) if equals else None


def checked_name(name: str) -> str:
    """Return a name after checking that a placeholder can have it."""
    if not NAME.fullmatch(name):
        raise SpaceError(
            f"The name of a parameter must begin with a letter and contain only letters, digits "
            f"and _.-, got {name!r}. Rename it."
        )
    if name == SEED:
        raise SpaceError(
            f"A parameter cannot be named {SEED!r}, because {{{SEED}}} stands for the seed of an "
            "evaluation. Rename it."
        )
    return name


def setting_in(text: str, space: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return one setting of all parameters, written ``NAME=VALUE,NAME=VALUE``.

    >>> setting_in("lr=0.1,depth=3", {"lr": Float(0.01, 1.0), "depth": Int(1, 15)})
    {'lr': 0.1, 'depth': 3}
    """
    pairs = [part.partition("=") for part in text.split(",")]
    written = {name.strip(): value.strip() for name, _, value in pairs}
    if written.keys() != space.keys() or len(pairs) != len(written):
        raise SpaceError(
            f"A setting must name each of the parameters {', '.join(space)} once, as "
            f"{','.join(f'{name}=VALUE' for name in space)}, got {text!r}."
        )
    return setting_of(written, space)


def setting_of(written: Mapping[str, str], space: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the setting whose values are written as these texts.

    >>> setting_of({"depth": "3"}, {"depth": Int(1, 15)})
    {'depth': 3}
    """
    found = {name: value_of(name, kind, written[name]) for name, kind in space.items()}
    for name, kind in space.items():
        kind.code(name, found[name])
    return found


def value_of(name: str, kind: Parameter, text: str) -> Any:
    """Return the value of a parameter for a text. A text that is not a choice is returned as is."""
    if isinstance(kind, Categorical):
        return next((choice for choice in kind.choices if str(choice) == text), text)
    try:
        number = plain_number(text)
    except ValueError:
        raise SpaceError(f"{name}={text!r} must be a number for {kind!r}.") from None
    return int(number) if isinstance(kind, Int) and number.is_integer() else number


def blocks_in(written: str | None) -> int | list[str] | None:
    """Return a number of blocks, or their names, which commas separate.

    >>> blocks_in("5"), blocks_in("east,west")
    (5, ['east', 'west'])
    """
    if written is None:
        return None
    if re.fullmatch(r"[0-9]{1,6}", written):
        return int(written)
    return [name.strip() for name in written.split(",")]


def described(name: str, written: str | Sequence[object]) -> Parameter:
    """Return the parameter for a description such as ``0.1:1:log``, or for a list of choices."""
    with at(name):
        if not isinstance(written, str):
            return _listed(written)
        if "," in written:
            choices = [choice.strip() for choice in written.split(",")]
            if "" in choices:
                raise SpaceError(f"a choice must not be empty, got {written!r}. Remove a comma.")
            return _listed(choices)
        return _range(written)


def _listed(choices: Sequence[object]) -> Categorical:
    """Return the choices as text, which is how a program gets them."""
    for choice in choices:
        if isinstance(choice, bool) or not isinstance(choice, str | int | float):
            raise SpaceError(f"a choice must be a string or a number, got {choice!r}. Quote it.")
    texts = [str(choice) for choice in choices]
    if is_range(choices):
        low, high = texts
        kind = "int" if all(isinstance(choice, int) for choice in choices) else "float"
        raise SpaceError(
            f"[{low}, {high}] may be the bounds of a range or two choices. Write "
            f'"{low}:{high}:{kind}" for a range, or ["{low}", "{high}"] for choices.'
        )
    if any("\0" in text for text in texts):
        raise SpaceError(f"a choice must not contain a zero byte, got {texts!r}. Remove it.")
    return Categorical(texts)


def _range(written: str) -> Parameter:
    low, *rest = written.split(":")
    if not rest:
        raise SpaceError(f"it must be {FORMS}, got {written!r}.")
    high, *kinds = rest
    if not set(kinds) <= set(KINDS) or len(set(kinds)) < len(kinds):
        raise SpaceError(
            f"LOW:HIGH can be followed by {', '.join(KINDS)}, each at most once, got {written!r}."
        )
    try:
        ends = plain_number(low), plain_number(high)
    except ValueError:
        raise SpaceError(f"LOW and HIGH must be numbers, got {written!r}.") from None
    if "int" in kinds and "float" in kinds:
        raise SpaceError(f"it cannot be both int and float, got {written!r}. Choose one.")
    if "int" in kinds:
        return Int(*ends, log="log" in kinds)
    if not kinds and all(re.fullmatch(r"[+-]?\d+", end) for end in (low, high)):
        raise SpaceError(
            f"{written} could mean real or whole numbers. Write {written}:float or {written}:int."
        )
    return Float(*ends, log="log" in kinds)
