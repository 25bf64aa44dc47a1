"""The journal: nothing told is lost, nothing counts twice, no file does harm."""

import contextlib
import copy
import enum
import errno
import functools
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings

import rahbo
from journal_lines import checked
from rahbo.errors import JournalError, SettingsError, SpaceError
from rahbo.journal import is_journal, read
from rahbo.model import KnownNoise
from rahbo.policy import RandomSearch, initial_design
from work import lines_run

SPACE = {"x": (0.0, 2.0), "kind": ["a", "b"]}
SMALL = {"repeats": 2, "seed": 3, "n_initial": 8}
LINE = {"x": (0.0, 1.0)}
RANDOM = rahbo.Method(strategy=RandomSearch())
TESTS = Path(__file__).parents[1]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


@pytest.fixture
def unflushed(monkeypatch):
    """No waiting for the disk, where a test is about what is written."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def value(suggestion, repeat):
    """A function of the parameters and the repeat index."""
    rng = np.random.default_rng([suggestion.id, repeat])
    return float(-((suggestion.params["x"] - 1.0) ** 2) + 0.1 * rng.standard_normal())


def begin(path, **other):
    return rahbo.Optimizer(SPACE, journal=path, **{**SMALL, **other})


def drive(opt):
    """Bring a run with every kind of event to its end, from wherever it stands."""
    while opt.open or len(opt.trials) < 6:
        if len(opt.trials) == 4 and not opt.open:
            opt.tell({"x": np.float64(0.5), "kind": "b"}, [0.25, 0.1, -0.0])
            continue
        s = opt.open[0] if opt.open else opt.ask()
        if s.id == 0:
            opt.tell(s, [value(s, i) for i in s.indices])
        elif s.id == 2:
            opt.tell_failure(s, 'beam\ntrip "é\ud800"')
        elif s.id == 3 and s.repeats == 1:
            opt.cancel(s)
        else:
            opt.tell(s, value(s, s.indices[0]), repeat=s.indices[0])
    return opt


def state(opt):
    """All that a run is, comparable with ==; values to the last bit."""
    return [
        (t.id, t.params, t.x.tobytes(), t.n_requested, t.source, t.own_bound, t.cancelled,
         {i: v.hex() for i, v in t.values.items()}, dict(t.failures))
        for t in opt.trials
    ]  # fmt: skip


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


# -- what is written -------------------------------------------------------------------------------


def test_every_event_is_a_line_and_comes_back(path):
    opt = drive(begin(path))
    events = [line["event"] for line in lines(path)]
    assert events == [
        "run", "ask", "tell", "ask", "tell", "tell", "ask", "failure", "ask", "tell", "cancel",
        "point", "ask", "tell", "tell",
    ]  # fmt: skip
    header = lines(path)[0]
    assert (header["format"], header["rahbo"]) == (2, rahbo.__version__)
    before = path.read_bytes()
    opt.close()
    resumed = rahbo.Optimizer.resume(path)
    assert state(resumed) == state(opt)
    assert resumed.recommend() == opt.recommend()
    assert path.read_bytes() == before


def test_values_are_on_disk_before_tell_returns_and_suggestions_before_ask_does(path, monkeypatch):
    flushed, flush = [], os.fsync

    def seen(fd):
        flush(fd)
        flushed.append(os.fstat(fd).st_size)

    monkeypatch.setattr(os, "fsync", seen)
    opt = begin(path)
    for change in (lambda: opt.ask(), lambda: opt.tell(0, 1.5), lambda: opt.tell_failure(0, "no")):
        change()
        assert flushed[-1] == path.stat().st_size
        assert state_of(path) == state(opt)
    opt.ask()
    opt.cancel(1)
    assert flushed[-1] == path.stat().st_size
    assert state_of(path) == state(opt)


def state_of(path):
    found, trials = read(path)
    return state(rahbo.Optimizer(**found, trials=trials))


def test_what_changes_nothing_writes_nothing(path):
    opt = begin(path)
    s = opt.ask()
    opt.tell(s, 1.5, repeat=0)
    before = path.read_bytes()
    opt.tell(s, 1.5, repeat=0)
    opt.tell_failure(s, "late", repeat=0)
    with pytest.raises(rahbo.errors.DataError, match="was told as"):
        opt.tell(s, 2.5, repeat=0)
    assert path.read_bytes() == before


@given(st.floats(-1e60, 1e60))
@settings(max_examples=50)
def test_floats_come_back_bit_for_bit(number):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        opt = rahbo.Optimizer({"x": (-1e60, 1e60)}, seed=0, journal=path)
        opt.tell({"x": number}, number)
        found = read(path)[1][0]
        assert found.values[0].hex() == number.hex()
        assert found.params["x"].hex() == number.hex()
        assert found.x.tobytes() == opt.trials[0].x.tobytes()


def test_parameters_keep_their_types(path):
    rows = [
        {"a": 1, "b": "1", "c": True, "d": np.float32(0.1)},
        {"a": 2.5, "b": None, "c": 1, "d": np.float32(0.2)},
        {"a": np.int64(3), "b": "é\ud800", "c": "True", "d": np.float32(0.3)},
    ]
    opt = rahbo.Optimizer(rahbo.Candidates(rows, revisit=False), repeats=1, seed=0, journal=path)
    for s in opt.ask(3):
        opt.tell(s, 1.0)
    opt.close()
    for again in (rahbo.Optimizer.resume(path), rahbo.Optimizer(**read(path)[0])):
        back = again.settings.space.spec.rows
        assert [{k: (type(v), v) for k, v in row.items()} for row in back] == [
            {k: (type(v), v) for k, v in row.items()} for row in rows
        ]
    for a, b in zip(opt.trials, read(path)[1], strict=True):
        assert [(type(v), v) for v in a.params.values()] == [
            (type(v), v) for v in b.params.values()
        ]


# -- going on --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("still_clock")
def test_a_journal_cut_at_any_byte_is_brought_to_the_same_end(path, unflushed, monkeypatch):
    # A pure function, asked for the same two thousand times.
    monkeypatch.setattr(
        "rahbo.policy.design.initial_design",
        lambda space, n, seed: designs(n, seed),
    )
    designs = functools.cache(lambda n, seed: initial_design(rahbo.space.Space.of(SPACE), n, seed))
    whole = drive(begin(path))
    whole.close()
    content = path.read_bytes()
    header = content.index(b"\n") + 1
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        opt = begin(path)
        told = content[: max(content.rfind(b"\n", 0, cut) + 1, header)]
        assert path.read_bytes().startswith(told), cut
        if cut > header or cut % 100 == 0:
            drive(opt)
            assert path.read_bytes() == content, cut
            assert state(opt) == state(whole), cut
        opt.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_a_hundred_runs_killed_at_random_and_resumed_are_the_same_runs():
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        command = [sys.executable, str(TESTS / "killed_runs.py"), folder, "100", "0"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["runs"] == 100
    assert found["different"] == found["twice"] == 0
    # The kills were such that something could be lost.
    assert found["kills"] > 100
    assert found["begun"] > 50
    assert found["torn"] > 20


def environment():
    src = str(Path(rahbo.__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": src, "OMP_NUM_THREADS": "1"}


def test_open_suggestions_are_handed_out_again_first(path):
    opt = begin(path)
    batch = opt.ask(3)
    opt.tell(batch[1], 0.5, repeat=1)
    opt.close()
    resumed = rahbo.Optimizer.resume(path)
    assert [(s.id, s.indices) for s in resumed.ask(4)] == [
        (0, (0, 1)), (1, (0,)), (2, (0, 1)), (3, (0, 1)),
    ]  # fmt: skip


def objective_of(calls):
    def objective(x, kind, seed):
        calls.append(seed)
        return -((x - 1.0) ** 2) + 0.1 * np.random.default_rng(seed).standard_normal()

    return objective


@pytest.mark.slow
@pytest.mark.parametrize("at", [1, 9, 13])
def test_the_same_call_again_brings_an_interrupted_run_to_its_end(path, at):
    calls = []
    budget = {**SMALL, "n_initial": 4, "evaluations": 13, "method": RANDOM}
    whole = rahbo.maximize(objective_of([]), SPACE, **budget)

    def dies(x, kind, seed):
        if len(calls) == at:
            raise SystemExit
        return objective_of(calls)(x, kind, seed)

    with pytest.raises(SystemExit) if at < 13 else contextlib.nullcontext():
        rahbo.maximize(dies, SPACE, journal=path, **budget)
    again = rahbo.maximize(objective_of(calls), SPACE, journal=path, **budget)
    assert len(calls) == len(set(calls)) == 13
    assert state(again.optimizer) == state(whole.optimizer)
    assert again.recommendation == whole.recommendation
    # There is nothing left to do.
    assert rahbo.maximize(objective_of(calls), SPACE, journal=path, **budget).n_evaluations == 13
    assert len(calls) == 13


CONFIRMED = [
    {"evaluations": 32},
    {"evaluations": 15, "repeats": 4, "confirm": 3},
    {"rounds": 4, "confirm": 4},
    {"evaluations": 40, "stop": rahbo.Gap(1e6)},
]


@pytest.mark.slow
@pytest.mark.parametrize("budget", CONFIRMED)
@pytest.mark.usefixtures("still_clock")
def test_a_confirmation_cut_at_any_line_is_brought_to_the_same_end(path, budget):
    budget = {**budget, "n_initial": 4, "seed": 3, "method": RANDOM}
    whole = rahbo.maximize(objective_of([]), SPACE, journal=path, **budget)
    content = path.read_bytes()
    assert whole.trials[-1].source == "confirm"
    assert sum(b'"confirm"' in line for line in content.splitlines()) >= 3
    held = content.splitlines(keepends=True)
    for cut in range(len(held) - 12, len(held)):
        path.write_bytes(b"".join(held[:cut]))
        calls = []
        again = rahbo.maximize(objective_of(calls), SPACE, journal=path, **budget)
        assert path.read_bytes() == content, cut
        assert again.recommendation == whole.recommendation


def test_a_run_that_died_before_its_last_cancel_makes_up_for_it(path):
    budget = {**SMALL, "evaluations": 5}
    whole = rahbo.maximize(objective_of([]), SPACE, journal=path, **budget)
    content = path.read_bytes()
    assert (lines(path)[-1]["event"], lines(path)[-1]["id"]) == ("cancel", 2)
    path.write_bytes(content[: content.rfind(b"\n", 0, -1) + 1])
    again = rahbo.maximize(objective_of([]), SPACE, journal=path, **budget)
    assert path.read_bytes() == content
    assert state(again.optimizer) == state(whole.optimizer)


def test_minimize_keeps_a_journal_too(path):
    first = rahbo.minimize(lambda x: x * x, LINE, evaluations=4, journal=path)
    again = rahbo.minimize(lambda x: 1 / 0, LINE, evaluations=4, journal=path)
    assert again.recommendation == first.recommendation
    assert again.optimizer.settings.seed == first.optimizer.settings.seed
    with pytest.raises(JournalError, match="direction is 'minimize' there and 'maximize' here"):
        rahbo.maximize(lambda x: x, LINE, evaluations=4, journal=path)


def test_a_call_with_a_mistake_leaves_the_journal_free(path):
    with pytest.raises(SettingsError, match="signature"):
        rahbo.maximize(lambda y: y, LINE, evaluations=4, seed=1, journal=path)
    with pytest.raises(rahbo.errors.ObjectiveError):
        rahbo.maximize(lambda x: "no", LINE, evaluations=4, seed=1, journal=path)
    rahbo.maximize(lambda x: x, LINE, evaluations=4, seed=1, journal=path)


def test_a_finished_run_can_be_told_more_unless_another_went_on(path):
    result = rahbo.maximize(lambda x: x, LINE, evaluations=4, seed=1, journal=path)
    result.optimizer.tell({"x": 0.5}, 0.5)
    assert len(read(path)[1][-1].values) == 1
    result.optimizer.close()
    other = rahbo.Optimizer.resume(path)
    other.tell({"x": 0.25}, 0.25)
    other.close()
    with pytest.raises(JournalError, match=r"changed or deleted.*resume"):
        result.optimizer.tell({"x": 0.75}, 0.75)
    assert len(result.trials) == len(other.trials) - 1
    rahbo.Optimizer.resume(path)


def test_past_results_are_recorded_and_must_be_the_same(path):
    data = [({"x": 0.5}, [1.0, 1.1]), ({"x": 0.25}, 0.5)]
    opt = rahbo.Optimizer(LINE, seed=0, data=data, journal=path)
    opt.tell(opt.ask(), 2.0)
    opt.close()
    for again in ({"data": data}, {}):
        resumed = rahbo.Optimizer(LINE, journal=path, **again)
        assert state(resumed) == state(opt)
        resumed.close()
    # Journals once listed the values of a trial in the order in which they came.
    changed = path.read_bytes().replace(b'{"0":1.0,"1":1.1}', b'{"1":1.1,"0":1.0}')
    path.write_bytes(checked(changed))
    rahbo.Optimizer(LINE, journal=path, data=data).close()
    with pytest.raises(JournalError, match="past results in data= or trials= are different"):
        rahbo.Optimizer(LINE, seed=0, data=data[:1], journal=path)


def test_the_trials_of_another_run_are_recorded(path, tmp_path):
    first = drive(rahbo.Optimizer(SPACE, **SMALL))
    opt = begin(path, trials=first.trials)
    assert state(opt) == state(first)
    opt.close()
    assert state(rahbo.Optimizer.resume(path)) == state(first)
    odd = tmp_path / "odd.jsonl"
    with pytest.raises(rahbo.errors.RahboError, match=r"x|names"):
        rahbo.Optimizer({"y": (0.0, 1.0), "z": (0.0, 1.0)}, trials=first.trials, journal=odd)
    assert not odd.exists()


# -- settings --------------------------------------------------------------------------------------


def test_settings_that_differ_are_named_with_both_values(path):
    begin(path).close()
    before = path.read_bytes()
    with pytest.raises(JournalError) as caught:
        rahbo.Optimizer(
            {"x": (0.0, 3.0), "kind": ["a", "b"]}, risk=rahbo.Quantile(0.1), repeats=2, n_initial=8,
            seed=4, journal=path, method=rahbo.Method(beta=2.0), noise_std=0,
        )  # fmt: skip
    for part in (
        "risk is MeanStd(kappa=1.0) there and Quantile(level=0.1) here",
        "beta is ConstantBeta(value=1.0) there and ConstantBeta(value=2.0) here",
        "noise_std is None there and 0.0 here",
        "seed is 3 there and 4 here",
        "space is {'x': Float(low=0.0, high=2.0, log=False), 'kind': Categorical(choices=['a', 'b'"
        "])} there and {'x': Float(low=0.0, high=3.0, log=False)",
    ):
        assert part in str(caught.value)
    assert "repeats" not in str(caught.value)
    assert path.read_bytes() == before
    begin(path).close()


# Written by the commit 0dc5b5b, whose default risk was MeanVariance(1.0), with
# Optimizer(LINE, seed=3, repeats=2, n_initial=3), which was told x + 0.25 and x - 0.25.
FORMER = Path(__file__).parent / "former_default.jsonl"


def test_a_run_begun_with_the_former_default_keeps_its_risk(path):
    path.write_bytes(FORMER.read_bytes())
    before = path.read_bytes()
    assert read(path)[0]["risk"] == rahbo.MeanVariance(1.0)
    begin_again = functools.partial(rahbo.Optimizer, LINE, repeats=2, n_initial=3, journal=path)
    for again in (functools.partial(rahbo.Optimizer.resume, path), begin_again):
        with contextlib.closing(again()) as run:
            assert run.settings.risk == rahbo.MeanVariance(1.0)
            assert run.settings.seed == 3
            # What 0dc5b5b printed.
            assert run.recommend().risk == pytest.approx(0.64, abs=0.005)
            assert run.recommend().pessimistic == pytest.approx(0.42, abs=0.005)
    with pytest.raises(JournalError, match=r"risk is MeanVariance\(alpha=1.0\) there and MeanStd"):
        begin_again(risk=rahbo.MeanStd(1.0))
    assert path.read_bytes() == before


def test_only_the_former_default_is_kept_where_no_risk_is_passed(path):
    begin(path, risk=rahbo.MeanVariance(2.0)).close()
    with pytest.raises(JournalError, match=r"MeanVariance\(alpha=2.0\) there and MeanStd"):
        begin(path)
    assert rahbo.Optimizer.resume(path).settings.risk == rahbo.MeanVariance(2.0)


def safe(params):
    return params["x"] < 1.5


@dataclass(frozen=True)
class Halved(rahbo.risk.RiskMeasure):
    """A user's own risk measure."""

    share: float = 0.5

    def value(self, mean, noise_var):
        return self.share * mean - noise_var

    def gradient(self, mean, noise_var):
        return np.full_like(mean, self.share), np.full_like(noise_var, -1.0)


