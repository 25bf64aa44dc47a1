"""Random tables of past results with a known truth, for `tables.py`.

Notation: u a setting in the unit cube ``(d,)``, U settings ``(m, d)``; f the mean and s the std of
a single value, both functions of u. A category with two choices is 0 or 1 in u.

What a table holds depends on its kind and its seed alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from zlib import crc32

import numpy as np
from scipy.special import ndtr
from scipy.stats import qmc

import rahbo

Function = Callable[[np.ndarray], np.ndarray]
Space = dict[str, rahbo.Float | rahbo.Int | rahbo.Categorical]

FEATURES = 200
REFERENCE_POINTS = 2000
# Cycled through, so that inputs have different units.
FLOATS = (rahbo.Float(-5.0, 10.0), rahbo.Float(1e-4, 1e-1, log=True), rahbo.Float(0.0, 1.0))
# With less noise than this share of a step, the mean of rounded values would be a staircase.
LEAST_NOISE_PER_STEP = 1 / 3


@dataclass(frozen=True, eq=False)
class Truth:
    """How values come about.

    Attributes:
        space: Ready for `Optimizer`.
        f: The mean before rounding.
        s: The noise std before rounding.
        alpha: The coefficient of the mean-variance.
        spread: The std of f over the space, the scale of what is reported.
        dof: Degrees of freedom of the noise, scaled to have std s; None means Gaussian noise.
        step: Values are rounded to multiples of it; None means no rounding.
        direction: ``"maximize"`` or ``"minimize"``.
    """

    space: Space
    f: Function
    s: Function
    alpha: float
    spread: float
    dof: float | None = None
    step: float | None = None
    direction: str = "maximize"

    def draw(self, U: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return one value at each setting."""
        if self.dof is None:
            noise = rng.standard_normal(len(U))
        else:
            noise = rng.standard_t(self.dof, len(U)) * np.sqrt((self.dof - 2) / self.dof)
        values = self.f(U) + self.s(U) * noise
        return values if self.step is None else np.round(values / self.step) * self.step

    def moments(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the standard deviation of a single value, rounding included."""
        f, s = self.f(U), self.s(U)
        if self.step is None:
            return f, s
        # s is at least a third of a step, so all of a Gaussian's mass lies in this window.
        reach = int(np.ceil(8 * s.max() / self.step)) + 1
        grid = (np.round(f / self.step)[:, None] + np.arange(-reach, reach + 1)) * self.step
        edges = [(grid + side * self.step / 2 - f[:, None]) / s[:, None] for side in (-1, 1)]
        share = ndtr(edges[1]) - ndtr(edges[0])
        mean = np.sum(share * grid, axis=1)
        return mean, np.sqrt(np.sum(share * (grid - mean[:, None]) ** 2, axis=1))

    def risk(self, U: np.ndarray) -> np.ndarray:
        """Return the true mean-variance, in the sign of the values."""
        mean, std = self.moments(U)
        return mean - self.sign * self.alpha * std**2

    @property
    def sign(self) -> int:
        return 1 if self.direction == "maximize" else -1


@dataclass(frozen=True, eq=False)
class Table:
    """Past results.

    Attributes:
        truth: Where they come from.
        rows: Parameters of each row; equal ones are repeats.
        values: One value a row.
    """

    truth: Truth
    rows: list[dict]
    values: np.ndarray

    @property
    def U(self) -> np.ndarray:  # noqa: N802
        return np.array([position(self.truth.space, row) for row in self.rows])


@dataclass(frozen=True)
class Kind:
    """A kind of table; what is not stated is drawn for each table.

    Attributes:
        n: Rows, repeats included.
        d: Number inputs.
        duplicates: Rows that repeat the parameters of another row.
        repeats: Rows of each setting.
        inputs: Builds the space; Floats by default.
        spread: The std of f over the space, or the range from which it is drawn.
        alpha: Drawn if None.
        noise: Draws the noise std, in units of spread; see `wavy`.
        noise_in_units: Whether that is in the units of the values instead.
        quiet_duplicates: Whether only a row with the least noise may be repeated.
        tpe: Whether Optuna's TPE chooses the settings.
        dof: As in `Truth`.
        step: As in `Truth`.
        direction: As in `Truth`.
    """

    n: int = 60
    d: int = 3
    duplicates: int = 0
    repeats: int = 1
    inputs: Callable[[int], Space] = field(default=lambda d: floats(d))
    spread: float | tuple[float, float] = (1e-2, 1e2)
    alpha: float | None = None
    noise: Callable[[int, np.random.Generator], Function] = field(
        default=lambda d, rng: wavy(d, rng)
    )
    noise_in_units: bool = False
    quiet_duplicates: bool = False
    tpe: bool = False
    dof: float | None = None
    step: float | None = None
    direction: str = "maximize"


# -- spaces --------------------------------------------------------------------------------------


def floats(d: int) -> Space:
    return {f"x{j + 1}": FLOATS[j % len(FLOATS)] for j in range(d)}


def few_integers(d: int) -> Space:
    """Return so few settings that some of 60 random rows coincide."""
    return {f"n{j + 1}": rahbo.Int(1, 4 + j) for j in range(d)}


def many_integers(d: int) -> Space:
    return {f"n{j + 1}": rahbo.Int(1, 20) for j in range(d)}


def with_category(d: int) -> Space:
    return {**floats(d - 1), "how": rahbo.Categorical(["rough", "careful"])}


def settings(space: Space, u: np.ndarray) -> dict:
    """Return the parameters nearest to a point of the unit cube."""
    return {name: _value(part, float(u[j])) for j, (name, part) in enumerate(space.items())}


def position(space: Space, params: dict) -> np.ndarray:
    """Return the point of the unit cube where parameters lie."""
    return np.array([_unit(part, params[name]) for name, part in space.items()])


def _value(part, u: float):
    if isinstance(part, rahbo.Categorical):
        return part.choices[min(int(u * len(part.choices)), len(part.choices) - 1)]
    if isinstance(part, rahbo.Int):
        return int(part.low + min(int(u * (part.high - part.low + 1)), part.high - part.low))
    return float(part.low * (part.high / part.low) ** u if part.log else
                 part.low + u * (part.high - part.low))  # fmt: skip


def _unit(part, value) -> float:
    if isinstance(part, rahbo.Categorical):
        return part.choices.index(value) / (len(part.choices) - 1)
    if getattr(part, "log", False):
        return float(np.log(value / part.low) / np.log(part.high / part.low))
    return float((value - part.low) / (part.high - part.low))


# -- means and noise -----------------------------------------------------------------------------


def waves(d: int, rng: np.random.Generator, lengthscale: tuple[float, float]) -> Function:
    """Return about a draw of a Matérn 5/2 process, by random Fourier features."""
    scale = np.exp(rng.uniform(*np.log(lengthscale))) * np.sqrt(d / 2)
    scales = scale * np.exp(0.3 * rng.standard_normal(d))
    # Its spectrum is a Student distribution with five degrees of freedom.
    tails = np.sqrt(5 / rng.chisquare(5, (FEATURES, 1)))
    frequencies = tails * rng.standard_normal((FEATURES, d)) / scales
    phases, heights = rng.uniform(0, 2 * np.pi, FEATURES), rng.standard_normal(FEATURES)
    return lambda U: np.cos(U @ frequencies.T + phases) @ heights * np.sqrt(2 / FEATURES)


def bumps(d: int, rng: np.random.Generator) -> Function:
    """Return a slope with a few bumps on it, which is not a draw of a stationary process."""
    m = int(rng.integers(2, 8))
    centres, heights = rng.random((m, d)), rng.standard_normal(m)
    widths = rng.uniform(0.15, 0.5, m) * np.sqrt(d)
    slope = rng.normal(0, 0.5, d)

    def mean(U: np.ndarray) -> np.ndarray:
        gaps = np.sum((U[:, None] - centres) ** 2, axis=2)
        return np.exp(-0.5 * gaps / widths**2) @ heights + U @ slope

    return mean


def wavy(d: int, rng: np.random.Generator) -> Function:
    """Return a noise std around 0.1 to 1, the same everywhere or up to a factor of 10 uneven."""
    level = np.exp(rng.uniform(*np.log([0.1, 1.0])))
    unevenness, shape = rng.uniform(0.0, 0.8), waves(d, rng, (0.4, 1.5))
    return lambda U: level * np.exp(unevenness * shape(U))


def by_two_inputs(d: int, rng: np.random.Generator) -> Function:
    """Return a noise std that rises along two inputs, by a factor of 5 along each."""
    signs = rng.choice([-1, 1], 2)
    return lambda U: 0.3 * np.exp(np.log(5.0) * (U[:, :2] - 0.5) @ signs)


def by_category(d: int, rng: np.random.Generator) -> Function:
    return lambda U: np.where(U[:, -1] < 0.5, 0.2, 0.03)


def half(quiet: float) -> Callable[[int, np.random.Generator], Function]:
    """Return noise of std 1 in half of the space and another one in the other half."""

    def noise(d: int, rng: np.random.Generator) -> Function:
        side = int(rng.integers(2))
        return lambda U: np.where((U[:, 0] < 0.5) == side, 1.0, quiet)

    return noise


KINDS: dict[str, Kind] = {
    "singles": Kind(),
    "1 duplicate": Kind(duplicates=1),
    "3 duplicates": Kind(duplicates=3),
    "10 duplicates": Kind(duplicates=10),
    # On the scale of accuracies. Repeats often have equal values, so that they seem free of noise.
    "rounded to 1 digit": Kind(spread=0.2, step=0.1, duplicates=3),
    "rounded to 2 digits": Kind(spread=0.2, step=0.01, duplicates=3),
    "few integers": Kind(inputs=few_integers),
    "category, quiet duplicate": Kind(
        duplicates=1, inputs=with_category, spread=(0.1, 1.0), alpha=1.0, noise=by_category,
        noise_in_units=True, quiet_duplicates=True,
    ),
    "TPE history": Kind(inputs=many_integers, tpe=True),
    "heavy tails": Kind(dof=3.0),
    "noise by two inputs": Kind(noise=by_two_inputs),
    "20 rows": Kind(n=20),
    "200 rows": Kind(n=200),
    "2 inputs": Kind(d=2),
    "4 inputs": Kind(d=4),
    "8 inputs": Kind(d=8),
    "half noise 0.001, 20 x 5": Kind(
        n=100, d=2, repeats=5, spread=1.0, alpha=1.0, noise=half(0.001), noise_in_units=True
    ),
    "half without noise, 20 x 5": Kind(
        n=100, d=2, repeats=5, spread=1.0, alpha=1.0, noise=half(0.0), noise_in_units=True
    ),
    "5 rows, 2 inputs": Kind(n=5, d=2),
    "11 rows, 4 inputs": Kind(n=11, d=4),
    "minimisation": Kind(direction="minimize"),
}  # fmt: skip


def why_absent(name: str) -> str | None:
    """Return why a kind cannot be made here, if so."""
    return "Optuna is not installed" if KINDS[name].tpe and find_spec("optuna") is None else None


# -- tables --------------------------------------------------------------------------------------


def make_table(name: str, seed: int) -> Table:
    """Return the table of a kind and a seed."""
    kind, rng = KINDS[name], np.random.default_rng([crc32(name.encode()), seed])
    truth = _truth(kind, rng)
    if kind.tpe:
        return _tpe_history(truth, kind, seed, rng)
    distinct = (kind.n - kind.duplicates) // kind.repeats
    rows = [settings(truth.space, u) for u in _design(distinct, kind.d, rng)] * kind.repeats
    rows += [rows[i] for i in _repeated(truth, rows, kind, rng)]
    table = Table(truth, rows, np.zeros(len(rows)))
    return replace(table, values=truth.draw(table.U, rng))


def _truth(kind: Kind, rng: np.random.Generator) -> Truth:
    space, d = kind.inputs(kind.d), kind.d
    low, high = kind.spread if isinstance(kind.spread, tuple) else (kind.spread, kind.spread)
    spread = float(np.exp(rng.uniform(np.log(low), np.log(high))))
    raw = waves(d, rng, (0.2, 1.0)) if rng.random() < 0.5 else bumps(d, rng)
    reference = _positions(space, rng.random((REFERENCE_POINTS, d)))
    at = raw(reference)
    centre, scale, offset = at.mean(), spread / at.std(), spread * rng.normal(0, 3)
    noise, unit = kind.noise(d, rng), 1.0 if kind.noise_in_units else spread
    least = LEAST_NOISE_PER_STEP * kind.step if kind.step else 0.0
    alpha = float(np.exp(rng.uniform(*np.log([0.3, 3.0])))) / spread
    return Truth(
        space,
        f=lambda U: offset + scale * (raw(U) - centre),
        s=lambda U: np.maximum(unit * noise(U), least),
        alpha=alpha if kind.alpha is None else kind.alpha,
        spread=spread, dof=kind.dof, step=kind.step, direction=kind.direction,
    )  # fmt: skip


def _positions(space: Space, U: np.ndarray) -> np.ndarray:
    """Return points of the unit cube moved to where parameters can lie."""
    return np.array([position(space, settings(space, u)) for u in U])


def _design(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Return points that are uniform, Sobol or in clusters with a few elsewhere."""
    how = rng.integers(3)
    if how == 0:
        return rng.random((n, d))
    if how == 1:
        return qmc.Sobol(d, rng=rng).random_base2(int(np.ceil(np.log2(n))))[:n]
    centres = rng.random((3, d))[rng.integers(3, size=n)]
    clustered = np.clip(centres + 0.1 * rng.standard_normal((n, d)), 0.0, 1.0)
    return np.where(rng.random((n, 1)) < 0.25, rng.random((n, d)), clustered)


def _repeated(truth: Truth, rows: list[dict], kind: Kind, rng: np.random.Generator) -> np.ndarray:
    """Return which rows come a second time."""
    may = np.arange(len(rows))
    if kind.quiet_duplicates:
        s = truth.s(np.array([position(truth.space, row) for row in rows]))
        may = np.flatnonzero(s <= s.min())
    return rng.choice(may, kind.duplicates, replace=False)


def _tpe_history(truth: Truth, kind: Kind, seed: int, rng: np.random.Generator) -> Table:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(direction=truth.direction, sampler=sampler)
    rows, values = [], []
    for _ in range(kind.n):
        trial = study.ask()
        rows.append({n: trial.suggest_int(n, p.low, p.high) for n, p in truth.space.items()})
        values.append(float(truth.draw(position(truth.space, rows[-1])[None], rng)[0]))
        study.tell(trial, values[-1])
    return Table(truth, rows, np.array(values))
