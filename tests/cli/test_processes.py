"""Processes: their output, their ends, and that nothing of them is left."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import zlib

import pytest

from processes_left import FAMILY, family, is_alive, wait_for, wait_for_end_of
from rahbo.cli.keeper import descendants
from rahbo.cli.processes import END, REASON, Processes, StoppedError

linux = pytest.mark.skipif(sys.platform != "linux", reason="finds children by /proc")
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals")
PYTHON = [sys.executable, "-I", "-S", "-c"]


@pytest.fixture
def processes():
    with Processes() as made:
        yield made


def test_output_and_exit_code_come_back(processes):
    done = processes.run(
        [*PYTHON, "import sys; print(1); print('no', file=sys.stderr); sys.exit(3)"]
    )
    assert (done.code, done.late, done.out.split(), done.err.split()) == (3, False, [b"1"], [b"no"])
    assert processes.run([*PYTHON, "import sys; print(repr(sys.stdin.read()))"]).out == b"''\n"


def test_arguments_arrive_byte_for_byte(processes):
    odd = ["", " ", "a\nb", "é\u2212", "\udcff", "x" * 100_000]
    code = "import os, sys; sys.stdout.buffer.write(b'|'.join(map(os.fsencode, sys.argv[1:])))"
    done = processes.run([*PYTHON, code, *odd])
    assert done.out == b"|".join(map(os.fsencode, odd))[-END:]


def test_a_program_reads_what_it_is_given(processes):
    given = os.urandom(3_000_000)
    code = "import sys, zlib; print(zlib.crc32(sys.stdin.buffer.read()))"
    assert int(processes.run([*PYTHON, code], given=given).out) == zlib.crc32(given)
    # A program that does not read keeps nobody waiting.
    assert processes.run([*PYTHON, "print(1)"], given=given).out == b"1\n"


def test_only_the_end_of_the_output_is_kept_and_none_on_disk(processes, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")
    flood = """
import sys
for i in range(100):
    sys.stdout.buffer.write(bytes([97 + i % 3]) * 1_000_000)
    sys.stderr.buffer.write(b"y" * 10_000)
