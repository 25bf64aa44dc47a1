"""Everything a run depends on besides its data, checked once.

`Keywords` lists what a user may pass, `Settings` holds what a run then uses. Everything else that
handles settings (the optimizer, the loops, the journal) goes through these two.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, TypedDict, get_args

import numpy as np

from rahbo.errors import DataError, SettingsError, SpaceError
from rahbo.model import (
    Constraint,
    Fitting,
    KnownNoise,
    ModelSettings,
    NoiseModel,
    as_confidence,
    require_columns,
)
from rahbo.numerics import is_number, is_whole, not_negative, unwrapped
from rahbo.policy import Adaptive, Repeats, as_repeats, initial_design
from rahbo.risk import DEFAULT_RISK, RiskMeasure
from rahbo.settings.method import Method, require_instance
from rahbo.space import Candidates, Space, is_frame, rows_in
from rahbo.trials import block_name, checked_name

Direction = Literal["maximize", "minimize"]
NoiseStd = float | Callable[[dict[str, Any]], float] | Sequence[float]
# The most blocks of a given set.
MOST_BLOCKS = 1000


class Keywords(TypedDict, total=False):
    """The settings that `Optimizer` takes as keywords. Its docstring explains each one."""

    valid: Callable[[dict[str, Any]], bool] | None
    risk: RiskMeasure
    repeats: int | Repeats
    direction: Direction
    n_initial: int | None
    noise_std: NoiseStd | None
    constraints: Mapping[str, Constraint] | None
    safe: bool
    blocks: Iterable[str | int] | int | None
    try_first: Iterable[Mapping[str, Any]]
    seed: int | None
    method: Method


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """What `Optimizer` was built with, checked and with the defaults filled in.

    The fields are those of `Keywords`, with two differences: ``valid`` is part of the ``space``,
    and a number given for ``repeats`` is replaced by the object it stands for.
    """

    space: Space
    risk: RiskMeasure = DEFAULT_RISK
    repeats: Repeats = Adaptive()
    direction: Direction = "maximize"
    n_initial: int
    noise_std: NoiseStd | None = None
    constraints: Mapping[str, Constraint] = field(default_factory=dict)
    safe: bool = False
    blocks: tuple[str, ...] | None = None
    try_first: tuple[dict[str, Any], ...] = ()
    seed: int
    method: Method = Method()

    @classmethod
    def of(cls, space: object, given: Mapping[str, Any]) -> Settings:
        """Check each setting and fill in the defaults.

        Args:
            space: As for `Optimizer`.
            given: The settings that were passed, by their names in `Keywords`.
        """
        for name in sorted(given.keys() - Keywords.__annotations__.keys()):
            raise TypeError(f"{name}= is not a setting of Optimizer.")
        where = Space.of(space, given.get("valid"))
        known = {name: value for name, value in given.items() if name != "valid"}
        known["try_first"] = _checked_try_first(given.get("try_first", ()), where)
        n_initial = _checked_n_initial(given.get("n_initial"), where)
        known["n_initial"] = max(n_initial, len(known["try_first"]))
        known["seed"] = _checked_seed(given.get("seed"))
        known["constraints"] = _checked_constraints(given.get("constraints"), where)
        if "repeats" in known:
            known["repeats"] = as_repeats(known["repeats"])
        known["noise_std"] = _checked_noise_std(given.get("noise_std"))
        known["blocks"] = given_blocks(given.get("blocks"))
        return cls(space=where, **known)

    def __post_init__(self) -> None:
        require_instance("repeats", self.repeats, Repeats, "Adaptive()")
        require_instance("risk", self.risk, RiskMeasure, "MeanStd(kappa=1.0)")
        require_instance("method", self.method, Method, "rahbo.paper()")
        require_columns("kernel", self.method.kernel, self.space)
        if self.noise_std is not None and self.method.noise != Method.noise:
            raise SettingsError(
                "noise_std= says that the noise is known, but the method models it by "
                f"{self.method.noise!r}. Leave out noise_std=, or noise= of the method."
            )
        bounds = ("min_noise_var", "max_noise_var")
        bound = next((name for name in bounds if getattr(self.method, name) is not None), None)
        if self.noise_std is not None and bound is not None:
            raise SettingsError(
                f"noise_std= says what the noise is, so Method({bound}=...) would change what is "
                "known. Leave one of them out."
            )
        if isinstance(self.noise_std, tuple) and not isinstance(self.space.spec, Candidates):
            raise SettingsError(
                "noise_std may list one number for each row of Candidates, but the space is a "
                "dict. Pass a number, or a function of the parameters as a dict."
            )
        if not (isinstance(self.direction, str) and self.direction in get_args(Direction)):
            raise SettingsError(
                f"direction must be 'maximize' or 'minimize', got {self.direction!r}."
            )
        _require(isinstance(self.safe, bool), "safe", "True or False", self.safe)
        if self.safe and not self.constraints:
            raise SettingsError("safe=True needs constraints=, which say what is safe.")
        # This binds the noise model to the space, which raises an error if they do not fit.
        _ = self.model
        if callable(self.noise_std) and self.space.valid is None:
            # A function that is wrong should not cost the initial design.
            known = KnownNoise.of_std(self.noise_std).bind(self.space)
            known.function(initial_design(self.space, 1, self.seed))

    def __getstate__(self) -> dict[str, Any]:
        # What follows from the fields is made again, as some of it cannot be pickled.
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def sign(self) -> float:
        """The factor, 1 or -1, that makes larger user values better."""
        return 1.0 if self.direction == "maximize" else -1.0

    @property
    def noise(self) -> NoiseModel:
        """The model of the noise variance: what is known of it, or else that of the method."""
        return self.method.noise if self.noise_std is None else KnownNoise.of_std(self.noise_std)

    @cached_property
    def model(self) -> ModelSettings:
        """The settings of the two GPs."""
        method = self.method
        return ModelSettings(
            kernel=method.kernel,
            noise=self.noise.bind(self.space),
            beta=as_confidence(method.beta),
            beta_noise=as_confidence(method.beta_noise),
            lam=method.lam,
            outputs=method.outputs,
            min_noise_var=method.min_noise_var,
            max_noise_var=method.max_noise_var,
            population=len(self.blocks) if self.blocks else self.repeats.population,
        )

    @cached_property
    def fitting(self) -> Fitting:
        """How the model is learned from trials."""
        method = self.method
        return Fitting(self.model, method.refit, self.sign, method.strategy.assumes)

    @cached_property
    def outcome_fittings(self) -> dict[str, Fitting]:
        """How the model of each outcome with a limit is learned, by the outcome's name.

        What was set for the units or the noise of the objective does not hold for other outcomes.
        """
        kernel, refit = self.method.kernel, self.method.refit
        kernel = kernel if isinstance(kernel, type) else type(kernel)
        model = ModelSettings(kernel=kernel, population=self.repeats.population)
        return {
            name: Fitting(replace(model, outputs=limit.outputs), refit, limit.sign)
            for name, limit in self.constraints.items()
        }

    def models_the_same_as(self, other: Settings) -> bool:
        """Return whether both settings give the same model for the same trials."""
        # Binding to the space makes a new function each time: compare noise models as given.
        mine, its = (
            replace(s.fitting, model=replace(s.model, noise=s.noise)) for s in (self, other)
        )
        same_space = self.space == other.space and self.space.columns == other.space.columns
        return same_space and mine == its


def setting_parameters() -> list[inspect.Parameter]:
    """Return each setting as a keyword of a signature, with its default.

    A default that depends on the other settings is shown as None.
    """
    defaults = {one.name: one.default for one in fields(Settings)}
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if defaults.get(name, MISSING) is MISSING else defaults[name],
            annotation=getattr(annotation, "__forward_arg__", annotation),
        )
        for name, annotation in Keywords.__annotations__.items()
    ]


def _checked_n_initial(n: object, space: Space) -> int:
    if n is None:
        # Count parameters, not columns. A choice of 20 has 20 columns: with one number beside it
        # the design would have 44 points, each measured twice, of a budget of 100.
        n = max(6, 2 * len(space.names) + 2)
    if not (is_whole(n) and n >= 1):
        raise SettingsError(f"n_initial must be a whole number >= 1, got {n!r}.")
    return int(min(n, space.size))


def _checked_constraints(given: object, space: Space) -> dict[str, Constraint]:
    """Return constraints by the names of their outcomes, after checking them."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise SettingsError(
            "constraints must map names of outcomes to limits, such as "
            f"{{'loss': AtMost(5.0)}}, got {given!r}."
        )
    for name, limit in given.items():
        try:
            checked_name("The name of a constraint", name)
        except DataError as error:
            raise SettingsError(str(error)) from None
        if name in space.names:
            raise SettingsError(
                f"A constraint is on an outcome, but {name!r} is a parameter. Give the outcome "
                "another name, or pass valid= for a constraint on the parameters."
            )
        if not isinstance(limit, Constraint):
            raise SettingsError(
                f"constraints[{name!r}] must be AtMost(...), AtLeast(...) or a Constraint of your "
                f"own, got {limit!r}."
            )
    return dict(sorted(given.items()))


