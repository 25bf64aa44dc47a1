"""What the page shows of a study: what to try, what was told, and what can be typed in."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rahbo.errors import SpaceError
from rahbo.optimizer import Optimizer
from rahbo.pages.lab.fields import LARGEST_WHOLE, index_in, number_in, whole_in
from rahbo.pages.lab.notes import Note, Notes
from rahbo.pages.words import cut, measure
from rahbo.space import Candidates, Categorical, Float, Int, Parameter
from rahbo.trials import Trial, block_of

# The most suggestions, values of one suggestion and choices of a parameter.
MOST_OPEN, MOST_TOLD, MOST_VALUES, MOST_CHOICES = 12, 30, 20, 500
# A value further from all others than so many times their range is asked about.
FEW_VALUES = 3

Json = dict[str, Any]


def state_of(optimizer: Optimizer, notes: Notes) -> Json:
    """Return what the page shows of a study, in its current state."""
    settings, trials = optimizer.settings, optimizer.trials
    about: dict[int, list[Note]] = defaultdict(list)
    for note in notes.notes:
        about[note.suggestion].append(note)
    opened = [t for t in trials if t.n_missing]
    told = [t for t in trials if t.n_made]
    values = [value for t in trials for value in t.values.values()]
    return {
        "outcome": notes.outcome,
        "unit": notes.unit,
        "goal": measure(settings.risk, settings.sign < 0),
        "minimised": settings.sign < 0,
        "outcomes": [
            {"name": name, "limit": limit.described} for name, limit in settings.constraints.items()
        ],
        "blocks": list(settings.blocks or ()),
        "told_blocks": _told_blocks(trials),
        "inputs": inputs_of(optimizer),
        "known": [t.id for t in opened],
        "open": [_shown(t, optimizer, about[t.id]) for t in opened[:MOST_OPEN]],
        "told": [_shown(t, optimizer, about[t.id]) for t in reversed(told[-MOST_TOLD:])],
        "n_told": len(told),
        "n_values": len(values),
        "range": [min(values), max(values)] if len(values) >= FEW_VALUES else None,
    }


def _told_blocks(trials: Iterable[Trial]) -> list[str]:
    """Return the blocks of the values, the newest ones."""
    named = {each.block: None for t in trials for each in t.evaluations.values() if each.block}
    return list(named)[-MOST_VALUES:]


def free_repeat(trial: Trial) -> int:
    """Return the index for one more value than was asked for."""
    taken = {*trial.evaluations, *trial.missing}
    return next(i for i in range(len(taken) + 1) if i not in taken)


def _shown(trial: Trial, optimizer: Optimizer, notes: Sequence[Note]) -> Json:
    kinds = optimizer.settings.space.kinds
    names = optimizer.settings.constraints
    made = list(trial.evaluations.items())[-MOST_VALUES:]
    lost = [i for i, each in made if each.failure is not None]
    could_be_told = (*trial.missing[:MOST_VALUES], *lost, free_repeat(trial))
    return {
        "id": trial.id,
        "source": trial.source,
        "params": [
            (cut(name), setting_text(value, None if isinstance(kinds, Candidates) else kinds[name]))
            for name, value in trial.params.items()
        ],
        "asked": trial.n_requested,
        "n_made": trial.n_made,
        "missing": list(trial.missing[:MOST_VALUES]),
        "blocks": {i: block for i in could_be_told if (block := block_of(trial, i)) is not None},
        "free": free_repeat(trial),
        "skipped": trial.cancelled,
        "made": [
            {
                "repeat": i,
                "value": each.value,
                "reason": cut(each.failure or ""),
                "outcomes": [each.outcomes.get(name) for name in names],
                "block": cut(each.block or ""),
                "notes": [cut(note.text) for note in notes if note.repeat == i],
            }
            for i, each in made
        ],
        "notes": [cut(note.text) for note in notes if note.repeat is None],
    }


def setting_text(value: object, kind: Parameter | None) -> str:
    """Return a value to set, in as many digits as its range can tell apart.

    A value from a list is written as it is, like the choices of a form.

    >>> setting_text(1 / 3, Float(0.0, 1.0)), setting_text(1000.123456, Float(1000.0, 1001.0))
    ('0.333333', '1000.12346')
    """
    if not isinstance(value, float) or not isinstance(kind, Float):
        return cut(str(value))
    narrow = _narrow(kind)
    more = math.floor(math.log10(narrow)) if narrow > 1.0 else 0
    return f"{value:.{min(17, 6 + more)}g}"


def _narrow(kind: Float) -> float:
    """Return how many times larger than its range a number is."""
    if kind.log:
        # Neighbouring floats may have the same logarithm.
        ratio = math.log(kind.high) - math.log(kind.low)
        return 1.0 / ratio if ratio else 1e16
    # Half of each, because the range of the largest numbers overflows.
    return max(abs(kind.low), abs(kind.high)) / 2 / (kind.high / 2 - kind.low / 2)


# -- settings of one's own ---------------------------------------------------------------------


def inputs_of(optimizer: Optimizer) -> list[Json]:
    """Return the parameters as fields of a form."""
    kinds = optimizer.settings.space.kinds
    if isinstance(kinds, Candidates):
        return [_choice(name, column(kinds, name)) for name in optimizer.settings.space.names]
    return [
        _choice(name, kind.choices)
        if isinstance(kind, Categorical)
        else {"name": name, "kind": "number", "low": kind.low, "high": kind.high}
        for name, kind in kinds.items()
    ]


def _choice(name: str, choices: Sequence[object]) -> Json:
    return {
        "name": name, "kind": "choice", "choices": [cut(str(c)) for c in choices[:MOST_CHOICES]]
    }  # fmt: skip


def column(candidates: Candidates, name: str) -> list[Any]:
    """Return the different values of a name in a list of candidates."""
    return list(dict.fromkeys(row[name] for row in candidates.rows))


def params_in(form: Mapping[str, Any], optimizer: Optimizer) -> dict[str, Any]:
    """Return the setting that someone typed in; a choice is given by its number."""
    kinds, params = optimizer.settings.space.kinds, dict[str, Any]()
    for name in optimizer.settings.space.names:
        kind = None if isinstance(kinds, Candidates) else kinds[name]
        if isinstance(kinds, Candidates):
            params[name] = _chosen(form, name, column(kinds, name))
        elif isinstance(kind, Categorical):
            params[name] = _chosen(form, name, kind.choices)
        elif isinstance(kind, Float):
            params[name] = number_in(form.get(name), name)
        else:
            params[name] = whole_in(form.get(name), name, -LARGEST_WHOLE)
        if isinstance(kind, Float | Int) and not kind.low <= params[name] <= kind.high:
            raise SpaceError(
                f"{name} must be from {kind.low:.12g} to {kind.high:.12g}, got {params[name]:.12g}."
            )
    return params


def _chosen(form: Mapping[str, Any], name: str, choices: Sequence[Any]) -> Any:
    i = index_in(form, name)
    if i >= len(choices):
        raise SpaceError(f"{name} must be one of {len(choices)} choices, got number {i}.")
    return choices[i]