def test_code_is_described_and_passed_again(path):
    code = {"valid": safe, "noise_std": lambda params: 0.3}
    opt = drive(begin(path, risk=Halved(0.25), **code))
    opt.close()
    with pytest.raises(JournalError, match=r"valid=safe and noise_std="):
        rahbo.Optimizer.resume(path)
    with pytest.raises(JournalError, match=r"risk is Halved\(share=0.25\) there and Halved"):
        rahbo.Optimizer.resume(path, **{**code, "risk": Halved(0.3)})
    with pytest.raises(JournalError, match="valid is safe there and objective_of here"):
        rahbo.Optimizer.resume(path, **{**code, "valid": objective_of})
    resumed = rahbo.Optimizer.resume(path, **code)
    assert resumed.settings.risk == Halved(0.25)
    assert resumed.recommend() == opt.recommend()


def test_a_journal_is_read_without_its_code_until_the_code_is_needed(path):
    class Local(Halved):
        pass

    opt = drive(begin(path, valid=safe, risk=Local()))
    found, trials = read(path)
    assert [t.params for t in trials] == [t.params for t in opt.trials]
    with pytest.raises(SettingsError, match=r"Local.*pass risk= again"):
        rahbo.Optimizer(**found, trials=trials)
    report = rahbo.Optimizer(**{**found, "risk": rahbo.MeanStd()}, trials=trials)
    assert report.n_evaluations == opt.n_evaluations
    with pytest.raises(SpaceError, match=r"valid=safe.*Pass valid= again"):
        report.recommend()
    report = rahbo.Optimizer(**{**found, "risk": Local(), "valid": safe}, trials=trials)
    assert report.recommend() == opt.recommend()