def _checked_try_first(given: object, space: Space) -> tuple[dict[str, Any], ...]:
    """Return the settings to try first, after checking that each lies in the space."""
    given = rows_in(given, space.chosen.names) if is_frame(given) else given
    if isinstance(given, Mapping | str | bytes) or not isinstance(given, Iterable):
        raise SettingsError(f"try_first must be a list of dicts of parameters, got {given!r}.")
    chosen = space.chosen
    found: list[dict[str, Any]] = []
    for i, params in enumerate(given):
        try:
            x = chosen.encode(params)
        except SpaceError as error:
            raise SpaceError(f"try_first[{i}]: {error}") from None
        # With conditions, what is valid depends on them, so it is checked when they are known.
        if not (space.conditions or space.is_valid(x[None])[0]):
            raise SpaceError(
                f"try_first[{i}] must satisfy valid=, got {dict(params)!r}. Leave it out."
            )
        if any(np.array_equal(x, chosen.encode(other)) for other in found):
            raise SettingsError(
                f"try_first must list different settings, got {dict(params)!r} twice."
            )
        found.append({name: params[name] for name in chosen.names})
    return tuple(found)


def _checked_seed(seed: object) -> int:
    if seed is None:
        return secrets.randbits(31)
    if not (is_whole(seed) and seed >= 0):
        raise SettingsError(f"seed must be a whole number >= 0, got {seed!r}.")
    return int(seed)


