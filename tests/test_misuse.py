"""What is refused, by which error, and what it says: one table for each public class."""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import rahbo
from rahbo import AtLeast, AtMost, Candidates, Categorical, Context, Float, Int, Optimizer, Time
from rahbo.errors import DataError, NotReadyError, SettingsError, SpaceError
from rahbo.model import (
    RBF,
    ConstantBeta,
    DirectNoise,
    Kernel,
    KnownNoise,
    Lemma1Beta,
    Linear,
    LogNoise,
    Refit,
    as_confidence,
    require_kernel,
)
from rahbo.policy import RahboUS, TopTwo
from rahbo.running import Display, Gap
from rahbo.space import Space
from rahbo.trials import MOST_REPEATS, Suggestion

NAN, INF = math.nan, math.inf
LINE = {"x": (0.0, 1.0)}
WARM = {"x": (0.0, 1.0), "t": Context(10.0, 35.0)}
ROWS = Candidates([{"t": 300}, {"t": 350}, {"t": 400}])
NO_NUMBER = ["1", True, None]
NOT_FINITE = [NAN, INF, *NO_NUMBER]


def each(make, values, error, says):
    """One row for each bad value; without words, any will do."""
    return [(partial(make, value), error, says) for value in values]


def at_once(**keywords):
    """A run that must be refused before the objective is called."""

    def objective(x):
        pytest.fail("called")

    return partial(rahbo.maximize, objective, {"x": (0.0, 2.0)}, **{"evaluations": 40} | keywords)


def needs(name, values, says, error=SettingsError, run=at_once):
    """One row for each bad value of a keyword."""
    return [(run(**{name: value}), error, says) for value in values]


def made(space=LINE, **keywords):
    return partial(Optimizer, space, **keywords)


def measures():
    odd = [NAN, -INF, *NO_NUMBER, [1.0], 10**400, 1j, np.timedelta64(1, "s")]
    for kind in (rahbo.MeanVariance, rahbo.MeanStd, rahbo.Quantile, rahbo.ExpectedShortfall):
        yield from each(kind, odd, SettingsError, f"{kind.__name__} needs a finite number for")


def spaces():
    bounds = (2.0, 0.0), (1.0, 1.0), (NAN, 1.0), (0.0, INF)
    said = "Float needs low < high", "Float needs low < high", *["Float bounds must be finite"] * 2
    for short, why in zip(bounds, said, strict=True):
        yield partial(Space.of, {"ok": (0.0, 1.0), "x": short}), SpaceError, f"^x: {why}"
    for short in ([1.0, 1.0], ["a", "b", "a"], []):
        yield partial(Space.of, {"x": short}), SpaceError, "^x: Categorical needs two or more dist"
    for listed, remedy in (
        ([0.0, 2.0], r"Write Float\(0.0, 2.0\) for a range, or Categorical\(\[0.0, 2.0\]\) for"),
        ([1e-4, 1e-1], r"Write Float\(0.0001, 0.1\) for a range, or Categorical"),
        ([0, 2], r"Write Float\(0, 2\) or Int\(0, 2\) for a range, or Categorical\(\[0, 2\]\) for"),
        (np.array([0.0, 2.0]), r"Write Float\(0.0, 2.0\) for a range"),
        ([np.float64(0.0), np.int64(2)], r"Write Float\(0.0, 2\) for a range"),
    ):
        says = r"^x=\[.*\] may be the bounds of a range.*" + remedy
        yield partial(Space.of, {"x": listed}), SpaceError, says


BAD_LEVELS = [0.0, 0.995, 1.0, 90, -0.1, NAN, *NO_NUMBER, "0.9"]
FEW = [({"x": 0.5}, 1.0)]
TOLD = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, data=[({"x": 0.5, "y": 0.5}, 1.0)] * 2).trials

