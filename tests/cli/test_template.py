"""Commands with placeholders: a value cannot become another argument or command."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rahbo.cli.template import Template
from rahbo.errors import SettingsError
from rahbo.space import Categorical, Float


def test_placeholders_stand_for_values_inside_their_argument():
    template = Template.of(["p", "--lr={lr}", "{lr}", "{{lr}}", "{{{lr}}}", "x"])
    assert template.names == {"lr"}
    assert template.filled({"lr": 0.1}) == ["p", "--lr=0.1", "0.1", "{lr}", "{0.1}", "x"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-5, "1e-05"), (0.1 + 0.2, "0.30000000000000004"), (3, "3"), (-2.5, "-2.5"), ("a b", "a b")],
)
def test_numbers_keep_all_their_digits(value, text):
    assert Template.of(["p", "{x}"]).filled({"x": value}) == ["p", text]


@given(st.lists(st.text(st.characters(exclude_characters="{}\0"), min_size=1), min_size=1),
       st.text())  # fmt: skip
def test_no_value_changes_the_other_arguments(literal, value):
    template = Template.of(["p", *literal, "a{x}b{x}", *literal])
    filled = template.filled({"x": value, "seed": 1})
    assert filled == ["p", *literal, f"a{value}b{value}", *literal]


@given(st.text())
def test_any_text_can_be_written_with_doubled_braces(text):
    assume("\0" not in text)
    written = text.replace("{", "{{").replace("}", "}}")
    assert Template.of(["p", written]).filled({}) == ["p", text]


SPACE = {"x": Float(0.0, 1.0), "c": Categorical(["a", "b"])}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([], "no command"),
        ([""], "no command"),
        (["p", "{x}", "{c}", "{y}"], "placeholder {y}"),
        (["p", "{x}", "{c}", "{}"], "placeholder {}"),
        (["p", "{x.__class__}", "{c}", "{x}"], "placeholder {x.__class__}"),
        (["p", "{x:.3g}", "{c}", "{x}"], "placeholder {x:.3g}"),
        (["p", "{x}"], "does not contain {c}"),
        (["p", "{x", "{c}"], "must come in pairs"),
        (["p", "x}", "{c}"], "must come in pairs"),
        (["{c}", "{x}"], "must not contain a placeholder"),
        (["p\0", "{c}", "{x}"], "zero byte"),
    ],
)
def test_commands_that_do_not_fit_are_refused(command, said):
    with pytest.raises(SettingsError) as refused:
        Template.of(command).check(SPACE)
    assert said in str(refused.value)


def test_the_seed_may_be_used_or_not():
    for command, seed in ((["p", "{x}", "{c}"], []), (["p", "{x}", "{c}", "{seed}"], ["7"])):
        template = Template.of(command)
        template.check(SPACE)
        assert template.filled({"x": 0.5, "c": "a", "seed": 7}) == ["p", "0.5", "a", *seed]


@pytest.mark.parametrize("choices", [["-rf", "a"], ["a", "--"], ["", "-x"]])
def test_a_choice_that_looks_like_an_option_cannot_begin_an_argument(choices):
    space = {"c": Categorical(choices)}
    for argument in ("{c}", "{c}.txt"):
        with pytest.raises(SettingsError, match="take it for an option"):
            Template.of(["p", argument]).check(space)
    for argument in ("--c={c}", "./{c}"):
        Template.of(["p", argument]).check(space)


def test_an_empty_choice_hides_no_dash_behind_it():
    space = {"a": Categorical(["", "x"]), "c": Categorical(["-rf", "y"])}
    with pytest.raises(SettingsError, match="'-rf' of c"):
        Template.of(["p", "{a}{c}"]).check(space)


def test_a_negative_number_may_begin_an_argument():
    template = Template.of(["p", "{x}"])
    template.check({"x": Float(-1.0, 1.0)})
    assert template.filled({"x": -0.5}) == ["p", "-0.5"]


def test_blocks_repeat_their_values_so_a_seed_of_its_own_is_refused():
    command = Template.of(["train", "{x}", "{block}", "{seed}"])
    with pytest.raises(SettingsError, match="must give the same value there each time"):
        command.check({"x": Float(0.0, 1.0)}, blocks=True)
