"""What was asked and told, and the same as data: count, mean and variance per point."""

from rahbo.trials.ledger import Ledger
from rahbo.trials.observations import Observations
from rahbo.trials.trial import (
    LARGEST_VALUE,
    Source,
    Suggestion,
    Trial,
    attempts_at,
    checked_repeat,
    checked_trials,
    checked_values,
    observations_of,
    own_bounds,
    params_by_point,
    past_trials,
    provided_points,
    shortened,
    tallies_of,
    trial_at,
    trial_named,
    tried_once,
    valued,
)

__all__ = [
    "LARGEST_VALUE",
    "Ledger",
    "Observations",
    "Source",
    "Suggestion",
    "Trial",
    "attempts_at",
    "checked_repeat",
    "checked_trials",
    "checked_values",
    "observations_of",
    "own_bounds",
    "params_by_point",
    "past_trials",
    "provided_points",
    "shortened",
    "tallies_of",
    "trial_at",
    "trial_named",
    "tried_once",
    "valued",
]
