"""Stdout and stderr that cannot be written."""

import io
import os
import subprocess
import sys
from contextlib import closing

import pytest
from click.testing import CliRunner
from rich.console import Console

import rahbo
from rahbo.cli import main
from rahbo.cli.progress import watch
from rahbo.cli.streams import QuietFile, let_go
from rahbo.running import Done

COMMANDS = (["doctor"], ["recommend"], ["recommend", "--json"], ["frontier"], ["report"])
full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")


def test_a_quiet_file_drops_what_it_cannot_write():
    closed = io.StringIO()
    closed.close()
    file = QuietFile(closed)
    assert file.write("e") == 1
    file.flush()
    ascii_only = QuietFile(io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert ascii_only.write("\N{MINUS SIGN}") == 1


def test_a_file_that_is_fine_is_not_let_go(tmp_path):
    with open(tmp_path / "file", "w") as file:
        file.write("a")
        let_go(file)
        file.write("b")
    let_go(file)
    let_go(None)
    assert (tmp_path / "file").read_text() == "ab"


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    "error", [OSError(28, "full"), BrokenPipeError(), ValueError("rich's own")]
)
def test_a_display_that_fails_goes_silent(terminal, error):
    class Failing(io.StringIO):
        fails = False

        def write(self, text):
            if self.fails:
                raise error
            return super().write(text)

    file = Failing()
    out = Console(file=QuietFile(file), force_terminal=terminal, width=80)
    optimizer = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
    optimizer.tell({"x": 0.5}, [1.0, 2.0])
    with watch(out, 9, 0) as look:
        look.evaluated(Done({"x": 0.5}, 1.0))
        file.fails = True
        look.evaluated(Done({"x": 0.5}, None, "failed"))
        look.told(optimizer.state)
        look.evaluated(Done({"x": 0.5}, 2.0))
        file.fails = False


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    with closing(rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=path)) as optimizer:
        for x in (0.1, 0.4, 0.7, 0.9):
            optimizer.tell({"x": x}, [x, x + 0.1])
    return path


def run(journal, command, **streams):
    code = "from rahbo.cli import main; main()"
    arguments = [*command, str(journal)] if command in COMMANDS else command
    if command == ["report"]:
        arguments += ["-o", str(journal.with_suffix(".html"))]
    return subprocess.run([sys.executable, "-c", code, *arguments], text=True, **streams)


@full
@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command",
    [*COMMANDS, ["--help"], ["tune", "--help"], ["demo", "--evaluations", "10"]],
    ids=" ".join,
)
def test_a_full_disk_is_one_sentence(command, unbuffered, journal):
    with open("/dev/full", "w") as nowhere:
        done = run(
            journal, command, stdout=nowhere, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "Error: The output cannot be written: No space left on device.\n"


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_closed_pipe_is_silence(command, journal):
    reading, writing = os.pipe()
    os.close(reading)
    done = run(journal, command, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


@full
@pytest.mark.slow
def test_messages_that_cannot_be_written_change_nothing(journal):
    with open("/dev/full", "w") as nowhere:
        done = run(journal, ["recommend"], stdout=subprocess.PIPE, stderr=nowhere)
        assert done.returncode == 0
        assert "90 % interval" in done.stdout
        done = run(journal.with_name("none"), ["recommend"], stdout=nowhere, stderr=nowhere)
        assert done.returncode == 2


@pytest.mark.slow
def test_a_terminal_that_cannot_show_a_character_gets_its_number(tmp_path):
    path, choice = tmp_path / "run.jsonl", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"
    with closing(rahbo.Optimizer({"x": [choice, "b"]}, journal=path)) as optimizer:
        optimizer.tell({"x": choice}, [2.0, 2.1])
        optimizer.tell({"x": "b"}, [1.0, 1.2])
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = run(path, ["recommend"], stdout=subprocess.PIPE, env=environment)
    assert done.returncode == 0
    assert "caf\\xe9" in done.stdout


def test_an_error_of_a_file_is_a_sentence(journal, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied", "some.file")

    monkeypatch.setattr("rahbo.cli.doctor.optimizer_from", refuse)
    done = CliRunner().invoke(main, ["doctor", str(journal)])
    assert done.exit_code == 1
    assert done.stderr == "Error: [Errno 13] Permission denied: 'some.file'\n"
