"""Which columns of a whole table are parameters."""

from itertools import product

import numpy as np
import pytest

from rahbo.cli.columns import Column
from rahbo.cli.roles import question, roles_of


def columns_of(table):
    return [Column(name, [str(cell) for cell in cells]) for name, cells in table.items()]


def roles(table, sure=()):
    return {name: verdict.role for name, verdict in roles_of(columns_of(table), sure).items()}


def unclear(table, sure=()):
    return [name for name, role in roles(table, sure).items() if role == "unclear"]


def shuffled(rng, table):
    order = rng.permutation(len(next(iter(table.values()))))
    return {name: np.asarray(cells)[order] for name, cells in table.items()}


def random_search(rng, n=40):
    return {
        "lr": 10.0 ** rng.uniform(-5, -1, n),
        "depth": rng.integers(1, 12, n),
        "kind": rng.choice(["a", "b"], n),
    }


def repeats(rng, m=15, k=3):
    row = np.repeat(np.arange(m), k)
    return {"lr": (10.0 ** rng.uniform(-5, -1, m))[row], "depth": rng.integers(1, 12, m)[row]}


def grid(k):
    points = [(t, c) for t, c in product((20, 30, 40, 50), (0.1, 0.5, 1.0)) for _ in range(k)]
    return {"temp": [t for t, _ in points], "conc": [c for _, c in points]}


def latin_hypercube(rng, k=8):
    n = 3 * k
    return {
        "x": (rng.permutation(n) + rng.random(n)) / n,
        "kind": rng.permutation(["a", "b", "c"] * k),
    }


def focusing(rng, n=60):
    """Return what an optimiser tried that comes ever closer to its favourite."""
    width = np.linspace(1.0, 0.1, n)
    return {
        "lr": 10.0 ** (-3 + width * rng.standard_normal(n)),
        "depth": np.clip(np.rint(6 + 4 * width * rng.standard_normal(n)), 1, 11).astype(int),
        "kind": np.where(rng.random(n) < 0.5 * width, "a", "b"),
    }


def adaptive(rng, m=20):
    row = rng.permutation(np.repeat(np.arange(m), np.arange(m) % 4 + 1))
    return {"x": rng.random(m)[row], "y": rng.random(m)[row]}


@pytest.mark.parametrize(
    "design",
    [random_search, repeats, latin_hypercube, focusing, adaptive,
     lambda rng: {"x": rng.random(30)},
     lambda rng: {"x": rng.random(30), "y": rng.random(30)},
     lambda rng: shuffled(rng, repeats(rng)),
     lambda rng: grid(1), lambda rng: grid(3), lambda rng: shuffled(rng, grid(3)),
     lambda rng: {"x": np.linspace(0.0, 1.0, 20)},
     lambda rng: {"x": np.repeat([20, 30, 40], 4)}],
)  # fmt: skip
def test_the_parameters_of_common_designs_are_not_doubted(design):
    for seed in range(20):
        table = design(np.random.default_rng(seed))
        assert set(roles(table).values()) == {"parameter"}, (seed, table)


@pytest.mark.parametrize(
    "design",
    [repeats, adaptive, lambda rng: shuffled(rng, repeats(rng)),
     lambda rng: grid(3), lambda rng: shuffled(rng, grid(3)),
     lambda rng: {"x": np.repeat([20, 30, 40], 4)}],
)  # fmt: skip
def test_what_differs_between_repeats_is_doubted(design):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = design(rng)
        n = len(next(iter(table.values())))
        more = {"purity": rng.random(n), "counts": rng.choice(10**6, n, replace=False)}
        assert unclear({**table, **more}) == ["purity", "counts"]
        assert unclear({**table, **more}, ["purity", "counts"]) == []
        rounded = {**table, "purity": rng.random(n).round(2)}
        assert unclear(rounded) == ["purity"]


def test_what_rises_from_row_to_row_is_doubted(rng):
    table = random_search(rng)
    assert unclear({"clock": np.cumsum(rng.random(40)), **table}) == ["clock"]
    assert unclear({"gaps": np.sort(rng.choice(99, 40, replace=False)), **table}) == ["gaps"]
    assert unclear({"clock": np.cumsum(rng.random(40)), **table}, ["clock"]) == []


