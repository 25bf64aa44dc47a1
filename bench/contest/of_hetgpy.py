"""hetGPy's model of mean and noise, with the pick and the report of the recipe on BoTorch.

The model is refitted every step to all values, standardised, with a Matérn 5/2 kernel and its own
defaults otherwise; noise is on the log scale, so that the bound of the noise variance is
v·exp(±beta·s), s the deviation of the log noise.
"""

import numpy as np
from hetgpy import hetGP
from scipy.optimize import minimize

from contest.methods import Peer, Report

BETA = 2.0
RAW_SAMPLES, STARTS = 512, 5
STEP = 1e-6


class HetGPy(Peer):
    def __init__(self, task: str, seed: int, k: int) -> None:
        super().__init__(task, seed, k)
        self._fitted: tuple[int, hetGP] | None = None

    def propose(self) -> np.ndarray:
        rng = np.random.default_rng([self.seed, 3, self.asked])
        best = self.X[np.argmax(self.bound(self.X, 1.0))]
        near = np.clip(best + 0.05 * rng.standard_normal((RAW_SAMPLES // 4, self.space.d)), 0, 1)
        raw = np.vstack([rng.random((RAW_SAMPLES, self.space.d)), near, best])
        starts = raw[np.argsort(-self.bound(raw, 1.0))[:STARTS]]
        found = [
            minimize(
                self.loss, x, jac=True, bounds=[(0.0, 1.0)] * self.space.d, method="L-BFGS-B",
                options={"maxiter": 50},
            ).x
            for x in starts
        ]  # fmt: skip
        ends = np.vstack([*found, starts[0]])
        return ends[np.argmax(self.bound(ends, 1.0))]

    def loss(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """The negated bound and its gradient, by differences in one call of the model."""
        step = np.where(x < 0.5, STEP, -STEP)
        values = -self.bound(np.vstack([x, x + np.diag(step)]), 1.0)
        return float(values[0]), (values[1:] - values[0]) / step

    def hope(self, X: np.ndarray) -> np.ndarray:
        return self.bound(X, 1.0)

    def report(self) -> Report:
        return self.reported(int(np.argmax(self.bound(self.X, -1.0))))

    def bound(self, X: np.ndarray, sign: float) -> np.ndarray:
        """f + sign beta sigma - alpha v exp(-sign beta s) ``(m,)``, at ``X (m, d)``."""
        model, (shift, scale) = self.model(), self.units()
        at = model.predict(x=X, noise_var=True)
        mean, sd2, var, s2 = (np.atleast_1d(at[key]) for key in ("mean", "sd2", "nugs", "sd2var"))
        # The library scales the variance of the log noise by that of the mean, which is no part.
        s = np.sqrt(np.maximum(s2 / model["nu_hat"], 0.0))
        f = shift + scale * (mean + sign * BETA * np.sqrt(np.maximum(sd2, 0.0)))
        return f - self.risk.alpha * scale**2 * var * np.exp(-sign * BETA * s)

    def units(self) -> tuple[float, float]:
        return float(self.Y.mean()), float(self.Y.std()) or 1.0

    def model(self) -> hetGP:
        if self._fitted is None or self._fitted[0] != len(self.X):
            shift, scale = self.units()
            model = hetGP()
            model.mle(
                X=np.repeat(self.X, self.k, axis=0), Z=(self.Y.ravel() - shift) / scale,
                covtype="Matern5_2", settings={"checkHom": False},
            )  # fmt: skip
            self._fitted = len(self.X), model
        return self._fitted[1]


METHODS = {"hetgpy": HetGPy}
