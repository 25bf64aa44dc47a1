"""Which code was measured."""

import subprocess
from functools import cache
from pathlib import Path


@cache
def commit() -> str:
    """The commit, with "-dirty" where files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip() or "unknown"
