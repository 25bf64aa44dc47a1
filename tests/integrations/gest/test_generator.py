"""The generator by itself: what the standard asks of it, and what repeats and failures add."""

import copy
import importlib
import math
import pickle
import random

import pytest
from gest_api.generator import Generator
from gest_api.vocs import VOCS

import rahbo
from rahbo.errors import DataError, ExhaustedError, JournalError, NotReadyError, SettingsError
from rahbo.integrations.gest import RahboGenerator
from rahbo.policy import RandomSearch

standard = importlib.import_module("gest_api.tests.test_generator")

VARIABLES = {"x": [0.0, 2.0], "y": [-1.0, 1.0]}
PLAIN = VOCS(variables=VARIABLES, objectives={"f": "MAXIMIZE"})
LIMITED = VOCS(
    variables=VARIABLES,
    objectives={"f": "MINIMIZE"},
    constraints={"loss": ["LESS_THAN", 1.0]},
    constants={"energy": 5.8},
    observables=["temperature"],
)


def made(vocs=PLAIN, **settings) -> RahboGenerator:
    settings = {
        "repeats": 3,
        "seed": 0,
        "method": rahbo.Method(strategy=RandomSearch()),
        **settings,
    }
    return RahboGenerator(vocs, **settings)


def valued(points, start=0.0) -> list[dict]:
    return [{**point, "f": start + i} for i, point in enumerate(points)]


def values(generator) -> list[dict[int, float]]:
    return [dict(trial.values) for trial in generator.optimizer.trials]


# -- the standard ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "check",
    [
        "test_gen_fails_without_variable",
        "test_gen_fails_without_objective",
        "test_gen_has_constant_alpha",
        "test_suggest_default_single_point",
    ],
)
def test_the_standards_own_tests_that_fit_any_generator(check, monkeypatch) -> None:
    # Its other tests are about the order and the data of the random generator that it defines.
    monkeypatch.setattr(standard, "RandomGenerator", RahboGenerator)
    getattr(standard, check)()


def test_it_is_a_generator_of_the_standard() -> None:
    generator = made(standard.vocs_full)
    assert isinstance(generator, Generator)
    assert generator.returns_id
    points = generator.suggest(5)
    for point in points:
        assert list(point) == ["x", "y", "alpha", "_id"]
        assert 0.0 <= point["x"] <= 10.0
        assert -5.0 <= point["y"] <= 5.0
        outputs = {"f": point["x"], "temp": 1.0, "c": 6.0, "c1": point["y"], "c2": -4.5}
        generator.ingest([{**point, **outputs}])
    told = [e.outcomes for t in generator.optimizer.trials for e in t.evaluations.values()]
    assert [set(one) for one in told] == [{"c", "c1 (low)", "c1 (high)", "c2"}] * 5
    generator.finalize()
    with pytest.raises(ValueError, match="did not give out"):
        generator.ingest([{**points[0], "_id": 1000, "f": 1.0}])


def test_the_best_point_follows_the_direction_of_the_objective() -> None:
    points = [{"x": x, "y": 0.0, "f": f} for x, f in [(0.1, 1.8), (0.2, 1.5), (0.3, 2.0)]]
    for kind, best in (("MINIMIZE", 0.2), ("MAXIMIZE", 0.3)):
        generator = made(VOCS(variables=VARIABLES, objectives={"f": kind}))
        generator.ingest(points)
        assert generator.optimizer.recommend(rule="best_observed").params["x"] == best


# -- suggesting --------------------------------------------------------------------------------


def test_exactly_as_many_points_as_asked_although_points_have_repeats() -> None:
    generator, points = made(), []
    for n in (1, 4, 0, 2, 3):
        given = generator.suggest(n)
        assert len(given) == n
        points += given
    assert [point["_id"] for point in points] == list(range(1, 11))
    settings = [(point["x"], point["y"]) for point in points]
    assert [settings.count(one) for one in dict.fromkeys(settings)] == [3, 3, 3, 1]


def test_suggestions_have_constants_and_plain_numbers() -> None:
    (point,) = made(LIMITED).suggest(1)
    assert point["energy"] == 5.8
    assert {type(value) for value in point.values()} == {float, int}


def test_too_few_points_are_an_error_and_those_there_are_come_next(monkeypatch) -> None:
    def ask(self):
        raise ExhaustedError("no legal point is left")

    generator = made()
    generator.suggest(1)
    with monkeypatch.context() as patch:
        patch.setattr(type(generator.optimizer), "ask", ask)
        with pytest.raises(ValueError, match="cannot give 4 points: no legal point"):
            generator.suggest(4)
    assert [point["_id"] for point in generator.suggest(2)] == [2, 3]


def test_safe_runs_start_from_a_told_point() -> None:
    generator = made(LIMITED, safe=True, repeats=1)
    with pytest.raises(NotReadyError):
        generator.suggest(1)
    generator.ingest([{"x": 1.0, "y": 0.0, "f": 1.0, "loss": v} for v in (0.1, 0.11, 0.09)])
    assert len(generator.suggest(2)) == 2


# -- ingesting ---------------------------------------------------------------------------------


