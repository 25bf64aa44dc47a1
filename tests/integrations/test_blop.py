"""blop: what its protocols ask for, and runs in a real RunEngine with simulated devices."""

import math
import threading
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from blop import protocols
from blop.plan_stubs import navigate_to_best
from blop.plans import (
    acquire_baseline,
    default_acquire,
    optimize,
    optimize_in_run,
    sample_suggestions,
)
from blop.protocols import OptimizationProblem
from blop.scipy.configs import Objective, RangeDOF
from bluesky.run_engine import RunEngine
from bluesky.utils import FailedPause, Msg, RunEngineInterrupted
from ophyd.sim import SynAxis, SynSignal
from ophyd.status import Status

import rahbo
from rahbo.errors import (
    ExhaustedError,
    NotReadyError,
    RahboError,
    SettingsError,
    SpaceError,
)
from rahbo.integrations.blop import RahboOptimizer, space_of

SPACE = {"pitch": (-1.0, 1.0), "gap": (0.0, 10.0)}


class Beamline:
    """Two motors and a diode. The bright spot at pitch=0.5 flickers, the one at -0.5 is quiet."""

    def __init__(self, noise: float = 0.25) -> None:
        self.rng = np.random.default_rng(0)
        self.noise = noise
        self.pitch, self.gap = SynAxis(name="pitch"), SynAxis(name="gap")
        self.diode = SynSignal(func=self.read, name="diode")
        self.order: list[str] = []
        self.readings: dict[int, float] = {}
        self.engine = RunEngine({})
        self.engine.subscribe(self.document)

    def read(self) -> float:
        x, y = self.pitch.position, self.gap.position
        bright = 3.0 * math.exp(-(((x - 0.5) / 0.35) ** 2) - ((y - 6.0) / 4.0) ** 2)
        quiet = 2.0 * math.exp(-(((x + 0.5) / 0.35) ** 2) - ((y - 4.0) / 4.0) ** 2)
        return bright + quiet + (0.03 + self.noise * bright) * self.rng.standard_normal()

    def document(self, name, doc) -> None:
        if name == "start" and "blop_acquisition_order" in doc:
            self.order, self.readings = doc["blop_acquisition_order"], {}
        elif name == "event" and "diode" in doc["data"]:
            self.readings[doc["seq_num"]] = doc["data"]["diode"]

    def flux(self, uid, suggestions) -> list[dict]:
        found = [self.readings[i] for i in sorted(self.readings)]
        return [{"_id": i, "flux": y} for i, y in zip(self.order, found, strict=True)]

    def problem(self, optimizer, evaluate=None) -> OptimizationProblem:
        motors = [self.pitch, self.gap]
        return OptimizationProblem(optimizer, motors, [self.diode], evaluate or self.flux)

    def optimize(self, optimizer, iterations=None, evaluate=None, **kwargs) -> None:
        self.engine(optimize(self.problem(optimizer, evaluate), iterations, **kwargs))

    def pause_at(self, reading: int, defer: bool = False) -> None:
        """Request a pause while this reading is taken."""
        count, trigger = 0, self.diode.trigger

        def pausing():
            nonlocal count
            count += 1
            if count != reading:
                return trigger()
            status = Status()

            def request() -> None:
                self.engine.request_pause(defer)
                trigger()
                status.set_finished()

            threading.Thread(target=request).start()
            return status

        self.diode.trigger = pausing


@pytest.fixture
def beamline() -> Beamline:
    return Beamline()


def search(**settings) -> RahboOptimizer:
    """An optimizer that proposes without a model, where the model is not what is tested."""
    return RahboOptimizer(SPACE, "flux", **{"seed": 0, "n_initial": 50, **settings})


def outcomes(suggestions, value=1.0, **more) -> list[dict]:
    return [{"_id": s["_id"], "flux": value, **more} for s in suggestions]


def failures(optimizer: RahboOptimizer) -> list[str]:
    return [why for trial in optimizer.rahbo.trials for why in trial.failures.values()]


def settings_of(suggestion) -> dict:
    return {name: value for name, value in suggestion.items() if name != "_id"}


