"""Random problems in two units, for `test_invariance` and for `bench/invariance.py`.

A problem is drawn by its number. One run is told its values y, another one a·y + b, and both must
propose and recommend the same settings. What they record may differ by the unit alone.

How far this can hold: with b of 1e6 standard deviations, ten digits of y are left. The model rounds
standardised numbers to 2^-20, about 1e-6, so it sees the same ones in all units unless the tenth
digit decides how one of them is rounded: at that b in about one number of ten thousand, at smaller
ones hardly ever. Then fits differ by about 1e-4, and proposals may. Where all values are equal,
nothing shows the unit. All runs then record the same widths, in units of 1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import rahbo
from rahbo.errors import NotReadyError
from rahbo.model import DirectNoise
from rahbo.running import Gap

SQUARE = {"x": (0.0, 1.0), "z": (0.0, 1.0)}
SPACES = {
    "square": SQUARE,
    "line": {"x": rahbo.Float(1e-3, 10.0, log=True)},
    "mixed": {"x": (0.0, 1.0), "n": rahbo.Int(1, 9), "kind": ["a", "b", "c"]},
    "weather": {**SQUARE, "t": rahbo.Context(10.0, 30.0)},
    "list": rahbo.Candidates([{"x": i / 11, "z": (7 * i % 12) / 11} for i in range(12)]),
}
SHAPES = ("honest", "honest", "honest", "noise-free", "coarse", "quiet", "constant")
RISKS = (rahbo.MeanStd(1.0), rahbo.MeanStd(1.0), rahbo.Quantile(0.1), rahbo.ExpectedShortfall(0.2))
WEATHER, SEASONS = {"t": 20.0}, [{"t": 12.0}, {"t": 18.0}, {"t": 27.0}]
# The width of a `Gap`, as shares of the spread.
WIDTHS = (0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Unit:
    """A unit in which values are told: y as ``a·y + b``."""

    a: float = 1.0
    b: float = 0.0

    def of(self, y):
        """Return values in this unit."""
        return self.a * np.asarray(y, dtype=float) + self.b


@dataclass(frozen=True)
class Told:
    """What is told of one setting: its values, those of the outcome with a limit, their blocks."""

    params: dict[str, Any]
    values: list[float]
    costs: list[float]
    blocks: list[str] | None
    failed: bool


@dataclass(frozen=True)
class Problem:
    """What a run is told and by which settings, without a unit."""

    number: int
    space: str
    shape: str
    noise: str
    repeats: Any
    limited: bool
    direction: str
    risk: Any
    told: list[Told]
    first: dict[str, Any] | None

    @property
    def spread(self):
        """The standard deviation of the values, or 1 if they are all equal."""
        return float(np.std([y for one in self.told for y in one.values])) or 1.0

    def optimizer(self, unit=Unit(), of_cost=Unit()):
        """Return a run that was told the values in these units."""
        noise = {
            "log": {},
            "direct": {"method": rahbo.Method(noise=DirectNoise())},
            "known": {"noise_std": 0.2 * unit.a},
        }[self.noise]
        limit = rahbo.AtMost(float(of_cost.of(1.0)))
        opt = rahbo.Optimizer(
            SPACES[self.space], seed=self.number, direction=self.direction, repeats=self.repeats,
            risk=self.risk, n_initial=4, try_first=[self.first] if self.first else [],
            constraints={"cost": limit} if self.limited else None, **noise,
        )  # fmt: skip
        for one in self.told:
            costs = {"cost": of_cost.of(one.costs).tolist()} if self.limited else None
            if one.failed:
                opt.tell_failure(one.params, "lost")
            else:
                opt.tell(one.params, unit.of(one.values), outcomes=costs, block=one.blocks)
        return opt


def problem(number):
    """Return a problem by its number."""
    rng = np.random.default_rng([33, number])
    space, shape = str(rng.choice(list(SPACES))), str(rng.choice(SHAPES))
    n, k = int(rng.integers(6, 14)), int(rng.integers(1, 4))
    in_blocks, limited = rng.random() < 0.2, rng.random() < 0.25
    noise = "log" if in_blocks else str(rng.choice(["log", "log", "direct", "known"]))
    k = 2 if noise == "direct" else k
    first = {"x": 0.51, "z": 0.49} if space == "square" and rng.random() < 0.3 else None
    told = [_told(rng, i, k, space, shape, in_blocks) for i in range(n)]
    return Problem(
        number, space, shape, noise, (2, rahbo.Adaptive())[int(rng.integers(2))], limited,
        ("maximize", "minimize")[int(rng.integers(2))], RISKS[int(rng.integers(len(RISKS)))],
        told, first,
    )  # fmt: skip


def _told(rng, i, k, space, shape, in_blocks):
    params = _setting(rng, space)
    x, z = params["x"], params.get("z", 0.3)
    mean = np.sin(5.0 * x) + z + 0.1 * params.get("n", 0) + 0.02 * params.get("t", 0.0)
    k = int(rng.integers(1, 3)) if k == 1 else k
    std = {"noise-free": 0.0, "quiet": 1e-3, "constant": 0.0}.get(shape, 0.1 + 0.5 * z)
    values = (0.0 if shape == "constant" else mean) + std * rng.standard_normal(k)
    blocks = [f"day {(i + j) % 3}" for j in range(k)] if in_blocks else None
    if in_blocks and shape != "constant":
        values = values + np.array([0.7 * int(block[-1]) for block in blocks])
    if shape == "coarse":
        values = np.round(4.0 * values) / 4.0
    costs = x + z + 0.1 * rng.standard_normal(k)
    failed = bool(rng.random() < 0.1) and i > 2
    return Told(params, values.tolist(), costs.tolist(), blocks, failed)


def _setting(rng, space):
    if space == "list":
        i = int(rng.integers(12))
        return {"x": i / 11, "z": (7 * i % 12) / 11}
    found = {"x": float(rng.random())}
    if space == "line":
        return {"x": float(10.0 ** rng.uniform(-3.0, 1.0))}
    if space == "mixed":
        return {**found, "n": int(rng.integers(1, 10)), "kind": str(rng.choice(["a", "b", "c"]))}
    found["z"] = float(rng.random())
    return {**found, "t": float(rng.uniform(12.0, 28.0))} if space == "weather" else found


def unit_for(found):
    """Return a random unit: a from 1e-6 to 1e6, b up to 1e6 standard deviations, often none.

    Equal values are shifted by up to 1e6, because 1 is then the scale.
    """
    rng = np.random.default_rng([34, found.number])
    a = float(10.0 ** rng.uniform(-6.0, 6.0))
    if rng.random() < 0.3:
        return Unit(a)
    b = float(10.0 ** rng.uniform(-1.0, 6.0) * rng.choice([-1.0, 1.0]))
    return Unit(a, b if found.shape == "constant" else b * a * found.spread)


def differences(found, unit, of_cost=Unit()):
    """Return how much a run in this unit differs from one without, by what was compared.

    It is a share of the range for a setting, a share of the spread of the values for a number, and
    1 for a decision that is not the same.
    """
    one, other = found.optimizer(), found.optimizer(unit, of_cost)
    given = {"context": WEATHER} if found.space == "weather" else {}
    a, b = one.recommend(**given), other.recommend(**given)
    sizes = {"recommended": _apart(one, a.params, b.params, given)}
    if given:
        x, y = (opt.recommend(conditions=SEASONS).params for opt in (one, other))
        sizes["for all seasons"] = _apart(one, x, y, given)
    if found.shape != "constant":
        sizes |= _records_apart(a, b, unit, found.spread)
    if not given:
        for rule in ("best_observed", "empirical"):
            x, y = (_reported(opt, rule) for opt in (one, other))
            sizes[rule] = _apart(one, x, y, given) if x and y else float(x != y)
        for share in WIDTHS:
            width = share * found.spread
            same = Gap(width)(one.state) == Gap(unit.a * width)(other.state)
            sizes[f"Gap at {share}"] = float(not same)
    for i, (x, y) in enumerate(zip(one.ask(3, **given), other.ask(3, **given), strict=True)):
        sizes[f"asked {i}"] = _apart(one, x.params, y.params, given)
        sizes[f"repeats {i}"] = float(x.repeats != y.repeats)
    return sizes


def _records_apart(a, b, unit, spread):
    size = unit.a * spread
    sizes = {}
    for name in ("mean", "risk", "pessimistic", "mean_interval", "risk_interval"):
        x, y = np.array(getattr(a, name)), np.array(getattr(b, name))
        sizes[name] = float(np.abs(unit.of(x) - y).max()) / size
    widths = {
        "noise_std": (a.noise_std, b.noise_std),
        "noise_std_interval": (a.noise_std_interval, b.noise_std_interval),
        "gain.expected": (a.gain.expected, b.gain.expected),
        "gain.bound": (a.gain.bound, b.gain.bound),
    }
    for name, (x, y) in widths.items():
        sizes[name] = float(np.abs(unit.a * np.array(x) - np.array(y)).max()) / size
    if a.p_best is not None:
        sizes["p_best"] = abs(a.p_best - b.p_best)
    return sizes


def _reported(opt, rule):
    try:
        return opt.recommend(rule=rule).params
    except NotReadyError:
        return None


def _apart(opt, params, others, given):
    space = opt.settings.space
    if given:
        params, others = ({**p, **WEATHER} for p in (params, others))
    return float(np.abs(space.encode(params) - space.encode(others)).max())


# -- whole runs ----------------------------------------------------------------------------------

# What a run may have besides two parameters.
RUNS = ("plain", "minimised", "drift", "folds", "blocks", "safe", "bounds", "failures", "batches")


def run_in(unit, kind, seed, asks=15):
    """Return the points and repeats that a run of this kind asks for, and what it recommends."""
    space, settings = SQUARE, {}
    if kind == "minimised":
        settings = {"direction": "minimize"}
    elif kind == "drift":
        space = {**SQUARE, "t": rahbo.Time(50.0)}
    elif kind == "folds":
        space, settings = {"n": rahbo.Int(0, 30)}, {"repeats": rahbo.Folds(4)}
    elif kind == "blocks":
        settings = {"blocks": 4}
    elif kind == "safe":
        limit = rahbo.AtMost(float(unit.of(1.2)))
        known = [{"x": 0.1, "z": 0.1}]
        settings = {"constraints": {"cost": limit}, "safe": True, "try_first": known}
    elif kind == "bounds":
        low, high = unit.a * np.array([0.05, 1.0])
        low, high = float(low**2), float(high**2)
        settings = {"method": rahbo.Method(min_noise_var=low, max_noise_var=high)}
    opt = rahbo.Optimizer(space, seed=seed, n_initial=5, **settings)
    asked = []
    for _ in range(asks):
        for suggestion in opt.ask(3) if kind == "batches" else [opt.ask()]:
            x = opt.settings.space.encode(suggestion.params)
            asked.append([*x, suggestion.repeats])
            _answer(opt, suggestion, unit, kind)
    given = {"conditions": [{"t": float(asks)}]} if kind == "drift" else {}
    return np.array(asked), opt.recommend(**given)


def _answer(opt, suggestion, unit, kind):
    rng = np.random.default_rng([35, suggestion.id])
    params, k = suggestion.params, len(suggestion.indices)
    x, z = params.get("x", params.get("n", 0) / 30), params.get("z", 0.5)
    values = np.sin(5.0 * x) + z + (0.1 + 0.4 * z) * rng.standard_normal(k)
    values += np.array([0.3 * int(block) for block in suggestion.blocks or "0" * k])
    costs = x + z + 0.05 * rng.standard_normal(k)
    if kind == "failures" and rng.random() < 0.2:
        opt.tell_failure(suggestion, "lost")
    else:
        outcomes = {"cost": unit.of(costs).tolist()} if kind == "safe" else None
        opt.tell(suggestion, unit.of(values).tolist(), outcomes=outcomes)
