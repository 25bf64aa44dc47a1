"""Made-up repeats, the core's posteriors of them, and the BoTorch models of the same data."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from rahbo.integrations.botorch import HeteroscedasticSingleTaskGP
from rahbo.model import MeanNoiseModel, ModelSettings, condition, learn
from rahbo.trials import Observations


@dataclass(frozen=True)
class Case:
    """One data set, seen by the core and by BoTorch, and points to compare them at."""

    X: torch.Tensor
    Y: torch.Tensor
    core: MeanNoiseModel
    model: HeteroscedasticSingleTaskGP
    Z: np.ndarray

    @property
    def shift(self):
        return self.core.learned.units.shift

    @property
    def scale(self):
        return self.core.learned.units.scale

    @property
    def batch(self):
        """The points as a batch of single ones, ``m x 1 x d``."""
        return torch.as_tensor(self.Z)[:, None, :]


def repeats(d, seed=0, n=None, most=5):
    """One row per evaluation, with 1 to `most` repeats per point, shuffled, in units far from 1."""
    rng = np.random.default_rng(seed)
    P = rng.random((n or 12 * d, d))
    count = rng.integers(1, most + 1, len(P))
    count[:2] = 1, most
    X = np.repeat(P, count, axis=0)[rng.permutation(count.sum())]
    noise_std = 0.05 + 0.6 * X[:, 0]
    y = np.sin(X @ np.arange(1.0, d + 1.0) * 2.0) + noise_std * rng.normal(size=len(X))
    return torch.as_tensor(X), torch.as_tensor(50.0 + 7.0 * y)[:, None]


def seen_by_both(train_X, train_Y, settings=None, m=20):
    X, y = train_X.numpy(), train_Y.numpy()
    settings = settings or ModelSettings()
    observations = Observations.from_rounds(list(X), y.tolist())
    core = condition(settings, observations, learn(settings, observations))
    model = HeteroscedasticSingleTaskGP(train_X, train_Y, settings=settings)
    Z = np.random.default_rng(99).random((m, X.shape[1]))
    # Where there are data, too.
    Z[:2] = X[:2]
    return Case(train_X, train_Y, core, model, Z)


@pytest.fixture(scope="session", params=[1, 3, 6], ids="d={}".format)
def case(request):
    return seen_by_both(*repeats(request.param))


@pytest.fixture(scope="session")
def plane():
    return seen_by_both(*repeats(2, seed=3))


@pytest.fixture(scope="session")
def make():
    """`repeats` and `seen_by_both`, for tests of other data and settings."""
    return repeats, seen_by_both


@pytest.fixture(autouse=True)
def same_starts():
    """BoTorch draws restarts and samples from torch's global generator."""
    torch.manual_seed(0)