# -- without an engine ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "protocol",
    [
        protocols.Optimizer,
        protocols.CanRegisterSuggestions,
        protocols.TrialFaultAware,
        protocols.SupportsStoppingCriteria,
        protocols.Checkpointable,
    ],
)
def test_it_has_every_protocol_of_an_optimizer(protocol) -> None:
    assert isinstance(search(), protocol)


def test_it_suggests_exactly_as_many_as_asked_and_each_repeat_by_itself() -> None:
    optimizer = search(repeats=3)
    first, more = optimizer.suggest(2), optimizer.suggest(5)
    assert [s["_id"] for s in (*first, *more)] == ["0-0", "0-1", "0-2", "1-0", "1-1", "1-2", "2-0"]
    assert settings_of(first[0]) == settings_of(first[1]) == settings_of(more[0])
    assert settings_of(more[1]) != settings_of(first[0])
    assert len(optimizer.suggest()) == 1


def test_outcomes_come_in_any_order_and_count_once() -> None:
    optimizer = search(repeats=2)
    told = [{"_id": s["_id"], "flux": float(i)} for i, s in enumerate(optimizer.suggest(4))]
    optimizer.ingest(told[::-1])
    optimizer.ingest(told)
    assert [dict(t.values) for t in optimizer.rahbo.trials] == [{0: 0.0, 1: 1.0}, {0: 2.0, 1: 3.0}]


def test_a_point_measured_elsewhere_needs_its_parameters() -> None:
    optimizer = search()
    optimizer.ingest([{"pitch": 0.5, "gap": 1.0, "flux": 2.0}])
    optimizer.ingest([{"_id": "baseline", "pitch": 0.0, "gap": 1.0, "flux": math.nan}])
    (good, bad) = optimizer.rahbo.trials
    assert (good.params, dict(good.values)) == ({"pitch": 0.5, "gap": 1.0}, {0: 2.0})
    assert (bad.source, dict(bad.failures)) == ("user", {0: "flux=nan"})


@pytest.mark.parametrize("value", [None, math.nan, math.inf, np.float32("nan"), np.ma.masked])
def test_a_reading_without_a_number_is_a_failure(value) -> None:
    optimizer = search(repeats=2)
    first, second = optimizer.suggest(2)
    optimizer.ingest(outcomes([first]) + outcomes([second], value))
    assert dict(optimizer.rahbo.trials[0].values) == {0: 1.0}
    assert failures(optimizer) == [f"flux={value!r}"]


def test_numbers_of_numpy_are_numbers() -> None:
    optimizer = search(repeats=3)
    values = [np.float32(2.0), np.array([2.0]), np.int64(2)]
    for suggestion, value in zip(optimizer.suggest(3), values, strict=True):
        optimizer.ingest(outcomes([suggestion], value))
    assert set(optimizer.rahbo.trials[0].values.values()) == {2.0}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        *(({"_id": i, "flux": 1.0}, "not a suggestion of this run") for i in
          ("7-0", "0-9", "x", 3, "0-0 ")),
        *(({"_id": "0-1", "flux": value}, "one number") for value in
          ((1.0, 0.1), [1.0, 2.0], "1.0", True, np.ones(2))),
        ({"_id": "0-1", "intensity": 1.0}, "needs the objective 'flux', got"),
        ({"_id": "0-1", "flux": 1e99}, "numbers up to"),
        ({"_id": "0-0", "flux": 2.0}, "now as 2.0"),
        ({"pitch": 0.5, "flux": 1.0}, "gap"),
        ({"pitch": 0.5, "gap": 99.0, "flux": math.nan}, "gap"),
    ],
)  # fmt: skip
def test_if_one_point_is_wrong_none_is_recorded(wrong, said) -> None:
    optimizer = search(repeats=2)
    first, second = optimizer.suggest(2)
    with pytest.raises(RahboError, match=said):
        optimizer.ingest([*outcomes([first]), wrong])
    assert optimizer.rahbo.n_evaluations == 0
    optimizer.ingest(outcomes([first, second]))
    assert optimizer.rahbo.n_evaluations == 2


def test_a_setting_that_fails_before_its_first_value_is_not_repeated() -> None:
    optimizer = search(repeats=3)
    optimizer.register_failures(optimizer.suggest())
    assert [s["_id"] for s in optimizer.suggest(2)] == ["1-0", "1-1"]
    optimizer.ingest([{"_id": "1-0", "flux": 1.0}, {"_id": "1-1", "flux": None}])
    assert [s["_id"] for s in optimizer.suggest(2)] == ["1-2", "2-0"]


