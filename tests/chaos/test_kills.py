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


@pytest.mark.parametrize(
    "mode", ["sequential", "ask_and_tell", "threads", "processes", "tune", "optuna"]
)
def test_a_disturbed_run_loses_nothing_and_leaves_nothing(mode, tmp_path):
    env = {
        **os.environ, "PYTHONPATH": str(Path(rahbo.__file__).parents[1]), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    command = [sys.executable, HERE / "kills.py", "--modes", mode, "--kills", "8"]
    done = subprocess.run(
        [*command, "--folder", tmp_path], capture_output=True, text=True, env=env, timeout=500
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)[mode]
    assert found.pop("runs") >= 1
    assert sum(found.values()) >= 8
