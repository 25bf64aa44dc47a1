"""Mappings that grow without being copied."""

import copy
import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rahbo.trials.growing import SHORT, Growing, added, end_of, grown, without


def test_an_earlier_mapping_stays_as_it_was():
    first = Growing({2: "a", 0: "b"})
    second = first.with_more({1: "c"})
    third = second.with_more({5: "d", 3: "e"})
    # Another branch from the same state, as two copies of a run make one.
    other = second.with_more({5: "x"})
    assert dict(first) == {2: "a", 0: "b"}
    assert dict(second) == {2: "a", 0: "b", 1: "c"}
    assert dict(third) == {2: "a", 0: "b", 1: "c", 5: "d", 3: "e"}
    assert dict(other) == {2: "a", 0: "b", 1: "c", 5: "x"}
    assert [mapping.end for mapping in (first, second, third, other)] == [3, 3, 6, 6]
    assert 5 not in second
    assert second.get(5) is None
    with pytest.raises(KeyError):
        second[5]
    assert "a" not in first
    assert second.with_more({}) == second


def test_it_looks_and_travels_like_a_dict():
    mapping = Growing({1: 0.5}).with_more({0: 1.5})
    assert mapping == {1: 0.5, 0: 1.5}
    assert mapping == {1: 0.5, 0: 1.5}
    assert mapping != {1: 0.5}
    assert repr(mapping) == "{1: 0.5, 0: 1.5}"
    assert list(mapping) == [1, 0]
    assert list(mapping.values()) == [0.5, 1.5]
    assert mapping.keys() | {7} == {0, 1, 7}
    for other in (pickle.loads(pickle.dumps(mapping)), copy.deepcopy(mapping), copy.copy(mapping)):
        assert type(other) is dict
        assert other == mapping
    assert end_of(Growing({})) == end_of({}) == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.dictionaries(st.integers(0, 300), st.integers()))))
def test_whatever_is_added_where_the_states_are_those_of_dicts(steps):
    states = [({}, {}), (dict.fromkeys(range(SHORT), -1),) * 2]
    for place, more in steps:
        mapping, plain = states[place % len(states)]
        states.append((grown(mapping, more), {**plain, **more}))
        later, plainly = states[-1]
        assert set(added(later, mapping)) == {k for k in plainly if plain.get(k) != plainly[k]}
        assert end_of(later) == max(plainly, default=-1) + 1
    for mapping, plain in states:
        assert mapping == plain
        assert list(mapping) == list(plain)
        assert without(mapping, 3) == {k: v for k, v in plain.items() if k != 3}


def test_threads_that_add_to_one_state_do_not_see_each_other():
    base, found, start = Growing({}), [], threading.Barrier(4)

    def add(number):
        start.wait()
        mine = base
        for key in range(200):
            mine = mine.with_more({key: number})
        found.append((number, mine))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(dict(mine) == dict.fromkeys(range(200), number) for number, mine in found)
    assert dict(base) == {}
