"""Repeats that are not noise, as a user meets them: noticed, said, and not asked for again."""

import io
import itertools
import json
import logging
import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

import rahbo
from rahbo.policy import RandomSearch, repeating
from rahbo.running import display as display_module

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
SAID = "Repeats are identical: your objective looks seeded or cached. Give each call a fresh seed"


def mean(x, y):
    return -((x - 0.6) ** 2) - (y - 0.2) ** 2


def of_point(x, y):
    """Noise that is seeded with the point."""
    return mean(x, y) + 0.3 * Random(repr((x, y))).gauss(0, 1)


def in_turn(seeds):
    calls = itertools.count()
    return lambda x, y: mean(x, y) + 0.3 * Random(next(calls) % seeds).gauss(0, 1)


def counts(result):
    return Counter(result.optimizer.observations.count.tolist())


TABLE = np.random.default_rng(7).standard_normal((20, 20))
CACHED = {
    "fixed seed": lambda: lambda x, y: mean(x, y) + Random(0).gauss(0, 0.3),
    "lru_cache": lambda: lru_cache(lambda x, y: mean(x, y) + Random().gauss(0, 0.3)),
    "look-up": lambda: lambda x, y: float(TABLE[round(19 * x), round(19 * y)]),
    "two seeds": lambda: in_turn(2),
    "three seeds": lambda: in_turn(3),
}


# -- noticed ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("make", CACHED.values(), ids=CACHED)
def test_a_cached_objective_is_noticed_within_40_evaluations(make):
    result = rahbo.maximize(make(), SPACE, evaluations=40, seed=0)
    found = result.recommendation
    assert "fresh seed" in found.not_noise
    assert found.not_noise in str(result)
    assert (found.confirm, found.advice) == (0, "")


@pytest.mark.slow
def test_it_is_noticed_in_batches_in_lists_and_when_minimising():
    with ThreadPoolExecutor(2) as pool:
        batches = rahbo.maximize(of_point, SPACE, evaluations=40, seed=0, executor=pool, parallel=2)
    rows = rahbo.Candidates([{"x": i / 9, "y": j / 9} for i in range(10) for j in range(10)])
    listed = rahbo.minimize(of_point, rows, evaluations=40, seed=0)
    for result in (batches, listed):
        assert result.best.not_noise.startswith(SAID)
        assert max(counts(result)) <= 4
        assert sum(counts(result).values()) >= 29


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [
        lambda rng: 0.2 * rng.choice([-1.0, 1.0]),
        lambda rng: 1e-4 * rng.standard_normal(),
    ],
    ids=["two values", "quiet"],
)
def test_noise_is_not_said_to_be_none(noise):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        result = rahbo.maximize(
            lambda x, y, rng=rng: mean(x, y) + noise(rng), SPACE, evaluations=30, seed=seed,
            method=rahbo.Method(strategy=RandomSearch()),
            callback=lambda run: bool(repeating(run.state).repetition),
        )  # fmt: skip
        assert result.stopped_by == "budget"


def test_past_results_are_looked_at_too():
    data = [({"x": x, "y": 0.5}, [math.sin(x)] * 2) for x in np.linspace(0, 1, 8).tolist()]
    opt = rahbo.Optimizer(SPACE, data=data, seed=0)
    assert opt.recommend().not_noise.startswith(SAID)
    # One differing repeat withdraws it.
    opt.tell({"x": 0.0, "y": 0.5}, 1.0)
    assert opt.recommend().not_noise == ""


# -- acted on --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_objective_without_noise_is_hardly_repeated():
    result = rahbo.maximize(lambda x: -((x - 0.3) ** 2), {"x": (0.0, 1.0)}, evaluations=30, seed=0)
    assert max(counts(result)) <= 4
    assert sum(counts(result).values()) >= 21
    assert {t.source for t in result.trials} == {"design", "strategy"}


@pytest.mark.slow
def test_who_says_that_there_is_no_noise_gets_30_points_and_no_warning():
    result = rahbo.maximize(mean, SPACE, evaluations=30, seed=0, noise_std=0)
    assert counts(result) == {1: 30}
    assert result.best.not_noise == ""
    assert result.best.mean == pytest.approx(0.0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [3, rahbo.Folds(3)])
def test_a_number_that_was_said_is_kept(repeats):
    result = rahbo.maximize(of_point, SPACE, evaluations=30, seed=0, repeats=repeats)
    assert {t.n_requested for t in result.trials} == {3}
    assert result.best.not_noise.startswith(SAID)
    assert result.best.advice == ""


@pytest.mark.slow
def test_a_confirmation_that_was_said_is_made():
    result = rahbo.maximize(
        of_point,
        SPACE,
        evaluations=24,
        seed=0,
        confirm=4,
        method=rahbo.Method(strategy=RandomSearch()),
    )
    assert sum(t.n_requested for t in result.trials if t.source == "confirm") == 4


def test_batches_do_not_ask_for_a_point_twice():
    opt = rahbo.Optimizer(SPACE, seed=0)
    for n in (4, 4, 4, 4):
        for s in opt.ask(n):
            opt.tell(s, [of_point(**s.params)] * s.repeats)
    assert repeating(opt.state).is_spared
    points = [tuple(s.params.values()) for s in opt.ask(6)]
    known = {tuple(t.params.values()) for t in opt.trials[:-6]}
    assert len(set(points)) == 6
    assert known.isdisjoint(points)
    assert opt.unconfirmed == 0


