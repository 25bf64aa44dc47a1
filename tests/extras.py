"""Libraries that come with an extra of the package, and the skips where one is missing.

A test file, or a module of the package, that cannot be imported without such a library is skipped
as a whole. A single test that needs one says so: ``@needs("optuna")``. This file is a plugin of
pytest, see `conftest.py` beside `pyproject.toml`.
"""

from importlib.util import find_spec
from typing import Any

import pytest

EXTRAS = {
    "botorch": "botorch",
    "click": "cli",
    "dask": "dask",
    "distributed": "dask",
    "gpytorch": "botorch",
    "joblib": "sklearn",
    "loky": "loky",
    "matplotlib": "plot",
    "optuna": "optuna",
    "optuna_dashboard": "dashboard",
    "plotly": "dashboard",
    "psycopg": "test",
    "rich": "cli",
    "sklearn": "sklearn",
    "sqlalchemy": "optuna",
    "torch": "botorch",
    "websocket": "test",
}


def how_to_get(library: str) -> str:
    """Return the reason for a skip where a library is missing.

    >>> how_to_get("matplotlib")
    'needs matplotlib: pip install "rahbo[plot]"'
    """
    return f'needs {library}: pip install "rahbo[{EXTRAS[library]}]"'


def is_missing(library: str) -> bool:
    """Return whether a library is not installed."""
    return find_spec(library) is None


def needs(*libraries: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test where one of these libraries is missing."""
    missing = [library for library in libraries if is_missing(library)]
    return pytest.mark.skipif(bool(missing), reason="; ".join(map(how_to_get, missing)))


def imported(library: str) -> Any:
    """Return a library, or skip the test or the file that asks for it where it is missing."""
    return pytest.importorskip(library, reason=how_to_get(library))


def missing_library(error: BaseException | None) -> str | None:
    """Return the library of an extra for which an import failed, or None if it is not one.

    pytest wraps the error of a test file's import in one of its own, hence the causes.
    """
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            library = error.name.partition(".")[0]
            return library if library in EXTRAS and is_missing(library) else None
        error = error.__cause__
    return None


def pytest_exception_interact(
    node: pytest.Item | pytest.Collector,
    call: pytest.CallInfo[object],
    report: pytest.CollectReport | pytest.TestReport,
) -> None:
    """Turn a failed import into a skip where a library of an extra is missing."""
    if not isinstance(report, pytest.CollectReport) or call.excinfo is None:
        return
    library = missing_library(call.excinfo.value)
    if library is not None:
        report.outcome = "skipped"
        report.longrepr = (str(node.path), 0, f"Skipped: {how_to_get(library)}")
