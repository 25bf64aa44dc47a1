"""A risk measure in a file of a user: run, killed, resumed, and read by other processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rahbo
from extras import needs

MODULE = '''
from dataclasses import dataclass

import numpy as np

from rahbo.risk import RiskMeasure


@dataclass(frozen=True)
class Softened(RiskMeasure):
    """The mean less a share of the noise variance, which counts less the larger it is."""

    share: float = 1.0

    def value(self, f, v):
        return np.asarray(f) - self.share * np.log1p(v)

    def gradient(self, f, v):
        f, v = np.broadcast_arrays(f, v)
        return np.ones(f.shape), -self.share / (1.0 + v)
'''
RUN = """
import os, signal, sys
import numpy as np
import rahbo
from my_risks import Softened

left = int(sys.argv[1])

def objective(x, seed):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return -((x - 0.3) ** 2) + 0.1 * np.random.default_rng(seed).standard_normal()

found = rahbo.maximize(
    objective, {"x": (0.0, 1.0)}, evaluations=14, seed=0, risk=Softened(0.5), journal=sys.argv[2]
)
print(found.recommendation.pessimistic)
"""


# As the installed command, whose folder is not that of the user.
RAHBO = ("-P", "-c", "from rahbo.cli import main; main()")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "my_risks.py").write_text(MODULE)
    (tmp_path / "run.py").write_text(RUN)
    return tmp_path


def called(folder, *arguments):
    src = str(Path(rahbo.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": src, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=folder)


READ = """
import rahbo
opt = rahbo.Optimizer.resume("run.jsonl")
print(opt.settings.risk, opt.n_evaluations, opt.recommend().pessimistic)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@needs("click", "rich")
def test_an_outside_risk_goes_through_everything(folder):
    whole = called(folder, "run.py", "99", "whole.jsonl")
    assert whole.returncode == 0, whole.stderr
    assert called(folder, "run.py", "8", "run.jsonl").returncode == -signal.SIGKILL
    again = called(folder, "run.py", "99", "run.jsonl")
    assert (again.stdout, again.stderr) == (whole.stdout, whole.stderr)
    # Another process needs the module, which is not imported because a file names it.
    lost = called(folder, "-c", READ)
    assert "needs the class Softened of the module my_risks. Import the module" in lost.stderr
    found = called(folder, "-c", f"import my_risks\n{READ}")
    assert found.stdout == f"Softened(share=0.5) 14 {whole.stdout}"
    for command in (["recommend", "--json"], ["doctor"], ["report"]):
        told = [*RAHBO, *command, "run.jsonl"]
        assert "--import my_risks" in called(folder, *told).stderr
        read = called(folder, *told, "--import", "my_risks")
        assert read.returncode == 0, read.stderr
        if "--json" in command:
            assert json.loads(read.stdout)
    assert "Softened(share=0.5)" in (folder / "report.html").read_text()


@pytest.mark.slow
@needs("click", "rich")
def test_a_module_that_cannot_be_imported_is_named(folder):
    (folder / "run.jsonl").write_text("")
    for name in ("my_risk", "my risks", ""):
        found = called(folder, *RAHBO, "recommend", "run.jsonl", "--import", name)
        assert found.returncode == 2
        assert f"--import {name}: the module cannot be imported" in found.stderr
