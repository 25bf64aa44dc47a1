"""Counts work instead of time: the lines of Python that a call executes."""

import sys


def lines_run(function):
    """Return how many lines a call executes, each round of a loop or comprehension counted."""
    n, before = 0, sys.gettrace()

    def traced(frame, event, argument):
        nonlocal n
        n += event == "line"
        return traced

    sys.settrace(traced)
    try:
        function()
    finally:
        sys.settrace(before)
    return n
