"""Which of several noisy programs is better, and is it luck?

`race` calls functions where a value decides most, until the best is known. `judge` says the same of
values that were measured already. Both return a `Verdict`.
"""

from rahbo.race.choice import FIRST, Rule, State, lead_of, next_entrant, runner_up, state_of
from rahbo.race.course import MOST_FAILURES, Course
from rahbo.race.evidence import Pairs, Tally, pairs_of, threshold
from rahbo.race.matching import correlation, matched_pairs
from rahbo.race.racing import RUNS, checked_rule, checked_runs, judge, race, sign_of
from rahbo.race.simulation import Ended, simulate, stopping_bias
from rahbo.race.verdict import Standing, Verdict, verdict_of

__all__ = [
    "FIRST",
    "MOST_FAILURES",
    "RUNS",
    "Course",
    "Ended",
    "Pairs",
    "Rule",
    "Standing",
    "State",
    "Tally",
    "Verdict",
    "checked_rule",
    "checked_runs",
    "correlation",
    "judge",
    "lead_of",
    "matched_pairs",
    "next_entrant",
    "pairs_of",
    "race",
    "runner_up",
    "sign_of",
    "simulate",
    "state_of",
    "stopping_bias",
    "threshold",
    "verdict_of",
]