def test_settings_chosen_by_hand_get_an_id_and_ours_keep_theirs() -> None:
    optimizer = search()
    (own,) = optimizer.suggest()
    moved = {**own, "pitch": 0.25}
    chosen = optimizer.register_suggestions([{"pitch": 0.5, "gap": 1.0}, own, moved])
    assert chosen == [{"_id": "1-0", "pitch": 0.5, "gap": 1.0}, own, {**moved, "_id": "2-0"}]
    optimizer.ingest(outcomes(chosen))
    assert [t.source for t in optimizer.rahbo.trials] == ["design", "user", "user"]
    assert optimizer.register_suggestions([own])[0]["_id"] == "3-0"
    with pytest.raises(SpaceError):
        optimizer.register_suggestions([{"pitch": 0.5, "gap": 99.0}])


def test_what_blop_will_not_report_is_suggested_again() -> None:
    optimizer = search()
    first = optimizer.suggest(2)
    optimizer.take_back()
    assert optimizer.suggest(2) == first


def test_an_exhausted_list_gives_what_is_left() -> None:
    rows = rahbo.Candidates([{"pitch": 0.1}, {"pitch": 0.2}], revisit=False)
    optimizer = RahboOptimizer(rows, "flux", repeats=1, seed=0)
    given = optimizer.suggest(5)
    assert sorted(s["pitch"] for s in given) == [0.1, 0.2]
    with pytest.raises(ExhaustedError):
        optimizer.suggest()


def test_the_best_point_has_the_means_of_its_readings() -> None:
    optimizer = search(repeats=2, direction="minimize", constraints={"loss": rahbo.AtMost(5.0)})
    good, bad = optimizer.suggest(4)[::2]
    for where, flux in ((good, 1.0), (bad, 9.0)):
        number = where["_id"][0]
        pair = [{"_id": f"{number}-{i}", "flux": flux + 0.1 * i, "loss": i} for i in range(2)]
        optimizer.ingest(pair)
    ((identifier, params, found),) = optimizer.get_best_points()
    assert (identifier, params) == ("0-0", settings_of(good))
    assert found == pytest.approx({"flux": 1.05, "loss": 0.5})


def test_an_outcome_names_the_block() -> None:
    optimizer = search(repeats=2, block_outcome="fill")
    optimizer.ingest(outcomes(optimizer.suggest(2), fill="monday"))
    assert {told.block for told in optimizer.rahbo.trials[0].evaluations.values()} == {"monday"}


def test_it_stops_when_the_readings_are_made_or_the_criterion_is_met() -> None:
    class Always:
        def __call__(self, state) -> bool:
            return True

    optimizer = search(n_initial=2, repeats=1, evaluations=3, stop=Always())
    optimizer.ingest(outcomes(optimizer.suggest(2)))
    assert optimizer.should_stop() == (False, None)  # the design comes first
    optimizer.ingest(outcomes(optimizer.suggest()))
    assert optimizer.should_stop() == (True, "3 of 3 evaluations were made.")
    early = search(n_initial=1, repeats=1, stop=Always())
    for value in (1.0, 2.0):
        early.ingest(outcomes(early.suggest(), value))
    stop, reason = early.should_stop()
    assert stop
    assert "is met after 2 evaluations" in reason


@dataclass
class Choice:
    """As blop's ChoiceDOF, which cannot be imported without Ax."""

    parameter_name: str
    values: list
    dependent_parameters: dict = field(default_factory=dict)


def test_degrees_of_freedom_are_a_space() -> None:
    motor = SynAxis(name="kb_pitch")
    dofs = [
        RangeDOF(actuator=motor, bounds=(-1, 1), parameter_type="float"),
        RangeDOF(name="counts", bounds=(1, 100), parameter_type="int", scaling="log", step_size=1),
        Choice("filter", ["Al", "Si"]),
    ]
    assert space_of(dofs) == {
        "kb_pitch": rahbo.Float(-1.0, 1.0),
        "counts": rahbo.Int(1, 100, log=True),
        "filter": rahbo.Categorical(["Al", "Si"]),
    }
    optimizer = RahboOptimizer(dofs, Objective(name="width", minimize=True), seed=0)
    assert optimizer.objective == "width"
    assert optimizer.rahbo.settings.direction == "minimize"
    assert set(optimizer.suggest()[0]) == {"_id", "kb_pitch", "counts", "filter"}


