"""Finished runs to draw, made once."""

import pytest

from rahbo.experiments.records import Store
from rahbo.experiments.runner import run_cases
from rahbo.experiments.spec import PROBLEMS, Experiment
from rahbo.problems import forest

SINE = Experiment("sine", ("sine",), (0.5, 1.0), (3,), 3, 3, 2)
BRANIN = Experiment("branin", ("branin-s2",), (1.0,), (3,), 3, 3, 1)
FOREST = Experiment("forest", ("smooth-forest",), (20.0, 100.0), (5,), 3, 4, 2)
FEL = Experiment("fel", ("fel",), (0.5, 2.0), (2,), 2, 3, 1, ("rahbo", "gpucb"))
REPEATS = tuple(
    Experiment("repeats", ("sine",), (1.0,), (k,), 12 // k, 3, 2, ("rahbo",)) for k in (4, 2)
)


@pytest.fixture(scope="session")
def experiments():
    """Experiments of a few rounds, by name."""
    return {
        "sine": (SINE,),
        "branin": (BRANIN,),
        "repeats": REPEATS,
        "fel": (FEL,),
        "forest": (FOREST,),
    }


@pytest.fixture(scope="session")
def smooth(smooth_table):
    """A made-up forest problem, by its name among the others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROBLEMS, "smooth-forest", lambda: forest(smooth_table))
        yield "smooth-forest"


@pytest.fixture(scope="session")
def finished(experiments, smooth, tmp_path_factory):
    """The store of their records."""
    store = Store(tmp_path_factory.mktemp("records"))
    for several in experiments.values():
        for experiment in several:
            run_cases(experiment.cases(), store)
    return store
