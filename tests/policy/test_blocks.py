"""In which blocks of a given set a point is evaluated."""

import numpy as np

from rahbo.policy import next_blocks
from rahbo.policy.blocks import complete_points
from rahbo.trials import Trial

BLOCKS = ("a", "b", "c", "d")


def asked(i: int, x: float, blocks: tuple[str, ...]) -> Trial:
    return Trial(i, {"x": x}, np.array([x]), len(blocks), "strategy", blocks=blocks)


def test_a_point_gets_each_block_once():
    trials, x = [], np.array([0.5])
    for i in range(4):
        (block,) = next_blocks(BLOCKS, trials, x, 1)
        trials.append(asked(i, 0.5, (block,)))
    assert sorted(t.blocks[0] for t in trials) == sorted(BLOCKS)
    assert next_blocks(BLOCKS, trials, x, 1) == ()
    assert next_blocks(BLOCKS, trials, np.array([0.1]), 9) == BLOCKS


def test_a_block_that_failed_is_lacking_again():
    trial = asked(0, 0.5, BLOCKS).with_failures([2], "no beam")
    assert next_blocks(BLOCKS, [trial], np.array([0.5]), 4) == ("c",)


def test_a_block_that_failed_twice_at_a_point_is_given_up_there():
    trials = [asked(i, 0.5, BLOCKS[i:]).with_failures([2 - i], "no beam") for i in range(2)]
    assert next_blocks(BLOCKS, trials[:1], np.array([0.5]), 4) == ("c",)
    assert next_blocks(BLOCKS, trials, np.array([0.5]), 4) == ()
    assert complete_points(trials, 4) == {np.array([0.5]).tobytes()}
    assert complete_points(trials[:1], 4) == set()
    assert "c" in next_blocks(BLOCKS, trials, np.array([0.1]), 4)


def test_a_block_that_always_fails_gets_no_more_than_its_share():
    trials = []
    for i in range(20):
        blocks = next_blocks(BLOCKS, trials, np.array([i / 20]), 1 + i % 2)
        lost = [k for k, name in enumerate(blocks) if name == "c"]
        trials.append(asked(i, i / 20, blocks).with_failures(lost, "no beam"))
    counts = [sum(name in t.blocks for t in trials) for name in BLOCKS]
    assert max(counts) - min(counts) <= 2


def test_blocks_with_few_values_come_first():
    trials = [asked(0, 0.1, ("a", "b")), asked(1, 0.2, ("c",))]
    assert next_blocks(BLOCKS, trials, np.array([0.5]), 1) == ("d",)


def test_pairs_connect_all_blocks():
    for n in range(2, 9):
        names, trials = tuple(map(str, range(n))), []
        for i in range(n):
            trials.append(asked(i, i / n, next_blocks(names, trials, np.array([i / n]), 2)))
        groups = [{name} for name in names]
        for one in trials:
            joined = set().union(*(g for g in groups if not g.isdisjoint(one.blocks)))
            groups = [g for g in groups if g.isdisjoint(joined)] + [joined]
        assert len(groups) == 1
        counts = [sum(name in t.blocks for t in trials) for name in names]
        assert max(counts) - min(counts) <= 2
