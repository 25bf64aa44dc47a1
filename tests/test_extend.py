"""A run with classes of a user's own in place of all of the model's and the policy's."""

import numpy as np
import pytest

import rahbo
from outside import Periodic, Quadratic, ShapeNoise, Thompson, WhereNoisy

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
OWN = {
    "risk": Quadratic(),
    "repeats": WhereNoisy(),
    "method": rahbo.Method(noise=ShapeNoise(), strategy=Thompson(), kernel=Periodic),
}


def objective(x, y, seed):
    noise = np.random.default_rng(seed).normal()
    return -((x - 0.6) ** 2) - (y - 0.3) ** 2 + (0.02 + 0.3 * x) * noise


@pytest.mark.slow
def test_it_goes_on_from_its_journal_and_reports(tmp_path):
    path = tmp_path / "run.jsonl"
    rahbo.maximize(objective, SPACE, evaluations=30, confirm=0, seed=0, journal=path, **OWN)
    with path.open("rb+") as file:  # as if killed while it wrote
        file.truncate(path.stat().st_size - 30)
    opt = rahbo.Optimizer.resume(path, **OWN)
    opt.close()
    run = {"evaluations": 60, "confirm": 4, "seed": 0, **OWN}
    resumed = rahbo.maximize(objective, SPACE, journal=path, **run)
    whole = rahbo.maximize(objective, SPACE, **run)
    assert resumed.recommendation == whole.recommendation
    lower, upper = whole.recommendation.noise_std_interval
    assert 0.0 < lower < upper
    assert "Quadratic" in str(whole.frontier())
    assert str(whole.diagnose())
    resumed.report(tmp_path / "report.html")
    assert "Quadratic()" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_noise_model_that_learns_nothing_in_learn_is_believed(repeats):
    found = {}
    for noise in (ShapeNoise(), ShapeNoise(slope_std=1e-6)):
        opt = rahbo.Optimizer({"x": (0.0, 1.0)}, repeats=repeats, seed=0,
                              method=rahbo.Method(noise=noise))  # fmt: skip
        rng = np.random.default_rng(0)
        for x in np.linspace(0.0, 1.0, 20):
            opt.tell({"x": x}, list((0.01 + x) * rng.normal(size=repeats)))
        quiet, loud = (opt.predict({"x": x}).noise_std for x in (0.0, 1.0))
        found[noise.slope_std] = loud / quiet
    assert found[2.0] > 3.0
    assert found[1e-6] == pytest.approx(1.0, rel=1e-3)


def test_a_noise_model_that_returns_none_is_refused():
    class Forgetful(ShapeNoise):
        def learn(self, data, previous=None):
            return None

    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, method=rahbo.Method(noise=Forgetful()), seed=0)
    for x in np.linspace(0.0, 1.0, 8):
        opt.tell({"x": x}, [x, x + 0.1])
    with pytest.raises(rahbo.errors.SettingsError, match=r"learn\(\) must return what was learned"):
        opt.recommend()
