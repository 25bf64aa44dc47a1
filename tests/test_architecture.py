"""The direction of imports, the size of pieces and the mirror of tests, checked on the source.

Modules stand in one order and import only what stands before them. The checks read the syntax
tree and run nothing, so that they see imports inside functions too.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SRC = ROOT / "src" / "rahbo"

# The rooms in their order, and the order of the modules inside a room; where none is given, there
# is none. `rahbo` is rahbo/__init__.py: it may import all the core, and only the adapters after it
# may import from it.
TABLE = """
errors
numerics: arrays checks registry rounding quasinewton signatures sobol streams texts threads
risk
space: parameters context frames candidates space
trials: files observations paged evaluation times trial counts given outcomes blocks repetition rows
model: kernels hyperprior units gp kept evidence confidence variance noise lognoise blocks joint
    learning extension assumption places fitting outcomes plausible
state
policy: design acquisition feasibility screening conditions repeats constraints domain search blocks
    revisits confirmation doubt strategies safety asking
analysis: markup wording posterior blocks reportable gain rules compliance unit rivals aversion luck
    prediction recommendation conditions frontier calibration sensitivity unevenness diagnosis
settings: method settings
journal: texts storage lines files sqlite codec events journal
reports
optimizer
running: stopping budget clock present generators calls progress display result mistakes interrupts
    run worker pool processes parallel loop
