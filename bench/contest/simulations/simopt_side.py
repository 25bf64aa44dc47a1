"""SimOpt's own code: its problems, and one replication of them. Imported only where it is run."""

import numpy as np
from mrg32k3a.mrg32k3a import MRG32k3a
from simopt.directory import problem_directory
from simopt.models.paramesti import ParamEstiMaxLogLik
from simopt.models.rmitd import RMITDMaxRevenue
from simopt.problem import Problem, RepResult, Solution


class Likelihood(ParamEstiMaxLogLik):
    """Draws again where SimOpt's code overflows: at x1 = 10 in one of 5,000 replications."""

    def replicate(self, x: tuple) -> RepResult:
        while True:
            try:
                return super().replicate(x)
            except OverflowError:
                continue


class Revenue(RMITDMaxRevenue):
    """What is kept back is the second and the third variable.

    Version 1.2.4 passes on the first as well, so that nothing is ever sold in the first period.
    """

    def vector_to_factor_dict(self, vector: tuple) -> dict:
        return {"initial_inventory": vector[0], "reservation_qtys": list(vector[1:])}


CORRECTED = {"PARAMESTI-1": Likelihood, "RMITD-1": Revenue}


def problem_class(name: str) -> type[Problem]:
    return CORRECTED.get(name) or problem_directory[name]


def streams(problem: Problem, rng: np.random.Generator) -> list[MRG32k3a]:
    """Streams for one replication, from a seed of their own."""
    seed = tuple(int(s) for s in rng.integers(1, 2**31, size=6))
    return [MRG32k3a(ref_seed=seed, s_ss_sss_index=[0, i, 0]) for i in range(problem.model.n_rngs)]


def replication(problem: Problem, x: np.ndarray, rngs: list[MRG32k3a]) -> float:
    """The objective of one replication, in SimOpt's sign."""
    solution = Solution(tuple(x.tolist()), problem)
    solution.attach_rngs(rngs, copy=False)
    problem.simulate(solution)
    return float(solution.objectives[0, 0])
