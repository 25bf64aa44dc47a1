"""What was asked and told, and the same as data: count, mean and variance per point."""

from rahbo.trials.blocks import (
    MOST_FAILURES,
    block_name,
    block_of,
    blocks_by_point,
    checked_blocks,
    checked_told,
    failures_by_point,
    past_trials,
)
from rahbo.trials.counts import Counts
from rahbo.trials.evaluation import LONGEST_NAME, Evaluation, Evaluations, checked_name
from rahbo.trials.files import write_whole
from rahbo.trials.given import checked_trials, is_same_point, listed_trials
from rahbo.trials.observations import Observations, Removed, point_statistics
from rahbo.trials.outcomes import Reads, record_of, split_record
from rahbo.trials.paged import Paged
from rahbo.trials.repetition import Repetition, repetition_of
from rahbo.trials.rows import as_frame, header, rows_of, trials_in, write_csv
from rahbo.trials.times import is_time, now
from rahbo.trials.trial import (
    LARGEST_VALUE,
    MOST_REPEATS,
    Source,
    Suggestion,
    Trial,
    attempts_at,
    checked_repeat,
    checked_values,
    gave_more,
    observations_of,
    own_bounds,
    params_by_point,
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
    "LONGEST_NAME",
    "MOST_FAILURES",
    "MOST_REPEATS",
    "Counts",
    "Evaluation",
    "Evaluations",
    "Observations",
    "Paged",
    "Reads",
    "Removed",
    "Repetition",
    "Source",
    "Suggestion",
    "Trial",
    "as_frame",
    "attempts_at",
    "block_name",
    "block_of",
    "blocks_by_point",
    "checked_blocks",
    "checked_name",
    "checked_repeat",
    "checked_told",
    "checked_trials",
    "checked_values",
    "failures_by_point",
    "gave_more",
    "header",
    "is_same_point",
    "is_time",
    "listed_trials",
    "now",
    "observations_of",
    "own_bounds",
    "params_by_point",
    "past_trials",
    "point_statistics",
    "provided_points",
    "record_of",
    "repetition_of",
    "rows_of",
    "shortened",
    "split_record",
    "tallies_of",
    "trial_at",
    "trial_named",
    "trials_in",
    "tried_once",
    "valued",
    "write_csv",
    "write_whole",
]
