"""What a setting promised, and what it gives."""

import numpy as np
import pytest

import rahbo
from rahbo.problems import Promise, sine


def test_a_promise_is_compared_with_the_truth():
    found = Promise.of(sine(), 1.25, 2.7)
    assert (found.x, found.promised) == (1.25, 2.7)
    assert found.mean == pytest.approx(np.sin(2.5 * np.pi))
    assert found.noise_std == pytest.approx(np.sqrt(1.1), rel=1e-3)
    assert found.risk_value(rahbo.MeanStd(2.0)) == pytest.approx(found.mean - 2 * found.noise_std)
