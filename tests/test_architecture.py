"""The direction of imports, the size of pieces and the mirror of tests, enforced on the source.

Modules stand in one order and import only what stands before them. The checks read the syntax
tree and run nothing, so that they see imports inside functions too.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SRC = TESTS.parent / "src" / "rahbo"

# Top-level modules and rooms. ROOT is rahbo/__init__.py: it may import all the core, and only the
# adapters after it may import from it.
ROOT = ""
ORDER = (
    "errors",
    "numerics",
    "risk",
    "space",
    "trials",
    "model",
    "policy",
    "analysis",
    "settings",
    "journal",
    "knowledge",
    "optimizer",
    "running",
    "race",
    "theory",
    "problems",
    "experiments",
    ROOT,
    "plots",
    "pages",
    "integrations",
    "cli",
    "__main__",
)
# The order inside a room; a room not named here has none.
INNER_ORDER = {
    "numerics": (
        "arrays",
        "checks",
        "rounding",
        "quasinewton",
        "signatures",
        "sobol",
        "streams",
        "texts",
        "threads",
    ),
    "space": ("parameters", "context", "frames", "candidates", "space"),
    "trials": (
        "files",
        "observations",
        "evaluation",
        "times",
        "trial",
        "given",
        "outcomes",
        "blocks",
        "repetition",
        "rows",
        "ledger",
    ),
    "model": (
        "kernels",
        "hyperprior",
        "units",
        "gp",
        "kept",
        "evidence",
        "confidence",
        "variance",
        "noise",
        "lognoise",
        "blocks",
        "joint",
        "learning",
        "extension",
        "assumption",
        "places",
        "fitting",
        "outcomes",
        "plausible",
    ),
    "policy": (
        "design",
        "acquisition",
        "feasibility",
        "screening",
        "conditions",
        "repeats",
        "constraints",
        "domain",
        "search",
        "confirmation",
        "doubt",
        "strategies",
        "blocks",
        "proposal",
        "safety",
    ),
    "analysis": (
        "markup",
        "wording",
        "posterior",
        "blocks",
        "snapshot",
        "placed",
        "gain",
        "rules",
        "compliance",
        "unit",
        "rivals",
        "aversion",
        "luck",
        "prediction",
        "recommendation",
        "conditions",
        "frontier",
        "calibration",
        "sensitivity",
        "unevenness",
        "diagnosis",
    ),
    "journal": ("files", "lines", "codec", "events", "journal"),
    "running": (
        "stopping",
        "budget",
        "clock",
        "present",
        "generators",
        "calls",
        "progress",
        "display",
        "result",
        "mistakes",
        "run",
        "worker",
        "pool",
        "processes",
        "parallel",
        "loop",
    ),
    "race": (
        "evidence",
        "choice",
        "simulation",
        "matching",
        "course",
        "verdict",
        "racing",
    ),
}
# Rooms whose modules others import from the room itself. The modules of an integration load its
# library and those of the command line load a command: they are imported one by one.
CLOSED_ROOMS = tuple(
    room
    for room in ORDER
    if room not in (ROOT, "integrations", "cli", "__main__", "plots", "pages")
)
SEES_ONLY = {"problems": {"errors", "numerics", "risk", "space", "problems"}}
MAX_ENTRIES = 21
# Private names that are also those of a library, which its adapter cannot do without, and the name
# by which notebooks ask for HTML.
FOREIGN = {"_storage", "_timeout", "_repr_html_"}
# What a module may import against the rules, but only when one of its functions is called: a result
# draws itself and writes its report, and trials become a data frame.
ON_DEMAND = {
    "rahbo.running.result": {"rahbo.plots", "rahbo.pages", "matplotlib"},
    "rahbo.trials.rows": {"pandas"},
}

CORE_LIBRARIES = {"numpy", "scipy", "threadpoolctl"}
ADAPTER_LIBRARIES = {
    # Only where it is installed, for a display.
    "running": {"rich", "cloudpickle"},
    "problems": {"sklearn"},
    "plots": {"matplotlib"},
    "integrations": {
        "blop",
        "bluesky",
        "botorch",
        "gest_api",
        "gpytorch",
        "joblib",
        "optuna",
        "optuna_dashboard",
        "plotly",
        "pydantic",
        "sklearn",
        "torch",
        "xopt",
    },
    "cli": {"click", "optuna", "rich", "sqlalchemy"},
}

MAX_MODULE_LINES = 420
MAX_FUNCTION_LINES = 60


@dataclass(frozen=True)
class Import:
    """One imported module; `eager` if it is loaded when the importing module is.

    `name` is what is taken from it, and `via` is what stands after the word `from`.
    """

    target: str
    line: int
    eager: bool
    via: str = ""
    name: str = ""


def imports_of(module: str, tree: ast.Module, is_package: bool = False) -> list[Import]:
    """All imports of a module, at any depth, by absolute name."""
    package = module if is_package else module.rpartition(".")[0]
    return [
        Import(target, node.lineno, eager, via, name)
        for node, eager in _import_nodes(tree, eager=True)
        for target, via, name in _targets(node, package)
    ]


def _import_nodes(node: ast.AST, eager: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node, eager
    deferred = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        typing_only = (
            isinstance(node, ast.If)
            and child in node.body
            and ast.unparse(node.test).endswith("TYPE_CHECKING")
        )
        yield from _import_nodes(child, eager and not deferred and not typing_only)


def _targets(node: ast.Import | ast.ImportFrom, package: str) -> list[tuple[str, str, str]]:
    if isinstance(node, ast.Import):
        return [(alias.name, alias.name, "") for alias in node.names]
    base = node.module or ""
    if node.level:
        anchor = package.rsplit(".", node.level - 1)[0]
        base = f"{anchor}.{base}".rstrip(".")
    return [(_member(base, alias.name), base, alias.name) for alias in node.names]


def _member(base: str, name: str) -> str:
    """`base.name` where that is a module, `base` where the name is something defined in it."""
    folder = base.removeprefix("rahbo").removeprefix(".")
    modules = ORDER if base == "rahbo" else INNER_ORDER.get(folder, ())
    if base == "scipy" or (base.split(".")[0] == "rahbo" and name in modules):
        return f"{base}.{name}"
    return base


def layer_of(module: str) -> str:
    """The entry of `ORDER` that a module of the package belongs to."""
    return module.split(".")[1] if "." in module else ROOT


def rank(module: str) -> tuple[int, int]:
    """Place of a module in the order; a folder's `__init__` stands after its modules."""
    layer = layer_of(module)
    inner = INNER_ORDER.get(layer, ())
    below = module.split(".")[2:]
    if layer not in ORDER or (inner and below and below[0] not in inner):
        raise LookupError(f"{module} has no place in ORDER or INNER_ORDER: give it one")
    return ORDER.index(layer), inner.index(below[0]) if inner and below else len(inner)


