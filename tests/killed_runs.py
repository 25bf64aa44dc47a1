"""Runs that are killed with SIGKILL again and again, and resumed: `killed_runs.py FOLDER N SEED`.

Children are forked from this one process, which has all loaded and no threads. A child is killed
from outside at a random time, or kills itself in the middle of a write, before the flush, or in
the objective. Prints what came of it as JSON; tests/test_journal.py says what must.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from random import Random

import numpy as np

import rahbo
from rahbo import optimizer
from rahbo.policy import RandomSearch

SPACE = {"x": (0.0, 2.0), "kind": ["a", "b"]}
RANDOM = {"strategy": RandomSearch(), "repeats": 2, "n_initial": 5, "evaluations": 13}
DEFAULT = {"n_initial": 4, "evaluations": 12}
CONFIRM = {
    "strategy": RandomSearch(),
    "repeats": 3,
    "n_initial": 3,
    "evaluations": 13,
    "confirm": 3,
}
# The time is the number of evaluations so far, which a run that continues must count the same.
GIVEN = {**SPACE, "t": rahbo.Context(10.0, 35.0), "time": rahbo.Time(10.0)}
CASES = [
    *({**RANDOM, "seed": seed} for seed in range(3)),
    {**CONFIRM, "seed": 0},
    {**RANDOM, "seed": 0, "space": GIVEN, "context": lambda: {"t": 21.0}},
    {**RANDOM, "seed": 0, "blocks": 3},
    {**RANDOM, "seed": 0, "constraints": {"loss": rahbo.AtMost(1.5)}},
    {**DEFAULT, "seed": 0},
]


def run(case: dict, journal: Path, calls: Path) -> str:
    """One whole run, or what is left of it; each evaluation leaves its seed in `calls`."""

    def objective(x, kind, seed, t=0.0, time=0.0, block="0"):
        with open(calls, "a") as log:
            log.write(f"{seed}\n")
        if x > 1.8:
            raise RuntimeError("beam trip")
        noise = 0.1 * (1 + x) * np.random.default_rng(seed).standard_normal()
        value = -((x - 1.0) ** 2) + (kind == "a") + noise + 0.01 * t * time + int(block)
        return {"value": value, "loss": x + noise} if "constraints" in case else value

    result = rahbo.maximize(objective, **{"space": SPACE, **case}, journal=journal)
    return repr((result.recommendation, [t.params for t in result.trials]))


def kill_self(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(random: Random) -> None:
    """Make this process die at a random write: within it, before its flush, or right after."""
    after, where = random.randrange(16), random.choice(["write", "write", "flush", "flushed"])
    write, flush = os.write, os.fsync

    def torn_write(fd, data):
        nonlocal after
        after -= 1
        if after < 0 and where == "write":
            write(fd, data[: random.randrange(len(data) + 1)])
            kill_self()
        return write(fd, data)

    def torn_flush(fd):
        if after < 0 and where == "flush":
            kill_self()
        flush(fd)
        if after < 0:
            kill_self()

    os.write, os.fsync = torn_write, torn_flush


def attempt(
    case: dict, journal: Path, calls: Path, random: Random, kill: bool, seconds: float
) -> bool:
    """Run in a child, killed within the seconds of a run or not; whether it came to its end."""
    from_inside = kill and random.random() < 0.6
    if (child := os.fork()) == 0:
        if from_inside:
            arm(random)
        journal.with_suffix(".answer").write_text(run(case, journal, calls))
        os._exit(0)
    if kill and not from_inside:
        time.sleep(random.random() * seconds)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if status not in (0, signal.SIGKILL):
        raise SystemExit(f"a child ended with {status}")
    return status == 0


def evaluated_twice(calls: Path) -> int:
    """Evaluations made again though they were told: though another one followed in the same run."""
    told, twice = set(), 0
    for attempt_calls in calls.read_text().split("killed\n"):
        made = attempt_calls.split()
        twice += len(told.intersection(made))
        told.update(made[:-1])
    return twice


def main(folder: Path, n: int, seed: int) -> dict[str, int]:
    random = Random(seed)
    # Journals are compared byte by byte, so everything is told at the same time.
    optimizer.now = lambda: 1.8e9
    found = dict.fromkeys(["runs", "kills", "torn", "begun", "different", "twice"], 0)
    whole, seconds = [], []
    for i, case in enumerate(CASES):
        journal = folder / f"whole-{i}.jsonl"
        begin = time.monotonic()
        whole.append((run(case, journal, folder / "whole.calls"), journal.read_bytes()))
        seconds.append(time.monotonic() - begin)
    for i in range(n):
        # Random search costs next to nothing; every fifteenth run is of the default strategy.
        which = len(CASES) - 1 if i % 15 == 14 else i % (len(CASES) - 1)
        journal, calls = folder / f"{i}.jsonl", folder / f"{i}.calls"
        kills = 1 + random.randrange(4)
        while not attempt(CASES[which], journal, calls, random, kills > 0, seconds[which]):
            kills -= 1
            found["kills"] += 1
            held = journal.read_bytes() if journal.exists() else b""
            found["torn"] += not held.endswith(b"\n")
            found["begun"] += b"tell" in held
            found["different"] += not whole[which][1].startswith(held)
            with open(calls, "a") as log:
                log.write("killed\n")
        answer = journal.with_suffix(".answer").read_text()
        found["runs"] += 1
        found["different"] += (answer, journal.read_bytes()) != whole[which]
        found["twice"] += evaluated_twice(calls)
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
