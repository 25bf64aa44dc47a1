"""Fit the surrogate of a free-electron laser to measured tuning runs.

    python scripts/fit_fel.py MEASUREMENTS.csv --out fel.json [--tuned NAME ...] [--scale 3000]

The mean is the paper's form, f(x) = A·exp(-||F(x - m)||²) + B, fitted by least squares; the noise
variance is v(x) = floor + bright·(f(x) - B) + jitter·||∇f(x)||², fitted to the logarithms of the
measured variances. The quality of both is measured on runs left out of the fit. The file that is
written holds the fitted parameters, that quality and the source, never the measurements;
`rahbo.problems.fel.fitted` makes a problem of it.

The CSV file has a header and one row a setting. Its columns:

    y                        mean pulse energy at the setting (required)
    y_std                    standard deviation of one shot; without it the squared residuals of
                             the mean are used, as in the paper
    nreadings                shots behind y and y_std (30 where the column is missing)
    run                      name of the tuning run; without it, ten blocks of consecutive rows
    duplicate_of_other_file  rows with 1 are dropped
    kind, step, dim, time    ignored
    any other column         an input; empty where the run did not touch it

Rows are used that fill in the same inputs as most rows do.

The file shipped with the package comes from the European XFEL (SASE1, 24 November 2022; published
by Xu et al.) with `--tuned CAX.CELL3 CAX.CELL8 CAY.CELL3 CAX.CELL11`, four of the five most
sensitive inputs there.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.special import digamma

from rahbo.errors import DataError, RahboError
from rahbo.numerics import Array, Mask
from rahbo.problems.fel import Surrogate

KNOWN = {"y", "y_std", "nreadings", "run", "duplicate_of_other_file", "kind", "step", "dim", "time"}
HEIGHT_BOUNDS = (0.9, 1.1)  # left free, the height runs away with the centre
CENTRE_WEIGHT = 0.1  # of the centre's distance, in standard deviations, to the best tenth's mean
OFFSET_WEIGHT = 1.0
DIGITS = 8


@dataclass(frozen=True)
class Table:
    """Settings X ``(n, d)`` of named inputs, scaled energies y and variances ``(n,)``, runs."""

    inputs: tuple[str, ...]
    X: Array
    y: Array
    shot_var: Array | None
    dof: Array
    run: Sequence[str]

    def rows(self, keep: Mask) -> Table:
        """Return some rows as a table."""
        shot_var = None if self.shot_var is None else self.shot_var[keep]
        run = [name for name, kept in zip(self.run, keep, strict=True) if kept]
        return replace(
            self, X=self.X[keep], y=self.y[keep], shot_var=shot_var, dof=self.dof[keep], run=run
        )


def read_table(path: Path, scale: float) -> Table:
    """Return the rows of a CSV file that fill in the same inputs as most rows do."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if r.get("duplicate_of_other_file") != "1"]
    if not rows or "y" not in rows[0]:
        raise DataError(
            f"{path.name} needs a header with a column y and at least one row, got "
            f"{list(rows[0]) if rows else 'no rows'}. Rename the column of the mean energy to y."
        )
    columns = [name for name in rows[0] if name not in KNOWN]
    filled = [tuple(name for name in columns if r[name] not in ("", None)) for r in rows]
    inputs = Counter(filled).most_common(1)[0][0]
    rows = [r for r, names in zip(rows, filled, strict=True) if names == inputs]

    def column(name: str) -> Array:
        try:
            return np.array([float(r[name]) for r in rows])
        except (TypeError, ValueError) as error:
            raise DataError(
                f"Column {name} of {path.name} must hold numbers, got: {error}. "
                f"Fill in or remove those rows."
            ) from error

    if not inputs:
        raise DataError(f"{path.name} has no column of an input, got {list(rows[0])}. Add some.")
    has = rows[0].keys()
    shot_var = (column("y_std") / scale) ** 2 if "y_std" in has else None
    dof = column("nreadings") - 1.0 if "nreadings" in has else np.full(len(rows), 29.0)
    blocks = [f"block {10 * i // len(rows)}" for i in range(len(rows))]
    run = [r["run"] for r in rows] if "run" in has else blocks
    X = np.column_stack([column(name) for name in inputs])
    return Table(inputs, X, column("y") / scale, shot_var, dof, run)


