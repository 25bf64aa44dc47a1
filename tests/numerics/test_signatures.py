"""Keywords in signatures, and what is said of keywords that are not known."""

import inspect

import pytest

import rahbo
from rahbo.numerics import spells_out

LINE = {"x": (0.0, 1.0)}
EXTRA = [inspect.Parameter("wide", inspect.Parameter.KEYWORD_ONLY, default=3, annotation="int")]


@spells_out(EXTRA, let_through=("odd",))
def shown(first: int, *, near: float = 1.0, **more: int) -> dict[str, int]:
    """Return the keywords."""
    return dict(more)


def test_the_signature_has_no_keywords_that_are_not_named():
    assert list(inspect.signature(shown).parameters) == ["first", "near", "wide"]
    assert shown.__doc__ == "Return the keywords."


def test_known_keywords_and_those_let_through_are_passed_on():
    assert shown(1, near=2.0, wide=4, odd=5) == {"wide": 4, "odd": 5}


def test_an_unknown_keyword_is_refused_before_missing_ones_are_noticed():
    with pytest.raises(TypeError, match=r"^shown\(\) does not take wdie=. Did you mean wide=\?$"):
        shown(wdie=1)


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("alpha", 1, "Pass risk=rahbo.MeanVariance(alpha=1)."),
        ("kappa", 0.5, "Pass risk=rahbo.MeanStd(kappa=0.5)."),
        ("n_trials", 50, "Pass evaluations=."),
        ("n_calls", 50, "Pass evaluations=."),
        ("max_evals", 50, "Pass evaluations=."),
        ("n_iter", 50, "Pass evaluations=."),
        ("random_state", 0, "Pass seed=."),
        ("bounds", LINE, "Pass space=."),
        ("search_space", LINE, "Pass space=."),
        ("workers", 4, "Pass n_jobs=."),
        ("x0", [], "Pass try_first=."),
        ("maximize", False, "Call minimize()."),
        ("maximize", True, "Call maximize()."),
        ("minimize", True, "Call minimize()."),
        ("secnds", 3, "Did you mean seconds=?"),
    ],
)
@pytest.mark.parametrize("function", [rahbo.maximize, rahbo.minimize])
def test_names_of_other_libraries_are_answered(function, name, value, hint):
    with pytest.raises(TypeError) as error:
        function(lambda x: x, **{name: value})
    assert str(error.value) == f"{function.__name__}() does not take {name}=. {hint}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("n_trials", "maximize() and minimize() take evaluations=."),
        ("n_jobs", "maximize() and minimize() take n_jobs=."),
        ("maximize", "Pass direction='maximize'."),
        ("alpha", "Pass risk=rahbo.MeanVariance(alpha=True)."),
        ("random_state", "Pass seed=."),
    ],
)
def test_an_optimizer_says_who_takes_what_belongs_to_a_run(name, hint):
    with pytest.raises(TypeError) as error:
        rahbo.Optimizer(LINE, **{name: True})
    assert str(error.value) == f"Optimizer() does not take {name}=. {hint}"


@pytest.mark.parametrize("function", [rahbo.maximize, rahbo.minimize, rahbo.Optimizer])
def test_every_keyword_of_the_public_functions_is_shown_with_its_type(function):
    shown = inspect.signature(function).parameters.values()
    assert all(p.kind is not p.VAR_KEYWORD for p in shown)
    assert all(p.annotation is not p.empty and "Unpack" not in str(p.annotation) for p in shown)
