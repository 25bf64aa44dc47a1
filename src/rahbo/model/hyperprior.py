"""What is believed of the hyperparameters of a GP before seeing data."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Of the log noise scale of outputs of order one: a factor of seven each way.
NOISE_STD = 2.0


@dataclass(frozen=True)
class Hyperprior:
    """What is believed of kernel parameters and prior mean before seeing data.

    Log lengthscales, log variance and a learned log noise scale are Gaussian, the mean is Gaussian;
    an infinite standard deviation is a flat prior (plain marginal likelihood), ``mean_var = 0``
    fixes the mean.

    Attributes:
        log_lengthscale: Centre.
        log_lengthscale_std: Standard deviation.
        log_variance: Centre, also the middle of the search range.
        log_variance_std: Standard deviation.
        mean: Centre of the prior mean m.
        mean_var: Its variance.
        log_noise: Centre, also the middle of the range in which a learned noise scale is sought.
        log_noise_std: Standard deviation.
        log_noise_reach: Half the width of that range.
        shortest: The smallest lengthscale sought, in widths of the cube.
        longest: The largest one.
    """

    log_lengthscale: float
    log_lengthscale_std: float
    log_variance: float
    log_variance_std: float
    mean: float
    mean_var: float
    log_noise: float = math.log(0.1)
    log_noise_std: float = math.inf
    log_noise_reach: float = math.log(1e5)
    shortest: float = 0.01
    longest: float = 100.0

    @classmethod
    def weak(cls, d: int, *, log_variance: float = 0.0, mean: float = 0.0) -> Hyperprior:
        """For outputs of order one: lengthscales grow as the diagonal of the cube does.

        A few points, each evaluated once, fit a function without noise as well as they fit any:
        without a prior of the noise they would mostly be taken for that.
        """
        lengthscale = math.log(0.2) + 0.5 * math.log(d)
        return cls(
            lengthscale, math.sqrt(3.0), log_variance, 1.0, mean, 1.0, log_noise_std=NOISE_STD
        )

    @classmethod
    def flat(cls, log_variance: float) -> Hyperprior:
        """Zero prior mean and plain marginal likelihood, for outputs of any scale."""
        flat, noise = math.inf, log_variance - math.log(10.0)
        return cls(math.log(0.3), flat, log_variance, flat, 0.0, 0.0, log_noise=noise)
