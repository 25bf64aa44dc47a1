"""`--try-first`: settings to run before all others, written out or in a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rahbo.cli.parameters import setting_in, setting_of
from rahbo.errors import SettingsError, SpaceError
from rahbo.space import Parameter

# Nobody wants to try more before the search begins.
MOST_ROWS = 1000


def first_in(texts: Iterable[str], space: Mapping[str, Parameter]) -> list[dict[str, Any]]:
    """Return the settings of some options ``--try-first``, each of them once.

    >>> from rahbo.space import Float
    >>> first_in(["x=0.5", "x=1", "x=0.50"], {"x": Float(0.0, 2.0)})
    [{'x': 0.5}, {'x': 1.0}]
    """
    found: list[dict[str, Any]] = []
    for text in texts:
        for setting in _settings_in(text, space):
            if setting not in found:
                found.append(setting)
    return found


def _settings_in(text: str, space: Mapping[str, Parameter]) -> list[dict[str, Any]]:
    """Return the setting that is written out, or those in the file of this name."""
    if "=" not in text:
        return _rows_of(Path(text), space)
    try:
        return [setting_in(text, space)]
    except SpaceError as error:
        raise SpaceError(f"--try-first: {error}") from error


def _rows_of(path: Path, space: Mapping[str, Parameter]) -> list[dict[str, Any]]:
    try:
        if not path.is_file():
            setting = ",".join(f"{name}=VALUE" for name in space)
            raise SettingsError(
                f"--try-first needs a setting, {setting}, or a CSV file with a column for each "
                f"parameter, but there is no file {str(path)!r}."
            )
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True, skipinitialspace=True)
            missing = [name for name in space if name not in (rows.fieldnames or ())]
            if missing:
                raise SettingsError(
                    f"--try-first: {path} needs a column for each parameter, but has none for "
                    f"{', '.join(missing)}. Its first row must name the columns, separated by "
                    "commas."
                )
            return [
                _setting_in(row, space, f"{path}, line {rows.line_num}")
                for row in _limited(rows, path)
            ]
    except OSError as error:
        raise SettingsError(f"--try-first: {path} cannot be read: {error.strerror}.") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise SettingsError(f"--try-first: {path} must be a CSV file in UTF-8: {error}.") from error


def _limited(rows: Iterable[dict[str, Any]], path: Path) -> Iterable[dict[str, Any]]:
    for number, row in enumerate(rows, 1):
        if number > MOST_ROWS:
            raise SettingsError(
                f"--try-first: {path} has more than {MOST_ROWS} rows. Keep only those to try first."
            )
        yield row


def _setting_in(
    row: Mapping[Any, str | None], space: Mapping[str, Parameter], where: str
) -> dict[str, Any]:
    """Return the setting in a row, without what its other columns hold."""
    if None in row:
        raise SpaceError(
            f"--try-first: {where}: the row has more cells than the first row has names. Write "
            "decimal points, not commas, and put texts with commas in quotes."
        )
    try:
        return setting_of({name: (row[name] or "").strip() for name in space}, space)
    except SpaceError as error:
        raise SpaceError(f"--try-first: {where}: {error}") from error
