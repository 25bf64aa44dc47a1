"""Find the last match of a regular expression, in a process that can be killed: `matcher.py`.

Python's `re` cannot be interrupted, and some expressions take for ever. This file runs as a script
that loads nothing but the standard library. It reads ``[pattern, text]`` as JSON from stdin and
prints the match as JSON.
"""

from __future__ import annotations

import json
import re
import sys

FLAGS = re.MULTILINE
# Characters of a match that are kept. No number is as long.
LONGEST = 1000


def last_match(pattern: str, text: str) -> list[str | None]:
    """Return the first group of the last match, or all of it if there are no groups.

    The list is empty if nothing matches, and holds None if the group took no part.

    >>> last_match("loss ([0-9.]+)", "loss 0.5, loss 0.25")
    ['0.25']
    """
    compiled, last = re.compile(pattern, FLAGS), None
    for match in compiled.finditer(text):
        last = match
    if last is None:
        return []
    found: str | None = last[1 if compiled.groups else 0]
    return [found if found is None else found[: LONGEST + 1]]


if __name__ == "__main__":
    print(json.dumps(last_match(*json.load(sys.stdin.buffer))))
