"""Records on disk: one JSON line per round and one file per case.

A file is written under a temporary name and renamed once it is complete. So a killed run leaves no
partial file that could be read, and a restart does not repeat a finished case.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rahbo import __version__
from rahbo.errors import DataError
from rahbo.experiments.spec import Case

RoundRecord = dict[str, Any]


@dataclass(frozen=True)
class Store:
    """The records of cases, in a folder."""

    folder: Path

    def path(self, case: Case) -> Path:
        """Return the path of a case's records."""
        return self.folder / f"{case.key}.jsonl"

    def missing(self, cases: Sequence[Case]) -> list[Case]:
        """Return the cases that have no records yet."""
        return [case for case in cases if not self.path(case).exists()]

    def write(self, case: Case, rounds: Sequence[RoundRecord]) -> None:
        """Write the records of a case, each with the case, the version and the commit."""
        path = self.path(case)
        path.parent.mkdir(parents=True, exist_ok=True)
        stamp = {"version": __version__, "commit": source_commit(), **asdict(case)}
        part = path.with_suffix(f".part{os.getpid()}")
        try:
            with part.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps({**stamp, **record}) + "\n" for record in rounds)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    def first(self, case: Case) -> RoundRecord:
        """Return the first round of a case, for fields that are the same in all rounds."""
        path = self.path(case)
        try:
            with path.open(encoding="utf-8") as file:
                record: RoundRecord = json.loads(file.readline())
        except (OSError, ValueError) as error:
            raise DataError(f"Cannot read the records in {path}: {error}.") from error
        return record

    def read(self, case: Case) -> list[RoundRecord]:
        """Return the records of a case, in order of rounds."""
        path = self.path(case)
        try:
            lines = path.read_text("utf-8").splitlines()
            records = [json.loads(line) for line in lines]
        except (OSError, ValueError) as error:
            raise DataError(f"Cannot read the records in {path}: {error}.") from error
        if len(records) != case.n_rounds:
            raise DataError(
                f"{path} must have {case.n_rounds} rounds, got {len(records)}. Delete it and run "
                "the experiment again."
            )
        return records


@cache
def source_commit() -> str:
    """Return the commit of the checkout that holds this file, marked if files have changed."""
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    commands = (
        [*git, "ls-files", "--error-unmatch", here.name],
        [*git, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
    )
    try:
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()
