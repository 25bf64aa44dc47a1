"""TOML files: read, or refused in a sentence."""

from contextlib import suppress
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rahbo.cli.config import LARGEST_FILE, Config, read_config
from rahbo.cli.template import Template
from rahbo.errors import RahboError, SettingsError
from rahbo.space import Categorical, Float, Int

FLAGS = ("maximize", "json")
OPTIONS = {
    name: click.Option([f"--{name}"], is_flag=name in FLAGS)
    for name in ("alpha", "blocks", "evaluations", "jobs", "journal", "value-regex", *FLAGS)
}
GOOD = r"""
maximize = true
alpha = 1
evaluations = 200
value-regex = 'loss (\S+)'
command = ["python", "train.py", "--lr={lr}", "{depth}", "{criterion}"]

[parameters]
lr = "1e-4:1e-1:log"
depth = "1:15:int"
criterion = ["gini", "a,b", 3]
"""


def read(path):
    return read_config(path, OPTIONS)


def test_a_file_holds_it_all(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(GOOD)
    assert read(path) == Config(
        {"maximize": True, "alpha": "1", "evaluations": "200", "value-regex": r"loss (\S+)"},
        {
            "lr": Float(1e-4, 1e-1, log=True),
            "depth": Int(1, 15),
            "criterion": Categorical(["gini", "a,b", "3"]),
        },
        ("python", "train.py", "--lr={lr}", "{depth}", "{criterion}"),
    )


@pytest.mark.parametrize("blocks", ['"monday,friday"', '["monday", "friday"]'])
def test_names_are_a_list_or_separated_by_commas(tmp_path, blocks):
    path = tmp_path / "run.toml"
    path.write_text(f"blocks = {blocks}")
    assert read(path).options == {"blocks": "monday,friday"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("blocks = ['a,b', 'c']", "names without commas"),
        ("blocks = []", "names without commas"),
        ("blocks = [1, 2]", "list of strings"),
        ("alpha = ", "not a TOML"),
        ("alpha = 1\nalpha = 2", "not a TOML"),
        ("beta = 1", "'beta' in .* is not an option. Use one of: alpha, blocks, command"),
        ("alpha = true", "a number or a string"),
        ("alpha = [1]", "a number or a string"),
        ("alpha = 2020-01-01", "a number or a string"),
        ("maximize = 'yes'", "true or false"),
        ("maximize = 1", "true or false"),
        ("command = 'rm -rf /'", "list of strings"),
        ("command = ['a', 1]", "list of strings"),
        ("parameters = 3", "must be a table"),
        ("[parameters]\nx = 3", "such as '0.1:1:log'"),
        ("[parameters]\nx = {low = 1}", "such as '0.1:1:log'"),
        ("[parameters]\nx = '1'", "x: it must be LOW:HIGH"),
        ("[parameters]\nx = [0.0, 2.0]", "x: .* may be the bounds of a range or two choices"),
        ("[parameters]\nx = ['a']", "x: Categorical"),
        ("[parameters]\nx = [['a']]", "string or a number"),
        ("[parameters]\n'a b' = ['a', 'b']", "begin with a letter"),
        ("[parameters]\nseed = ['a', 'b']", "seed"),
        ("alpha = " + "[" * 100_000, "not a TOML"),
        ("alpha = " + "1" * 10_000, "not a TOML"),
    ],
)
def test_what_is_wrong_is_said(text, said, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(RahboError, match=said):
        read(path)


def test_files_that_are_none(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        read(tmp_path / "none.toml")
    path = tmp_path / "huge.toml"
    path.write_bytes(b"#" * (LARGEST_FILE + 1))
    with pytest.raises(SettingsError, match="at most 1000000 bytes"):
        read(path)


def check_any(path, raw):
    path.write_bytes(raw)
    with suppress(RahboError):
        read(path)


FAST = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FAST
@given(st.data())
def test_a_damaged_file_is_refused_or_read(tmp_path, data):
    raw = GOOD.encode()
    at = data.draw(st.integers(0, len(raw)))
    cut = data.draw(st.integers(at, len(raw)))
    put = data.draw(st.binary(max_size=5))
    check_any(tmp_path / "run.toml", raw[:at] + put + raw[cut:])


VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@FAST
@given(
    name=st.sampled_from([*OPTIONS, "command", "parameters", "x"]), value=VALUES,
    inside=st.booleans(),
)  # fmt: skip
def test_values_of_any_type_are_refused_or_read(tmp_path, name, value, inside):
    written = repr(value).replace("True", "true").replace("False", "false")
    text = f"[parameters]\n{name} = {written}" if inside else f"{name} = {written}"
    check_any(tmp_path / "run.toml", text.encode(errors="surrogatepass"))


def test_the_file_of_the_documentation_is_one(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "tune.md").read_text("utf-8")
    path = tmp_path / "run.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0])
    config = read(path)
    Template.of(config.command).check(config.space)
    assert len(config.space) == 3


def test_a_mark_at_the_start_does_no_harm(tmp_path):
    path = tmp_path / "run.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert read(path).options["maximize"] is True
