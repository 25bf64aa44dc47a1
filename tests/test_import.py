"""What `import rahbo` loads, offers and leaves alone."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import rahbo
from extras import EXTRAS

OPTIONAL = (
    "torch",
    "pandas",
    "optuna",
    "sklearn",
    "matplotlib",
    "rich",
    "click",
    "botorch",
    "gpytorch",
    "scipy.stats",
)

GLOBAL_SETTINGS = """
import json, logging, signal, warnings
import numpy, scipy.linalg, scipy.optimize
from threadpoolctl import threadpool_info

def settings():
    return {
        "errors": numpy.geterr(),
        "printing": repr(sorted(numpy.get_printoptions().items())),
        "warnings": repr(warnings.filters),
        "logging": [logging.root.level, len(logging.root.handlers)],
        "interrupt": repr(signal.getsignal(signal.SIGINT)),
        "random": repr(numpy.random.get_state()),
        "threads": sorted((p["filepath"], p["num_threads"]) for p in threadpool_info()),
    }

before = settings()
import rahbo
print(json.dumps([before, settings()]))
"""


def run_fresh(program: str) -> list:
    """Run a program in a new interpreter and read the JSON it prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def loaded_after(statement: str) -> set[str]:
    """Names of the optional libraries that a statement loads in a new interpreter."""
    modules = run_fresh(f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))")
    return set(OPTIONAL) & set(modules)


def test_import_loads_no_optional_library() -> None:
    assert loaded_after("import rahbo") == set()


def test_the_check_sees_a_library_that_is_loaded() -> None:
    assert loaded_after("import scipy.stats") == {"scipy.stats"}


def test_import_changes_no_global_setting() -> None:
    before, after = run_fresh(GLOBAL_SETTINGS)
    assert after == before


def test_every_public_name_exists() -> None:
    assert len(set(rahbo.__all__)) == len(rahbo.__all__)
    missing = [name for name in rahbo.__all__ if not hasattr(rahbo, name)]
    assert missing == []


def test_tests_import_nothing_that_the_quick_check_lacks() -> None:
    tests = Path(__file__).parent
    own = {path.stem for path in tests.iterdir()} | {"rahbo"}
    installed = {"hypothesis", "numpy", "pytest", "scipy", "threadpoolctl"}
    known = own | installed | EXTRAS.keys() | sys.stdlib_module_names
    unknown = {
        f"{path.relative_to(tests)}: {name}"
        for path in tests.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in imported_by(node)
        if name.partition(".")[0] not in known
    }
    assert not unknown, "give the library an extra in tests/extras.py, so that its tests can skip"


def imported_by(node: ast.AST) -> list[str]:
    """Names of the modules that a statement imports."""
    if isinstance(node, ast.ImportFrom):
        return [node.module or "rahbo"]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
