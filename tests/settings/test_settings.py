"""Settings: spelled once, checked, defaults filled in."""

import dataclasses
import inspect
import pickle

import numpy as np
import pytest

import rahbo
from rahbo.errors import RahboError, SettingsError
from rahbo.model import (
    RBF,
    ConstantBeta,
    CubeNoise,
    DirectNoise,
    KnownNoise,
    LogNoise,
    Matern52,
    Refit,
    Standardized,
)
from rahbo.policy import Fixed, Repeating, TopTwo
from rahbo.risk import DEFAULT_RISK
from rahbo.settings import Keywords, Method, Settings

LINE = {"x": (0.0, 1.0)}


def made(space=LINE, **settings):
    return Settings.of(space, settings)


# -- spelled once --------------------------------------------------------------------------------


def test_what_may_be_given_is_what_a_run_has():
    fields = [field.name for field in dataclasses.fields(Settings)]
    assert ["space", *(name for name in Keywords.__annotations__ if name != "valid")] == fields


def test_the_signature_shows_every_setting_with_its_default():
    shown = inspect.signature(rahbo.Optimizer).parameters
    assert all(p.kind is not p.VAR_KEYWORD for p in shown.values())
    assert str(shown["repeats"]).startswith("repeats: 'int | Repeats' = Adaptive(")
    told = {name: shown[name].default for name in Keywords.__annotations__ if name != "seed"}
    by_hand, by_default = made(seed=0, **told), made(seed=0)
    for field in dataclasses.fields(Settings):
        assert getattr(by_hand, field.name) == getattr(by_default, field.name)


@pytest.mark.parametrize("function", [rahbo.maximize, rahbo.minimize])
def test_loops_show_what_they_pass_on(function):
    shown = inspect.signature(function).parameters
    passed_on = inspect.signature(rahbo.Optimizer).parameters.keys() - {"direction"}
    assert shown.keys() >= passed_on
    assert "direction" not in shown


@pytest.mark.parametrize(
    ("function", "name", "hint"),
    [
        (rahbo.Optimizer, "metod", " Did you mean method=?"),
        (rahbo.Optimizer, "jurnal", " Did you mean journal=?"),
        (rahbo.maximize, "paralel", " Did you mean parallel=?"),
        (rahbo.minimize, "evaluation", " Did you mean evaluations=?"),
        (rahbo.Optimizer, "temperature", ""),
    ],
)
def test_an_unknown_keyword_is_named(function, name, hint):
    given = {"space": LINE, name: 1}
    if function is not rahbo.Optimizer:
        given |= {"objective": lambda x: x, "rounds": 2}
    with pytest.raises(TypeError) as error:
        function(**given)
    assert str(error.value) == f"{function.__name__}() does not take {name}=.{hint}"
    with pytest.raises(TypeError, match="metod= is not a setting"):
        Settings.of(LINE, {"metod": 1})


def test_settings_are_pickled_by_what_was_given():
    """A noise model bound to the space is a function that cannot be pickled."""
    settings = made(noise_std=0.2, seed=3)
    again = pickle.loads(pickle.dumps(settings))
    assert again.models_the_same_as(settings)
    assert again.seed == 3


def test_what_models_the_same_learns_the_same():
    first = made(LINE, seed=1)
    assert first.models_the_same_as(made(LINE, seed=2, method=Method(beta=1.0)))
    for other in ({"beta": 2.0}, {"refit": Refit(2.0)}):
        assert not first.models_the_same_as(made(LINE, method=Method(**other)))
    assert not first.models_the_same_as(made(LINE, direction="minimize"))
    assert not first.models_the_same_as(made(LINE, noise_std=0.1))
    rows = rahbo.Candidates([{"x": 0.0}, {"x": 1.0}])
    for known in ([0.1, 0.2], lambda p: 0.1 + p["x"]):
        assert made(rows, noise_std=known).models_the_same_as(made(rows, noise_std=known))
    ab, ba = {"a": (0.0, 1.0), "b": (0.0, 1.0)}, {"b": (0.0, 1.0), "a": (0.0, 1.0)}
    assert not made(ab).models_the_same_as(made(ba))


@pytest.mark.parametrize("name", ["repeats", "method"])
def test_settings_changed_by_hand_are_checked_too(name):
    with pytest.raises(SettingsError, match=f"^{name} must be"):
        dataclasses.replace(made(), **{name: 2.0})


# -- defaults ------------------------------------------------------------------------------------


def test_defaults():
    settings = made()
    assert settings.risk == rahbo.MeanStd(1.0) == DEFAULT_RISK
    assert settings.repeats == rahbo.Adaptive()
    assert settings.direction == "maximize"
    assert settings.method == Method(strategy=TopTwo(), refit=Refit(1.1))
    model = settings.model
    assert (model.kernel, model.noise, model.outputs) == (Matern52, LogNoise(), Standardized())
    assert (model.beta, model.beta_noise, model.lam) == (ConstantBeta(1.0), ConstantBeta(1.0), 1.0)
    assert (model.min_noise_var, model.max_noise_var) == (None, None)


