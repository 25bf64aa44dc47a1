"""The paper's experiments: cases to run, records of each round, metrics and tables."""

from rahbo.experiments.metrics import Band, Runs
from rahbo.experiments.records import Store
from rahbo.experiments.runner import replay, run_case, run_cases
from rahbo.experiments.spec import EXPERIMENTS, TITLES, Case, Experiment, problem_named, with_seeds
from rahbo.experiments.summary import Row

__all__ = [
    "EXPERIMENTS",
    "TITLES",
    "Band",
    "Case",
    "Experiment",
    "Row",
    "Runs",
    "Store",
    "problem_named",
    "replay",
    "run_case",
    "run_cases",
    "with_seeds",
]
