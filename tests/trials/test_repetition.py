"""Repeats that are not noise, found from the told values alone."""

import itertools
from random import Random

import numpy as np
import pytest

from rahbo.trials import Evaluation, Repetition, Trial, repetition_of
from told import told as evaluated

SET = Repetition(1)


def trials_of(*values, source="user", n=None):
    """Trials at different points, one for each tuple of values."""
    return [
        Trial(i, {}, np.array([float(i)]), len(v), source).with_more(evaluated(*v))
        for i, v in enumerate(values)
    ]


def fine(n, seed=0):
    """Values that differ in all their digits."""
    return np.random.default_rng(seed).standard_normal(n).tolist()


# -- identical repeats ---------------------------------------------------------------------------


def test_eight_identical_repeats_are_not_noise():
    values = fine(9)
    assert repetition_of(trials_of(*[(y, y) for y in values[:8]])) == SET
    assert repetition_of(trials_of(*[(y, y) for y in values[:8]], values[8:])) == SET
    assert repetition_of(trials_of(*[(y, y) for y in values[:7]], values[8:])) == Repetition(1, 1)
    assert str(Repetition(1, 1)) == ""


def test_they_must_be_at_several_settings():
    a, b, c = fine(3)
    assert repetition_of(trials_of((a,) * 4, (b,) * 4, (c,) * 4)) == SET
    assert repetition_of(trials_of((a,) * 50, (b, b), (c, c))) == Repetition(1, 3)
    assert repetition_of(trials_of((a,) * 50, (b,) * 50)) is None


def test_one_differing_repeat_withdraws_it():
    values = [(y, y) for y in fine(20)]
    assert repetition_of(trials_of(*values)) == SET
    assert repetition_of(trials_of(*values, (0.1234, 0.1235))) is None


def test_repeats_may_come_from_several_trials():
    first = trials_of(*[(y,) for y in fine(8)])
    again = [
        Trial(8 + t.id, {}, t.x, 1, "strategy").with_more(evaluated(t.values[0])) for t in first
    ]
    assert repetition_of(first + again) == SET


def test_settings_that_are_all_equal_show_nothing():
    assert repetition_of(trials_of(*[(7.3,) * 5] * 20)) is None
    assert repetition_of([]) is None
    assert repetition_of(trials_of(*[(y,) for y in fine(20)])) is None


def test_a_repeat_shares_the_setting_and_the_block():
    def in_folds(values, same):
        told = []
        for i, y in enumerate(values):
            folds = [Evaluation(y, block=name) for name in ("a", "a" if same else "b")]
            told.append(Trial(i, {}, np.array([float(i)]), 0, "user").with_more(folds))
        return told

    assert repetition_of(in_folds(fine(9), same=True)) == SET
    assert repetition_of(in_folds(fine(9), same=False)) is None


def test_failures_are_not_values():
    told = [t.with_failures([2], "no beam") for t in trials_of(*[(y, y) for y in fine(8)])]
    assert repetition_of(told) == SET


# -- coarse values ---------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.0, 0.5, 1.0], [0.0, 1.0, 2.0, 3.0]])
def test_few_values_may_agree_by_chance(values):
    assert repetition_of(trials_of(*[(y, y) for y in values * 8])) is None


def test_rounded_values_need_more_settings_than_fine_ones():
    rounded = [round(y, 2) for y in np.linspace(0.1, 0.9, 23).tolist()]
    assert repetition_of(trials_of(*[(y, y) for y in rounded[:9]])) is None
    assert repetition_of(trials_of(*[(y, y) for y in rounded])) == SET
    # Repeats at one setting tell less than repeats at several.
    assert repetition_of(trials_of((0.1,) * 40, *[(y,) for y in rounded[1:]])) is None
    pairs = [(y, y) for y in rounded[1:5]]
    assert repetition_of(trials_of((0.1,) * 200, *pairs, *[(y,) for y in rounded[5:]])) is None


def test_the_commonest_values_do_not_count():
    """Many settings reach the highest score, each of them every time."""
    best, some = [(500.0, 500.0)] * 20, [(y, y) for y in (12.0, 31.0, 44.0, 47.0)]
    assert repetition_of(trials_of(*best, *some)) is None


def test_penalties_do_not_make_counts_look_fine():
    counts = [(float(n), float(n)) for n in (3, 5, 8, 9)]
    assert repetition_of(trials_of(*counts, (1e9,), (12.0,))) is None


@pytest.mark.parametrize("std", [1 / 3, 0.5, 1.0, 3.0])
def test_noise_of_a_third_of_a_rounding_step_is_seldom_taken_for_none(std):
    """Looked at after every setting. One in a hundred gives four, and ten are too many by luck."""
    alarms = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        means = rng.uniform(0, 15, (30, 1))
        told = trials_of(*np.round(means + std * rng.standard_normal((30, 2))).tolist())
        until = next((i for i, t in enumerate(told) if len(set(t.values.values())) > 1), 30)
        alarms += any(repetition_of(told[:n]) for n in range(1, until + 1))
    assert alarms <= 9


