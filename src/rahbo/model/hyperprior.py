"""The prior on the hyperparameters of a GP."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Prior std of the log noise scale for outputs of order one: a factor of seven up and down.
NOISE_STD = 2.0


@dataclass(frozen=True)
class Hyperprior:
    """The prior on the kernel parameters and the prior mean.

    Log lengthscales, log variance, a learned log noise scale and the mean are Gaussian. An infinite
    standard deviation is a flat prior (plain marginal likelihood), and ``mean_var = 0`` fixes the
    mean.

    Attributes:
        log_lengthscale: Centre of the log lengthscales.
        log_lengthscale_std: Standard deviation of the log lengthscales.
        log_variance: Centre of the log variance, also the middle of its search range.
        log_variance_std: Standard deviation of the log variance.
        mean: Centre of the prior mean m.
        mean_var: Variance of the prior mean m.
        log_noise: Centre of the log noise scale, also the middle of its search range.
        log_noise_std: Standard deviation of the log noise scale.
        log_noise_reach: Half the width of the search range of the log noise scale.
        shortest: Smallest lengthscale in the search, in widths of the cube.
        longest: Largest lengthscale in the search, in widths of the cube.
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
        """Return a weak prior for outputs of order one.

        Lengthscales grow with the diagonal of the cube. The noise has a prior because a function
        without noise fits a few single values as well as any other, and would mostly win.
        """
        lengthscale = math.log(0.2) + 0.5 * math.log(d)
        return cls(
            lengthscale, math.sqrt(3.0), log_variance, 1.0, mean, 1.0, log_noise_std=NOISE_STD
        )

    @classmethod
    def flat(cls, log_variance: float) -> Hyperprior:
        """Return a flat prior with zero mean (plain marginal likelihood), for any output scale."""
        flat, noise = math.inf, log_variance - math.log(10.0)
        return cls(math.log(0.3), flat, log_variance, flat, 0.0, 0.0, log_noise=noise)