STEPPED = RangeDOF(name="x", bounds=(0, 1), parameter_type="float", step_size=0.1)
FLUX = Objective(name="flux", minimize=False)
CURRENT = rahbo.Context(rahbo.Float(0.0, 1.0))


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: space_of([STEPPED]), SpaceError, "step_size"),
        (lambda: space_of([Choice("m", ["a", "b"], {"a": ["x"]})]), SpaceError, "dependent_para"),
        (lambda: RahboOptimizer(SPACE, [FLUX]), SettingsError, "one Objective"),
        (lambda: RahboOptimizer(SPACE, FLUX, direction="minimize"), SettingsError, "Leave direct"),
        (lambda: search(blocks=3), SettingsError, "block_outcome"),
        (lambda: RahboOptimizer({**SPACE, "i": CURRENT}, "flux"), SettingsError, "conditions"),
        (lambda: search(evaluations=0), SettingsError, "evaluations"),
        (lambda: search().suggest(0), SettingsError, "whole number"),
        (lambda: search().checkpoint(), SettingsError, "journal"),
        (lambda: search().get_best_points(), NotReadyError, "Nothing has been told"),
    ],
)
def test_what_rahbo_cannot_do_is_refused(call, error, said) -> None:
    with pytest.raises(error, match=said):
        call()


# -- in a RunEngine ------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_mean_alone_finds_the_bright_spot_and_the_risk_the_quiet_one() -> None:
    found = {}
    for alpha in (0.0, 4.0):
        beamline = Beamline()
        risk = rahbo.MeanVariance(alpha)
        optimizer = RahboOptimizer(SPACE, "flux", risk=risk, evaluations=60, seed=1)
        beamline.optimize(optimizer)
        assert optimizer.rahbo.n_evaluations == 60
        beamline.engine(navigate_to_best([beamline.pitch, beamline.gap], optimizer))
        found[alpha] = beamline.pitch.position
    assert found[0.0] == pytest.approx(0.5, abs=0.25)
    assert found[4.0] == pytest.approx(-0.5, abs=0.25)


def test_readings_reach_the_suggestions_that_they_belong_to() -> None:
    beamline = Beamline(noise=0.0)
    optimizer = search(repeats=2)
    # Five at a time: blop takes the shortest way, and the repeats of a setting are torn apart.
    beamline.optimize(optimizer, iterations=3, n_points=5)
    assert optimizer.rahbo.n_evaluations == 15
    for trial in optimizer.rahbo.trials:
        beamline.pitch.set(trial.params["pitch"])
        beamline.gap.set(trial.params["gap"])
        for value in trial.values.values():
            assert value == pytest.approx(beamline.read(), abs=0.3)


def test_it_runs_inside_one_run_too() -> None:
    beamline = Beamline()
    optimizer = search(evaluations=4)

    def evaluate(uid, suggestions) -> list[dict]:
        found = [beamline.readings[i] for i in sorted(beamline.readings)][-len(uid) :]
        return [{"_id": i, "flux": y} for i, y in zip(uid, found, strict=True)]

    plan = optimize_in_run(beamline.problem(optimizer, evaluate), iterations=9, n_points=2)
    beamline.engine(plan)
    assert optimizer.rahbo.n_evaluations == 4


def test_an_error_in_a_plan_is_a_failure_of_its_settings(beamline) -> None:
    optimizer = search(repeats=2)

    def broken(uid, suggestions):
        raise RuntimeError("no beam")

    with pytest.raises(RuntimeError, match="no beam"):
        beamline.optimize(optimizer, 1, broken, n_points=2)
    assert failures(optimizer) == ["RuntimeError: no beam"] * 2
    beamline.optimize(optimizer, 1, n_points=2)
    assert [t.n_made for t in optimizer.rahbo.trials] == [2, 2]


