"""The promises of a strategy and of a rule for repeats."""

from __future__ import annotations

from typing import Any

import numpy as np

from rahbo.model import AtMost
from rahbo.numerics import is_whole
from rahbo.policy import Repeats, RiskBound, Strategy
from rahbo.risk import MeanVariance
from rahbo.running import maximize
from rahbo.settings import Method
from rahbo.space import Candidates, Categorical, Context, Float, Int
from rahbo.testing.checks import Promises, copied, finite, proposed, run
from rahbo.trials import MOST_REPEATS

SQUARE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
MIXED = {"rate": Float(0.01, 1.0, log=True), "n": Int(1, 9), "kind": Categorical(["a", "b", "c"])}
LIST = Candidates([{"x": i / 7, "y": (3 * i % 8) / 7} for i in range(8)], revisit=False)
# Runs in which a strategy must propose what is legal: the space, and what else `run` is given.
PLACES: dict[str, tuple[Any, dict[str, Any]]] = {
    "a plane": (SQUARE, {}),
    "a plane of which a part is not valid": (SQUARE, {"valid": lambda p: p["x"] + p["y"] < 1.2}),
    "a mixed space": (MIXED, {"valid": lambda p: p["n"] < 8 or p["kind"] == "a"}),
    "a list that may be exhausted": (LIST, {"repeats": 1, "rounds": 8}),
    "a space with conditions": (
        {**SQUARE, "warmth": Context(0.0, 1.0)},
        {"given": {"warmth": 0.3}},
    ),
    "a run with failures": (SQUARE, {"failing": True}),
    "a run with limits": (SQUARE, {"outcomes": True, "constraints": {"cost": AtMost(1.2)}}),
    "a run with repeats": (SQUARE, {"repeats": 2}),
    "a run in batches": (SQUARE, {"batch": 3, "rounds": 6}),
}


def check_strategy(strategy: Strategy) -> None:
    """Check that a strategy keeps its promises, in short runs in spaces of every kind.

    Raises:
        AssertionError: A promise is broken; the message says which.
    """
    says = Promises(strategy)
    says.require(isinstance(strategy, Strategy), "must be derived from Strategy.")
    for where, (space, how) in PLACES.items():
        _check_proposals(says, strategy, where, space, how)
    optimizer = run(SQUARE, 14, method=Method(strategy=strategy))
    _check_bounds(says, strategy, optimizer.model)
    optimizer.recommend()
    optimizer.diagnose()


def _check_proposals(
    says: Promises, strategy: Strategy, where: str, space: Any, how: dict[str, Any]
) -> None:
    how = {"rounds": 14, "n_initial": 5, **how}
    first, again = (
        run(space, **how, method=Method(strategy=one)) for one in (strategy, copied(strategy))
    )
    says.require(
        proposed(first) == proposed(again),
        f"in {where}, the same run must propose the same again. Take random numbers from turn.rng.",
    )
    space, d = first.settings.space, first.settings.space.d
    for trial in first.trials:
        x = trial.x
        says.require(
            x.shape == (d,) and finite(x) and (x >= 0).all() and (x <= 1).all(),
            f"in {where}, propose() must return a point of the cube.",
        )
        legal = np.array_equal(space.canonical(x), x) and space.is_valid(x[None])[0]
        says.require(legal, f"in {where}, it proposed {trial.params}, which is not legal.")
    chosen = {t.x.tobytes() for t in first.trials if t.source == "strategy"}
    says.require(chosen, f"in {where}, it was never asked.")
    if isinstance(space.spec, Candidates):
        points = [trial.x.tobytes() for trial in first.trials]
        says.require(
            len(set(points)) == len(points),
            f"in {where}, it proposed a point that may not be proposed again.",
        )


def _check_bounds(says: Promises, strategy: Strategy, model: Any) -> None:
    X = np.random.default_rng(0).random((9, model.mean.kernel.d))
    lower = strategy.report_bound(model, MeanVariance(0.5))
    promise = "report_bound() must be a RiskBound that is pessimistic in the mean"
    says.require(isinstance(lower, RiskBound), f"{promise}.")
    says.require(lower.z_f <= 0.0 <= lower.z_noise, f"{promise} and not optimistic in the noise.")
    below = lower.value(X) <= lower.widened(0.0).value(X) + 1e-12
    says.require(
        below.all() and finite(lower.value(X)), f"{promise}: it must lie below the centre."
    )
    optimism = strategy.optimism(model, MeanVariance(0.5))
    if optimism is not None:
        bound, factors = optimism
        says.require(
            bound.is_optimistic and min(factors) > 0.0,
            "optimism() must give an optimistic bound and factors > 0.",
        )


def check_repeats(repeats: Repeats) -> None:
    """Check that a rule for repeats keeps its promises, by itself and in a short run.

    Raises:
        AssertionError: A promise is broken; the message says which.
    """
    says = Promises(repeats)
    says.require(isinstance(repeats, Repeats), "must be derived from Repeats.")
    copy = copied(repeats)
    first, again = (run(SQUARE, 14, repeats=one, n_initial=5) for one in (repeats, copy))
    says.require(
        proposed(first) == proposed(again), "the same run must ask for the same repeats again."
    )
    _check_numbers(says, repeats, first)
    if repeats.is_open:
        for n in (1, 2, 3):
            fewer = repeats.at_most(n)
            says.require(
                isinstance(fewer, Repeats) and fewer.is_open and fewer.most <= n,
                f"leaves the number open, so at_most({n}) must return an open "
                f"rule with no more than {n}.",
            )
            says.require(fewer.most <= repeats.most, "at_most() must not ask for more.")
            _check_numbers(says, fewer, first)
    population = repeats.population
    if population is not None:
        says.require(
            population == repeats.most,
            "a point that has all its values needs no more, so population and most must agree.",
        )
    _check_budget(says, repeats)


def _check_numbers(says: Promises, repeats: Repeats, optimizer: Any) -> None:
    model, x = optimizer.model, np.full(2, 0.5)
    asked = {
        "initial() without data": repeats.initial(None),
        "initial()": repeats.initial(optimizer.observations),
        "wanted()": repeats.wanted(model, x),
        "most": repeats.most,
    }
    for what, n in asked.items():
        says.require(
            is_whole(n) and 1 <= n <= MOST_REPEATS,
            f"{what} must be a whole number from 1 to {MOST_REPEATS}, got {n!r}.",
        )
        says.require(n <= repeats.most, f"{what} is {n}, but most is {repeats.most}.")


def _check_budget(says: Promises, repeats: Repeats) -> None:
    """Check that a loop spends its budget, and no more."""
    budget, calls = 24 + repeats.most, []

    def objective(x: float, y: float, seed: int) -> float:
        calls.append((x, y))
        return -((x - 0.6) ** 2) + (0.02 + 0.2 * y) * np.random.default_rng(seed).normal()

    maximize(objective, SQUARE, evaluations=budget, repeats=repeats, n_initial=5, seed=0)
    says.require(
        len(calls) == budget,
        f"a budget of {budget} evaluations must be spent, but there were {len(calls)}.",
    )
