"""Random generators of which every forked worker has the same copy."""

from functools import partial

import objectives
from rahbo.running.generators import generator_in


class HasAll:
    """It has every attribute, so that it seems to wrap itself."""

    def __getattr__(self, name):
        return self


def test_the_generators_of_a_module_are_found_in_what_it_calls():
    assert generator_in(objectives.from_its_module) == "GENERATOR"
    assert generator_in(partial(objectives.by_a_helper, scale=1.0)) == "GENERATOR"
    others = (objectives.noisy, objectives.from_numpy, objectives.from_a_namesake)
    for function in (*others, objectives.from_the_system, max, HasAll()):
        assert generator_in(function) is None
