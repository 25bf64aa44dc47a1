"""What `rahbo tune` costs beside the programs that it runs.

A program of six parameters sleeps and prints a noisy number. It writes down when it started and
ended, by its own clock. From those times, the mean over the evaluations from --from on:

    slot     how long a job stands idle between the end of a program and the start of the next
    wall     that over the number of jobs: what the run takes longer, an evaluation
    cpu      processor time of `rahbo tune` itself, its programs' not counted

Starting a process is counted. So is what others do to the machine meanwhile: how long 50 ms of
processor time take is printed, and what the same programs need when run by threads that do nothing
else. On a busy machine, `chrt -r 1` in front shows what a free one would.

    python bench/tune_overhead.py --seeds 3
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from provenance import commit

# A shell's start costs less than Python's. The clock of a line is in nanoseconds.
PROGRAM = r"""
start=$(date +%s%N)
sleep "$1"
echo "$2 $3 $4 $5 $6 $7 $8" | awk '{ srand($7); s = rand() + rand() + rand() + rand() - 2
  for (i = 1; i <= 6; i++) f += ($i - 0.1 * i)^2
  print -f + 0.2 * (0.2 + $1) * s }'
echo "$start $(date +%s%N)" >> "$9"
"""
CPU = """
import os, resource, sys
from rahbo.cli import main, program
first, made, before = int(sys.argv.pop(1)), 0, 0.0
call = program.Program.__call__

def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime

def counted(self, /, **arguments):
    global made, before
    made += 1
    if made == first:
        before = cpu()
    return call(self, **arguments)

def __call__(self, /, *, seed, **params):
    return counted(self, seed=seed, **params)

program.Program.__call__ = __call__
try:
    main()
finally:
    print(cpu() - before, file=sys.stderr)
"""


def tune(folder: Path, seconds: float, evaluations: int, first: int, jobs: int, seed: int):
    """Own times of the programs in order, the processor time, and the points of the journal."""
    log, journal = folder / "times", folder / "run.jsonl"
    command = [
        sys.executable, "-c", CPU, str(first), "tune", "--maximize", "--evaluations",
        str(evaluations), "--jobs", str(jobs), "--journal", str(journal), "--seed", str(seed),
        *(part for name in "abcdef" for part in ("-p", f"{name}=0.0:1.0")), "--",
        "sh", "-c", PROGRAM.replace("{", "{{").replace("}", "}}"), "sh",
        str(seconds), *(f"{{{name}}}" for name in "abcdef"), "{seed}", str(log),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    points = {json.dumps(e["params"]) for e in events if e["event"] == "ask"}
    return times(log), float(done.stderr.splitlines()[-1]), len(points)


def baseline(folder: Path, seconds: float, evaluations: int, jobs: int):
    """The same programs, run by threads that do nothing else."""
    log = folder / "baseline"

    def run(i: int) -> None:
        arguments = ["sh", "-c", PROGRAM, "sh", str(seconds), *"000000", str(i), str(log)]
        subprocess.run(arguments, capture_output=True, check=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, range(evaluations)))
    return times(log)


def times(log: Path) -> list[tuple[float, float]]:
    rows = [line.split() for line in log.read_text().splitlines()]
    return sorted((int(start) / 1e9, int(end) / 1e9) for start, end in rows)


def idle(spans: list[tuple[float, float]], first: int, jobs: int) -> float:
    """Mean seconds between the end of a program and the start of the next in its place."""
    ended = sorted(end for _, end in spans)
    # The i-th start takes the place of the program that ended as the (i - jobs)-th.
    gaps = [start - ended[i - jobs] for i, (start, _) in enumerate(spans) if i >= first]
    return statistics.mean(gaps)


def contention() -> float:
    """Wall seconds that 50 ms of processor time take."""
    taken = []
    for _ in range(10):
        began, used = time.perf_counter(), time.process_time()
        while time.process_time() - used < 0.05:
            pass
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.5, help="that a program sleeps")
    parser.add_argument("--evaluations", type=int, default=160)
    parser.add_argument("--from", type=int, default=110, dest="first")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(f"commit {commit()}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    found = []
    for seed in range(given.seeds):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            spans, cpu, points = tune(
                Path(folder), given.seconds, given.evaluations, given.first, given.jobs, seed
            )
            alone = baseline(Path(folder), given.seconds, 40, given.jobs)
        late = spans[given.first :]
        own = statistics.median(end - start for start, end in late)
        slot = idle(spans, given.first, given.jobs)
        found.append(slot / given.jobs)
        print(
            f"seed {seed}: {points} points; evaluations {given.first} to {given.evaluations} of "
            f"{own:.2f} s each: slot {1e3 * slot:.1f} ms, wall {1e3 * found[-1]:.1f} ms, cpu "
            f"{1e3 * cpu / len(late):.1f} ms; slot of threads alone "
            f"{1e3 * idle(alone, given.jobs, given.jobs):.1f} ms; 50 ms of cpu take "
            f"{1e3 * contention():.0f} ms; {time.monotonic() - began:.0f} s"
        )
    print(f"median wall {1e3 * statistics.median(found):.1f} ms an evaluation beyond the programs")


if __name__ == "__main__":
    main()