sys.stdout.buffer.write(b"the end")
sys.stderr.buffer.write(b"the end")
"""
    done = processes.run([*PYTHON, flood])
    assert done.n_out == 100_000_007
    assert done.out == b"a" * (END - 7) + b"the end"
    assert done.err == b"y" * (REASON - 7) + b"the end"


def test_what_cannot_be_run_is_an_error(processes, tmp_path):
    with pytest.raises(OSError, match="No such file"):
        processes.run([str(tmp_path / "none")])
    with pytest.raises(OSError, match="Argument list too long"):
        processes.run([*PYTHON, "", "x" * 3_000_000])
    with pytest.raises(OSError, match="null character"):
        processes.run([*PYTHON, "a\0b"])
    assert processes.run([*PYTHON, "print(1)"]).out == b"1\n"


def test_many_run_at_the_same_time(processes):
    done, code = [], "import sys; print(sys.argv[1])"

    def run(number):
        done.append((number, int(processes.run([*PYTHON, code, str(number)]).out)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [(number, number) for number in range(12)]


@posix
def test_signals_that_a_program_gets_have_their_usual_effect(processes):
    for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGPIPE", "SIGUSR1", "SIGCHLD"):
        code = f"import os, signal; os.kill(os.getpid(), signal.{name}); print(1)"
        plain = subprocess.run([*PYTHON, code], capture_output=True, check=False)
        assert processes.run([*PYTHON, code]).code == plain.returncode


@linux
@pytest.mark.slow
def test_a_time_out_ends_everything_a_program_started(processes, tmp_path):
    # On a busy machine the family needs a while to gather.
    for timeout in (3.0, 10.0, 30.0):
        program = [*PYTHON, FAMILY, str(tmp_path / "pids"), "time.sleep(600)"]
        done = processes.run(program, timeout=timeout)
        assert (done.code, done.late) == (-signal.SIGKILL, True)
        if done.err:
            break
    assert done.err == b"begun\n"
    assert [pid for pid in family(tmp_path / "pids") if is_alive(pid)] == []


@linux
@pytest.mark.slow
@pytest.mark.parametrize("then", ["print(2)", "print(2, flush=True); os.kill(os.getpid(), 9)"])
def test_what_a_program_leaves_behind_ends_with_it(then, processes, tmp_path):
    done = processes.run([*PYTHON, FAMILY, str(tmp_path / "pids"), then])
    assert done.out == b"2\n"
    assert [pid for pid in family(tmp_path / "pids") if is_alive(pid)] == []


@linux
@pytest.mark.slow
def test_a_program_does_not_end_another_ones_processes(processes, tmp_path):
    ended = []
    arguments = [*PYTHON, FAMILY, str(tmp_path / "pids"), "time.sleep(600)"]
    thread = threading.Thread(target=lambda: ended.append(processes.run(arguments)))
    thread.start()
    pids = family(tmp_path / "pids")
    processes.run([*PYTHON, FAMILY, str(tmp_path / "others"), "print(1)"])
    assert all(is_alive(pid) for pid in pids)
    processes.kill()
    thread.join()
    assert ended[0].code == -signal.SIGKILL
    assert not any(is_alive(pid) for pid in pids)
    with pytest.raises(StoppedError):
        processes.run([*PYTHON, "print(1)"])


OWNER = """
import sys
from rahbo.cli.processes import Processes
Processes().run(sys.argv[1:])
"""


@linux
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGUSR2, signal.SIGSEGV])
def test_nothing_survives_the_death_of_its_owner(number, tmp_path):
    program = [*PYTHON, FAMILY, str(tmp_path / "pids"), "time.sleep(600)"]
    with subprocess.Popen([sys.executable, "-c", OWNER, *program]) as owner:
        pids = family(tmp_path / "pids")
        helpers = descendants(owner.pid)
        assert set(pids) < set(helpers)
        owner.send_signal(number)
    wait_for_end_of(helpers)


@linux
@pytest.mark.slow
def test_a_killed_keeper_or_guard_is_replaced(processes, tmp_path):
    raised = []

    def run():
        with pytest.raises(OSError, match="watches it was killed") as error:
            processes.run([*PYTHON, FAMILY, str(tmp_path / "pids"), "time.sleep(600)"])
        raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    pids = family(tmp_path / "pids")
    (keeper,) = [pid for pid in descendants(os.getpid()) if pids[0] in descendants(pid)][:1]
    guard = next(pid for pid in descendants(keeper) if pids[0] in descendants(pid))
    os.kill(guard, signal.SIGKILL)
    thread.join()
    assert raised
    wait_for_end_of(pids)
    os.kill(keeper, signal.SIGKILL)
    wait_for(lambda: not is_alive(keeper))
    assert processes.run([*PYTHON, "print(1)"]).out == b"1\n"


@linux
def test_closing_leaves_no_process(tmp_path):
    before = set(descendants(os.getpid()))
    with Processes() as made:
        made.run([*PYTHON, "print(1)"])
        assert set(descendants(os.getpid())) > before
    assert not any(is_alive(pid) for pid in set(descendants(os.getpid())) - before)
    with pytest.raises(StoppedError):
        made.run([*PYTHON, "print(1)"])


ALONE = """
import os, socket, sys
from rahbo.cli.keeper import LENGTH, adopter, guard

ours, theirs = socket.socketpair()
command = f"echo $$ > {sys.argv[1]}; sleep 300".encode()
payload = b"\\0".join([b"sh", b"-c", command])
ours.sendall(LENGTH.pack(len(payload)) + payload)
ours.close()
files = [os.open(os.devnull, os.O_RDWR) for _ in range(3)]
print(guard(theirs, files, adopter()()))
"""


@linux
@pytest.mark.slow
def test_a_program_whose_owner_died_before_it_started_is_killed(tmp_path):
    path = tmp_path / "pid"
    done = subprocess.run([sys.executable, "-c", ALONE, path], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == f"{-signal.SIGKILL:d}\n"
    if path.exists() and path.read_text():
        assert not is_alive(int(path.read_text()))
