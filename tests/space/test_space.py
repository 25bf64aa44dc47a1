"""The border between user units and the unit cube."""

import json
import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rahbo.errors import SpaceError
from rahbo.space import Candidates, Categorical, Float, Int, Space

MIXED = {
    "lr": Float(1e-4, 1e-1, log=True),
    "x": (-5.0, 10.0),
    "depth": Int(1, 15),
    "width": Int(4, 4096, log=True),
    "criterion": ["gini", "entropy"],
    "kind": Categorical(["a", 1, True, None, 2.5]),
}
GOOD = {"lr": 0.01, "x": 0.0, "depth": 3, "width": 64, "criterion": "gini", "kind": None}
ROWS = [
    {"t": 300, "solvent": "water", "stir": True},
    {"t": 350, "solvent": "ethanol", "stir": False},
    {"t": 400, "solvent": "acetone", "stir": True},
]

unit = st.floats(-0.1, 1.1) | st.floats(0.0, 1e-12) | st.floats(1.0 - 1e-12, 1.0)


@st.composite
def floats(draw):
    if draw(st.booleans()):
        sizes = st.floats(1e-9, 1e9) | st.floats(1e-280, 1e280)
        low, high = sorted([draw(sizes), draw(sizes)])
        log = draw(st.booleans())
    else:
        low = draw(st.floats(-1e9, 1e9).filter(lambda v: v == 0 or abs(v) > 1e-280))
        high = low + draw(st.floats(1e-12, 1e12))
        log = False
    if low == high:
        high = math.nextafter(high, math.inf)
    return Float(low, high, log)


@st.composite
def ints(draw):
    low = draw(st.integers(-(10**6), 10**6) | st.integers(1, 10**12 - 1))
    high = draw(st.integers(low + 1, min(low + 50, 10**12)) | st.integers(low + 1, 10**12))
    return Int(low, high, draw(st.booleans()) if low > 0 else False)


choices = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
categoricals = st.lists(
    choices, min_size=2, max_size=6, unique_by=lambda c: (isinstance(c, bool), c)
).map(Categorical)
parameters = floats() | ints() | categoricals
cells = st.integers(-9, 9) | st.floats(-1e3, 1e3).map(lambda v: round(v, 3))


@st.composite
def candidates(draw):
    columns = {"a": cells, "b": cells, "c": st.sampled_from("xyz"), "d": st.booleans()}
    names = draw(st.lists(st.sampled_from(list(columns)), min_size=1, unique=True))
    row = st.fixed_dictionaries({name: columns[name] for name in names})
    rows = draw(st.lists(row, min_size=1, max_size=8, unique_by=lambda r: tuple(sorted(r.items()))))
    return Candidates(rows)


@st.composite
def points(draw):
    """A space and a point somewhere in or just outside the cube."""
    if draw(st.booleans()):
        space = Space.of(draw(candidates()))
    else:
        parts = draw(st.lists(parameters, min_size=1, max_size=4))
        space = Space.of({f"p{i}": part for i, part in enumerate(parts)})
    x = np.array(draw(st.lists(unit, min_size=space.d, max_size=space.d)))
    return space, x


# The fixed point


@given(points())
def test_decode_then_encode_is_an_exact_fixed_point(case):
    space, x = case
    once = space.encode(space.decode(x))
    assert space.encode(space.decode(once)).tobytes() == once.tobytes()
    assert space.decode(once) == space.decode(x)
    assert space.canonical(x).tobytes() == once.tobytes()


@given(points())
def test_snap_agrees_with_the_round_trip_and_is_idempotent(case):
    space, x = case
    snapped = space.snap(x[None])
    assert np.array_equal(space.snap(snapped), snapped)
    np.testing.assert_allclose(space.encode(space.decode(x)), snapped[0], rtol=0, atol=1e-12)
    assert ((snapped >= 0) & (snapped <= 1)).all()


