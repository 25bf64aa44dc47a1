"""A TOML file in the place of options."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rahbo.cli.parameters import checked_name, described
from rahbo.errors import SettingsError
from rahbo.space import Parameter

# A file of settings is never larger.
LARGEST_FILE = 1_000_000
PARAMETERS, COMMAND = "parameters", "command"


@dataclass(frozen=True)
class Config:
    """What a file says.

    Attributes:
        options: Of the command line, by their names without dashes in front; flags are booleans,
            all else is text.
        space: The parameters.
        command: The command to run.
    """

    options: dict[str, str | bool] = field(default_factory=dict)
    space: dict[str, Parameter] = field(default_factory=dict)
    command: tuple[str, ...] = ()


def read_config(path: Path, options: Collection[str], flags: Collection[str]) -> Config:
    """Read a file of options, the table ``[parameters]`` and the list ``command``.

    Args:
        path: The file.
        options: Names of the options that have a value.
        flags: Names of those that have none.
    """
    table = _table(path)
    space, command = table.pop(PARAMETERS, {}), table.pop(COMMAND, [])
    given: dict[str, str | bool] = {}
    for name, value in table.items():
        where = f"{name!r} in {path}"
        if name not in options and name not in flags:
            known = ", ".join(sorted([*options, *flags, PARAMETERS, COMMAND]))
            raise SettingsError(f"{where} is no option. There are: {known}.")
        if isinstance(value, bool) != (name in flags) or not isinstance(value, str | int | float):
            wanted = "true or false" if name in flags else "a number or a string"
            raise SettingsError(f"{where} must be {wanted}, got {value!r}.")
        given[name] = value if isinstance(value, bool) else str(value)
    if not isinstance(command, list) or not all(isinstance(part, str) for part in command):
        raise SettingsError(
            f"command in {path} must be a list of strings, the program and each of its arguments, "
            f"got {command!r}."
        )
    return Config(given, _space(space, path), tuple(command))


def _table(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
        if len(raw) > LARGEST_FILE:
            raise SettingsError(
                f"{path} is larger than {LARGEST_FILE} bytes: no file of settings is."
            )
        return tomllib.loads(raw.decode())
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, SettingsError):
            raise
        raise SettingsError(f"{path} is no TOML file: {error}.") from error


def _space(table: object, path: Path) -> dict[str, Parameter]:
    if not isinstance(table, Mapping):
        raise SettingsError(f"parameters in {path} must be a table, got {table!r}.")
    space = {}
    for name, written in table.items():
        if not isinstance(written, str | list):
            raise SettingsError(
                f"Parameter {name!r} in {path} must be a string such as '0.1:1:log' or a list of "
                f"choices, got {written!r}."
            )
        space[checked_name(name)] = described(name, written)
    return space
