"""The forest problem: its table, its two shortcuts against direct fits, and live forests."""

import json
import sys
from dataclasses import asdict

import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score

from extras import script_named
from forests import NEGATIVES, POSITIVES, SHAPE, write_table
from rahbo.errors import DataError, NotReadyError, SpaceError
from rahbo.problems import Timeline, forest
from rahbo.problems.forest import MAX_FEATURES, SPACE, balanced_accuracy
from rahbo.risk import MeanVariance, Quantile

script = script_named("forest_table")


def transactions(n=1200, d=29, seed=0):
    """Overlapping classes, a fifth of them fraud, so that forests of all sizes differ."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(np.uint8)
    X = rng.standard_normal((n, d)) + 0.7 * y[:, None] * (np.arange(d) < 6)
    return X.astype(np.float32), y


def fit(split, n_estimators, max_features, max_depth, seed):
    model = RandomForestClassifier(
        n_estimators, max_features=max_features, max_depth=max_depth, random_state=seed
    )
    return model.fit(split.X_train, split.y_train)


def fold_scores(split, predicted):
    """The five scores by scikit-learn's own metric."""
    parts = [slice(a, b) for a, b in zip(split.edges[:-1], split.edges[1:], strict=True)]
    return [balanced_accuracy_score(split.y_val[part], predicted[part]) for part in parts]


def all_scores(trees, split, max_depth):
    hits, false_alarms = script.count_marks(trees, split, max_depth)
    sizes = (script.count_folds(split.y_val == label, split.edges) for label in (1, 0))
    return balanced_accuracy(hits, false_alarms, *sizes)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("forest") / "forest.npz"
    return path, write_table(path)


# The table


def by_hand(arrays, n_estimators, max_features, max_depth):
    at = (0, n_estimators - 1, max_features - 5, max_depth - 1)
    hits, alarms = arrays["hits"][at].tolist(), arrays["false_alarms"][at].tolist()
    folds = zip(hits, alarms, POSITIVES.tolist(), NEGATIVES.tolist(), strict=True)
    return [0.5 * (hit / p + 1.0 - alarm / n) for hit, alarm, p, n in folds]


def test_folds_mean_and_variance_are_those_of_the_stored_counts(table):
    path, arrays = table
    problem = forest(path)
    settings = [(1, 5, 1), (100, 28, 15), (100, 5, 15), (37, 12, 9), (4, 28, 2)]
    X = np.array(settings, dtype=np.float64)
    for setting, f, v in zip(settings, problem.f(X), problem.noise_var(X), strict=True):
        expected = by_hand(arrays, *setting)
        params = dict(zip(SPACE, setting, strict=True))
        np.testing.assert_allclose(problem.values(params), expected, rtol=1e-14)
        assert problem.values(params) == problem.values(params)
        assert f == pytest.approx(sum(expected) / 5, rel=1e-14)
        assert v == pytest.approx(sum((s - f) ** 2 for s in expected) / 4, rel=1e-12)


def test_fold_scores_are_averaged_over_seeds(tmp_path):
    arrays = write_table(tmp_path / "two.npz", seeds=(3, 8))
    problem = forest(tmp_path / "two.npz")
    assert problem.seeds == (3, 8)
    at = (slice(None), 36, 7, 8)
    recall = arrays["hits"][at] / POSITIVES
    rejected = 1.0 - arrays["false_alarms"][at] / NEGATIVES
    expected = (recall + rejected).sum(axis=0) / 4
    params = {"n_estimators": 37, "max_features": 12, "max_depth": 9}
    np.testing.assert_allclose(problem.values(params), expected, rtol=1e-14)


@pytest.mark.parametrize("risk", [MeanVariance(0.0), MeanVariance(20.0), Quantile(0.1)], ids=repr)
def test_optimum_is_the_best_of_every_setting(table, risk):
    problem = forest(table[0])
    axes = [np.arange(kind.low, kind.high + 1) for kind in SPACE.values()]
    X = np.array(np.meshgrid(*axes)).reshape(3, -1).T.astype(np.float64)
    assert len(X) == 36_000
    values = problem.risk_value(X, risk)
    best = problem.optimum(risk)
    assert best.value == pytest.approx(values.max(), rel=1e-14)
    assert problem.regret(best.params, risk) == pytest.approx(0.0, abs=1e-14)
    assert all(type(value) is int for value in best.params.values())


