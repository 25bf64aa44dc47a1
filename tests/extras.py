"""Libraries that come with an extra of the package, and the skips where one is missing.

A test file, or a module of the package, that cannot be imported without such a library is skipped
as a whole. A single test that needs one says so: ``@needs("optuna")``. With the option ``--core``
all of them count as missing. This file is a plugin of pytest: `conftest.py` beside
`pyproject.toml` loads it.
"""

import ast
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SRC = Path(__file__).parents[1] / "src" / "rahbo"
# The rooms that may import such a library; elsewhere a failed import is an error.
ADAPTERS = {"plots", "integrations", "cli"}
EXTRAS = {
    "blop": "blop",
    "bluesky": "blop",
    "botorch": "botorch",
    "click": "cli",
    "cloudpickle": "jobs",
    "dask": "dask",
    "distributed": "dask",
    "gest_api": "gest",
    "gpytorch": "botorch",
    "joblib": "sklearn",
    "libensemble": "gest-test",
    "matplotlib": "plot",
    "ophyd": "blop-test",
    "optuna": "optuna",
    "optuna_dashboard": "dashboard",
    "optunahub": "optunahub",
    "pandas": "test",
    "plotly": "dashboard",
    "polars": "test",
    "psycopg": "test",
    "pydantic": "gest",
    "rich": "cli",
    "sklearn": "sklearn",
    "sqlalchemy": "optuna",
    "torch": "botorch",
    "websocket": "test",
    "xopt": "gest-test",
    "yaml": "gest-test",
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


def libraries_of(program: Path) -> set[str]:
    """Return the libraries of extras that a program imports."""
    tree = ast.parse(program.read_text("utf-8"))
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names |= {str(n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} & EXTRAS.keys()


def imported(library: str) -> Any:
    """Return a library, or skip the test or the file that asks for it where it is missing."""
    return pytest.importorskip(library, reason=how_to_get(library))


@contextmanager
def skipping_without_extras() -> Iterator[None]:
    """Skip a test where it imports something that needs a library that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = missing_library(error)
        if library is None:
            raise
        pytest.skip(how_to_get(library))


def missing_library(error: BaseException | None) -> str | None:
    """Return the library of an extra for which an import failed.

    None if the import failed for something else, or in a module of the core, which must do without.
    """
    # pytest wraps the error of a test file's import in one of its own.
    while error is not None and not isinstance(error, ModuleNotFoundError):
        error = error.__cause__
    library = (error.name or "").partition(".")[0] if error else ""
    if library not in EXTRAS or not is_missing(library) or error is None:
        return None
    frames = traceback.extract_tb(error.__traceback__)
    files = [Path(frame.filename) for frame in frames if frame.name == "<module>"]
    forget(files)
    importer = files[-1]
    is_core = SRC in importer.parents and importer.relative_to(SRC).parts[0] not in ADAPTERS
    return None if is_core else library


def forget(files: list[Path]) -> None:
    """Take modules of the package whose import broke off out of `sys.modules`.

    pytest leaves them there, and a later import would find half a module.
    """
    for file in files:
        if SRC in file.parents:
            parts = file.relative_to(SRC.parent).with_suffix("").parts
            sys.modules.pop(".".join(part for part in parts if part != "__init__"), None)


class Installed(PathFinder):
    """Finds what is installed, except for folders that only have the name of a library.

    Python imports a folder without code too, such as `optunahub` beside `pyproject.toml`.
    """

    @classmethod
    def find_spec(cls, fullname: str, *where: Any) -> ModuleSpec | None:
        spec = super().find_spec(fullname, *where)
        is_folder = spec is not None and spec.loader is None
        return None if is_folder and fullname in EXTRAS else spec


class WithoutExtras(PathFinder):
    """Finds what is installed, except for the libraries of extras."""

    @classmethod
    def find_spec(cls, fullname: str, *where: Any) -> ModuleSpec | None:
        return None if fullname.partition(".")[0] in EXTRAS else super().find_spec(fullname, *where)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option to do without the extras."""
    text = "skip what needs an extra, as if no extra were installed"
    parser.addoption("--core", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Hide what is not a library, and all libraries of the extras if only the core is tested."""
    finder = WithoutExtras if config.getoption("core") else Installed
    sys.meta_path[:] = [finder if f is PathFinder else f for f in sys.meta_path]


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


def script_named(name: str) -> ModuleType:
    """A script of the repository as a module."""
    path = Path(__file__).parents[1] / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    # A dataclass looks its module up by name.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
