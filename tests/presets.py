"""Settings for tests: the whole of the paper's experiments, and methods from single parts."""

import dataclasses

import rahbo


def paper(alpha=1.0, repeats=10, n_initial=10, **parts):
    """The settings of the paper's experiments, with other parts of the method if given."""
    method = dataclasses.replace(rahbo.paper(), **parts)
    risk = rahbo.MeanVariance(alpha)
    return {"risk": risk, "repeats": repeats, "n_initial": n_initial, "method": method}


def with_method(settings):
    """The same settings, with those that are parts of a method in one."""
    names = {part.name for part in dataclasses.fields(rahbo.Method)}
    parts = {name: value for name, value in settings.items() if name in names}
    rest = {name: value for name, value in settings.items() if name not in names}
    return {**rest, "method": rahbo.Method(**parts)}
