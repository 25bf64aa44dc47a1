"""Convert Optuna's distributions to our parameters.

A value has three forms: the user's value, Optuna's *internal number* that a storage keeps (the
value itself, or the index of a choice), and our code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from rahbo.errors import SpaceError
from rahbo.space import Categorical, Float, Int, Parameter, Space

Kinds = Mapping[str, BaseDistribution]
# A value this close to a step, in steps, is on it.
ON_STEP = 1e-8
# The parameters of a trial in internal numbers.
Internal = dict[str, float]


def space_of(kinds: Kinds) -> Space:
    """Return the space of distributions that each hold more than one value."""
    return Space.of({name: _parameter(kind) for name, kind in kinds.items()})


def _parameter(kind: BaseDistribution) -> Parameter:
    if isinstance(kind, CategoricalDistribution):
        return _Choices(_told_apart(kind), kind=kind)
    if isinstance(kind, FloatDistribution) and kind.step is None:
        return Float(kind.low, kind.high, kind.log)
    if kind.step == 1 and isinstance(kind, IntDistribution):
        return Int(kind.low, kind.high, kind.log)
    return _Steps(0, round((kind.high - kind.low) / kind.step), kind=kind)


@dataclass(frozen=True, repr=False)
class _Steps(Int):
    """Numbers in steps, coded by their index."""

    kind: Any = None

    def __repr__(self) -> str:
        return repr(self.kind)

    def code(self, name: str, value: Any) -> float:
        """Return the index of a number."""
        return float(round((_internal(self.kind, name, value) - self.kind.low) / self.kind.step))

    def value(self, cols: list[float]) -> Any:
        """Return the number, as Optuna computes it."""
        return min(self.kind.low + super().value(cols) * self.kind.step, self.kind.high)


@dataclass(frozen=True, repr=False)
class _Choices(Categorical):
    """Choices coded by Optuna's index, so that they may be any objects."""

    kind: Any = None

    def __post_init__(self) -> None:
        pass

    def code(self, name: str, value: Any) -> float:
        """Return the place of a choice."""
        return float(_indices(self.kind).index(_internal(self.kind, name, value)))


def _indices(kind: CategoricalDistribution) -> list[float]:
    """Return the indices that a storage can hold.

    Optuna stores equal choices by the first index: it cannot tell 1 from an earlier True.
    """
    return [i for i, choice in enumerate(kind.choices) if kind.to_internal_repr(choice) == i]


def _told_apart(kind: CategoricalDistribution) -> tuple[Any, ...]:
    return tuple(kind.choices[int(i)] for i in _indices(kind))


def holds(kind: BaseDistribution, number: float) -> bool:
    """Return whether a distribution has a value, given as Optuna's internal number."""
    if isinstance(kind, CategoricalDistribution):
        return 0 <= int(number) < len(kind.choices)
    if not isinstance(kind, FloatDistribution | IntDistribution):
        return False
    steps = 0.0 if kind.step is None else (number - kind.low) / kind.step
    return bool(kind.low <= number <= kind.high and abs(steps - round(steps)) < ON_STEP)


def _internal(kind: BaseDistribution, name: str, value: Any) -> float:
    try:
        number = float(kind.to_internal_repr(value))
    except ValueError:
        number = math.nan
    if math.isnan(number) or not holds(kind, number):
        raise SpaceError(f"{name}={value!r} is not in {kind}. Pass a value in its range.")
    return number


def external(params: Internal, kinds: Kinds) -> dict[str, Any]:
    """Return values in user units from Optuna's internal numbers."""
    return {name: kind.to_external_repr(params[name]) for name, kind in kinds.items()}


def numbers(params: Mapping[str, Any], kinds: Kinds) -> Internal:
    """Return Optuna's internal numbers for the values that have a distribution."""
    return {n: float(kinds[n].to_internal_repr(v)) for n, v in params.items() if n in kinds}


def shared(trials: Iterable[FrozenTrial]) -> dict[str, list[BaseDistribution]]:
    """Return the distributions, oldest first, of each parameter that all complete trials have."""
    complete = [t.distributions for t in trials if t.state == TrialState.COMPLETE]
    names = set.intersection(*map(set, complete)) if complete else set()
    return {name: [kinds[name] for kinds in complete] for name in sorted(names)}


def ranges(trials: Iterable[FrozenTrial]) -> dict[str, list[BaseDistribution]]:
    """Return the distributions, oldest first, of each parameter of some trials."""
    found: dict[str, list[BaseDistribution]] = {}
    for trial in trials:
        for name, kind in sorted(trial.distributions.items()):
            found.setdefault(name, []).append(kind)
    return dict(sorted(found.items()))


def newest(kinds: Mapping[str, list[BaseDistribution]]) -> dict[str, BaseDistribution]:
    """Return the latest range of each parameter, leaving out ranges with a single value."""
    return {name: some[-1] for name, some in kinds.items() if not some[-1].single()}


def merged(kinds: Mapping[str, list[BaseDistribution]]) -> dict[str, BaseDistribution]:
    """Return a range for each parameter that covers all its ranges."""
    return {name: _merged(some) for name, some in kinds.items()}


def varying(kinds: Kinds) -> dict[str, BaseDistribution]:
    """Return the distributions with more than one value."""
    return {name: kind for name, kind in kinds.items() if not kind.single()}


def _merged(kinds: list[BaseDistribution]) -> BaseDistribution:
    last = kinds[-1]
    if all(kind == last for kind in kinds):
        return last
    low, high = min(kind.low for kind in kinds), max(kind.high for kind in kinds)
    # Steps from different starts need not coincide, so the merged range has none.
    if isinstance(last, FloatDistribution):
        return FloatDistribution(low, high, log=last.log)
    return IntDistribution(low, high, log=last.log)
