"""A prediction as a record; its numbers are tested in test_recommendation.py."""

from rahbo.analysis import Interval, Prediction

FOUND = Prediction({"x": 1 / 3}, 2.0, Interval(1.0, 3.0), 0.5, Interval(0.2, 0.9), 1.5,
                   Interval(0.5, 2.5), 0.9, 0.25)  # fmt: skip


def test_estimates_are_texts_in_the_digits_of_their_intervals():
    assert [tuple(estimate) for estimate in FOUND.estimates] == [
        ("mean", "2.0", "1.0", "3.0"),
        ("noise std", "0.50", "0.20", "0.90"),
        ("risk value", "1.5", "0.5", "2.5"),
    ]
    assert FOUND.feasible
    assert "0.333333" in str(FOUND)
    assert "0.333333" in FOUND._repr_html_()
