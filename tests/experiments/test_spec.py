"""Cases and grids of them."""

from dataclasses import replace

import pytest

from rahbo.errors import SettingsError
from rahbo.experiments import EXPERIMENTS, TITLES, Case, Experiment, problem_named, with_seeds
from rahbo.experiments.spec import METHODS
from rahbo.risk import MeanVariance

GRID = Experiment("grid", ("sine", "branin"), (0.5, 1.0), (2, 5), 7, 4, 3)


def test_a_grid_has_each_case_once_and_gpucb_once_for_all_alphas():
    cases = GRID.cases()
    assert len(cases) == len(set(cases)) == 3 * 2 * 2 * (2 + 1 + 2)
    assert {case.alpha for case in cases if case.method == "gpucb"} == {0.0}
    assert {case.alpha for case in cases if case.method == "rahbo"} == {0.5, 1.0}


def test_whole_seeds_come_first():
    seeds = [case.seed for case in GRID.cases()]
    assert seeds == sorted(seeds)


@pytest.mark.parametrize(("method", "known"), [("rahbo", 1.0), ("rahbo-us", 1.0), ("gpucb", 0.0)])
def test_the_runs_of_a_method_differ_in_their_seed_alone(method, known):
    runs = GRID.runs_of("branin", method, 1.0, 5)
    assert runs == [Case("branin", method, known, 5, 4, 7, seed) for seed in range(3)]
    assert set(runs) <= set(GRID.cases())


def test_learning_rounds_come_on_top():
    case = Case("sine", "rahbo", 1.0, 2, 4, 7, 0)
    assert (case.learning_rounds, case.n_rounds) == (0, 11)
    case = replace(case, method="rahbo-us")
    assert (case.learning_rounds, case.n_rounds) == (10, 21)


def test_keys_tell_cases_apart():
    cases = [case for several in EXPERIMENTS.values() for e in several for case in e.cases()]
    for name, several in EXPERIMENTS.items():
        own = [case for e in several for case in e.cases()]
        assert len({case.key for case in own}) == len(own), name
    assert {case.method for case in cases} <= set(METHODS) == set(TITLES)


def test_quick_is_two_seeds_of_twenty_rounds_at_most():
    (branin,) = EXPERIMENTS["branin"]
    assert (branin.quick().seeds, branin.quick().rounds) == (2, 20)
    assert replace(GRID, seeds=1).quick() == replace(GRID, seeds=1)


@pytest.mark.parametrize("quick", [False, True])
def test_the_repeats_experiment_spends_the_same_on_every_k(quick):
    spent = {}
    for e in EXPERIMENTS["repeats"]:
        e = e.quick() if quick else e
        (problem,), (k,) = e.problems, e.repeats
        spent.setdefault(problem, set()).add(k * e.rounds)
        assert e.methods == ("rahbo",)
    sine, branin = (120, 180) if quick else (600, 900)
    assert spent == {"sine": {sine}, "branin-s2": {branin}}


@pytest.mark.parametrize(
    ("name", "rounds", "n_initial", "seeds", "alphas", "repeats", "cases"),
    [
        ("sine", 60, 10, 30, (0.5, 1.0), (10,), 2 * 30 * (2 + 1 + 2)),
        ("branin", 150, 10, 25, (0.5, 1.0), (10,), 2 * 25 * (2 + 1 + 2)),
        ("fel", 200, 30, 15, (0.5, 1.0, 2.0, 5.0), (10,), 15 * (4 + 1 + 4)),
        ("euxfel", 200, 30, 15, (0.5, 1.0, 2.0, 5.0), (10,), 15 * (4 + 1 + 4)),
        ("forest", 50, 10, 15, (20.0, 100.0), (5,), 15 * (2 + 1 + 2)),
    ],
)
def test_the_papers_sizes(name, rounds, n_initial, seeds, alphas, repeats, cases):
    (e,) = EXPERIMENTS[name]
    assert (e.rounds, e.n_initial, e.seeds) == (rounds, n_initial, seeds)
    assert (e.alphas, e.repeats, e.problems[0]) == (alphas, repeats, name)
    assert len(e.cases()) == cases


def test_seeds_can_be_changed():
    assert [e.seeds for e in with_seeds(EXPERIMENTS["repeats"], 4)] == [4] * 10


def test_problems_by_name():
    assert problem_named("sine-s2").optimum(MeanVariance(0.0)).value == pytest.approx(1.0)
    assert problem_named("sine") is problem_named("sine")
    with pytest.raises(SettingsError, match=r"sine, sine-s2.*'cosine'"):
        problem_named("cosine")
