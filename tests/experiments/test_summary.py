"""The table of an experiment."""

import numpy as np
import pytest

from rahbo.experiments import Band, Experiment, Store, run_cases
from rahbo.experiments.summary import (
    PLACES,
    REGRETS,
    RULES,
    in_words,
    markdown,
    place_cells,
    regret_cells,
    rows,
    stamps,
)

SMALL = Experiment("small", ("sine",), (0.5, 1.0), (4,), 2, 1, 2)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Each run tries f = 1 - 0.1 * (seed + 1) with noise variance 0.1, reports f = 1 - 0.01 …"""
    store = Store(tmp_path_factory.mktemp("records"))
    for case in SMALL.cases():
        lacking = 0.1 * (case.seed + 1) + (1.0 if case.method == "gpucb" else 0.0)
        places = {r: {"f": 1.0 - 0.01 * i, "noise_var": 0.1} for i, r in enumerate(RULES)}
        learning = range(1, 1 + case.learning_rounds)
        rounds = [
            {
                "tried": {"f": 1.0 - (5.0 if i in learning else lacking), "noise_var": 0.1},
                "reported": places,
                "evaluations": 4 * (i + 1),
            }
            for i in range(case.n_rounds)
        ]
        store.write(case, rounds)
    return store


def test_rows_by_hand(store):
    table = rows([SMALL], store)
    assert [(row.alpha, row.method) for row in table] == [
        (alpha, method)
        for alpha in (0.5, 1.0)
        for method in ("RAHBO", "GP-UCB", "RAHBO-US", "RAHBO-US as published")
    ]
    rahbo, gpucb, learning, published = table[:4]
    # Two rounds with 0.1 and 0.2 per round give sums 0.2 and 0.4, standard error 0.1.
    for row, mean in ((rahbo, 0.3), (gpucb, 2.3), (published, 0.3)):
        np.testing.assert_allclose(
            [row.cumulative.mean, row.cumulative.two_se], [mean, 0.2], atol=1e-7
        )
        np.testing.assert_allclose(row.by_evaluation.mean, 4 * mean, atol=1e-6)
    np.testing.assert_allclose(
        [learning.cumulative.mean, learning.cumulative.two_se], [10, 0], atol=1e-6
    )
    for i, rule in enumerate(RULES):
        np.testing.assert_allclose(rahbo.simple[rule].mean, 0.01 * i, atol=1e-7)
        np.testing.assert_allclose(rahbo.reported[rule].f.mean, 1.0 - 0.01 * i)
        np.testing.assert_allclose(rahbo.reported[rule].noise_var.mean, 0.1)
    np.testing.assert_allclose([rahbo.tried.f.mean, rahbo.tried.f.two_se], [0.85, 0.1])
    assert rahbo.above is None
    # There are fewer rounds than the early ones, so all of them count as early.
    np.testing.assert_allclose(rahbo.early.mean, rahbo.cumulative.mean)
    # With the same seed, GP-UCB is two rounds of 1 behind, whatever the seed.
    np.testing.assert_allclose([gpucb.above.mean, gpucb.above.two_se], [2.0, 0.0], atol=1e-9)
    assert (rahbo.seeds, rahbo.repeats, rahbo.rounds, rahbo.problem) == (2, 4, 2, "sine")


@pytest.mark.parametrize(
    ("mean", "error", "words"),
    [
        (1118.2, 23.4, "1118 ± 23"),
        (0.30001, 0.2, "0.30 ± 0.20"),
        (5.0, 0.0, "5.000 ± 0.000"),
        (0.0000123, 0.0000045, "0.0000123 ± 0.0000045"),
        (1e-9, 1e-12, "0.0000000 ± 0.0000000"),
        (12.3456, np.nan, "12.35"),
    ],
)
def test_numbers_in_words(mean, error, words):
    assert in_words(Band(np.float64(mean), np.float64(error))) == words


def test_the_page_has_the_table_and_says_who_made_it(store):
    table = rows([SMALL], store)
    made_by = stamps([SMALL], store)
    assert len(made_by) == 1
    first = store.first(SMALL.cases()[0])
    assert first["commit"] in made_by[0]
    page = markdown("small", table, made_by, "![here](here.png)")
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert len(lines) == 2 * (2 + len(table))
    for half, headings, cells in ((0, REGRETS, regret_cells), (1, PLACES, place_cells)):
        some = lines[half * len(lines) // 2 :][: 2 + len(table)]
        assert {line.count("|") for line in some} == {len(headings) + 1}
        assert some[2] == f"| {' | '.join(cells(table[0]))} |"
    assert "| sine | 0.5 | 4 | 2 | RAHBO | 0.30 ± 0.20 |" in page
    assert made_by[0] in page
    assert page.endswith("![here](here.png)")


def test_on_a_table_gpucb_is_reported_by_the_alpha_of_the_row(smooth_forest, tmp_path):
    small = Experiment("forest", ("forest",), (20.0, 100.0), (5,), 3, 4, 1, ("rahbo", "gpucb"))
    store = Store(tmp_path)
    run_cases(small.cases(), store)
    (case,) = small.runs_of("forest", "gpucb", 20.0, 5)
    tried = np.array([[r["tried"]["f"], r["tried"]["noise_var"]] for r in store.read(case)])
    for row in rows([small], store):
        if row.method == "GP-UCB":
            f, noise_var = tried[np.argmax(tried @ [1.0, -row.alpha])]
            assert row.reported["empirical"].f.mean == f
            assert row.reported["empirical"].noise_var.mean == noise_var
            assert row.reported["best_observed"].f.mean == tried[:, 0].max()
        regret = row.simple["empirical"].mean
        assert 0 <= regret <= row.simple["best_observed"].mean + 1e-12
