"""Points predicted by the others."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from rahbo.model import GP
from rahbo.plots import LeftOut, draw_coverage, draw_left_out, left_out


@pytest.mark.parametrize("run", ["flat", "mixed", "listed"])
def test_each_point_is_predicted_by_the_others_alone(run, request):
    opt = request.getfixturevalue(run)
    record, told = left_out(opt), opt.observations
    sign, units, gp = opt.settings.sign, opt.model.units, opt.model.mean
    noise_var = gp.noise_var
    y = units.to_model(told.mean)
    np.testing.assert_allclose(record.measured, sign * told.mean)
    for i in range(told.n):
        rest = np.arange(told.n) != i
        others = GP.condition(
            gp.kernel, told.X[rest], y[rest], noise_var[rest], prior_mean=gp.prior_mean
        )
        mu, sigma = others.predict(told.X[i : i + 1])
        expected = sign * (units.shift + units.scale * mu[0])
        np.testing.assert_allclose(record.predicted[i], expected, rtol=1e-6, atol=1e-8)
        std = units.scale * np.sqrt(sigma[0] ** 2 + noise_var[i])
        np.testing.assert_allclose(record.std[i], std, rtol=1e-6)
    calibration = opt.diagnose().calibration
    assert record.inside(0.9) == pytest.approx(calibration.inside)


def test_predictions_are_drawn_with_their_bands(flat):
    record, ax = left_out(flat), Figure().subplots()
    assert draw_left_out(record, ax) is ax
    (bars,) = ax.containers
    np.testing.assert_array_equal(bars.lines[0].get_xdata(), record.predicted)
    np.testing.assert_array_equal(bars.lines[0].get_ydata(), record.measured)
    ends = np.array(bars.lines[2][0].get_segments())[:, :, 0]
    np.testing.assert_allclose(np.ptp(ends, axis=1), 2 * 1.6448536 * record.std)


def test_coverage_is_drawn_beside_what_chance_allows():
    z = np.random.default_rng(0).standard_normal(200)
    record = LeftOut(z, np.zeros(200), np.ones(200))
    assert record.inside(0.9) == np.mean(np.abs(z) <= 1.6448536)
    ax = Figure().subplots()
    assert draw_coverage(record, ax) is ax
    inside = next(line for line in ax.lines if line.get_label() == "points inside their band")
    x, y = inside.get_data()
    np.testing.assert_allclose(y[90], record.inside(0.9))
    band = ax.collections[0].get_paths()[0].vertices
    at = band[np.isclose(band[:, 0], 0.5), 1]
    # The quantiles of 200 tosses of a coin.
    assert (at.min(), at.max()) == (86 / 200, 114 / 200)
    assert x[0] == y[0] == 0.0


def test_one_outlier_does_not_squeeze_the_others(rng):
    z = rng.standard_normal(30)
    record = LeftOut(np.append(z, 5e4), np.append(z, 0.0), np.ones(31))
    ax = draw_left_out(record, Figure().subplots())
    assert np.ptp(ax.get_ylim()) < 10.0
    mark = next(line for line in ax.lines if line.get_label() == "outside the range")
    assert mark.get_ydata() == [ax.get_ylim()[1]]