class MeanFit:
    """The least-squares problem of the mean, in p = (A, B, m, upper triangle of F).

    min ||f(X) - y||² + w_m²·||(m - c)/std(X)||² + w_B²·B², 0.9 <= A <= 1.1

    c is the mean setting of the best tenth. F is upper triangular: only FᵀF matters.
    """

    def __init__(self, table: Table) -> None:
        self.X, self.y = table.X, table.y
        self.d = table.X.shape[1]
        self.upper = np.triu_indices(self.d)
        self.spread = np.maximum(table.X.std(axis=0), 1e-12)
        self.best = table.X[table.y >= np.quantile(table.y, 0.9)].mean(axis=0)

    def factor(self, p: Array) -> Array:
        """Return F ``(d, d)``."""
        F = np.zeros((self.d, self.d))
        F[self.upper] = p[2 + self.d :]
        return F

    def residuals(self, p: Array) -> Array:
        """Return what is squared and summed ``(n + d + 1,)``."""
        m = p[2 : 2 + self.d]
        bell = np.exp(-np.sum(((self.X - m) @ self.factor(p).T) ** 2, axis=1))
        pull = CENTRE_WEIGHT * (m - self.best) / self.spread
        return np.concatenate([p[0] * bell + p[1] - self.y, pull, [OFFSET_WEIGHT * p[1]]])

    def jacobian(self, p: Array) -> Array:
        """Return the derivatives of the residuals in p ``(n + d + 1, len(p))``."""
        n, d, F = len(self.y), self.d, self.factor(p)
        D = self.X - p[2 : 2 + d]
        Z = D @ F.T
        bell = np.exp(-np.sum(Z**2, axis=1))
        slope = (2.0 * p[0] * bell)[:, None]
        J = np.zeros((n + d + 1, len(p)))
        J[:n, 0], J[:n, 1] = bell, 1.0
        J[:n, 2 : 2 + d] = slope * (Z @ F)
        J[:n, 2 + d :] = -slope * Z[:, self.upper[0]] * D[:, self.upper[1]]
        J[n:-1, 2 : 2 + d] = np.diag(CENTRE_WEIGHT / self.spread)
        J[-1, 1] = OFFSET_WEIGHT
        return J

    def solve(self, rng: np.random.Generator) -> tuple[float, Array]:
        """Return the cost and the parameters reached from a random start."""
        # Wide at first: a bell that is too narrow sees no point and has no gradient.
        F = np.diag(rng.uniform(0.2, 0.5, self.d) / self.spread)
        start = np.concatenate([[1.0, 0.0], self.best, F[self.upper]])
        low = np.full(len(start), -np.inf)
        high = -low
        low[0], high[0] = HEIGHT_BOUNDS
        found = least_squares(
            self.residuals, start, self.jacobian, bounds=(low, high), max_nfev=500
        )
        return float(found.cost), np.asarray(found.x)


def fit_mean(table: Table, seed: int = 0, starts: int = 3) -> Surrogate:
    """Return the surrogate with the best mean over several starts, and no noise yet.

    f(x) = A·exp(-||F(x - m)||²) + B    (the paper's SwissFEL surrogate)
    """
    fit, rng = MeanFit(table), np.random.default_rng(seed)
    p = min((fit.solve(rng) for _ in range(starts)), key=lambda found: found[0])[1]
    F = fit.factor(p)
    F[np.diag(F) < 0.0] *= -1.0
    centre = tuple(p[2 : 2 + fit.d].tolist())
    factor = tuple(tuple(row) for row in (F + 0.0).tolist())
    return Surrogate(
        table.inputs, float(p[0]), float(p[1]), centre, factor, 0.0, 0.0, 0.0, (), (), 0.0
    )


def fit_noise(table: Table, surrogate: Surrogate) -> Surrogate:
    """Return the surrogate with the parts of its noise variance fitted.

    min sum of rho(log v(x) - log s² + psi(dof/2) - log(dof/2)), rho the soft absolute value

    On the logarithm, so that dark settings count, and softly, so that a few wild rows do not.
    """
    light = surrogate.mean(table.X) - surrogate.offset
    slope = np.sum(surrogate.gradient(table.X) ** 2, axis=1)
    features = np.column_stack([np.ones_like(light), light, slope])
    target = np.log(observed_var(table, surrogate)) - log_bias(table)
    typical = float(np.exp(np.median(target)))
    size = np.log(np.maximum(features.mean(axis=0), 1e-12))
    start = np.log(typical) - size - np.array([5.0, 0.0, 0.0])

    def residuals(p: Array) -> Array:
        return np.asarray(np.log(features @ np.exp(p)) - target)

    found = least_squares(residuals, start, loss="soft_l1", bounds=(start - 15.0, start + 15.0))
    floor, bright, jitter = np.exp(found.x).tolist()
    return replace(surrogate, noise_floor=floor, noise_bright=bright, noise_jitter=jitter)


def observed_var(table: Table, surrogate: Surrogate) -> Array:
    """Return the measured variances, or the squared residuals where there are none."""
    if table.shot_var is None:
        return np.maximum((table.y - surrogate.mean(table.X)) ** 2, 1e-12)
    return np.maximum(table.shot_var, 1e-12)


