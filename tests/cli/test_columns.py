"""What a column looks like by itself."""

from uuid import UUID

import numpy as np
import pytest

from rahbo.cli.columns import MAX_CHOICES, Column, look_at
from rahbo.errors import SpaceError
from rahbo.space import Categorical, Float, Int

RNG = np.random.default_rng(0)
DAYS = [f"2024-03-{day:02d}" for day in range(1, 31)]
UUIDS = [str(UUID(int=int(a) << 64 | int(b))) for a, b in RNG.integers(0, 2**63, (30, 2))]
SHORT_HASHES = [f"{int(i):08x}" for i in RNG.integers(16**7, 16**8, 30)]


def column(name, cells):
    return Column(name, [str(cell) for cell in cells])


def rows(*cells, n=30):
    """Return the cells again and again, in 30 rows."""
    return [cells[i % len(cells)] for i in range(n)]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        # A random search: different in every row, and still a parameter.
        ("x", RNG.random(30)),
        ("lr", 10.0 ** RNG.uniform(-5, -1, 30)),
        ("width", RNG.choice(np.arange(16, 1024), 30, replace=False)),
        ("x", RNG.random(2)),
        ("x", RNG.random(5)),
        ("x", np.arange(30) + 0.5),
        # A grid, levels and choices.
        ("temperature", rows(20, 30, 40)),
        ("depth", rows(1, 2, 3)),
        ("depth", np.repeat(np.arange(10), 3)),
        ("n_estimators", range(10, 310, 10)),
        ("kernel", rows("rbf", "linear")),
        ("ratio", rows("1:10", "1:20")),
        ("layers", rows("64-32", "32-16")),
        ("temp", rows("20 C", "25 C")),
        ("size", rows("7b", "13b", "mistral")),
        ("scale", rows("relu", "2x", "4x")),
        ("frequency", RNG.uniform(1e9, 2e9, 30)),
        # Names that only begin like those of something else, or whose values do not agree.
        ("number_of_layers", rows(1, 2, 3)),
        ("n_folds", rows(3, 5, 10)),
        ("loss_weight", RNG.random(30)),
        ("loss", rows("hinge", "log")),
        ("reaction time", rows(10, 20, 30)),
        ("time_step", RNG.random(30)),
        ("random_state_noise", RNG.random(30)),
    ],
)
def test_parameters(name, cells):
    assert look_at(column(name, cells)).role == "parameter"


@pytest.mark.parametrize(
    ("name", "cells", "look"),
    [
        ("batch", rows(32), "always '32'"),
        ("batch", rows("32", "32.0"), "always '32'"),
        ("model", rows("resnet"), "always 'resnet'"),
        ("note", rows(""), "empty"),
        ("when", DAYS, "dates or times"),
        ("when", ["2024-03-01", "2024-03-02"], "dates or times"),
        ("when", rows("2024-03-01", "2024-03-02"), "dates or times"),
        ("end", rows("2024-03-01", ""), "dates or times"),
        ("day", range(20240301, 20240331), "dates or times"),
        ("took", [f"0 days 00:00:{i:02d}.5" for i in range(30)], "dates or times"),
        ("ts", 1.71e9 + np.cumsum(RNG.uniform(1, 100, 30)), "times, counted since 1970"),
        ("ts", (1.71e12 + np.arange(30) * 61_000).astype(int), "times, counted since 1970"),
        ("started", 1.71e9 + RNG.uniform(0, 1e5, 5), "times, counted since 1970"),
        ("k", range(30), "whole numbers, 0 to 29, counts the rows"),
        ("k", range(1, 31), "whole numbers, 1 to 30, counts the rows"),
        ("k", [f"{i}.0" for i in range(30)], "whole numbers, 0 to 29, counts the rows"),
        ("k", range(30, 0, -1), "whole numbers, 1 to 30, counts the rows"),
        ("run", range(3), "whole numbers, 0 to 2, counts the rows"),
        ("run_id", range(1042, 1072), "whole numbers, 1042 to 1071, counts the rows"),
        ("trialNumber", [0, 1, 4, 7, 9], "named like an id"),
        ("Run No.", [7, 3, 9, 1], "named like an id"),
        ("job id", ["a1", "a2", "b7"], "named like an id"),
        ("x", UUIDS, "identifiers, different in every row"),
        ("x", SHORT_HASHES[:4], "identifiers, different in every row"),
        ("x", ["1234567", "123e567", "12ab567"], "identifiers, different in every row"),
        ("job id", ["7", "8", "8b"], "named like an id"),
        ("x", [f"sample-{i}" for i in range(30)], "different in every row"),
    ],
)  # fmt: skip
def test_left_out(name, cells, look):
    verdict = look_at(column(name, cells))
    assert verdict.role == "left out"
    assert look in verdict.look


