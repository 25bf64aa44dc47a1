"""Tune a laser that sometimes trips, with two benches that measure at the same time.

    python examples/instrument.py

Each measurement takes a moment and gives a noisy pulse energy. Near full current the laser may
trip. A trip is an exception. It is recorded as a failure, and later points keep away from where
trips are likely.
"""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import rahbo


class TripError(Exception):
    """The interlock opened."""


def measure(current, delay, pump, seed):
    """Return one pulse energy in millijoule. Replace this by a call of your instrument."""
    chance = random.Random(seed)
    time.sleep(0.005)
    if current > 80.0 and chance.random() < (current - 80.0) / 20.0:
        raise TripError(f"over-current at {current:.1f} A")
    energy = 3.0 * (current / 100.0) - ((delay - 40.0) / 60.0) ** 2
    jitter = 0.05 + 0.4 * (current / 100.0) ** 4  # more current: more energy, less stable
    if pump == "long":
        energy, jitter = energy + 0.1, 2.0 * jitter
    return energy + jitter * chance.gauss(0.0, 1.0)


def main():
    """Search, then print the failures and the recommended setting."""
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
            parallel=2,
            timeout=5.0,
            seed=0,
        )
    trips = [t.params["current"] for t in result.trials for _ in t.failures]
    print(f"{len(trips)} measurements failed, all above {min(trips, default=80.0):.0f} A")
    print("Recommendation:", result)


if __name__ == "__main__":
    main()
