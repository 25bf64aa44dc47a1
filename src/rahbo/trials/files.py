"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from rahbo.errors import SettingsError


def write_whole(path: str | os.PathLike[str], contents: bytes) -> Path:
    """Write a file and return its path. If that fails, an existing file stays as it was.

    Args:
        path: The file; ``~`` is the home folder. A pipe or a device is written directly.
        contents: What it will hold.

    Raises:
        SettingsError: It cannot be written, such as because its folder does not exist.
    """
    try:
        file = Path(path).expanduser()
        if file.exists() and not file.is_file():
            file.write_bytes(contents)
        else:
            # A link stays, and what it points to is replaced.
            _replace(Path(os.path.realpath(file)), contents)
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        if isinstance(error, FileNotFoundError):
            why = f"there is no folder {str(file.parent)!r}"
        raise SettingsError(
            f"{os.fspath(path)!r} cannot be written: {why.rstrip('.')}. Choose another "
            "file, or change that."
        ) from error
    return file


def _replace(file: Path, contents: bytes) -> None:
    is_old = file.exists()
    if is_old and not os.access(file, os.W_OK):
        raise PermissionError(0, "it is protected against writing")
    part = file.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as out:
            out.write(contents)
            out.flush()
            os.fsync(out.fileno())
        if is_old:
            shutil.copymode(file, part)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
