"""Finished experiments and runs to draw, made once."""

import numpy as np
import pytest

import constrained
import rahbo
from page_runs import blocked as blocked_run
from rahbo.experiments import Experiment, Store, run_cases
from rahbo.experiments.spec import PROBLEMS
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


def told(space, f, *, design=8, chosen=3, failures=(), **settings):
    """A run of a noisy function: its initial design, then what the strategy chose."""
    opt = rahbo.Optimizer(space, n_initial=design, repeats=3, seed=5, **settings)
    rng = np.random.default_rng(1)
    for i in range(design + chosen):
        s = opt.ask()
        mean, noise_std = f(**s.params)
        if i in failures:
            opt.tell_failure(s, "lost", repeat=0)
        opt.tell(s, mean + noise_std * rng.standard_normal(2 if i in failures else 3))
    return opt


@pytest.fixture(scope="session")
def flat():
    """A run with two numbers, one on a log scale, that is maximised."""

    def f(lr, x):
        return -((np.log10(lr) + 2.0) ** 2) - x, 0.05 + 0.4 * x

    return told({"lr": rahbo.Float(1e-4, 1.0, log=True), "x": (0.0, 1.0)}, f)


@pytest.fixture(scope="session")
def mixed():
    """A run with all kinds of inputs that is minimised, in which two evaluations failed."""

    def f(lr, depth, kind, x):
        return (np.log10(lr) + 2.0) ** 2 + 0.1 * depth, 0.3 if kind == "b" else 0.05

    space = {
        "lr": rahbo.Float(1e-4, 1.0, log=True),
        "depth": rahbo.Int(1, 5),
        "kind": ["a", "b", "c"],
        "x": (0.0, 1.0),
    }
    return told(space, f, design=10, failures=(2, 11), direction="minimize")


@pytest.fixture(scope="session")
def listed():
    """A run over a list of candidates."""
    rows = [{"solvent": s, "t": t} for s in ("water", "DMF") for t in (20.0, 40.0, 60.0, 80.0)]

    def f(solvent, t):
        return -(((t - 60.0) / 40.0) ** 2), 0.3 if solvent == "DMF" else 0.05

    return told(rahbo.Candidates(rows), f, design=5)


@pytest.fixture(scope="session")
def limited():
    """A run in which some settings are sure to keep the limit of an outcome, and some are not."""
    return constrained.told(25)


@pytest.fixture(scope="session")
def impossible():
    """A run in which no setting keeps its limit."""
    return constrained.told(8, constraints={"cost": rahbo.AtMost(-1.0)})


@pytest.fixture(scope="session")
def blocked():
    """A run whose values belong to two blocks."""
    return blocked_run()
