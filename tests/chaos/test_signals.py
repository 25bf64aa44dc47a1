"""Runs of every kind under random signals, in a short form."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rahbo

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted as Linux does it"),
]


def printed_by(script, *arguments):
    """What one of the long tests beside this file says at its end."""
    env = {
        **os.environ, "PYTHONPATH": str(Path(rahbo.__file__).parents[1]), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    command = [sys.executable, HERE / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "mode", ["sequential", "ask_and_tell", "threads", "processes", "tune", "optuna"]
)
def test_a_disturbed_run_loses_nothing_and_leaves_nothing(mode, tmp_path):
    kills = 3 if mode == "optuna" else 6
    said = printed_by("kills.py", "--modes", mode, "--kills", str(kills), "--folder", tmp_path)
    assert said[mode].pop("runs") >= 1
    assert sum(said[mode].values()) >= kills


def test_an_interrupted_optimizer_goes_on_with_all_it_had():
    said = printed_by("interrupts.py", "--optimizers", "6", "--runs", "12")
    assert said["interrupts"] >= 6
    assert said["ended"] >= 1
