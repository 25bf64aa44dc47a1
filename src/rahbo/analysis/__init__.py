"""What to tell the user: a recommendation, the frontier and a diagnosis, with their certainty."""

from rahbo.analysis.diagnosis import (
    Calibration,
    Diagnosis,
    InputNoise,
    RepeatsThatPay,
    RiskDecision,
    diagnose,
)
from rahbo.analysis.frontier import Choice, Frontier, envelope, frontier_of
from rahbo.analysis.gain import Gain, among, prospects
from rahbo.analysis.posterior import LEVEL, centre, check_level
from rahbo.analysis.recommendation import (
    Interval,
    Prediction,
    Recommendation,
    RunnerUp,
    predict,
    recommend,
    short,
)
from rahbo.analysis.rules import SCORES, Rule, best_scored, check_rule, choices, choose
from rahbo.analysis.snapshot import Snapshot, snapshots_after
from rahbo.analysis.unevenness import Unevenness, repeat_scatter, uneven_test

__all__ = [
    "LEVEL",
    "SCORES",
    "Calibration",
    "Choice",
    "Diagnosis",
    "Frontier",
    "Gain",
    "InputNoise",
    "Interval",
    "Prediction",
    "Recommendation",
    "RepeatsThatPay",
    "RiskDecision",
    "Rule",
    "RunnerUp",
    "Snapshot",
    "Unevenness",
    "among",
    "best_scored",
    "centre",
    "check_level",
    "check_rule",
    "choices",
    "choose",
    "diagnose",
    "envelope",
    "frontier_of",
    "predict",
    "prospects",
    "recommend",
    "repeat_scatter",
    "short",
    "snapshots_after",
    "uneven_test",
]