def test_of_equal_settings_the_optimum_has_the_fewest_trees(tmp_path):
    hits = np.zeros((1, *SHAPE), dtype=np.uint8)
    hits[0, 40:60, 3, 6] = POSITIVES
    write_table(tmp_path / "ties.npz", hits=hits, false_alarms=np.zeros_like(hits))
    best = forest(tmp_path / "ties.npz").optimum(MeanVariance(1.0))
    assert best.params == {"n_estimators": 41, "max_features": 8, "max_depth": 7}
    assert best.value == 1.0


def test_sample_draws_each_fold_equally_often(table, rng):
    problem = forest(table[0])
    params = {"n_estimators": 50, "max_features": 10, "max_depth": 4}
    folds = problem.values(params)
    assert len(set(folds)) == 5
    drawn = [problem.sample(params, rng) for _ in range(5000)]
    counts = [drawn.count(value) for value in folds]
    assert sum(counts) == 5000
    assert stats.chisquare(counts).pvalue > 0.001


def test_points_outside_the_table_are_refused(table):
    problem = forest(table[0])
    with pytest.raises(SpaceError):
        problem.values({"n_estimators": 101, "max_features": 10, "max_depth": 4})
    for row in ([0, 10, 4], [50, 29, 4], [50, 10, 4.5], [50, 10, np.nan]):
        with pytest.raises(DataError, match="whole numbers"):
            problem.f(np.array([row], dtype=np.float64))


def test_the_shipped_table_is_complete():
    real = forest()
    assert real.seeds == (0,)
    assert real.scores.shape == (100, 24, 15, 5)
    f, v = real.scores.mean(axis=-1), real.scores.var(axis=-1, ddof=1)
    # Balanced accuracy is 1/2 for a guess; the folds have at most 91 frauds.
    assert np.all((f > 0.5) & (f < 0.9))
    assert np.all((v > 0) & (v < 0.02))


def test_missing_table_says_how_to_make_it(tmp_path):
    with pytest.raises(NotReadyError, match=r"none at .*forest_table\.py"):
        forest(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hits": np.zeros((1, 100, 2, 15, 5), dtype=np.uint8)}, r"lacks \['hits'\].*table\.py"),
        ({"positives": None}, r"lacks \['positives'\]"),
    ],
)
def test_incomplete_table_is_refused(tmp_path, changes, message):
    write_table(tmp_path / "part.npz", **changes)
    with pytest.raises(NotReadyError, match=message):
        forest(tmp_path / "part.npz")


# The split and the score


def test_split_trains_on_the_past_and_keeps_every_row():
    X, y = transactions(n=1207)
    split = script.split_by_time(X, y)
    np.testing.assert_array_equal(np.vstack([split.X_train, split.X_val]), X)
    np.testing.assert_array_equal(np.concatenate([split.y_train, split.y_val]), y)
    assert len(split.y_train) == 603
    np.testing.assert_array_equal(np.diff(split.edges), [121, 121, 121, 121, 120])


