"""Outcomes with limits: how they are written, found in an output, and used by `rahbo tune`."""

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import rahbo
from processes_left import wait_for
from rahbo import journal as journals
from rahbo.cli import main
from rahbo.cli import tune as module
from rahbo.cli.limits import PATIENCE, Outcomes, limits_in
from rahbo.cli.printed import UnreadableError, last_number
from rahbo.cli.processes import END
from rahbo.cli.safe import Start
from rahbo.errors import SettingsError

PYTHON = [sys.executable, "-S"]
PROGRAM = """
import random, sys
x, noise = float(sys.argv[1]), random.Random(int(sys.argv[2]))
print("loss: nan yet")
print(f"{x + 0.01 * noise.gauss(0, 1)}")
print(f"loss={2 * x + 0.02 * noise.gauss(0, 1)}, rate: 1.5")
"""
SPACE = ["--maximize", "--seed", "0", "-p", "x=0.0:1.0"]


def invoke(*arguments):
    return CliRunner().invoke(main, ["tune", *arguments])


def running(code, *arguments):
    escaped = code.replace("{", "{{").replace("}", "}}")
    return ["--", *PYTHON, "-c", escaped, *(arguments or ("{x}", "{seed}"))]


# -- the options ---------------------------------------------------------------------------------


def test_limits_have_a_name_and_a_probability():
    assert limits_in(["loss=5@0.9", " beam loss =-1e-3"], ["rate=0.5"]) == {
        "loss": rahbo.AtMost(5.0, 0.9),
        "beam loss": rahbo.AtMost(-1e-3),
        "rate": rahbo.AtLeast(0.5),
    }


@pytest.mark.parametrize(
    "text", ["loss", "=5", "loss=", "loss=high", "loss=5@", "loss=5@a", "a=1=2", "loss=5@0.9_5"]
)
def test_a_limit_in_another_form_is_refused(text):
    with pytest.raises(SettingsError, match="must be NAME=LIMIT"):
        limits_in([], [text])


@pytest.mark.parametrize("text", ["loss=nan", "loss=5@0.5"])
def test_a_limit_that_cannot_be_kept_and_a_second_one_are_refused(text):
    with pytest.raises(SettingsError, match="needs a"):
        limits_in([text], [])
    with pytest.raises(SettingsError, match="one limit only"):
        limits_in(["loss=5"], ["loss=1"])


# -- the output ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "loss"),
    [
        ("loss=3.2", 3.2),
        ("loss: 3.2\n0.5", 3.2),
        ("0.5 loss = -3e-2 ms", -0.03),
        ('{"score": 0.5, "loss": 3.2}', 3.2),
        ('{"loss":3,"score":0.5}', 3.0),
        ("{'loss': 3.2}", 3.2),
        ("loss=1\nloss=2, loss=3,loss=4", 4.0),
        ("The loss: 3.2.", 3.2),
        ("\x1b[32mloss\x1b[0m: \x1b[1m3.2\x1b[0m", 3.2),
        ("loss=95%", 95.0),
        ("loss=0.15D-02", 0.0015),
        ("loss=3\x1b]0;epoch 7\x07", 3.0),
        # Other names, and options that a program repeats.
        ("val_loss=1 loss.max=2 --loss=3 test.loss=4 loss_2=5 Loss=6", None),
        ("loss 3.2", None),
        ("loss=1\nloss=nan", None),
        ("loss=1\nloss: None", None),
        ("loss=\n3.2", None),
        ("", None),
    ],
)
def test_the_last_one_counts(output, loss):
    assert Outcomes(["loss"]).read(output) == {"loss": loss}


@pytest.mark.parametrize(
    "text",
    ["high", "3.2ms", "inf", "-Infinity", "1,234.5", "\u22123", "1e999", "1.2.3", "(3)", "=3",
     "1_0", "0x1p-3", "1.5-103", "2026-11-19", "1.#IND", "1D3"],
)  # fmt: skip
def test_what_is_not_a_number_does_not_uncover_an_earlier_one(text):
    with pytest.raises(UnreadableError, match="outcome 'loss'"):
        Outcomes(["loss"]).read(f"loss=1\nloss={text}")