def log_bias(table: Table) -> Array:
    """Return by how much the log of a sample variance falls short on average.

    E[log s²] - log v = psi(dof/2) - log(dof/2)
    """
    dof = np.ones_like(table.y) if table.shot_var is None else np.maximum(table.dof, 1.0)
    return np.asarray(digamma(dof / 2.0) - np.log(dof / 2.0))


def quality(table: Table, seed: int, starts: int, lasing: float) -> dict[str, float]:
    """Return how well runs left out of the fit are predicted, all rows and lasing rows only."""
    mean, noise, seen = (np.empty_like(table.y) for _ in range(3))
    run = np.array(table.run)
    for name in sorted(set(table.run)):
        out = run == name
        rest = table.rows(~out)
        surrogate = fit_noise(rest, fit_mean(rest, seed, starts))
        mean[out] = surrogate.mean(table.X[out])
        noise[out] = surrogate.noise_var(table.X[out])
        seen[out] = observed_var(table.rows(out), surrogate)
    bright, bias = table.y > lasing, log_bias(table)
    log_pairs = np.log(noise), np.log(seen) - bias
    return {
        "mean_r2": r2(mean, table.y),
        "mean_r2_lasing": r2(mean[bright], table.y[bright]),
        "log_noise_var_r2": r2(*log_pairs),
        "log_noise_var_r2_lasing": r2(log_pairs[0][bright], log_pairs[1][bright]),
        "noise_var_r2_lasing": r2(noise[bright], seen[bright]),
        "noise_var_measured_over_fitted_lasing": float(seen[bright].mean() / noise[bright].mean()),
    }


def r2(predicted: Array, measured: Array) -> float:
    """Return the coefficient of determination.

    R² = 1 - sum (measured - predicted)² / sum (measured - mean)²
    """
    total = np.sum((measured - measured.mean()) ** 2)
    return float(1.0 - np.sum((measured - predicted) ** 2) / total)


def place(table: Table, surrogate: Surrogate, tuned: Sequence[str], options: Any) -> Surrogate:
    """Return the surrogate with its setting, its tuned inputs and their box.

    The sensitivity of an input is the norm of its column of F.
    """
    unknown = sorted(set(tuned) - set(table.inputs))
    if unknown:
        raise DataError(f"--tuned must name inputs {table.inputs}, got {unknown}. Choose others.")
    bright = table.y > options.bright
    if not bright.any():
        raise DataError(
            f"Some rows must have y/scale > {options.bright}, got at most {table.y.max():.3g}. "
            f"Pass another --scale or --bright."
        )
    setting = np.round(np.median(table.X[bright], axis=0), 4)
    order = np.argsort(-sensitivity(surrogate), kind="stable")[:4]
    chosen = tuple(tuned) or tuple(table.inputs[i] for i in order)
    return replace(
        surrogate, setting=tuple(setting.tolist()), tuned=chosen, half_width=options.half_width
    )


def sensitivity(surrogate: Surrogate) -> Array:
    """Return the norm of each input's column of F ``(d,)``."""
    return np.asarray(np.linalg.norm(np.array(surrogate.factor), axis=0))


def rounded(value: Any) -> Any:
    """Return a value with all its floats rounded to so many significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="CSV file; its columns stand in the script")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--scale", type=float, default=3000.0, help="y is divided by this")
    parser.add_argument("--tuned", nargs="+", default=[], help="default: the four most sensitive")
    parser.add_argument("--half-width", type=float, default=0.15, help="of the tuned inputs' box")
    parser.add_argument("--bright", type=float, default=0.9, help="rows that give the setting")
    parser.add_argument("--lasing", type=float, default=0.1, help="rows above count as lasing")
    parser.add_argument("--starts", type=int, default=3, help="starts of each fit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--source", default="", help="where the measurements come from")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the measurements, fit, tell how good it is and write the file."""
    options = parse(arguments)
    try:
        table = read_table(options.data, options.scale)
        surrogate = fit_noise(table, fit_mean(table, options.seed, options.starts))
        surrogate = place(table, surrogate, options.tuned, options)
        scores = quality(table, options.seed, options.starts, options.lasing)
    except RahboError as error:
        raise SystemExit(f"fit_fel: {error}") from error
    record = {
        "source": options.source,
        "rows": len(table.y),
        "runs": len(set(table.run)),
        "left_out_runs": scores,
        "sensitivity": dict(zip(table.inputs, sensitivity(surrogate).tolist(), strict=True)),
        **asdict(surrogate),
    }
    # One line a field: the file is meant to be read and compared.
    fields = [f'"{key}": {json.dumps(value)}' for key, value in rounded(record).items()]
    options.out.write_text("{" + ",\n ".join(fields) + "}\n", "utf-8")
    for name, score in scores.items():
        print(f"{name:40s} {score:.3f}")
    print("tuned", *surrogate.tuned)


if __name__ == "__main__":
    main()