def test_a_journal_that_described_a_class_of_a_user_continues(path):
    drive(begin(path, risk=Halved(0.25))).close()
    named = b'"risk":{"type":"Halved","module":"%s","share":0.25}' % __name__.encode()
    described = path.read_bytes().replace(named, b'"risk":{"code":"Halved(share=0.25)"}')
    path.write_bytes(checked(described))
    with pytest.raises(JournalError, match=r"started with risk=Halved\(share=0.25\)"):
        rahbo.Optimizer.resume(path)
    rahbo.Optimizer.resume(path, risk=Halved(0.25)).close()
    with pytest.raises(JournalError, match="another run"):
        rahbo.Optimizer.resume(path, risk=Halved(0.5))


def test_known_noise_of_a_list_comes_back(path):
    rows = rahbo.Candidates([{"x": 0.0}, {"x": 1.0}])
    rahbo.Optimizer(rows, noise_std=np.array([0.1, 1 / 3]), journal=path).close()
    assert rahbo.Optimizer.resume(path).settings.noise_std == (0.1, 1 / 3)


def level(params):
    return 0.5


def test_a_method_with_code_is_passed_again_as_a_whole(path):
    method = rahbo.Method(noise=KnownNoise(level), beta=2.0)
    opt = drive(begin(path, method=method))
    opt.close()
    described = r"method=Method\(noise=KnownNoise\(noise_var=level\)\), whose code"
    with pytest.raises(JournalError, match=described):
        rahbo.Optimizer.resume(path)
    with pytest.raises(JournalError, match=r"another run: beta is ConstantBeta\(value=2.0\) there"):
        rahbo.Optimizer.resume(path, method=replace(method, beta=1.0))
    assert rahbo.Optimizer.resume(path, method=method).recommend() == opt.recommend()


