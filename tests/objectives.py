"""Objectives that worker processes can import, each a function of its parameters and seed."""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from random import Random, SystemRandom

import numpy as np


def noisy(x, seed):
    """A parabola with its maximum at 0.6 whose noise grows with x."""
    return -((x - 0.6) ** 2) + 0.05 * (1 + x) * np.random.default_rng(seed).standard_normal()


GENERATOR, SYSTEM = Random(0), SystemRandom()


def from_its_module(x):
    """Its noise comes from a generator that was made at import, here in a loop."""
    return x + sum(GENERATOR.gauss(0.0, 1.0) for _ in range(2))


def by_a_helper(x, scale):
    """A function that it calls uses such a generator."""
    return scale * from_its_module(x)


def make_generator_anew():
    """An initializer of a pool, which gives each worker its own generator."""
    global GENERATOR
    GENERATOR = Random()


class Holder:
    """It has a generator of its own, by the name of that of the module."""

    GENERATOR = SYSTEM


def from_a_namesake(x):
    """Its generator is an attribute, and not that of the module."""
    return x + Holder.GENERATOR.gauss(0.0, 1.0)


def from_the_system(x):
    """Its generator has no state that a fork could copy."""
    return x + SYSTEM.gauss(0.0, 1.0)


def from_numpy(x):
    """Its noise comes from NumPy's own generator. No worker gets all repeats."""
    time.sleep(0.02)
    return x + np.random.normal()  # noqa: NPY002


def slow(x, seed):
    """It takes a moment, so that a worker can be killed meanwhile."""
    time.sleep(0.01)
    return noisy(x, seed)


def deadly(x, seed):
    """Every evaluation in the upper part kills its worker."""
    if x > 1.5:
        os.kill(os.getpid(), signal.SIGKILL)
    return slow(x, seed)


def hanging(x, seed):
    """Every evaluation in the upper part takes much too long."""
    if x > 1.0:
        time.sleep(60.0)
    return noisy(x, seed)


class StubbornError(Exception):
    """An exception that cannot be unpickled: its arguments are not those of its constructor."""

    def __init__(self, code, lock):
        super().__init__(f"code {code}")
        self.lock = lock


def moody(x, seed):
    """It fails in every way that is not the machine's fault."""
    if x < 0.4:
        raise StubbornError(7, threading.Lock())
    if x < 0.8:
        sys.exit("no licence")
    return float("nan") if x < 1.2 else noisy(x, seed)


def wordy(x):
    """Not a number."""
    return {"x": x}


WORKED_WITH = []


def prepare(word):
    """An initializer."""
    WORKED_WITH.append(word)


def prepared(x, seed):
    """It fails where the initializer was not called."""
    return noisy(x, seed) if WORKED_WITH == ["bench 3"] else float("nan")


def refuse():
    """An initializer that fails."""
    raise RuntimeError("no licence")


def lingering(x, seed):
    """It leaves a thread behind for which Python waits at exit."""
    threading.Thread(target=time.sleep, args=(100.0,)).start()
    return noisy(x, seed)


def tearing(x, seed):
    """In the upper part the worker dies while it sends its result."""
    if x > 1.5:
        frame = sys._getframe()
        while "result_queue" not in frame.f_locals:
            frame = frame.f_back
        messages = frame.f_locals["result_queue"]._writer.fileno()
        os.write(messages, (1_000_000).to_bytes(4, "big") + b"the beginning")
        os.kill(os.getpid(), signal.SIGKILL)
    return noisy(x, seed)


def parental(x, seed):
    """In the upper part the worker dies, but a fork of it lives on with all its open files."""
    if x > 1.5:
        if os.fork() == 0:
            time.sleep(15.0)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
    return noisy(x, seed)


def _wait_for(path):
    """Return once a file exists; raise an error if that takes too long."""
    for _ in range(6000):
        if path.exists():
            return
        time.sleep(0.01)
    raise TimeoutError(f"{path} is missing")


def leaves_a_file(x, seed, folder):
    """It leaves a file that shows that it was called."""
    Path(folder, f"call-{seed}").touch()
    return noisy(x, seed)


def scene(x, seed, folder, seeds):
    """The first task kills the pool while the second runs; later ones run in pairs or not at all.

    The second task returns the third time it starts, when it is alone.
    """
    i = seeds.index(seed)
    folder = Path(folder)
    starts = len(list(folder.glob(f"start-{i}-*")))
    (folder / f"start-{i}-{starts}").touch()
    if i == 0:
        if starts < 2:
            _wait_for(folder / f"start-1-{starts}")
        os.kill(os.getpid(), signal.SIGKILL)
    elif i == 1:
        if starts < 2:
            time.sleep(120.0)
    else:
        _wait_for(folder / f"start-{i ^ 1}-0")
    return noisy(x, seed)


def broken(x):
    """Every evaluation fails."""
    raise ValueError("no beam")


def asleep(x):
    """Every evaluation takes much too long."""
    time.sleep(60.0)