def test_names_are_taken_as_they_are():
    found = Outcomes(["a.b", "x(1)", "beam loss"]).read("aXb=1\na.b=2\nx(1): 3\nbeam loss: 4")
    assert found == {"a.b": 2.0, "x(1)": 3.0, "beam loss": 4.0}


def test_keys_of_json_may_be_nested():
    outcomes = Outcomes(["test.loss", "rate", "time"], in_json=True)
    output = 'begin\n{"test": {"loss": 3}, "rate": null, "score": 1}'
    assert outcomes.read(output) == {"test.loss": 3.0, "rate": None, "time": None}
    assert outcomes.read('{"rate": NaN}')["rate"] is None
    for value in ('"3"', "true", "[1]", "Infinity", "1" * 400):
        with pytest.raises(UnreadableError, match="'rate'"):
            outcomes.read(f'{{"rate": {value}}}')


def test_an_outcome_is_not_the_value():
    outcomes = Outcomes(["loss", "rate"])
    for output in ("0.5\nloss=3.2 rate: 4", '{"score": 0.5, "loss": 3.2,"rate":4}'):
        assert last_number(outcomes.without(output)) == 0.5
    with pytest.raises(UnreadableError, match="no number"):
        last_number(outcomes.without("loss=3.2"))
    assert Outcomes().without("\x1b[1ma") == "\x1b[1ma"


@given(st.text(alphabet="los=: \t3.,-n\"'a\n", max_size=60))
def test_any_output_gives_a_number_or_nothing_or_is_refused(output):
    outcomes = Outcomes(["loss", "a"])
    with suppress(UnreadableError):
        found = outcomes.read(output)
        assert all(value is None or isinstance(value, float) for value in found.values())