def test_a_setting_that_cannot_be_written_is_refused_at_once(path):
    class Colour(enum.StrEnum):
        RED = "red"
        BLUE = "blue"

    with pytest.raises(SpaceError, match=r"c=<Colour.RED: 'red'> of type Colour"):
        rahbo.Optimizer({"c": list(Colour)}, journal=path)

    class Odd(rahbo.Float):
        pass

    with pytest.raises(SpaceError, match="of type Odd"):
        rahbo.Optimizer({"x": Odd(0.0, 1.0)}, journal=path)
    with pytest.raises(SettingsError, match="at most 1000000"):
        rahbo.Optimizer(LINE, repeats=10**7, seed=0, journal=path)
    assert not path.exists()


def test_a_repeat_that_cannot_be_written_is_not_told(path):
    opt = begin(path)
    opt.ask()
    with pytest.raises(JournalError, match="only plain values"):
        opt.tell(0, 1.0, repeat=10**5000)
    assert opt.trials[0].values == {}
    assert state_of(path) == state(opt)


# -- files that are not as they were left ----------------------------------------------------------


@pytest.mark.parametrize("tail", [b"", b"{", b'{"event":"tell","id":0,"val', b"\0" * 50, b"}\n"])
def test_a_torn_last_line_is_cut_off(path, tail):
    opt = begin(path)
    opt.tell(opt.ask(), 1.0)
    opt.close()
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    assert len(read(path)[1]) == 1
    assert path.read_bytes() == whole + tail
    resumed = rahbo.Optimizer.resume(path)
    resumed.tell(0, 2.0)
    assert path.read_bytes().startswith(whole + b'{"event":"tell"')
    resumed.close()
    assert rahbo.Optimizer.resume(path).trials[0].values == {0: 1.0, 1: 2.0}