@given(points(), st.integers(0, 2**32 - 1))
def test_uniform_points_are_legal(case, seed):
    space, _ = case
    X = space.from_uniform(np.random.default_rng(seed).random((5, space.n_uniform)))
    assert X.shape == (5, space.d)
    assert np.array_equal(space.snap(X), X)


def test_fixed_point_over_many_random_log_bounds():
    rng = np.random.default_rng(0)
    for spread in (0.01, 1.0, 8.0, 280.0):
        for low, high in np.sort(10.0 ** rng.uniform(-spread, spread, (50, 2)), axis=1):
            space = Space.of({"v": Float(low, high, log=True)})
            once = space.snap(rng.random((500, 1)))
            assert np.array_equal(space.snap(once), once)
            alone = np.array([space.canonical(x) for x in once[:20]])
            assert np.array_equal(alone, once[:20])


@given(floats(), unit)
def test_float_decodes_to_the_exact_formula_within_its_bounds(part, u):
    value = Space.of({"v": part}).decode([u])["v"]
    assert type(value) is float
    assert part.low <= value <= part.high
    w = min(max(u, 0.0), 1.0)
    if part.log:
        expected = math.log(part.low) * (1 - w) + math.log(part.high) * w
        assert math.isclose(math.log(value), expected, rel_tol=0, abs_tol=1e-10)
    else:
        size = max(abs(part.low), abs(part.high))
        assert abs(value - (part.low * (1 - w) + part.high * w)) <= 2e-13 * size


@given(floats())
def test_float_ends_are_exact(part):
    space = Space.of({"v": part})
    assert space.decode([0.0])["v"] == part.low
    assert space.decode([1.0])["v"] == part.high
    assert space.encode({"v": part.low})[0] == 0.0
    assert space.encode({"v": part.high})[0] == 1.0


@given(st.integers(1, 99_999), st.integers(0, 4))
def test_a_value_typed_by_hand_comes_back_as_typed(digits, exponent):
    value = float(f"{digits}e-{exponent}")
    for part in (Float(1e-7, 1e6, log=True), Float(-1e6, 1e6)):
        space = Space.of({"v": part})
        assert space.decode(space.encode({"v": value})) == {"v": value}


@given(ints(), unit)
def test_int_decodes_to_the_nearest_value(part, u):
    value = Space.of({"n": part}).decode([u])["n"]
    assert type(value) is int
    assert part.low <= value <= part.high
    w = min(max(u, 0.0), 1.0)
    if part.log:
        exact = part.low * (part.high / part.low) ** w
        assert abs(value - exact) <= 0.5 + 1e-12 * part.high
    else:
        assert abs(value - (part.low + w * (part.high - part.low))) <= 0.5 + 1e-3


@given(st.integers(-5, 5), st.integers(1, 30), unit)
def test_int_snaps_to_the_nearest_column(low, span, u):
    space = Space.of({"n": Int(low, low + span)})
    units = [i / span for i in range(span + 1)]
    gap = abs(space.snap([[u]])[0, 0] - min(max(u, 0.0), 1.0))
    assert gap <= min(abs(c - min(max(u, 0.0), 1.0)) for c in units) + 1e-12


@given(ints(), st.data())
def test_every_int_survives(part, data):
    space = Space.of({"n": part})
    value = data.draw(st.integers(part.low, part.high))
    assert space.decode(space.encode({"n": value})) == {"n": value}


# Encoding


def test_encoding_of_each_kind_by_hand():
    space = Space.of(MIXED)
    x = space.encode(GOOD)
    two_thirds = (math.log10(0.01) + 4) / 3
    expected = [two_thirds, 5 / 15, 2 / 14, 4 / 10, 0, 0, 0, 0, 1, 0]
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-14)
    assert space.decode(x) == GOOD
    assert space.columns == (
        *("lr", "x", "depth", "width", "criterion=entropy"),
        *("kind=a", "kind=1", "kind=True", "kind=None", "kind=2.5"),
    )
    assert (space.d, space.n_uniform, space.revisit) == (10, 6, True)
    assert space.names == tuple(MIXED)
    assert space.continuous.tolist() == [True, True] + [False] * 8
    assert space.size == math.inf


