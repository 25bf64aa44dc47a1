"""The verdict of a race, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rahbo.race.choice import FIRST, Rule, State, lead_of, runner_up
from rahbo.race.course import Course
from rahbo.race.evidence import Pairs, threshold
from rahbo.race.simulation import stopping_bias

Decision = Literal["winner", "indifferent", "undecided", "keep", "discard"]
# An open question that needs more runs than this is not worth asking.
MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class Standing:
    """What is known of one entrant.

    Attributes:
        name: The entrant.
        mean: The mean of its values; NaN without any.
        noise_std: The standard deviation of its values; NaN with fewer than two.
        runs: How many values it has.
        failures: How many of its runs failed.
        last_failure: Why the last of them failed; empty if none did.
        behind: By how much it is worse than the best; None for the best itself, and for an entrant
            that is out because it failed again and again.
        behind_interval: An interval of that which holds for all entrants together.
        not_compared: Why it is left out although it may be the best; empty if it is not.
    """

    name: str
    mean: float
    noise_std: float
    runs: int
    failures: int = 0
    last_failure: str = ""
    behind: float | None = None
    behind_interval: tuple[float, float] | None = None
    not_compared: str = ""

    @property
    def why_out(self) -> str:
        """How often its runs failed, how many values it gave, and the last reason."""
        times = "once" if self.failures == 1 else f"{self.failures} times"
        values = f"{self.runs} value{'s' if self.runs > 1 else ''}" if self.runs else "no value"
        return f"{self.name!r} failed {times}, after {values}: {self.last_failure}"


@dataclass(frozen=True)
class Verdict:
    """Who won a race, and by how much.

    Attributes:
        decision: ``winner`` if one is best with the wanted probability, ``indifferent`` if none is
            better than the leader by more than what is indifferent, or ``undecided``. With an
            incumbent: ``keep`` if a challenger is better, ``discard`` if none is, or ``undecided``.
            It is ``undecided`` as well if an entrant is not compared, unless another is kept.
        best: The winner, or who leads; None if there are too few values.
        second: The best of the others.
        lead: By how much the best is better than the second, corrected for having picked both, and
            for having stopped when the lead was large.
        lead_interval: An interval of the lead, corrected likewise.
        probability: The wanted probability.
        indifferent: Differences up to this size do not matter.
        runs: How many runs the verdict rests on, failures included.
        more_runs: About how many more an undecided race would need; None if it is decided, if an
            entrant is not compared, or if a million would not do.
        standings: All entrants, in the order given.
        incumbent: The entrant that the others had to beat; None if there was none.
    """

    decision: Decision
    best: str | None
    second: str | None
    lead: float | None
    lead_interval: tuple[float, float] | None
    probability: float
    indifferent: float
    runs: int
    more_runs: int | None
    standings: tuple[Standing, ...]
    incumbent: str | None = None

    def __str__(self) -> str:
        rows = [("entrant", "mean", "noise std", "values", "behind the best")]
        rows += [_row(each) for each in self.standings]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        table = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:4], widths[1:]), row[4]])
            for row in rows
        ]
        first = _headline(self) + _left_out(self)
        return "\n".join([first, "", *(line.rstrip() for line in table)])


def _row(each: Standing) -> tuple[str, str, str, str, str]:
    behind = ""
    if each.behind is not None and each.behind_interval is not None:
        behind = (
            f"{each.behind:.4g} ({each.behind_interval[0]:.4g} to {each.behind_interval[1]:.4g})"
        )
    failed = f"{each.failures} failed" if each.failures else ""
    left_out = f"not compared: {each.not_compared}" if each.not_compared else ""
    last = ", ".join(part for part in (behind, failed, left_out) if part)
    return each.name, f"{each.mean:.5g}", f"{each.noise_std:.4g}", str(each.runs), last


def _headline(verdict: Verdict) -> str:
    v, level = verdict, f"{100 * verdict.probability:g} %"
    if v.best is None or v.lead is None or v.lead_interval is None:
        return f"{v.decision.capitalize()}: too few runs gave a value."
    low, high = v.lead_interval
    by = f"{v.lead:.4g} ({level} interval {low:.4g} to {high:.4g})"
    over = f"better than {v.second} by {by}"
    after = f"after {v.runs} runs"
    if v.decision == "winner":
        return f"Winner: {v.best}\nIt is {over}, {after}."
    if v.decision == "keep":
        return f"Keep: {v.best}\nIt is {over}, {after}."
    if v.decision == "indifferent":
        return (
            f"No difference larger than {v.indifferent:g} is left: {v.best}\n"
            f"No other entrant is better by more. It is {over}, {after}."
        )
    if v.decision == "discard":
        than = f" by more than {v.indifferent:g}" if v.indifferent else ""
        return f"Discard: no challenger is better than {v.incumbent}{than}, {after}."
    if any(each.not_compared for each in v.standings):
        return f"Undecided: {v.best} leads\nIt is ahead of {v.second} by {by}, {after}."
    more = f"about {v.more_runs}" if v.more_runs else f"more than {MOST_RUNS}"
    return (
        f"Undecided: {v.best} leads\nIt is ahead of {v.second} by {by}, {after}. If it stays so, "
        f"a decision takes {more} more runs."
    )


def _left_out(verdict: Verdict) -> str:
    """Return the sentence that says which entrants are not compared."""
    why = [f"{each.name} ({each.not_compared})" for each in verdict.standings if each.not_compared]
    return f" Not compared: {', '.join(why)}." if why else ""


def verdict_of(course: Course, names: Sequence[str], sign: float) -> Verdict:
    """Return the verdict on a race as it stands.

    Args:
        course: The race.
        names: The names of its entrants.
        sign: 1 if larger values are better, -1 if smaller ones are.
    """
    rule, state, left = course.rule, course.state, course.entrants
    own = None if rule.incumbent is None else names[rule.incumbent]
    standings = [_standing(course, name, i, sign) for i, name in enumerate(names)]
    base = Verdict(
        "undecided", None, None, None, None, 1.0 - rule.level, rule.indifferent, course.runs, None,
        tuple(standings), own,
    )  # fmt: skip
    if state is None:
        lost = course.ended == "failed" and rule.incumbent in left and not course.not_compared
        return replace(base, decision="discard") if lost else base
    decision = _decision(rule, state)
    best = _best(course, state)
    beats_incumbent = decision == "keep"
    others = runner_up(course.tally_left(), np.array([best]))
    second = int(state.focus[0] if beats_incumbent else others[0])
    pairs = course.pairs_with(best)
    low, high = (end[0] for end in pairs.bounds(rule.level / (len(left) - 1)))
    if decision == "winner":
        low = np.maximum(low, 0.0)
    elif beats_incumbent:
        low[second] = max(low[second], 0.0)
    for place, entrant in enumerate(left):
        if place != best:
            bounds = (float(low[place]), float(high[place]))
            gap = float(pairs.leads[0, place])
            standings[entrant] = replace(standings[entrant], behind=gap, behind_interval=bounds)
    lead = _lead(course, best, second, decision)
    if course.not_compared and not beats_incumbent:
        decision = "undecided"
    open_question = decision == "undecided" and not course.not_compared
    return replace(
        base, decision=decision, best=names[left[best]], second=names[left[second]],
        lead=float(np.clip(lead, low[second], high[second])),
        lead_interval=(float(low[second]), float(high[second])), standings=tuple(standings),
        more_runs=_more_runs(course, state) if open_question else None,
    )  # fmt: skip


def _standing(course: Course, name: str, i: int, sign: float) -> Standing:
    values, failures = list(course.values[i].values()), course.failures[i]
    mean = sign * float(np.mean(values)) if values else math.nan
    std = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    last = failures[max(failures)] if failures else ""
    why = ""
    if i in course.not_compared:
        why = f"fewer than {FIRST} values" if len(values) < FIRST else "most runs fail"
    return Standing(name, mean, std, len(values), len(failures), last, not_compared=why)


def _decision(rule: Rule, state: State) -> Decision:
    if rule.incumbent is not None:
        if state.better.any():
            return "keep"
        return "discard" if state.close.all() else "undecided"
    if state.beaten.all():
        return "winner"
    return "indifferent" if rule.indifferent and state.close.all() else "undecided"


def _best(course: Course, state: State) -> int:
    """Return the place of the best: the leader, or a challenger that beat the incumbent."""
    means = course.tally_left().means[0]
    if course.rule.incumbent is not None and state.better.any():
        means = np.where(state.better[0], means, -np.inf)
    elif course.rule.incumbent is not None and state.close.all():
        return int(state.focus[0])
    return int(means.argmax())


def _lead(course: Course, best: int, second: int, decision: Decision) -> float:
    """Return the lead of the best, less what it owes to the choice of the moment to stop."""
    tally, pairs = course.tally_left(), course.pairs_with(best)
    matched = bool(pairs.matched[0, second])
    by_halves = float(lead_of(tally, np.array([best]))[0][0])
    lead = by_halves if decision != "keep" and not matched else float(pairs.leads[0, second])
    if decision not in ("winner", "keep") or course.ended != "decided":
        return lead
    places = [best, second] if decision == "keep" else list(range(len(course.entrants)))
    means, stds = tally.means[0, places], np.sqrt(tally.variances[0, places])
    if matched:
        # Noise that both share does not matter to their difference.
        alone = pairs.errors[0, second] * math.sqrt(pairs.sizes[0, second])
        stds = stds * min(1.0, alone / math.hypot(stds[0], stds[-1]))
    level = course.rule.level_of_pair(len(course.entrants))
    runs = int(sum(tally.counts[0, places]))
    return lead - stopping_bias(means, stds, places.index(best), lead, Rule(level), runs)


def _more_runs(course: Course, state: State) -> int | None:
    """Return how many more runs it takes until every comparison is clear, if nothing changes."""
    rule, counts, pairs = course.rule, course.tally_left().counts[0], state.pairs
    level = rule.level_of_pair(len(counts))
    grown, more = 1.0, 0.0
    for j in np.flatnonzero(~state.close[0]):
        factor = 1.0
        while not _clear(pairs, int(j), factor, level, rule):
            factor *= 1.05
            if factor * counts[j] > MOST_RUNS:
                return None
        more += counts[j] * (factor - 1.0)
        grown = max(grown, factor)
    more += counts[state.focus[0]] * (grown - 1.0)
    return max(1, math.ceil(more)) if more <= MOST_RUNS else None


def _clear(pairs: Pairs, j: int, factor: float, level: float, rule: Rule) -> bool:
    """Return whether a comparison would be clear with so many times its values."""
    needed = float(threshold(pairs.sizes[0, j] * factor, level))
    error, lead = pairs.errors[0, j] / math.sqrt(factor), pairs.leads[0, j]
    far = abs(lead) if rule.incumbent is not None else lead
    return bool(far > needed * error or (lead + rule.indifferent > needed * error > 0.0
                                         and rule.indifferent > 0.0))  # fmt: skip
