"""Made-up tables of the forest problem."""

import numpy as np

from rahbo.problems.forest import MAX_DEPTH, MAX_FEATURES, N_ESTIMATORS

SHAPE = (100, 24, 15, 5)
POSITIVES, NEGATIVES = np.array([91, 24, 33, 53, 22]), np.array([900, 800, 850, 700, 950])


def write_table(path, seeds=(0,), **changes):
    """A table of random counts; returns its arrays."""
    rng = np.random.default_rng(7)
    arrays = {
        "hits": rng.integers(0, POSITIVES + 1, size=(len(seeds), *SHAPE)).astype(np.uint8),
        "false_alarms": rng.integers(0, 60, size=(len(seeds), *SHAPE)).astype(np.uint8),
        "positives": POSITIVES,
        "negatives": NEGATIVES,
        "seeds": np.array(seeds),
        "max_features": np.array(MAX_FEATURES),
    }
    arrays |= changes
    np.savez_compressed(path, **{name: a for name, a in arrays.items() if a is not None})
    return arrays


def write_smooth_table(path):
    """A table whose scores rise with depth and trees while their spread over folds falls."""
    axes = (np.array(axis, dtype=float) for axis in (N_ESTIMATORS, MAX_FEATURES, MAX_DEPTH))
    trees, features, depth = np.meshgrid(*axes, indexing="ij")
    level = 0.3 + 0.5 * (1 - np.exp(-depth / 5)) + 0.02 * np.log(trees) + 0.001 * features
    spread = 0.02 + 0.15 * np.exp(-depth / 5)
    recall = level[..., None] + spread[..., None] * np.array([-1.2, -0.4, 0.0, 0.4, 1.2])
    positives = np.full(5, 10_000)
    hits = np.rint(positives * recall).astype(np.uint16)[None]
    write_table(path, hits=hits, false_alarms=np.zeros_like(hits), positives=positives)