def test_decoded_values_are_plain_and_choices_keep_their_type():
    space = Space.of(MIXED)
    params = space.decode(space.encode({**GOOD, "kind": True, "depth": np.float64(3.0)}))
    assert params["kind"] is True
    assert type(params["depth"]) is int
    assert type(params["lr"]) is float
    assert space.decode(space.encode({**GOOD, "kind": 1}))["kind"] == 1
    assert json.loads(json.dumps(params)) == params
    plain = Categorical(np.array([1, 2, 3])).choices
    assert [type(c) for c in plain] == [int] * 3


def test_numpy_scalars_and_whole_floats_are_numbers():
    space = Space.of(MIXED)
    other = {**GOOD, "x": np.float32(0), "depth": np.int64(3), "width": 64.0, "kind": np.float64(1)}
    assert np.array_equal(space.encode(other), space.encode({**GOOD, "kind": 1}))


def test_values_a_hair_beyond_a_bound_are_clipped():
    space = Space.of({"a": Float(1e-4, 0.1, log=True), "b": (0.0, 3.0)})
    assert space.encode({"a": 1e-4 * (1 - 5e-13), "b": 3.0 + 1e-12}).tolist() == [0.0, 1.0]
    with pytest.raises(SpaceError, match="outside"):
        space.encode({"a": 1e-4 * (1 - 1e-11), "b": 3.0})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lr": 12.0}, r"lr=12\.0 is outside Float\(0\.0001, 0\.1, log=True\)\. Pass values in "),
        ({"x": math.nan}, "x=nan must be a number"),
        ({"x": math.inf}, "x=inf is outside"),
        ({"x": 10**400}, "is outside"),
        ({"x": True}, "x=True must be a number"),
        ({"x": "1"}, "x='1' must be a number"),
        ({"depth": 3.5}, r"depth=3\.5 must be a whole number for Int\(1, 15\)"),
        ({"depth": 16}, r"depth=16 is outside Int\(1, 15\)"),
        ({"depth": np.True_}, "depth=True must be a number"),
        ({"criterion": "log"}, r"criterion='log' is not a choice of Categorical\(\['gini', "),
        ({"criterion": ["gini"]}, "is not a choice"),
        ({"kind": False}, "kind=False is not a choice"),
        ({"extra": 1}, r"missing \[\], unknown \['extra'\]"),
    ],
)
def test_encode_names_the_culprit(change, message):
    with pytest.raises(SpaceError, match=message):
        Space.of(MIXED).encode({**GOOD, **change})


def test_encode_refuses_missing_names_and_other_types():
    space = Space.of(MIXED)
    with pytest.raises(SpaceError, match=r"missing \['x'\]"):
        space.encode({name: value for name, value in GOOD.items() if name != "x"})
    with pytest.raises(SpaceError, match="must be a dict"):
        space.encode([0.1])


# Definitions


def test_reprs_and_shorthand():
    assert repr(Float(1e-4, 0.1)) == "Float(0.0001, 0.1)"
    assert repr(Float(1e-4, 0.1, log=True)) == "Float(0.0001, 0.1, log=True)"
    assert repr(Int(1.0, 15)) == "Int(1, 15)"
    assert repr(Categorical(("a", None))) == "Categorical(['a', None])"
    space = Space.of({"x": (0, 15.0), "c": ["a", "b"]})
    assert space.spec == {"x": Float(0.0, 15.0), "c": Categorical(["a", "b"])}
    assert Space.of(space) is space
    assert Space.of(space.spec) == space


# Sets of points


def test_enumerate_lists_the_whole_product():
    space = Space.of({"n": Int(2, 4), "b": [False, True], "c": ["x", "y", "z"]})
    expected = [
        {"n": n, "b": b, "c": c} for n, b, c in product([2, 3, 4], [False, True], ["x", "y", "z"])
    ]
    X = space.enumerate()
    assert [space.decode(x) for x in X] == expected
    assert space.size == len(X) == 18
    assert np.array_equal(X, [space.encode(p) for p in expected])
    few = Space.of(space, valid=lambda p: p["n"] == 3 and p["b"])
    assert [few.decode(x)["c"] for x in few.enumerate()] == ["x", "y", "z"]


