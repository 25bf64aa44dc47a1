"""Which inputs matter."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import rahbo
from rahbo.plots import Sensitivity, draw_sensitivity, sensitivity


@pytest.mark.parametrize("run", ["flat", "mixed"])
def test_shares_are_those_of_the_posterior_means(run, request):
    opt = request.getfixturevalue(run)
    record, space = sensitivity(opt, n=512), opt.settings.space
    assert record.names == space.names
    # By conditioning directly: what is left of the variance with one input fixed, by random draws.
    rng = np.random.default_rng(3)
    for j in range(len(record.names)):
        U = rng.random((60, 150, space.n_uniform))
        U[:, :, j] = ((np.arange(60) + 0.5) / 60)[:, None]
        X = space.from_uniform(U.reshape(-1, space.n_uniform))
        shares = []
        for h in (opt.model.mean.predict(X)[0], opt.model.noise.latent(X)[0]):
            given = h.reshape(60, 150)
            # The variance of means of 150 draws holds a share of what is inside.
            shares.append((given.mean(1).var() - given.var(1).mean() / 150) / h.var())
        assert record.mean_alone[j] == pytest.approx(shares[0], abs=0.06)
        assert record.noise_alone[j] == pytest.approx(shares[1], abs=0.06)
    assert np.all(record.mean_total >= record.mean_alone - 0.05)


def test_the_same_run_gives_the_same_shares(flat):
    first, second = sensitivity(flat, n=100), sensitivity(flat, n=100)
    np.testing.assert_array_equal(first.mean_total, second.mean_total)


def test_what_does_not_vary_has_no_shares():
    data = [({"x": x, "y": 0.3}, [1.0, 1.0]) for x in (0.1, 0.6)]
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    record = sensitivity(
        rahbo.Optimizer(space, data=data, noise_std=lambda params: 0.5**0.5, seed=0), n=64
    )
    assert record.noise_total.tolist() == [0.0, 0.0]
    assert record.mean_alone.tolist() == [0.0, 0.0]


def test_bars_stand_for_the_leading_inputs():
    share = np.array([0.1, 0.5, 0.3])
    record = Sensitivity(("a", "b", "$c$"), share, 2.0 * share, share[::-1], share[::-1])
    assert record.leading() == ["b", "$c$", "a"]
    ax = Figure().subplots()
    assert draw_sensitivity(record, ax, most=2) is ax
    widths = {c.get_label(): [bar.get_width() for bar in c] for c in ax.containers}
    assert widths["mean, input alone"] == [0.5, 0.3]
    assert widths["mean, with interactions"] == [1.0, 0.6]
    assert widths["noise, input alone"] == [0.5, 0.1]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b", r"\$c\$"]
