"""When a run may end: the numbers behind each criterion, and where runs stop."""

import numpy as np
import pytest

import rahbo
from rahbo.running import Gap
from rahbo.running.stopping import shortfalls

ROWS = rahbo.Candidates([{"x": float(i)} for i in range(5)])
SPACE = {"x": (0.0, 2.0)}
SMALL = {"n_initial": 3, "repeats": 3, "seed": 7}


def peak(x, seed):
    """Clearly best at 3, with a little noise."""
    return -abs(x - 3.0) + 0.1 * np.random.default_rng(seed).standard_normal()


def noisy(x, seed):
    """A parabola with its maximum at 0.6 whose noise grows with x."""
    return -((x - 0.6) ** 2) + 0.05 * (1 + x) * np.random.default_rng(seed).standard_normal()


def recorded(result):
    return [(t.params, dict(t.values), t.source) for t in result.trials]


def told(space, data, **settings):
    return rahbo.Optimizer(space, seed=0, data=data, **settings)


# -- probabilities -------------------------------------------------------------------------------


def lists(means, spread=0.1):
    rng = np.random.default_rng(3)
    rows = rahbo.Candidates([{"x": float(i)} for i in range(len(means))])
    data = [({"x": float(i)}, m + spread * rng.standard_normal(6)) for i, m in enumerate(means)]
    return told(rows, data)


def test_on_a_list_a_tiny_gap_is_met_when_the_recommended_row_is_surely_the_best():
    for means, is_sure in (((0.0, 1.0, 5.0), True), ((0.0, 1.0, 1.02), False)):
        opt = lists(means)
        assert (opt.recommend().p_best > 0.9) is is_sure
        assert Gap(1e-9)(opt.state) is is_sure


def test_what_was_not_tried_may_be_better():
    rng = np.random.default_rng(3)
    data = [({"x": float(i)}, m + 0.1 * rng.standard_normal(6)) for i, m in enumerate((0, 1, 2))]
    tried = told(rahbo.Candidates([{"x": float(i)} for i in range(3)]), data)
    wider = told(rahbo.Candidates([{"x": float(i)} for i in range(9)]), data)
    assert tried.recommend().p_best > 0.9 > wider.recommend().p_best
    assert Gap(1e-9)(tried.state)
    assert not Gap(1e-9)(wider.state)


def test_differences_that_do_not_matter():
    opt = lists((0.0, 1.0, 1.0))
    assert not Gap(1e-9)(opt.state)
    assert Gap(1.0)(opt.state)


def test_points_that_are_not_legal_do_not_count():
    data = [({"x": 1.0}, [9.0, 9.1]), ({"x": 2.0}, [1.0, 1.1])]
    opt = told(ROWS, data, valid=lambda p: p["x"] == 2.0)
    assert Gap(1e-9)(opt.state)
    # The best of them is not legal, and it does not settle which of the others is the better one.
    rivals = [({"x": float(x)}, [m, m + 0.5, m - 0.5]) for x, m in ((1, 9.0), (2, 1.0), (3, 1.0))]
    equal = told(ROWS, rivals, valid=lambda p: p["x"] in (2.0, 3.0))
    assert not Gap(0.01)(equal.state)
    none = told(ROWS, data, valid=lambda p: p["x"] == 3.0)
    assert not Gap(100.0)(none.state)
    assert list(shortfalls(none.state)) == []


# -- the gap -------------------------------------------------------------------------------------


