"""When not to trust the model: a value that it takes for noise, a mean that it knows nothing of."""

from __future__ import annotations

import numpy as np

from rahbo import model as models
from rahbo.numerics import Array, Mask
from rahbo.policy import acquisition as acq
from rahbo.state import State, kept_with_models

# A value this many noise standard deviations above the mean is too good to be noise.
TOO_GOOD = 2.0


@kept_with_models
def knows_nothing(state: State) -> bool:
    """Return whether a constant with noise explains the outputs nearly as well as the mean GP."""
    return state.assumed is not None or models.knows_nothing(state.followed)


@kept_with_models
def unbelieved(state: State) -> Array:
    """Return points with one value that the model takes for noise but is too good for it.

    (y - mu) / rho > 2  and  R(y, rho^2) > max R(mu, v)

    The best comes first. Such a value may mean a peak or a noisy place. The model may settle for
    the wrong one and never come back, and a second value decides. Here rho^2 is the noise that
    repeated points show. The model's own v would not do: the distance of the value from mu raises
    it, and so explains the value away.
    """
    model = state.assumed or state.followed
    observations = model.observations
    if not observations.any_single:
        return observations.X[:0]
    single = observations.count == 1
    X, y = observations.X[single], model.units.to_model(observations.mean)[single]
    noise_var = np.maximum(model.by_repeats.variance(X), model.min_noise_var)
    doubted: Mask = model.mean.residuals[single] > TOO_GOOD * np.sqrt(noise_var)
    if not doubted.any():
        return observations.X[:0]
    centre = acq.central(model, state.settings.risk)
    if_true = centre.risk.value(y, noise_var)
    doubted &= if_true > acq.at_observations(centre).max()
    order = np.argsort(-if_true, kind="stable")
    return np.asarray(X[order[doubted[order]]])