@given(points())
def test_neighbours_differ_in_exactly_one_discrete_parameter(case):
    space, x = case
    here = space.decode(x)
    near = space.neighbours(x)
    assert near.shape[1] == space.d
    assert np.array_equal(space.snap(near), near)
    changed = Counter()
    for point in near:
        there = space.decode(point)
        keys = [k for k in here if (type(here[k]), here[k]) != (type(there[k]), there[k])]
        assert len(keys) == 1
        changed[keys[0]] += 1
    assert len(np.unique(near, axis=0)) == len(near)
    for name, part in {} if isinstance(space.spec, Candidates) else space.spec.items():
        if isinstance(part, Float):
            assert changed[name] == 0
        elif isinstance(part, Categorical):
            assert changed[name] == len(part.choices) - 1
        else:
            steps = {space.decode(p)[name] - here[name] for p in near} - {0}
            assert steps >= {s for s in (-1, 1) if part.low <= here[name] + s <= part.high}
            assert len(steps) == changed[name] <= 12


def test_uniform_numbers_give_each_discrete_value_its_share():
    space = Space.of({"n": Int(-1, 4), "b": ["no", "yes"], "c": ["x", "y", "z"]})
    U = np.tile(((np.arange(600) + 0.5) / 600)[:, None], 3)
    drawn = [space.decode(x) for x in space.from_uniform(U)]
    assert Counter(p["n"] for p in drawn) == dict.fromkeys(range(-1, 5), 100)
    assert Counter(p["b"] for p in drawn) == {"no": 300, "yes": 300}
    assert Counter(p["c"] for p in drawn) == {"x": 200, "y": 200, "z": 200}


def test_uniform_numbers_give_log_ints_shares_by_the_log_of_their_cells():
    space = Space.of({"n": Int(1, 20, log=True)})
    u = (np.arange(20_000) + 0.5) / 20_000
    drawn = Counter(space.decode(x)["n"] for x in space.from_uniform(u[:, None]))
    for n in range(1, 21):
        share = math.log((n + 0.5) / (n - 0.5)) / math.log(20.5 / 0.5)
        assert drawn[n] / 20_000 == pytest.approx(share, abs=2e-4)


def test_valid_sees_params_and_its_errors_are_chained():
    space = Space.of({"a": (0.0, 1.0), "b": (0.0, 1.0)}, valid=lambda p: int(p["a"] < p["b"]))
    assert space.is_valid([[0.1, 0.2], [0.2, 0.1]]).tolist() == [True, False]
    assert Space.of({"a": (0.0, 1.0)}).is_valid([[0.5]]).tolist() == [True]
    broken = Space.of(space, valid=lambda p: p["c"])
    with pytest.raises(SpaceError, match=r"KeyError\('c'\) at \{'a': 0\.5, 'b': 0\.25\}") as caught:
        broken.is_valid([[0.5, 0.25]])
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("X", [[0.5], [[0.5, 0.5, 0.5]], [[0.5, math.nan]]])
def test_points_of_a_wrong_shape_or_not_finite_are_refused(X):
    space = Space.of({"a": (0.0, 1.0), "b": (0.0, 1.0)})
    for method in (space.snap, space.from_uniform, space.is_valid, space.decode, space.neighbours):
        with pytest.raises(SpaceError, match="finite"):
            method(X)


def test_empty_sets_of_points():
    for space in (Space.of(MIXED), Space.of(Candidates(ROWS))):
        assert space.snap(np.empty((0, space.d))).shape == (0, space.d)
        assert space.from_uniform(np.empty((0, space.n_uniform))).shape == (0, space.d)
        assert space.is_valid(np.empty((0, space.d))).shape == (0,)


# Candidates


