"""Every strategy and rule for repeats keeps its promises, and those that break one are refused."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from outside import Thompson, WhereNoisy
from rahbo.policy import (
    GPUCB,
    Adaptive,
    Fixed,
    Folds,
    Rahbo,
    RahboUS,
    RandomSearch,
    TopTwo,
    optimistic,
    pessimistic,
)
from rahbo.testing import check_repeats, check_strategy


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategy", [Rahbo(), TopTwo(), RahboUS(3), GPUCB(), RandomSearch(), Thompson()], ids=repr
)
def test_a_strategy_keeps_its_promises(strategy):
    check_strategy(strategy)


@dataclass(frozen=True)
class Unseeded(Thompson):
    """Draws from a generator of its own."""

    def propose(self, turn):
        return super().propose(replace(turn, rng=np.random.default_rng()))


@dataclass(frozen=True)
class Outside(Thompson):
    """Leaves the cube."""

    def propose(self, turn):
        return super().propose(turn) + 1.0


@dataclass(frozen=True)
class Between(Thompson):
    """Takes no notice of what is legal."""

    def propose(self, turn):
        return turn.rng.random(turn.domain.space.d)


@dataclass(frozen=True)
class Repeating(Thompson):
    """Takes no notice of what may not be proposed again."""

    def propose(self, turn):
        X = turn.domain.space.enumerate() if np.isfinite(turn.domain.space.size) else turn.points()
        return X[0]


@dataclass(frozen=True)
class Bragging(Thompson):
    """Reports by an optimistic bound."""

    def report_bound(self, model, risk):
        return optimistic(model, risk)


@dataclass(frozen=True)
class Vague(Thompson):
    """Reports by a number."""

    def report_bound(self, model, risk):
        return pessimistic(model, risk) if model.observations.n < 14 else 0.0


@dataclass(frozen=True)
class Pessimist(Rahbo):
    """Shares a search for the largest lower bound."""

    def optimism(self, model, risk):
        return pessimistic(model, risk), (1.0,)

    def propose(self, turn):
        return turn.best(X := turn.points(), pessimistic(turn.model, turn.risk).value(X))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Unseeded(), "Take random numbers from turn.rng"),
        (Between(), "is not legal"),
        (Repeating(), "may not be proposed again"),
        (Bragging(), "pessimistic in the mean"),
        (Pessimist(), "optimistic bound and factors"),
        (Rahbo, "must be derived from Strategy"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_a_broken_promise_of_a_strategy_is_named(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_strategy(wrong)


@pytest.mark.parametrize(
    "repeats",
    [Fixed(1), Fixed(3), Folds(3), Adaptive(), Adaptive(1, 6, setup=3.0), WhereNoisy()],
    ids=repr,
)
def test_a_rule_for_repeats_keeps_its_promises(repeats):
    check_repeats(repeats)


class Generous(WhereNoisy):
    """Starts with more than it says."""

    def initial(self, observations):
        return 9


class Idle(WhereNoisy):
    """Wants nothing."""

    def wanted(self, model, x):
        return 0


class Stubborn(WhereNoisy):
    """Leaves the number open, but insists on it."""

    def at_most(self, n):
        return self


class Closing(WhereNoisy):
    """Is not open any more once it was lowered."""

    def at_most(self, n):
        return Fixed(n)


class Fickle(WhereNoisy):
    """Wants another number each time."""

    def wanted(self, model, x):
        return int(np.random.default_rng().integers(1, 7))


class Unending(WhereNoisy):
    """Has more values than it needs."""

    population = 8


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Generous(), r"initial\(\) without data is 9, but most is 6"),
        (Idle(), r"wanted\(\) must be a whole number from 1"),
        (Stubborn(), r"at_most\(1\) must return an open rule with no more than 1"),
        (Closing(), "must return an open rule"),
        (Fickle(), "the same repeats again"),
        (Unending(), "population and most must agree"),
        (5, "must be derived from Repeats"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_a_broken_promise_of_a_rule_is_named(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_repeats(wrong)
