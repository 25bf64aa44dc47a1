"""What a trial of a study tells beside its value: Optuna's constraints, and a block.

Optuna's constraints are numbers that must be at most 0. A sampler's ``constraints_func`` stores
them in the system attribute ``constraints``, a tuple, and `Trial.set_constraint` stores each in an
attribute of its own. Here each of them is a noisy outcome with the limit 0.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from optuna.trial import FrozenTrial

from rahbo.errors import DataError, ObjectiveError, SettingsError
from rahbo.model import AtMost
from rahbo.numerics import is_number
from rahbo.trials import LARGEST_VALUE, LONGEST_NAME, Evaluation, block_name, is_time

KEY = "constraints"


@dataclass(frozen=True)
class Reading:
    """How to read what trials tell beside their values.

    Attributes:
        probability: The probability with which each constraint must be kept, noise included.
        block_attr: The user attribute that names the block of a trial; None if there are no blocks.
    """

    probability: float = 0.95
    block_attr: str | None = None

    def __post_init__(self) -> None:
        # It raises an error if the probability is not one.
        self.limits(["any"])
        if self.block_attr is not None and not isinstance(self.block_attr, str):
            raise SettingsError(
                f"block_attr must be the name of a user attribute, got {self.block_attr!r}."
            )

    def limits(self, names: Iterable[str]) -> dict[str, AtMost]:
        """Return the limit of each outcome."""
        return {name: AtMost(0.0, self.probability) for name in names}

    def told(
        self, trial: FrozenTrial, values: Sequence[float | None], names: Mapping[str, str]
    ) -> dict[int, Evaluation]:
        """Return what a trial tells, by repeat index.

        Its constraints were evaluated once, so they stand beside its first value.

        Args:
            trial: The trial.
            values: Its values; None where there is none.
            names: The outcome that stands for each constraint.
        """
        # A date of Optuna has no zone: it is that of this machine.
        ended = trial.datetime_complete
        seconds = None if ended is None else round(ended.timestamp(), 3)
        time = seconds if is_time(seconds) else None
        told = constraints_of(trial)
        outcomes = {names[key]: value for key, value in told.items() if is_outcome(value)}
        blocks, found = self._blocks(trial, len(values)), {}
        for i, value in enumerate(values):
            if value is None:
                found[i] = Evaluation(failure=trial.state.name.lower(), time=time)
            else:
                found[i] = Evaluation(value, None, outcomes, blocks[i], time)
                outcomes = {}
        return found

    def _blocks(self, trial: FrozenTrial, n: int) -> list[str | None]:
        """Return the block of each of the first ``n`` evaluations of a trial."""
        stored = None if self.block_attr is None else trial.user_attrs.get(self.block_attr)
        listed = list(stored)[:n] if isinstance(stored, list | tuple) else [stored] * n
        return [_block(block) for block in listed] + [None] * (n - len(listed))


def _block(stored: object) -> str | None:
    """Return the name of a block. A value that cannot be a name counts as no block."""
    if isinstance(stored, float) and stored.is_integer():
        # A storage may keep a whole number as a float.
        stored = int(stored)
    try:
        return None if stored is None or isinstance(stored, bool) else block_name(stored)
    except DataError:
        return None


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """Return the constraints of a trial by their keys, which are indices in a tuple."""
    listed = trial.system_attrs.get(KEY)
    several = isinstance(listed, list | tuple)
    found = {str(i): value for i, value in enumerate(listed if several else ())}
    prefix = f"{KEY}:"
    for name, value in trial.system_attrs.items():
        if name.startswith(prefix):
            found[name[len(prefix) :]] = value
    return found


def checked_constraints(returned: object) -> tuple[float, ...]:
    """Return what a ``constraints_func`` returned, after checking it."""
    found = None
    with suppress(TypeError, ValueError):
        found = tuple(float(value) for value in cast("Iterable[float]", returned))
    if found is None or any(math.isnan(value) for value in found):
        raise ObjectiveError(
            "constraints_func must return a sequence of numbers, each at most 0 if its constraint "
            f"is kept, got {returned!r}. NaN is not possible."
        )
    return found


def is_broken_for_sure(trial: FrozenTrial) -> bool:
    """Return whether a constraint is infinite or not a number, so that the trial has failed."""
    return any(not (is_outcome(c) or c == -math.inf) for c in constraints_of(trial).values())


def is_outcome(value: object) -> bool:
    """Return whether a model can use the value of a constraint."""
    return is_number(value) and abs(value) <= LARGEST_VALUE


def outcome_names(trials: Sequence[FrozenTrial], taken: Collection[str]) -> dict[str, str]:
    """Return a name of an outcome for each constraint of some trials.

    Args:
        trials: The trials.
        taken: Names that are those of parameters.
    """
    keys = {key for trial in trials for key, c in constraints_of(trial).items() if is_outcome(c)}
    found: dict[str, str] = {}
    for key in sorted(keys):
        shown = "".join(c if c.isprintable() else "?" for c in key)
        name = f"constraint {shown}"[: LONGEST_NAME // 2]
        used, n = {*taken, *found.values()}, 2
        unique = name
        while unique in used:
            unique, n = f"{name} ({n})", n + 1
        found[key] = unique
    return found
