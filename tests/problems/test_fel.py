"""The laser problems against their shipped parameters, other searches, and refitted data."""

import csv
import json
import math
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.stats import qmc

from extras import script_named
from rahbo.errors import DataError
from rahbo.problems import euxfel, fel
from rahbo.problems.fel import Surrogate, fitted
from rahbo.risk import MeanVariance

SHIPPED = files("rahbo.problems") / "data" / "fel.json"
RECORD = json.loads(SHIPPED.read_text("utf-8"))
NAMES = ["cax_cell3", "cax_cell8", "cay_cell3", "cax_cell11"]
ALPHAS = [0.0, 0.5, 1.0, 2.0, 5.0]
# One of each, because a problem keeps the optima it has found.
EUXFEL, FEL = euxfel(), fel()
script = script_named("fit_fel")


def by_hand(row):
    """Mean, and its gradient in all ten inputs, at four tuned inputs; one sum after the other."""
    x = dict(zip(RECORD["inputs"], RECORD["setting"], strict=True))
    x |= dict(zip(RECORD["tuned"], row, strict=True))
    step = [x[name] - m for name, m in zip(RECORD["inputs"], RECORD["centre"], strict=True)]
    z = [sum(a * b for a, b in zip(line, step, strict=True)) for line in RECORD["factor"]]
    light = RECORD["height"] * math.exp(-sum(a * a for a in z))
    columns = zip(*RECORD["factor"], strict=True)
    back = [sum(a * b for a, b in zip(column, z, strict=True)) for column in columns]
    return light + RECORD["offset"], [-2.0 * light * a for a in back]


def box(problem):
    kinds = problem.space.values()
    return np.array([k.low for k in kinds]), np.array([k.high for k in kinds])


def random_rows(problem, rng, n):
    low, high = box(problem)
    return low + (high - low) * rng.random((n, 4))


def test_mean_is_the_stated_formula_at_the_shipped_parameters(rng):
    X = random_rows(EUXFEL, rng, 50)
    expected = [by_hand(row)[0] for row in X]
    np.testing.assert_allclose(EUXFEL.f(X), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(fel(2.0).f(X), EUXFEL.f(X))


def test_measured_noise_is_the_stated_formula(rng):
    for row in random_rows(EUXFEL, rng, 50):
        f, gradient = by_hand(row)
        expected = RECORD["noise_floor"] + RECORD["noise_bright"] * (f - RECORD["offset"])
        expected += RECORD["noise_jitter"] * sum(g * g for g in gradient)
        assert EUXFEL.noise_var(row[None])[0] == pytest.approx(expected, rel=1e-11)


def test_invented_noise_is_the_stated_formula(rng):
    setting = dict(zip(RECORD["inputs"], RECORD["setting"], strict=True))
    for row in random_rows(FEL, rng, 50):
        u = [(x - setting[n]) / 0.15 for x, n in zip(row, RECORD["tuned"], strict=True)]
        s = 10 * (-0.5 * u[0] + 0.3 * u[1] + 0.5 * u[2] + 0.65 * u[3]) + 1
        expected = 0.01 + 0.19 / (1 + math.exp(-s))
        assert FEL.noise_var(row[None])[0] == pytest.approx(expected, rel=1e-12)
        assert fel(3.0).noise_var(row[None])[0] == pytest.approx(3 * expected, rel=1e-12)


def test_gradient_agrees_with_finite_differences(rng):
    surrogate = EUXFEL.surrogate
    for x in surrogate.full(random_rows(EUXFEL, rng, 5)):
        slope = approx_fprime(x, lambda x: surrogate.mean(x[None])[0], 1e-7)
        np.testing.assert_allclose(surrogate.gradient(x[None])[0], slope, atol=1e-4)


@pytest.mark.parametrize("problem", [EUXFEL, FEL], ids=lambda p: p.name)
def test_four_correctors_in_a_box_around_the_setting(problem):
    assert list(problem.space) == NAMES
    assert RECORD["tuned"] == ["CAX.CELL3", "CAX.CELL8", "CAY.CELL3", "CAX.CELL11"]
    low, high = box(problem)
    np.testing.assert_allclose(high - low, 0.3, rtol=1e-12)
    setting = dict(zip(RECORD["inputs"], RECORD["setting"], strict=True))
    np.testing.assert_allclose((low + high) / 2, [setting[n] for n in RECORD["tuned"]], atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [EUXFEL, FEL, fel(3.0)], ids=lambda p: p.name)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_optimum_agrees_with_an_independent_search(problem, alpha):
    risk = MeanVariance(alpha)
    best = problem.optimum(risk)
    low, high = box(problem)
    X = low + (high - low) * qmc.Sobol(4, seed=3).random(2**15)
    values = problem.f(X) - alpha * problem.noise_var(X)
    assert best.value >= values.max()

    def loss(u):
        row = low + (high - low) * np.clip(u, 0.0, 1.0)
        return -(problem.f(row[None])[0] - alpha * problem.noise_var(row[None])[0])

    # No gradients here, and a simplex instead of a grid.
    tight = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 5000, "maxfev": 5000}
    starts = (X[np.argsort(-values)[:3]] - low) / (high - low)
    results = [minimize(loss, u, method="Nelder-Mead", options=tight) for u in starts]
    found = min(results, key=lambda result: result.fun)
    assert best.value == pytest.approx(-found.fun, abs=1e-9)
    np.testing.assert_allclose(
        list(best.params.values()), low + (high - low) * found.x, rtol=0, atol=1e-5
    )


