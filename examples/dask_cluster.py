"""Tune the training of a small model on a Dask cluster. Each training seed is one task.

    pip install "rahbo[dask]"
    python examples/dask_cluster.py

`LocalCluster` stands for any cluster. If a worker dies, Dask gives its tasks to another worker.
"""

import random

from dask.distributed import Client, LocalCluster

import rahbo


def train(log_rate, momentum, seed):
    """Train a linear classifier by stochastic gradient descent and return its accuracy."""
    chance = random.Random(seed)
    rate = 10.0**log_rate
    weights, velocity = [0.0, 0.0], [0.0, 0.0]

    def example():
        label = chance.choice([-1, 1])
        return [label + chance.gauss(0.0, 1.0), 0.5 * label + chance.gauss(0.0, 1.0)], label

    for _ in range(200):
        x, label = example()
        error = label - sum(w * v for w, v in zip(weights, x, strict=True))
        velocity = [momentum * v + rate * error * u for v, u in zip(velocity, x, strict=True)]
        weights = [max(-1e6, min(1e6, w + v)) for w, v in zip(weights, velocity, strict=True)]
    tested = [example() for _ in range(500)]
    right = sum((sum(w * u for w, u in zip(weights, x, strict=True)) > 0) == (y > 0)
                for x, y in tested)  # fmt: skip
    return right / len(tested)


def main():
    """Search on two workers and print the recommended setting."""
    space = {"log_rate": (-4.0, 0.0), "momentum": (0.0, 0.95)}
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        result = rahbo.maximize(
            train,
            space,
            risk=rahbo.MeanVariance(alpha=20.0),
            repeats=4,
            evaluations=60,
            executor=client,
            parallel=2,
            seed=0,
        )
    print("Recommendation:", result)


if __name__ == "__main__":
    main()
