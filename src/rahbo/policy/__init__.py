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
)
from rahbo.policy.blocks import next_blocks
from rahbo.policy.confirmation import Contest, share_of
from rahbo.policy.constraints import KEPT, Limit, Limits
from rahbo.policy.design import initial_design
from rahbo.policy.domain import Domain, is_listed, scattered, whole_domain
from rahbo.policy.feasibility import Chance, Success
from rahbo.policy.proposal import (
    PolicySettings,
    Proposal,
    contest_between,
    propose_design,
    propose_first,
    propose_several,
    with_pending,
)
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
from rahbo.policy.safety import UNSAFE, propose_safely, safely_repeated
from rahbo.policy.screening import in_chunks, values
from rahbo.policy.search import maximise
from rahbo.policy.strategies import (
    GPUCB,
    Rahbo,
    RahboUS,
    RandomSearch,
    Situation,
    Strategy,
    TopTwo,
)

__all__ = [
    "CONFIRMED",
    "GPUCB",
    "KEPT",
    "NEGLIGIBLE",
    "UNSAFE",
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
    "PolicySettings",
    "Proposal",
    "Rahbo",
    "RahboUS",
    "RandomSearch",
    "Repeats",
    "RiskBound",
    "Situation",
    "Strategy",
    "Success",
    "TopTwo",
    "as_repeats",
    "at_observations",
    "contest_between",
    "in_chunks",
    "initial_design",
    "is_listed",
    "is_quiet",
    "maximise",
    "next_blocks",
    "optimistic",
    "optimistic_at_mean_noise",
    "pessimistic",
    "pessimistic_at_mean_noise",
    "pessimistic_values",
    "propose_design",
    "propose_first",
    "propose_safely",
    "propose_several",
    "safely_repeated",
    "scattered",
    "share_of",
    "values",
    "whole_domain",
    "with_pending",
]
