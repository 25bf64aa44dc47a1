"""`rahbo tune` as a whole."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

import rahbo
from processes_left import FAMILY, family, wait_for, wait_for_end_of
from rahbo import journal as journals
from rahbo.cli import main
from rahbo.cli import tune as module

SCRIPT = """
import json, math, random, sys
lr, depth, criterion, seed = sys.argv[1:]
value = -(math.log10(float(lr)) + 2) ** 2 - abs(int(depth) - 4) + (criterion == "gini")
value += 0.1 * random.Random(int(seed)).gauss(0, 1)
print("epoch 3 loss", value)
"""
SPACE = ["-p", "lr=1e-4:1e-1:log", "-p", "depth=1:8:int", "-p", "criterion=gini,entropy"]
ARGUMENTS = ["{lr}", "{depth}", "{criterion}", "{seed}"]
PYTHON = [sys.executable, "-S"]


def invoke(*arguments):
    return CliRunner().invoke(main, ["tune", *arguments])


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return str(path)


def values(path):
    return [
        (t.id, i, value) for t in journals.read(path)[1] for i, value in sorted(t.values.items())
    ]


def test_a_program_is_tuned_and_the_same_command_goes_on(script, tmp_path):
    path = tmp_path / "run.jsonl"
    command = [*SPACE, "--maximize", "--alpha", "1", "--seed", "0", "--journal", str(path)]
    program = ["--", *PYTHON, script, *ARGUMENTS]
    first = invoke(*command, "--evaluations", "17", *program)
    assert first.exit_code == 0, first.output
    assert "90 % interval" in first.stdout
    assert "17/17  lr=" in first.stderr
    settings, trials = journals.read(path)
    assert settings["risk"] == rahbo.MeanVariance(1.0)
    assert settings["space"]["lr"] == rahbo.Float(1e-4, 1e-1, log=True)
    assert sum(len(trial.values) for trial in trials) == 17
    told = values(path)

    second = invoke(*command, "--evaluations", "19", "--json", *program)
    assert second.exit_code == 0, second.output
    assert values(path)[:17] == told
    assert len(values(path)) == 19
    assert second.stderr.startswith("18/19  lr=")
    document = json.loads(second.stdout)
    assert document.keys() == {"recommendation", "about", "stopped_by", "journal"}
    assert document["about"]["n_evaluations"] == 19
    assert document["stopped_by"] == "budget"
    # With one job, a run in two parts equals a run in one.
    whole = tmp_path / "whole.jsonl"
    command[-1] = str(whole)
    done = invoke(*command, "--evaluations", "19", "--json", *program)
    assert values(whole) == values(path)
    assert json.loads(done.stdout)["recommendation"] == document["recommendation"]

    other = invoke(*command, "--evaluations", "30", "--kappa", "1", *program)
    assert other.exit_code == 2
    assert "Only one of --" in other.stderr
    changed = [part if part != "1" else "2" for part in command]
    other = invoke(*changed, "--evaluations", "30", *program)
    assert other.exit_code == 2
    assert "another run" in other.stderr
    assert len(values(whole)) == 19


def test_values_are_the_programs_own_told_exactly_once_with_several_jobs(script, tmp_path):
    path = tmp_path / "run.jsonl"
    done = invoke(
        *SPACE, "--minimize", "--repeats", "3", "--evaluations", "20", "--jobs", "3", "--seed", "1",
        "--journal", str(path), "--value-regex", r"loss (\S+)", "--", *PYTHON, script, *ARGUMENTS,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    settings, trials = journals.read(path)
    assert settings["direction"] == "minimize"
    assert sum(len(trial.values) for trial in trials) == 20
    trial = trials[0]
    seed = rahbo.numerics.evaluation_seed(1, trial.id, 2)
    arguments = [repr(trial.params["lr"]), str(trial.params["depth"]), trial.params["criterion"]]
    again = subprocess.run(
        [sys.executable, script, *arguments, str(seed)], capture_output=True, text=True, check=True
    )
    assert float(again.stdout.split()[-1]) == trial.values[2]


def test_a_file_can_hold_it_all_and_the_command_line_wins(script, tmp_path):
    run = tmp_path / "run.jsonl"
    file = tmp_path / "run.toml"
    file.write_text(
        f"""
