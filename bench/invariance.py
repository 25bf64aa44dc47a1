"""Whether 200 random problems, and runs of nine kinds, go the same way in all units.

    python bench/invariance.py                 200 problems and the runs, about four minutes
    python bench/invariance.py --first 200     200 others

Each problem is told as y and as a·y + b, with a from 1e-6 to 1e6 and b up to 1e6 standard
deviations. Every difference above 1e-6 is printed: of a range for settings, of the spread for
numbers. Runs ask 25 times, in four units each.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from rescaled import RUNS, Unit, differences, problem, run_in, unit_for

SAME = 1e-6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="number of the first problem (0)")
    parser.add_argument("--problems", type=int, default=200)
    args = parser.parse_args()
    began, unlike = time.perf_counter(), 0
    for number in range(args.first, args.first + args.problems):
        found = problem(number)
        unit = unit_for(found)
        sizes = differences(found, unit, Unit(37.0, -5.0) if found.limited else Unit())
        large = {name: f"{size:.1e}" for name, size in sizes.items() if size > SAME}
        if large:
            unlike += 1
            print(number, found.space, found.shape, found.noise, unit, large)
    for kind in RUNS:
        points, best = run_in(Unit(), kind, args.first, 25)
        for unit in (Unit(37.0, -1e5), Unit(1e-5, 3.0), Unit(1e6), Unit(0.3, 1e2)):
            others, other = run_in(unit, kind, args.first, 25)
            apart = np.abs(points - others).max() if points.shape == others.shape else np.inf
            if apart > SAME or best.params != other.params:
                unlike += 1
                print("run:", kind, unit, apart, best.params, other.params)
    seconds = time.perf_counter() - began
    print(f"{unlike} differ of {args.problems} problems and {4 * len(RUNS)} runs; {seconds:.0f} s")


if __name__ == "__main__":
    main()
