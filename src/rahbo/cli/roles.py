"""Which columns of a table are parameters, and what to ask where that cannot be known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import get_args

from rahbo.cli.cells import quoted
from rahbo.cli.columns import MAX_CHOICES, Column, Verdict, look_at
from rahbo.trials import Source

# Rows are taken for repeats on purpose from this many different settings on.
FEWEST_SETTINGS = 3
# In so many rows, a random order is hardly a sorted one.
SORTED_ROWS = 5
# The columns of a table of trials that are not parameters, outcomes or values.
OURS = ("trial", "source", "repeat", "block", "failure")
BY_US = "written by rahbo"
# The last column. In a table without times, a parameter may have this name.
TIME = "time"
# A number with so many digits was drawn, not chosen, so it does not occur twice by chance.
DRAWN_DIGITS = 5


def roles_of(columns: Sequence[Column], sure: Collection[str]) -> dict[str, Verdict]:
    """Return what each column is taken for.

    Args:
        columns: All columns that could be parameters.
        sure: The names of those that the user says are parameters.
    """
    found = {
        column.name: Verdict("parameter", column.span) if column.name in sure else look_at(column)
        for column in columns
    }
    ours = _in_our_table(columns, found)
    found |= {name: verdict for name, verdict in ours.items() if name not in sure}
    sure = {*sure, *ours}
    for rule in (_sorted, _beside_repeats, _labels):
        taken = [column for column in columns if found[column.name].role == "parameter"]
        for column, why in rule(taken, sure):
            found[column.name] = Verdict("unclear", f"{column.span}, {why}")
    if not any(verdict.role != "left out" for verdict in found.values()):
        # Something must have been varied.
        for column in columns:
            if column.n_distinct > 1:
                found[column.name] = Verdict("unclear", found[column.name].look)
    return found


def _in_our_table(columns: Sequence[Column], found: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Return what columns are in a table that `to_csv` wrote; nothing in any other table.

    Parameters stand before the column of repeats, and outcomes after it.
    """
    named = {column.name: column for column in columns}
    if not {"trial", "source", "repeat"} <= named.keys():
        return {}
    if not set(named["source"].filled) <= set(get_args(Source)):
        return {}
    if not _is_our_order(list(named)):
        ours = [name for name in named if name in OURS]
        return dict.fromkeys(ours, Verdict("left out", BY_US))
    verdicts, is_parameter = {}, True
    for name, column in named.items():
        is_parameter = is_parameter and name != "repeat"
        if name in OURS or (name == TIME and not is_parameter):
            verdicts[name] = Verdict("left out", BY_US)
        elif not is_parameter:
            verdicts[name] = Verdict("left out", "an outcome, written by rahbo")
        elif found[name].role != "left out" and _may_be_chosen(column):
            verdicts[name] = Verdict("parameter", column.span)
    return verdicts


def _is_our_order(names: list[str]) -> bool:
    """Return whether columns stand as they were written."""
    names = names[:-1] if names[-1] == TIME else names
    i = names.index("repeat")
    return names[:2] == ["trial", "source"] and names[-1] == "failure" and names[i + 1] == "block"


def _may_be_chosen(column: Column) -> bool:
    return column.numbers is not None or column.n_distinct <= MAX_CHOICES


Doubts = list[tuple[Column, str]]


def _sorted(taken: Sequence[Column], sure: Collection[str]) -> Doubts:
    """Doubt numbers that rise from row to row beside other parameters, such as a clock."""
    if len(taken) < 2 or taken[0].n < SORTED_ROWS:
        return []
    return [
        (column, "rises or falls from row to row")
        for column in taken
        if column.name not in sure and column.is_different and column.is_sorted
        and column.numbers is not None
    ]  # fmt: skip


def _beside_repeats(taken: Sequence[Column], sure: Collection[str]) -> Doubts:
    """Doubt numbers that differ where all other columns repeat, such as a second outcome."""
    for least in (1.0, 0.5):
        differing = [
            column for column in taken
            if column.name not in sure and column.numbers is not None
            and (column.is_different or column.n_distinct > least * column.n)
        ]  # fmt: skip
        others = [column for column in taken if column not in differing]
        if differing and others and _are_repeated(others):
            return [(column, "differs where the other columns repeat") for column in differing]
    return []


