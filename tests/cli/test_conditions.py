"""`--context NAME=VALUE` on the command line."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import rahbo
from rahbo.cli import main
from rahbo.cli.conditions import read_context, with_conditions, written_context
from rahbo.errors import SettingsError, SpaceError
from rahbo.space import Context, Float, Int, Space

SPACE = {
    "x": (0.0, 1.0),
    "t": rahbo.Context(10.0, 35.0),
    "shift": rahbo.Context([1, 2, 3]),
    "age": rahbo.Context(Int(0, 9)),
}


def test_conditions_get_the_types_of_the_space():
    written = written_context(["t=21.5", "shift=2", "age=3"])
    found = read_context(Space.of(SPACE), written)
    assert found == {"t": 21.5, "shift": 2, "age": 3}
    assert [type(value) for value in found.values()] == [float, int, int]
    assert read_context(Space.of(SPACE), {}) is None
    with pytest.raises(SpaceError, match=r"must be a number"):
        read_context(Space.of(SPACE), {"t": "warm"})


@pytest.mark.parametrize("texts", [["t"], ["=3"], ["t=1", "t=2"]])
def test_a_condition_without_a_name_or_value_is_refused(texts):
    with pytest.raises(SettingsError, match=r"NAME=VALUE"):
        written_context(texts)


def test_columns_of_a_table_become_conditions():
    space = {"x": Float(0.0, 1.0), "t": Float(0.0, 1.0)}
    assert with_conditions(space, ["t"]) == {"x": space["x"], "t": Context(0.0, 1.0)}
    assert with_conditions(space, []) == space
    with pytest.raises(SettingsError, match=r"columns of the table that vary"):
        with_conditions(space, ["u"])


@pytest.mark.slow
def test_recommend_decides_for_a_condition_of_a_table_and_of_a_journal(tmp_path):
    rows, journal = ["x,t,value"], tmp_path / "run.jsonl"
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "t": rahbo.Context(0.0, 1.0)}, journal=journal)
    for x in np.linspace(0.0, 1.0, 5):
        for t in (0.0, 0.5, 1.0):
            value = -((x - t) ** 2)
            opt.tell({"x": float(x), "t": t}, value)
            rows.append(f"{x},{t},{value}")
    opt.close()
    table = tmp_path / "past.csv"
    table.write_text("\n".join(rows) + "\n")
    for source in (table, journal):
        for t in (0.0, 1.0):
            said = ["--maximize"] if source == table else []
            done = CliRunner().invoke(
                main, ["recommend", str(source), *said, "--context", f"t={t}", "--json"]
            )
            assert done.exit_code == 0, done.output
            assert json.loads(done.stdout)["recommendation"]["params"] == {"x": t, "t": t}
    wrong = CliRunner().invoke(main, ["recommend", str(journal), "--context", "u=1"])
    assert wrong.exit_code != 0
    assert "unknown ['u']" in wrong.output
