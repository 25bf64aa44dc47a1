"""Objectives that worker processes can import, each a function of its parameters and seed."""

import os
import signal
import sys
import threading
import time
from random import Random

import numpy as np


def noisy(x, seed):
    """A parabola with its maximum at 0.6 whose noise grows with x."""
    return -((x - 0.6) ** 2) + 0.05 * (1 + x) * np.random.default_rng(seed).standard_normal()


GENERATOR = Random(0)


def from_its_module(x):
    """Its noise comes from a generator that was made at import, here in a loop."""
    return x + sum(GENERATOR.gauss(0.0, 1.0) for _ in range(2))


def slow(x, seed):
    """It takes a moment, so that a worker can be killed meanwhile."""
    time.sleep(0.01)
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


def refuse():
    """An initializer that fails."""
    raise RuntimeError("no licence")


def lingering(x, seed):
    """It leaves a thread behind for which Python waits at exit."""
    threading.Thread(target=time.sleep, args=(100.0,)).start()
    return noisy(x, seed)


def broken(x):
    """Every evaluation fails."""
    raise ValueError("no beam")


def deadly_or_endless(x, seed):
    """In the upper part it kills its worker, in the middle it takes much too long."""
    if x > 1.5:
        os.kill(os.getpid(), signal.SIGKILL)
    if x > 1.0:
        time.sleep(60.0)
    return noisy(x, seed)


def on_demand(do, path=None):
    """It does what it is told to, and returns the number of its process."""
    if do == "exit":
        os._exit(3)
    if do == "abort":
        os.abort()
    if do == "wait":
        time.sleep(0.3)
    if do == "fork and die":
        child = os.fork()
        if child == 0:
            time.sleep(600.0)
        path.write_text(str(child))
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()
