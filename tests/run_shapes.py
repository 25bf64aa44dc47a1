"""Runs and tables of many shapes, each told from a random generator and a seed."""

import numpy as np

import rahbo
from rahbo.policy import GPUCB, Folds, RahboUS


def _noise(rng, x, kind):
    level = {"quiet": 0.0, "even": 0.3, "uneven": 0.05 + 0.9 * x, "step": 0.05 + 0.8 * (x > 0.5)}
    return level[kind] * rng.standard_normal()


def _numbers(rng, n, repeats, d=2, scale=1.0, shift=0.0, noise="uneven"):
    data = []
    for x in rng.random((n, d)):
        f = np.sin(4 * x[0]) + (x[1] if d > 1 else 0.0)
        k = int(rng.integers(*repeats))
        values = [shift + scale * (f + _noise(rng, x[0], noise)) for _ in range(k)]
        data.append(({f"x{i}": float(v) for i, v in enumerate(x)}, values))
    return {f"x{i}": (0.0, 1.0) for i in range(d)}, data


def _optimizer(seed, space, data, **settings):
    return rahbo.Optimizer(space, data=data, seed=seed, **settings)


def _risk(rng):
    return [
        rahbo.MeanStd(1.0), rahbo.MeanVariance(1.0), rahbo.MeanStd(3.0), rahbo.Quantile(0.05),
        rahbo.ExpectedShortfall(0.1), rahbo.MeanVariance(0.0),
    ][int(rng.integers(6))]  # fmt: skip


def _singles(rng, seed):
    kind = ["even", "uneven", "step"][seed % 3]
    return _optimizer(seed, *_numbers(rng, 35, (1, 2), noise=kind), risk=_risk(rng))


def _repeats(rng, seed):
    kind = ["even", "uneven", "step"][seed % 3]
    return _optimizer(seed, *_numbers(rng, 14, (2, 6), noise=kind), risk=_risk(rng))


def _mixed(rng, seed):
    return _optimizer(seed, *_numbers(rng, 20, (1, 4), d=3), risk=_risk(rng))


def _coarse(rng, seed):
    space, data = _numbers(rng, 25, (1, 4))
    data = [(p, [round(2 * v) / 2 for v in values]) for p, values in data]
    return _optimizer(seed, space, data, risk=_risk(rng))


def _two_valued(rng, seed):
    space, data = _numbers(rng, 25, (1, 5))
    data = [(p, [float(v > 0.8) for v in values]) for p, values in data]
    return _optimizer(seed, space, data, risk=_risk(rng))


def _listed(rng, seed):
    means, stds = rng.standard_normal((2, 8))
    rows = rahbo.Candidates([{"program": f"p{i}"} for i in range(8)])
    counts = rng.integers(1, 8, size=7)
    data = [({"program": f"p{i}"}, means[i] + abs(stds[i]) * rng.standard_normal(k))
            for i, k in enumerate(counts)]  # fmt: skip
    return _optimizer(seed, rows, data, risk=_risk(rng))


def _categories(rng, seed):
    data = [
        ({"opt": ["adam", "sgd", "rms"][c], "x": float(x)},
         [x * (1 + c) + (0.05 + 0.4 * (c == 2)) * rng.standard_normal()])
        for c, x in zip(rng.integers(3, size=30), rng.random(30), strict=True)
    ]  # fmt: skip
    return _optimizer(seed, {"opt": ["adam", "sgd", "rms"], "x": (0.0, 1.0)}, data, risk=_risk(rng))


def adam_and_sgd(rng, seed, gap=None):
    """146 noisy rows of one optimiser and 4 quiet ones of another, whose mean is a bit worse."""
    gap = 0.02 * rng.random() if gap is None else gap
    rows = [("adam", v) for v in 0.92 + 0.06 * rng.standard_normal(146)]
    rows += [("sgd", v) for v in 0.92 - gap + 0.02 * rng.standard_normal(4)]
    data = [({"opt": name}, float(v)) for name, v in rows]
    return _optimizer(seed, {"opt": ["adam", "sgd"]}, data, risk=rahbo.MeanStd(1.0))