@pytest.mark.parametrize(
    "content",
    [
        b"shopping list",
        b"a,b\n1,2\n",
        b"[]\n",
        b"{}\n",
        b"\n",
        b"\0",
        b"\xff\xfe",
        b'{"event":"x"}\n',
    ],
)
def test_a_file_that_is_no_journal_is_left_alone(path, content):
    path.write_bytes(content)
    for use in (begin, rahbo.Optimizer.resume, read):
        with pytest.raises(JournalError, match=r"not a rahbo journal|damaged"):
            use(path)
    assert path.read_bytes() == content


def test_damage_in_the_middle_names_its_line(path):
    drive(begin(path)).close()
    content = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*content[:4], b"garbage\n", *content[4:]]))
    for use in (begin, rahbo.Optimizer.resume, read):
        with pytest.raises(JournalError, match="line 5, is damaged"):
            use(path)


HOSTILE = [
    ("line 3", b'"times":{"0":', b'"times":{"0":-1,"1":'),
    ("line 3", b'"times":{"0":', b'"times":{"0":1e400,"1":'),
    ("line 3", b'"times":{"0":', b'"times":{"0":NaN,"1":'),
    ("line 3", b'"times":{"0":', b'"times":{"0":"noon","1":'),
    ("line 3", b'"times":{"0":', b'"times":{"77":'),
    ("line 3", b'"id":0,"values":{"0":', b'"id":0,"values":{"0":1e400,"1":'),
    ("line 3", b'"id":0,"values":{"0":', b'"id":0,"values":{"0":NaN,"1":'),
    ("line 3", b'"id":0,"values":{"0":', b'"id":0,"values":{"-1":'),
    ("line 3", b'"id":0,"values":{"0":', b'"id":0,"values":{"01":'),
    ("line 3", b'"id":0,"values":{"0":', b'"id":7,"values":{"0":'),
    ("line 3", b'"id":0,"values":{"0":', b'"id":true,"values":{"0":'),
    ("line 3", b'"id":0,"values":{"0":', b'"id":0,"values":{"0":' + b"9" * 4000 + b',"1":'),
    ("line 3", b'"id":0,"values":{"0":', b'"id":0,"values":{"0":' + b"9" * 5000 + b',"1":'),
    ("line 3", b'"event":"tell"', b'"event":"eval"'),
    ("line 3", b'{"event":"tell"', b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b',"event":"tell"'),
    ("line 3", b'{"event":"tell"', b'{"a":"\xff","event":"tell"'),
    ("line 2", b'"id":0,"params"', b'"id":1,"params"'),
    ("line 2", b'"repeats":2', b'"repeats":1000000000000000000'),
    ("line 2", b'"source":"design"', b'"source":["design"]'),
    ("line 2", b'"own_bound":null', b'"own_bound":{"code":"os.system"}'),
    ("line 2", b'"x":[', b'"x":[0.5,'),
    ("line 2", b'"params":{"x":', b'"params":{"x":1e9,"y":'),
    ("line 4", b'"id":1,"params"', b'"id":0,"params"'),
    ("line 1", b'"type":"MeanStd","kappa":1.0', b'"type":"os.system","command":"id"'),
    ("line 1", b'"type":"MeanStd","kappa":1.0', b'"type":"Fixed","n_repeats":1'),
    ("line 1", b'"type":"MeanStd","kappa":1.0', b'"type":"MeanVariance","beta":1.0'),
    ("line 1", b'"type":"MeanStd","kappa":1.0', b'"type":["MeanVariance"]'),
    ("line 1", b'"type":"MeanStd","kappa":1.0', b'"class":"object"'),
    ("line 1", b'"low":0.0', b'"low":{"numpy":"float64","value":[[1]]}'),
    ("line 1", b'"low":0.0', b'"low":{"float":"__import__"}'),
    ("line 1", b'"seed":3', b'"seed":3,"extra":1'),
    ("line 1", b'"seed":3', b'"seed":-3'),
    ("line 1", b'"lam":1.0,"outputs"', b'"outputs"'),
    ("line 1", b'"trials":[]', b'"trials":[{}]'),
    ("line 1", b'"trials":[]', b'"trials":5'),
    ("line 1", b',"trials":[]', b""),
]