@pytest.mark.parametrize("n", [10, 11, 1207, 284_807])
def test_folds_are_equal_parts_of_the_second_half(n):
    rows = script.fold_rows(n)
    assert (rows[0], rows[-1]) == (n // 2, n)
    assert np.ptp(np.diff(rows)) <= 1


def test_split_refuses_a_fold_of_one_class():
    X, y = transactions()
    y[1000:] = 0
    with pytest.raises(DataError, match=r"120 rows contain \[0\]"):
        script.split_by_time(X, y)


# The two shortcuts


def test_first_trees_are_exactly_the_smaller_forest():
    split = script.split_by_time(*transactions())
    scores = all_scores(fit(split, 12, 5, 6, seed=4).estimators_, split, 6)
    assert scores.shape == (12, 6, 5)
    for n in (1, 2, 5, 11, 12):
        direct = fit(split, n, 5, 6, seed=4).predict(split.X_val)
        np.testing.assert_allclose(scores[n - 1, -1], fold_scores(split, direct), rtol=1e-14)


def cut_by_walking(tree, row, depth):
    """The class probabilities where a row is after at most `depth` decisions."""
    node = 0
    for _ in range(depth):
        if tree.children_left[node] < 0:
            break
        left = row[tree.feature[node]] <= tree.threshold[node]
        node = tree.children_left[node] if left else tree.children_right[node]
    return tree.value[node, 0]


def test_cut_trees_average_the_nodes_reached_at_each_depth():
    split = script.split_by_time(*transactions(n=400))
    trees = fit(split, 3, 5, 8, seed=1).estimators_
    scores = all_scores(trees, split, 8)
    for n in (1, 2, 3):
        for depth in range(1, 9):
            mean = [
                sum(cut_by_walking(each.tree_, row, depth) for each in trees[:n]) / n
                for row in split.X_val
            ]
            expected = fold_scores(split, np.argmax(mean, axis=1))
            np.testing.assert_allclose(scores[n - 1, depth - 1], expected, rtol=1e-14)


def test_cut_forests_score_as_forests_fitted_to_that_depth():
    split = script.split_by_time(*transactions(n=1600, d=10))
    seeds = range(24)
    cut = np.array(
        [all_scores(fit(split, 8, 3, 8, s).estimators_, split, 8)[-1] for s in seeds]
    ).mean(axis=2)
    for depth in (2, 3):
        # Other seeds, because equal ones share their bootstrap samples.
        fits = [fit(split, 8, 3, depth, 1000 + s) for s in seeds]
        direct = [np.mean(fold_scores(split, each.predict(split.X_val))) for each in fits]
        assert stats.ttest_ind(cut[:, depth - 1], direct).pvalue > 0.001
        # The test has the power to tell one depth from the next.
        assert stats.ttest_ind(cut[:, depth], direct).pvalue < 1e-6


# The script


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    """A small file in the format of the real one, its rows not in order of time."""
    X, y = transactions(n=600)
    path = tmp_path_factory.mktemp("data") / "creditcard.csv"
    order = np.random.default_rng(1).permutation(len(y))
    with path.open("w", encoding="utf-8") as file:
        print(*(f'"{name}"' for name in ("Time", *script.FEATURES, "Class")), sep=",", file=file)
        for i in order:
            print(float(i), *map(repr, X[i].tolist()), f'"{y[i]}"', sep=",", file=file)
    return path, X, y


@pytest.fixture
def small(monkeypatch):
    """The script with a forest of few trees in place of a hundred."""
    fits = []

    def fit_small(split, max_features, seed):
        fits.append(max_features)
        return fit(split, 2, max_features, 15, seed)

    monkeypatch.setattr(script, "fit_forest", fit_small)
    return fits


def test_csv_is_read_in_order_of_time(csv):
    path, X, y = csv
    read_X, read_y = script.read_csv(path)
    np.testing.assert_array_equal(read_X, X)
    np.testing.assert_array_equal(read_y, y)


def test_csv_without_the_columns_is_refused(tmp_path):
    (tmp_path / "other.csv").write_text("Time,V1,Class\n0,1,0\n", "utf-8")
    with pytest.raises(DataError, match=r"lacks \['V2', .*'Amount'\]"):
        script.read_csv(tmp_path / "other.csv")


def test_script_fits_the_largest_forest_of_the_space():
    model = script.fit_forest(script.split_by_time(*transactions(n=300)), 6, seed=9)
    wanted = {"n_estimators": 100, "max_features": 6, "max_depth": 15, "random_state": 9}
    assert wanted.items() <= model.get_params().items()
    assert len(model.estimators_) == 100
    assert sorted(script.ORDER) == list(MAX_FEATURES)


def test_script_goes_on_where_it_stopped(small, csv, tmp_path, capsys):
    out = tmp_path / "seed0"
    script.main([str(csv[0]), "--out", str(out), "--max-features", "7", "28"])
    assert small == [7, 28]
    script.main([str(csv[0]), "--out", str(out), "--max-features", "28", "6", "7"])
    assert small == [7, 28, 6]
    assert sorted(path.name for path in out.iterdir()) == ["mf06.npz", "mf07.npz", "mf28.npz"]
    assert "max_features 6" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="seed 1, it holds 7 with seed 0"):
        script.main([str(csv[0]), "--out", str(out), "--max-features", "7", "--seed", "1"])


def test_slice_holds_what_forests_fitted_to_the_first_half_score(small, csv, tmp_path):
    path, X, y = csv
    script.main([str(path), "--out", str(tmp_path), "--max-features", "9", "--seed", "5"])
    with np.load(tmp_path / "mf09.npz") as stored:
        scores = stored["scores"]
    split = script.split_by_time(X, y)
    for n in (1, 2):
        direct = fit(split, n, 9, 15, seed=5).predict(split.X_val)
        np.testing.assert_allclose(scores[n - 1, 14], fold_scores(split, direct), rtol=1e-14)


