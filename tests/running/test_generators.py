"""Which generators a call drew from, and whether another process drew from the same state."""

import itertools
import os
import pickle
from dataclasses import replace
from random import Random, SystemRandom

import numpy as np
import pytest

from rahbo.running.generators import CALLS, Drawn, noting_draws

PIDS = itertools.count(10**9)


@pytest.fixture(autouse=True)
def process(monkeypatch):
    """A process that has made no calls; call it for another one."""

    def change():
        pid = next(PIDS)
        monkeypatch.setattr(os, "getpid", lambda: pid)

    change()
    return change


class Bench:
    """An object with a generator of its own."""

    def __init__(self):
        self.rng = np.random.default_rng(1)

    def measure(self):
        return self.rng.normal()


MODULE = np.random.RandomState(2)


def closure():
    rng = Random(3)
    return lambda: rng.gauss(0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (Bench().measure, "numpy.random._generator.Generator"),
        (lambda: MODULE.normal(), "numpy.random.mtrand.RandomState"),
        (lambda: np.random.normal(), "numpy.random.mtrand.RandomState"),  # noqa: NPY002
        (closure(), "random.Random"),
    ],
    ids=["object", "module", "numpy", "closure"],
)
def test_a_generator_is_found_wherever_it_is(call, kind):
    value, drawn = noting_draws(call)
    assert isinstance(value, float)
    assert [draw.kind for draw in drawn] == [kind]


def test_what_is_made_within_the_call_or_asks_the_system_is_not_drawn_from():
    system = SystemRandom()
    assert noting_draws(lambda: np.random.default_rng(0).normal())[1] == ()
    assert noting_draws(system.random)[1] == ()
    assert noting_draws(lambda: 1.0) == (1.0, ())


def test_only_the_first_calls_of_a_process_are_looked_at(process):
    call = closure()
    assert [bool(noting_draws(call)[1]) for _ in range(CALLS + 2)] == [True] * CALLS + [False] * 2
    process()
    assert noting_draws(call)[1]


def test_the_same_state_in_two_processes_is_a_copy(process):
    bench, seen = Bench(), Drawn()
    other = pickle.loads(pickle.dumps(bench))
    here = noting_draws(bench.measure)[1]
    process()
    assert (seen.copied(here), seen.copied(here)) == (None, None)
    there = noting_draws(other.measure)[1]
    assert there == (replace(here[0], process=there[0].process),)
    assert seen.copied(there) == "numpy.random._generator.Generator"
    # From now on, they draw other numbers.
    bench.measure()
    process()
    assert seen.copied(noting_draws(bench.measure)[1]) is None
