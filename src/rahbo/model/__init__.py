"""The model: one Gaussian process for the mean and one for the noise variance."""

from rahbo.model.assumption import knows_nothing, learn_assuming
from rahbo.model.blocks import Effects
from rahbo.model.confidence import Confidence, ConstantBeta, Lemma1Beta, as_confidence, lemma1_beta
from rahbo.model.evidence import Evidence, Hyperparameters, fit
from rahbo.model.fitting import Fits, Fitting, Past, Refit, fits_before, shared_fits
from rahbo.model.gp import GP
from rahbo.model.hyperprior import Hyperprior
from rahbo.model.joint import Learned, MeanNoiseModel, ModelSettings
from rahbo.model.kernels import (
    RBF,
    Kernel,
    Linear,
    Matern32,
    Matern52,
    require_columns,
    require_kernel,
)
from rahbo.model.learning import condition, learn
from rahbo.model.lognoise import LogNoise, LogPosterior
from rahbo.model.noise import DirectNoise, DirectPosterior, sample_variance_var
from rahbo.model.outcomes import AtLeast, AtMost, Constraint, Models, outcome_of
from rahbo.model.places import Places, as_told, find_places
from rahbo.model.plausible import alternatives
from rahbo.model.units import Limited, Outputs, Raw, Standardized, Units, output_scale
from rahbo.model.variance import CubeNoise, KnownNoise, NoiseModel, NoisePosterior, SampleVariances

__all__ = [
    "GP",
    "RBF",
    "AtLeast",
    "AtMost",
    "Confidence",
    "ConstantBeta",
    "Constraint",
    "CubeNoise",
    "DirectNoise",
    "DirectPosterior",
    "Effects",
    "Evidence",
    "Fits",
    "Fitting",
    "Hyperparameters",
    "Hyperprior",
    "Kernel",
    "KnownNoise",
    "Learned",
    "Lemma1Beta",
    "Limited",
    "Linear",
    "LogNoise",
    "LogPosterior",
    "Matern32",
    "Matern52",
    "MeanNoiseModel",
    "ModelSettings",
    "Models",
    "NoiseModel",
    "NoisePosterior",
    "Outputs",
    "Past",
    "Places",
    "Raw",
    "Refit",
    "SampleVariances",
    "Standardized",
    "Units",
    "alternatives",
    "as_confidence",
    "as_told",
    "condition",
    "find_places",
    "fit",
    "fits_before",
    "knows_nothing",
    "learn",
    "learn_assuming",
    "lemma1_beta",
    "outcome_of",
    "output_scale",
    "require_columns",
    "require_kernel",
    "sample_variance_var",
    "shared_fits",
]
