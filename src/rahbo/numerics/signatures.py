"""Keywords of functions: shown in signatures, and refused with a hint when they are not known."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Container, Iterable
from typing import Any, NoReturn, TypeVar, cast

from rahbo.errors import SettingsError

F = TypeVar("F", bound=Callable[..., Any])

# What other libraries, or the parts of a setting, are called, and the keyword to use here.
KNOWN_ELSEWHERE = {
    "max_evals": "evaluations",
    "max_evaluations": "evaluations",
    "maxiter": "evaluations",
    "n_calls": "evaluations",
    "n_evaluations": "evaluations",
    "n_iter": "evaluations",
    "n_trials": "evaluations",
    "num_trials": "evaluations",
    "max_time": "seconds",
    "n_workers": "n_jobs",
    "max_workers": "n_jobs",
    "workers": "n_jobs",
    "jobs": "n_jobs",
    "callbacks": "callback",
    "random_state": "seed",
    "random_seed": "seed",
    "rng": "seed",
    "bounds": "space",
    "dimensions": "space",
    "domain": "space",
    "params": "space",
    "parameters": "space",
    "search_space": "space",
    "fun": "objective",
    "func": "objective",
    "fn": "objective",
    "f": "objective",
    "initial_points": "try_first",
    "points_to_evaluate": "try_first",
    "x0": "try_first",
    "n_initial_points": "n_initial",
    "n_startup_trials": "n_initial",
    "init_points": "n_initial",
    "n_repeats": "repeats",
    "replicates": "repeats",
    "storage": "journal",
}
# Former keywords and names of this package, and what to write instead.
FORMER_KEYWORDS = {
    name: f"It is part of the method now: pass method=rahbo.Method({name}=...)."
    for name in (
        "strategy", "kernel", "beta", "beta_noise", "lam", "outputs", "refit", "min_noise_var",
        "max_noise_var",
    )
} | {
    "noise": "It is part of the method now: pass method=rahbo.Method(noise=...). If the noise is "
    "known, pass noise_std=.",
}  # fmt: skip
FORMER_NAMES = {
    "paper_preset": "It is rahbo.paper() now: pass method=rahbo.paper(), "
    "risk=rahbo.MeanVariance(1.0), repeats=10 and n_initial=10.",
    "PBest": "Use stop=rahbo.Gap(width): with 90 % probability, no setting is then better by more "
    "than the width. On a list, a small width asks for the best row.",
}
# What only the functions that run an objective take.
OF_A_RUN = ("objective", "evaluations", "seconds", "n_jobs", "callback")
# The risk measure that a weight belongs to.
WEIGHTS = {"alpha": "MeanVariance", "kappa": "MeanStd", "risk_aversion": "MeanVariance"}


def refuse_former(name: str) -> NoReturn:
    """Raise an error for a name that the package does not have, as its ``__getattr__``."""
    if name in FORMER_NAMES:
        raise SettingsError(f"There is no rahbo.{name} any more. {FORMER_NAMES[name]}")
    raise AttributeError(f"module 'rahbo' has no attribute {name!r}")


def spells_out(
    parameters: Iterable[inspect.Parameter], let_through: Container[str] = ()
) -> Callable[[F], F]:
    """Show these parameters in the signature of a function that takes them as ``**keywords``.

    Keywords that the signature does not show are refused, and the error says what to pass instead.
    Type checkers and editors read the typed dict of the keywords. This is for `help`, notebooks
    and `inspect.signature`.

    Args:
        parameters: The parameters.
        let_through: Names to which the function itself has an answer.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        shown = signature.replace(parameters=[*own, *parameters])
        name, known = function.__qualname__.removesuffix(".__init__"), list(shown.parameters)

        @functools.wraps(function)
        def checked(*args: Any, **keywords: Any) -> Any:
            for word in keywords:
                if word not in shown.parameters and word not in let_through:
                    hint = _hint(word, keywords[word], known)
                    raise TypeError(f"{name}() does not take {word}=.{hint}")
            return function(*args, **keywords)

        vars(checked)["__signature__"] = shown
        return cast("F", checked)

    return decorate


def _hint(name: str, value: object, known: list[str]) -> str:
    """Return a sentence that says what to pass in place of a keyword, or nothing."""
    if name in FORMER_KEYWORDS:
        return f" {FORMER_KEYWORDS[name]}"
    if name in WEIGHTS and "risk" in known:
        kind = WEIGHTS[name]
        weight = "alpha" if kind == "MeanVariance" else name
        return f" Pass risk=rahbo.{kind}({weight}={value!r})."
    if name in ("maximize", "minimize"):
        return f" {_direction_hint(name, value, known)}"
    instead = KNOWN_ELSEWHERE.get(name)
    if instead in known:
        return f" Pass {instead}=."
    if instead in OF_A_RUN or name in OF_A_RUN:
        return f" maximize() and minimize() take {instead or name}=."
    near = difflib.get_close_matches(name, known, 1)
    return f" Did you mean {near[0]}=?" if near else ""


def _direction_hint(name: str, value: object, known: list[str]) -> str:
    wanted = name if value else {"maximize": "minimize", "minimize": "maximize"}[name]
    if "direction" in known:
        return f"Pass direction={wanted!r}."
    return f"Call {wanted}()."
