"""Random numbers: one named stream for each purpose, so that no two purposes share draws.

NumPy pads a short seed with zeros: ``[seed, 2]`` and ``[seed, 2, 0]`` are the same stream. So every
stream has its own number, and no other module of the core builds a seed sequence.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

# The mark keeps the fixed streams apart from those of a run whose seed is FIXED_SEED.
FIXED_SEED, FIXED_MARK = 2111, 1


class Stream(IntEnum):
    """Purposes of generators that depend on the seed of a run."""

    DESIGN = 0
    """Scrambles the Sobol sequence."""
    PROPOSAL = 1
    """Search and random choices within one proposal; the index is the number of asks."""
    GAIN_DRAWS = 2
    """Joint posterior draws of what another setting might gain."""
    GAIN_SEARCH = 3
    """The search for settings that might be better."""
    PENDING = 4
    """Values drawn for evaluations under way; the index is the number of asks."""
    CONDITIONS = 5
    """Which of many conditions are averaged over; the index is how many."""


class FixedStream(IntEnum):
    """Purposes of generators whose draws must not depend on the seed of a run."""

    PERMUTATIONS = 0
    """Permutations in the test for uneven noise."""
    SENSITIVITY = 1
    """Points at which the shares of the inputs in mean and noise are computed."""
    RISK_GAIN = 2
    """Joint posterior draws that show whether risk changes the decision."""
    RACES = 3
    """Simulated races that show how much too large the lead of a winner is."""


def generator(seed: int, stream: Stream, index: int = 0) -> np.random.Generator:
    """Return a new generator for one stream of a run."""
    return np.random.default_rng([seed, int(stream), index])


def fixed_generator(stream: FixedStream) -> np.random.Generator:
    """Return a new generator that is the same in every run."""
    return np.random.default_rng([FIXED_SEED, int(stream), 0, FIXED_MARK])


def evaluation_seed(run_seed: int, suggestion_id: int, repeat: int) -> int:
    """Return the seed of one evaluation, a whole number under 2^31.

    It depends only on the arguments, so an evaluation that is repeated gets the same seed.
    """
    sequence = np.random.SeedSequence(run_seed, spawn_key=(suggestion_id, repeat))
    return int(sequence.generate_state(1)[0] >> 1)
