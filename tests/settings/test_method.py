"""The method: defaults, checks, and that of the paper to the letter."""

import dataclasses

import numpy as np
import pytest

import presets
import rahbo
from rahbo.errors import SettingsError
from rahbo.model import ConstantBeta, DirectNoise, Matern52, Raw, Refit
from rahbo.policy import Rahbo
from rahbo.settings import Method

LINE = {"x": (0.0, 1.0)}


def test_numbers_become_records():
    method = Method(beta=1.5, beta_noise=ConstantBeta(0.5), lam=2)
    assert (method.beta, method.beta_noise) == (ConstantBeta(1.5), ConstantBeta(0.5))
    assert type(method.lam) is float
    assert Method(beta=2.0) == Method(beta=ConstantBeta(2.0))


def test_what_is_shown_is_what_differs_from_the_defaults():
    assert repr(Method()) == "Method()"
    assert repr(Method(lam=2, strategy=Rahbo())) == "Method(strategy=Rahbo(), lam=2.0)"


def test_equal_noise_bounds_are_legal():
    method = Method(min_noise_var=0.3, max_noise_var=0.3)
    assert (method.min_noise_var, method.max_noise_var) == (0.3, 0.3)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"strategy": "rahbo"}, "^strategy must be a Strategy"),
        ({"noise": None}, "^noise must be a NoiseModel"),
        ({"kernel": "rbf"}, "^kernel"),
        ({"beta": -1.0}, "^beta must be"),
        ({"beta": "2"}, "^beta must be"),
        ({"beta_noise": float("nan")}, "beta"),
        ({"beta_noise": [2.0]}, "^beta_noise must be"),
        ({"lam": 0.0}, "^lam must be"),
        ({"outputs": "raw"}, "^outputs must be"),
        ({"refit": 1.1}, "^refit must be"),
        ({"min_noise_var": 0.0}, "^min_noise_var must be a positive number or None"),
        ({"max_noise_var": np.inf}, "^max_noise_var must be a positive number or None"),
        ({"min_noise_var": 2.0, "max_noise_var": 1.0}, "must not exceed max_noise_var"),
    ],
)
def test_misuse_is_named(parts, message):
    with pytest.raises(SettingsError, match=message):
        Method(**parts)


@pytest.mark.parametrize("part", [part.name for part in dataclasses.fields(Method)])
@pytest.mark.parametrize("function", [rahbo.Optimizer, rahbo.maximize, rahbo.minimize])
def test_a_former_keyword_says_where_it_went(function, part):
    with pytest.raises(TypeError) as error:
        function(**{part: 1})
    said = f"() does not take {part}=. It is part of the method now: pass method=rahbo.Method("
    assert str(error.value).startswith(f"{function.__name__}{said}{part}=...).")


@pytest.mark.parametrize(
    ("name", "instead"), [("paper_preset", "pass method=rahbo.paper(), risk="), ("PBest", "Gap(")]
)
def test_a_former_name_says_what_to_write(name, instead):
    for statement in (f"from rahbo import {name}", f"import rahbo; rahbo.{name}"):
        with pytest.raises(SettingsError, match=f"no rahbo.{name} any more") as error:
            exec(statement)
        assert instead in str(error.value)
    assert not hasattr(rahbo, "temperature")


# -- the paper ---------------------------------------------------------------------------------


def test_the_method_of_the_paper_to_the_letter():
    assert vars(rahbo.paper()) == {
        "strategy": Rahbo(),
        "kernel": Matern52,
        "noise": DirectNoise(kernel=Matern52, max_noise_var=None, lam=1.0),
        "beta": ConstantBeta(2.0),
        "beta_noise": ConstantBeta(2.0),
        "lam": 1.0,
        "outputs": Raw(),
        "refit": Refit(np.inf),
        "min_noise_var": None,
        "max_noise_var": None,
    }
    assert rahbo.paper().refit.stages(10, 500) == [10]


def test_the_paper_keeps_the_hyperparameters_of_the_initial_design():
    opt = rahbo.Optimizer(LINE, **presets.paper(repeats=2, n_initial=4), seed=0)
    rng = np.random.default_rng(0)
    learned = []
    for _ in range(8):
        s = opt.ask()
        opt.tell(s, list(np.sin(6 * s.params["x"]) + 0.1 * rng.standard_normal(2)))
        learned.append(opt.model.learned)
    assert len({id(fit) for fit in learned[3:]}) == 1
    assert (learned[-1].units.shift, learned[-1].units.scale) == (0.0, 1.0)
    assert learned[-1].mean.prior_mean == 0.0
