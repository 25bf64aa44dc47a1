"""The picture of two answers from one table."""

import numpy as np
import pytest

from rahbo.plots import figure_of_promises
from rahbo.problems import Promise, sine

X, Y = np.array([0.25, 0.3, 1.3]), np.array([1.1, 0.9, 3.6])


def test_both_answers_and_what_they_give_are_drawn():
    lucky, reliable = Promise.of(sine(), 1.3, 3.6), Promise.of(sine(), 0.25, 1.0)
    figure = figure_of_promises(sine(), X, Y, lucky, reliable)
    left, right = figure.axes
    drawn = {line.get_label(): line.get_xydata() for line in left.get_lines()}
    np.testing.assert_allclose(drawn["3 trials"], np.column_stack([X, Y]))
    np.testing.assert_allclose(drawn["the luckiest trial"], [[1.3, 3.6]])
    np.testing.assert_allclose(drawn["recommended"], [[0.25, 1.0]])
    said = {text.get_text() for text in right.texts}
    assert said == {"promised 3.6, gives 1.0 ± 1.0", "promised 1.0, gives 1.0 ± 0.3"}
    low, high = left.get_ylim()
    assert low < Y.min()
    assert Y.max() < high == right.get_ylim()[1]
    counted = [sum(bar.get_width() for bar in bars) for bars in right.containers]
    assert counted == pytest.approx([2000, 2000], rel=0.01)
