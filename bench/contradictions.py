"""How often two sentences about one run contradict each other, in runs and tables of many shapes.

    python bench/contradictions.py                  500 runs, every eighth with its report
    python bench/contradictions.py --runs 100

The rules and the shapes are those of `tests/contradiction_rules.py` and `tests/run_shapes.py`.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from contradiction_rules import found_in
from run_shapes import SHAPES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    runs = parser.parse_args().runs
    began, rules, bad, shapes = time.monotonic(), Counter(), 0, list(SHAPES)
    for i in range(runs):
        shape, seed = shapes[i % len(shapes)], i // len(shapes)
        found = found_in(shape, seed, with_report=i % 8 == 0)
        bad += bool(found)
        for what in found:
            rules[what.split(":")[0]] += 1
            print(f"{shape} {seed}: {what}", flush=True)
    print(f"{runs} runs in {time.monotonic() - began:.0f} s, {bad} with a contradiction")
    for name, times in rules.most_common():
        print(f"{times:5d}  {name}")


if __name__ == "__main__":
    main()
