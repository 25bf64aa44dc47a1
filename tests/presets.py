"""Settings that several tests share."""

import dataclasses

import rahbo


def paper(alpha=1.0, repeats=10, n_initial=10, **parts):
    """The settings of the paper's experiments, with other parts of the method if given."""
    method = dataclasses.replace(rahbo.paper(), **parts)
    risk = rahbo.MeanVariance(alpha)
    return {"risk": risk, "repeats": repeats, "n_initial": n_initial, "method": method}
