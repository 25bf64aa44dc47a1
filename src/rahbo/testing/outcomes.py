"""The promises of a constraint on an outcome."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy

import numpy as np

from rahbo.errors import DataError
from rahbo.model import Constraint
from rahbo.numerics import is_finite
from rahbo.optimizer import Optimizer
from rahbo.risk import RiskMeasure
from rahbo.testing.checks import Promises
from rahbo.trials import checked_told

# The settings that are told, and the values at each. If 90 % have to pass, fewer values that all
# pass leave it in doubt.
SETTINGS, REPEATS = 16, 16
NAME = "outcome"


def check_outcome(outcome: Constraint, good: Sequence[object], bad: Sequence[object]) -> None:
    """Check that a constraint of your own keeps what the package relies on.

    Args:
        outcome: The constraint.
        good: Values as an evaluation may tell them. A setting that gives these values, and no
            others, surely keeps the constraint.
        bad: The same for a setting that surely breaks it.

    Raises:
        AssertionError: A promise is broken; the message says which.
    """
    check = Promises(outcome)
    check.require(isinstance(outcome, Constraint), "it must be a subclass of Constraint.")
    check.require(good and bad, "pass good= and bad= values to check it with.")
    _check_fields(check, outcome)
    _check_reading(check, outcome, [*good, *bad])
    _check_risk(check, outcome.risk)
    _check_a_run(check, outcome, good, bad)


def _check_fields(check: Promises, outcome: Constraint) -> None:
    same = deepcopy(outcome)
    check.require(
        same == outcome and hash(same) == hash(outcome),
        "a copy must be equal to it and have the same hash. Make it a frozen dataclass.",
    )
    check.require(is_finite(outcome.limit), f"limit must be finite, got {outcome.limit!r}.")
    check.require(outcome.sign in (1.0, -1.0), f"sign must be 1 or -1, got {outcome.sign!r}.")
    for name in ("described", "measured"):
        words = getattr(outcome, name)
        check.require(
            isinstance(words, str) and words and words.isprintable(),
            f"{name} must be a line of text, got {words!r}.",
        )
    said = outcome.stated("12.5")
    check.require("12.5" in said, f"stated('12.5') must contain the value, got {said!r}.")


def _check_reading(check: Promises, outcome: Constraint, told: Sequence[object]) -> None:
    """Check `Constraint.read` as it is used when something is told."""
    for value in told:
        number = outcome.read(value)
        check.require(is_finite(number), f"read({value!r}) must be finite, got {number!r}.")
        again = outcome.read(float(number))
        check.require(
            again == number,
            f"read({value!r}) is {number!r}, which must be read as itself, got {again!r}: journals "
            "and tables hold the number.",
        )
    for value in (object(), "no such value", math.inf):
        try:
            checked_told(1.0, {NAME: value}, {NAME: outcome})
        except DataError:
            continue
        except Exception as error:
            raise AssertionError(
                f"{outcome!r}: read({value!r}) must raise a DataError, got {error!r}."
            ) from error
        check.require(False, f"read({value!r}) must raise a DataError or return no number.")


def _check_risk(check: Promises, risk: RiskMeasure) -> None:
    """Check the risk measure of the outcome as far as limits need it."""
    check.require(isinstance(risk, RiskMeasure), f"risk must be a RiskMeasure, got {risk!r}.")
    f, std = np.meshgrid(np.linspace(-3.0, 3.0, 13), np.linspace(0.1, 2.0, 11), indexing="ij")
    value = risk.value(f, std**2)
    check.require(np.all(np.diff(value, axis=0) > 0.0), "its risk must rise with the mean.")
    check.require(np.all(np.diff(value, axis=1) <= 0.0), "its risk must not rise with the noise.")
    h = 1e-5
    slopes = (
        (risk.value(f + h, std**2) - risk.value(f - h, std**2)) / (2.0 * h),
        (risk.value(f, (std + h) ** 2) - risk.value(f, (std - h) ** 2)) / (2.0 * h),
    )
    for claimed, found, of in zip(risk.std_gradient(f, std), slopes, ("mean", "std"), strict=True):
        check.require(
            np.allclose(claimed, found, rtol=1e-3, atol=1e-6),
            f"the gradient of its risk in the {of} differs from its slope.",
        )


def _check_a_run(
    check: Promises, outcome: Constraint, good: Sequence[object], bad: Sequence[object]
) -> None:
    """Check what is said of settings that gave good values, x > 0.5, and of others."""
    rng, data = np.random.default_rng(3), []
    for i in range(SETTINGS):
        x = (i + 0.5) / SETTINGS
        values = good if x > 0.5 else bad
        told = [values[j % len(values)] for j in range(REPEATS)]
        data.append(({"x": x}, [{"value": rng.normal(), NAME: value} for value in told]))
    run = Optimizer({"x": (0.0, 1.0)}, constraints={NAME: outcome}, safe=True, data=data, seed=0)
    (kept,), (broken,) = (run.predict({"x": x}).constraints for x in (0.75, 0.25))
    check.require(
        outcome.sign * kept.quantile >= outcome.sign * outcome.limit
        and outcome.sign * broken.quantile < outcome.sign * outcome.limit,
        "its risk value must reach the limit where good values were told, and must not where bad "
        f"ones were, got {kept.quantile:.4g} and {broken.quantile:.4g}.",
    )
    check.require(kept.kept and kept.chance > 0.7, "it must be kept where all values are good.")
    check.require(
        not broken.kept and broken.chance < 0.3, "it must be broken where all values are bad."
    )
    for one in (p.constraints[0] for p in run.predict([{"x": x / 40.0} for x in range(41)])):
        reaches = outcome.sign * one.pessimistic >= outcome.sign * outcome.limit
        check.require(one.kept == reaches, "it is kept where the pessimistic bound reaches it.")
    _check_limits(check, outcome, run)
    found = run.recommend()
    check.require(
        found.feasible and found.params["x"] > 0.5, "a setting that keeps it must be recommended."
    )
    x = run.ask().params["x"]
    check.require(x > 0.4, f"a safe run must stay where it is kept, x > 0.5, got x={x:.3g}.")
    again = Optimizer(
        {"x": (0.0, 1.0)},
        constraints={NAME: deepcopy(outcome)},
        safe=True,
        seed=0,
        trials=run.trials,
    )
    check.require(
        again.predict({"x": 0.7}) == run.predict({"x": 0.7}), "a resumed run must say the same."
    )


def _check_limits(check: Promises, outcome: Constraint, run: Optimizer) -> None:
    """Check what is compared with the limit, and the gradient that the search follows."""
    limits = run.limits
    assert limits is not None
    X, h = np.linspace(0.05, 0.95, 19)[:, None], 1e-5
    (limit,) = limits.each
    model = limit.model
    assert model is not None
    noise_var = np.maximum(model.noise.link(model.noise.latent(X)[0]), model.min_noise_var)
    value = outcome.risk.value(
        model.units.to_outcome(model.mean.predict_mean(X)), model.units.var_to_user(noise_var)
    )
    check.require(
        np.allclose(outcome.sign * limit.quantile(X), value, rtol=1e-6, atol=1e-9),
        "what is compared with its limit must be its risk in the user's units.",
    )
    claimed = limits.chance_with_gradient(X)[1][:, 0]
    found = (limits.chance(X + h) - limits.chance(X - h)) / (2.0 * h)
    check.require(
        np.allclose(claimed, found, rtol=1e-2, atol=1e-4),
        "the gradient of the chance that it is kept differs from its slope.",
    )
