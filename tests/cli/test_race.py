"""`rahbo race` as a whole."""

import json
import os
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from processes_left import wait_for
from rahbo import journal as journals
from rahbo.cli import main
from rahbo.cli.race import EXIT_CODES

SCRIPT = """
import random, sys
seed, shift = int(sys.argv[1]), float(sys.argv[2])
print("loss", shift + random.Random(f"{seed} {shift}").gauss(0, 1))
"""
PYTHON = f"{sys.executable} -S"


def invoke(*arguments):
    return CliRunner().invoke(main, ["race", *map(str, arguments)])


@pytest.fixture
def noisy(tmp_path):
    """Commands whose values differ by a shift."""
    path = tmp_path / "noisy.py"
    path.write_text(SCRIPT)
    return lambda shift: f"{PYTHON} {path} {{seed}} {shift}"


def constant(value):
    return f"{PYTHON} -c 'print({value})'"


def settled(done):
    """The verdict of a race that was printed as JSON."""
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["verdict"]


@pytest.mark.slow
def test_the_verdict_is_the_same_with_several_jobs_and_after_a_kill(noisy, tmp_path):
    commands = [noisy(0), noisy(2.5), noisy(5)]
    options = ["--minimize", "--seed", "1", "--json"]
    alone = settled(invoke(*options, "--", *commands))
    assert alone["decision"] == "winner"
    assert alone["best"] == commands[0]
    low, high = alone["lead_interval"]
    assert 0.0 <= low <= alone["lead"] <= high
    assert settled(invoke(*options, "--jobs", "3", "--", *commands)) == alone

    path = tmp_path / "race.jsonl"
    options += ["--journal", str(path)]
    started = [sys.executable, "-c", "from rahbo.cli import main; main()", "race", *options]
    with subprocess.Popen(
        [*started, "--jobs", "2", "--", *commands],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        wait_for(lambda: path.exists() and path.read_bytes().count(b"\n") > 6)
        process.kill()
    assert path.read_bytes().count(b"\n") <= alone["runs"]
    assert settled(invoke(*options, "--", *commands)) == alone
    # The race is over, so the same command only says so.
    again = invoke(*options, "--", *commands)
    assert settled(again) == alone
    assert again.stderr == ""
    other = invoke("--maximize", *options[1:], "--", *commands)
    assert other.exit_code == 2
    assert "direction" in other.stderr
    recommended = CliRunner().invoke(main, ["recommend", str(path)])
    assert commands[0] in recommended.stdout


@pytest.mark.slow
def test_a_signal_ends_a_race_with_the_verdict_so_far(noisy, tmp_path):
    path = tmp_path / "race.jsonl"
    command = [
        sys.executable, "-c", "from rahbo.cli import main; main()", "race", "--minimize",
        "--evaluations", "5000", "--journal", str(path), "--", noisy(0), noisy(0.0),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for(lambda: path.exists() and path.read_bytes().count(b"\n") > 14)
        os.kill(process.pid, signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert b"Undecided" in out
    assert b"Interrupted. Run the same command again" in err


@pytest.mark.slow
def test_constant_programs_and_those_that_fail(tmp_path):
    hangs = f"{PYTHON} -c 'import time; time.sleep(60)'"
    floods = f"{PYTHON} -c 'print(7); print(\"x\" * 300000)'"
    file = tmp_path / "commands.txt"
    dies = f"{PYTHON} -c 'raise SystemExit(3)'"
    lines = ["# entrants", constant(2), "", constant(3), hangs, floods, dies]
    file.write_text("\n".join(lines))
    path = tmp_path / "race.jsonl"
    options = ["--maximize", "--timeout", "0.4", "--jobs", "4", "--journal", path, "--json"]
    verdict = settled(invoke(*options, "--file", file))
    assert verdict["best"] == constant(3)
    by_name = {each["name"]: each for each in verdict["standings"]}
    assert by_name[hangs]["last_failure"] == "timed out after 0.4 s"
    assert "holds no number (its last 65536 bytes)" in by_name[floods]["last_failure"]
    assert by_name[dies]["last_failure"] == "exit code 3"
    assert [by_name[name]["failures"] for name in (hangs, floods, dies)] == [3, 3, 3]
    trials = journals.read(path)[1]
    # With several jobs, runs are made ahead that the race does not come to.
    assert sum(len(trial.failures) for trial in trials) >= 9


def test_if_fewer_than_two_commands_run_the_reason_is_said():
    done = invoke("--minimize", "--", constant("1"), constant('"none"'))
    assert done.exit_code == 1
    assert "the output holds no number" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("challenger", "options", "decision", "code"),
    [
        (1, [], "keep", 0),
        (3, [], "discard", 10),
        (2, ["--indifferent", "0.5"], "discard", 10),
        (2, ["--evaluations", "14"], "undecided", 11),
        ('"none"', [], "discard", 10),
    ],
)
def test_a_change_is_kept_only_if_it_is_better(challenger, options, decision, code):
    incumbent = f"{PYTHON} -c 'print(2)  # now'"
    done = invoke(
        "--minimize", *options, "--keep-if-better", "1", "--", incumbent, constant(challenger)
    )
    assert done.exit_code == code, done.output
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["decision"] == decision
    assert json.loads(line)["incumbent"] == incumbent


def test_values_measured_already_are_judged(tmp_path):
    wide, long = tmp_path / "wide.csv", tmp_path / "long.csv"
    rows = [(i % 3 + 0.5 * (i % 2), i % 3 + 4.0, "" if i > 13 else i % 3) for i in range(18)]
    wide.write_text("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in rows))
    long.write_text(
        "who;loss\n"
        + "\n".join(f"{name};{v}" for row in rows for name, v in zip("abc", row, strict=True))
    )
    for path in (wide, long):
        done = invoke("--maximize", "--values", path)
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith("Winner: b\n")
    kept = invoke("--maximize", "--values", wide, "--keep-if-better", "c")
    assert kept.exit_code == 0
    assert json.loads(kept.stdout)["best"] == "b"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--", "true", "false"], "The direction is missing"),
        (["--minimize", "--", "true"], "two or more different entrants"),
        (["--minimize", "--", "true", "no-such-program"], "no program 'no-such-program'"),
        (["--minimize", "--", "true", "echo {lr}"], "placeholder {lr}"),
        (["--minimize", "--", "true", "echo 'x"], "cannot be split"),
        (["--minimize", "--file", "none.txt"], "'none.txt' cannot be read"),
        (["--minimize", "--values", "none.csv"], "must be a CSV file"),
        (["--minimize", "--values", "none.csv", "--", "true"], "Choose one"),
        (["--minimize", "--keep-if-better", "3", "--", "true", "false"], "number from 1 to 2"),
        (["--minimize", "--probability", "1", "--", "true", "false"], "below 1"),
        (["--minimize", "--evaluations", "9", "--", "true", "false"], "at least 10"),
        (["--minimize", "--timeout", "0", "--", "true", "false"], "--timeout must be"),
        (
            ["--minimize", "./a", "./b c"],
            "before the program: rahbo race --minimize -- ./a './b",
        ),
        (["--minimize", "./a", "--", "./b"], "program: rahbo race --minimize -- ./a ./b"),
        (["--minimize", "true", "--fast"], "program: rahbo race --minimize -- true --fast"),
        (["--minimize", "--journal", "{damaged}", "--", "true", "false"], "not a rahbo journal"),
        (["--minimize", "--keep-if-better"], "requires an argument"),
    ],
)
def test_wrong_options_are_refused_with_a_sentence_and_are_no_decision(arguments, said, tmp_path):
    damaged = tmp_path / "race.jsonl"
    damaged.write_text("not a journal\n")
    done = invoke(*(text.replace("{damaged}", str(damaged)) for text in arguments))
    assert done.exit_code == 2
    assert done.exit_code not in EXIT_CODES.values()
    assert said in done.stderr
    assert done.stdout == ""


def test_a_challenger_that_breaks_later_is_not_discarded(tmp_path):
    seen = tmp_path / "seen"
    breaks = f"sh -c 'echo >> {seen}; test $(wc -l < {seen}) -lt 4 && echo 1'"
    done = invoke("--minimize", "--keep-if-better", "1", "--", "echo 2", breaks)
    assert done.exit_code == 11, done.output
    assert json.loads(done.stdout)["decision"] == "undecided"
    assert "failed 3 times, after 3 values: exit code 1" in done.stderr
    seen.unlink()
    done = invoke("--minimize", "--", "echo 2", breaks)
    assert done.exit_code == 1
    assert "after 3 values: exit code 1" in done.stderr


COMPARED = ["--minimize", "--keep-if-better", "1", "--", "echo 2", "echo 1"]


@pytest.mark.parametrize("where", ["Field.recall", "json_value", "Optimizer"])
def test_a_signal_at_any_time_is_no_decision(where, monkeypatch):
    def interrupted(*arguments, **keywords):
        os.kill(os.getpid(), signal.SIGTERM)
        return pytest.fail("the signal did not arrive")

    monkeypatch.setattr(f"rahbo.cli.race.{where}", interrupted)
    done = invoke(*COMPARED)
    assert done.exit_code == 128 + signal.SIGTERM
    assert "Interrupted." in done.stderr


@pytest.mark.parametrize("module", ["numpy", "rahbo.race", "rahbo.errors"])
def test_a_broken_environment_is_no_decision(module, tmp_path):
    # The command ends before any code of its own runs, and Python chooses the exit code.
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{module!r}] = None\n")
    code = "import sitecustomize; from rahbo.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "race", *COMPARED], capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
    )  # fmt: skip
    assert b"Error" in done.stderr
    assert done.returncode not in EXIT_CODES.values()


def test_an_interruption_before_a_command_starts_is_said(monkeypatch):
    monkeypatch.setattr("rahbo.cli.race.chosen_direction", interrupts)
    assert invoke(*COMPARED).exit_code == 130


def interrupts(*arguments):
    raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("worse", [False, True])
def test_output_that_cannot_be_written_is_no_decision(worse, tmp_path):
    path = tmp_path / "values.csv"
    path.write_text("a,b\n" + "1.0,2.5\n1.5,2.0\n" * 10)
    command = [sys.executable, "-c", "from rahbo.cli import main; main()", "race",
               "--minimize" if worse else "--maximize", "--keep-if-better", "a",
               "--values", str(path)]  # fmt: skip
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == 1
    assert b"No space left" in done.stderr
