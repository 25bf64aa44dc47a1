"""Follow one value through the package: calls, calls between modules, and who calls whom.

    python bench/trace.py            the table that CONTRIBUTING prints
    python bench/trace.py --edges    with every pair of modules

A run with one input and 22 evaluations asks and tells by hand. Every Python call of a function of
the package is counted by `sys.setprofile`, in the last round with a search that learns
hyperparameters again, in one that does not, and in a recommendation. Nothing here is timed.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import rahbo

PACKAGE = Path(rahbo.__file__).parent
EVALUATIONS = 22


class Trace:
    """Counts calls of the package's functions while it is on."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.edges: Counter[tuple[str, str]] = Counter()

    def of(self, function: Callable[[], object]) -> Trace:
        """Call a function and count."""
        sys.setprofile(self._seen)
        try:
            function()
        finally:
            sys.setprofile(None)
        return self

    def _seen(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or (here := _module(frame)) is None:
            return
        name = frame.f_code.co_qualname
        self.calls[f"{here}.{name}"] += 1
        caller = frame.f_back
        while caller is not None and _module(caller) is None:
            caller = caller.f_back
        there = None if caller is None else _module(caller)
        if there is not None and there != here:
            self.edges[there, here] += 1

    @property
    def modules(self) -> set[str]:
        """The modules that took part."""
        return {name for edge in self.edges for name in edge}

    def line(self, what: str) -> str:
        """Return the counts as a row of a table."""
        numbers = (self.calls.total(), self.edges.total(), len(self.modules), len(self.edges))
        return f"| {what} | " + " | ".join(f"{n:,}" for n in numbers) + " |"


def _module(frame: FrameType) -> str | None:
    path = frame.f_code.co_filename
    if not path.startswith(str(PACKAGE)):
        return None
    return str(Path(path).relative_to(PACKAGE).with_suffix("")).replace("/", ".")


def _round(optimizer: rahbo.Optimizer, objective: Callable[[float], float]) -> None:
    suggestion = optimizer.ask()
    optimizer.tell(suggestion, [objective(**suggestion.params) for _ in suggestion.indices])


def traces() -> dict[str, Trace]:
    """Return the traces by name."""
    rng = random.Random(0)

    def objective(x: float) -> float:
        return math.sin(6.0 * x) + (0.1 + x) * rng.gauss(0.0, 0.3)

    optimizer = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
    found: dict[str, Trace] = {}
    while optimizer.n_evaluations < EVALUATIONS:
        one = Trace().of(lambda: _round(optimizer, objective))
        searched = any("search.maximise_widened" in name for name in one.calls)
        fits = any("learning.learn" in name for name in one.calls)
        if searched:
            found["a round with a refit" if fits else "a round without"] = one
    found["a recommendation"] = Trace().of(optimizer.recommend)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", action="store_true", help="print every pair of modules too")
    parser.add_argument("--calls", action="store_true", help="print every function too")
    args: Any = parser.parse_args()
    print("| | calls | between modules | modules | pairs of modules |")
    print("|---|---|---|---|---|")
    found = traces()
    for name, trace in found.items():
        print(trace.line(name))
    for name, trace in found.items() if args.edges or args.calls else ():
        print(f"\n{name}")
        for edge, n in trace.edges.most_common() if args.edges else ():
            print(f"{n:6} {edge[0]} -> {edge[1]}")
        for function, n in trace.calls.most_common() if args.calls else ():
            print(f"{n:6} {function}")


if __name__ == "__main__":
    main()
