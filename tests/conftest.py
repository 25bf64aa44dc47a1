"""Settings and fixtures shared by all tests."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

from forests import write_smooth_table
from rahbo.experiments import spec
from rahbo.problems import forest
from rahbo.problems.forest import Forest

# Needs the users of a POSIX system.
collect_ignore = [] if os.name == "posix" else ["postgres.py"]

# Set before anything imports matplotlib: no test may need a display.
os.environ.setdefault("MPLBACKEND", "Agg")

# Linear algebra on a busy machine has no steady speed, and a failure must repeat.
hypothesis.settings.register_profile("rahbo", deadline=None, derandomize=True, database=None)
hypothesis.settings.register_profile(
    "quick", hypothesis.settings.get_profile("rahbo"), max_examples=20
)
hypothesis.settings.load_profile("rahbo")


# 2026-11-16T12:00:00Z
NOON = 1794830400.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-docs",
        action="store_true",
        help="write what the blocks of the documentation print into its pages",
    )


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that gives every test the same numbers on every run."""
    return np.random.default_rng(20211206)


@pytest.fixture
def still_clock(monkeypatch: pytest.MonkeyPatch) -> float:
    """The only time at which anything is told, so that journals can be compared byte by byte."""
    monkeypatch.setattr("rahbo.optimizer.now", lambda: NOON)
    return NOON


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless browser."""
    from browser import open_browser

    with open_browser() as found:
        yield found


@pytest.fixture(scope="session")
def smooth_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up table of the forest problem."""
    path = tmp_path_factory.mktemp("forest") / "smooth.npz"
    write_smooth_table(path)
    return path


@pytest.fixture
def smooth_forest(smooth_table: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forest]:
    """The made-up problem, in the place of the real one."""
    monkeypatch.setitem(spec.PROBLEMS, "forest", lambda: forest(smooth_table))
    spec.problem_named.cache_clear()
    yield spec.problem_named("forest")
    spec.problem_named.cache_clear()
