"""How much longer `import rahbo` takes than the libraries it cannot do without.

Every import is timed inside a fresh interpreter, so the start of Python itself is not counted.
The two are interleaved, so that a busy spell of the machine hits both.

    python bench/import_time.py --repetitions 15
"""

import argparse
import statistics
import subprocess
import sys

BASELINE = "import numpy, scipy.linalg, scipy.optimize"
PACKAGE = "import rahbo"
MIN_REPETITIONS = 15


def seconds_to_run(statement: str) -> float:
    """Time one statement in a fresh interpreter."""
    program = (
        "from time import perf_counter\n"
        "start = perf_counter()\n"
        f"{statement}\n"
        "print(perf_counter() - start)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def interleaved(statements: list[str], repetitions: int) -> dict[str, list[float]]:
    """Time each statement `repetitions` times, in turn, the first one alternating."""
    times: dict[str, list[float]] = {statement: [] for statement in statements}
    for statement in statements:
        seconds_to_run(statement)  # fills the disk cache and writes the .pyc files
    for i in range(repetitions):
        for statement in statements if i % 2 == 0 else reversed(statements):
            times[statement].append(seconds_to_run(statement))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=2 * MIN_REPETITIONS + 1)
    repetitions = parser.parse_args().repetitions
    if repetitions < MIN_REPETITIONS:
        parser.error(f"--repetitions must be at least {MIN_REPETITIONS}, got {repetitions}")
    times = interleaved([BASELINE, PACKAGE], repetitions)
    for statement, seconds in times.items():
        low, median, high = statistics.quantiles(seconds, n=4)
        print(f"{median * 1e3:7.1f} ms  (quartiles {low * 1e3:.1f} to {high * 1e3:.1f})", statement)
    ratio = statistics.median(times[PACKAGE]) / statistics.median(times[BASELINE])
    print(f"ratio of medians {ratio:.3f} over {repetitions} fresh processes each")


if __name__ == "__main__":
    main()
