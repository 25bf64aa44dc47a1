"""Which code was measured."""

import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@cache
def commit() -> str:
    """The commit of the rahbo that is imported, with "-dirty" where files differ from it."""
    found = find_spec("rahbo")
    home = Path(__file__ if found is None or found.origin is None else found.origin).parent
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=home,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip() or "unknown"
