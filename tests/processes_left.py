"""Programs that start other processes, and a look at which of them are still there."""

import time
from pathlib import Path

# Starts three processes that sleep: a child, a child with a session of its own, and a daemon whose
# parent has ended. Writes their ids and its own into the file `argv[1]`, then goes on with argv[2].
FAMILY = """
import os, subprocess, sys, time
path, then = sys.argv[1:3]
SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
pids = [os.getpid()]
pids.append(subprocess.Popen(SLEEP).pid)
pids.append(subprocess.Popen(SLEEP, start_new_session=True).pid)
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writing, str(os.getpid()).encode())
        time.sleep(600)
    os._exit(0)
os.wait()
pids.append(int(os.read(reading, 20)))
with open(path + ".new", "w") as file:
    file.write(" ".join(map(str, pids)))
os.rename(path + ".new", path)
print("begun", file=sys.stderr, flush=True)
exec(then)
"""


def is_alive(pid):
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition, seconds=60.0):
    """Wait until a condition holds; fail if that takes too long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def family(path):
    """The ids that FAMILY wrote; waits for them."""
    wait_for(path.exists)
    return [int(pid) for pid in path.read_text().split()]


def wait_for_end_of(pids):
    """Wait until no process of a list is alive."""
    wait_for(lambda: not any(is_alive(pid) for pid in pids))
