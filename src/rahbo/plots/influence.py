"""Which inputs matter: the share of the variation of mean and noise that each input explains.

Notation: U and U' are independent uniform points ``(N, p)`` over the space, and U_j is U with input
j from U'. h is the posterior mean of f, or the posterior mean of the latent noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from rahbo.model import GP
from rahbo.numerics import Array, FixedStream, fixed_generator, one_blas_thread
from rahbo.optimizer import Optimizer
from rahbo.plots.inputs import check_size, inputs_of
from rahbo.plots.style import BELIEF, CHOSEN, fitting

CHUNK = 1024
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


def sensitivity(optimizer: Optimizer, *, n: int = 1024) -> Sensitivity:
    """Compute the shares from quasi-random points over the whole space, ignoring ``valid``.

    alone_j = 1 - E[(h(U') - h(U_j))^2] / (2 Var[h]),  total_j = E[(h(U) - h(U_j))^2] / (2 Var[h])

    Args:
        optimizer: The run, with at least one value told.
        n: The number of points, best a power of 2. The model predicts p + 2 times as many.

    Raises:
        SpaceError: The space is a list of candidates, whose inputs do not vary independently.
        NotReadyError: Nothing has been told yet.
    """
    from scipy.stats import qmc

    names = tuple(inputs_of(optimizer))
    check_size("sensitivity(n)", n)
    space, model, p = optimizer.settings.space, optimizer.model, len(names)
    sobol = qmc.Sobol(2 * p, scramble=True, rng=fixed_generator(FixedStream.INFLUENCE))
    # The sequence is balanced only for a power of 2.
    both = sobol.random_base2(int(np.ceil(np.log2(n))))[:n]
    U, other = both[:, :p], both[:, p:]
    swapped = np.repeat(U[None], p, axis=0)
    for j in range(p):
        swapped[j, :, j] = other[:, j]
    X = space.from_uniform(np.vstack([U, other, *swapped]))
    with one_blas_thread():
        mean = effect_shares(_posterior_mean(model.mean, X).reshape(p + 2, n))
        if model.noise.gp is None:
            latent = model.noise.latent(X)[0]
        else:
            latent = _posterior_mean(model.noise.gp, X)
    return Sensitivity(names, *mean, *effect_shares(latent.reshape(p + 2, n)))


def _posterior_mean(gp: GP, X: Array) -> Array:
    """Return the mean ``(m,)``, a chunk at a time, without the far more expensive deviation."""
    pieces = np.array_split(X, -(-len(X) // CHUNK))
    return np.concatenate([gp.prior_mean + gp.kernel(x, gp.X) @ gp.weights for x in pieces])


def effect_shares(h: Array) -> tuple[Array, Array]:
    """Return first-order and total shares ``(p,)`` from ``h (p + 2, n)`` at U, U' and each U_j."""
    here, other, swapped = h[0], h[1], h[2:]
    variance = float(np.var(h[:2]))
    if variance <= FLAT * float(np.mean(h[:2] ** 2)):
        return np.zeros(len(swapped)), np.zeros(len(swapped))
    alone = 1.0 - np.mean((other - swapped) ** 2, axis=1) / (2.0 * variance)
    total = np.mean((here - swapped) ** 2, axis=1) / (2.0 * variance)
    return np.clip(alone, 0.0, 1.0), np.asarray(total)


def draw_sensitivity(record: Sensitivity, ax: Axes, *, most: int = 8) -> Axes:
    """Draw bars for the leading inputs: dark for each input alone, pale with interactions.

    Args:
        record: The shares.
        ax: The axes to draw on.
        most: The largest number of inputs to show.
    """
    names = record.leading()[:most]
    rows = [record.names.index(name) for name in names]
    y = np.arange(len(rows))
    for alone, total, shift, color, label in (
        (record.mean_alone, record.mean_total, -0.2, BELIEF, "mean"),
        (record.noise_alone, record.noise_total, 0.2, CHOSEN, "noise"),
    ):
        ax.barh(
            y + shift, total[rows], 0.36, color=color, alpha=0.3,
            label=f"{label}, with interactions",
        )  # fmt: skip
        ax.barh(y + shift, alone[rows], 0.36, color=color, label=f"{label}, input alone")
    ax.set_yticks(y, [fitting(name, 14) for name in names])
    ax.invert_yaxis()
    ax.set_xlim(0.0, max(1.0, ax.get_xlim()[1]))
    ax.set_xlabel("share of variation")
    return ax