def test_brightest_setting_solves_linear_least_squares():
    names = RECORD["inputs"]
    F, away = np.array(RECORD["factor"]), np.array(RECORD["centre"]) - np.array(RECORD["setting"])
    tuned = [names.index(name) for name in RECORD["tuned"]]
    rest = [i for i in range(10) if i not in tuned]
    step = np.linalg.lstsq(F[:, tuned], F[:, rest] @ away[rest], rcond=None)[0] + away[tuned]
    expected = np.array(RECORD["setting"])[tuned] + step
    for problem in (EUXFEL, FEL):
        best = problem.optimum(MeanVariance(0.0))
        np.testing.assert_allclose(list(best.params.values()), expected, rtol=0, atol=1e-6)
        assert best.value == pytest.approx(by_hand(expected)[0], abs=1e-12)


def moves(problem):
    """How far, in half-widths, the optimum of each alpha lies from the brightest setting."""
    best = [problem.optimum(MeanVariance(alpha)).params for alpha in ALPHAS]
    rows = np.array([list(params.values()) for params in best])
    return np.linalg.norm((rows - rows[0]) / 0.15, axis=1), problem.f(rows), problem.noise_var(rows)


@pytest.mark.slow
def test_measured_noise_hardly_moves_the_optimum():
    distance, f, _ = moves(EUXFEL)
    assert distance.max() < 0.01
    assert f.min() > f.max() - 1e-4


@pytest.mark.slow
def test_invented_noise_moves_the_optimum_with_alpha():
    distance, f, v = moves(FEL)
    assert (np.diff(distance) > 0.05).all()
    assert (np.diff(f) < -0.005).all()
    assert v[-1] < v[0] / 4
    assert f[-1] > 0.8
    # The reason for its size: at about the measured one, nothing moves.
    assert moves(fel(0.01))[0].max() < 0.02


def test_light_fills_a_known_part_of_the_box():
    low, high = box(EUXFEL)
    f = EUXFEL.f(low + (high - low) * qmc.Sobol(4, seed=1).random(2**14))
    assert (f > 0.1).mean() == pytest.approx(0.30, abs=0.02)
    assert (f > 0.5).mean() == pytest.approx(0.056, abs=0.01)
    assert f.max() < 1.01
    assert f.min() > 0.0


def test_measured_noise_has_the_measured_size():
    low, high = box(EUXFEL)
    X = low + (high - low) * qmc.Sobol(4, seed=2).random(2**14)
    f, v = EUXFEL.f(X), EUXFEL.noise_var(X)
    assert (v > 0.0).all()
    # Variances of lasing rows as measured: 5 to 95 % lie between 4e-4 and 4.5e-3.
    few, many = np.quantile(v[f > 0.1], [0.05, 0.95])
    assert 2e-4 < few < many < 6e-3
    # Standard deviations as measured: 0.045 on the slope, 0.029 near the peak.
    assert math.sqrt(v[(f > 0.3) & (f < 0.6)].mean()) == pytest.approx(0.045, abs=0.01)
    peak = EUXFEL.params_to_row(EUXFEL.optimum(MeanVariance(0.0)).params)
    assert math.sqrt(EUXFEL.noise_var(peak[None])[0]) == pytest.approx(0.029, abs=0.005)


