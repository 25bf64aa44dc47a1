import os
import subprocess
import sys

import numpy as np
import pytest

from rahbo.numerics import sobol_sequence


def test_it_is_the_sequence_of_scipy():
    from scipy.stats import qmc

    ours = sobol_sequence(3, np.random.default_rng(0)).random(8)
    theirs = qmc.Sobol(3, scramble=True, rng=np.random.default_rng(0)).random(8)
    np.testing.assert_array_equal(ours, theirs)


# Interrupts itself while scipy.stats is being imported, the first time it is needed.
INTERRUPTED = """
import signal, sys, threading, time
import rahbo

def raised(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, raised)
opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)

def interrupt():
    while "scipy.stats" not in sys.modules:
        time.sleep(1e-4)
    time.sleep(float(sys.argv[1]))
    signal.raise_signal(signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
interrupted = False
try:
    while True:
        opt.tell(opt.ask(), 1.0)
except KeyboardInterrupt:
    interrupted = True
assert interrupted
opt.tell(opt.ask(), 1.0)
opt.recommend()
"""


@pytest.mark.slow
@pytest.mark.parametrize("delay", ["0", "0.05", "0.2"])
def test_an_interrupted_import_does_no_harm(delay):
    command = [sys.executable, "-c", INTERRUPTED, delay]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.returncode == 0, done.stderr


AT_EXIT = """
import atexit, rahbo
opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
atexit.register(lambda: print(opt.ask().id))
"""


@pytest.mark.slow
def test_it_is_imported_at_exit_too():
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0\n", "")
