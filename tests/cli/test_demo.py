"""The command line itself and `rahbo demo`."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rahbo
from rahbo.cli import demo, main
from rahbo.cli.demo import ChosenPoint, MethodOutcome, outcome, verdict
from rahbo.problems import sine


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


@pytest.fixture(scope="module")
def result():
    def objective(x, seed):
        return sine().sample({"x": x}, np.random.default_rng(seed))

    return rahbo.maximize(objective, sine().space, rounds=4, n_initial=4, repeats=3, seed=0)


def test_the_outcome_is_the_truth_about_the_run(result):
    found = outcome("A", sine(), result)
    best = 1.0 - 0.1  # up to the foot of the sigmoid, which is under 1e-9 there

    def regret(x):
        noise_var = 1.0 / (1.0 + np.exp(-30.0 * (x - 1.0))) + 0.1
        return best - (np.sin(2 * np.pi * x) - noise_var)

    chosen = [t.params["x"] for t in result.trials if t.source == "strategy"]
    assert len(chosen) == 4
    np.testing.assert_allclose(found.cumulative_regret, sum(map(regret, chosen)), atol=1e-7)
    assert found.noisy_rounds == sum(x > 1.0 for x in chosen)
    values = {v: t.params["x"] for t in result.trials for v in t.values.values()}
    assert found.luckiest_value == max(values)
    assert found.luckiest.x == values[max(values)]
    assert found.reported.x == result.recommendation.params["x"]
    np.testing.assert_allclose(found.reported.regret, regret(found.reported.x), atol=1e-7)
    np.testing.assert_allclose(found.reported.mean, np.sin(2 * np.pi * found.reported.x))


def made_up(name, cumulative_regret, luckiest_value=2.0):
    point = ChosenPoint(name, 0.25, 1.0, 0.1, 0.0)
    return MethodOutcome(name, point, point, luckiest_value, cumulative_regret, 3)


@pytest.mark.parametrize(
    ("careless", "careful", "said"),
    [
        (30.0, 3.0, "regret is 3.0 for RAHBO and 30.0 for GP-UCB"),
        (3.0, 30.0, "regret is 3.0 for GP-UCB and 30.0 for RAHBO"),
        (10.0, 10.5, "Both methods have a similar cumulative regret"),
    ],
)
def test_the_verdict_follows_the_numbers(careless, careful, said):
    text = verdict(made_up("GP-UCB", careless), made_up("RAHBO", careful, 2.5), rounds=60)
    assert said in text
    assert "luckiest single value, 2.50" in text


def test_the_demonstration_prints_a_table_and_saves_a_picture(tmp_path):
    out = tmp_path / "demo.png"
    done = invoke("demo", "--rounds", "5", "--seed", "1", "--out", str(out))
    assert done.exit_code == 0, done.output
    for words in ("GP-UCB reports", "RAHBO reports", "GP-UCB's luckiest trial", "cumulative"):
        assert words in done.output
    # The output is not a terminal, so there are plain lines without escape codes.
    assert "150 evaluations" in done.output
    assert "\x1b" not in done.output
    assert out.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_there_is_still_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    done = invoke("demo", "--rounds", "1", "--out", str(tmp_path / "demo.png"))
    assert done.exit_code == 0
    assert "RAHBO reports" in done.output
    assert 'pip install "rahbo[demo]"' in done.output
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_demonstration_draws_no_conclusions(tmp_path, monkeypatch):
    calls = 0

    def interrupt_later(self, params, rng):
        nonlocal calls
        calls += 1
        if calls > 25:
            raise KeyboardInterrupt
        return 0.1 * calls

    monkeypatch.setattr(type(sine()), "sample", interrupt_later)
    done = invoke("demo", "--rounds", "1", "--out", str(tmp_path / "demo.png"))
    assert done.exit_code == 1
    assert "cumulative" not in done.output
    assert not (tmp_path / "demo.png").exists()


@pytest.mark.parametrize("out", ["demo.doc", "missing/demo.png"])
def test_a_bad_path_is_refused_before_the_run(out, tmp_path):
    done = invoke("demo", "--out", str(tmp_path / Path(out)))
    assert done.exit_code == 2
    assert "--out" in done.output
