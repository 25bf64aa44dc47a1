"""Processes: their output, their ends, and that nothing of them is left."""

import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import zlib

import pytest

from processes_left import FAMILY, family, is_alive, wait_for, wait_for_end_of
from rahbo.cli.keeper import members
from rahbo.cli.processes import END, KEEPER, REASON, Processes, StoppedError

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
    # One that ends without reading is not a problem.
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
    with pytest.raises(OSError, match="No such file") as error:
        processes.run([str(tmp_path / "none")])
    assert error.value.errno == errno.ENOENT
    with pytest.raises(OSError, match="Argument list too long"):
        processes.run([*PYTHON, "", "x" * 3_000_000])
    with pytest.raises(OSError, match="null character"):
        processes.run([*PYTHON, "a\0b"])
    assert processes.run([*PYTHON, "print(1)"]).out == b"1\n"


SMALL = """
import sys
from rahbo.cli.processes import Processes
with Processes() as processes, open(sys.argv[1], "wb") as file:
    done = processes.run(["sh", "-c", "echo 1; echo 2 >&2; exit 3"])
    file.write(done.out + done.err + b"%d" % done.code)
"""


@posix
def test_closed_standard_files_are_not_needed(tmp_path):
    command = [sys.executable, "-c", SMALL, str(tmp_path / "done")]
    subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *command], check=True)
    assert (tmp_path / "done").read_text() == "1\n2\n3"


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
    for name in ("TERM", "HUP", "INT", "PIPE", "XFSZ", "USR1", "CHLD"):
        command = ["sh", "-c", f"kill -{name} $$; echo 1"]
        plain = subprocess.run(command, capture_output=True, check=False)
        assert processes.run(command).code == plain.returncode


@linux
def test_a_program_has_three_open_files(processes):
    code = "import os; print(os.listdir('/proc/self/fd'))"
    # The fourth is the folder that is listed.
    assert processes.run([*PYTHON, code]).out == b"['0', '1', '2', '3']\n"


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
        all_of_it = members(pids[0])
        # The keeper, too.
        assert set(all_of_it) > set(pids)
        owner.send_signal(number)
    wait_for_end_of(all_of_it)


# A program and its child show their ids as names of files in the folder `argv[1]`, then sleep.
SLEEPER = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(0, signal.SIGTERM)
os.fork()
open(f"{sys.argv[1]}/{os.getpid()}", "w").close()
time.sleep(600)
"""


def sleepers(folder):
    """The ids of a program and its child; waits for them."""
    wait_for(lambda: len(list(folder.iterdir())) == 2)
    return [int(path.name) for path in folder.iterdir()]


@linux
@pytest.mark.slow
def test_signals_that_a_program_sends_to_its_group_spare_the_keeper(tmp_path):
    command = [sys.executable, "-c", OWNER, *PYTHON, SLEEPER, str(tmp_path)]
    with subprocess.Popen(command) as owner:
        pids = sleepers(tmp_path)
        owner.kill()
    wait_for_end_of(pids)


# The keeper as on a system without /proc, where it finds nothing but the group of the program.
WITHOUT_PROC = f"""
import os, runpy
def no_such_folder(path):
    raise FileNotFoundError(path)
os.listdir = no_such_folder
runpy.run_path({KEEPER!r}, run_name="__main__")
"""


@posix
@pytest.mark.parametrize("keeper", [[KEEPER], ["-c", WITHOUT_PROC]], ids=["proc", "no proc"])
def test_a_program_whose_owner_died_before_it_started_is_killed(keeper, tmp_path):
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        done = subprocess.run(
            [sys.executable, *keeper, str(theirs.fileno()), *PYTHON, SLEEPER, str(tmp_path)],
            pass_fds=[theirs.fileno()], start_new_session=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == -signal.SIGKILL


@linux
def test_a_program_without_its_keeper_ends_too(processes, tmp_path):
    ended = []
    arguments = [*PYTHON, SLEEPER, str(tmp_path)]
    thread = threading.Thread(target=lambda: ended.append(processes.run(arguments)))
    thread.start()
    pids = sleepers(tmp_path)
    (keeper,) = set(members(os.getsid(pids[0]))) - set(pids)
    os.kill(keeper, signal.SIGKILL)
    wait_for_end_of([keeper])
    assert all(map(is_alive, pids))
    processes.kill()
    thread.join()
    wait_for_end_of(pids)
    assert ended[0].code == -signal.SIGKILL


@posix
def test_a_program_has_no_child_that_it_did_not_start(processes):
    code = "import os; print(os.fork() and os.wait() and 1, flush=True); os.wait()"
    done = processes.run([*PYTHON, code])
    assert b"ChildProcessError" in done.err


def test_where_there_are_no_sessions_the_program_alone_is_killed(processes, monkeypatch):
    monkeypatch.setattr("rahbo.cli.processes.HAS_SESSIONS", False)
    assert processes.run([*PYTHON, "print(1)"]).out.split() == [b"1"]
    done = processes.run([*PYTHON, "import time; time.sleep(60)"], timeout=0.1)
    assert done.late
    assert done.code != 0


@linux
def test_a_process_that_has_ended_is_no_member_of_a_session():
    with subprocess.Popen(["true"], start_new_session=True) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert members(process.pid) == []


@linux
def test_when_a_program_has_ended_nothing_of_it_is_left(processes):
    done = processes.run([*PYTHON, "import os; print(os.getpid())"])
    # The keeper may be about to end.
    wait_for(lambda: members(int(done.out)) == [])


ADOPTER = """
import ctypes, os, sys
from rahbo.cli.processes import Processes

# Like process 1 of a container.
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
with Processes() as processes:
    print(processes.run(["sh", "-c", "sleep 600 & echo 1"]).out)
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("none")
"""


@linux
@pytest.mark.slow
def test_a_run_that_adopts_what_programs_leave_has_no_zombies():
    done = subprocess.run([sys.executable, "-c", ADOPTER], capture_output=True, text=True)
    assert done.stdout == "b'1\\n'\nnone\n"