def direction_violations(module: str, imports: list[Import]) -> list[str]:
    """Imports of the package itself that point the wrong way."""
    layer, found = layer_of(module), []
    for item in imports:
        if item.target.split(".")[0] != "rahbo":
            continue
        if item.via == "rahbo" and item.name == "__version__":
            # Set before anything is imported, so that every module may read it.
            continue
        target_layer = layer_of(item.target)
        in_unordered_folder = target_layer == layer and layer not in INNER_ORDER
        before = rank(item.target) < rank(module) or in_unordered_folder
        if not before or target_layer not in SEES_ONLY.get(layer, ORDER):
            found.append(f"{module}:{item.line} must not import {item.target}")
    return found


def border_violations(module: str, imports: list[Import]) -> list[str]:
    """Imports that reach past a room into one of its modules, or take all its names."""
    found = []
    for item in imports:
        if item.target.split(".")[0] != "rahbo" or layer_of(item.target) == layer_of(module):
            continue
        inside = layer_of(item.target) in CLOSED_ROOMS and item.target.count(".") > 1
        if inside or item.name == "*":
            room = f"rahbo.{layer_of(item.target)}"
            found.append(f"{module}:{item.line} must import names from {room}, not {item.target}")
    return found


def private_violations(module: str, tree: ast.Module, imports: list[Import]) -> list[str]:
    """Uses of a private name that belongs to another module of the package.

    A name may be an attribute, or a string that names one for `getattr` or `monkeypatch`.
    """
    found = [
        f"{module}:{item.line} must not import {item.name} of {item.via}"
        for item in imports
        if item.via.split(".")[0] == "rahbo" and _is_private(item.name)
    ]
    foreign = PRIVATE - _own_private(tree) - FOREIGN
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in joined for part in node.values}
    for node in ast.walk(tree):
        if id(node) in parts:
            continue
        if isinstance(node, ast.Attribute) and node.attr in foreign:
            found.append(f"{module}:{node.lineno} must not use {ast.unparse(node)}")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = node.value.rpartition(".")[2]
            if named in foreign and (node.value == named or node.value.startswith("rahbo.")):
                found.append(f"{module}:{node.lineno} must not name {node.value}")
    return found


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _own_private(tree: ast.AST) -> set[str]:
    """Private names that a syntax tree defines: functions, classes, fields and attributes."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [part for target in targets for part in ast.walk(target)]
            found |= {part.id for part in parts if isinstance(part, ast.Name)}
            found |= {
                part.attr
                for part in parts
                if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "self"
            }
    return {name for name in found if _is_private(name)}


def library_violations(module: str, imports: list[Import]) -> list[str]:
    """Imports of libraries that the module's layer may not use, or may not load eagerly."""
    layer, found = layer_of(module), []
    allowed = CORE_LIBRARIES | ADAPTER_LIBRARIES.get(layer, set()) | {"rahbo"}
    for item in imports:
        top = item.target.split(".")[0]
        if top not in allowed and top not in sys.stdlib_module_names:
            found.append(f"{module}:{item.line} must not import {item.target}")
        is_core = ORDER.index(layer) <= ORDER.index(ROOT)
        if is_core and item.eager and f"{item.target}.".startswith("scipy.stats."):
            found.append(f"{module}:{item.line} imports scipy.stats outside a function")
    return found


