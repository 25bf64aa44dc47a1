"""What a run knows at one moment, now and in the past."""

import numpy as np
import pytest

import constrained
import rahbo
from rahbo.analysis import Snapshot, choose
from rahbo.errors import NotReadyError, SettingsError
from rahbo.policy import GPUCB, pessimistic, pessimistic_values


def run(n=12, **settings):
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, n_initial=4, seed=0, **settings)
    for _ in range(n):
        s = opt.ask()
        rng = np.random.default_rng([5, s.id])
        noise = (0.05 + 0.3 * s.params["y"]) * rng.standard_normal(s.repeats)
        opt.tell(s, np.sin(5.0 * s.params["x"]) + s.params["y"] + noise)
    return opt


def test_it_holds_what_reports_go_by():
    opt = run()
    known = opt.snapshot()
    assert known.model is opt.model
    assert known.observations is opt.model.observations
    assert known.legal.all()
    lower, noise_var, value = pessimistic_values(known.bound, known.observations.X)
    np.testing.assert_array_equal(known.worst, [lower, noise_var, value])
    np.testing.assert_allclose(known.pessimistic, lower - np.sqrt(noise_var), rtol=1e-12)
    chosen = known.observations.X[choose("pessimistic", known)]
    assert opt.recommend().params == known.space.decode(chosen)


def test_another_risk_measure_is_applied_at_the_strategys_bounds():
    opt = run(method=rahbo.Method(strategy=GPUCB()))
    plain, averse = opt.snapshot(), opt.snapshot(risk=rahbo.MeanVariance(3.0))
    assert averse.risk == rahbo.MeanVariance(3.0)
    np.testing.assert_array_equal(plain.worst[0], averse.worst[0])
    np.testing.assert_array_equal(plain.pessimistic, plain.worst[0])
    np.testing.assert_allclose(
        averse.pessimistic, averse.worst[0] - 3.0 * averse.worst[1], rtol=1e-12
    )


def test_points_are_legal_where_valid_holds():
    opt = run(valid=lambda p: p["x"] < 0.7)
    opt.tell({"x": 0.9, "y": 0.5}, [9.0, 9.1])
    known = opt.snapshot()
    assert known.legal.tolist() == (known.observations.X[:, 0] < 0.7).tolist()
    assert not known.legal.all()


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_past_is_what_the_run_knew_then(direction):
    """Replayed with the hyperparameters of the time: as if the run had stopped there."""
    opt = run(14, direction=direction)
    ends = [4, 7, 10, len(opt.trials)]
    for end, known in zip(ends, opt.snapshots_after(ends), strict=True):
        assert len(known.trials) == end
        then = rahbo.Optimizer(
            {"x": (0.0, 1.0), "y": (0.0, 1.0)}, n_initial=4, seed=0, direction=direction,
            trials=opt.trials[:end],
        )  # fmt: skip
        np.testing.assert_array_equal(known.pessimistic, then.snapshot().pessimistic)


def test_it_can_be_made_of_any_model():
    opt = run()
    known = Snapshot.of(opt.settings.policy, opt.trials, opt.model)
    np.testing.assert_array_equal(known.pessimistic, opt.snapshot().pessimistic)
    assert known.bound.z_f == pessimistic(opt.model, opt.settings.risk).z_f


@pytest.mark.parametrize("end", [0, -1, 13, 1.5, "2", True, None])
def test_the_past_has_as_many_trials_as_the_run(end):
    opt = run(12)
    with pytest.raises(SettingsError, match="from 1 to 12"):
        next(opt.snapshots_after([1, end]))


def test_before_the_first_value_nothing_was_known():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
    opt.tell_failure(opt.ask(), "broke")
    opt.tell(opt.ask(), 1.0)
    with pytest.raises(NotReadyError, match="None of the first 1 trials has a value"):
        next(opt.snapshots_after([1]))
    assert next(opt.snapshots_after([2])).observations.n == 1


def test_the_best_value_is_that_of_a_setting_that_keeps_its_limits():
    known = constrained.told(30).snapshot()
    kept = known.limits.kept(known.observations.X)
    assert 0 < kept.sum() < len(kept)
    assert known.best_pessimistic == pytest.approx(known.pessimistic[kept].max())
    broken = constrained.told(12, constraints={"cost": rahbo.AtMost(-1.0)}).snapshot()
    assert broken.legal.sum() == 1
    assert broken.best_pessimistic is None
