from dataclasses import replace

import pytest

from page_runs import run
from rahbo import ExpectedShortfall, MeanStd, MeanVariance, Quantile
from rahbo.analysis import Gain
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
    for interval in (found.mean_interval, found.noise_std_interval, found.risk_interval):
        assert f"90 % interval {interval.lower:.4g} to {interval.upper:.4g}" in said
    assert f"Its pessimistic value, {found.pessimistic:.4g}, decided the choice." in said
    assert "measured 3 times" in said
    other = replace(found, rule="best_observed", score=0.25)
    assert "Its sample mean, 0.25, decided the choice." in " ".join(words.recommendation(other))
    basis = words.basis(optimizer)
    assert basis.startswith("Based on 37 evaluations (1 failed) at 12 points.")
    assert "Maximising mean − 1 × noise variance" in basis


def test_what_may_still_be_gained_is_said_with_what_to_do():
    found = replace(run().recommend(), gain=Gain(0.0042, 0.0213, 0.9), p_best=None, confirm=0)
    assert words.certainty(found) == (
        "With 90 % probability no other setting is better by more than 0.021. "
        "The expected gain from a better setting is 0.0042."
    )
    listed = words.certainty(replace(found, p_best=0.625, confirm=2))
    assert listed.startswith(words.certainty(found))
    assert "The probability that it is the best of the list is 0.62." in listed
    assert listed.endswith("Measure this setting 2 more times before you rely on it.")