def _are_repeated(columns: Sequence[Column]) -> bool:
    """Return whether rows with equal values in all columns look like repeats on purpose."""
    settings = list(zip(*(column.cells for column in columns), strict=True))
    sizes = Counter(settings)
    if any(_is_drawn_again(column) for column in columns):
        return True
    if len(sizes) < FEWEST_SETTINGS or len(settings) < 2 * len(sizes):
        return False
    n_blocks = 1 + sum(a != b for a, b in pairwise(settings))
    is_grid = len(sizes) == prod(column.n_distinct for column in columns)
    is_balanced = len(set(sizes.values())) == 1
    return n_blocks == len(sizes) or (len(columns) > 1 and is_grid and is_balanced)


def _is_drawn_again(column: Column) -> bool:
    """Return whether numbers of many digits, other than the ends of the range, occur again."""
    if column.numbers is None or column.is_whole:
        return False
    sizes = Counter(column.numbers)
    ends = min(column.numbers), max(column.numbers)
    again = [size for number, size in sizes.items() if number not in ends and _is_long(number)]
    return sum(size for size in again if size > 1) > max(2, 0.1 * column.n)


def _is_long(number: float) -> bool:
    # Rounded, because a step of 0.1 gives 0.30000000000000004.
    digits = f"{number:.12g}".partition("e")[0].replace(".", "").strip("-0")
    return len(digits) >= DRAWN_DIGITS


def _labels(taken: Sequence[Column], sure: Collection[str]) -> Doubts:
    """Doubt names and counts of the settings, which repeat what the other columns say."""
    doubts = []
    for column in taken:
        others = [other for other in taken if other is not column]
        if column.name in sure or not others or not (column.numbers is None or _counts(column)):
            continue
        settings = list(zip(*(other.cells for other in others), strict=True))
        pairs = set(zip(column.cells, settings, strict=True))
        n_settings = len(set(settings))
        is_label = len(pairs) == n_settings == column.n_distinct
        if is_label and FEWEST_SETTINGS < n_settings < column.n:
            doubts.append((column, "one for each setting of the other columns"))
    return doubts


def _counts(column: Column) -> bool:
    """Return whether new values come as 0, 1, 2, ... or as 1, 2, 3, ..."""
    new = list(dict.fromkeys(column.numbers or ()))
    return new[0] in (0.0, 1.0) and all(b - a == 1.0 for a, b in pairwise(new))


# -- words -------------------------------------------------------------------------------------


def question(value: str, columns: Sequence[Column], verdicts: Mapping[str, Verdict]) -> str:
    """Return the list of all columns, with the options that settle the unclear ones."""
    lines = [(quoted(value), "measured", "")]
    for column in columns:
        verdict = verdicts[column.name]
        options = f":  {_options(column)}" if verdict.role == "unclear" else ""
        lines.append((quoted(column.name), verdict.role, verdict.look + options))
    width = min(max(len(name) for name, _, _ in lines), 40)
    listed = "\n".join(f"  {name:{width}}  {role:9}  {look}".rstrip() for name, role, look in lines)
    unclear = [name for name, verdict in verdicts.items() if verdict.role == "unclear"]
    if any(verdict.role == "parameter" for verdict in verdicts.values()):
        every = " ".join(f"--ignore {quoted(name)}" for name in unclear)
        end = f"If none of the unclear columns is a parameter, add: {every}"
    else:
        end = f"At least one column must be a parameter. Add it, such as -p {quoted(unclear[0])}"
    return f"{listed}\n{end}"


def _options(column: Column) -> str:
    """Return the options that settle what a column is."""
    name = quoted(column.name)
    if len(column.filled) < column.n:
        return f"--ignore {name}, or fill in the cells"
    if column.numbers is None and column.n_distinct > MAX_CHOICES:
        return f"--ignore {name}"
    return f"--ignore {name}  or  -p {name}" + " (as choices)" * (column.numbers is None)
