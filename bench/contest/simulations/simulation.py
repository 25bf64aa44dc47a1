"""A problem of SimOpt as one of the contest: evaluations by SimOpt, the truth by `outcomes`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from contest.simulations.outcomes import MODELS, Inputs
from contest.simulations.table import TABLE, Entry
from rahbo.errors import NotReadyError
from rahbo.problems import Problem

# Replications behind a true mean and variance, and their seed.
REPLICATIONS, TRUTH_SEED = 4000, 2111


@dataclass(frozen=True)
class Simulation(Problem):
    """One replication is one evaluation; larger is better."""

    entry: Entry = field(compare=False, repr=False)

    def f(self, X: np.ndarray) -> np.ndarray:
        return np.array([self._truth(x)[0] for x in np.asarray(X, dtype=float)])

    def noise_var(self, X: np.ndarray) -> np.ndarray:
        return np.array([self._truth(x)[1] for x in np.asarray(X, dtype=float)])

    def samples(
        self, params: Mapping[str, object], rngs: Iterable[np.random.Generator]
    ) -> list[float]:
        side, x = self.simopt_side, self.entry.variables(self.params_to_row(params))
        return [
            self.entry.sign
            * side.replication(self.simopt_problem, x, side.streams(self.simopt_problem, rng))
            for rng in rngs
        ]

    @property
    def landmarks(self) -> tuple[float, float]:
        """The largest MV and the median of MV with the risk coefficient of the table."""
        return self.entry.best, self.entry.median

    @cached_property
    def simopt_side(self) -> Any:
        from contest.simulations import simopt_side

        return simopt_side

    @cached_property
    def simopt_problem(self) -> Any:
        return self.simopt_side.problem_class(self.entry.name)()

    def outcomes(self, x: np.ndarray, n: int = REPLICATIONS) -> np.ndarray:
        """Outcomes of the first n replications set aside for the truth, larger is better."""
        model, inputs = MODELS[self.entry.name], inputs_of(self.entry.name)
        return self.entry.sign * model.outcome(
            self.entry.variables(x), *(a[..., :n] for a in inputs)
        )

    def _truth(self, x: np.ndarray) -> tuple[float, float]:
        key = x.tobytes()
        if key not in self._truths:
            y = self.outcomes(x)
            self._truths[key] = float(np.nanmean(y)), float(np.nanvar(y, ddof=1))
        return self._truths[key]

    @cached_property
    def _truths(self) -> dict[bytes, tuple[float, float]]:
        return {}


@cache
def inputs_of(name: str) -> Inputs:
    """What all points of a problem are judged by."""
    return MODELS[name].draw(np.random.default_rng(TRUTH_SEED), REPLICATIONS)


def simulation(task: str) -> Simulation:
    """A problem by its name in the contest.

    Raises:
        NotReadyError: SimOpt is not installed.
    """
    if find_spec("simopt") is None:
        raise NotReadyError(
            "simoptlib is not installed, so its problems cannot be run. "
            'Install it in an environment of its own with pip install "rahbo[simopt]".'
        )
    entry = TABLE[task]
    return Simulation(entry.name, entry.space, entry)
