"""What SimOpt's models give, for many replications at once: the truth of the contest.

Notation: n replications. The inputs of a model are arrays ``(n,)`` or ``(steps, n)`` that do not
depend on its variables x, so every point is judged by the same draws. An outcome is in SimOpt's own
sign. SimOpt's code makes one replication after the other, about 4 ms each, and two thousand of them
at every reported point would take longer than the contest. `bench/simopt_truth.py check` feeds the
same draws to both.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

Inputs = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Model:
    """One model.

    Attributes:
        draw: Its inputs, from a generator and n.
        outcome: The outcomes ``(n,)`` at x ``(d,)``, from x and the inputs; nan where SimOpt's own
            code cannot compute it.
    """

    draw: Callable[[np.random.Generator, int], Inputs]
    outcome: Callable[..., np.ndarray]


# AMBULANCE: calls of a day of 1,440 minutes, 144 on average, to five ambulances, two of them at x.
FIXED_BASES = ((15.0, 15.0), (5.0, 15.0), (5.0, 5.0))
DAY, BETWEEN_CALLS, AT_SCENE, SIDE = 1440.0, 10.0, 10.0, 20.0
MOST_CALLS = 240


def draw_calls(rng: np.random.Generator, n: int) -> Inputs:
    shape = (MOST_CALLS, n)
    return (*rng.exponential(size=(2, *shape)), *rng.beta(2.0, 1.0, size=(2, *shape)))


def response_time(x: np.ndarray, gaps: np.ndarray, scene: np.ndarray, *where: np.ndarray):
    """Mean time from a call to the arrival of an ambulance."""
    bases = np.array([*FIXED_BASES, *x.reshape(-1, 2)])[:, :, None]
    n = gaps.shape[1]
    free, each = np.zeros((len(bases), n)), np.arange(n)
    called, total, count = np.zeros(n), np.zeros(n), np.zeros(n)
    for gap, at_scene, east, north in zip(gaps, scene, *where, strict=True):
        called = called + BETWEEN_CALLS * gap
        far = np.abs(bases[:, 0] - SIDE * east) + np.abs(bases[:, 1] - SIDE * north)
        idle = free <= called
        # The nearest idle ambulance, or else the one that is free first.
        sent = np.where(idle.any(axis=0), np.where(idle, far, np.inf).argmin(0), free.argmin(0))
        start, travel = np.maximum(free[sent, each], called), far[sent, each]
        counts = start < DAY
        total += np.where(counts, start - called + travel, 0.0)
        count += counts
        free[sent, each] = start + 2.0 * travel + AT_SCENE * at_scene
    return total / count


# MM1: a queue with arrivals at rate 1.5 and services at rate x; 50 customers warm it up.
ARRIVAL_RATE, RATE_COST, WARM_UP, CUSTOMERS = 1.5, 0.1, 50, 250


def draw_customers(rng: np.random.Generator, n: int) -> Inputs:
    return tuple(rng.exponential(size=(2, CUSTOMERS, n)))


def sojourn_time(x: np.ndarray, gaps: np.ndarray, services: np.ndarray) -> np.ndarray:
    """Mean time in the system and the cost of the rate."""
    sojourn, total = np.zeros(gaps.shape[1]), 0.0
    for i, (gap, service) in enumerate(zip(gaps / ARRIVAL_RATE, services / x[0], strict=True)):
        sojourn = np.maximum(sojourn - gap, 0.0) + service
        if i >= WARM_UP:
            total = total + sojourn
    return total / (CUSTOMERS - WARM_UP) + RATE_COST * x[0] ** 2


# PARAMESTI: the log likelihood of a draw from the model with parameters (2, 5).
TRUE_PARAMETERS = (2.0, 5.0)
# `math.gamma` overflows above it.
LARGEST_GAMMA = 171.6


def draw_pairs(rng: np.random.Generator, n: int) -> Inputs:
    second = rng.gamma(TRUE_PARAMETERS[1], size=n)
    return rng.gamma(TRUE_PARAMETERS[0] * second), second


def log_likelihood(x: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    shape = x[0] * second
    value = (shape - 1.0) * np.log(first) - first - gammaln(shape)
    value += (x[1] - 1.0) * np.log(second) - second - gammaln(x[1])
    return np.where(shape < LARGEST_GAMMA, value, np.nan)


# NETWORK: 1,000 messages, one a minute, sent to ten networks with probabilities x.
MESSAGES, NETWORKS, TIME_COST = 1000, 10, 0.005


def draw_messages(rng: np.random.Generator, n: int) -> Inputs:
    shape = (MESSAGES, n)
    return rng.exponential(size=shape), rng.random(shape), rng.triangular(0.0, 0.5, 1.0, shape)


def routing_cost(x: np.ndarray, gaps: np.ndarray, route: np.ndarray, spread: np.ndarray):
    """Cost of all messages: processing, and the time that they spend in a network."""
    edges, n = (np.cumsum(x) / x.sum())[:-1], gaps.shape[1]
    price = 0.1 / np.arange(1, NETWORKS + 1)
    done, each = np.full(n * NETWORKS, -np.inf), np.arange(n)
    arrival, stay, paid = np.zeros(n), np.zeros(n), np.zeros(n)
    # Row by row, so that all of it stays in the cache.
    for gap, share, more in zip(gaps, route, spread, strict=True):
        network = edges.searchsorted(share, side="right")
        place = network * n + each
        arrival += gap
        left = np.maximum(arrival, done[place]) + network + (more + 0.5)
        done[place] = left
        stay += left - arrival
        paid += price[network]
    return paid + TIME_COST * stay


# SAN: the longest path through a network of 13 tasks with mean durations x.
ARCS = (
    (1, 2), (1, 3), (2, 3), (2, 4), (2, 6), (3, 6), (4, 5), (4, 7), (5, 6), (5, 8), (6, 9), (7, 8),
    (8, 9),
)  # fmt: skip


def draw_tasks(rng: np.random.Generator, n: int) -> Inputs:
    return (rng.exponential(size=(len(ARCS), n)),)


def project_time(x: np.ndarray, tasks: np.ndarray) -> np.ndarray:
    """The longest path and the cost of fast tasks."""
    reached = np.zeros((10, tasks.shape[1]))
    # Ends in ascending order: all that lead to a node come before those that leave it.
    for i in sorted(range(len(ARCS)), key=lambda i: ARCS[i][1]):
        start, end = ARCS[i]
        reached[end] = np.maximum(reached[end], reached[start] + x[i] * tasks[i])
    return reached[9] + np.sum(1.0 / x)


# RMITD: x is a stock and what of it is kept back for the second and the third period.
PRICES, DEMANDS, UNIT_COST = (100.0, 300.0, 400.0), (50.0, 20.0, 30.0), 80.0


def draw_demand(rng: np.random.Generator, n: int) -> Inputs:
    return rng.exponential(size=n), rng.exponential(size=(len(PRICES), n))


def revenue(x: np.ndarray, common: np.ndarray, own: np.ndarray) -> np.ndarray:
    stock, earned = np.full(len(common), x[0]), np.zeros(len(common))
    for kept, price, mean, y in zip((*x[1:], 0.0), PRICES, DEMANDS, own, strict=True):
        sold = np.minimum(np.maximum(stock - kept, 0.0), mean * common * y)
        stock = stock - sold
        earned += price * sold
    return earned - UNIT_COST * x[0]


MODELS = {
    "AMBULANCE-1": Model(draw_calls, response_time),
    "MM1-1": Model(draw_customers, sojourn_time),
    "PARAMESTI-1": Model(draw_pairs, log_likelihood),
    "NETWORK-1": Model(draw_messages, routing_cost),
    "SAN-1": Model(draw_tasks, project_time),
    "RMITD-1": Model(draw_demand, revenue),
}