@pytest.mark.parametrize("defer", [True, False])
def test_a_paused_run_resumes_and_loses_nothing(beamline, defer) -> None:
    optimizer = search(evaluations=8)
    beamline.pause_at(4, defer)
    with pytest.raises(RunEngineInterrupted):
        beamline.optimize(optimizer, n_points=2)
    assert beamline.engine.state == "paused"
    assert optimizer.rahbo.n_evaluations == (4 if defer else 2)
    beamline.engine.resume()
    assert optimizer.rahbo.n_evaluations == 8
    assert not optimizer.rahbo.open
    assert not failures(optimizer)


@pytest.mark.parametrize("how", ["abort", "stop"])
def test_an_operator_who_ends_a_plan_does_not_blame_the_setting(beamline, how) -> None:
    optimizer = search(evaluations=6)
    beamline.pause_at(4)
    with pytest.raises(RunEngineInterrupted):
        beamline.optimize(optimizer, n_points=2)
    ended = [f"{s.id}-{i}" for s in optimizer.rahbo.open for i in s.indices]
    getattr(beamline.engine, how)()
    assert (optimizer.rahbo.n_evaluations, failures(optimizer)) == (2, [])
    again = optimizer.suggest(2)
    assert [s["_id"] for s in again] == ended
    optimizer.take_back()
    beamline.optimize(optimizer, n_points=2)
    assert optimizer.rahbo.n_evaluations == 6


def test_a_pause_where_none_is_possible_does_not_blame_the_setting(beamline) -> None:
    def acquire(*args, **kwargs):
        yield Msg("clear_checkpoint")
        return (yield from default_acquire(*args, **kwargs))

    optimizer = search()
    problem = replace(beamline.problem(optimizer), acquisition_plan=acquire)
    beamline.pause_at(1)
    with pytest.raises((FailedPause, RunEngineInterrupted)):
        beamline.engine(optimize(problem))
    assert beamline.engine.state == "idle"
    assert (len(optimizer.rahbo.open), failures(optimizer)) == (1, [])


def drawn_by_id(uid, suggestions) -> list[dict]:
    """Readings that depend on their suggestion alone, so that two runs can be compared."""
    ids = [suggestion["_id"] for suggestion in suggestions]
    rngs = [np.random.default_rng([int(part) for part in i.split("-")]) for i in ids]
    return [{"_id": i, "flux": rng.normal()} for i, rng in zip(ids, rngs, strict=True)]


@pytest.mark.slow
def test_an_aborted_run_goes_on_from_its_journal_as_if_nothing_had_happened(tmp_path) -> None:
    def start(name: str) -> RahboOptimizer:
        path = tmp_path / name
        return RahboOptimizer(SPACE, "flux", evaluations=24, seed=3, journal=path)

    whole = start("whole.jsonl")
    Beamline().optimize(whole, evaluate=drawn_by_id, checkpoint_interval=1)
    beamline, first = Beamline(), start("halves.jsonl")
    beamline.pause_at(14)
    with pytest.raises(RunEngineInterrupted):
        beamline.optimize(first, evaluate=drawn_by_id)
    beamline.engine.abort()
    first.close()
    second = start("halves.jsonl")
    assert second.rahbo.n_evaluations == 13
    Beamline().optimize(second, evaluate=drawn_by_id)
    runs = [[(t.params, dict(t.values)) for t in run.rahbo.trials] for run in (whole, second)]
    assert runs[0] == runs[1]
    assert second.rahbo.n_evaluations == 24
    whole.close()
    second.close()


def test_manual_points_the_baseline_and_confirmation_are_measured(beamline) -> None:
    optimizer = search(repeats=2, n_initial=2)
    problem = beamline.problem(optimizer)
    beamline.engine(acquire_baseline(problem, {"pitch": 0.1, "gap": 2.0}))
    beamline.engine(sample_suggestions(problem, [{"pitch": -0.5, "gap": 4.0}]))
    assert [t.params["pitch"] for t in optimizer.rahbo.trials] == [0.1, -0.5]
    beamline.optimize(optimizer, 2)
    before = optimizer.rahbo.n_evaluations
    beamline.engine(sample_suggestions(problem, optimizer.confirm(3)))
    assert optimizer.rahbo.n_evaluations == before + 3
    assert optimizer.rahbo.state.counts.made("confirm") == 3