race: evidence choice simulation matching course verdict racing
testing: checks risk model policy outcomes runs storages
theory
problems
experiments
rahbo
plots
pages
integrations
cli
__main__
"""
LINES = [line.partition(":") for line in TABLE.replace("\n    ", " ").strip().splitlines()]
INNER_ORDER = {room: inner.split() for room, _, inner in LINES}
ORDER = list(INNER_ORDER)
CORE = ORDER[: ORDER.index("rahbo") + 1]
# Rooms whose modules others may import one by one: those of an integration load its library and
# those of the command line a command.
OPEN_ROOMS = {"plots", "pages", "integrations", "cli"}
SEES_ONLY = {"problems": {"errors", "numerics", "risk", "space", "problems"}}
# What a module may import against the rules, but only when one of its functions is called: a result
# draws itself and writes its report, and trials become a data frame.
ON_DEMAND = {
    # For the types alone: a strategy is a setting and a function of a state.
    "rahbo.state": {"rahbo.policy", "rahbo.settings"},
    "rahbo.policy.revisits": {"rahbo.settings"},
    "rahbo.running.result": {"rahbo.plots", "rahbo.pages", "matplotlib"},
    "rahbo.trials.rows": {"pandas"},
}

CORE_LIBRARIES = {"numpy", "scipy", "threadpoolctl"}
ADAPTER_LIBRARIES = {
    # Only where it is installed: a display, and the functions of a session.
    "running": "rich cloudpickle",
    "plots": "matplotlib",
    "integrations": "blop bluesky botorch gest_api gpytorch joblib optuna optuna_dashboard plotly "
    "pydantic sklearn torch xopt",
    "cli": "click optuna rich sqlalchemy",
}
# Private by their look only: the standard library and notebooks document them.
DOCUMENTED = {"os._exit", "_asdict", "_repr_html_"}
# Private names of a library that its adapter cannot do without. A sampler of Optuna reaches the
# storage only through them; a model of BoTorch whose outputs are standardised is a copy of itself
# only with one; scikit-learn keeps the base of all searches, their hooks, and how it checks their
# parameters, under private names.
BORROWED = {
    "rahbo.integrations.optuna": "_storage _study_id _trial_id _get_stale_trial_ids",
    "rahbo.integrations.botorch": "_subset_batch_dict",
    "rahbo.integrations.sklearn": "_search _param_validation _parameter_constraints "
    "_format_results _select_best_index",
}

MAX_MODULE_LINES = 420
MAX_FUNCTION_LINES = 60
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Import(NamedTuple):
    """One name of ``import base`` or ``from base import name``.

    It is `eager` if it is loaded when the importing module is.
    """

    base: str
    name: str
    line: int
    eager: bool

    @property
    def path(self) -> list[str]:
        return [*self.base.split("."), self.name] if self.name else self.base.split(".")


def imports_of(node: ast.AST, eager: bool = True) -> Iterator[Import]:
    """All imports below a node of the syntax tree, at any depth."""
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, "", node.lineno, eager) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        yield from (Import(base, alias.name, node.lineno, eager) for alias in node.names)
    deferred = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
        isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
    )
    for child in ast.iter_child_nodes(node):
        yield from imports_of(child, eager and not deferred)


def room_of(path: list[str]) -> str:
    """The room of a module, or of a name in it; what has no room stands in rahbo/__init__.py."""
    return path[1] if len(path) > 1 and path[1] in ORDER else "rahbo"


def rank(path: list[str]) -> tuple[int, int]:
    """Place in the order; the `__init__` of a room stands after its modules."""
    room = room_of(path)
    inner = INNER_ORDER[room]
    return ORDER.index(room), inner.index(path[2]) if path[2:3] and path[2] in inner else len(inner)


def forbidden(module: str, item: Import) -> str:
    """What is wrong with one import of a module: empty if nothing is."""
    here, there = room_of(module.split(".")), room_of(item.path)
    on_demand = ON_DEMAND.get(module, set())
    if not item.eager and {".".join(item.path[:2]), item.base, item.path[0]} & on_demand:
        return ""
    if item.base.startswith("."):
        return "imports are absolute"
    if item.path[0] == "rahbo":
        return "" if item.path[1:] == ["__version__"] else misdirected(module, here, there, item)
    allowed = CORE_LIBRARIES | set(ADAPTER_LIBRARIES.get(here, "").split())
    if item.path[0] not in allowed and item.path[0] not in sys.stdlib_module_names:
        return "not a library of this room"
    if here in CORE and item.eager and item.path[:2] == ["scipy", "stats"]:
        return "loads scipy.stats with the package"
    return ""


def misdirected(module: str, here: str, there: str, item: Import) -> str:
    """What is wrong with an import of the package itself: empty if nothing is."""
    within = here == there and not INNER_ORDER[here]
    if not within and rank(item.path) >= rank(module.split(".")):
        return "stands after it in the order"
    if there not in SEES_ONLY.get(here, ORDER):
        return "not for this room"
    if item.name == "*":
        return "takes all names"
    inside = item.base.count(".") > 1 or item.name in INNER_ORDER[there]
    if here != there and inside and there not in OPEN_ROOMS:
        return f"others import from rahbo.{there}"
    return ""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def own_private(tree: ast.AST) -> set[str]:
    """Private names that a syntax tree defines: functions, classes, variables and attributes."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found |= {node.attr} if getattr(node.value, "id", "") == "self" else set()
    return {name for name in found if is_private(name)}