def test_candidates_encoding_by_hand():
    space = Space.of(Candidates(ROWS, revisit=False))
    assert space.columns == (
        *("t", "solvent=water", "solvent=ethanol", "solvent=acetone"),
        "stir=False",
    )
    expected = [[0, 1, 0, 0, 0], [0.5, 0, 1, 0, 1], [1, 0, 0, 1, 0]]
    assert space.enumerate().tolist() == expected
    assert (space.d, space.n_uniform, space.size, space.revisit) == (5, 1, 3.0, False)
    assert not space.continuous.any()
    assert space.neighbours(expected[0]).shape == (0, 5)
    drawn = space.from_uniform([[0.0], [0.34], [0.99], [1.0]])
    assert drawn.tolist() == [expected[i] for i in (0, 1, 2, 2)]


def test_candidates_keep_values_and_hand_out_copies():
    value = np.float32(0.1)
    space = Space.of(Candidates([{"v": value, "k": 7}, {"v": 2, "k": 7}]))
    row = space.decode(space.encode({"v": value, "k": 7}))
    assert row["v"] is value
    row["v"] = 0
    assert space.decode([0.0, 0.0])["v"] is value
    assert space.enumerate().tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_candidates_refuse_what_is_not_listed():
    space = Space.of(Candidates(ROWS))
    with pytest.raises(SpaceError, match="not among the candidates"):
        space.encode({**ROWS[0], "t": 301})
    with pytest.raises(SpaceError, match=r"missing \['stir'\]"):
        space.encode({"t": 300, "solvent": "water"})


def test_candidates_snap_to_the_nearest_row(monkeypatch):
    rng = np.random.default_rng(1)
    rows = [{"a": a, "b": b} for a, b in rng.normal(size=(40, 2)).tolist()]
    space = Space.of(Candidates(rows))
    table = np.array([space.encode(row) for row in rows])
    X = rng.random((200, 2))
    nearest = [min(range(40), key=lambda i, x=x: math.dist(x, table[i])) for x in X]
    assert np.array_equal(space.snap(X), table[nearest])
    assert [space.decode(x) for x in X] == [rows[i] for i in nearest]
    monkeypatch.setattr("rahbo.space.candidates.CHUNK", 100)
    assert np.array_equal(space.snap(X), table[nearest])


@given(points(), st.data())
def test_a_point_that_was_told_decodes_to_what_was_told(point, data):
    space, x = point
    x = space.canonical(x)
    given_ = space.decode(x)
    for name, part in {} if isinstance(space.spec, Candidates) else space.spec.items():
        if isinstance(part, Float):
            near = math.nextafter(given_[name], data.draw(st.sampled_from([-math.inf, math.inf])))
            given_[name] = min(max(near, part.low), part.high)
    if not np.array_equal(space.encode(given_), x):
        return
    knowing = space.with_told({x.tobytes(): given_})
    assert knowing.decode(x) == given_
    assert knowing == space
    assert np.array_equal(knowing.canonical(x), x)
    assert space.decode(x) == Space.of(space.spec).decode(x)


def test_told_values_come_back_in_the_types_of_the_space():
    space = Space.of({"x": (0.0, 2.0), "n": Int(1, 9), "kind": ["a", 2, 3.5]})
    told = {"kind": 2.0, "x": np.float32(0.1), "n": np.int64(4)}
    x = space.encode(told)
    params = space.with_told({x.tobytes(): told}).decode(x)
    assert params == told
    assert list(params) == ["x", "n", "kind"]
    assert [type(value) for value in params.values()] == [float, int, int]


@given(st.data())
def test_several_are_encoded_as_one_by_one(data):
    space = Space.of(MIXED)
    U = np.random.default_rng(data.draw(st.integers(0, 99))).random((5, space.n_uniform))
    several = [space.decode(x) for x in space.from_uniform(U)]
    together = space.encode_all(several)
    assert together.tobytes() == np.array([space.encode(p) for p in several]).tobytes()
    assert space.encode_all([]).shape == (0, space.d)