def _minimised(rng, seed):
    return _optimizer(
        seed, *_numbers(rng, 20, (1, 4)), risk=_risk(rng), direction="minimize"
    )  # fmt: skip


def _units(rng, seed):
    scale = 10.0 ** rng.integers(-8, 9)
    space, data = _numbers(rng, 18, (1, 4), scale=scale, shift=scale * rng.integers(-100, 100))
    return _optimizer(seed, space, data, risk=_risk(rng))


def _quiet(rng, seed):
    return _optimizer(seed, *_numbers(rng, 15, (1, 3), noise="quiet"), risk=_risk(rng))


def _few(rng, seed):
    return _optimizer(seed, *_numbers(rng, int(rng.integers(2, 6)), (1, 4)), risk=_risk(rng))


def _one_row(rng, seed):
    return _optimizer(seed, *_numbers(rng, 1, (1, 4)), risk=_risk(rng))


def _all_equal(rng, seed):
    space, data = _numbers(rng, int(rng.integers(2, 9)), (1, 3))
    return _optimizer(seed, space, [(p, [2.5] * len(v)) for p, v in data], risk=_risk(rng))


def _limits(rng, seed):
    space, data = _numbers(rng, 18, (1, 3))
    data = [(p, [{"value": v, "cost": p["x0"] + 0.1 * rng.standard_normal()} for v in values])
            for p, values in data]  # fmt: skip
    limit = rahbo.AtMost([0.6, -1.0][seed % 2])
    opt = rahbo.Optimizer(space, seed=seed, risk=_risk(rng), constraints={"cost": limit})
    for params, values in data:
        for one in values:
            opt.tell(params, one["value"], outcomes={"cost": one["cost"]})
    return opt


def _blocks(rng, seed):
    space, data = _numbers(rng, 14, (2, 4))
    shifts = rng.standard_normal(3)
    opt = rahbo.Optimizer(space, seed=seed, risk=_risk(rng))
    for params, values in data:
        names = rng.integers(3, size=len(values))
        opt.tell(params, [v + shifts[b] for v, b in zip(values, names, strict=True)],
                 block=[f"day {b}" for b in names])  # fmt: skip
    return opt


def _conditions(rng, seed):
    space, data = _numbers(rng, 25, (1, 3))
    space["x1"] = rahbo.Context(0.0, 1.0)
    return _optimizer(seed, space, data, risk=_risk(rng))


def _constrained(rng, seed):
    space, data = _numbers(rng, 18, (1, 4))
    return _optimizer(seed, space, data, risk=_risk(rng), valid=lambda p: p["x0"] + p["x1"] < 1.2)


def _folds(rng, seed):
    return _optimizer(seed, *_numbers(rng, 14, (5, 6)), risk=_risk(rng), repeats=Folds(5))


def _strategies(rng, seed):
    strategy = [GPUCB(), RahboUS(2)][seed % 2]
    return _optimizer(
        seed, *_numbers(rng, 16, (2, 5)), risk=_risk(rng), method=rahbo.Method(strategy=strategy)
    )


def _run(rng, seed):
    def objective(x, n):
        return float(np.sin(5 * x) + 0.1 * n + (0.05 + x) * rng.standard_normal())

    space = {"x": (0.0, 1.0), "n": rahbo.Int(1, 5)}
    run = rahbo.minimize if seed % 2 else rahbo.maximize
    return run(
        objective, space, evaluations=30, seed=seed, risk=_risk(rng), verbose=False
    ).optimizer


SHAPES = {
    make.__name__.strip("_"): make
    for make in (
        _singles, _repeats, _mixed, _coarse, _two_valued, _listed, _categories, adam_and_sgd,
        _minimised, _units, _quiet, _few, _one_row, _all_equal, _limits, _blocks, _conditions,
        _constrained, _folds, _strategies, _run,
    )
}  # fmt: skip
