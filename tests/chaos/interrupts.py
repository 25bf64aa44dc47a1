"""Interrupts at random times within ``ask`` and ``tell``, and within ``maximize``.

    python tests/chaos/interrupts.py --optimizers 80 --runs 1000

For ``ask`` and ``tell``, a timer raises KeyboardInterrupt, as Ctrl-C does, and the same object is
kept. Whatever else comes out of a call is an error. Afterwards the journal must hold what memory
holds, and ``ask`` must return every suggestion that an interrupted call had opened. ``maximize``
gets the signal of Ctrl-C. It must have every value that the objective returned.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import rahbo
from rahbo.journal import read
from rahbo.trials import Suggestion, Trial

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0), "k": ["a", "b", "c"], "n": rahbo.Int(1, 9)}
TRIALS, MOST_INTERRUPTS = 10, 60


class Timer:
    """Raises KeyboardInterrupt within a call after some seconds, once."""

    def __init__(self) -> None:
        self._armed = False
        signal.signal(signal.SIGALRM, self._ring)

    def _ring(self, *_: object) -> None:
        if self._armed:
            self._armed = False
            raise KeyboardInterrupt

    def within(self, seconds: float, call: Callable[[], None]) -> bool:
        """Make a call and return whether it was interrupted."""
        try:
            try:
                self._armed = True
                signal.setitimer(signal.ITIMER_REAL, seconds)
                call()
            finally:
                self._armed = False
                signal.setitimer(signal.ITIMER_REAL, 0.0)
        except KeyboardInterrupt:
            return True
        return False


def disturb(seed: int, journal: Path, timer: Timer) -> int:
    """Run one optimizer under interrupts, check it, and return how many there were."""
    random, interrupts = Random(seed), 0
    opt = rahbo.Optimizer(SPACE, seed=seed, n_initial=4, journal=journal)
    received: dict[int, Suggestion] = {}

    def work() -> None:
        suggestion = opt.ask()
        received[suggestion.id] = suggestion
        for repeat in suggestion.indices:
            opt.tell(suggestion, suggestion.params["x"] + random.random(), repeat=repeat)

    while len(opt.trials) < TRIALS and interrupts < MOST_INTERRUPTS:
        # Longer and longer, so that a slow machine also gets on.
        interrupts += timer.within(random.uniform(2e-4, 0.05 * 1.1**interrupts), work)
    lost = {suggestion.id for suggestion in opt.open} - received.keys()
    again = {suggestion.id for suggestion in opt.ask(len(lost) + 1)}
    assert lost <= again, f"seed {seed}: suggestions {lost - again} are never handed out"
    assert state(read(journal)[1]) == state(opt.trials), f"seed {seed}: the journal differs"
    opt.close()
    return interrupts


def stop_a_run(seed: int, journal: Path) -> bool:
    """Interrupt one call of ``maximize`` and check it. Return whether that ended it."""
    random, measured = Random(seed), []

    def objective(x: float, y: float, k: str, n: int) -> float:
        measured.append(x + random.random())
        return measured[-1]

    ended = True
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    try:
        # Most runs take longer.
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-3, 0.5))
        result = rahbo.maximize(objective, SPACE, evaluations=40, seed=seed, journal=journal)
        ended = result.stopped_by == "interrupt"
        assert state(read(journal)[1]) == state(result.trials), f"seed {seed}: the journal differs"
    except KeyboardInterrupt:
        pass  # before the first value, or after the run
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    if journal.exists():
        told = [v for trial in read(journal)[1] for v in trial.values.values()]
        # Ctrl-C may come in the objective, after its measurement and before it returns.
        assert told == measured[: len(told)]
        assert len(measured) - len(told) <= 1, f"seed {seed}: {len(measured)}, {len(told)} told"
    return ended


def state(trials: Iterable[Trial]) -> list[object]:
    return [(t.id, t.params, dict(t.values), t.n_requested, t.cancelled) for t in trials]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--optimizers", type=int, default=400)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    timer, total = Timer(), 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.first_seed, given.first_seed + given.optimizers):
            total += disturb(seed, Path(folder, f"{seed}.jsonl"), timer)
        stops = [stop_a_run(seed, Path(folder, f"run{seed}.jsonl")) for seed in range(given.runs)]
    print(json.dumps({
        "optimizers": given.optimizers, "interrupts": total, "runs": given.runs,
        "ended": sum(stops),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
