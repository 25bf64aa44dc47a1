"""maximize and minimize: what they call, what they record, when they stop."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import presets
import rahbo
from rahbo.errors import ObjectiveError, RahboError, SettingsError, SpaceError
from rahbo.numerics import evaluation_seed
from rahbo.policy import RandomSearch
from rahbo.running.run import MAX_FAILURES

SPACE = {"x": (0.0, 2.0)}
SMALL = {"n_initial": 3, "repeats": 3, "seed": 7}


def noisy(x, seed):
    """A parabola with its maximum at 0.6 whose noise grows with x."""
    return -((x - 0.6) ** 2) + 0.05 * (1 + x) * np.random.default_rng(seed).standard_normal()


def recorded(result):
    """Parameters, values and failures of all trials, comparable with ==."""
    return [(t.params, dict(t.values), dict(t.failures), t.source) for t in result.trials]


class Script:
    """An objective that gives the next item of a list, or raises it; then zeros."""

    def __init__(self, *items):
        self.items = list(items)
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        item = self.items.pop(0) if self.items else 0.0
        if isinstance(item, BaseException):
            raise item
        return item


# -- budgets ---------------------------------------------------------------------------------


def test_rounds_are_suggestions_after_the_initial_design():
    calls = []

    def objective(x):
        calls.append((x, float(len(calls))))
        return calls[-1][1]

    result = rahbo.maximize(objective, SPACE, rounds=4, **SMALL)
    assert [t.source for t in result.trials] == ["design"] * 3 + ["strategy"] * 4
    told = [(t.params["x"], t.values[i]) for t in result.trials for i in range(3)]
    assert told == calls
    assert result.n_evaluations == len(calls) == 21
    assert result.optimizer.open == ()


@pytest.mark.parametrize(("evaluations", "sizes"), [(9, [3, 3, 3]), (10, [3, 3, 3, 1]), (2, [2])])
def test_evaluations_are_met_exactly(evaluations, sizes):
    objective = Script()
    result = rahbo.maximize(objective, SPACE, evaluations=evaluations, **SMALL)
    assert objective.calls == result.n_evaluations == evaluations
    assert [len(t.values) for t in result.trials] == sizes
    assert result.optimizer.open == ()


def test_failures_count_as_evaluations():
    objective = Script(1.0, ValueError("no beam"), 2.0, float("nan"))
    result = rahbo.maximize(objective, SPACE, evaluations=12, **SMALL)
    assert objective.calls == result.n_evaluations == 12
    assert sum(len(t.values) for t in result.trials) == 10


def test_past_results_cost_nothing():
    past = [({"x": 0.1}, [1.0, 1.1]), ({"x": 1.9}, [0.0, 0.2])]
    objective = Script()
    result = rahbo.maximize(objective, SPACE, evaluations=6, data=past, **SMALL)
    assert objective.calls == 6
    assert result.n_evaluations == 10


# -- seeds -----------------------------------------------------------------------------------


def test_the_seed_depends_on_run_suggestion_and_repeat():
    seen = []

    def objective(x, *, seed):
        seen.append(seed)
        return noisy(x, seed)

    rahbo.maximize(objective, SPACE, rounds=1, **SMALL)
    expected = [
        int(np.random.SeedSequence(7, spawn_key=(i, j)).generate_state(1)[0]) // 2
        for i in range(4)
        for j in range(3)
    ]
    assert seen == expected
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seen)
    assert len(set(seen)) == len(seen)
    assert evaluation_seed(8, 0, 0) != evaluation_seed(7, 0, 0)


def test_catching_all_keywords_does_not_ask_for_a_seed():
    names = set()

    def objective(**params):
        names.update(params)
        return 0.0

    rahbo.maximize(objective, SPACE, evaluations=3, **SMALL)
    assert names == {"x"}


def test_a_parameter_named_seed_is_a_parameter():
    seen = set()

    def objective(x, seed):
        seen.add(seed)
        return x

    rahbo.maximize(objective, SPACE | {"seed": ["a", "b"]}, evaluations=30, **SMALL)
    assert seen == {"a", "b"}


# -- failures --------------------------------------------------------------------------------


def test_exceptions_and_odd_numbers_are_recorded_and_the_run_goes_on():
    objective = Script(1.0, ValueError("no beam"), float("nan"), float("-inf"), 1e200, 2.0)
    result = rahbo.maximize(objective, SPACE, evaluations=9, **SMALL)
    first, second = result.trials[:2]
    assert first.values == {0: 1.0}
    assert first.failures == {1: "ValueError('no beam')", 2: "returned nan"}
    assert second.values == {2: 2.0}
    assert second.failures == {0: "returned -inf", 1: "returned 1e+200"}


def test_failures_in_a_row_at_many_points_end_the_run_and_keep_the_data():
    errors = [ValueError(f"failure {i}") for i in range(40)]
    objective = Script(1.0, 2.0, *errors)
    # One failure at the first point, three at each of six more, and one at the eighth.
    with pytest.raises(ObjectiveError, match=r"20 times in a row at 8.*failure 19") as caught:
        rahbo.maximize(objective, SPACE, evaluations=100, **SMALL)
    assert caught.value.__cause__ is errors[19]
    assert objective.calls == 22
    assert caught.value.optimizer.n_evaluations == 22
    assert caught.value.optimizer.recommend().sample_mean == 1.5
    assert issubclass(ObjectiveError, RahboError)


def test_an_exception_from_anywhere_keeps_the_data():
    readings = iter([20.0] * 5 + [float("nan")])
    space = {"x": (0.0, 1.0), "T": rahbo.Context(10.0, 35.0)}
    with pytest.raises(SpaceError, match="T=nan must be a number") as caught:
        rahbo.maximize(
            lambda x, T: x, space, evaluations=40, repeats=1, context=lambda: {"T": next(readings)},
            seed=0,
        )  # fmt: skip
    (note,) = caught.value.__notes__
    assert "trials=error.optimizer.trials" in note
    part = caught.value.optimizer
    assert part.n_evaluations == 5
    whole = rahbo.maximize(
        lambda x, T: x, space, evaluations=9, repeats=1, context=lambda: {"T": 20.0}, seed=0,
        trials=part.trials,
    )  # fmt: skip
    assert whole.n_evaluations == 9


@pytest.mark.parametrize("parallel", [None, 2])
def test_an_exception_of_a_callback_is_raised_as_it_is_and_keeps_the_data(parallel):
    class ShutterError(Exception):
        optimizer: object

    def callback(optimizer):
        if optimizer.n_evaluations >= 6:
            raise ShutterError("stuck")

    with ThreadPoolExecutor(2) as threads, pytest.raises(ShutterError, match="stuck") as caught:
        rahbo.maximize(
            Script(), SPACE, evaluations=40, executor=parallel and threads, parallel=parallel,
            callback=callback, **SMALL,
        )  # fmt: skip
    assert caught.value.optimizer.n_evaluations >= 6


def test_an_exception_before_anything_was_told_is_as_it_was():
    with pytest.raises(SettingsError) as caught:
        rahbo.maximize(lambda y: y, SPACE, evaluations=40)
    assert not hasattr(caught.value, "optimizer")
    assert not hasattr(caught.value, "__notes__")


def test_failures_at_all_of_a_few_points_end_the_run():
    few = rahbo.Candidates([{"x": 0.0}, {"x": 1.0}])
    with pytest.raises(ObjectiveError, match="10 times in a row at 2 points"):
        rahbo.maximize(lambda x: float("nan"), few, evaluations=100, repeats=5, seed=0)


def test_a_few_failing_points_in_a_row_do_not_end_a_run():
    objective = Script(*[float("nan")] * 21, 1.0)
    assert rahbo.maximize(objective, SPACE, evaluations=30, **SMALL).n_evaluations == 30


def test_a_value_in_between_forgives_the_failures():
    nearly = [float("nan")] * (MAX_FAILURES - 1)
    objective = Script(*nearly, 1.0, *nearly, 2.0)
    result = rahbo.maximize(objective, SPACE, evaluations=25, **SMALL)
    assert sum(len(t.failures) for t in result.trials) == 2 * (MAX_FAILURES - 1)


def test_something_that_is_no_number_is_an_error_at_once():
    objective = Script(1.0, "1.0")
    with pytest.raises(ObjectiveError, match="one number") as caught:
        rahbo.maximize(objective, SPACE, evaluations=9, **SMALL)
    assert objective.calls == 2
    assert caught.value.optimizer.n_evaluations == 1


# -- interrupts ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("at", [4, 9, 16])
def test_an_interrupted_run_reports_and_can_be_brought_to_the_same_end(at):
    whole = rahbo.maximize(noisy, SPACE, rounds=4, **SMALL)
    calls = 0

    def interrupted(x, seed):
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt
        return noisy(x, seed)

    part = rahbo.maximize(interrupted, SPACE, rounds=4, **SMALL)
    assert part.n_evaluations == at - 1
    resumed = rahbo.maximize(noisy, SPACE, rounds=4, trials=part.trials, **SMALL)
    assert recorded(resumed) == recorded(whole)
    assert resumed.recommendation == whole.recommendation


def test_an_interrupt_in_the_last_round_leaves_something_to_finish():
    objective = Script(*range(11), KeyboardInterrupt())
    part = rahbo.maximize(objective, SPACE, rounds=1, **SMALL)
    assert [s.indices for s in part.optimizer.open] == [(2,)]
    resumed = rahbo.maximize(Script(), SPACE, rounds=1, trials=part.trials, **SMALL)
    assert resumed.n_evaluations == 12


def test_an_interrupt_before_the_first_value_is_passed_on():
    with pytest.raises(KeyboardInterrupt):
        rahbo.maximize(Script(KeyboardInterrupt()), SPACE, rounds=4, **SMALL)


# -- the rest --------------------------------------------------------------------------------


def test_the_callback_sees_the_optimizer_after_each_suggestion():
    seen = []
    result = rahbo.maximize(
        noisy, SPACE, rounds=2, callback=lambda opt: seen.append((opt, opt.n_evaluations)), **SMALL
    )
    assert [n for _, n in seen] == [3, 6, 9, 12, 15]
    assert all(opt is result.optimizer for opt, _ in seen)


def test_it_finds_the_maximum():
    result = rahbo.maximize(noisy, SPACE, rounds=15, repeats=5, seed=1)
    assert abs(result.recommendation.params["x"] - 0.6) < 0.2


# -- confirmation --------------------------------------------------------------------------------

NOISY = {"n_initial": 4, "seed": 1, "method": rahbo.Method(strategy=RandomSearch())}


def sources(result):
    return [t.source for t in result.trials]


@pytest.mark.slow
@pytest.mark.parametrize("run", [rahbo.maximize, rahbo.minimize])
def test_the_last_part_of_a_budget_measures_the_leading_points_again(run):
    result = run(noisy, SPACE, evaluations=40, **NOISY)
    assert result.n_evaluations == 40
    assert sources(result).count("confirm") == 5
    assert sources(result)[-5:] == ["confirm"] * 5
    tried = {t.x.tobytes() for t in result.trials if t.source != "confirm"}
    assert all(t.x.tobytes() in tried for t in result.trials)
    assert result.recommendation.n_evaluations >= 3


@pytest.mark.slow
def test_a_run_without_confirmation_is_the_same_until_then():
    whole = rahbo.maximize(noisy, SPACE, evaluations=40, confirm=0, **NOISY)
    part = rahbo.maximize(noisy, SPACE, evaluations=40, **NOISY)
    assert "confirm" not in sources(whole)
    n = len(part.trials) - 5
    assert recorded(part)[:n] == recorded(whole)[:n]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "n"),
    [
        ({"evaluations": 29}, 0),
        ({"evaluations": 40, "repeats": 1}, 0),
        ({"evaluations": 40, "repeats": 5}, 0),
        ({"evaluations": 40, "repeats": rahbo.Folds(2)}, 0),
        ({"evaluations": 40, "repeats": 5, "confirm": 7}, 7),
        ({"evaluations": 12, "confirm": 3}, 3),
        ({"rounds": 6, "confirm": 4}, 4),
        ({"rounds": 30}, 5),
        ({"rounds": 6}, 0),
    ],
)
def test_how_many_evaluations_confirm(settings, n):
    result = rahbo.maximize(noisy, SPACE, **NOISY | settings)
    again = [t for t in result.trials if t.source == "confirm"]
    assert sum(len(t.values) for t in again) == n
    assert sources(result)[len(result.trials) - len(again) :] == ["confirm"] * len(again)
    if "evaluations" in settings:
        assert result.n_evaluations == settings["evaluations"]
    else:
        assert sources(result).count("strategy") == settings["rounds"]
    assert result.optimizer.open == ()


def test_what_has_no_noise_is_not_confirmed():
    result = rahbo.maximize(lambda x: -((x - 0.6) ** 2), SPACE, evaluations=40, **NOISY)
    assert "confirm" not in sources(result)


def test_the_paper_preset_is_not_confirmed():
    preset = presets.paper(repeats=2, n_initial=4, strategy=RandomSearch())
    result = rahbo.maximize(noisy, SPACE, rounds=30, seed=0, **preset)
    assert sources(result) == ["design"] * 4 + ["strategy"] * 30


@pytest.mark.slow
def test_a_rare_failure_of_the_leader_gives_its_place_to_another():
    """Settings above 0.5 go wrong one time in five, and are better until they do."""

    def rarely_wrong(x, seed):
        rng = np.random.default_rng(seed)
        wrong = x > 0.5 and rng.random() < 0.2
        return (x > 0.5) * 0.2 + 0.05 * rng.standard_normal() - 20.0 * wrong

    kept = []
    for seed in range(6):
        part = {**NOISY, "evaluations": 36, "seed": seed}
        for confirm in (0, 10):
            result = rahbo.maximize(rarely_wrong, SPACE, confirm=confirm, **part)
            kept.append(result.recommendation.params["x"] <= 0.5)
    assert sum(kept[1::2]) > sum(kept[::2])


def test_failures_spend_what_is_kept_for_confirmation():
    calls = []

    def breaks(x, seed):
        calls.append(x)
        if len(calls) > 35:
            raise RuntimeError("beam trip")
        return noisy(x, seed)

    result = rahbo.maximize(breaks, SPACE, evaluations=40, **NOISY)
    assert result.n_evaluations == len(calls) == 40
    assert [len(t.failures) for t in result.trials[-5:]] == [1] * 5


@pytest.mark.slow
def test_a_stop_confirms_what_it_would_recommend_first():
    stop = rahbo.Gap(1e6)
    result = rahbo.maximize(noisy, SPACE, evaluations=60, stop=stop, **NOISY)
    assert result.stopped_by == "stop"
    assert sources(result)[:5] == ["design"] * 4 + ["confirm"]
    assert "strategy" not in sources(result)
    assert result.recommendation.n_evaluations >= 5
    plain = rahbo.maximize(noisy, SPACE, evaluations=60, stop=stop, confirm=0, **NOISY)
    assert sources(plain) == ["design"] * 4
    few = rahbo.maximize(noisy, SPACE, evaluations=60, stop=stop, confirm=2, **NOISY)
    assert sources(few).count("confirm") == 2


def test_a_longer_budget_searches_on_and_confirms_again():
    short = rahbo.maximize(noisy, SPACE, evaluations=30, **NOISY)
    result = rahbo.maximize(noisy, SPACE, evaluations=40, trials=short.trials, **NOISY)
    tail = sources(result)[len(short.trials) :]
    assert tail == ["strategy"] * 5 + ["confirm"] * 5


def test_what_is_kept_for_confirmation_goes_to_the_search_while_nothing_has_a_value():
    calls = []

    def objective(x):
        calls.append(x)
        if len(calls) <= 8:
            raise ValueError("beam trip")
        return x

    result = rahbo.maximize(objective, {"x": (0.0, 1.0)}, evaluations=12, confirm=6, seed=0)
    assert result.n_evaluations == 12
    assert len(set(calls[:8])) > 1


# -- an objective that always fails --------------------------------------------------------------


def broken(x):
    raise ValueError("no beam")


def test_the_first_error_of_a_short_run_is_the_objectives_own():
    with pytest.raises(
        ObjectiveError, match=r"All 3 .* failed, the last one at \{'x': .*no beam"
    ) as e:
        rahbo.maximize(broken, SPACE, evaluations=3, **SMALL)
    assert isinstance(e.value.__cause__, ValueError)
    assert e.value.optimizer.n_evaluations == 3
    with pytest.raises(ObjectiveError, match="The only evaluation of the objective failed, at "):
        rahbo.maximize(broken, SPACE, evaluations=1, **SMALL)


def test_nan_each_time_is_the_objectives_own_failure_too():
    with pytest.raises(ObjectiveError, match=r"All 3 .*returned nan") as caught:
        rahbo.minimize(lambda x: float("nan"), SPACE, evaluations=3, **SMALL)
    assert caught.value.__cause__ is None


def test_a_short_list_that_always_fails_is_the_objectives_own_failure():
    rows = rahbo.Candidates([{"x": 0.0}, {"x": 0.5}], revisit=False)
    with pytest.raises(ObjectiveError, match="no beam") as caught:
        rahbo.maximize(broken, rows, evaluations=50, repeats=1, seed=0)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_resumed_run_that_always_failed_still_says_why(tmp_path):
    journal = tmp_path / "run.jsonl"
    for _ in range(2):
        with pytest.raises(ObjectiveError, match=r"All 3 .*no beam"):
            rahbo.maximize(broken, SPACE, evaluations=3, journal=journal, **SMALL)


def test_past_results_are_reported_even_if_the_objective_always_fails():
    past = [({"x": 0.1}, [1.0, 1.1])]
    assert rahbo.maximize(broken, SPACE, evaluations=3, data=past, **SMALL).n_evaluations == 5


# -- ended by the callback -----------------------------------------------------------------------


@pytest.mark.parametrize("answer", [True, np.True_])
def test_a_callback_that_returns_true_ends_the_run(answer):
    result = rahbo.maximize(
        noisy,
        SPACE,
        rounds=4,
        callback=lambda opt: answer if opt.n_evaluations >= 6 else None,
        **SMALL,
    )
    assert (result.stopped_by, result.n_evaluations) == ("callback", 6)
    assert "ended by callback" in str(result)


@pytest.mark.parametrize("answer", [None, False, 1, "stop", [0], np.ones(2), np.False_])
def test_nothing_else_ends_it(answer):
    result = rahbo.maximize(noisy, SPACE, evaluations=6, callback=lambda opt: answer, **SMALL)
    assert (result.stopped_by, result.n_evaluations) == ("budget", 6)


# -- n_jobs and verbose --------------------------------------------------------------------------


def test_one_job_is_the_same_as_none():
    one = rahbo.maximize(Script(1.0, 2.0, 3.0), SPACE, evaluations=3, n_jobs=1, **SMALL)
    assert one.trials[0].values == {0: 1.0, 1: 2.0, 2: 3.0}


# -- settings to try first -----------------------------------------------------------------------

FIRST = [{"x": 0.1}, {"x": 1.7}]


def test_the_settings_to_try_first_come_first_and_count_as_the_design():
    result = rahbo.maximize(noisy, SPACE, rounds=1, try_first=FIRST, **SMALL)
    assert [t.params for t in result.trials[:2]] == FIRST
    assert sources(result) == ["design"] * 3 + ["strategy"]
    plain = rahbo.maximize(noisy, SPACE, rounds=1, **SMALL)
    assert result.trials[2].params == plain.trials[0].params


@pytest.mark.parametrize("at", [1, 4, 8])
def test_a_resumed_run_does_not_try_them_again(at, tmp_path):
    whole = rahbo.maximize(noisy, SPACE, rounds=1, try_first=FIRST, **SMALL)
    calls = 0

    def interrupted(x, seed):
        nonlocal calls
        calls += 1
        if calls > at:
            raise KeyboardInterrupt
        return noisy(x, seed)

    same = {"rounds": 1, "try_first": FIRST, "journal": tmp_path / "run.jsonl", **SMALL}
    rahbo.maximize(interrupted, SPACE, **same)
    resumed = rahbo.maximize(noisy, SPACE, **same)
    assert recorded(resumed) == recorded(whole)
