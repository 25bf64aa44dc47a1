"""A TOML file that holds the options of a command."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from rahbo.cli.parameters import checked_name, described
from rahbo.errors import SettingsError
from rahbo.space import Parameter

# Bytes. No sensible file of settings is larger.
LARGEST_FILE = 1_000_000
PARAMETERS, COMMAND = "parameters", "command"
# Options with names that commas separate. A file may list them too.
NAMES = ("blocks",)


@dataclass(frozen=True)
class Config:
    """The contents of a file.

    Attributes:
        options: Command-line options by name, without the leading dashes. Flags are booleans, an
            option that may be given several times is a list, all other values are text.
        space: The parameters.
        command: The command to run.
    """

    options: dict[str, str | bool | list[str]] = field(default_factory=dict)
    space: dict[str, Parameter] = field(default_factory=dict)
    command: tuple[str, ...] = ()


def read_config(path: Path, options: Mapping[str, click.Option]) -> Config:
    """Read a file of options by name, the table ``[parameters]`` and the list ``command``."""
    table = _table(path)
    space, command = table.pop(PARAMETERS, {}), table.pop(COMMAND, [])
    given: dict[str, str | bool | list[str]] = {}
    for name, value in table.items():
        where = f"{name!r} in {path}"
        if name not in options:
            known = ", ".join(sorted([*options, PARAMETERS, COMMAND]))
            raise SettingsError(f"{where} is not an option. Use one of: {known}.")
        is_flag = options[name].is_flag
        if options[name].multiple:
            given[name] = _texts(where, value)
        elif name in NAMES and isinstance(value, list):
            given[name] = _joined(where, value)
        elif isinstance(value, bool) == is_flag and isinstance(value, str | int | float):
            given[name] = value if isinstance(value, bool) else str(value)
        else:
            wanted = "true or false" if is_flag else "a number or a string"
            raise SettingsError(f"{where} must be {wanted}, got {value!r}.")
    if not isinstance(command, list) or not all(isinstance(part, str) for part in command):
        raise SettingsError(
            f"command in {path} must be a list of strings, the program and its arguments, got "
            f"{command!r}."
        )
    return Config(given, _space(space, path), tuple(command))


def _texts(where: str, value: object) -> list[str]:
    """Return one text or several as a list."""
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in listed):
        raise SettingsError(f"{where} must be a string or a list of strings, got {value!r}.")
    return [str(text) for text in listed]


def _joined(where: str, value: list[object]) -> str:
    """Return a list of names as they are written on the command line."""
    names = _texts(where, value)
    if not names or any("," in name for name in names):
        raise SettingsError(f"{where} must list names without commas, got {value!r}.")
    return ",".join(names)


def _table(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
        if len(raw) > LARGEST_FILE:
            raise SettingsError(
                f"{path} must be a file of settings of at most {LARGEST_FILE} bytes."
            )
        return tomllib.loads(raw.decode("utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, SettingsError):
            raise
        raise SettingsError(f"{path} is not a TOML file: {error}.") from error


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