def test_shipped_file_holds_parameters_and_no_measurements():
    assert len(SHIPPED.read_bytes()) < 20_000

    def lengths(value):
        if isinstance(value, list):
            yield len(value)
            for item in value:
                yield from lengths(item)

    n = len(RECORD["inputs"])
    assert max(size for value in RECORD.values() for size in lengths(value)) == n == 10
    fields = set(Surrogate.__dataclass_fields__)
    assert set(RECORD) == fields | {"source", "rows", "runs", "left_out_runs", "sensitivity"}
    assert "measurements are not included" in RECORD["source"]
    assert (RECORD["rows"], RECORD["runs"]) == (864, 9)
    assert 0.95 < RECORD["left_out_runs"]["mean_r2"] < 1.0
    # The fit predicts the noise of settings that give light hardly at all.
    assert RECORD["left_out_runs"]["noise_var_r2_lasing"] < 0.2


def test_incomplete_records_and_other_files_are_refused(tmp_path):
    with pytest.raises(DataError, match="height"):
        Surrogate.from_record({k: v for k, v in RECORD.items() if k != "height"})
    with pytest.raises(DataError, match="fields"):
        Surrogate.from_record(RECORD | {"setting": ["here"]})
    (tmp_path / "no.json").write_text("y,x\n1,2\n", "utf-8")
    with pytest.raises(DataError, match=r"no\.json must hold JSON"):
        fitted(tmp_path / "no.json")
    clash = RECORD | {"inputs": ["A.B", "a_b", *RECORD["inputs"][2:]], "tuned": ["A.B", "a_b"]}
    (tmp_path / "clash.json").write_text(json.dumps(clash), "utf-8")
    with pytest.raises(DataError, match="Rename"):
        fitted(tmp_path / "clash.json")


# The script, on data made from known parameters.

TRUE = Surrogate(
    inputs=("A.ONE", "B.TWO", "C.THREE"),
    height=1.02,
    offset=0.01,
    centre=(0.05, -0.1, 0.02),
    factor=((5.0, 1.5, 0.5), (0.0, 4.0, -1.0), (0.0, 0.0, 2.0)),
    noise_floor=1e-6,
    noise_bright=8e-4,
    noise_jitter=1e-4,
    tuned=("A.ONE", "B.TWO"),
    setting=(0.0, 0.0, 0.0),
    half_width=0.15,
)


def simulated(rng, n=300, shots=30):
    """Settings in four runs, each with the mean and the variance of several shots."""
    X = rng.uniform(-0.5, 0.5, (n, 3))
    v = TRUE.noise_var(X)
    y = TRUE.mean(X) + np.sqrt(v / shots) * rng.standard_normal(n)
    shot_var = v * rng.chisquare(shots - 1, n) / (shots - 1)
    run = [f"run {i % 4}" for i in range(n)]
    return script.Table(TRUE.inputs, X, y, shot_var, np.full(n, shots - 1.0), run)


def write_csv(path, table, scale, columns=("y_std", "nreadings", "run"), extra=()):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["y", *columns, "duplicate_of_other_file", *table.inputs])
        writer.writeheader()
        for i, x in enumerate(table.X):
            row = {"y": table.y[i] * scale, "y_std": math.sqrt(table.shot_var[i]) * scale}
            row |= {"nreadings": int(table.dof[i]) + 1, "run": table.run[i]}
            row = {name: value for name, value in row.items() if name in ("y", *columns)}
            writer.writerow(row | dict(zip(table.inputs, x.tolist(), strict=True)))
        writer.writerows(extra)


def test_fit_recovers_known_parameters(rng):
    table = simulated(rng)
    found = script.fit_noise(table, script.fit_mean(table, seed=1, starts=2))
    assert found.height == pytest.approx(TRUE.height, abs=0.02)
    assert found.offset == pytest.approx(TRUE.offset, abs=0.003)
    np.testing.assert_allclose(found.centre, TRUE.centre, atol=0.01)
    F, G = np.array(found.factor), np.array(TRUE.factor)
    np.testing.assert_allclose(F.T @ F, G.T @ G, rtol=0.05, atol=0.5)
    for part in ("noise_floor", "noise_bright", "noise_jitter"):
        assert getattr(found, part) == pytest.approx(getattr(TRUE, part), rel=0.25)
    np.testing.assert_allclose(found.mean(table.X), TRUE.mean(table.X), atol=0.03)


