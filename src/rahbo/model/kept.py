"""The posterior at a fixed list of points, kept from round to round.

Notation: ``X (m, d)`` the list, ``first`` the posterior given the first data, ``z (r,)`` the later
outputs and ``L`` their factor (see `Later`). Each later point adds one column to ``C (m, r)``, lam
times the covariance of f with the list given the first data, and
    mu      = mu_first + (L^-1 C^T)^T z
    sigma^2 = sigma_first^2 - |L^-1 C^T|^2 / lam    (column by column)
So a round takes one product of the list's kernel matrix with a vector, and r^2 operations a row for
the later outputs.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from rahbo.model.gp import GP, VARIANCE_FLOOR
from rahbo.numerics import Array

# Points of the list handled at once, and the largest kernel matrix and columns that are kept, in
# bytes. What is not kept is computed again.
CHUNK, LARGEST, COLUMNS = 4096, 2**28, 2**29


class Kept:
    """The posterior given the first data at a list of points, and its covariances with others.

    Args:
        first: The posterior given the first data.
        X: The list, ``(m, d)``.
    """

    def __init__(self, first: GP, X: Array) -> None:
        self.first, self._X = first, X
        n_chunks = max(1, -(-len(X) // CHUNK))
        self._chunks = np.array_split(np.arange(len(X)), n_chunks)
        keep = 8 * len(X) * len(first.X) <= LARGEST
        self._K: list[Array] | None = [] if keep else None
        self._mu, self._var = np.empty(len(X)), np.empty(len(X))
        for some in self._chunks:
            K = first.kernel(X[some], first.X)
            self._mu[some], sigma = first.predict_from(X[some], K)
            self._var[some] = sigma**2
            if self._K is not None:
                self._K.append(K)
        self._columns: dict[bytes, Array] = {}

    def predict(self, gp: GP) -> tuple[Array, Array]:
        """Return the mean and standard deviation at the list, ``(m,)``, given later outputs too."""
        later = gp.later
        if later is None:
            return self._mu, np.sqrt(self._var)
        columns = self._columns_of(later.X)
        mu, var = self._mu.copy(), self._var.copy()
        for some in self._chunks:
            C = np.array([column[some] for column in columns])
            V = lapack.dtrtrs(later.corner, C, lower=1)[0]
            mu[some] += later.z @ V
            var[some] -= np.einsum("ij,ij->j", V, V) / gp.lam
        least = VARIANCE_FLOOR * np.maximum(gp.kernel.diagonal(self._X), 1e-300) / gp.lam
        return mu, np.sqrt(np.maximum(var, least))

    def _columns_of(self, X: Array) -> list[Array]:
        """Return lam times the covariances of f at ``X (r, d)`` with f at the list, each ``(m,)``.

        Each is computed by itself, so that rounding does not depend on what else is asked.
        """
        first, found = self.first, dict[bytes, Array]()
        missing = {x.tobytes(): x for x in X if x.tobytes() not in self._columns}
        for key, x in missing.items():
            found[key] = first.kernel(self._X, x[None])[:, 0]
        for i, some in enumerate(self._chunks if missing else ()):
            K = first.kernel(self._X[some], first.X) if self._K is None else self._K[i]
            for key, x in missing.items():
                found[key][some] -= K @ first.solve(x)[1]
        known = self._columns | found
        if 8 * len(self._X) * len(known) <= COLUMNS:
            self._columns = known
        return [known[x.tobytes()] for x in X]
