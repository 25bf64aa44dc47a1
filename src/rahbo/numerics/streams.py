"""Random numbers: one named stream for each purpose, so that no two share their draws.

NumPy pads a short seed with zeros: ``[seed, 2]`` and ``[seed, 2, 0]`` are the same stream. So every
stream has a number of its own, and nobody else builds a seed sequence by hand.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

FIXED_SEED = 2111


class Stream(IntEnum):
    """What a generator that depends on the seed of a run is for."""

    DESIGN = 0
    """The scrambling of the Sobol sequence."""
    PROPOSAL = 1
    """Search and chance within one proposal; the index is the number of asks."""
    GAIN_DRAWS = 2
    """Joint posterior draws behind what another setting might gain."""
    GAIN_SEARCH = 3
    """The search for settings that might gain something."""
    PENDING = 4
    """Values drawn for evaluations under way; the index is the number of asks."""


class FixedStream(IntEnum):
    """What a generator is for whose draws must not depend on the seed of a run."""

    PERMUTATIONS = 0
    """Permutations of the test for uneven noise."""
    NOISE_SHARES = 1
    """Points at which the shares of the inputs in the noise are computed."""
    RISK_GAIN = 2
    """Joint posterior draws behind whether risk changes the decision."""
    INFLUENCE = 3
    """Points at which the influence of the inputs is computed."""


def generator(seed: int, stream: Stream, index: int = 0) -> np.random.Generator:
    """Return a fresh generator of one stream of a run."""
    return np.random.default_rng([seed, int(stream), index])


def fixed_generator(stream: FixedStream) -> np.random.Generator:
    """Return a fresh generator that is the same in every run."""
    return np.random.default_rng([FIXED_SEED, int(stream)])


def evaluation_seed(run_seed: int, suggestion_id: int, repeat: int) -> int:
    """Return the seed of one evaluation, a whole number under 2^31.

    It depends on nothing else, so an evaluation that is made again gets the same seed.
    """
    sequence = np.random.SeedSequence(run_seed, spawn_key=(suggestion_id, repeat))
    return int(sequence.generate_state(1)[0] >> 1)
