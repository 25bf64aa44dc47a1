"""Programs as objectives: values, failures with their reasons, time-outs, kills."""

import os
import signal
import sys
import threading
import time

import pytest

from rahbo.cli.program import REASON, Done, FailedError, Program, Workers
from rahbo.cli.template import Template
from rahbo.cli.values import END, json_reader, last_number


def program(source, *arguments, read=last_number, **keywords):
    text = source.replace("{", "{{").replace("}", "}}")
    template = Template.of([sys.executable, "-S", "-c", text, *arguments])
    return Program(template, read, **keywords)


def failure(made, **params):
    with pytest.raises(FailedError) as failed:
        made(seed=0, **params)
    assert repr(failed.value) == str(failed.value)
    return str(failed.value)


def wait_for(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_parameters_and_seed_go_in_and_a_value_comes_out():
    told = []
    made = program(
        "import sys; print('a', float(sys.argv[1]) + int(sys.argv[2]))", "{x}", "{seed}",
        tell=told.append,
    )  # fmt: skip
    assert made.mean_seconds == float("inf")
    assert made(x=0.5, seed=3) == 3.5
    assert told == [Done({"x": 0.5}, 3.5)]
    assert 0.0 < made.mean_seconds < 60.0


def test_names_of_parameters_may_be_those_of_python():
    made = program("import sys; print(sys.argv[1])", "{self}{a.b}")
    assert made(seed=0, **{"self": 1, "a.b": 2}) == 12.0


def test_a_failure_says_why_and_keeps_the_end_of_stderr():
    told = []
    made = program("import sys; print(1); sys.exit('x' * 5000 + ' the end')", tell=told.append)
    said = failure(made)
    assert said.startswith("exit code 1: x")
    assert said.endswith("the end")
    assert len(said) < REASON + 20
    assert told == [Done({}, None, said)]


def test_output_without_a_value_is_a_failure():
    noisy = program("import sys; print('none', file=sys.stderr); print('nothing')")
    assert failure(noisy) == "the output holds no number: none"
    key = program("print('{\"a\": 1}')", read=json_reader("b"))
    assert failure(key) == "the JSON output has no key 'b'"


def test_bytes_that_are_no_text_do_no_harm():
    made = program("import sys; sys.stdout.buffer.write(b'\\xff\\x00 1.5 \\xfe')")
    assert made(seed=0) == 1.5


def test_only_the_end_of_a_huge_output_is_read():
    made = program("import sys; sys.stdout.write('7 ' + 'x ' * 5_000_000)")
    assert failure(made) == f"the output holds no number (its last {END} bytes)"
    assert program("import sys; sys.stdout.write('x ' * 5_000_000 + '7')")(seed=0) == 7.0


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_program_is_a_failure():
    made = program("import os; os.kill(os.getpid(), 9)")
    assert failure(made) == "killed by signal SIGKILL"


def test_a_program_that_cannot_be_run_is_a_failure(tmp_path):
    made = Program(Template.of([str(tmp_path / "none")]), last_number)
    assert failure(made).startswith("cannot be run: ")


CHILDREN = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "w").write(str(child.pid)); print("begun", file=sys.stderr, flush=True)
time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc"), reason="looks at processes")
def test_a_time_out_kills_the_children_too(tmp_path):
    pid = tmp_path / "pid"
    made = program(CHILDREN, str(pid), timeout=3.0)
    started = time.monotonic()
    assert failure(made) == "timed out after 3 s: begun"
    assert time.monotonic() - started < 60.0
    wait_for(lambda: not is_alive(pid.read_text()))


def test_a_program_in_time_is_not_out_of_time():
    assert program("print(1)", timeout=60.0)(seed=0) == 1.0


@pytest.mark.skipif(not os.path.exists("/proc"), reason="looks at processes")
def test_a_process_left_behind_keeps_nobody_waiting(tmp_path):
    pid = tmp_path / "pid"
    made = program(CHILDREN.replace("time.sleep(600)\n", "print(2)\n"), str(pid))
    try:
        assert made(seed=0) == 2.0
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)


@pytest.mark.skipif(not os.path.exists("/proc"), reason="looks at processes")
def test_killed_programs_end_at_once_and_later_ones_do_not_begin(tmp_path):
    pid, told = tmp_path / "pid", []
    made = program(CHILDREN, str(pid), tell=told.append)
    workers = Workers(made, 1)
    future = workers.submit(made, seed=0)
    wait_for(lambda: pid.exists() and pid.read_text())
    workers.shutdown(wait=False)
    assert "SIGKILL" in str(future.exception(timeout=60))
    wait_for(lambda: not is_alive(pid.read_text()))
    pid.unlink()
    failure(made)
    # A stopped evaluation is not reported.
    assert told == []


def test_an_evaluation_costs_little_beside_its_process():
    made = Program(Template.of(["sh", "-c", "echo 1"]), last_number, timeout=60.0)
    started = time.process_time()
    for seed in range(20):
        made(seed=seed)
    # Our own processor time, without that of the processes.
    assert (time.process_time() - started) / 20 < 0.03


def test_workers_that_are_waited_for_finish():
    made = program("print(4)")
    workers = Workers(made, 2)
    futures = [workers.submit(made, seed=i) for i in range(3)]
    workers.shutdown()
    assert [future.result() for future in futures] == [4.0] * 3
    assert threading.active_count() < 50