def test_results_may_come_in_any_order_and_in_parts() -> None:
    generator = made()
    points = valued(generator.suggest(5))
    generator.ingest([points[4], points[2], points[0]])
    assert values(generator) == [{0: 0.0, 2: 2.0}, {1: 4.0}]
    assert generator.suggest(1)[0]["_id"] == 6
    generator.ingest([points[1], points[3]])
    assert values(generator) == [{0: 0.0, 1: 1.0, 2: 2.0}, {0: 3.0, 1: 4.0}]


def test_a_result_that_comes_twice_counts_once() -> None:
    generator = made()
    points = valued(generator.suggest(2))
    generator.ingest(points)
    generator.ingest(points)
    generator.ingest([{**points[0], "f": math.nan}])
    assert values(generator) == [{0: 0.0, 1: 1.0}]
    with pytest.raises(DataError, match="has already"):
        generator.ingest([{**points[0], "f": 7.0}])


def test_several_measurements_of_a_point_in_one_call_all_count() -> None:
    # Xopt makes rows of a list that an evaluation returns.
    generator = made(repeats=2)
    (point,) = generator.suggest(1)
    rows = [{**point, "f": value} for value in (1.0, 1.0, 2.0)]
    generator.ingest(rows)
    generator.ingest(rows[2:])
    assert values(generator) == [{0: 1.0, 2: 1.0, 3: 2.0}]
    generator.ingest([{**generator.suggest(1)[0], "f": 5.0}])
    assert values(generator) == [{0: 1.0, 1: 5.0, 2: 1.0, 3: 2.0}]


def test_points_that_were_never_suggested_are_the_users() -> None:
    generator = made(n_initial=6)
    generator.ingest(valued([{"x": 0.1 * i, "y": 0.0} for i in range(4)]))
    assert generator.optimizer.state.counts.trials == {"user": 4}
    assert [point["_id"] for point in generator.suggest(7)] == list(range(1, 8))
    # Past results count towards the initial design.
    sources = [trial.source for trial in generator.optimizer.trials]
    assert sources == ["user"] * 4 + ["design"] * 2 + ["strategy"]


def test_a_host_that_drops_ids_still_fills_the_repeats() -> None:
    generator = made(repeats=2)
    points = [{"x": p["x"], "y": p["y"]} for p in generator.suggest(4)]
    generator.ingest(valued(points[:1]))
    generator.ingest(
        [*valued(points[1:2], 5.0), {**points[2], "f": None}, *valued(points[3:], 8.0)]
    )
    assert values(generator) == [{0: 0.0, 1: 5.0}, {1: 8.0}]
    assert list(generator.optimizer.trials[1].failures) == [0]


def test_failures_are_told_as_failures() -> None:
    generator = made()
    points = generator.suggest(5)
    no_value, error = {**points[0], "f": math.nan}, {"xopt_error": True, "xopt_error_str": "trip"}
    generator.ingest([no_value, points[1], {**points[2], **error}, {"x": 1.0, "y": 0.0}])
    first, _, own = generator.optimizer.trials
    assert list(first.failures) == [0, 1, 2]
    assert first.failures[2] == "trip"
    assert own.failures
    # A value that arrives after all takes the place of the failure.
    generator.ingest([{**points[0], "f": 3.0}])
    assert values(generator)[0] == {0: 3.0}


