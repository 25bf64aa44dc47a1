"""The command line itself and `rahbo demo`."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rahbo
from rahbo.cli import demo, main
from rahbo.cli.demo import answers, verdict
from rahbo.problems import Promise, sine


def invoke(*arguments):
    return CliRunner().invoke(main, list(arguments))


# -- the group -------------------------------------------------------------------------------


def test_version_and_help():
    assert invoke("--version").output.split()[-1] == rahbo.__version__
    assert "demo" in invoke("--help").output
    assert invoke("nothing").exit_code == 2


def test_an_error_of_the_package_is_one_line(monkeypatch, tmp_path):
    def broken(*args):
        raise rahbo.errors.NumericalError("What broke, and what to do.")

    monkeypatch.setattr(demo, "run", broken)
    done = invoke("demo", "--out", str(tmp_path / "demo.png"))
    assert done.exit_code == 1
    assert done.output.endswith("Error: What broke, and what to do.\n")


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_libraries_it_says_what_to_install(missing):
    program = f"""
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == {missing!r} else find(name, *rest)
from rahbo.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"needs {missing}" in done.stderr
    assert 'pip install "rahbo[cli]"' in done.stderr


# -- the demonstration -----------------------------------------------------------------------


def promise(x=0.25, promised=1.0, mean=1.0, noise_std=0.3):
    return Promise(x, promised, mean, noise_std)


LUCKY = promise(1.2, 2.79, 0.9, 1.05)


@pytest.mark.parametrize(
    ("lucky", "reliable", "said"),
    [
        (LUCKY, promise(), ": better by 0.85 in mean - standard deviation."),
        (LUCKY, promise(1.9, 0.9, 0.1, 1.05), ": this time worse by 0.80 in mean - standard dev"),
        (promise(0.22, 1.6, 0.98), promise(), ": this time both are about equally good."),
        (promise(0.25, 1.6), promise(), ": it is the same setting this time."),
    ],
)
def test_the_verdict_follows_the_numbers(lucky, reliable, said):
    first, second = verdict(lucky, reliable, 100).splitlines()
    gives = f"{lucky.mean:.2f} ± {lucky.noise_std:.2f}"
    assert first == (
        f"The luckiest of 100 trials, at x = {lucky.x:.2f}, promised {lucky.promised:.2f} and "
        f"truly gives {gives}."
    )
    assert f"x = {reliable.x:.2f}, promised {reliable.promised:.2f} and truly" in second
    assert said in second


@pytest.mark.parametrize("seed", [0, 3, 15])
def test_the_answers_are_those_of_the_run_and_the_truth(seed):
    result = demo.run(40, seed)
    lucky, reliable = answers(result)
    values = {v: t.params["x"] for t in result.trials for v in t.values.values()}
    assert sum(len(trial.values) for trial in result.trials) == len(values) == 40
    assert (lucky.promised, lucky.x) == (max(values), values[max(values)])
    assert reliable.x == result.recommendation.params["x"]
    assert reliable.promised == result.recommendation.mean
    for found in (lucky, reliable):
        noise_var = 1.0 / (1.0 + np.exp(-30.0 * (found.x - 1.0))) + 0.1
        np.testing.assert_allclose(found.mean, np.sin(2 * np.pi * found.x), atol=1e-12)
        np.testing.assert_allclose(found.noise_std, np.sqrt(noise_var))


@pytest.mark.slow
def test_after_a_hundred_evaluations_the_luckiest_trial_is_the_wrong_answer():
    for seed in (0, 3):
        lucky, reliable = answers(demo.run(100, seed))
        assert lucky.promised > lucky.mean + 1.0
        assert abs(reliable.promised - reliable.mean) < 0.2
        assert "better by" in verdict(lucky, reliable, 100)


def test_the_demonstration_prints_a_table_and_saves_a_picture(tmp_path):
    out = tmp_path / "demo.png"
    done = invoke("demo", "--evaluations", "12", "--seed", "3", "--out", str(out))
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    for words in ("luckiest trial", "recommended", "promised", "The luckiest of 12 trials, at x"):
        assert words in said
    # The output is not a terminal, so there are no escape codes.
    assert "\x1b" not in done.output
    assert out.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_there_is_still_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    done = invoke("demo", "--evaluations", "10", "--out", str(tmp_path / "demo.png"))
    assert done.exit_code == 0
    assert "The luckiest of 10 trials" in done.output
    assert 'pip install "rahbo[demo]"' in done.output
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_demonstration_draws_no_conclusions(tmp_path, monkeypatch):
    calls = 0

    def interrupt_later(self, params, rng):
        nonlocal calls
        calls += 1
        if calls > 8:
            raise KeyboardInterrupt
        return 0.1 * calls

    monkeypatch.setattr(type(sine()), "sample", interrupt_later)
    done = invoke("demo", "--evaluations", "10", "--out", str(tmp_path / "demo.png"))
    assert done.exit_code == 1
    assert "luckiest" not in done.output
    assert not (tmp_path / "demo.png").exists()


@pytest.mark.parametrize("out", ["demo.doc", "missing/demo.png"])
def test_a_bad_path_is_refused_before_the_run(out, tmp_path):
    done = invoke("demo", "--out", str(tmp_path / Path(out)))
    assert done.exit_code == 2
    assert "--out" in done.output