@pytest.mark.parametrize(("d", "expected"), [(1, 6), (2, 6), (3, 8), (10, 22)])
def test_the_initial_design_grows_with_the_parameters(d, expected):
    assert made({f"x{i}": (0.0, 1.0) for i in range(d)}).n_initial == expected


@pytest.mark.parametrize("levels", [2, 4, 20, 200])
def test_a_choice_counts_as_one_parameter_for_the_initial_design(levels):
    choice = rahbo.Categorical(list(range(levels)))
    assert made({"c": choice, "x": (0.0, 1.0)}).n_initial == 6
    assert made({"c": choice, "e": choice, "x": (0.0, 1.0)}).n_initial == 8


def test_the_names_of_listed_candidates_count_for_the_initial_design():
    rows = [{"a": i, "b": i % 7, "kind": f"k{i}"} for i in range(30)]
    assert made(rahbo.Candidates(rows)).n_initial == 8


def test_the_initial_design_is_no_larger_than_the_space():
    assert made({"i": rahbo.Int(0, 3)}).n_initial == 4
    assert made({"i": rahbo.Int(0, 3)}, n_initial=50).n_initial == 4
    assert made(n_initial=50).n_initial == 50


def test_a_seed_is_drawn_and_kept():
    drawn = {made(seed=None).seed for _ in range(20)}
    assert len(drawn) > 1
    assert all(isinstance(seed, int) and seed >= 0 for seed in drawn)
    assert made(seed=np.int64(5)).seed == 5


def test_the_sign_makes_larger_better():
    assert made().sign == 1.0
    assert made(direction="minimize").sign == -1.0


def test_a_number_of_repeats_becomes_a_record():
    assert made(repeats=3).repeats == Fixed(3)


KNOWN = {
    "a number": 2.0,
    "a function": lambda p: 1.0 + p["x"],
    "a list": [1.0, 2.0, 3.0],
    "an array": np.array([1, 2, 3], dtype=np.int8),
}


@pytest.mark.parametrize("noise_std", KNOWN.values(), ids=KNOWN)
def test_known_noise_is_bound_to_the_space(noise_std):
    rows = rahbo.Candidates([{"x": 0.0}, {"x": 1.0}, {"x": 2.0}])
    noise = made(rows, noise_std=noise_std).model.noise
    assert isinstance(noise, CubeNoise)
    expected = [4.0, 4.0, 4.0] if isinstance(noise_std, float) else [1.0, 4.0, 9.0]
    assert noise.function(np.array([[0.0], [0.5], [1.0]])) == pytest.approx(expected)


def test_a_column_of_a_table_is_known_noise():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"x": [0.0, 1.0], "std": [0.1, 0.2]})
    settings = made(rahbo.Candidates(table[["x"]]), noise_std=table["std"])
    assert settings.noise_std == (0.1, 0.2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"noise_std": 0.1, "method": Method(min_noise_var=1.0)}, "would change what is known"),
        ({"noise_std": 0.1, "method": Method(max_noise_var=1e-4)}, "would change what is known"),
        ({"noise_std": []}, "for each row of Candidates, but the space is a dict"),
        ({"noise_std": [0.1, 0.2]}, "Pass a number, or a function"),
        ({"noise_std": lambda p: 1 / 0}, "raised ZeroDivisionError"),
        ({"noise_std": lambda x: 0.1 * x}, "the parameters as a dict"),
        ({"noise_std": lambda p: "0.1"}, "noise_std must return a number, got '0.1'"),
        ({"noise_std": lambda p: -1.0}, "noise_std must be"),
    ],
)
def test_known_noise_that_is_wrong_is_refused_at_once(given, says):
    with pytest.raises(RahboError, match=says):
        made(**given)


def test_no_noise_needs_no_repeats():
    for given in ({"noise_std": 0}, {"method": Method(noise=KnownNoise(0.0))}):
        assert Repeating.of(made(**given)).repetition.n_values == 1
    assert not Repeating.of(made(noise_std=0.1)).repetition


def test_kernels_are_taken_as_classes_or_as_they_are():
    fixed = RBF([0.2], 1.0)
    assert made(method=Method(kernel=RBF)).model.kernel is RBF
    assert made(method=Method(kernel=fixed)).model.kernel is fixed


@pytest.mark.parametrize("model", [LogNoise, DirectNoise])
def test_the_kernel_of_the_noise_must_fit_the_space(model):
    assert made(method=Method(noise=model(RBF([0.2])))).noise.kernel.d == 1
    with pytest.raises(SettingsError, match=r"^noise\.kernel must have one lengthscale for each"):
        made(method=Method(noise=model(RBF([0.2, 0.3]))))


@pytest.mark.parametrize("bad", [np.array([1.0, 2.0]), ["maximize"], None, 1, True])
def test_a_direction_is_one_of_two_words(bad):
    with pytest.raises(SettingsError, match="direction must be 'maximize' or 'minimize', got"):
        made(direction=bad)


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        made().seed = 1