@pytest.mark.parametrize(("where", "old", "new"), HOSTILE)
def test_hostile_lines_are_named_and_the_file_is_left_alone(path, unflushed, where, old, new):
    drive(begin(path)).close()
    content = path.read_bytes()
    assert old in content
    changed = checked(content.replace(old, new, 1))
    path.write_bytes(changed)
    with pytest.raises(JournalError, match=where):
        read(path)
    with pytest.raises(JournalError):
        begin(path)
    assert path.read_bytes() == changed


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("journal") / "whole.jsonl"
    drive(begin(path)).close()
    return path.read_bytes()


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from([10**30, 10**400, 1e308, -1, "MeanVariance", "0", "design"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "code", "class", "float", "numpy", "value", "rows", "0", "id"])
        | st.text(max_size=4),
        inner,
        max_size=3,
    ),
    max_leaves=8,
)  # fmt: skip


def mutated(draw, data):
    """Some JSON with one part replaced, or left out."""
    if isinstance(data, dict) and data and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(data)))
        if draw(st.integers(0, 5)) == 0:
            return {k: v for k, v in data.items() if k != key}
        return {**data, key: mutated(draw, data[key])}
    if isinstance(data, list) and data and draw(st.integers(0, 3)):
        at = draw(st.integers(0, len(data) - 1))
        return [*data[:at], mutated(draw, data[at]), *data[at + 1 :]]
    return draw(JSONS)