def test_names_and_counts_of_the_settings_are_doubted(rng):
    table = repeats(rng)
    assert unclear({"config": np.repeat(np.arange(15), 3), **table}) == ["config"]
    labels = np.repeat([f"S{i % 7}-{i}" for i in range(15)], 3)
    assert unclear({"sample": labels, **table}) == ["sample"]
    assert unclear({"sample": labels, **table}, ["sample"]) == []


def test_if_nothing_else_is_left_the_user_is_asked():
    assert roles({"k": range(20), "fixed": [1] * 20}) == {"k": "unclear", "fixed": "left out"}
    assert roles({"k": range(20), "fixed": [1] * 20}, ["k"])["k"] == "parameter"
    assert roles({"fixed": [1] * 20}) == {"fixed": "left out"}


def test_the_question_lists_every_column_and_the_options():
    table = {
        "run": range(12),
        "x y": [0.5, 1.5, 2.5] * 4,
        "seed": [1, 2] * 6,
        "note": ["hot", ""] * 6,
        "text": ["None", "3"] * 6,
    }
    columns = columns_of(table)
    assert question("loss", columns, roles_of(columns, ())).splitlines() == [
        "  loss   measured",
        "  run    left out   whole numbers, 0 to 11, counts the rows",
        "  'x y'  parameter  numbers, 0.5 to 2.5",
        "  seed   unclear    whole numbers, 1 to 2, named like a repeat or its seed:  "
        "--ignore seed  or  -p seed",
        "  note   unclear    empty in 6 of 12 rows, else texts 'hot':  "
        "--ignore note, or fill in the cells",
        "  text   unclear    numbers, and texts such as 'None':  "
        "--ignore text  or  -p text (as choices)",
        "If none of the unclear columns is a parameter, add: "
        "--ignore seed --ignore note --ignore text",
    ]
    columns = columns_of({"k": range(20)})
    asked = question("loss", columns, roles_of(columns, ()))
    assert asked.endswith("At least one column must be a parameter. Add it, such as -p k")


def test_the_table_that_rahbo_writes_is_read_as_it_was_meant():
    table = {
        "trial": [0, 0, 1, 2, 3, 3], "source": ["design"] * 3 + ["strategy"] * 2 + ["confirm"],
        "x": [0.1, 0.1, 0.5, 0.7, 0.2, 0.2], "kind": ["a", "a", "b", "b", "a", "a"],
        "repeat": [0, 1, 0, 0, 0, 1], "block": [""] * 6, "failure": ["", "", "", "no beam", "", ""],
    }  # fmt: skip
    assert [name for name, role in roles(table).items() if role == "parameter"] == ["x", "kind"]
    assert unclear(table) == []
    # Its parameters stand before the repeats, whatever they look like, and outcomes after them.
    rng = np.random.default_rng(0)
    row = np.repeat(np.arange(12), [2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 6])
    long = {
        "trial": row, "source": ["strategy"] * len(row), "n": row + 1,
        "x": rng.random(12)[row], "kind": rng.choice(["a", "b"], 12)[row],
        "repeat": np.arange(len(row)) % 2, "block": [""] * len(row),
        "loss": rng.random(len(row)), "failure": [""] * len(row),
    }  # fmt: skip
    assert [n for n, role in roles(long).items() if role == "parameter"] == ["n", "x", "kind"]
    assert unclear(long) == []
    assert roles(long, sure=["loss"])["loss"] == "parameter"
    # The time of each row, where it is known, is not asked about either.
    times = [f"2026-11-16T23:14:0{i}.123Z" for i in range(5)]
    assert roles(table | {"time": [*times, ""]})["time"] == "left out"
    assert roles(table | {"time": [""] * 6})["time"] == "left out"
    # A parameter may have that name, in a table that was written before there were times.
    before = {"time": [2.5, 2.5, 4.0, 1.0, 7.5, 7.5], **table}
    assert roles(before)["time"] != "left out"
    assert roles(before, sure=["time"])["time"] == "parameter"
    # Other people's tables may have such names too.
    other = table | {"source": ["lamp", "lamp", "laser", "laser", "lamp", "lamp"]}
    assert roles(other)["source"] == "parameter"
    assert "trial" in unclear(other)