maximize = true
kappa = 2.0
evaluations = 4
repeats = 2
seed = 5
journal = {json.dumps(str(run))}
value-regex = 'no such'
command = {json.dumps([*PYTHON, script, *ARGUMENTS])}

[parameters]
lr = "1e-3:1e-1:log"
depth = "1:8:int"
criterion = ["gini", "a b"]
"""
    )
    done = invoke(
        str(file), "--minimize", "--alpha", "3", "--evaluations", "6", "--value-json", "loss",
        "-p", "lr=1e-4:1e-2:log", "--", *PYTHON, "-c",
        "import json, sys; print(json.dumps(dict(loss=float(sys.argv[1]), c=sys.argv[3:])))",
        *ARGUMENTS,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    settings, trials = journals.read(run)
    assert settings["direction"] == "minimize"
    assert settings["risk"] == rahbo.MeanVariance(3.0)
    assert settings["seed"] == 5
    assert settings["space"]["lr"] == rahbo.Float(1e-4, 1e-2, log=True)
    assert settings["space"]["criterion"] == rahbo.Categorical(["gini", "a b"])
    assert [t.values for t in trials] == [{0: t.params["lr"], 1: t.params["lr"]} for t in trials]
    assert len(trials) == 3


def test_failures_are_recorded_with_their_reasons(tmp_path):
    path = tmp_path / "run.jsonl"
    source = "import sys; x = float(sys.argv[1]); x < 0.5 or sys.exit('too large'); print(x)"
    done = invoke(
        "-p", "x=0.0:1.0", "--maximize", "--repeats", "1", "--evaluations", "8", "--seed", "0",
        "--journal", str(path), "--", *PYTHON, "-c", source, "{x}",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    trials = journals.read(path)[1]
    reasons = [reason for trial in trials for reason in trial.failures.values()]
    assert set(reasons) == {"exit code 1: too large"}
    assert f"8 evaluations ({len(reasons)} failed)" in done.stdout
    assert "failed, exit code 1: too large" in done.stderr


def test_programs_out_of_time_are_failures(tmp_path):
    path = tmp_path / "run.jsonl"
    done = invoke(
        "-p", "x=0.0:1.0", "--maximize", "--repeats", "1", "--evaluations", "2", "--jobs", "2",
        "--timeout", "0.3", "--journal", str(path), "--",
        *PYTHON, "-c", "import time; time.sleep(600)", "{x}",
    )  # fmt: skip
    assert done.exit_code == 1
    assert "use another journal for a fresh start" in done.stderr
    reasons = [reason for trial in journals.read(path)[1] for reason in trial.failures.values()]
    assert reasons == ["timed out after 0.3 s"] * 2


HOSTILE = [
    "$(touch hacked)",
    "; touch hacked",
    "a' \"b",
    "{seed}",
    "{x}",
    "a\nb",
    "`x`",
    "&&",
    "--",
]


def test_hostile_choices_reach_the_program_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log"
    source = (
        "import json, sys; open(sys.argv[1], 'a').write(json.dumps(sys.argv[2:]) + '\\n'); print(1)"
    )
    Path("run.toml").write_text(
        f"""
