"""What is developed on and what is judged by, said once.

Choose a rule, a default or a number on the problems and seeds for development, as often as you
like. Then run it once on those to judge by, and keep to the result. The problems of the contest are
in both, with other seeds; lists and rough problems are in one of the two. SimOpt's are to judge by
only: they are somebody else's problems, and nothing of ours is chosen on them.
"""

from typing import Literal

from contest.problems import TASKS
from contest.simulations.table import TABLE

Split = Literal["develop", "judge"]

SEEDS: dict[Split, range] = {"develop": range(100, 1000), "judge": range(1000, 1_000_000)}
ONLY: dict[Split, tuple[str, ...]] = {
    "develop": (
        "list0", "list1", "list2", "list3", "rough0", "rough1", "rough2", "rough3",
        "training-digits", "branin-snapped", "fel-heavy",
    ),
    "judge": (
        "rough4", "rough5", "rough6", "rough7",
        "training-diabetes", "hartmann6-snapped", "hartmann6-skewed", *TABLE,
    ),
}  # fmt: skip


def problems_of(split: Split | None) -> list[str]:
    """The problems of a split, or all.

    >>> set(problems_of("develop")) & set(problems_of("judge")) >= {"sine", "forest", "ridge10"}
    True
    >>> set(problems_of("develop")) | set(problems_of("judge")) == set(TASKS)
    True
    """
    others = [name for part, names in ONLY.items() if part != split for name in names]
    return [name for name in TASKS if split is None or name not in others]


def check(split: Split | None, problems: list[str], seeds: range) -> None:
    """Stop if problems or seeds belong to the other part."""
    if split is None:
        return
    strangers = [name for name in problems if name not in problems_of(split)]
    if strangers:
        raise SystemExit(f"To {split}, leave out {', '.join(strangers)}.")
    allowed = SEEDS[split]
    if seeds[0] < allowed[0] or seeds[-1] > allowed[-1]:
        raise SystemExit(f"To {split}, take seeds from {allowed[0]} to {allowed[-1]}.")


def first_seed(split: Split | None) -> int:
    return 0 if split is None else SEEDS[split][0]


def described(split: Split | None) -> str:
    """One sentence for a report."""
    if split is None:
        return "No split: seeds and problems as they were asked for."
    return f"Split: to {split}, with seeds from {SEEDS[split][0]} on."