@pytest.mark.parametrize("part", ["loss ", "loss=", "loss  \t", "loss=1", 'loss"', "loss=1,"])
def test_the_time_is_linear(part):
    outcomes = Outcomes(["loss"])
    text = part * (END // len(part))
    begun = time.process_time()
    with suppress(UnreadableError):
        outcomes.read(text + " " * END)
    # A quadratic search takes minutes.
    assert time.process_time() - begun < 10.0


def test_an_outcome_that_is_never_printed_is_an_error_with_the_output():
    outcomes = Outcomes(["loss", "rate"])
    for i in range(PATIENCE):
        outcomes.check()
        outcomes.read(f"epoch {i}\n\nloss=2\n\x1b[2J\x07value 3")
    with pytest.raises(click.ClickException) as error:
        outcomes.check()
    assert "never the outcome 'rate'" in error.value.message
    assert "may have been taken for the value: then begin a new journal" in error.value.message
    assert error.value.message.endswith("with:\n  epoch 4\n  loss=2\n  \\x07value 3")
    # A key of JSON is never taken for the value.
    in_json = Outcomes(["rate"], in_json=True)
    in_json.read('{"value": 3}')
    with pytest.raises(click.ClickException) as error:
        in_json.check(1)
    assert "new journal" not in error.value.message
    outcomes.know(["rate"])
    outcomes.check()


def test_an_outcome_that_is_printed_once_may_be_missing():
    outcomes = Outcomes(["loss"])
    outcomes.read("1 loss=nan")
    for _ in range(2 * PATIENCE):
        outcomes.read("1")
    outcomes.check()


# -- rahbo tune ----------------------------------------------------------------------------------


def told(path):
    return [
        (t.id, i, each.value, dict(each.outcomes))
        for t in journals.read(path)[1]
        for i, each in t.evaluations.items()
        if each.value is not None
    ]


@pytest.mark.slow
def test_a_program_is_tuned_within_its_limits_and_the_same_command_goes_on(tmp_path):
    path = tmp_path / "run.jsonl"
    limits = ["--at-most", "loss=1@0.9", "--at-least", "rate=1"]
    program = running(PROGRAM)
    first = invoke(*SPACE, *limits, "--evaluations", "15", "--journal", str(path), *program)
    assert first.exit_code == 0, first.output
    assert "(above 1), rate=1.5" in first.stderr
    assert "at most 1 with probability 0.9" in first.stdout
    settings, trials = journals.read(path)
    assert settings["constraints"] == limits_in(["loss=1@0.9"], ["rate=1"])
    assert sum(len(t.values) for t in trials) == 15
    before = told(path)
    assert {frozenset(outcomes) for *_, outcomes in before} == {frozenset({"loss", "rate"})}
    second = invoke(
        *SPACE, *limits, "--evaluations", "20", "--journal", str(path), "--json", *program
    )
    assert second.exit_code == 0, second.output
    assert told(path)[:15] == before
    found = json.loads(second.stdout)["recommendation"]
    assert [check["kept"] for check in found["constraints"]] == [True, True]
    assert 0.2 < found["params"]["x"] < 0.5


@pytest.mark.slow
def test_json_output_and_a_file(tmp_path):
    run, file = tmp_path / "run.jsonl", tmp_path / "run.toml"
    code = "import sys; x = float(sys.argv[1]); print({'out': {'v': x, 'loss': [x, 2 * x]}})"
    escaped = code.replace("print(", "import json; print(json.dumps(").replace("}})", "}}))")
    file.write_text(
        f"""
maximize = true
evaluations = 6
seed = 0
repeats = 1
value-json = "out.v"
at-most = "out.loss.1=1@0.9"
at-least = ["out.loss.0=0.1", "out.v=-1"]
journal = {json.dumps(str(run))}
command = {json.dumps([*PYTHON, "-c", escaped.replace("{", "{{").replace("}", "}}"), "{x}"])}
[parameters]
x = "0.0:1.0"
"""
    )
    done = invoke(str(file))
    assert done.exit_code == 0, done.output
    for _, _, value, outcomes in told(run):
        assert outcomes == {"out.loss.0": value, "out.loss.1": 2 * value, "out.v": value}
    file.write_text(file.read_text().replace('"out.loss.1=1@0.9"', "[1, 2]"))
    wrong = invoke(str(file))
    assert wrong.exit_code == 2
    assert "'at-most'" in wrong.stderr
    assert "list of strings" in wrong.stderr


@pytest.mark.slow
def test_hostile_outcomes_are_failures_or_missing(tmp_path):
    run = tmp_path / "run.jsonl"
    code = (
        "import sys; n = int(sys.argv[2]) % 5; print(sys.argv[1]); "
        "print(['loss=inf', 'loss=nan', '', 'loss=high', 'loss=7 loss=0.1'][n])"
    )
    done = invoke(
        *SPACE, "--at-most", "loss=1", "--evaluations", "30", "--repeats", "1", "--jobs", "2",
        "--journal", str(run), *running(code),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    seen = set()
    for trial in journals.read(run)[1]:
        n = rahbo.numerics.evaluation_seed(0, trial.id, 0) % 5
        seen.add(n)
        if n in (0, 3):
            assert "the outcome 'loss' is" in trial.failures[0]
        else:
            assert trial.evaluations[0].outcomes == ({"loss": 0.1} if n == 4 else {})
    assert len(seen) == 5
    assert "loss missing" in done.stderr
    assert "loss=0.1" in done.stderr


@pytest.mark.slow
def test_a_limit_on_what_is_never_printed_ends_the_run(tmp_path):
    run = tmp_path / "run.jsonl"
    command = [*SPACE, "--at-most", "loss=1", "--evaluations", "9", "--journal", str(run)]
    done = invoke(*command, *running("import sys; print('hello', sys.argv[1])"))
    assert done.exit_code == 1
    assert "never the outcome 'loss'" in done.stderr
    assert "  hello 0." in done.stderr
    assert len(journals.read(run)[1][0].values) == 2
    again = invoke(*command, *running(PROGRAM))
    assert again.exit_code == 0, again.output


def test_values_that_arrive_while_the_run_ends_are_told_with_their_outcomes(monkeypatch, tmp_path):
    def in_parallel(run, pool, timeout):
        run.objective(**run.arguments(run.optimizer.ask(), 0))
        return "interrupt"

    monkeypatch.setattr(module, "in_parallel", in_parallel)
    run = tmp_path / "run.jsonl"
    invoke(
        *SPACE, "--at-most", "loss=1", "--evaluations", "9", "--journal", str(run),
        "--repeats", "1", *running("import sys; print(sys.argv[1], 'loss=3')"),
    )  # fmt: skip
    assert [outcomes for *_, outcomes in told(run)] == [{"loss": 3.0}]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("options", [[], ["--safe", "x=0.1", "--safe", "x=0.2"]])
def test_a_killed_run_is_brought_to_the_same_end(options, tmp_path):
    def command(path):
        return [
            *SPACE, "--at-most", "loss=1", "--evaluations", "9", "--journal", str(path), *options,
            *running(PROGRAM),
        ]  # fmt: skip

    path, whole = tmp_path / "run.jsonl", tmp_path / "whole.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", "from rahbo.cli import main; main()", "tune", *command(path)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        wait_for(lambda: path.exists() and path.read_text().count('"tell"') >= 4)
        process.send_signal(signal.SIGKILL)
    for each in (path, whole):
        assert invoke(*command(each)).exit_code == 0
    assert told(path) == told(whole)
    assert len(told(path)) == 9 + 3 * (len(options) // 2)


@pytest.mark.slow
def test_safe_starts_from_the_given_settings(tmp_path):
    run = tmp_path / "run.jsonl"
    done = invoke(
        *SPACE, "--at-most", "loss=1", "--safe", "x=0.1", "--safe", "x=0.2", "--safe", "x=0.3",
        "--evaluations", "6", "--journal", str(run), *running(PROGRAM),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "15/15" in done.stderr
    settings, trials = journals.read(run)
    assert settings["safe"] is True
    assert [t.params["x"] for t in trials[:9]] == [0.1] * 3 + [0.2] * 3 + [0.3] * 3


def test_an_interrupt_between_the_first_runs_keeps_what_they_gave(monkeypatch, tmp_path):
    def interrupted(start, program, optimizer, show):
        for _ in range(2):
            optimizer.tell({"x": 0.1}, 0.1, outcomes={"loss": 0.2})
        raise KeyboardInterrupt

    monkeypatch.setattr(Start, "run", interrupted)
    run = tmp_path / "run.jsonl"
    done = invoke(
        *SPACE, "--at-most", "loss=1", "--safe", "x=0.1", "--evaluations", "6",
        "--journal", str(run), *running(PROGRAM),
    )  # fmt: skip
    assert done.exit_code == 130
    assert "x=0.1" in done.stdout
    assert "Interrupted. Run the same command again to resume." in done.stderr
    assert len(told(run)) == 2


@pytest.mark.slow
def test_an_unsafe_start_is_said(tmp_path):
    done = invoke(
        *SPACE, "--at-most", "loss=1", "--safe", "x=0.9", "--evaluations", "6", *running(PROGRAM)
    )
    assert done.exit_code == 1
    assert "No setting given by --safe is sure to keep the limits" in done.stderr
    silent = invoke(
        *SPACE, "--at-most", "loss=1", "--safe", "x=0.1", "--evaluations", "6",
        *running("import sys; print(sys.argv[1])"),
    )  # fmt: skip
    assert silent.exit_code == 1
    assert "never the outcome 'loss'" in silent.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--safe", "x=0.1"], "--safe needs --at-most"),
        (["--at-most", "loss=1", "--safe", "x=2"], "x=2.0"),
        (["--at-most", "loss=1", "--safe", "y=1"], "must name each of the parameters"),
        (["--at-most", "loss=1", "--safe", "x=0.1", "--safe", "x=0.1"], "different settings"),
        (["--at-most", "x=1"], "is a parameter"),
        (["--at-most", "loss"], "must be NAME=LIMIT"),
        (["--blocks", "5"], "must contain {block}"),
        (["--at-most", "loss=1", "--safe", "x=0.1", "--blocks", "5"], "{block}"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(options, said):
    done = invoke(*SPACE, "--evaluations", "6", *options, *running("raise SystemExit(9)"))
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("blocks", "names"), [("3", "012"), ("a,b", "ab")])
def test_each_run_is_in_a_block(blocks, names, tmp_path):
    run = tmp_path / "run.jsonl"
    code = "import sys; print(float(sys.argv[1]) + ord(sys.argv[2]), 'loss=0.5')"
    done = invoke(
        *SPACE, "--blocks", blocks, "--at-most", "loss=1", "--evaluations", "20",
        "--journal", str(run), *running(code, "{x}", "{block}"),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    for trial in journals.read(run)[1]:
        for told in trial.evaluations.values():
            assert told.block is not None
            assert told.block in names
            assert told.value == pytest.approx(trial.params["x"] + ord(told.block), rel=1e-12)
            assert dict(told.outcomes) == {"loss": 0.5}
