"""What to try next: designs, acquisitions and the search for their maximum, repeats, strategies."""

from rahbo.policy.acquisition import (
    Acquisition,
    NoiseUncertainty,
    RiskBound,
    at_observations,
    optimistic,
    optimistic_at_mean_noise,
    pessimistic,
    pessimistic_at_mean_noise,
    pessimistic_values,
    report_bound,
)
from rahbo.policy.asking import Proposal, propose
from rahbo.policy.blocks import next_blocks
from rahbo.policy.confirmation import Contest, contest_of, share_of
from rahbo.policy.constraints import KEPT, Limit, Limits, limits, limits_followed
from rahbo.policy.design import initial_design
from rahbo.policy.domain import Domain, is_listed, scattered, whole_domain
from rahbo.policy.feasibility import Chance, Success
from rahbo.policy.repeats import (
    CONFIRMED,
    NEGLIGIBLE,
    Adaptive,
    Fixed,
    Folds,
    Repeats,
    as_repeats,
    is_quiet,
)
from rahbo.policy.revisits import Repeating, excluded, has_all, repeating
from rahbo.policy.safety import safely_repeated
from rahbo.policy.screening import in_chunks, values
from rahbo.policy.search import maximise
from rahbo.policy.strategies import (
    GPUCB,
    Rahbo,
    RahboUS,
    RandomSearch,
    Strategy,
    TopTwo,
    Turn,
)

__all__ = [
    "CONFIRMED",
    "GPUCB",
    "KEPT",
    "NEGLIGIBLE",
    "Acquisition",
    "Adaptive",
    "Chance",
    "Contest",
    "Domain",
    "Fixed",
    "Folds",
    "Limit",
    "Limits",
    "NoiseUncertainty",
    "Proposal",
    "Rahbo",
    "RahboUS",
    "RandomSearch",
    "Repeating",
    "Repeats",
    "RiskBound",
    "Strategy",
    "Success",
    "TopTwo",
    "Turn",
    "as_repeats",
    "at_observations",
    "contest_of",
    "excluded",
    "has_all",
    "in_chunks",
    "initial_design",
    "is_listed",
    "is_quiet",
    "limits",
    "limits_followed",
    "maximise",
    "next_blocks",
    "optimistic",
    "optimistic_at_mean_noise",
    "pessimistic",
    "pessimistic_at_mean_noise",
    "pessimistic_values",
    "propose",
    "repeating",
    "report_bound",
    "safely_repeated",
    "scattered",
    "share_of",
    "values",
    "whole_domain",
]
