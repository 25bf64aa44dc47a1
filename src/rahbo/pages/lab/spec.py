"""What a study is begun with, and how the form of the page describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rahbo.errors import DataError, SettingsError, SpaceError, at
from rahbo.model import AtLeast, AtMost, Constraint
from rahbo.pages.lab.fields import (
    LARGEST_WHOLE,
    list_in,
    number_in,
    record_in,
    text_in,
    whole_in,
)
from rahbo.policy import Adaptive, Repeats, as_repeats
from rahbo.risk import RISKS, MeanVariance, RiskMeasure
from rahbo.settings import Keywords
from rahbo.space import Categorical, Float, Int, Parameter

# A name is that of a file on any system.
NAME = re.compile(r"\w(?:[\w .-]{0,58}[\w-])?")
# Windows keeps these for devices, with any ending.
DEVICE = re.compile(r"(?i:con|prn|aux|nul|(com|lpt)[0-9\u00b9\u00b2\u00b3]) *(\..*)?")
VALUE = "value"
MOST_PARAMETERS, MOST_CHOICES, MOST_REPEATS = 100, 1000, 1000


@dataclass(frozen=True)
class Spec:
    """What a new study needs.

    Attributes:
        name: The name of the study, which is that of its file without the ending.
        space: The parameters.
        settings: Settings of `Optimizer`.
        outcome: The name of what is measured.
        unit: Its unit; may be empty.
        first: Settings to try before the first suggestion, such as those known to be safe.
        repeats: How often to measure each of these.
    """

    name: str
    space: Mapping[str, Parameter]
    settings: Keywords
    outcome: str = VALUE
    unit: str = ""
    first: tuple[Mapping[str, Any], ...] = field(default=())
    repeats: int = 1


def checked_study_name(name: str) -> str:
    """Return the name of a study, after checking that a file can have it."""
    if not NAME.fullmatch(name):
        raise SettingsError(
            "The name of a study must have 1 to 60 letters, digits, spaces or _.-, and begin with "
            f"a letter or a digit, got {name!r}."
        )
    if DEVICE.fullmatch(name):
        raise SettingsError(f"Windows cannot have a file named {name!r}. Choose another name.")
    return name


def spec_in(form: Mapping[str, Any]) -> Spec:
    """Return the study that the form of the page describes."""
    name = checked_study_name(text_in(form, "name", "The name of the study"))
    direction = form.get("direction")
    if direction not in ("maximize", "minimize"):
        raise SettingsError("Say whether larger or smaller values are better.")
    settings: Keywords = {
        "direction": direction,
        "risk": _risk(record_in(form.get("risk"), "The risk measure")),
        "repeats": _repeats(form),
    }
    limits = _limits(list_in(form, "limits", 20))
    if limits:
        settings["constraints"] = limits
    outcome = text_in(form, "outcome", "The name of what you measure", needed=False) or VALUE
    unit = text_in(form, "unit", "The unit", 30, needed=False)
    return Spec(name, _space(list_in(form, "parameters", MOST_PARAMETERS)), settings, outcome, unit)


def _risk(form: Mapping[str, Any]) -> RiskMeasure:
    kind = form.get("kind")
    if kind == "neutral":
        return MeanVariance(0.0)
    if not isinstance(kind, str) or kind not in RISKS:
        raise SettingsError(f"The risk measure must be neutral or one of {', '.join(RISKS)}.")
    return RISKS[kind](number_in(form.get("number"), "The number of the risk measure"))


def _repeats(form: Mapping[str, Any]) -> Repeats:
    if form.get("repeats") == "adaptive":
        setup = form.get("setup") or "0"
        return Adaptive(setup=number_in(setup, "The cost of a new setting"))
    return as_repeats(repeats_in(form.get("repeats")))


def repeats_in(written: object) -> int:
    """Return how often a setting is measured, as typed."""
    n = whole_in(written, "The number of repeats", least=1)
    if n > MOST_REPEATS:
        raise DataError(f"There may be at most {MOST_REPEATS} repeats, got {n}.")
    return n


def _named(rows: list[Any], what: str) -> dict[str, Mapping[str, Any]]:
    """Return rows of a form by their names, after checking that the names differ."""
    named: dict[str, Mapping[str, Any]] = {}
    for number, row in enumerate(rows, 1):
        form = record_in(row, f"{what.capitalize()} {number}")
        name = text_in(form, "name", f"The name of {what} {number}")
        if name in named:
            raise SettingsError(f"Two {what}s are named {name!r}. Rename or remove one of them.")
        named[name] = form
    return named


def _space(rows: list[Any]) -> dict[str, Parameter]:
    space: dict[str, Parameter] = {}
    for name, form in _named(rows, "parameter").items():
        with at(name):
            space[name] = _parameter(name, form)
    if not space:
        raise SpaceError("A study needs at least one parameter that you can set. Add one.")
    return space


def _parameter(name: str, form: Mapping[str, Any]) -> Parameter:
    kind = form.get("kind")
    if kind == "choice":
        written = text_in(form, "choices", f"The choices of {name}", 20_000)
        # Numbers with decimal commas are separated by semicolons or line breaks.
        ends = "[;\n]" if re.search("[;\n]", written.strip()) else ","
        choices = [choice for part in re.split(ends, written) if (choice := part.strip(" \t\r,"))]
        if len(choices) > MOST_CHOICES:
            raise SpaceError(f"there may be at most {MOST_CHOICES} choices, got {len(choices)}.")
        return Categorical(choices)
    is_log = form.get("log", False) is True
    if kind == "real":
        low = number_in(form.get("low"), f"The low end of {name}")
        return Float(low, number_in(form.get("high"), f"The high end of {name}"), log=is_log)
    if kind == "whole":
        least = whole_in(form.get("low"), f"The low end of {name}", -LARGEST_WHOLE)
        most = whole_in(form.get("high"), f"The high end of {name}", -LARGEST_WHOLE)
        return Int(least, most, log=is_log)
    raise SpaceError("it must be a real number, a whole number or a choice.")


def _limits(rows: list[Any]) -> dict[str, Constraint]:
    limits: dict[str, Constraint] = {}
    for name, form in _named(rows, "limit").items():
        side = {"most": AtMost, "least": AtLeast}.get(str(form.get("side")))
        if side is None:
            raise SettingsError(f"The limit of {name!r} must be 'at most' or 'at least'.")
        limit = number_in(form.get("limit"), f"The limit of {name}")
        probability = number_in(form.get("probability", 0.95), f"The probability of {name}")
        limits[name] = side(limit, probability)
    return limits