def size_violations(module: str, source: str) -> list[str]:
    """The module, or functions in it, with too many lines."""
    n_lines = len(source.splitlines())
    found = [f"{module} has {n_lines} lines"] if n_lines > MAX_MODULE_LINES else []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                found.append(f"{module}:{node.lineno} {node.name} has {length} lines")
    return found


def is_on_demand(module: str, item: Import) -> bool:
    """Whether a module may import something inside its functions."""
    allowed = ON_DEMAND.get(module, set())
    return item.target in allowed or item.target.split(".")[0] in allowed - {"rahbo"}


def violations(module: str, source: str, is_package: bool = False) -> list[str]:
    """Everything that one module does against the rules."""
    tree = ast.parse(source)
    imports = [
        item
        for item in imports_of(module, tree, is_package)
        if item.eager or not is_on_demand(module, item)
    ]
    try:
        wrong_way = direction_violations(module, imports)
    except LookupError as error:
        return [str(error)]
    return (wrong_way or border_violations(module, imports)) + [
        *private_violations(module, tree, imports),
        *library_violations(module, imports),
        *size_violations(module, source),
    ]


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def mirror_of(path: Path) -> Path:
    """The test file of a source file."""
    relative = path.relative_to(SRC)
    return TESTS / relative.parent / f"test_{relative.stem.lstrip('_')}.py"