def test_if_one_result_is_wrong_none_is_taken() -> None:
    generator = made()
    points = valued(generator.suggest(3))
    for wrong in (
        {**points[2], "_id": 99},
        {**points[2], "x": 1.9},
        {"x": 9.0, "y": 0.0, "f": 1.0},
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - three different sentences
            generator.ingest([*points[:2], wrong])
    assert generator.optimizer.n_evaluations == 0


def test_an_id_that_was_not_handed_out_is_refused(tmp_path) -> None:
    generator = made(journal=tmp_path / "run.jsonl")
    points = valued(generator.suggest(2))
    # The third repeat of this point waits to be handed out.
    with pytest.raises(DataError, match="has not returned yet"):
        generator.ingest([points[0], {**points[1], "_id": 3}])
    with pytest.raises(DataError, match="whole number"):
        generator.ingest([{**points[1], "_id": math.inf}])
    assert generator.optimizer.n_evaluations == 0
    generator.finalize()
    # A run that is resumed cannot know which ids it handed out, so it takes all of them.
    resumed = made(journal=tmp_path / "run.jsonl")
    assert resumed.suggest(1)[0]["_id"] == 1
    resumed.ingest([points[1]])
    assert values(resumed) == [{1: 1.0}]


def test_results_may_be_a_frame() -> None:
    generator = made()
    points = valued(generator.suggest(3))
    pandas = pytest.importorskip("pandas")
    generator.ingest(pandas.DataFrame([*points, {"x": 0.5, "y": 0.5, "f": 9.0}]))
    assert values(generator) == [{0: 0.0, 1: 1.0, 2: 2.0}, {0: 9.0}]


def test_constraints_are_read_from_their_outputs() -> None:
    generator = made(LIMITED, repeats=1, probability=0.9)
    first, second = generator.suggest(2)
    generator.ingest([{**first, "f": 1.0, "loss": 0.5}, {**second, "f": 2.0, "loss": math.nan}])
    assert generator.optimizer.settings.constraints == {"loss": rahbo.AtMost(1.0, 0.9)}
    told = [dict(trial.evaluations[0].outcomes) for trial in generator.optimizer.trials]
    assert told == [{"loss": 0.5}, {}]


@pytest.mark.slow
def test_it_finds_the_quiet_optimum() -> None:
    generator, rng = RahboGenerator(PLAIN, risk=rahbo.MeanStd(2.0), seed=0), random.Random(0)
    for _ in range(12):
        points = generator.suggest(4)
        for point in points:
            # Two hills of nearly the same height; the one at 1.6 is the noisier.
            hills = max(1 - 4 * (point["x"] - 0.4) ** 2, 1.1 - 4 * (point["x"] - 1.6) ** 2)
            noise = 0.05 + 0.4 * (point["x"] > 1.0)
            point["f"] = hills - point["y"] ** 2 + noise * rng.gauss(0, 1)
        generator.ingest(points)
    assert abs(generator.optimizer.recommend().params["x"] - 0.4) < 0.25


# -- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        *((lambda n=n: made().suggest(n), ValueError, "whole number") for n in (-1, 1.5, "2")),
        (lambda: made(constraints=None), SettingsError, "does not take constraints="),
        (lambda: made(direction=None), SettingsError, "does not take direction="),
        (lambda: made(blocks=None), SettingsError, "does not take blocks="),
        (lambda: made(repeat=3), TypeError, "Did you mean repeats"),
        (lambda: made(risk=1.0), SettingsError, "risk"),
        (lambda: made().ingest({"x": 1.0}), DataError, r"\[point\]"),
        (lambda: made().ingest(["x"]), DataError, "dictionaries"),
    ],
)
def test_misuse_is_refused_at_once(call, error, said) -> None:
    with pytest.raises(error, match=said):
        call()


# -- files and copies --------------------------------------------------------------------------


def test_a_run_continues_from_its_journal(tmp_path) -> None:
    path = tmp_path / "run.jsonl"
    whole, killed = made(), made(journal=path)
    points = valued(whole.suggest(5))
    assert valued(killed.suggest(5)) == points
    for generator in (whole, killed):
        generator.ingest(points[:3] + points[4:])
    killed.optimizer.close()  # as the end of the process does
    again = made(journal=path, seed=None)
    # The point that was lost comes first, with its old id, and late results still find theirs.
    assert [p["_id"] for p in again.suggest(2)] == [4, 6]
    again.ingest(points)
    assert again.optimizer.settings.seed == 0
    whole.ingest(points)
    assert values(again) == values(whole)


def test_the_journal_is_opened_by_the_copy_that_is_used(tmp_path) -> None:
    path = tmp_path / "run.jsonl"
    original = made(journal=path)
    assert not path.exists()
    # Xopt copies a generator, and other programs pickle it.
    for copied in (copy.deepcopy, lambda generator: pickle.loads(pickle.dumps(generator))):
        points = original.suggest(2)
        other = copied(original)
        other.ingest(valued(points))
        assert other.suggest(1)[0]["_id"] == points[-1]["_id"] + 1
        with pytest.raises(JournalError):
            original.ingest([{**points[0], "f": 0.0}, {"x": 0.5, "y": 0.0, "f": 1.0}])
        original = other


def test_copies_without_a_journal_are_independent() -> None:
    original = made()
    points = original.suggest(2)
    other = copy.deepcopy(original)
    other.ingest(valued(points))
    assert original.suggest(2) == other.suggest(2)
    assert original.optimizer.n_evaluations == 0


def test_a_generator_can_be_used_after_it_was_finalised(tmp_path) -> None:
    generator = made(journal=tmp_path / "run.jsonl")
    generator.finalize()
    points = generator.suggest(1)
    generator.finalize()
    generator.ingest(valued(points))
    assert values(made(journal=tmp_path / "other.jsonl")) == []
    generator.finalize()
    assert rahbo.Optimizer.resume(tmp_path / "run.jsonl").n_evaluations == 1


def test_catching_up_leaves_out_what_is_known() -> None:
    generator = made()
    own = [{"x": 1 / 3, "y": 0.0, "f": 1 / 7}] * 2 + [{"x": 0.5, "y": 0.0, "f": math.nan}]
    generator.ingest(own)
    points = valued(generator.suggest(3), 1 / 3)
    generator.ingest([*points[:2], {**points[1], "f": 9.0}])
    before = values(generator)
    rows = [*own, points[0], points[1], {**points[1], "f": 9.0}]
    rounded = [{k: v if k == "_id" else round(v, 10) for k, v in row.items()} for row in rows]
    generator.catch_up(rounded)
    assert values(generator) == before
    stranger = {"x": 0.1, "y": 0.1, "f": 4.0, "_id": 77}
    generator.catch_up([*rounded, points[2], stranger])
    assert generator.optimizer.n_evaluations == 8
    assert values(generator)[-1] == {0: 4.0}
