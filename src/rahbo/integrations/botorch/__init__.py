"""BoTorch: the risk bounds as acquisition functions, and the two GPs as BoTorch models.

`OptimisticRisk` and `PessimisticRisk` work with any two BoTorch models, one of the mean and one of
the noise. `HeteroscedasticSingleTaskGP` learns both from every repeat and works with any other
acquisition function. As everywhere in BoTorch, values are maximised. They are in the units of
train_Y.
"""

from rahbo.integrations.botorch.acquisition import (
    OptimisticRisk,
    PessimisticRisk,
    RiskBound,
    from_log,
)
from rahbo.integrations.botorch.models import HeteroscedasticSingleTaskGP, NoiseGP

__all__ = [
    "HeteroscedasticSingleTaskGP",
    "NoiseGP",
    "OptimisticRisk",
    "PessimisticRisk",
    "RiskBound",
    "from_log",
]
