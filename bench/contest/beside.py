"""The defaults beside the best peer, each peer at its best number of repeats."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from contest.measures import GROUPS, OURS, Contest, mean_difference, resampled
from contest.methods import is_peer, parsed, title
from contest.text import signed, table, verdict


@dataclass(frozen=True, eq=False)
class Beside:
    """The defaults and one peer at one mark.

    Attributes:
        peer: Its name.
        ours: Regret of the defaults by seed, an array for each problem.
        theirs: Regret of the peer with the same seeds.
    """

    peer: str
    ours: list[np.ndarray]
    theirs: list[np.ndarray]

    @property
    def means(self) -> tuple[float, float]:
        """Mean regret of the defaults and of the peer."""
        return tuple(float(np.mean([a.mean() for a in side])) for side in (self.ours, self.theirs))

    @property
    def ratio(self) -> float:
        ours, theirs = self.means
        return ours / theirs

    def interval(self) -> tuple[float, float]:
        """A 95 % interval of the ratio, by resampling the seeds of each problem in pairs.

        The peer stays the same in every resample.
        """
        rng = np.random.default_rng(0)
        pairs = map(np.column_stack, zip(self.ours, self.theirs, strict=True))
        both = [resampled(pair, rng) for pair in pairs]
        ours, theirs = np.mean(both, axis=0).T
        low, high = np.percentile(ours / theirs, [2.5, 97.5])
        return float(low), float(high)


def best_peer(contest: Contest, mark: int, problems: Iterable[str]) -> Beside | None:
    """The peer with the lowest mean regret over the problems, by the seeds that both have."""
    found = [beside(contest, mark, peer, problems) for peer in filter(is_peer, contest.methods)]
    return min((b for b in found if b is not None), key=lambda b: b.means[1], default=None)


def beside(contest: Contest, mark: int, peer: str, problems: Iterable[str]) -> Beside | None:
    """None where the two share no seeds on some problem."""
    i, ours, theirs = contest.at(mark), [], []
    for problem in problems:
        seeds = contest.seeds(problem, OURS, peer)
        if not seeds:
            return None
        for side, method in ((ours, OURS), (theirs, peer)):
            side.append(contest.curves(problem, method, seeds)[:, i])
    return Beside(peer, ours, theirs) if ours else None


def shared_problems(contest: Contest, group: str) -> list[str]:
    """Problems of a group that the defaults and all peers have played."""
    problems = contest.of_kind(*GROUPS[group])
    players = {m for p, m in contest.runs if p in problems and (is_peer(m) or m == OURS)}
    return [p for p in problems if all((p, method) in contest.runs for method in players)]


def at_their_best(contest: Contest) -> list[str]:
    """All methods, but of each library only the number of repeats that is best at the end."""
    mark = contest.main_marks()[-1]
    shared = (shared_problems(contest, group) for group in ("contest", "simopt", "rough"))
    problems = next(filter(None, shared), None)
    if problems is None:
        return list(contest.methods)
    best: dict[str, tuple[float, str]] = {}
    for peer in filter(is_peer, contest.methods):
        means = contest.mean_at(mark, peer, problems)
        found = (np.inf if means is None else float(means.mean()), peer)
        best[parsed(peer)[0]] = min(found, best.get(parsed(peer)[0], found))
    kept = {peer for _, peer in best.values()}
    return [method for method in contest.methods if not is_peer(method) or method in kept]


def peer_table(contest: Contest, group: str, most: float) -> str:
    """The best peer in the mean of a group's problems; empty without runs.

    `most` is the largest ratio to its mean that is good enough.
    """
    problems, rows = shared_problems(contest, group), []
    for mark in contest.main_marks():
        found = best_peer(contest, mark, problems)
        if found is None:
            continue
        ours, theirs = found.means
        low, high = found.interval()
        rows.append([str(mark), f"{ours:.4f}", title(found.peer), f"{theirs:.4f}",
                     f"{found.ratio:.2f}", f"{low:.2f} to {high:.2f}",
                     verdict(found.ratio <= most)])  # fmt: skip
    if not rows:
        return ""
    head = ["after", OURS, "best peer", "its mean", "ratio", "95 % interval", f"at most {most:g}"]
    return table(head, rows) + (
        f"\n\nMeans over {', '.join(problems)}, by the seeds that both have. The best peer has the "
        "lowest mean of all libraries and numbers of repeats. The interval comes from resampling "
        "seeds in pairs, with the peer held fixed."
    )


def each_problem_table(contest: Contest) -> str:
    """The best peer of each problem after the last evaluation."""
    mark, rows = contest.main_marks()[-1], []
    for problem in contest.of_kind(*GROUPS["contest"], *GROUPS["rough"], *GROUPS["simopt"]):
        found = best_peer(contest, mark, [problem])
        if found is None:
            continue
        more, two_se = mean_difference([found.ours[0] - found.theirs[0]])
        ours, theirs = found.means
        rows.append([problem, f"{ours:.4f}", title(found.peer), f"{theirs:.4f}",
                     signed(more, two_se), verdict(more <= np.nan_to_num(two_se)),
                     str(len(found.ours[0]))])  # fmt: skip
    head = ["problem", OURS, "best peer", "its mean", "difference", "within the error", "seeds"]
    return table(head, rows)


def share_table(contest: Contest, mark: int) -> str:
    """Regret in two shares: that of the best point tried, and what the report adds to it."""
    rows = []
    problems = contest.of_kind(*(kind for kinds in GROUPS.values() for kind in kinds))
    for method in contest.methods:
        shares = [contest.shares(problem, method, mark) for problem in problems]
        if any(share is not None for share in shares):
            rows.append([title(method), *(_share(share) for share in shares)])
    return table(["method", *problems], rows)


def _share(found: tuple[float, float] | None) -> str:
    if found is None:
        return ""
    search, report = found
    return f"{search:.3f} {'+' if report >= 0.0 else '−'} {abs(report):.3f}"