def given_blocks(blocks: object) -> tuple[str, ...] | None:
    """Return the names of a given set of blocks; a number n stands for "0" to "n - 1"."""
    blocks = unwrapped(blocks)
    if blocks is None:
        return None
    if isinstance(blocks, int | np.integer) and is_whole(blocks):
        _require(2 <= blocks <= MOST_BLOCKS, "blocks", f"from 2 to {MOST_BLOCKS}", blocks)
        return tuple(map(str, range(int(blocks))))
    if isinstance(blocks, str | bytes | Mapping) or not isinstance(blocks, Iterable):
        raise SettingsError(f"blocks must be a list of names or their number, got {blocks!r}.")
    if isinstance(blocks, set | frozenset):
        raise SettingsError("blocks must be in some order, and a set has none. Pass a list.")
    try:
        names = tuple(block_name(block) for block in blocks)
    except DataError as error:
        raise SettingsError(f"blocks= {error}") from error
    if not 2 <= len(names) <= MOST_BLOCKS or len(set(names)) < len(names):
        raise SettingsError(
            f"blocks must be 2 to {MOST_BLOCKS} different names, got {list(names[:9])!r}."
        )
    return names


def _checked_noise_std(given: object) -> NoiseStd | None:
    """Return a known noise std: a number, a function, or one number for each candidate."""
    given = unwrapped(given)
    if given is None or callable(given):
        return given
    if is_number(given):
        return not_negative("noise_std", given)
    if isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable):
        raise SettingsError(
            "noise_std must be a number >= 0, a function of the parameters, or one number for each "
            f"row of Candidates, got {given!r}. Of a table, pass the column itself: table['std']."
        )
    return tuple(not_negative("noise_std", std) for std in given)


def _require(condition: bool, name: str, what: str, got: object) -> None:
    if not condition:
        raise SettingsError(f"{name} must be {what}, got {got!r}.")