MISUSE = {
    "Float": [
        (lambda: Float(1.0, 0.0), SpaceError, "low=1.0, high=0.0. Swap"),
        (lambda: Float(1.0, 1.0), SpaceError, "Leave a constant out"),
        *each(partial(Float, 0.0), [INF, NAN, "1", True], SpaceError, "finite"),
        (lambda: Float("0", 1.0), SpaceError, "low"),
        (lambda: Float(0.0, 1.0, log=True), SpaceError, "low > 0"),
        (lambda: Float(0.0, 1.0, 0.1), SpaceError, "log=True or log=False"),
    ],
    "Int": [
        (lambda: Int(0, 5, log=True), SpaceError, "low > 0"),
        (lambda: Int(0.5, 5), SpaceError, "whole numbers"),
        *each(partial(Int, 0), [NAN, INF], SpaceError, "whole numbers"),
        (lambda: Int(5, 1), SpaceError, "Swap them"),
    ],
    "Categorical": [
        *each(Categorical, [["a"], ["a", "b", "a"], [1, 1.0]], SpaceError, "two or more distinct"),
        (lambda: Categorical("ab"), SpaceError, "list of choices"),
        (lambda: Categorical([[1], [2]]), SpaceError, "must be a str"),
        (lambda: Categorical([0.0, NAN]), SpaceError, "must be finite"),
    ],
    "Candidates": [
        *each(Candidates, [[], [{}]], SpaceError, "at least one row"),
        (lambda: Candidates([1, 2]), SpaceError, "must be dicts"),
        (lambda: Candidates([{"": 1}]), SpaceError, "non-empty string"),
        (lambda: Candidates([{"a": 1}, {"b": 1}]), SpaceError, "same names"),
        (lambda: Candidates([{"a": 1}, {"a": 2}, {"a": 1.0}]), SpaceError, "cannot be told apart"),
        (lambda: Candidates([{"a": 0}, {"a": 1e-80}, {"a": -1}]), SpaceError, "be told apart"),
        (lambda: Candidates([{"a": NAN}]), SpaceError, "must be finite"),
        (lambda: Candidates([{"a": 1e300}, {"a": 0.0}]), SpaceError, "must be finite"),
        *each(lambda v: Candidates([{"k": "a"}, {"k": v}]), [[1], {"a": 1}, NAN, object()],
              SpaceError, "choice must be"),
        *each(lambda v: Candidates([{"x": 1.0}], revisit=v), ["no", 1, None, 0.0, [True]],
              SpaceError, "revisit=True or False, got"),
    ],
    "Context": [
        *each(lambda v: Context(*v), [(1.0,), ("abc",), (35.0, 10.0), (None,), ((1, 5),), (["a"],)],
              SpaceError, None),
        (lambda: Context(["a", "b"]).code("t", "c"), SpaceError,
         r"not a choice of Context\(\['a', 'b'\]\)"),
        *each(lambda v: Context(10.0, 35.0).code("t", v), ["warm", NAN], SpaceError,
              r"a number for Context\(10.0, 35.0\)"),
        (lambda: Context(Int(1, 5)).code("t", 2.5), SpaceError,
         r"whole number for Context\(Int\(1, 5\)\)\. Round"),
    ],
    "Time": [
        *each(Time, [0.0, NAN, "1"], SpaceError, "Time needs"),
        (lambda: Time(unit=""), SpaceError, "Time needs"),
    ],
    "Space": [
        *each(Space.of, [{}, [(0.0, 1.0)]], SpaceError, "non-empty dict"),
        *each(Space.of, [{"": (0.0, 1.0)}, {3: (0.0, 1.0)}], SpaceError, "non-empty string"),
        (lambda: Space.of({"x": (0, 15)}), SpaceError, r"Write Float\(0, 15\) or Int\(0, 15\)"),
        *each(lambda v: Space.of({"x": v}), [(0.0, 1.0, 2.0), ("a", "b"), 3],
              SpaceError, "must be a Float, Int or Categorical"),
        *spaces(),
        (lambda: Space.of({"t": Context(0.0, 1.0)}), SpaceError, "a parameter to choose"),
        (lambda: Space.of({"rows": ROWS, "t": Context(0.0, 1.0)}), SpaceError, "the whole space"),
        *each(partial(Space.of, LINE), [True, "x > 1", 1.0, NAN, [1.0]], SpaceError,
              "valid must be a function of a dict of parameters"),
        *each(lambda v: Space.of({"v": v, "b": [False, True]}).enumerate(),
              [Float(0.0, 1.0), Int(0, 10**9)], SpaceError, "can be listed"),
        *each(lambda space: Space.of(space).at({"t": 1.0}), [LINE, Candidates([{"x": 1}])],
              SpaceError, "the space has no conditions"),
        *each(Space.of(WARM).at, [None, [20.0]], SpaceError, "context must be a dict"),
        *each(lambda v: Space.of(WARM).at({"t": v}), [NAN, "20", True], SpaceError,
              "t=.* must be a number"),
        *each(lambda v: Space.of(WARM).at({"t": v}), [INF, 293.0], SpaceError,
              r"is far outside Context\(10\.0, 35\.0\).*widen the bounds"),
        (lambda: Space.of(WARM).at({}), SpaceError, r"missing \['t'\]"),
        (lambda: Space.of(WARM).at({"t": 20.0, "x": 0.5}), SpaceError, r"unknown \['x'\]"),
    ],
    "risk measures": [
        *measures(),
        (lambda: rahbo.MeanVariance(-0.1), SettingsError, "alpha >= 0"),
        (lambda: rahbo.MeanStd(-0.1), SettingsError, "MeanStd"),
        *each(rahbo.Quantile, [0.0, 0.5, 0.95, -0.1], SettingsError, "level"),
        *each(rahbo.ExpectedShortfall, [0.0, 1.0, 5, -0.1], SettingsError, "level"),
    ],
    "AtMost and AtLeast": [
        *each(AtMost, NOT_FINITE, SettingsError, "AtMost needs a finite number"),
        *each(AtLeast, NOT_FINITE, SettingsError, "AtLeast needs a finite number"),
        *each(partial(AtMost, 5.0), [0.5, 1.0, 0.0, 95, NAN, "much"], SettingsError,
              r"above 0\.5 and below 1"),
    ],
    "Adaptive and Folds": [
        *[(partial(rahbo.Adaptive, **bad), SettingsError, "Adaptive needs") for bad in (
            {"min": 0}, {"max": 1.5}, {"min": 4, "max": 3}, {"setup": -1.0}, {"setup": INF})],
        *each(rahbo.Folds, [0, -3, 2.5, NAN, *NO_NUMBER], SettingsError, "repeats must be a whole"),
        *[row for make in (rahbo.Folds, lambda k: rahbo.Adaptive(k, k)) for row in each(
            make, [MOST_REPEATS + 1, 10**400], SettingsError, "at most 1000000, got .* Ask for f")],
    ],
    "Gap": [
        *each(Gap, [0.0, -1.0, *NOT_FINITE], SettingsError, "Gap needs a positive width"),
    ],
    "kernels": [
        *[row for kind in (RBF, Linear) for row in each(
            kind,
            [[0.0], [-1.0, 1.0], [NAN], [[0.1, 0.2]], [INF], [1e-200], ["0.2"], [True], "0.2", None,
             [10**400], [0.1, [0.2]], {0.2}],
            SettingsError, "positive lengthscale")],
        *each(partial(RBF, [0.2]), [0.0, -1.0, [1.0], *NOT_FINITE], SettingsError,
              "positive variance"),
        *each(partial(require_kernel, "LogNoise(kernel)"), [None, "RBF", 1.0, int, Kernel, [RBF]],
              SettingsError, r"^LogNoise\(kernel\) must be a Kernel such as"),
    ],
    "noise models": [
        *[row for kind in (LogNoise, DirectNoise) for row in (
            *each(lambda v, kind=kind: kind(lam=v), [0.0, -1.0, *NOT_FINITE], SettingsError,
                  rf"{kind.__name__}\(lam\) must be a positive number"),
            *each(lambda v, kind=kind: kind(kernel=v), [NAN, "RBF", None, int], SettingsError,
                  rf"{kind.__name__}\(kernel\) must be a Kernel"))],
        *each(lambda v: DirectNoise(max_noise_var=v), [0.0, -1.0, NAN, INF, "1", True],
              SettingsError, r"DirectNoise\(max_noise_var\) must be a positive"),
        *each(lambda v: DirectNoise(kurtosis=v), [0.9, *NOT_FINITE], SettingsError,
              r"DirectNoise\(kurtosis\) must be at least 1"),
        *each(KnownNoise, [-0.1, NAN, INF, [0.1, -0.1], [NAN], ["1"], [True], [None], [{"x": 1.0}]],
              SettingsError, r"KnownNoise\(noise_var\) must be a number >= 0"),
        *each(KnownNoise, [*NO_NUMBER, {"x": 1.0}], SettingsError,
              "KnownNoise needs a function .* got"),
        *[(partial(KnownNoise([0.1] * n).bind, Space.of(ROWS)), SettingsError,
           f"each of the 3 candidates, got {n}") for n in (0, 2, 4)],
        (lambda: KnownNoise([0.1, 0.2]).bind(Space.of(LINE)), SettingsError,
         "function of the parameters"),
    ],
    "what sets the width, and when to fit": [
        *each(ConstantBeta, [-1.0, *NOT_FINITE], SettingsError, "beta must be a number >= 0"),
        *each(Lemma1Beta, [-1.0, *NOT_FINITE], SettingsError,
              r"Lemma1Beta\(norm\) must be a number >= 0"),
        *each(partial(Lemma1Beta, 1.0), [0.0, 1.0, -0.1, NAN, *NO_NUMBER], SettingsError,
              r"Lemma1Beta\(delta\) must be between 0 and 1"),
        *each(lambda v: as_confidence(v, "beta_noise"), [*NO_NUMBER, [2.0]][1:], SettingsError,
              "beta_noise must be a number or a Confidence"),
        *each(Refit, [0.99, -1.0, NAN, *NO_NUMBER], SettingsError, r"Refit\(growth\) must be >= 1"),
        *each(TopTwo, [0.0, -1.0, 1.5, NAN, *NO_NUMBER], SettingsError, "TopTwo needs beside in"),
        *each(RahboUS, [-1, 1.5, *NO_NUMBER], SettingsError,
              "learning_rounds must be a whole number >= 0"),
    ],
    "Optimizer": [
        (made({}), SpaceError, "non-empty dict"),
        *needs("repeats", [0, -3, 2.5, NAN, *NO_NUMBER], "repeats must be a whole number >= 1",
               run=made),
        *needs("blocks", [1, 0, -3, True, 1.5, "abc", ["a"], ["a", "a"], ["a", ""], {"a": 1},
                          [1.5, 2.5], 10**6], "blocks", run=made),
        (made(blocks={"a", "b"}), SettingsError, "Pass a list"),
        *needs("data", [None, {"x": 0.5}], "data=", DataError, made),
        *needs("data", [[*FEW, pair] for pair in [
            {"x": 0.5, "y": 1.0}, (0.5, 1.0), ({"x": 1.0},), ({"x": 1.0}, 1.0, "a", "b"), "ab"]],
            r"data\[1\] must be a pair", DataError, made),
        *[(made(data=[*FEW, pair]), (DataError, SpaceError), rf"^data\[1\]: .*{said}")
          for pair, said in [
              (({"x": 9.0}, 1.0), "x=9.0 is outside"),
              (({"x": None}, 1.0), "x=None must be a number"),
              (({}, 1.0), r"Params must .* missing \['x'\]"),
              (({"x": 0.5}, "a"), r"tell\(\) needs a number"),
              (({"x": 0.5}, [1.0, NAN]), r"tell\(\) needs finite numbers"),
              (({"x": 0.5}, 1.0, ["a", "b"]), "one block for all values")]],
        *needs("trials", [[1, 2], 3, "trials", made()(), [TOLD]],
               "trials= must be .* Pass optimizer.trials or result", DataError, made),
        (made(trials=TOLD[1:]), DataError, "numbered from 0"),
        (made(trials=[TOLD[0], 3]), DataError, r"got int at \[1\]"),
        (made(trials=TOLD), DataError, "come from the same space"),
        *needs("journal", [3, 1.5, ["run.jsonl"], True], "journal must be the name of a file",
               run=made),
        (made(constraints={"x": AtMost(1.0)}), SettingsError, "'x' is a parameter"),
        (made(constraints={"cost": 1.0}), SettingsError, "must be AtMost"),
        (made(constraints={"": AtMost(1.0)}), SettingsError, "printable characters"),
        (made(constraints=[AtMost(1.0)]), SettingsError, "must map names"),
        (made(constraints={"loss": AtMost}), SettingsError, "must be AtMost"),
        (made(safe=True), SettingsError, "safe=True needs constraints="),
        (made(constraints={"loss": AtMost(1.0)}, safe=1), SettingsError, "safe must be True or F"),
        (made(valid=lambda p: p["x"] < 0.5, try_first=[{"x": 0.9}]), SpaceError,
         r"try_first\[0\] must satisfy valid="),
        (made(ROWS, try_first=[{"t": 5}]), SpaceError, r"try_first\[0\]: .*not among the cand"),
        (made(WARM, try_first=[{"x": 0.25, "t": 20.0}]), SpaceError, "unknown"),
        *[(lambda call=call: call(Optimizer(LINE)), NotReadyError, "Nothing has been told")
          for call in (Optimizer.recommend, Optimizer.diagnose, Optimizer.frontier,
                       Optimizer.confirm)],
    ],
    "maximize": [
        *needs("evaluations", [None, -1, True], "rounds|evaluations"),
        *[(at_once(evaluations=n, rounds=m), SettingsError, "rounds|evaluations")
          for n, m in [(3, 3), (None, 0), (None, 2.0)]],
        (at_once(evaluations=None, stop=Gap(0.1)), SettingsError, "rounds="),
        *needs("confirm", [-1, 1.5, 2.0, "3", True],
               "confirm must be a whole number >= 0 or None, got"),
        (at_once(confirm=40), SettingsError, "confirm=40 and evaluations=40"),
        (at_once(confirm=5, repeats=rahbo.Folds(3)), SettingsError, "revisit=False, Folds and "),
        *needs("seconds", [0, -1.0, *NOT_FINITE[:-1]], "seconds must be a positive number"),
        *needs("n_jobs", [0, -2, 1.5, True, "4"], "n_jobs must be a number of processes"),
        *[(at_once(n_jobs=2, **other), SettingsError, "either n_jobs= or executor=")
          for other in ({"executor": ThreadPoolExecutor(1)}, {"parallel": 2})],
        *needs("verbose", [2, "yes", 0.5, Display], "verbose must be None, False, True or a D"),
        *needs("direction", ["maximize"], "direction"),
        *needs("stop", [0.95, "Gap", Gap, object()], "stop must be Gap"),
        (at_once(stop=SimpleNamespace(is_met=bool)), SettingsError, "Rename its method is_met"),
        (at_once(parallel=2), SettingsError, "parallel= needs an executor="),
        (at_once(timeout=2.0), SettingsError, "timeout= that or n_jobs="),
        (at_once(executor=4), SettingsError, "executor must be an executor of concurrent.*got 4"),
        (at_once(executor=ThreadPoolExecutor), SettingsError, "make the executor before the run"),
        (at_once(executor=partial(ThreadPoolExecutor, 4), parallel=4), SettingsError,
         "or make the executor"),
        (at_once(executor=ThreadPoolExecutor(1)), SettingsError, "Pass parallel=4 for ThreadPool"),
        *[(at_once(executor=ThreadPoolExecutor(1), **{"parallel": 1} | bad), SettingsError,
           f"{next(iter(bad))} must") for bad in
          ({"parallel": 0}, {"parallel": 1.5}, {"timeout": 0.0}, {"timeout": "1 s"})],
        *needs("try_first", [[{"y": 1.0}]], r"try_first\[0\]: .*unknown \['y'\]", SpaceError),
        *needs("try_first", [[{"x": 1.0}, {"x": 3.0}]], r"try_first\[1\]: x=3.0 is outside",
               SpaceError),
        *needs("try_first", [[{"x": 1.0}, {"x": 1.0}]], "different settings"),
        *needs("try_first", [{"x": 1.0}], "list of dicts"),
        *needs("try_first", [[1.0]], r"try_first\[0\]", SpaceError),
        *[(partial(rahbo.maximize, wrong, LINE, rounds=1), SettingsError, "x")
          for wrong in (lambda y: y, lambda: 0.0, lambda x, y: x, 3.0)],
        *[(partial(rahbo.maximize, lambda x, t: x, WARM, rounds=9, **given), SettingsError, says)
          for given, says in [({}, r"conditions \['t'\]"), ({"context": {"t": 20.0}}, "lambda"),
                              *[({"context": v}, "an iterable of dicts") for v in ("t", 3)],
                              ({"context": lambda: {"t": 20.0}, "stop": Gap(0.1)},
                               r"the conditions \['t'\]")]],
        (at_once(context=dict), SettingsError, "the space has no conditions"),
        (partial(rahbo.maximize, lambda x, h: x, {**LINE, "h": Time(8.0, "hours")}, rounds=9),
         SettingsError, r"conditions \['h'\]"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [pytest.param(*row, id=f"{k} {i}") for k, rows in MISUSE.items() for i, row in enumerate(rows)],
)
def test_misuse_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()


# -- of a run that is under way ------------------------------------------------------------------

AT = {"x": 0.5, "y": 0.5}
OPEN = 2

RUN_MISUSE = [
    *[(lambda opt, v=v: opt.tell(OPEN, v), DataError, says) for v, says in [
        (NAN, "nan"), (INF, "inf"), ([1.0, -INF], "-inf"), ([], "no values"), ("12", "'12'"),
        ([1.0, "a"], "'a'"), (None, "None"), (True, "True"), ([1.0, [2.0]], "2.0"),
        ({"a": 1}, "'a'"), (1e200, r"1e\+200")]],
    *[(lambda opt, v=v: opt.tell(v, 1.0), DataError,
       "unknown to this optimizer|Expected a suggestion|another optimizer")
      for v in (99, -1, "0", None, 1.5, True, Suggestion(50, {}, (0,)), Suggestion(0, AT, (0,)))],
    *[(lambda opt, v=v: opt.tell(OPEN, 1.0, repeat=v), DataError, "repeat must be")
      for v in (-1, 1.5, "0", True)],
    (lambda opt: opt.tell(OPEN, [1.0, 2.0], repeat=0), DataError, "needs one value"),
    *[(lambda opt, v=v: opt.tell(OPEN, [1.0, 2.0], block=v), DataError, None)
      for v in ("", "x" * 300, 1.5, object(), ["a"], ["a", "b", "c"], ["a", ""])],
    *[(lambda opt, act=act, v=v: getattr(opt, act)(v, *[1.0] * (act == "tell")), SpaceError, says)
      for act in ("tell", "predict") for v, says in [
          ({"x": 0.5}, "y"), ({**AT, "z": 1.0}, "z"), ({}, "missing"), ({**AT, "x": "a"}, "x='a'"),
          ({**AT, "x": 12.0}, r"x=12\.0 is outside Float\(0\.0, 1\.0\)"),
          ({**AT, "x": NAN}, "x=nan")]],
    *[(lambda opt, v=v: opt.predict(v), DataError, r"must be a dict of \['x', 'y'\].*a data frame")
      for v in (np.ones(2), np.ones((1, 2)), [(0.5, 0.5)], (0.5, 0.5), 0.5, "x", [None])],
    (lambda opt: opt.predict([AT, {**AT, "x": 9}]), SpaceError, r"^params\[1\]: x=9 is outside"),
    (lambda opt: opt.predict([AT, {"z": 0.5}]), SpaceError, r"^params\[1\]: Params .* unknown"),
    (lambda opt: opt.predict([AT, 0.5]), DataError, r"^params\[1\]: A setting must be a dict"),
    (lambda opt: opt.ask(0), SettingsError, r"ask\(n\)"),
    (lambda opt: opt.ask(context={"t": 1.0}), SpaceError, "the space has no conditions"),
    *[(lambda opt, n=n: opt.ask_at(AT, n), SettingsError, r"ask_at\(repeats\) must be")
      for n in (0, -2, 1.7, "3", True, None, MOST_REPEATS + 1)],
    *[(lambda opt, n=n: opt.confirm(n), SettingsError, r"confirm\(n\) needs a whole number")
      for n in (0, -1, 1.0, 2.5, "3", True, 10**9)],
    (lambda opt: opt.cancel(AT), DataError, "needs an open suggestion"),
    (lambda opt: opt.recommend(rule="luckiest"), SettingsError, "rule must be"),
    (lambda opt: opt.recommend(risk=1.0), SettingsError, "RiskMeasure"),
    *[(lambda opt, rule=rule: opt.recommend(rule=rule, risk=rahbo.MeanVariance(2.0)), SettingsError,
       rule) for rule in ("own_round", "best_observed")],
    *[(lambda opt, asked=asked: opt.recommend(**asked), SpaceError, "a space with conditions")
      for asked in ({"context": {}}, {"conditions": [{}]}, {"risk_over_conditions": True})],
    *[(lambda opt, ask=ask, level=level: ask(opt, level), SettingsError, "level must be above 0")
      for level in BAD_LEVELS for ask in (
          lambda opt, level: opt.recommend(level=level),
          lambda opt, level: opt.frontier(level=level),
          lambda opt, level: opt.predict(AT, level=level))],
]  # fmt: skip


@pytest.fixture(scope="module")
def run():
    opt = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, seed=0, repeats=3)
    for _ in range(OPEN):
        opt.tell(opt.ask(), [1.0, 2.0, 3.0])
    opt.ask()
    return opt


@pytest.mark.parametrize(("call", "error", "says"), RUN_MISUSE)
def test_misuse_of_a_run_is_refused_and_changes_nothing(run, call, error, says):
    before = run.trials, run.open
    with pytest.raises(error, match=says):
        call(run)
    assert (run.trials, run.open) == before
