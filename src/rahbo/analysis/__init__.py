"""What to tell the user: a recommendation, the frontier and a diagnosis, with their certainty."""

from rahbo.analysis.aversion import Alternative, Aversion, envelope, penalty_of
from rahbo.analysis.blocks import BlockEffects
from rahbo.analysis.calibration import BAND, COVERAGE_LEVEL, Calibration, LeftOut, left_out_of
from rahbo.analysis.compliance import ConstraintCheck
from rahbo.analysis.conditions import (
    Conditions,
    is_current,
    newest_times,
    recommend_under,
    space_for,
)
from rahbo.analysis.diagnosis import (
    Diagnosis,
    InputNoise,
    RepeatsThatPay,
    RiskDecision,
    diagnose,
)
from rahbo.analysis.frontier import Choice, Frontier, frontier_of
from rahbo.analysis.gain import Gain, among, prospects
from rahbo.analysis.luck import Luckiest, fresh_value
from rahbo.analysis.markup import paragraph, shown, table, visible
from rahbo.analysis.posterior import LEVEL, Interval, centre, check_level
from rahbo.analysis.prediction import Estimate, Prediction, predict
from rahbo.analysis.recommendation import Compared, Numbers, Recommendation, recommend
from rahbo.analysis.reportable import best_pessimistic, domain, legal, not_noise, told, worst
from rahbo.analysis.rivals import RunnerUp, are_alike
from rahbo.analysis.rules import SCORES, Rule, best_scored, check_rule, choices, choose
from rahbo.analysis.sensitivity import Sensitivity, sensitivity_of
from rahbo.analysis.unevenness import Unevenness, repeat_scatter, uneven_test
from rahbo.analysis.wording import numbered, probability, scores_told_apart, short

__all__ = [
    "BAND",
    "COVERAGE_LEVEL",
    "LEVEL",
    "SCORES",
    "Alternative",
    "Aversion",
    "BlockEffects",
    "Calibration",
    "Choice",
    "Compared",
    "Conditions",
    "ConstraintCheck",
    "Diagnosis",
    "Estimate",
    "Frontier",
    "Gain",
    "InputNoise",
    "Interval",
    "LeftOut",
    "Luckiest",
    "Numbers",
    "Prediction",
    "Recommendation",
    "RepeatsThatPay",
    "RiskDecision",
    "Rule",
    "RunnerUp",
    "Sensitivity",
    "Unevenness",
    "among",
    "are_alike",
    "best_pessimistic",
    "best_scored",
    "centre",
    "check_level",
    "check_rule",
    "choices",
    "choose",
    "diagnose",
    "domain",
    "envelope",
    "fresh_value",
    "frontier_of",
    "is_current",
    "left_out_of",
    "legal",
    "newest_times",
    "not_noise",
    "numbered",
    "paragraph",
    "penalty_of",
    "predict",
    "probability",
    "prospects",
    "recommend",
    "recommend_under",
    "repeat_scatter",
    "scores_told_apart",
    "sensitivity_of",
    "short",
    "shown",
    "space_for",
    "table",
    "told",
    "uneven_test",
    "visible",
    "worst",
]
