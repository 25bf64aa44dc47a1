"""Which figures an experiment has, and that all of them can be drawn."""

import pytest

from rahbo.experiments import EXPERIMENTS
from rahbo.plots.paper import figures as paper
from rahbo.plots.paper.figures import FIGURES, figures, figures_markdown, save_figures

NAMES = {
    "sine": [
        "sine-functions",
        "sine-regret-alpha0.5",
        "sine-regret-alpha1",
        "sine-fits-1",
        "sine-fits-2",
    ],
    "branin": ["branin-s2-landscape", "branin-s2-acquired", "branin-s2-regret-alpha1"],
    "repeats": ["sine-repeats"],
    "fel": ["fel-tried", "fel-reported", "fel-regret"],
    "forest": [
        "forest-data",
        "smooth-forest-results",
        "smooth-forest-regret",
        "smooth-forest-reported",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_is_drawn_and_saved(name, experiments, finished, tmp_path):
    drawn = save_figures(name, experiments[name], finished, tmp_path / "figures")
    assert [f.name for f in drawn] == NAMES[name]
    files = sorted(p.name for p in (tmp_path / "figures").iterdir())
    assert files == sorted(f"{f}.{kind}" for f in NAMES[name] for kind in ("pdf", "png"))
    page = figures_markdown(drawn)
    for f in drawn:
        assert f"]({f.name}.png)\n\n{f.caption}" in page
        assert any(ax.get_xlabel() for ax in f.figure.axes)
        assert any(ax.get_ylabel() for ax in f.figure.axes)


def test_an_experiment_without_figures_of_its_own_gets_its_regrets(experiments, finished):
    drawn = list(figures("another", experiments["sine"], finished))
    assert [f.name for f in drawn] == ["sine-regret-alpha0.5", "sine-regret-alpha1"]
    assert [len(f.figure.axes) for f in drawn] == [2, 2]
    assert "mean over 2 seeds" in drawn[0].caption
    assert "as published" in drawn[0].caption


@pytest.mark.parametrize(
    ("name", "figure", "said"),
    [
        ("sine", "sine-fits-2", "same initial design, number 2"),
        ("repeats", "sine-repeats", "12/k rounds"),
        ("repeats", "sine-repeats", "lengthscale 0.2"),
        ("branin", "branin-s2-acquired", "Branin (s = 2): noise variance"),
        ("branin", "branin-s2-acquired", "3 rounds of 1 seeds"),
        ("fel", "fel-tried", "laser with measured mean and invented noise"),
        ("fel", "fel-reported", "after 2 rounds"),
    ],
)
def test_captions_say_what_was_drawn(name, figure, said, experiments, finished):
    found = {f.name: f for f in figures(name, experiments[name], finished)}
    assert said in found[figure].caption


def test_sine_shows_the_third_panel(experiments, finished):
    found = {f.name: f for f in paper.sine(experiments["sine"], finished)}
    assert len(found["sine-regret-alpha1"].figure.axes) == 3


def test_captions_of_the_forest_say_what_is_in_the_table(experiments, finished):
    found = {
        f.name.removeprefix("smooth-"): f
        for f in figures("forest", experiments["forest"], finished)
    }
    assert "91, 24, 33, 53, 22 frauds" in found["forest-data"].caption
    shown = found["forest-results"].caption
    assert "all 36,000 settings" in shown
    # The made-up scores are best, and spread least, at the upper ends.
    ends = "n_estimators 100, max_features 28, max_depth 15"
    for alpha in (0, 20, 100):
        assert f"α = {alpha}: {ends}, with mean 0.948 and variance 0.00015" in shown
    assert "2 seeds" in found["forest-regret"].caption
    assert "after 3 rounds" in found["forest-reported"].caption
    above, below = found["forest-regret"].figure.axes[::2]
    assert (above.get_ylabel(), below.get_ylabel()) == ("simple MV regret", "single evaluations")
    above, below = found["forest-reported"].figure.axes[::2]
    assert above.get_ylabel().startswith("largest empirical MV")
    assert below.get_ylabel().startswith("largest lower bound")


def test_only_experiments_that_exist_have_figures():
    assert set(FIGURES) <= set(EXPERIMENTS)