def write_slices(folder, seed, /, **changes):
    """A complete folder of made-up counts; returns the scores ``(100, 24, 15, 5)``."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    hits = rng.integers(0, POSITIVES + 1, size=SHAPE)
    false_alarms = rng.integers(0, 300, size=SHAPE)
    for i, m in enumerate(MAX_FEATURES):
        arrays = {"hits": hits[:, i], "false_alarms": false_alarms[:, i], "seed": seed}
        arrays |= {"positives": POSITIVES, "negatives": NEGATIVES, "n_train": 9, "sklearn": "1"}
        arrays |= {"max_features": m} | (changes if i == 3 else {})
        script.write_npz(script.slice_path(folder, m), arrays)
    return (hits / POSITIVES + 1 - false_alarms / NEGATIVES) / 2


def test_combined_folders_are_the_table_that_forest_reads(tmp_path):
    scores = [write_slices(tmp_path / f"seed{seed}", seed) for seed in (0, 1)]
    target = tmp_path / "data" / "forest.npz"
    folders = [str(tmp_path / "seed0"), str(tmp_path / "seed1")]
    script.main(["--combine", *folders, "--to", str(target)])
    problem = forest(target)
    assert problem.seeds == (0, 1)
    np.testing.assert_allclose(problem.scores, np.mean(scores, axis=0), rtol=1e-14)
    script.main(["--combine", folders[0], "--to", str(target)])
    np.testing.assert_allclose(forest(target).scores, scores[0], rtol=1e-14)
    assert target.stat().st_size < 1_000_000


def test_incomplete_or_mixed_folders_are_not_combined(tmp_path):
    target = tmp_path / "forest.npz"

    def combine(*names):
        folders = [str(tmp_path / name) for name in names]
        script.main(["--combine", *folders, "--to", str(target)])

    write_slices(tmp_path / "good", 0)
    write_slices(tmp_path / "twin", 0)
    write_slices(tmp_path / "mixed", 0, sklearn="2")
    write_slices(tmp_path / "seeds", 0, seed=1)
    write_slices(tmp_path / "renamed", 0, max_features=20)
    write_slices(tmp_path / "partial", 1)
    script.slice_path(tmp_path / "partial", 17).unlink()
    with pytest.raises(SystemExit, match=r"lacks \[17\]"):
        combine("partial")
    with pytest.raises(SystemExit, match=r"lacks \[17\]"):
        combine("good", "partial")
    with pytest.raises(SystemExit, match="different sklearn"):
        combine("mixed")
    with pytest.raises(SystemExit, match="different seed"):
        combine("seeds")
    with pytest.raises(SystemExit, match="it holds 20"):
        combine("renamed")
    with pytest.raises(SystemExit, match="different seeds"):
        combine("good", "twin")
    assert not target.exists()


def test_counts_by_hour_are_those_by_hand():
    seconds = np.array([0, 10, 3599, 3600, 7300, 7300, 7400, 7500, 7600, 7700, 18_000])
    y = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1], dtype=np.uint8)
    # Eleven rows: five to learn from, then folds of 2, 1, 1, 1 and 1.
    assert script.count_times(seconds, y) == Timeline(
        bin_seconds=3600,
        fraud=(1, 1, 2, 0, 0, 1),
        other=(2, 0, 4, 0, 0, 0),
        folds=(7300, 7500, 7600, 7700, 18_000, 18_000),
        frauds=(3, 0, 1, 0, 0, 1),
    )


def test_script_counts_by_hour(csv, tmp_path):
    path, _, y = csv
    target = tmp_path / "times.json"
    script.main([str(path), "--times", str(target)])
    stored = json.loads(target.read_text("utf-8"))
    assert "Dal Pozzolo" in stored.pop("source")
    # The i-th row is at second i.
    counts = script.count_times(np.arange(len(y)), y)
    assert stored == json.loads(json.dumps(asdict(counts)))
    assert sum(stored["fraud"]) == y.sum()


def test_script_reads_the_times_of_a_parquet_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"Class": np.array([1, 0, 1], dtype=np.uint8), "Time": np.array([70, 0, 9], "i4")}
    parquet.write_table(pyarrow.table(columns), tmp_path / "some.parquet")
    seconds, y = script.read_times(tmp_path / "some.parquet")
    assert (seconds.tolist(), y.tolist()) == ([0, 9, 70], [0, 1, 1])


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["data.csv"],
        ["--combine", "x"],
        ["--to", "y"],
        ["--times", "z"],
        ["data.csv", "--out", "x", "--times", "z"],
    ],
)
def test_script_refuses_half_a_command(argv, capsys):
    with pytest.raises(SystemExit):
        script.main(argv)
    assert "--combine DIR --to FILE, or DATA --times FILE" in capsys.readouterr().err


def test_reading_the_table_needs_no_scikit_learn(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert forest(table[0]).f(np.array([[1.0, 5.0, 1.0]])).shape == (1,)
