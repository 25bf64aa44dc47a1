"""Records on disk: one JSON line a round, one file a case, complete or absent.

A file is written beside its place and renamed into it once it is whole, so a run that is killed
leaves nothing half done that is read, and started again it repeats no finished case.
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

Record = dict[str, Any]


@dataclass(frozen=True)
class Store:
    """The records of cases, in a folder."""

    folder: Path

    def path(self, case: Case) -> Path:
        """Where the records of a case are."""
        return self.folder / f"{case.key}.jsonl"

    def missing(self, cases: Sequence[Case]) -> list[Case]:
        """The cases that have no records yet."""
        return [case for case in cases if not self.path(case).exists()]

    def write(self, case: Case, rounds: Sequence[Record]) -> None:
        """Keep the records of a case, stamped with what made them."""
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

    def first(self, case: Case) -> Record:
        """The first round of a case, for what is the same in all of them."""
        path = self.path(case)
        try:
            with path.open(encoding="utf-8") as file:
                record: Record = json.loads(file.readline())
        except (OSError, ValueError) as error:
            raise DataError(f"Cannot read the records in {path}: {error}.") from error
        return record

    def read(self, case: Case) -> list[Record]:
        """The records of a case, in order of rounds."""
        path = self.path(case)
        try:
            lines = path.read_text("utf-8").splitlines()
            records = [json.loads(line) for line in lines]
        except (OSError, ValueError) as error:
            raise DataError(f"Cannot read the records in {path}: {error}.") from error
        if len(records) != case.n_rounds:
            raise DataError(
                f"{path} has {len(records)} rounds instead of {case.n_rounds}. "
                "Delete it and run the experiment again."
            )
        return records


@cache
def source_commit() -> str:
    """The commit of the checkout that this file is part of, marked if files have changed since."""
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