command = {json.dumps([*PYTHON, "-c", source, str(log), "--c={c}", "{x}", "{seed}"])}
[parameters]
x = "0.0:1.0"
c = {json.dumps(HOSTILE)}
"""
    )
    done = invoke("run.toml", "--maximize", "--evaluations", "24", "--repeats", "1", "--seed", "0")
    assert done.exit_code == 0, done.output
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(calls) == 24
    assert len({call[0] for call in calls}) > 5
    for choice, x, seed in calls:
        assert choice.removeprefix("--c=") in HOSTILE
        assert 0.0 <= float(x) <= 1.0
        assert seed.isdecimal()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "run.toml"]


# -- wrong input -------------------------------------------------------------------------------

GOOD = ["--maximize", "--evaluations", "4", "-p", "x=0.0:1.0", "--", sys.executable, "{x}"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (GOOD[1:], "--maximize or --minimize"),
        (["--minimize", *GOOD], "Only one of --"),
        ([GOOD[0], *GOOD[3:]], "--evaluations 200, or the time, such as --seconds 3600"),
        (["--seconds", "0", *GOOD], "--seconds must be a positive number, got 0.0"),
        (["--seconds", "nan", *GOOD], "--seconds must be"),
        (["--seconds", "inf", *GOOD], "--seconds must be"),
        (["--seconds", "soon", *GOOD], "--seconds"),
        (["--try-first", "x=2", *GOOD], "--try-first: x=2.0 is outside"),
        (["--try-first", "y=0.5", *GOOD], "--try-first: A setting must name each of the"),
        (["--try-first", "none.csv", *GOOD], "there is no file 'none.csv'"),
        ([*GOOD[:3], *GOOD[5:]], "no parameters to tune"),
        (GOOD[:5], "no command"),
        (GOOD[:6], "no command"),
        (GOOD[:-1], "does not contain {x}"),
        ([*GOOD, "{y}"], "placeholder {y}"),
        ([*GOOD[:6], "no-such-program", "{x}"], "no program 'no-such-program'"),
        ([*GOOD[:5], "python", "{x}"], "-- before the program: rahbo tune "),
        ([*GOOD[:5], "./prog.sh", "{block}"], " -- ./prog.sh '{block}'"),
        ([*GOOD[:5], "sh", "--lr", "{x}"], " -- sh --lr '{x}'"),
        ([*GOOD[:5], "none.toml", "sh", "--lr", "{x}"], "none.toml -- sh --lr '{x}'"),
        ([*GOOD[:5], __file__], "If it is the program to run, write -- before it"),
        (["none.toml", *GOOD], "no file 'none.toml'"),
        (["--alpha", "1", "--quantile", "0.1", *GOOD], "Only one of --"),
        (["--quantile", "0.7", *GOOD], "0 < level < 0.5"),
        (["--timeout", "0", *GOOD], "--timeout"),
        (["--timeout", "nan", *GOOD], "--timeout"),
        (["--repeats", "many", *GOOD], "whole number or adaptive"),
        (["--repeats", "0", *GOOD], "repeats must be"),
        (["--repeats", "3", "--setup", "1", *GOOD], "--setup needs --repeats adaptive"),
        (["--setup", "-1", *GOOD], "setup"),
        (["--value-regex", "(", *GOOD], "regular expression"),
        (["--value-regex", "a", "--value-json", "b", *GOOD], "Only one of --"),
        (["--noise-std", "-1", *GOOD], "noise_std must be a number >= 0"),
        (["--stop-gap", "0", *GOOD], "positive"),
        (["--journal", "none/run.jsonl", *GOOD], "cannot be written"),
        ([GOOD[0], "--evaluations", "0", *GOOD[3:]], "--evaluations"),
        (["--jobs", "x", *GOOD], "--jobs"),
        (["--confirm", "4", *GOOD], "confirm must be less than evaluations"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


SPACE_OF_X = ["-p", "x=0.0:1.0"]

# -- stopping ----------------------------------------------------------------------------------


def test_a_run_may_end_early(monkeypatch):
    tasks = []

    def run(task, jobs, timeout):
        tasks.append(task)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "run", run)
    assert invoke("--stop-gap", "0.5", "--setup", "2", "--noise-std", "0", *GOOD).exit_code == 130
    assert tasks[0].stop == rahbo.Gap(0.5)
    assert tasks[0].settings["noise_std"] == 0.0
    assert tasks[0].settings["repeats"] == rahbo.Adaptive(setup=2.0)


@pytest.mark.slow
def test_time_may_be_the_budget_and_the_same_command_has_it_anew(tmp_path):
    path = tmp_path / "run.jsonl"
    command = ["-p", "x=0.0:1.0", "--maximize", "--seed", "0", "--journal", str(path), "--json"]
    program = ["--", *PYTHON, "-c", "import sys; print(sys.argv[1])", "{x}"]
    first = invoke(*command, "--seconds", "0.4", *program)
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)["stopped_by"] == "budget"
    assert first.stderr.startswith("1  x=")
    told = values(path)
    assert told
    # Even a time that is too short is enough for one run.
    second = invoke(*command, "--seconds", "0.01", *program)
    assert second.exit_code == 0, second.output
    assert second.stderr.startswith(f"{len(told) + 1}  x=")
    assert values(path)[: len(told)] == told
    n = len(values(path))
    assert n > len(told)
    # Beside a number of runs, the one that is reached first ends the run.
    third = invoke(*command, "--seconds", "1000", "--evaluations", str(n + 2), *program)
    assert third.exit_code == 0, third.output
    assert len(values(path)) == n + 2
    assert third.stderr.startswith(f"{n + 1}/{n + 2}  x=")
    assert len(values(path)) == json.loads(third.stdout)["about"]["n_evaluations"]


@pytest.mark.slow
def test_settings_are_run_first_also_after_an_interruption(script, tmp_path):
    path, table, file = tmp_path / "run.jsonl", tmp_path / "first.csv", tmp_path / "run.toml"
    table.write_text("note,criterion,depth,lr\nold,gini,5,0.02\nold,gini,5,0.02\n,entropy,8,1e-4\n")
    command = [*SPACE, "--maximize", "--seed", "0", "--repeats", "1", "--journal", str(path),
               "--try-first", "lr=0.01,depth=3,criterion=entropy"]  # fmt: skip
    wanted = [("entropy", 3, 0.01), ("gini", 5, 0.02), ("entropy", 8, 1e-4)]
    program = ["--", *PYTHON, script, *ARGUMENTS]
    for n in (2, 4):
        done = invoke(*command, "--try-first", str(table), "--evaluations", str(n), *program)
        assert done.exit_code == 0, done.output
        trials = [t for t in journals.read(path)[1] if t.values]
        tried = [(t.params["criterion"], t.params["depth"], t.params["lr"]) for t in trials]
        assert len(tried) == n
        assert tried[:3] == wanted[:n]
    other = invoke(*command, "--evaluations", "5", *program)
    assert other.exit_code == 2
    assert "try_first is" in other.stderr
    # A file holds them as a list.
    file.write_text(f"try-first = ['lr=0.01,depth=3,criterion=entropy', {json.dumps(str(table))}]")
    again = invoke(str(file), *command[:-2], "--evaluations", "5", *program)
    assert again.exit_code == 0, again.output
    assert len(values(path)) == 5


def test_a_stop_ends_the_run(tmp_path):
    done = invoke(
        "-p", "x=0.0:1.0", "--maximize", "--evaluations", "60", "--seed", "0", "--stop-gap", "1e6",
        "--json", "--", *PYTHON, "-c", "import sys; print(sys.argv[1])", "{x}",
    )  # fmt: skip
    assert json.loads(done.stdout)["stopped_by"] == "stop"
    assert json.loads(done.stdout)["about"]["n_evaluations"] < 30


NOISY = "import random, sys; print(-(float(sys.argv[1]) - 0.4) ** 2 + random.gauss(0, 0.1))"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "n"), [([], 5), (["--confirm", "3"], 3), (["--confirm", "0"], 0)]
)
def test_the_last_runs_measure_the_leading_points_again(options, n, tmp_path):
    path = tmp_path / "run.jsonl"
    done = invoke(
        "-p", "x=0.0:1.0", "--maximize", "--evaluations", "30", "--seed", "0", "--journal",
        str(path), *options, "--", *PYTHON, "-c", NOISY, "{x}",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    sources = [t.source for t in journals.read(path)[1]]
    assert sources.count("confirm") == n
    said = done.stderr.splitlines()
    if n:
        assert said[30 - n] == "Confirming: measuring the leading points again."
    assert len(said) == 30 + (n > 0)


SLOW = """
import os, subprocess, sys, time
if os.path.exists(sys.argv[2]):
    child = subprocess.Popen(
        [sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=True
    )
    open(sys.argv[2] + "." + str(child.pid), "w").close()
    open(sys.argv[2] + "." + str(os.getpid()), "w").close()
    time.sleep(600)
print(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc"), reason="looks at processes")
@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1"])
def test_an_interrupt_kills_the_programs_and_recommends(name, tmp_path):
    number = getattr(signal, f"SIG{name}")
    slow, run = tmp_path / "slow.py", tmp_path / "run.jsonl"
    slow.write_text(SLOW)
    command = [
        sys.executable, "-c", "from rahbo.cli import main; main()", "tune", "--maximize", "--json",
        "--evaluations", "40", "--jobs", "2", "--journal", str(run), "-p", "x=0.0:1.0",
        "--repeats", "1", "--", *PYTHON, str(slow), "{x}", str(tmp_path / "go"),
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("1/40")
        (tmp_path / "go").touch()
        wait_for(lambda: len(list(tmp_path.glob("go.*"))) == 4)
        process.send_signal(number)
        # An impatient second one does not cost the recommendation.
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Run the same command again to resume." in err
    assert "Traceback" not in err
    assert json.loads(out)["stopped_by"] == "interrupt"
    pids = [path.suffix[1:] for path in tmp_path.glob("go.*")]
    wait_for_end_of(pids)
    # A killed program is not a failure: it is run again when the run resumes.
    trials = journals.read(run)[1]
    assert not any(trial.failures for trial in trials)
    assert sum(len(t.values) for t in trials) == json.loads(out)["about"]["n_evaluations"]
    (tmp_path / "go").unlink()
    again = [part if part != "40" else "12" for part in command[4:]]
    assert invoke(*again).exit_code == 0
    assert len(values(run)) == 12


def tune(*arguments):
    return [sys.executable, "-c", "from rahbo.cli import main; main()", "tune", *arguments]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_before_any_value(tmp_path):
    code = "import sys, time; open(sys.argv[2], 'w').close(); time.sleep(600)"
    command = tune(*GOOD[:5], "--", *PYTHON, "-c", code, "{x}", str(tmp_path / "begun"))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for((tmp_path / "begun").exists)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == ""
    assert err == "Interrupted before anything could be recommended.\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes by /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_no_process_is_left_and_no_value_is_measured_twice(number, tmp_path):
    run, log = tmp_path / "run.jsonl", tmp_path / "log"
    # Every third program starts a family and never ends.
    script = tmp_path / "program.py"
    script.write_text(
        f"""
import os, sys
with open({str(log)!r}, "a") as log:
    log.write(sys.argv[4] + chr(10))
if int(sys.argv[4]) % 3 == 0 and not os.path.exists({str(tmp_path / "again")!r}):
    exec({FAMILY!r})
print(sys.argv[3])
"""
    )
    command = tune(
        "--maximize", "--evaluations", "14", "--jobs", "2", "--journal", str(run), "--seed", "0",
        "-p", "x=0.0:1.0", "--repeats", "1", "--", *PYTHON, str(script), str(tmp_path / "pids"),
        "time.sleep(600)", "{x}", "{seed}",
    )  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        pids = family(tmp_path / "pids")
        process.send_signal(number)
    wait_for_end_of(pids)
    (tmp_path / "again").touch()
    seeds = {
        rahbo.numerics.evaluation_seed(0, trial.id, repeat)
        for trial in journals.read(run)[1]
        for repeat in trial.values
    }
    begun = log.read_text().split()
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert len(values(run)) == 14
    assert not seeds & {int(seed) for seed in log.read_text().split()[len(begun) :]}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_hangup_that_is_ignored_stays_ignored(tmp_path):
    run = tmp_path / "run.jsonl"
    source = "import sys, time; time.sleep(0.1); print(sys.argv[1])"
    command = tune(
        "--maximize", "--evaluations", "6", "--journal", str(run), "-p", "x=0.0:1.0", "--",
        *PYTHON, "-c", source, "{x}",
    )  # fmt: skip
    with subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *command], stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert process.stderr.readline().startswith("1/6")
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=120)
    assert process.returncode == 0
    assert len(values(run)) == 6


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_pattern_that_takes_for_ever_can_be_interrupted(tmp_path):
    code = "import sys; print('a' * 60 + 'b'); open(sys.argv[2], 'w').close()"
    command = tune(
        "--value-regex", "(a+)+$", *GOOD[:5], "--", *PYTHON, "-c", code, "{x}",
        str(tmp_path / "begun"),
    )  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        wait_for((tmp_path / "begun").exists)
        wait_for(lambda: matchers_of(process.pid))
        below = matchers_of(process.pid)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 143
    assert err == "Interrupted before anything could be recommended.\n"
    wait_for_end_of(below)


def matchers_of(owner):
    """The processes that match a pattern for another process."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == owner and b"matcher.py" in (path / "cmdline").read_bytes():
                found.append(path.name)
    return found


# -- displays ----------------------------------------------------------------------------------

FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
ECHO = ["--", *PYTHON, "-c", "import sys; print(sys.argv[1])", "{x}"]


def all_told(path, n):
    trials = journals.read(path)[1]
    return len(values(path)) == n and not any(trial.failures for trial in trials)


@FULL
@pytest.mark.slow
@pytest.mark.parametrize(("full", "code"), [("stderr", 0), ("stdout", 1), ("both", 1)])
def test_a_full_disk_for_messages_does_not_touch_the_values(full, code, tmp_path):
    path = tmp_path / "run.jsonl"
    command = tune("--maximize", "--evaluations", "8", "--journal", str(path), *SPACE_OF_X, *ECHO)
    with open("/dev/full", "w") as nowhere:
        done = subprocess.run(
            command, text=True,
            stdout=subprocess.PIPE if full == "stderr" else nowhere,
            stderr=subprocess.PIPE if full == "stdout" else nowhere,
        )  # fmt: skip
    assert all_told(path, 8)
    assert done.returncode == code
    if full == "stderr":
        assert "90 % interval" in done.stdout
    elif full == "stdout":
        last = done.stderr.splitlines()[-1]
        assert last == "Error: The output cannot be written: No space left on device."


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="closes a pipe")
def test_a_closed_pipe_does_not_touch_the_values(tmp_path):
    path = tmp_path / "run.jsonl"
    command = tune("--maximize", "--evaluations", "8", "--journal", str(path), *SPACE_OF_X, *ECHO)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"1/8")
        process.stdout.close()
    assert process.returncode == 1
    assert all_told(path, 8)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
def test_a_terminal_that_is_gone_does_not_touch_the_values(tmp_path):
    pty = pytest.importorskip("pty")
    path = tmp_path / "run.jsonl"
    command = tune(
        "--maximize", "--evaluations", "8", "--journal", str(path), *SPACE_OF_X, "--", *PYTHON,
        "-c", "import sys, time; time.sleep(0.2); print(sys.argv[1])", "{x}",
    )  # fmt: skip
    ours, theirs = pty.openpty()
    # The terminal does not control the process, so its end sends no signal.
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        assert os.read(ours, 1)
        wait_for(lambda: path.exists() and b'"tell"' in path.read_bytes())
        os.close(ours)
    assert process.returncode == 0
    assert all_told(path, 8)


@pytest.mark.parametrize(
    ("program", "said", "n"),
    [
        (["sh", "-c", 'no-such-program "$1"', "sh", "{x}"], "exit code 127", 3),
        (["sh", "-c", 'exec / "$1"', "sh", "{x}"], "exit code 126", 3),
        ([*PYTHON, "-c", "import sys; float(sys.argv[1]) + nump", "{x}"], "NameError", 3),
        ([*PYTHON, "-c", "import no_such_module", "{x}"], "ModuleNotFoundError", 3),
        ([*PYTHON, "-c", "raise ValueError('no\\x1b[2J')", "{x}"], "ValueError: no", 10),
    ],
)
def test_a_program_that_cannot_run_at_all_ends_after_three_points(program, said, n):
    done = invoke(*GOOD[:5], "--evaluations", "40", "--repeats", "1", "--", *program)
    assert done.exit_code == 1
    assert "The command fails every time. Correct it." in done.stderr
    assert said in done.stderr.splitlines()[-1]
    assert "\x1b" not in done.stderr
    assert done.stdout == ""
    assert sum(": failed, " in line for line in done.stderr.splitlines()) == n
