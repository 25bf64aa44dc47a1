"""Run an objective, serially or in parallel, until the budget is spent or a criterion is met."""

from rahbo.running.budget import Budget
from rahbo.running.calls import CallResult, Objective, attempt, wanted_keywords, with_outcomes
from rahbo.running.loop import maximize, minimize
from rahbo.running.parallel import in_parallel
from rahbo.running.pool import Borrowed, Pool
from rahbo.running.progress import Course, Display, Done, Stage, harmless, leading
from rahbo.running.result import Result
from rahbo.running.run import Callback, Run
from rahbo.running.stopping import Gap, Stop, checked_stop

__all__ = [
    "Borrowed",
    "Budget",
    "CallResult",
    "Callback",
    "Course",
    "Display",
    "Done",
    "Gap",
    "Objective",
    "Pool",
    "Result",
    "Run",
    "Stage",
    "Stop",
    "attempt",
    "checked_stop",
    "harmless",
    "in_parallel",
    "leading",
    "maximize",
    "minimize",
    "wanted_keywords",
    "with_outcomes",
]
