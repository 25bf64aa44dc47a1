from dataclasses import replace

import pytest

from page_runs import run
from rahbo import ExpectedShortfall, MeanStd, MeanVariance, Quantile
from rahbo.pages import words


@pytest.mark.parametrize(
    ("risk", "said"),
    [
        (MeanVariance(0.0), "the mean"),
        (MeanVariance(2.0), "the mean plus 2 times the noise variance"),
        (MeanStd(1.5), "the mean plus 1.5 times the noise standard deviation"),
        (Quantile(0.05), "the value that 0.05 of the outcomes exceed"),
        (ExpectedShortfall(0.1), "the mean of the worst 0.1 of the outcomes"),
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
        assert f"{interval.lower:.4g} and {interval.upper:.4g}" in said
    assert "evaluated 3 times" in said
    basis = words.basis(optimizer)
    assert basis.startswith("From 37 evaluations, 1 of which failed, at 12 points.")
    assert "largest value of the mean less 1 times the noise variance" in basis


def test_certainty_follows_the_probability():
    found = run().recommend()
    said = {p: words.certainty(replace(found, p_best=p), 12) for p in (0.2, 0.6, 0.97)}
    assert "may well be better" in said[0.2]
    assert "more likely than not" in said[0.6]
    assert "very likely" in said[0.97]
    assert words.certainty(found, 1) == "It is the only point evaluated."
