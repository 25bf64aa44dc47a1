"""Two variants by the same seeds, with seeds added until the difference is known.

Notation: the difference is the normalised regret of the second less that of the first, so that
a negative one means that the second is better. Its mean is over the seeds of each problem and then
over the problems.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from contest.measures import GROUPS, MARKS, mean_difference
from contest.problems import TASKS
from contest.runs import Record, regret_curve
from contest.text import signed, table

# Seeds of each problem that are added at a time, and the fewest that decide anything.
BLOCK, FEWEST = 4, 8
# A difference that is looked at after every block must be this many times its two standard errors.
BEYOND = 1.5

State = Literal["known", "different", "open"]
SENTENCES: Mapping[State, str] = {
    "known": "known to within the error that was asked for",
    "different": "different beyond three standard errors",
    "open": "still open",
}


def state(mean: float, two_se: float, until: float) -> State:
    """What is known of a difference.

    >>> state(0.01, 0.02, 0.02), state(-0.10, 0.05, 0.02), state(0.05, 0.04, 0.02)
    ('known', 'different', 'open')
    >>> state(0.0, float("nan"), 0.02)
    'open'
    """
    if two_se <= until:
        return "known"
    return "different" if abs(mean) > BEYOND * two_se else "open"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Differences of the pairs so far.

    Attributes:
        marks: The numbers of single evaluations that are compared.
        pairs: Second less first ``(seeds, marks)``, for each problem.
    """

    marks: tuple[int, ...]
    pairs: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, first: Iterable[Record], second: Iterable[Record]) -> "Comparison":
        before = {(record.job.problem, record.job.seed): record for record in first}
        after = {(record.job.problem, record.job.seed): record for record in second}
        both = sorted(before.keys() & after.keys())
        if not both:
            return cls((), {})
        all_marks = before[both[0]].marks
        marks = tuple(mark for mark in all_marks if mark in MARKS or mark == all_marks[-1])
        at = [all_marks.index(mark) for mark in marks]
        pairs = {
            problem: np.array([(regret_curve(after[key]) - regret_curve(before[key]))[at]
                               for key in both if key[0] == problem])
            for problem in TASKS if any(key[0] == problem for key in both)
        }  # fmt: skip
        return cls(marks, pairs)

    def mean(self, mark: int, problems: Iterable[str]) -> tuple[float, float]:
        """The mean over problems, and twice its standard error."""
        i = self.marks.index(mark)
        return mean_difference([self.pairs[problem][:, i] for problem in problems])

    def states(self, until: float) -> dict[int, State]:
        """What is known at each mark; nothing before every problem has a few seeds."""
        if not self.pairs or min(map(len, self.pairs.values())) < FEWEST:
            return dict.fromkeys(self.marks, "open")
        return {mark: state(*self.mean(mark, self.pairs), until) for mark in self.marks}

    def decided(self, until: float) -> bool:
        """Whether more seeds are not needed."""
        return bool(self.pairs) and "open" not in self.states(until).values()

    def report(self, first: str, second: str, until: float) -> str:
        """The differences in Markdown, and what they decide."""
        rows = [self._row(problem, [problem]) for problem in self.pairs]
        for title, kinds in GROUPS.items():
            inside = [problem for problem in self.pairs if TASKS[problem].kind in kinds]
            if len(inside) > 1:
                rows.append(self._row(f"**mean of {title}**", inside))
        rows.append(self._row("**mean**", list(self.pairs)))
        head = ["problem", "seeds", *(f"after {mark}" for mark in self.marks)]
        told = [f"- After {mark} the mean difference is {SENTENCES[found]}."
                for mark, found in self.states(until).items()]  # fmt: skip
        return "\n\n".join([
            f"Regret of {second} less that of {first}, with the same seeds: negative means that "
            f"{second} is better. ± is two standard errors, and ±{until:g} was asked for.",
            table(head, rows),
            "\n".join(told),
        ])  # fmt: skip

    def _row(self, name: str, problems: list[str]) -> list[str]:
        counts = [len(self.pairs[problem]) for problem in problems]
        seeds = str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)}–{max(counts)}"
        return [name, seeds, *(signed(*self.mean(mark, problems)) for mark in self.marks)]