@pytest.mark.parametrize(
    ("name", "cells", "look"),
    [
        # Too few rows, or a start other than 0 and 1.
        ("k", range(1, 6), "counts the rows"),
        ("temperature", range(20, 50), "counts the rows"),
        ("k", RNG.permutation(30), "each of them once"),
        ("catalyst", ["Pd", "Pt", "Ni"], "different in every row"),
        ("note", rows("hot", "", ""), "empty in 20 of 30 rows, else texts 'hot'"),
        ("seed", rows(1, 2, 3), "named like a repeat or its seed"),
        ("random_state", RNG.choice(1000, 30, replace=False), "named like a repeat"),
        ("cv fold", rows(0, 1, 2), "named like a repeat"),
        ("config id", np.repeat(range(10), 3), "named like an id"),
        ("state", rows("COMPLETE", "FAIL"), "named like a state"),
        ("val_loss", RNG.random(30), "named like another outcome"),
        ("duration_ms", RNG.random(30), "named like a time"),
        ("started", np.linspace(1.0e9, 1.9e9, 30), "perhaps times"),
        ("max_depth", rows("None", 3, 5), "numbers, and texts such as 'None'"),
        ("delay", rows("10 ms", "1 s"), "numbers with different units"),
        ("sizes", rows("64,32", "32,16"), "digits, but not plain numbers"),
        ("sizes", [f"{i},{i}" for i in range(30)], "digits, but not plain numbers"),
        ("price", rows("1,234.5", "1,199.0"), "digits, but not plain numbers"),
        ("price", rows("1'234", "1'199"), "digits, but not plain numbers"),
        ("sizes", [*range(29), "big"], "numbers, and texts such as 'big'"),
        ("T", rows("20,5", "25,5", "RT"), "numbers, and texts such as 'RT'"),
        ("T", rows("20 C", "25 C", "RT"), "numbers, and texts such as 'RT'"),
        ("T", rows("20,5 C", "25,5 C"), "numbers with commas"),
        ("comment", [f"text {i % 20}" for i in range(30)], "20 different texts in 30 rows"),
        ("kind", rows(*(f"kind {i}" for i in range(MAX_CHOICES + 1)), n=200), "51 different texts"),
    ],
)  # fmt: skip
def test_unclear(name, cells, look):
    verdict = look_at(column(name, cells))
    assert verdict.role == "unclear"
    assert look in verdict.look


def test_the_range_of_a_column():
    assert column("x", [1, 3, 2]).parameter() == Int(1, 3)
    assert column("x", ["1", "3.5"]).parameter() == Float(1.0, 3.5)
    assert column("x", ["1 s", "3 s"]).parameter() == Int(1, 3)
    assert column("x", ["b", "a", "b"]).parameter() == Categorical(["b", "a"])
    with pytest.raises(SpaceError, match="column 'x': Int needs low < high"):
        column("x", [1, 1]).parameter()
    with pytest.raises(SpaceError, match="51 different texts"):
        column("x", [f"a{i}" for i in range(MAX_CHOICES + 1)]).parameter()


def test_the_words_of_a_name():
    assert column("trialNumber", []).words == ["trial", "number"]
    assert column("params.max_depth-2", []).words == ["params", "max", "depth"]
    assert column("time_ms", []).words == ["time"]
    assert column("s", []).words == ["s"]