def test_a_list_ends_a_run_but_not_those_who_ask_for_more():
    rows = rahbo.Candidates([{"x": x} for x in np.linspace(0, 1, 12).tolist()])

    def objective(x):
        return math.sin(9 * x)

    result = rahbo.maximize(objective, rows, evaluations=60, seed=0)
    assert result.stopped_by == "exhausted"
    assert result.optimizer.observations.n == 12
    assert result.n_evaluations < 25
    opt = result.optimizer
    for s in [opt.ask(), *opt.ask(5)]:
        opt.tell(s, [objective(**s.params)] * s.repeats)
    assert opt.n_evaluations >= 26
    # The last value differs, and all is as with noise.
    s = opt.ask()
    opt.tell(s, [7.7] * s.repeats)
    assert opt.recommend().not_noise == ""
    assert repeating(opt.state).confirmed == 5


@pytest.mark.slow
def test_a_run_that_was_interrupted_continues_bit_for_bit(tmp_path):
    def until(n):
        return lambda run: run.n_evaluations >= n

    def run(name, **how):
        return rahbo.maximize(
            of_point, SPACE, evaluations=24, seed=5, journal=tmp_path / name, **how
        )

    whole = run("whole.jsonl")
    for n in (5, 15, 17):
        run("parts.jsonl", callback=until(n))
    parts = run("parts.jsonl")
    assert [(t.x.tolist(), t.values) for t in parts.trials] == [
        (t.x.tolist(), t.values) for t in whole.trials
    ]
    assert parts.recommendation == whole.recommendation


@pytest.mark.slow
def test_each_condition_is_a_setting_of_its_own():
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "t": rahbo.Context(0.0, 1.0)}, seed=0)
    for i in range(14):
        s = opt.ask(context={"t": (i % 7) / 7})
        opt.tell(s, [math.sin(5 * s.params["x"]) + s.params["t"]] * s.repeats)
    assert opt.recommend(context={"t": 0.5}).not_noise.startswith(SAID)
    assert opt.recommend().not_noise.startswith(SAID)
    assert opt.ask(context={"t": 0.3}).repeats == 1


# -- said ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told():
    """A run without noise whose values were told by hand."""
    data = [({"x": x, "y": x * x}, [mean(x, 0.5)] * 2) for x in np.linspace(0, 1, 12).tolist()]
    return rahbo.Optimizer(SPACE, data=data, seed=0)


def test_the_notebook_the_record_and_the_pages_say_it(told):
    from rahbo.cli.documents import document
    from rahbo.pages import record_of, report_page

    found = told.recommend()
    assert SAID in found._repr_html_()
    assert json.loads(document(found=found))["found"]["not_noise"].startswith(SAID)
    assert SAID in report_page(record_of(told, source="run", made="now"))


def test_a_diagnosis_says_it_in_place_of_what_depends_on_noise(told):
    found = told.diagnose()
    first, second, decision, repeats, _ = (answer for _, answer in found.answers)
    assert first.startswith(SAID)
    assert first == found.not_noise
    assert second.startswith("No answer")
    assert decision.startswith("Cannot tell")
    assert "teach nothing" in repeats
    assert found.unevenness.answer == found.decision.answer == "cannot tell"


def test_nothing_is_said_of_the_cost_of_a_noise_that_is_not_shown(told):
    assert told.recommend().aversion is None
    assert "noise takes" not in str(told.recommend())


def test_the_log_says_it_once(caplog):
    with caplog.at_level(logging.WARNING, logger="rahbo"):
        rahbo.maximize(
            of_point, SPACE, evaluations=22, seed=0, method=rahbo.Method(strategy=RandomSearch())
        )
    assert [r.message.startswith(SAID) for r in caplog.records] == [True]


@pytest.mark.parametrize("verbose", [True, None])
def test_the_display_says_it_once_as_soon_as_it_shows(monkeypatch, verbose):
    class Terminal(io.StringIO):
        def isatty(self):
            return verbose is None

    out = Terminal()
    monkeypatch.setattr(display_module, "sys", SimpleNamespace(stderr=out))
    rahbo.maximize(
        of_point,
        SPACE,
        evaluations=22,
        seed=0,
        method=rahbo.Method(strategy=RandomSearch()),
        verbose=verbose,
    )
    text = " ".join(out.getvalue().split())
    assert text.count(SAID) == 1
    if verbose:
        assert text.index("18/22") < text.index(SAID) < text.index("19/22")


def test_the_command_line_says_it(tmp_path):
    testing = pytest.importorskip("click.testing")
    from rahbo.cli import main

    table = tmp_path / "runs.csv"
    lines = [f"{i / 10},{math.sin(i)}" for i in range(10) for _ in range(2)]
    table.write_text("\n".join(["x,value", *lines]))
    for name in ("recommend", "doctor"):
        found = testing.CliRunner().invoke(main, [name, str(table), "--maximize"])
        assert found.exit_code == 0, found.output
        assert "your objective looks seeded or cached" in " ".join(found.output.split())
