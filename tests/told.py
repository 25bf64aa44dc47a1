"""Evaluations for tests, from numbers."""

from rahbo.trials import Evaluation


def told(*values, **same):
    """Evaluations that gave these values."""
    return [Evaluation(value, **same) for value in values]


def evaluations(values=(), failures=()):
    """Evaluations by repeat index, from values and reasons of failures by repeat index."""
    gave = {i: Evaluation(value) for i, value in dict(values).items()}
    return gave | {i: Evaluation(failure=why) for i, why in dict(failures).items()}