def called(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def private_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Private names that a module uses and does not define, as attribute, import or string.

    A string counts where it names an attribute, for `getattr` or `monkeypatch.setattr`.
    """
    own = own_private(tree)
    for item in imports_of(tree):
        if any(map(is_private, item.path)):
            yield item.line, ".".join(item.path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and called(node).endswith("attr"):
            strings = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            for named in filter(is_private, (str(value).rpartition(".")[2] for value in strings)):
                if named not in own:
                    yield node.lineno, named


def private_violations(module: str, tree: ast.Module) -> list[str]:
    rooms = [names.split() for start, names in BORROWED.items() if module.startswith(start)]
    allowed = DOCUMENTED.union(*rooms)
    return [
        f"{module}:{line} must not use {name}"
        for line, name in private_uses(tree)
        if not {name, *filter(is_private, name.split("."))} & allowed
    ]


def size_violations(module: str, source: str, tree: ast.Module) -> list[str]:
    n_lines = len(source.splitlines())
    found = [f"{module} has {n_lines} lines"] if n_lines > MAX_MODULE_LINES else []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                found.append(f"{module}:{node.lineno} {node.name} has {length} lines")
    return found


def violations(module: str, source: str) -> list[str]:
    """Everything that one module does against the rules."""
    tree = ast.parse(source)
    path = module.split(".")
    inner = INNER_ORDER.get(path[1] if path[1:] else "rahbo")
    if inner is None or (inner and path[2:] and path[2] not in inner):
        return [f"{module} has no place in TABLE: give it one"]
    wrong = [(item, forbidden(module, item)) for item in imports_of(tree)]
    return [
        *(f"{module}:{i.line} imports {'.'.join(i.path)}: {why}" for i, why in wrong if why),
        *private_violations(module, tree),
        *size_violations(module, source, tree),
    ]


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def text_of(path: Path) -> str:
    return path.read_text("utf-8")


SOURCES = {module_name(path): path for path in sorted(SRC.rglob("*.py"))}


def test_every_module_keeps_the_rules() -> None:
    assert "rahbo.errors" in SOURCES
    assert [bad for name, path in SOURCES.items() for bad in violations(name, text_of(path))] == []


def test_tests_and_scripts_use_no_private_names_of_the_package_either() -> None:
    trees = [ast.parse(text_of(path)) for path in SOURCES.values()]
    ours = set().union(*map(own_private, trees)) - DOCUMENTED - {"_storage"}
    folders = [ROOT / name for name in ("tests", "bench", "examples", "scripts")]
    assert [
        f"{path.relative_to(ROOT)}:{line} must not use {name}"
        for path in (path for folder in folders for path in folder.rglob("*.py"))
        for line, name in private_uses(ast.parse(text_of(path)))
        if name.rpartition(".")[2] in ours
    ] == []


def test_every_module_that_defines_something_has_its_test_file() -> None:
    missing = []
    for path in SOURCES.values():
        folder, name = path.relative_to(SRC).parent, path.stem.lstrip("_")
        defines = any(isinstance(node, DEFINITIONS) for node in ast.walk(ast.parse(text_of(path))))
        # The commands are tested as a whole.
        if defines and path.name != "__init__.py" and folder.parts[:1] != ("cli",):
            mirror = TESTS / folder / f"test_{name}.py"
            missing += [] if mirror.is_file() else [mirror.relative_to(TESTS)]
    assert missing == []


# What changes after it was made, in the core: the run, the memory of a state (module `state`), its
# file, locks, and memories of the mathematics, which only save time and are found again.
CHANGING = {
    "numerics.threads.SharedLock": "a fork of the process has a lock of its own",
    "model.gp.GP": "solves of points met before, shared by posteriors with one factor",
    "model.joint.MeanNoiseModel": "predictions at lists",
    "model.kept.Kept": "covariances of a list with later points",
    "policy.screening.Screened": "exact deviations in place of ceilings",
    "journal.storage.MemoryStorage": "the events",
    "journal.files.FileStorage": "the file, and how much of it was seen",
    "journal.sqlite.SQLiteStorage": "the connection",
    "journal.journal.Journal": "how many events were recorded, and whether it may record more",
    "optimizer.Optimizer": "the run",
}
CHANGES = {"append", "extend", "add", "update", "pop", "clear", "discard", "remove", "setdefault"}


def own_changes(method: ast.FunctionDef) -> Iterator[ast.AST]:
    """Assignments to what belongs to ``self``, and calls that change it."""
    for node in ast.walk(method):
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            targets = [node.func.value] if node.func.attr in CHANGES else []
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, ast.Attribute | ast.Subscript):
                    text = ast.unparse(part)
                    if text.startswith("self."):
                        yield part


def test_in_the_core_only_these_classes_change_after_they_were_made() -> None:
    last = ORDER.index("running")
    found = {
        f"{module.removeprefix('rahbo.')}.{node.name}"
        for module, path in SOURCES.items()
        if ORDER.index(room_of(module.split("."))) < last
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name not in ("__init__", "__post_init__")
        if any(own_changes(method))
    }
    assert found == set(CHANGING)


LONG_FUNCTION = "def f():\n" + "    x = 1\n" * MAX_FUNCTION_LINES


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rahbo.space.space", "from rahbo.model import MeanNoiseModel"),
        ("rahbo.space.space", "from rahbo import model"),
        ("rahbo.settings", "from .errors import SpaceError"),
        ("rahbo.risk", "def f():\n    from rahbo.model import GP"),
        ("rahbo.risk", "import typing\nif typing.TYPE_CHECKING:\n    import rahbo.model"),
        ("rahbo.optimizer", "from rahbo import Optimizer"),
        ("rahbo.model.kernels", "from rahbo.model.gp import GP"),
        ("rahbo.model.gp", "from rahbo.model import RBF"),
        ("rahbo.policy.search", "from rahbo.model.gp import GP"),
        ("rahbo.policy.search", "import rahbo.model.gp"),
        ("rahbo.policy.search", "from rahbo.model import gp"),
        ("rahbo.policy.search", "from rahbo.model import *"),
        ("rahbo.problems.sine", "from rahbo.trials import Observations"),
        ("rahbo", "import rahbo.plots"),
        ("rahbo.newcomer", "import rahbo.errors"),
        ("rahbo.model.newcomer", "import rahbo.errors"),
        ("rahbo.trials.rows", "import pandas"),
        ("rahbo.trials.trial", "def f():\n    import pandas"),
        ("rahbo.running.result", "from rahbo.plots import overview"),
        ("rahbo.plots.draw", "import torch"),
        ("rahbo.risk", "from scipy.stats import norm"),
        ("rahbo.risk", "class A:\n    from scipy import stats"),
        ("rahbo.policy.search", "from rahbo.policy.design import _complete"),
        ("rahbo.cli.main", "def f(optimizer):\n    return optimizer._fits"),
        ("rahbo.cli.main", "def f(optimizer):\n    return getattr(optimizer, '_fits')"),
        ("rahbo.cli.main", "class A(Optimizer):\n  def f(self): return self._fits"),
        ("rahbo.running.pool", "def f(executor):\n    return executor._processes"),
        ("rahbo.running.pool", "def f(study):\n    return study._storage"),
        ("rahbo.risk", "x = 1\n" * (MAX_MODULE_LINES + 1)),
        ("rahbo.risk", LONG_FUNCTION),
    ],
)
def test_checker_refuses(module: str, source: str) -> None:
    assert len(violations(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rahbo.risk", "import math, numpy as np\nfrom rahbo.errors import SpaceError"),
        ("rahbo.journal.journal", "from rahbo import __version__"),
        ("rahbo.policy.search", "class A:\n  def _f(self, other): return other._f(self)"),
        ("rahbo.integrations.optuna", "import optuna\ndef f(study):\n    return study._storage"),
        ("rahbo.model.joint", "from rahbo.model import gp\nfrom rahbo.model.noise import LogNoise"),
        ("rahbo.problems.sine", "from rahbo.risk import R\nfrom rahbo.problems.base import P"),
        ("rahbo.risk", "def f():\n    from scipy.stats import norm"),
        ("rahbo.risk", "import typing\nif typing.TYPE_CHECKING:\n    import scipy.stats"),
        ("rahbo.plots.draw", "import matplotlib, scipy.stats\nimport rahbo"),
        ("rahbo.running.result", "def f():\n    from rahbo.plots import overview"),
        ("rahbo", "from rahbo.optimizer import Optimizer\nfrom rahbo import model, theory"),
        ("rahbo.risk", "x = 1\n" * MAX_MODULE_LINES),
    ],
)
def test_checker_accepts(module: str, source: str) -> None:
    assert violations(module, source) == []
