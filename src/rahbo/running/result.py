"""What a run returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rahbo.analysis import Recommendation
from rahbo.optimizer import Optimizer
from rahbo.trials import Trial

End = Literal["budget", "stop", "callback", "exhausted", "interrupt"]


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a run.

    Attributes:
        recommendation: The point to use.
        optimizer: The optimizer of the run, to predict, plot or continue with.
        stopped_by: What ended the run: the ``"budget"``, the criterion ``"stop"``, the
            ``"callback"``, a list of candidates that is ``"exhausted"``, or an ``"interrupt"``.
    """

    recommendation: Recommendation
    optimizer: Optimizer
    stopped_by: End = "budget"

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every suggestion with all its values, in order."""
        return self.optimizer.trials

    @property
    def n_evaluations(self) -> int:
        """The number of single evaluations, failures and past results included."""
        return self.optimizer.n_evaluations

    def __str__(self) -> str:
        failed = sum(len(trial.failures) for trial in self.trials)
        spent = f"{self.n_evaluations} evaluations at {self.optimizer.observations.n} points"
        spent += f", {failed} failed" if failed else ""
        ended = "" if self.stopped_by == "budget" else f"; ended by {self.stopped_by}"
        return f"{self.recommendation}\nfrom {spent}; seed {self.optimizer.settings.seed}{ended}"