def sparse(**settings):
    sign = -1.0 if settings.get("direction") == "minimize" else 1.0
    rng = np.random.default_rng(0)
    data = [({"x": float(x)}, sign * (100 * x + rng.standard_normal(4))) for x in (0.1, 0.7, 1.9)]
    return told(SPACE, data, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_gap_is_the_bound_of_the_recommendation(direction):
    opt = sparse(direction=direction)
    bound = opt.recommend().gain.bound
    assert bound > 0.0
    assert Gap(bound)(opt.state)
    assert not Gap(0.999 * bound)(opt.state)


def test_the_whole_space_counts_and_not_the_evaluated_points_alone():
    opt = sparse()
    (tried, slack), (whole, none) = shortfalls(opt.state)
    assert slack > none == 0.0
    assert np.quantile(whole, 0.9) > 2.0 * np.quantile(tried, 0.9)
    assert tried.min() >= 0.0
    assert whole.min() >= 0.0
    # Points that break are no rivals.
    half = sparse(valid=lambda p: p["x"] <= 0.7 or p["x"] == 1.9)
    *_, (less, _) = shortfalls(half.state)
    assert np.quantile(less, 0.9) < np.quantile(whole, 0.9)


# -- runs ----------------------------------------------------------------------------------------

RUNS = {
    "gap on a list": (peak, ROWS, Gap(1.0)),
    "gap": (noisy, SPACE, Gap(0.15)),
}


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "space", "stop"), RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("run", [rahbo.maximize, rahbo.minimize])
def test_a_run_ends_the_first_time_it_may(objective, space, stop, run):
    def signed(x, seed):
        return objective(x, seed) if run is rahbo.maximize else -objective(x, seed)

    met = []
    result = run(
        signed, space, evaluations=120, stop=stop, callback=lambda o: met.append(stop(o.state)),
        **SMALL,
    )  # fmt: skip
    assert result.stopped_by == "stop"
    assert result.n_evaluations < 120
    assert met[-1]
    assert not any(met[2:-1])
    assert len(result.trials) >= 3
    assert str(result).endswith("; ended by stop")
    up = result if run is rahbo.maximize else rahbo.maximize(
        objective, space, evaluations=120, stop=stop, **SMALL
    )  # fmt: skip
    assert [t.params for t in result.trials] == [t.params for t in up.trials]


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "space", "stop"), RUNS.values(), ids=RUNS)
def test_a_resumed_run_ends_at_the_same_place(objective, space, stop):
    whole = rahbo.maximize(objective, space, evaluations=120, stop=stop, **SMALL)
    n, calls = whole.n_evaluations, 0
    for at in (n // 2, n):

        def interrupted(x, seed):
            nonlocal calls
            calls += 1
            if calls == at:  # noqa: B023
                raise KeyboardInterrupt
            return objective(x, seed)

        calls = 0
        part = rahbo.maximize(interrupted, space, evaluations=120, stop=stop, **SMALL)
        assert (part.stopped_by, part.n_evaluations) == ("interrupt", at - 1)
        resumed = rahbo.maximize(
            objective, space, evaluations=120, stop=stop, trials=part.trials, **SMALL
        )
        assert recorded(resumed) == recorded(whole)
        assert resumed.stopped_by == "stop"
    again = rahbo.maximize(
        objective, space, evaluations=120, stop=stop, trials=whole.trials, **SMALL
    )
    assert recorded(again) == recorded(whole)


def test_no_run_ends_within_its_initial_design():
    result = rahbo.maximize(noisy, SPACE, rounds=5, stop=lambda state: True, **SMALL)
    assert [t.source for t in result.trials] == ["design"] * 3
    assert result.n_evaluations == 9
    past = [({"x": 0.1 * i}, [1.0, 1.1]) for i in range(1, 3)]
    result = rahbo.maximize(noisy, SPACE, rounds=5, stop=lambda state: True, data=past, **SMALL)
    assert [t.source for t in result.trials] == ["user", "user", "design"]


def test_a_run_that_never_may_end_spends_its_budget():
    result = rahbo.maximize(noisy, SPACE, evaluations=12, stop=lambda state: False, **SMALL)
    assert (result.stopped_by, result.n_evaluations) == ("budget", 12)
    assert "ended by" not in str(result)


@pytest.mark.slow
def test_a_region_that_fails_does_not_keep_a_run_going():
    def rising(x):
        if x > 0.8:
            raise RuntimeError("broke")
        return float(np.sin(2.0 * x) + x)

    result = rahbo.maximize(rising, {"x": (0.0, 1.0)}, evaluations=60, stop=Gap(0.1), seed=0)
    assert sum(bool(t.failures) for t in result.trials) >= 1
    assert result.stopped_by == "stop"
    assert result.n_evaluations < 40
