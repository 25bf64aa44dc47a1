"""A model to propose by as long as the data hardly show that the mean varies.

A flat mean under much noise explains few values about as well as a mean that varies under less. The
fit settles for one of the two. If it is the flat one, it sees nothing worth looking at, and its
noise explains away whatever is found. If the mean is flat, nothing is lost by looking. So until the
data decide, points are proposed as if it varied. What is reported never rests on this.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from rahbo.model.joint import Learned, MeanNoiseModel, ModelSettings
from rahbo.model.kernels import Kernel
from rahbo.model.learning import learn
from rahbo.trials import Observations

# In nats. Less evidence than this that the mean varies counts as none.
FAINT = 5.0
# The lengthscales that are assumed, as a share of the typical ones.
ROUGH = 0.6


def knows_nothing(model: MeanNoiseModel) -> bool:
    """Return whether a constant with noise explains the outputs nearly as well as the mean GP.

    log p(y) - max_c log N(y; c, Sigma) < 5
    """
    y, noise_var = model.mean.y, model.mean.noise_var
    residual = y - np.average(y, weights=1.0 / noise_var)
    constant = -0.5 * float(np.sum(residual**2 / noise_var + np.log(2.0 * np.pi * noise_var)))
    return model.mean.log_likelihood - constant < FAINT


def learn_assuming(settings: ModelSettings, observations: Observations) -> Learned:
    """Return hyperparameters for a mean that varies, with the noise that is learned under it.

    The kernel of the mean is that at the centre of its prior, with 0.6 times the lengthscales. If
    outputs are standardised, the variance of the mean is that of the outputs. A kernel that was
    given is used unchanged.
    """
    if isinstance(settings.kernel, Kernel):
        return learn(settings, observations)
    d = observations.X.shape[1]
    y = settings.units(observations).to_model(observations.mean)
    prior = settings.outputs.hyperprior(d, y)
    theta = np.full(d + 1, prior.log_lengthscale + math.log(ROUGH))
    theta[d] = prior.log_variance
    assumed = settings.kernel.from_log_parameters(theta)
    return learn(replace(settings, kernel=assumed), observations)
