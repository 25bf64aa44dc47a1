"""Check that two states of the source make the same runs, bit for bit.

    python scripts/same_records.py OTHER/src       every kind of run, about two minutes on two cores
    python scripts/same_records.py OTHER/src --kinds limits,safe --seeds 4

Run it after a change that must not change results: check out the state before into another folder,
`git worktree add ../before COMMIT`, and pass its src. Both states make the runs of the table in
`records/kinds.py`, side by side in a process each. Every suggestion, value and bound is
compared, and what a run says at its end: recommendations under several rules and risks,
predictions, frontier, diagnosis, replay, the next suggestions, and the lines of its journal.

A field that a record has in one state only does not count. Such fields are listed at the end.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Any

# Marks a dict that holds the fields of a record, with its name. The other state may have others.
RECORD = "record of"
ABSENT = "(nothing)"
# A record, and what it has in one state only.
Changes = dict[str, str]


def records_of(source: Path, options: list[str]) -> dict[str, list[Any]]:
    """Return the records of a source folder, made by a process of their own."""
    path = os.pathsep.join([str(source), str(Path(__file__).resolve().parent)])
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(threads, "1"), "PYTHONPATH": path}
    command = [sys.executable, "-P", "-m", "records.kinds", *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{source}: {done.stderr}")
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


def differences(here: Any, there: Any, path: str, changes: Changes) -> Iterator[str]:
    """Yield where two records differ, with both values; note fields that only one of them has."""
    if isinstance(here, dict) and isinstance(there, dict):
        names = list(dict.fromkeys([*here, *there]))
        if RECORD in here and RECORD in there:
            _note(here, there, changes)
            names = [name for name in names if name in here and name in there and name != RECORD]
        for name in names:
            pair = here.get(name, ABSENT), there.get(name, ABSENT)
            yield from differences(*pair, f"{path}.{name}", changes)
    elif isinstance(here, list) and isinstance(there, list):
        for i, pair in enumerate(zip_longest(here, there, fillvalue=ABSENT)):
            yield from differences(*pair, f"{path}[{i}]", changes)
    elif here != there or type(here) is not type(there):
        yield f"{path}\n    here   {shown(here)}\n    there  {shown(there)}"


def _note(here: dict[str, Any], there: dict[str, Any], changes: Changes) -> None:
    gained = [f"{name} is here only" for name in here.keys() - there.keys()]
    lost = [f"{name} is there only" for name in there.keys() - here.keys()]
    if here[RECORD] != there[RECORD]:
        gained.append(f"called {there[RECORD]} there")
    if gained or lost:
        changes[here[RECORD]] = ", ".join(sorted([*gained, *lost]))


def shown(value: Any) -> str:
    """Return a value of a record in short, a float as a number."""
    if isinstance(value, str) and value.lstrip("-").startswith("0x"):
        return f"{float.fromhex(value)!r}, {value}"
    return json.dumps(value)[:300]


def compared(here: list[Any], there: list[Any], changes: Changes) -> str:
    """Return "same" for the runs of one kind, one for each seed, or their first difference."""
    for seed, (mine, other) in enumerate(zip(here, there, strict=True)):
        for state, record in (("here", mine), ("there", other)):
            if "error" in record:
                return f"seed {seed}: an error {state}\n{record['error']}"
        if found := next(differences(mine, other, "", changes), None):
            return f"seed {seed}: {found.lstrip('.')}"
    return "same"


def main() -> None:
    """Compare the records, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the src folder of the other state")
    parser.add_argument("--kinds", default="", help="kinds of runs, with commas between (all)")
    parser.add_argument("--seeds", type=int, default=2, help="runs of each kind (2)")
    args = parser.parse_args()
    if not (args.other / "rahbo").is_dir():
        parser.error("pass the src folder of the other state, which holds the folder rahbo")
    options = [f"--kinds={args.kinds}", f"--seeds={args.seeds}"]
    sources = Path(__file__).resolve().parents[1] / "src", args.other.resolve()
    with ThreadPoolExecutor(2) as both:
        here, there = both.map(records_of, sources, [options] * 2)
    changes: Changes = {}
    said = {name: compared(here[name], there[name], changes) for name in here}
    width = max(map(len, said))
    for name, what in said.items():
        print(f"{name:{width}}  {what}")
    for name, what in sorted(changes.items()):
        print(f"not compared in {name}: {what}")
    different = sum(what != "same" for what in said.values())
    print(f"{different} of {len(said)} kinds differ" if different else "all kinds are the same")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