def test_jacobian_agrees_with_finite_differences(rng):
    fit = script.MeanFit(simulated(rng, n=20))
    p = np.array([0.97, 0.02, 0.1, 0.0, -0.1, 3.0, 1.0, -0.5, 2.0, 0.3, 1.5])
    numeric = approx_fprime(p, fit.residuals, 1e-7)
    np.testing.assert_allclose(fit.jacobian(p), numeric, atol=1e-5)


def test_left_out_runs_are_predicted_where_the_form_is_true(rng):
    scores = script.quality(simulated(rng), seed=0, starts=1, lasing=0.1)
    assert scores["mean_r2"] > 0.99
    assert scores["log_noise_var_r2_lasing"] > 0.5
    assert scores["noise_var_measured_over_fitted_lasing"] == pytest.approx(1.0, abs=0.1)


def test_the_script_makes_a_problem_of_a_file(rng, tmp_path, capsys):
    table = simulated(rng)
    partial = {"y": 7.0, "y_std": 1.0, "nreadings": 5, "run": "short", "A.ONE": 0.0}
    copy = dict(zip(TRUE.inputs, [9.0, 9.0, 9.0], strict=True))
    copy |= {"y": 9e9, "y_std": 1.0, "nreadings": 5, "run": "copy", "duplicate_of_other_file": 1}
    write_csv(tmp_path / "runs.csv", table, 3000.0, extra=[partial, copy])
    out = tmp_path / "mine.json"
    arguments = [str(tmp_path / "runs.csv"), "--out", str(out), "--starts", "1", "--bright", "0.8"]
    script.main([*arguments, "--tuned", "A.ONE", "B.TWO", "--source", "a simulation"])
    assert "mean_r2" in capsys.readouterr().out
    record = json.loads(out.read_text("utf-8"))
    assert (record["rows"], record["runs"], record["source"]) == (300, 4, "a simulation")
    problem = fitted(out)
    assert problem.name == "mine"
    assert list(problem.space) == ["a_one", "b_two"]
    truth = replace(TRUE, setting=tuple(record["setting"]))
    X = np.array([[k.low for k in problem.space.values()], problem.surrogate.middle])
    np.testing.assert_allclose(problem.f(X), truth.mean(truth.full(X)), atol=0.02)
    np.testing.assert_allclose(problem.noise_var(X), truth.noise_var(truth.full(X)), rtol=0.3)


def test_without_variances_the_residuals_tell_the_noise(rng, tmp_path):
    # As in the paper: one shot per setting, no standard deviations, no names of runs.
    table = simulated(rng, n=800, shots=2)
    y = TRUE.mean(table.X) + np.sqrt(TRUE.noise_var(table.X)) * rng.standard_normal(800)
    write_csv(tmp_path / "single.csv", replace(table, y=y), 1.0, columns=())
    read = script.read_table(tmp_path / "single.csv", 1.0)
    assert read.shot_var is None
    assert len(set(read.run)) == 10
    found = script.fit_noise(read, script.fit_mean(read, starts=1))
    bright = read.y > 0.2
    ratio = found.noise_var(read.X[bright]) / TRUE.noise_var(read.X[bright])
    assert 0.5 < np.exp(np.log(ratio).mean()) < 2.0


@pytest.mark.parametrize(
    ("text", "more", "match"),
    [
        ("energy,A\n1,2\n", [], "column y"),
        ("y,A\n", [], "no rows"),
        ("y,run\n1,a\n", [], "no column of an input"),
        ("y,A\n1,2\nbright,3\n", [], "must hold numbers"),
        ("y,A\n" + "".join(f"{i % 7},{i}\n" for i in range(40)), ["--tuned", "B"], "--tuned"),
        ("y,A\n" + "".join(f"{i % 7},{i}\n" for i in range(40)), [], "--scale or --bright"),
    ],
)
def test_the_script_says_what_a_file_lacks(tmp_path, text, more, match):
    (tmp_path / "bad.csv").write_text(text, "utf-8")
    arguments = [str(tmp_path / "bad.csv"), "--out", str(tmp_path / "out.json"), *more]
    with pytest.raises(SystemExit, match=match):
        script.main(arguments)
