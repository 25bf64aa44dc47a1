"""Programs as objectives: values, failures with their reasons, time-outs, kills."""

import errno
import os
import sys
import threading

import pytest

from processes_left import FAMILY, family, is_alive, wait_for
from rahbo.cli.printed import last_number
from rahbo.cli.processes import END, REASON, Ended, Processes
from rahbo.cli.program import FailedError, Program, Workers
from rahbo.cli.template import Template
from rahbo.cli.values import json_reader


@pytest.fixture
def program():
    with Processes() as processes:

        def made(source, *arguments, read=last_number, **keywords):
            text = source.replace("{", "{{").replace("}", "}}")
            template = Template.of([sys.executable, "-S", "-c", text, *arguments])
            return Program(template, read, processes, **keywords)

        yield made


def failure(made, **params):
    with pytest.raises(FailedError) as failed:
        made(seed=0, **params)
    assert repr(failed.value) == str(failed.value)
    return str(failed.value)


def test_parameters_and_seed_go_in_and_a_value_comes_out(program):
    made = program("import sys; print('a', float(sys.argv[1]) + int(sys.argv[2]))", "{x}", "{seed}")
    assert made(x=0.5, seed=3) == 3.5
    assert made.values == {3: 3.5}


def test_names_of_parameters_may_be_those_of_python(program):
    made = program("import sys; print(sys.argv[1])", "{self}{a.b}")
    assert made(seed=0, **{"self": 1, "a.b": 2}) == 12.0


def test_a_failure_says_why_and_keeps_the_end_of_stderr(program):
    made = program("import sys; print(1); sys.exit('x' * 5000 + ' the end')")
    said = failure(made)
    assert said.startswith("exit code 1: x")
    assert said.endswith("the end")
    assert len(said) < REASON + 20
    assert made.values == {}


def test_output_without_a_value_is_a_failure(program):
    noisy = program("import sys; print('none', file=sys.stderr); print('nothing')")
    assert failure(noisy) == "the output holds no number: none"
    key = program("print('{\"a\": 1}')", read=json_reader("b"))
    assert failure(key) == "the JSON output has no key 'b'"


def test_bytes_that_are_no_text_do_no_harm(program):
    made = program("import sys; sys.stdout.buffer.write(b'\\xff\\x00 1.5 \\xfe')")
    assert made(seed=0) == 1.5


def test_only_the_end_of_a_huge_output_is_read(program):
    made = program("import sys; sys.stdout.write('7 ' + 'x ' * 5_000_000)")
    assert failure(made) == f"the output holds no number (its last {END} bytes)"
    assert program("import sys; sys.stdout.write('x ' * 5_000_000 + '7')")(seed=0) == 7.0


def test_a_number_is_not_read_without_its_beginning(program):
    # The last END bytes start within the number.
    made = program(f"import sys; sys.stdout.write('12345' + ' x' * {END // 2 - 1})")
    assert failure(made) == f"the output holds no number (its last {END} bytes)"


@pytest.mark.parametrize(
    "long", ["x" * 90_000, "[" * 60_000, '{"a": "' + "x" * 50_000 + '"}'], ids=["x", "[", "{"]
)
def test_every_reason_is_bounded(long, program, tmp_path):
    source = f"import sys; sys.stderr.write({long!r}); sys.stdout.write({long!r})"
    for read in (last_number, json_reader("a"), json_reader("a.b")):
        assert len(failure(program(source, read=read))) < 2 * REASON + 100
    with Processes() as processes:
        made = Program(Template.of([str(tmp_path / ("x" * 5000))]), last_number, processes)
        assert len(failure(made)) <= REASON


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_program_is_a_failure(program):
    made = program("import os; os.kill(os.getpid(), 9)")
    assert failure(made) == "killed by signal SIGKILL"


def test_a_program_that_cannot_be_run_is_a_failure(tmp_path):
    with Processes() as processes:
        made = Program(Template.of([str(tmp_path / "none")]), last_number, processes)
        assert failure(made).startswith("cannot be run: ")


def test_a_program_is_out_of_time_or_in_time(program):
    late = program("import time; time.sleep(600)", timeout=0.3)
    assert failure(late) == "timed out after 0.3 s"
    assert program("print(1)", timeout=60.0)(seed=0) == 1.0


@pytest.mark.skipif(not os.path.exists("/proc"), reason="looks at processes")
def test_killed_programs_end_at_once_and_later_ones_do_not_begin(program, tmp_path):
    path = tmp_path / "pids"
    made = program(FAMILY, str(path), "time.sleep(600)")
    workers = Workers(made, 1)
    future = workers.submit(made, seed=0)
    pids = family(path)
    workers.shutdown(wait=False)
    # The threads have ended too, so every value that was read is known.
    assert future.done()
    assert "SIGKILL" in str(future.exception())
    assert not any(is_alive(pid) for pid in pids)
    path.unlink()
    assert failure(made) == "stopped"
    assert not path.exists()


def test_workers_that_are_waited_for_finish(program):
    made = program("print(4)")
    workers = Workers(made, 2)
    futures = [workers.submit(made, seed=i) for i in range(3)]
    workers.shutdown()
    assert [future.result() for future in futures] == [4.0] * 3
    wait_for(lambda: threading.active_count() < 50)


class Crowded:
    """A machine on which a process can be started only at the third attempt."""

    def __init__(self, number):
        self.number, self.attempts = number, 0

    def run(self, arguments, timeout):
        self.attempts += 1
        if self.attempts < 3:
            raise OSError(self.number, os.strerror(self.number))
        return Ended(0, False, b"4.5", b"", 3)


def test_a_crowded_machine_is_no_failure_of_the_program(monkeypatch):
    monkeypatch.setattr("rahbo.cli.program.WAITS", (0.0, 0.0, 0.0))
    template = Template.of(["program", "{x}"])
    for number in (errno.EMFILE, errno.EAGAIN, errno.ENOMEM):
        crowded = Crowded(number)
        assert Program(template, last_number, crowded)(x=1.0, seed=0) == 4.5
        assert crowded.attempts == 3
    missing = Program(template, last_number, Crowded(errno.ENOENT))
    assert failure(missing, x=1.0).startswith("cannot be run: [Errno 2]")