@st.composite
def damage(draw):
    """A function that damages a journal."""
    kind = draw(st.sampled_from(["bytes", "cut", "lines", "json"]))
    seed = draw(st.integers(0, 2**32))
    garbage = draw(st.binary(min_size=1, max_size=12))
    at = draw(st.floats(0, 1))
    which, tree = draw(st.integers(0, 14)), draw(st.data())

    def apply(content):
        place = int(at * len(content))
        rows = content.splitlines(keepends=True)
        if kind == "bytes":
            return content[:place] + garbage + content[place + seed % 20 :]
        if kind == "cut":
            return content[:place] + content[place + seed % 2000 :]
        if kind == "lines":
            rng = np.random.default_rng(seed)
            return b"".join(rows[i] for i in rng.integers(0, len(rows), len(rows)))
        row = mutated(tree.draw, json.loads(rows[which]))
        changed = [*rows[:which], json.dumps(row).encode() + b"\n", *rows[which + 1 :]]
        return checked(b"".join(changed))

    return apply


@pytest.mark.slow
@given(damage())
@settings(max_examples=200)
def test_any_damage_is_a_journal_error_or_another_legal_journal(recorded, hurt):
    check_survives(hurt(recorded))


@given(st.binary(max_size=200))
@example(b'{"event":"run","format":')
@example(b'{"event":"run","format":2}\n')
@example(b'{"event":"run","format":2,"settings":{},"trials":[]}\n')
@settings(max_examples=100)
def test_any_bytes_are_a_journal_error(content):
    check_survives(content)


def check_survives(content):
    """Reading and resuming work or raise `JournalError`; a file that is refused is not touched."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        path.write_bytes(content)
        try:
            found, trials = read(path)
            assert all(t.id == i for i, t in enumerate(trials))
            assert isinstance(found, dict)
        except JournalError:
            pass
        assert path.read_bytes() == content
        flush, os.fsync = os.fsync, lambda fd: None
        try:
            opt = begin(path)
            assert state_of(path) == state(opt)
            opt.close()
        except JournalError:
            assert path.read_bytes() == content
        finally:
            os.fsync = flush


# -- disks -----------------------------------------------------------------------------------------


def test_a_full_disk_leaves_memory_and_file_as_they_were(path):
    resource = pytest.importorskip("resource")
    opt = begin(path)
    s = opt.ask()
    opt.tell(s, 1.0)
    before, known = path.read_bytes(), state(opt)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Room for a part of the line.
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))
    try:
        for change in (lambda: opt.tell(s, 2.0), opt.ask, lambda: opt.cancel(s)):
            with pytest.raises(JournalError, match=r"cannot be written.*[Tt]oo large.*repeat it"):
                change()
            assert path.read_bytes() == before
            assert state(opt) == known
            assert opt.open == (opt.trials[0].suggestion,)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    opt.tell(s, 2.0)
    assert state_of(path) == state(opt)
    assert opt.trials[0].values == {0: 1.0, 1: 2.0}


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_what_is_not_flushed_is_taken_back(path, monkeypatch, error):
    opt = begin(path)
    s = opt.ask()
    before, known = path.read_bytes(), state(opt)

    def fails(fd):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(JournalError if isinstance(error, OSError) else KeyboardInterrupt):
            opt.tell(s, 1.0)
    assert (path.read_bytes(), state(opt)) == (before, known)
    opt.tell(s, 1.0)
    assert state_of(path) == state(opt)


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_run_that_cannot_begin_leaves_no_file(path, monkeypatch, call):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(JournalError, match="No space left"):
            begin(path)
        assert not path.exists()
        # A file that was there before is not ours to delete.
        path.touch()
        with pytest.raises(JournalError, match="No space left"):
            begin(path)
    assert path.read_bytes() == b""
    begin(path).close()
    assert is_journal(path)


def test_what_begins_like_a_journal_is_one(path, tmp_path):
    begin(path).close()
    assert is_journal(path)
    for name, text in (("notes", '{"note":"a"}\n'), ("empty", ""), ("run", '{"event":"run"}')):
        (tmp_path / name).write_text(text)
        assert not is_journal(tmp_path / name)
    assert not is_journal(tmp_path)
    assert not is_journal(tmp_path / "none")


def test_what_cannot_be_taken_back_ends_the_writing(path, monkeypatch):
    opt = begin(path)
    s = opt.ask()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: os.close(-1))
        patch.setattr(os, "ftruncate", lambda fd, size: os.close(-1))
        with pytest.raises(JournalError, match="cannot be written"):
            opt.tell(s, 1.0)
    with pytest.raises(JournalError, match="changed or deleted"):
        opt.tell(s, 2.0)
    assert opt.trials[0].values == {}
    rahbo.Optimizer.resume(path)


def test_a_deleted_journal_is_noticed(path):
    opt = begin(path)
    path.unlink()
    with pytest.raises(JournalError, match="changed or deleted"):
        opt.ask()
    assert opt.trials == ()


@pytest.mark.parametrize("name", ["missing/run.jsonl", ".", "a\0b"])
def test_a_place_that_cannot_be_written_is_named(tmp_path, name):
    with pytest.raises(JournalError, match=r"cannot be written|regular"):
        begin(f"{tmp_path}/{name}")
    with pytest.raises(JournalError, match=r"cannot be read|regular"):
        read(f"{tmp_path}/{name}")


def test_a_journal_that_does_not_exist_cannot_be_resumed(path):
    for use in (read, rahbo.Optimizer.resume):
        with pytest.raises(JournalError, match="cannot be read"):
            use(path)
        assert not path.exists()
    path.touch()
    for use in (read, rahbo.Optimizer.resume):
        with pytest.raises(JournalError, match="does not hold a run"):
            use(path)


# -- two writers -----------------------------------------------------------------------------------


def test_two_writers_are_refused_and_readers_are_not(path):
    opt = begin(path)
    opt.ask()
    for use in (begin, rahbo.Optimizer.resume):
        with pytest.raises(JournalError, match="being written by another"):
            use(path)
    assert len(read(path)[1]) == 1
    opt.ask()
    assert len(read(path)[1]) == 2
    link = path.with_name("link.jsonl")
    link.symlink_to(path)
    with pytest.raises(JournalError, match="being written by another"):
        begin(link)
    opt.close()
    opt.close()
    assert len(begin(path).trials) == 2


def test_an_optimizer_that_is_gone_holds_nothing(path):
    for _ in range(3):
        begin(path).ask()
    with pytest.raises(JournalError, match="another run"):
        begin(path, seed=4)
    assert len(begin(path).trials) == 1


HOLDS = """
import os, sys, time, rahbo
opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=sys.argv[1])
opt.ask()
if sys.argv[2] == "fork" and os.fork() == 0:
    try:
        opt.tell(0, 1.0)
    except rahbo.errors.JournalError as error:
        print("refused" if "this is a fork of it" in str(error) else error, flush=True)
    opt.close()
    sys.stdout = sys.stderr = open(os.devnull, "w")
    os.close(1)
    time.sleep(60)
    os._exit(0)
