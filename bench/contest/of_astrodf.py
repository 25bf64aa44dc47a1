"""SimOpt's ASTRO-DF on the risk-averse objective: a trust region with quadratic models.

It maximises the mean of what replications return, and knows no variance. So one of its replications
is k of ours: their sample mean less alpha times their sample variance, whose mean is exactly MV. It
costs k single evaluations. The solver asks for replications of its own accord, with common random
numbers, so it simulates by itself here and the contest only counts.

It works in our parameters in user units and takes integers as real numbers, rounded where they are
simulated. Three ways to run it, all with its defaults otherwise:

    astrodf        from SimOpt's initial solution
    astrodf-grad   from there, with the gradients that SimOpt has of AMBULANCE, MM1 and SAN
    astrodf-equal  from the first point of the design that all others start with
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from mrg32k3a.mrg32k3a import MRG32k3a
from simopt.problem import Objective, Problem, RepResult
from simopt.solvers.astrodf import ASTRODF

from contest.methods import N_INITIAL, Params, Report, WholeRun
from contest.problems import problem_of, risk_of
from contest.simulations.simulation import Simulation
from rahbo.policy import initial_design
from rahbo.space import Space

# Streams before these are reserved by SimOpt, for its own truth and overhead.
FIRST_STREAM = 3


def risk_averse(
    simulation: Simulation, alpha: float, k: int, budget: int, start: Sequence[float], steep: bool
) -> Problem:
    """A problem of SimOpt whose replications estimate MV; with gradients if `steep`."""
    base, entry = type(simulation.simopt_problem), simulation.entry
    kinds = tuple(simulation.space.values())

    def variables(x: tuple) -> tuple:
        row = simulation.params_to_row(simulation.row_to_params(np.array(x, dtype=float)))
        return tuple(entry.variables(row).tolist())

    class RiskAverse(base):
        minmax = (1,)
        gradient_available = steep and base.gradient_available
        lower_bounds = tuple(float(kind.low) for kind in kinds)
        upper_bounds = tuple(float(kind.high) for kind in kinds)
        dim = len(kinds)

        def vector_to_factor_dict(self, vector: tuple) -> dict:
            return super().vector_to_factor_dict(variables(vector))

        def get_random_solution(self, rng: MRG32k3a) -> tuple:
            return tuple(rng.uniform(float(kind.low), float(kind.high)) for kind in kinds)

        def before_replicate(self, rng_list: list[MRG32k3a]) -> None:
            self.streams = rng_list
            super().before_replicate(rng_list)

        def replicate(self, x: tuple) -> RepResult:
            values, slopes, at = [], [], variables(x)
            for i in range(k):
                for stream in self.streams if i else ():
                    stream.advance_subsubstream()
                found = super().replicate(at).objectives[0]
                values.append(entry.sign * found.value())
                if self.gradient_available:
                    slopes.append(entry.sign * found.grad())
            self.spent += k
            self.tried.setdefault(x, self.spent)
            return RepResult([estimate(np.array(values), np.array(slopes), alpha)])

    problem = RiskAverse(fixed_factors={"budget": budget // k, "initial_solution": tuple(start)})
    # Single evaluations so far, and how many there were when a point had its first.
    problem.spent, problem.tried = 0, {}
    return problem


def estimate(values: np.ndarray, slopes: np.ndarray, alpha: float) -> Objective:
    """MV of k values ``(k,)``, and its gradient from theirs ``(k, d)`` where they are known."""
    mv = float(values.mean() - alpha * values.var(ddof=1))
    if not len(slopes):
        return Objective(mv)
    beside = (values - values.mean()) / (len(values) - 1)
    return Objective(mv, slopes.mean(axis=0) - 2.0 * alpha * beside @ slopes)


def whole_run(
    task: str, seed: int, k: int, budget: int, marks: Sequence[int], own: bool, steep: bool
) -> WholeRun:
    """What it would report at each mark, and what it tried."""
    simulation = problem_of(task)
    if not isinstance(simulation, Simulation):
        raise ValueError(f"ASTRO-DF runs on SimOpt's problems only, not on {task}.")
    start = simulation.entry.start if own else first_of_design(simulation, seed)
    problem = risk_averse(simulation, risk_of(task).alpha, k, budget, start, steep)
    solver, n = ASTRODF(), problem.model.n_rngs
    streams = [MRG32k3a(s_ss_sss_index=[FIRST_STREAM + seed, i, 0]) for i in range(n + 3)]
    solver.solution_progenitor_rngs, solver.rng_list = streams[:n], streams[n:]
    path = solver.run(problem)
    spent = [0, *(k * path["budget"])]
    points = [tuple(start), *path["solution"]]
    last = np.searchsorted(spent, marks, side="right") - 1

    def params(x: Sequence[float]) -> Params:
        return simulation.row_to_params(np.array(x, dtype=float))

    return WholeRun(
        [Report(params(points[i])) for i in last],
        [(params(x), first) for x, first in problem.tried.items()],
    )


def first_of_design(simulation: Simulation, seed: int) -> np.ndarray:
    space = Space.of(simulation.space)
    return simulation.params_to_row(space.decode(initial_design(space, N_INITIAL, seed)[0]))


ALONE = {
    "astrodf": partial(whole_run, own=True, steep=False),
    "astrodf-grad": partial(whole_run, own=True, steep=True),
    "astrodf-equal": partial(whole_run, own=False, steep=False),
}
