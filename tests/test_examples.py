"""Every example is short, runs in a few seconds and ends with a recommendation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from extras import libraries_of, needs

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
RUNNABLE = [pytest.param(p, marks=needs(*libraries_of(p)), id=p.name) for p in EXAMPLES]

MAX_LINES = 60
# Each takes some seconds; a machine may be busy with other things.
TIMEOUT = 300.0


def test_examples_are_found():
    assert ROOT / "examples" / "instrument.py" in EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short(path):
    assert len(path.read_text("utf-8").splitlines()) <= MAX_LINES


@pytest.mark.slow
@pytest.mark.parametrize("path", RUNNABLE)
def test_an_example_runs_and_recommends_something(path, tmp_path):
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
    }
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True,
        timeout=TIMEOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "recommend" in done.stdout.lower(), done.stdout
