"""Arrays, checks, texts and rounding of numbers, a search, points, threads, streams, names."""

from rahbo.numerics.arrays import Array, Index, Mask
from rahbo.numerics.checks import (
    is_finite,
    is_number,
    is_real_number,
    is_whole,
    not_negative,
    positive,
    unwrapped,
)
from rahbo.numerics.quasinewton import BatchObjective, Minimum, quasi_newton
from rahbo.numerics.registry import Registered, module_outside, registered
from rahbo.numerics.rounding import (
    ALL_DIGITS,
    FEW_DIGITS,
    Justified,
    brief,
    digits_of,
    largest_first,
    percent,
    rounded,
)
from rahbo.numerics.signatures import FORMER_KEYWORDS, refuse_former, spells_out
from rahbo.numerics.sobol import sobol_sequence
from rahbo.numerics.streams import FixedStream, Stream, evaluation_seed, fixed_generator, generator
from rahbo.numerics.texts import NOT_FINITE, UNSIGNED, plain_number
from rahbo.numerics.threads import SharedLock, one_blas_thread, shared_by_threads

__all__ = [
    "ALL_DIGITS",
    "FEW_DIGITS",
    "FORMER_KEYWORDS",
    "NOT_FINITE",
    "UNSIGNED",
    "Array",
    "BatchObjective",
    "FixedStream",
    "Index",
    "Justified",
    "Mask",
    "Minimum",
    "Registered",
    "SharedLock",
    "Stream",
    "brief",
    "digits_of",
    "evaluation_seed",
    "fixed_generator",
    "generator",
    "is_finite",
    "is_number",
    "is_real_number",
    "is_whole",
    "largest_first",
    "module_outside",
    "not_negative",
    "one_blas_thread",
    "percent",
    "plain_number",
    "positive",
    "quasi_newton",
    "refuse_former",
    "registered",
    "rounded",
    "shared_by_threads",
    "sobol_sequence",
    "spells_out",
    "unwrapped",
]
