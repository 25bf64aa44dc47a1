"""Every noise model and kernel keeps its promises, and those that break one are refused."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from outside import Line, LognormalNoise, Periodic, ShapeNoise
from rahbo.model import (
    RBF,
    DirectNoise,
    KnownNoise,
    Linear,
    LogNoise,
    Matern32,
    Matern52,
    NoisePosterior,
)
from rahbo.model.lognoise import LogPosterior
from rahbo.testing import check_kernel, check_noise


def rising(params):
    return 0.01 + params["a"]


NOISES = [
    LogNoise(),
    LogNoise(Matern32([0.8, 1.2])),
    DirectNoise(),
    DirectNoise(max_noise_var=0.2),
    KnownNoise(0.3),
    LognormalNoise(),
    ShapeNoise(),
]


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_a_noise_model_keeps_its_promises(noise):
    check_noise(noise)


def test_known_noise_is_a_function_of_its_own_parameters():
    check_noise(KnownNoise(rising), {"a": (0.0, 1.0), "kind": ["p", "q"]})


@dataclass(frozen=True)
class Forgetful(LognormalNoise):
    """Returns None for what it learned."""

    def learn(self, data, previous=None):
        return None


class Certain(Line):
    """Is never uncertain."""

    def latent(self, X):
        mu, sigma = super().latent(X)
        return mu, 0.0 * sigma


class Narrow(Line):
    """Has a band of no width."""

    def width(self, confidence):
        return 0.0


class Steep(Line):
    """Claims another slope of its link."""

    def link_slope(self, g):
        return 2.0 * np.exp(g)


class Flat(Line):
    """Claims that nothing depends on the point."""

    def latent_with_gradient(self, X):
        return *self.latent(X), np.zeros_like(X), np.zeros_like(X)


class Falling(Line):
    """Is quieter for a larger g."""

    def link(self, g):
        return np.exp(-g)


class Doubting(Line):
    """Knows less once repeats are under way."""

    def with_pending(self, X, count):
        return replace(self, covariance=2.0 * self.covariance)


class Hoping(Line):
    """Expects pending repeats to be quieter."""

    def with_pending(self, X, count):
        return replace(self, w=self.w - 1.0)


class Shifted(Line):
    """Confuses e^t with t."""

    def at_level(self, t):
        return replace(self, w=self.w * (1.0 + t))


class Certified(Line):
    """Says that it is known."""

    is_known = True


@dataclass(frozen=True)
class By(LognormalNoise):
    """Gives a posterior of another kind."""

    kind: type = Line
    factor: float = 1.0

    def condition(self, data, hyperparameters, near=None):
        line = super().condition(replace(data, s2=self.factor * data.s2), ())
        return self.kind(line.w, line.covariance)


@dataclass(frozen=True)
class Deaf(LognormalNoise):
    """Does not listen to the data."""

    def condition(self, data, hyperparameters, near=None):
        return Line(np.array([-3.0, 0.0, 0.0]), 0.1 * np.eye(3))


@dataclass(frozen=True)
class Moody(LognormalNoise):
    """Gives another answer each time."""

    def condition(self, data, hyperparameters, near=None):
        line = super().condition(data, ())
        return Line(line.w + 0.01 * np.random.default_rng().random(), line.covariance)


@dataclass(frozen=True)
class Greedy(LognormalNoise):
    """Changes the data."""

    def condition(self, data, hyperparameters, near=None):
        data.s2[:] = np.maximum(data.s2, 0.05)
        return super().condition(data, ())


@dataclass(frozen=True)
class Misled(LogNoise):
    """Lets a start that should save time decide."""

    def condition(self, data, hyperparameters, near=None):
        found = super().condition(data, hyperparameters, near)
        return found if near is None else near.at_level(0.5)


@dataclass(frozen=True)
class Slow(LogNoise):
    """Gives targets of later rounds that say too little."""

    def targets(self, data, expected, covariance):
        z, error_var = super().targets(data, expected, covariance)
        return z + 3.0, error_var


@dataclass(frozen=True)
class Starved(ShapeNoise):
    """Says that it takes residuals, but needs repeats."""

    def condition(self, data, hyperparameters, near=None):
        found = super().condition(data, hyperparameters)
        return replace(found, w=found.w / (len(data.s2) > 0)) if len(data.s2) else Line(
            np.full(3, np.nan), np.eye(3))  # fmt: skip


class Elsewhere(LogPosterior):
    """Is not the GP that it names."""

    def latent(self, X):
        mu, sigma = super().latent(X)
        return mu + 0.2, sigma

    def centre(self, X):
        return self.latent(X)[0]

    def latent_with_gradient(self, X):
        return NoisePosterior.latent_with_gradient(self, X)


@dataclass(frozen=True)
class Misnamed(LogNoise):
    extends = False

    def condition(self, data, hyperparameters, near=None):
        found = super().condition(data, hyperparameters, near)
        return Elsewhere(found.gp, found.eta_var)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Forgetful(), "learn\\(\\) must not return None"),
        (By(kind=Certain), "standard deviation of g is 0"),
        (By(kind=Narrow), "width\\(\\) must be > 0"),
        (By(kind=Steep), "link_slope\\(\\) must be the derivative"),
        (By(kind=Flat), "slopes of the mean"),
        (By(kind=Falling), "link\\(\\) must rise"),
        (By(kind=Doubting), "less certain"),
        (By(kind=Hoping), "move nothing"),
        (By(kind=Shifted), "by e\\^t"),
        (By(kind=Certified), "known noise has no band"),
        (By(factor=50.0), "must find the noise"),
        (Deaf(), "must follow the data"),
        (Moody(), "follow from their arguments alone"),
        (Greedy(), "must not change the data"),
        (Misled(), "near posterior may save time"),
        (Slow(), "must be that given all data"),
        (Starved(), "takes residuals"),
        (Misnamed(), "g must be the GP it names"),
        (KnownNoise(lambda params: 0.1), "picklable"),
        (LogNoise, "must be derived from NoiseModel"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_a_broken_promise_of_a_noise_model_is_named(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_noise(wrong)


@pytest.mark.parametrize(
    "kernel", [RBF, Matern32, Matern52, Linear, Periodic, Matern52([0.2, 0.5, 0.9], 2.0)], ids=str
)
def test_a_kernel_keeps_its_promises(kernel):
    check_kernel(kernel)


class Uneven(Periodic):
    """Is not symmetric."""

    def evaluate(self, X, Z):
        K = super().evaluate(X, Z)[0] * np.exp(0.1 * X[:, :1])
        return K, K.copy()


class Indefinite(Periodic):
    """Is no covariance: distant points are too much alike."""

    def evaluate(self, X, Z):
        K = np.minimum(1.5 * super().evaluate(X, Z)[0], self.variance)
        return K, K.copy()


class Unequal(Periodic):
    """Has another prior variance than it says."""

    def diagonal(self, X):
        return np.full(len(X), 2.0 * self.variance)


class Level(Periodic):
    """Claims to be flat in x."""

    def input_gradient(self, X, Z, weighted_slope):
        return np.zeros_like(X)


class Unlearned(Periodic):
    """Claims to depend on nothing."""

    def log_parameter_gradient(self, X, K, slope, W):
        return np.zeros(self.d + 1)


class Squared(Periodic):
    """Is proportional to the square of its variance."""

    def evaluate(self, X, Z):
        K, _ = super().evaluate(X, Z)
        return self.variance * K, self.variance * K

    def diagonal(self, X):
        return np.full(len(X), self.variance**2)


class Sloping(Linear):
    """Claims that its prior variance is the same everywhere."""

    def diagonal_gradient(self, X):
        return np.zeros_like(X)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Uneven, "must be symmetric"),
        (Indefinite, "positive definite"),
        (Unequal, "diagonal\\(\\) must be"),
        (Level, "input_gradient\\(\\)"),
        (Unlearned, "log_parameter_gradient\\(\\)"),
        (Squared, "proportional to its variance"),
        (Sloping, "diagonal_gradient\\(\\)"),
    ],
)
def test_a_broken_promise_of_a_kernel_is_named(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_kernel(wrong)