if sys.argv[2] == "alone":
    print("holds", flush=True)
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL and fork")
@pytest.mark.parametrize("kind", ["alone", "fork"])
def test_a_writer_in_another_process_is_respected_until_it_dies(path, kind):
    command = [sys.executable, "-c", HOLDS, str(path), kind]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(), start_new_session=True
    ) as process:
        try:
            assert process.stdout.readline() == {"alone": "holds\n", "fork": "refused\n"}[kind]
            with pytest.raises(JournalError, match="being written by another"):
                rahbo.Optimizer.resume(path)
            assert len(read(path)[1]) == 1
            process.send_signal(signal.SIGKILL)
            process.wait()
            # The fork still lives, and holds nothing.
            assert rahbo.Optimizer.resume(path).open[0].id == 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_copies_have_the_trials_and_leave_the_file_alone(path):
    opt = drive(begin(path))
    before = path.read_bytes()
    for other in (copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))):
        assert state(other) == state(opt)
        other.tell({"x": 0.1, "kind": "a"}, 1.0)
        other.close()
    assert path.read_bytes() == before
    opt.tell({"x": 0.1, "kind": "a"}, 1.0)
    assert len(read(path)[1]) == 7


# -- size ------------------------------------------------------------------------------------------


def test_the_work_to_read_repeats_that_were_told_one_by_one_is_linear(tmp_path, unflushed):
    def work(n):
        path = tmp_path / f"{n}.jsonl"
        opt = rahbo.Optimizer(LINE, repeats=n, seed=0, journal=path)
        suggestion = opt.ask()
        for i in range(n):
            opt.tell(suggestion, float(i), repeat=i)
        opt.close()
        both = (
            lines_run(lambda: read(path)),
            lines_run(lambda: rahbo.Optimizer.resume(path).close()),
        )
        assert read(path)[1][0].values == {i: float(i) for i in range(n)}
        return sum(both)

    few, many = work(150), work(600)
    assert many < 5 * few
