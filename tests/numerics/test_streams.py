"""Random streams: no two purposes share their draws, and none depends on anything else."""

import itertools

import numpy as np
import pytest

from rahbo.numerics import FixedStream, Stream, evaluation_seed, fixed_generator, generator


def test_a_short_seed_is_padded_with_zeros():
    """Why streams are numbered: NumPy takes these two seeds for one."""
    draws = [np.random.default_rng(seed).random() for seed in ([7, 2], [7, 2, 0])]
    assert draws[0] == draws[1]


def test_no_two_streams_share_their_draws():
    seeds = (0, 1, 2**31)
    drawn = [
        generator(seed, stream, index).random()
        for seed, stream, index in itertools.product(seeds, Stream, range(6))
    ]
    drawn += [fixed_generator(stream).random() for stream in FixedStream]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.parametrize("stream", Stream)
def test_a_stream_starts_anew_each_time(stream):
    assert generator(3, stream, 2).random() == generator(3, stream, 2).random()


def test_an_evaluation_has_a_seed_of_its_own():
    seeds = {
        evaluation_seed(run, suggestion, repeat)
        for run, suggestion, repeat in itertools.product(range(5), range(20), range(10))
    }
    assert len(seeds) == 1000
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert evaluation_seed(1, 2, 3) == evaluation_seed(1, 2, 3)
