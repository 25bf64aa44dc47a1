"""Settings and fixtures shared by all tests."""

import os

import hypothesis
import numpy as np
import pytest

# Set before anything imports matplotlib: no test may need a display.
os.environ.setdefault("MPLBACKEND", "Agg")

# Linear algebra on a busy machine has no steady speed, and a failure must repeat.
hypothesis.settings.register_profile("rahbo", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("rahbo")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that gives every test the same numbers on every run."""
    return np.random.default_rng(20211206)
