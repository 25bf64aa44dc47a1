"""Which inputs matter: the share of the variation of mean and noise that each input explains.

Notation: X and X' are independent points ``(n, d)`` over the space, and X_j is X with the columns
of input j from X'. h is the posterior mean of f, or the posterior mean of the latent noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array, FixedStream, Index, fixed_generator, sobol_sequence
from rahbo.policy import in_chunks
from rahbo.space import Space

SAMPLES = 1024
# A variance below this share of the mean square is rounding error.
FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Shares of the variation of mean and noise over the space, each ``(p,)``.

    Attributes:
        names: The inputs.
        mean_alone: The share of the posterior mean's variation that the input explains on its own.
        mean_total: The share that would vanish if the input were fixed, including interactions.
        noise_alone: Like ``mean_alone`` for the log noise variance (for ``DirectNoise``, for the
            variance itself).
        noise_total: Like ``mean_total`` for the log noise variance. The shares of a quantity that
            does not vary are zero.
    """

    names: tuple[str, ...]
    mean_alone: Array
    mean_total: Array
    noise_alone: Array
    noise_total: Array

    def leading(self) -> list[str]:
        """Return the inputs in order of the larger of their total shares, largest first."""
        order = np.argsort(-np.maximum(self.mean_total, self.noise_total), kind="stable")
        return [self.names[j] for j in order]


def sensitivity_of(model: MeanNoiseModel, space: Space, n: int = SAMPLES) -> Sensitivity:
    """Compute the shares from quasi-random points over the whole space, ignoring ``valid``.

    alone_j = 1 - E[(h(X') - h(X_j))^2] / (2 Var[h]),  total_j = E[(h(X) - h(X_j))^2] / (2 Var[h])

    Args:
        model: What is believed.
        space: The inputs.
        n: The number of points, best a power of 2. The model predicts p + 2 times as many.
    """
    inputs = columns_of(space)
    sobol = sobol_sequence(2 * space.n_uniform, fixed_generator(FixedStream.SENSITIVITY))
    # The sequence is balanced only for a power of 2.
    both = sobol.random_base2(int(np.ceil(np.log2(n))))[:n]
    here, other = (space.from_uniform(U) for U in np.hsplit(both, 2))
    swapped = np.repeat(here[None], len(inputs), axis=0)
    for block, columns in zip(swapped, inputs.values(), strict=True):
        block[:, columns] = other[:, columns]
    X = np.vstack([here, other, *swapped])
    mean = effect_shares(in_chunks(model.mean.predict_mean, X).reshape(-1, n))
    noise = effect_shares(in_chunks(model.noise.centre, X).reshape(-1, n))
    return Sensitivity(tuple(inputs), *mean, *noise)


def columns_of(space: Space) -> dict[str, Index]:
    """Return the columns of each parameter: one for a number, several for a choice among many."""
    return {
        name: np.array(
            [j for j, c in enumerate(space.columns) if c == name or c.startswith(f"{name}=")]
        )
        for name in space.names
    }


def effect_shares(h: Array) -> tuple[Array, Array]:
    """Return first-order and total shares ``(p,)`` from ``h (p + 2, n)`` at X, X' and each X_j.

    They are between 0 and 1, which estimates from samples need not be.
    """
    here, other, swapped = h[0], h[1], h[2:]
    variance = float(np.var(h[:2]))
    if variance <= FLAT * float(np.mean(h[:2] ** 2)):
        return np.zeros(len(swapped)), np.zeros(len(swapped))
    alone = 1.0 - np.mean((other - swapped) ** 2, axis=1) / (2.0 * variance)
    total = np.mean((here - swapped) ** 2, axis=1) / (2.0 * variance)
    return np.clip(alone, 0.0, 1.0), np.minimum(total, 1.0)
