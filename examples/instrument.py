"""Tune a laser that sometimes trips, measured on two benches at a time.

Each measurement takes a moment, gives a noisy pulse energy, and near full current may trip. A trip
is an exception: it is recorded as a failure, and later points keep away from where it is likely.
"""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import rahbo


class TripError(Exception):
    """The interlock opened."""


def measure(current, delay, pump, seed):
    """One pulse energy in millijoule; stands for a call of the instrument."""
    chance = random.Random(seed)
    time.sleep(0.005)
    if current > 80.0 and chance.random() < (current - 80.0) / 20.0:
        raise TripError(f"over-current at {current:.1f} A")
    energy = 3.0 * (current / 100.0) - ((delay - 40.0) / 60.0) ** 2
    jitter = 0.05 + 0.4 * (current / 100.0) ** 4  # more current, more energy, less stable
    if pump == "long":
        energy, jitter = energy + 0.1, 2.0 * jitter
    return energy + jitter * chance.gauss(0.0, 1.0)


def main():
    """Run it, and say what to set."""
    space = {
        "current": (20.0, 100.0),
        "delay": (0.0, 100.0),
        "pump": ["short", "long"],
    }
    with ThreadPoolExecutor(2) as benches:
        result = rahbo.maximize(
            measure,
            space,
            risk=rahbo.MeanVariance(alpha=2.0),
            repeats=4,
            evaluations=72,
            executor=benches,
            timeout=5.0,
            seed=0,
        )
    trips = [t.params["current"] for t in result.trials for _ in t.failures]
    print(f"{len(trips)} measurements failed, all above {min(trips, default=80.0):.0f} A")
    print("Recommendation:", result)


if __name__ == "__main__":
    main()
