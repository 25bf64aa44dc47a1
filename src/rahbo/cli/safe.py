"""`--safe NAME=VALUE,...`: run settings that are known to be safe before the search starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rahbo.cli.limits import described
from rahbo.cli.parameters import setting_in
from rahbo.cli.program import Program
from rahbo.errors import SettingsError
from rahbo.numerics import evaluation_seed
from rahbo.optimizer import Optimizer
from rahbo.running import Done, attempt, with_outcomes
from rahbo.space import Parameter

# Runs of each setting, so that its noise is known as well.
RUNS = 3
# In place of a suggestion, for the seeds of these runs: no suggestion has this number.
FIRST = 2**31 + 1
UNSAFE = (
    "No setting given by --safe is sure to keep the limits after its runs, so there is nothing to "
    "start from. Give a setting further away from the limits, in a new journal, or a wider limit."
)


@dataclass(frozen=True)
class Start:
    """Settings that are known to be safe.

    Attributes:
        settings: The settings; empty if the search may run any setting.
    """

    settings: tuple[dict[str, Any], ...] = ()

    @property
    def runs(self) -> int:
        """How many runs they take."""
        return RUNS * len(self.settings)

    def run(self, program: Program, optimizer: Optimizer, show: Callable[[Done], None]) -> None:
        """Make the runs that are missing, one after the other, and tell what they gave."""
        limits = optimizer.settings.constraints
        for k, params in enumerate(self.settings):
            x = optimizer.settings.space.encode(params)
            there = [t for t in optimizer.trials if t.source == "user" and t.is_at(x)]
            for i in range(sum(trial.n_made for trial in there), RUNS):
                seed = evaluation_seed(optimizer.settings.seed, FIRST + k, i)
                result = with_outcomes(attempt(program, {**params, "seed": seed}), limits)
                said = ""
                if result.value is None:
                    optimizer.tell_failure(params, result.failure)
                else:
                    optimizer.tell(params, result.value, outcomes=result.outcomes)
                    said = described(result.outcomes, limits)
                show(Done(params, result.value, result.failure, said))


def start_of(
    texts: Iterable[str], space: Mapping[str, Parameter], limits: Mapping[str, object],
    blocks: object,
) -> Start:  # fmt: skip
    """Return the settings of some options ``--safe``."""
    settings = tuple(setting_in(text, space) for text in texts)
    if settings and not limits:
        raise SettingsError("--safe needs --at-most or --at-least, which say what is safe.")
    if settings and blocks is not None:
        raise SettingsError("--safe cannot be combined with --blocks. Leave one of them out.")
    if any(settings[i] in settings[:i] for i in range(len(settings))):
        raise SettingsError("--safe must give different settings. Leave one of them out.")
    return Start(settings)
