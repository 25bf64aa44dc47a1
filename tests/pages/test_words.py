from dataclasses import replace

import pytest

import constrained
from page_runs import run
from rahbo import AtLeast, AtMost, ExpectedShortfall, MeanStd, MeanVariance, Quantile
from rahbo.analysis import BlockEffects, Interval
from rahbo.numerics import Justified, percent
from rahbo.pages import words


@pytest.mark.parametrize(
    ("risk", "said"),
    [
        (MeanVariance(0.0), "the mean"),
        (MeanVariance(2.0), "mean + 2 × noise variance"),
        (MeanStd(1.5), "mean + 1.5 × noise standard deviation"),
        (Quantile(0.05), "the value that 5 % of the outcomes exceed"),
        (ExpectedShortfall(0.1), "the mean of the worst 10 % of the outcomes"),
    ],
)
def test_measures_are_said_in_the_sense_of_the_run(risk, said):
    assert words.measure(risk, minimised=True) == said


def test_the_recommendation_is_said_with_its_intervals():
    optimizer = run()
    optimizer.tell_failure({"lr": 0.01, "depth": 3, "kind": "a"}, "broke")
    found = optimizer.recommend()
    said = " ".join(words.recommendation(found))
    for value, interval in (
        (found.mean, found.mean_interval),
        (found.noise_std, found.noise_std_interval),
        (found.risk, found.risk_interval),
    ):
        digits = Justified.by(value, interval)
        middle, lower, upper = map(digits.text, (value, *interval))
        assert f"{middle} (90 % interval {lower} to {upper})" in said
    assert f"Its pessimistic value, {digits.text(found.pessimistic)}, decided the choice." in said
    assert "measured 3 times" in said
    assert "measured once" in " ".join(words.recommendation(replace(found, n_evaluations=1)))
    other = replace(found, rule="best_observed", score=0.25)
    assert "Its sample mean, 0.25, decided the choice." in " ".join(words.recommendation(other))
    basis = words.basis(optimizer)
    assert basis.startswith("Based on 37 evaluations (1 failed) at 12 points.")
    assert "Maximising mean − 1 × noise standard deviation" in basis


@pytest.mark.slow
def test_limits_are_said_with_their_certainty():
    found = constrained.told(30).recommend()
    (said,), (check,) = words.limits(found), found.constraints
    assert said.startswith("The outcome cost must be at most 0.8 with probability 0.95. With this")
    assert "The limit is kept: the probability of it is" in said
    assert percent(check.chance) in said
    assert found.sentences[0] == str(found.gain)
    broken = constrained.told(12, constraints={"cost": AtLeast(9.0), "other": AtMost(1.0)})
    found = broken.recommend()
    first, second = words.limits(found)
    assert "a single value is at least" in first
    assert "It is not sure that the limit is kept" in first
    assert "No value of it was told" in second
    assert found.sentences[0].startswith("No evaluated setting is sure to keep its limits")
    assert words.limits(run().recommend()) == []


def test_blocks_are_said_with_their_spread():
    found = BlockEffects(0.5, Interval(0.25, 1.0), {"a": 0.1, "b": -0.1}, {"a": 0, "b": 0}, 0.9)
    said = words.blocks(found)
    assert said.startswith("2 blocks differ with a standard deviation of 0.50 (90 % interval 0.25")