# -- a few seeds in turn ---------------------------------------------------------------------------


def run_of(value, n=40, noise=0):
    """A run as `Adaptive` makes it: pairs, then new settings and repeats of some of them."""
    rng, calls, told = np.random.default_rng(noise), itertools.count(), []
    for i in range(n):
        x = i if i < 6 or rng.random() < 0.6 else int(rng.integers(min(i, 6)))
        k = 2 if i < 6 else 1
        source = "design" if i < 6 else "strategy"
        values = [value(x, next(calls), r) for r in range(k)]
        told.append(Trial(i, {}, np.array([float(x)]), k, source).with_more(evaluated(*values)))
    return told


@pytest.mark.parametrize("seeds", [2, 3, 4, 5])
@pytest.mark.parametrize("same", [True, False], ids=["one for all settings", "one for each"])
def test_seeds_that_the_calls_use_in_turn_are_counted(seeds, same):
    def value(x, call, repeat):
        return x + Random(call % seeds if same else repr((x, call % seeds))).gauss(0, 1)

    assert repetition_of(run_of(value)) == Repetition(seeds)


def test_a_table_whose_rows_are_used_again_has_no_seeds_in_turn():
    """Three values of each setting come again and again, in an order of their own."""
    rng = np.random.default_rng(0)
    for row in rng.standard_normal((200, 12, 3)).tolist():
        told = trials_of(*[values[:2] for values in row], source="design")
        best = int(rng.integers(12))
        again = [row[best][i % 3] for i in range(2, 7)]
        told += [
            Trial(12 + i, {}, told[best].x, 1, "confirm").with_more(evaluated(y))
            for i, y in enumerate(again)
        ]
        assert repetition_of(told) is None


def test_a_seed_for_each_repeat_of_a_suggestion_is_noticed():
    found = repetition_of(run_of(lambda x, call, repeat: x + Random(repeat).gauss(0, 1)))
    assert found == Repetition(2)


def test_failed_calls_use_seeds_too():
    told = run_of(lambda x, call, repeat: x + Random((call + (call > 7)) % 2).gauss(0, 1))
    assert repetition_of(told) is None
    told[3] = told[3].with_failures([2], "lost")
    assert repetition_of(told) == Repetition(2)


def test_values_told_beside_the_run_have_no_place_in_the_order():
    told = run_of(lambda x, call, repeat: x + Random(call % 2).gauss(0, 1))
    later = [Trial(t.id + 3, t.params, t.x, t.n_requested, t.source, t.evaluations) for t in told]
    past = trials_of((5.1,), (5.2,), (5.3,))
    past = [Trial(t.id, {}, t.x + 100.0, 0, "user", t.evaluations) for t in past]
    assert repetition_of(past + later) == Repetition(2)


@pytest.mark.parametrize(
    "noise",
    [
        lambda rng: rng.choice([-1.0, 1.0]),
        lambda rng: rng.choice([0.0, 0.0, -5.0]),
        lambda rng: rng.integers(3),
        lambda rng: max(0.0, rng.standard_normal()),
        lambda rng: rng.standard_normal(),
    ],
    ids=["two values", "now and then worse", "three values", "half of them zero", "Gaussian"],
)
def test_noise_of_few_values_does_not_look_like_seeds(noise):
    """Each setting has a mean of its own, in all digits."""

    def is_alarmed(seed):
        rng, means = np.random.default_rng(seed), fine(40, seed)
        told = run_of(lambda x, call, repeat: means[x] + noise(rng), noise=seed)
        return any(str(repetition_of(told[:n]) or "") for n in range(4, len(told), 3))

    assert sum(map(is_alarmed, range(200))) <= 2


def test_settings_where_nothing_varies_are_no_evidence_of_seeds():
    a, b, *differ = fine(4)
    values = [a, b] * 10 + differ
    at = [0, 1] * 10 + [2, 2]
    told = [
        Trial(i, {}, np.array([float(x)]), 1, "strategy").with_more([Evaluation(y)])
        for i, (x, y) in enumerate(zip(at, values, strict=True))
    ]
    assert repetition_of(told) is None


def test_many_repeats_do_not_overflow():
    values = [tuple(Random(i % 2).gauss(s, 1) for i in range(400)) for s in range(40)]
    assert repetition_of(trials_of(*values)) == Repetition(2)


# -- in words --------------------------------------------------------------------------------------


def test_the_sentence_has_the_remedy():
    assert str(SET).startswith(
        "Repeats are identical: your objective looks seeded or cached. Give each call a fresh "
        "seed, or say that there is no noise"
    )
    assert "the same 3 seeds" in str(Repetition(3))
    assert "fresh seed" in str(Repetition(3))
    assert str(Repetition(1, is_known=True)) == ""