def needs_mirror(module: str, source: str) -> bool:
    """Whether a module defines something to test that `tests/cli` does not cover as a whole."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defines = any(isinstance(node, kinds) for node in ast.walk(ast.parse(source)))
    return defines and layer_of(module) not in ("cli", "__main__")


SOURCES = sorted(SRC.rglob("*.py"))
# Private names of the package. Those of other libraries are their adapters' business.
PRIVATE = set().union(*(_own_private(ast.parse(path.read_text("utf-8"))) for path in SOURCES))
MIRRORED = [
    path
    for path in SOURCES
    if path.name != "__init__.py" and needs_mirror(module_name(path), path.read_text("utf-8"))
]


def test_few_things_stand_at_the_top() -> None:
    entries = {path.name for path in SRC.iterdir()} - {"__pycache__", "__init__.py", "py.typed"}
    assert len(entries) <= MAX_ENTRIES
    assert {name.removesuffix(".py") for name in entries} <= set(ORDER)


def test_there_are_sources_to_check() -> None:
    assert SRC / "errors.py" in SOURCES
    assert SRC / "errors.py" in MIRRORED


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_module_keeps_the_rules(path: Path) -> None:
    found = violations(module_name(path), path.read_text("utf-8"), path.name == "__init__.py")
    assert found == []


USERS = [
    path
    for folder in ("tests", "bench", "examples", "scripts")
    for path in sorted((TESTS.parent / folder).rglob("*.py"))
]


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.relative_to(TESTS.parent).as_posix())
def test_tests_and_scripts_use_no_private_names_either(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert private_violations(path.name, tree, imports_of(path.stem, tree)) == []


@pytest.mark.parametrize("path", MIRRORED, ids=module_name)
def test_module_has_its_test_file(path: Path) -> None:
    assert mirror_of(path).is_file(), f"{module_name(path)} needs {mirror_of(path)}"


def test_command_line_has_tests() -> None:
    assert not (SRC / "cli").exists() or list((TESTS / "cli").glob("test_*.py"))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rahbo.space.space", "from rahbo.model import MeanNoiseModel"),
        ("rahbo.space.space", "from rahbo import model"),
        ("rahbo.settings", "from . import optimizer"),
        ("rahbo.settings", "from .optimizer import Optimizer"),
        ("rahbo.settings", "import rahbo.optimizer as o"),
        ("rahbo.risk", "def f():\n    from rahbo.model import GP"),
        ("rahbo.risk", "import typing\nif typing.TYPE_CHECKING:\n    import rahbo.model"),
        ("rahbo.optimizer", "from rahbo import Optimizer"),
        ("rahbo.optimizer", "import rahbo"),
        ("rahbo.model.kernels", "from rahbo.model.gp import GP"),
        ("rahbo.model.kernels", "from .gp import GP"),
        ("rahbo.model.kernels", "from . import gp"),
        ("rahbo.model.gp", "from rahbo.model import RBF"),
        ("rahbo.model.gp", "from ..policy import maximise"),
        ("rahbo.policy.search", "from rahbo.policy.strategies import Rahbo"),
        ("rahbo.policy.search", "from rahbo.model.gp import GP"),
        ("rahbo.policy.search", "import rahbo.model.gp"),
        ("rahbo.policy.search", "from rahbo.model import _private"),
        ("rahbo.policy.search", "from rahbo.policy.design import _complete"),
        ("rahbo.policy.search", "from rahbo.model import gp"),
        ("rahbo.policy.search", "from rahbo.model import *"),
        ("rahbo.cli.main", "def f(optimizer):\n    return optimizer._fits"),
        ("rahbo.cli.main", "def f(optimizer):\n    return getattr(optimizer, '_fits')"),
        ("rahbo.cli.main", "class A(Optimizer):\n  def f(self): return self._fits"),
        ("rahbo.problems.sine", "from rahbo.model import GP"),
        ("rahbo.problems.sine", "from rahbo.trials import Observations"),
        ("rahbo.experiments.runner", "from rahbo.plots import draw"),
        ("rahbo.running.loop", "import rahbo.cli.main"),
        ("rahbo", "import rahbo.plots"),
        ("rahbo.newcomer", "import rahbo.errors"),
        ("rahbo.model.newcomer", "import rahbo.errors"),
        ("rahbo.running.loop", "import rahbo.newcomer"),
        ("rahbo.risk", "import pandas"),
        ("rahbo.trials.rows", "import pandas"),
        ("rahbo.trials.trial", "def f():\n    import pandas"),
        ("rahbo.running.result", "from rahbo.plots import overview"),
        ("rahbo.running.result", "def f():\n    from rahbo.cli import main"),
        ("rahbo.running.loop", "def f():\n    from rahbo.pages import report_page"),
        ("rahbo.risk", "def f():\n    import torch"),
        ("rahbo.plots.draw", "import torch"),
        ("rahbo.cli.main", "import matplotlib.pyplot as plt"),
        ("rahbo.integrations.optuna", "import click"),
        ("rahbo.risk", "import scipy.stats"),
        ("rahbo.risk", "from scipy import stats"),
        ("rahbo.risk", "from scipy.stats import norm"),
        ("rahbo.risk", "from scipy.stats.qmc import Sobol"),
        ("rahbo.risk", "class A:\n    import scipy.stats"),
        ("rahbo.risk", "try:\n    import scipy.stats\nexcept ImportError:\n    pass"),
        ("rahbo.risk", "x = 1\n" * (MAX_MODULE_LINES + 1)),
        ("rahbo.risk", "class A:\n  def f():\n" + "    x = 1\n" * MAX_FUNCTION_LINES),
    ],
)
def test_checker_refuses(module: str, source: str) -> None:
    assert len(violations(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rahbo.risk", "import math, numpy as np\nfrom rahbo.errors import SpaceError"),
        ("rahbo.risk", "from . import errors\nfrom .errors import SpaceError"),
        ("rahbo.journal.journal", "from rahbo import __version__"),
        ("rahbo.policy.search", "class A:\n  def _f(self, other): return other._f(self)"),
        ("rahbo.integrations.optuna", "def f(study):\n    return study._storage"),
        ("rahbo.model.joint", "from rahbo.model import gp\nfrom .noise import LogNoise"),
        ("rahbo.policy.search", "from rahbo.model import MeanNoiseModel"),
        ("rahbo.problems.sine", "from rahbo.risk import R\nfrom rahbo.problems.base import P"),
        ("rahbo.risk", "def f():\n    from scipy.stats import norm"),
        ("rahbo.risk", "from scipy.special import ndtri\nimport scipy.statistics"),
        ("rahbo.risk", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  import scipy.stats"),
        ("rahbo.risk", "from __future__ import annotations"),
        ("rahbo.risk", "x = 1\n" * MAX_MODULE_LINES),
        ("rahbo.risk", "def f():\n" + "    x = 1\n" * (MAX_FUNCTION_LINES - 1)),
        ("rahbo.plots.draw", "import matplotlib, scipy.stats\nimport rahbo"),
        ("rahbo.integrations.botorch", "import torch, botorch\nfrom rahbo import Optimizer"),
        ("rahbo.cli.main", "import click, rich.table\nfrom rahbo.cli import demo"),
        ("rahbo.trials.rows", "def f():\n    import pandas"),
        ("rahbo.running.result", "def f():\n    from rahbo.plots import overview"),
    ],
)
def test_checker_accepts(module: str, source: str) -> None:
    assert violations(module, source) == []


def test_checker_reads_relative_imports_of_a_folder_from_the_folder() -> None:
    source = "from .gp import GP\nfrom . import noise\nfrom ..errors import DataError"
    targets = [item.target for item in imports_of("rahbo.model", ast.parse(source), True)]
    assert targets == ["rahbo.model.gp", "rahbo.model.noise", "rahbo.errors"]
    assert violations("rahbo.model", source, is_package=True) == []


def test_folders_may_be_imported_from_the_package_itself() -> None:
    source = "from rahbo.optimizer import Optimizer\nfrom rahbo import model, theory"
    assert violations("rahbo", source, is_package=True) == []


def test_only_modules_that_define_something_need_a_mirror() -> None:
    assert needs_mirror("rahbo.risk", "class Quantile: ...")
    assert needs_mirror("rahbo.risk", "if True:\n    def f(): ...")
    assert not needs_mirror("rahbo.numerics.arrays", "Array = NDArray[np.float64]")
    assert not needs_mirror("rahbo.cli.demo", "def main(): ...")


def test_mirror_of_a_source_file() -> None:
    assert mirror_of(SRC / "model" / "gp.py") == TESTS / "model" / "test_gp.py"
    assert mirror_of(SRC / "_threads.py") == TESTS / "test_threads.py"
