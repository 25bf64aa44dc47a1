"""Whether 200 random problems are answered the same in random units.

    python bench/invariance.py                 200 problems, about two minutes
    python bench/invariance.py --first 200     200 others

Each is told as y and as a·y + b, with a from 1e-6 to 1e6 and b up to 1e6 standard deviations. Every
difference above 1e-6 is printed: of a range for settings, of the spread for numbers.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from rescaled import Unit, differences, problem, unit_for

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
    seconds = time.perf_counter() - began
    print(f"{unlike} of {args.problems} problems differ; {seconds:.0f} s")


if __name__ == "__main__":
    main()
