"""What is proposed and recommended does not depend on the unit of the objective."""

from dataclasses import replace

import numpy as np
import pytest

import rahbo
from rahbo.running import Gap
from rescaled import RUNS, Unit, differences, problem, run_in, unit_for

# Of the 200 that `bench/invariance.py` compares: a few of each kind, and those that differed most
# before numbers were rounded.
NUMBERS = (0, 1, 2, 3, 5, 8, 10, 15, 16, 17, 30, 35, 36, 40, 42, 47, 48, 50, 70, 76)
SAME = 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_settings_are_the_same_in_all_units_and_records_scale(number):
    found = problem(number)
    unit = unit_for(found)
    of_cost = Unit(37.0, -5.0) if found.limited else Unit()
    sizes = differences(found, unit, of_cost)
    assert {name: size for name, size in sizes.items() if size > SAME} == {}


def test_in_a_unit_that_is_a_power_of_two_nothing_differs():
    for number in (5, 17):
        found = problem(number)
        assert set(differences(found, Unit(2.0**-13)).values()) == {0.0}


def test_mean_variance_is_the_same_if_its_alpha_is_rescaled_too():
    found, unit = replace(problem(17), risk=rahbo.MeanVariance(2.0)), Unit(300.0, -7e4)
    one = found.optimizer()
    same = replace(found, risk=rahbo.MeanVariance(2.0 / 300.0)).optimizer(unit)
    assert one.recommend().params == same.recommend().params
    np.testing.assert_allclose(*map(cube, (one, same)), atol=SAME)


def cube(opt):
    return opt.settings.space.encode(opt.ask().params)


@pytest.mark.slow
@pytest.mark.parametrize("kind", RUNS)
def test_whole_runs_go_the_same_way(kind):
    """Each proposal follows from all before it, so a difference would grow."""
    (points, a), (others, b) = (run_in(u, kind, 0, 9) for u in (Unit(), Unit(37.0, -1e5)))
    np.testing.assert_allclose(points, others, rtol=0.0, atol=SAME)
    assert a.params == b.params
    assert b.mean == pytest.approx(37.0 * a.mean - 1e5, abs=37.0 * SAME)


# -- the default ---------------------------------------------------------------------------------


def steep(x, seed):
    """More on average to the right, and noisier there."""
    return 400.0 * x + (10.0 + 50.0 * x) * np.random.default_rng(seed).standard_normal()


@pytest.mark.slow
@pytest.mark.parametrize("unit", [Unit(1e-3), Unit(2.0**20), Unit(7.0, -3e5)])
@pytest.mark.parametrize("run", [rahbo.maximize, rahbo.minimize])
def test_a_run_goes_the_same_way_in_all_units(run, unit):
    sign = 1.0 if run is rahbo.maximize else -1.0
    options = {"evaluations": 30, "seed": 0}
    one, other = (
        run(lambda x, seed, u=u: float(u.of(sign * steep(x, seed))), {"x": (0.0, 1.0)}, **options)
        for u in (Unit(), unit)
    )
    asked = [[t.params["x"] for t in result.trials] for result in (one, other)]
    np.testing.assert_allclose(*asked, rtol=0.0, atol=SAME)
    assert one.params["x"] == pytest.approx(other.params["x"], abs=SAME)
    # Whatever the unit, 400 more on average is worth noise of 50 more.
    assert other.params["x"] > 0.9


# -- nothing shows the unit ----------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.0, 0.7, -3e9])
@pytest.mark.parametrize("stop", [Gap(1e-9), Gap(1e9)])
def test_equal_values_do_not_end_a_run_because_of_the_unit(level, stop):
    """Zeros of an instrument that sees nothing yet do not show that nothing is better."""
    data = [({"x": float(x)}, [level, level]) for x in np.linspace(0.0, 1.0, 9)]
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=data)
    assert not stop(opt.state)
    opt.tell({"x": 0.05}, level + 1e6)
    assert Gap(1e9)(opt.state)
