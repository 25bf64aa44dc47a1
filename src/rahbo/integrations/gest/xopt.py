"""The generator in the form of Xopt's own, which its YAML files can hold.

Importing this module makes the name ``rahbo`` known to Xopt. `python -m rahbo.integrations.gest`
does so and then runs a YAML file, as ``xopt-run`` does with Xopt's own generators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr, field_serializer, field_validator, model_validator
from xopt.generator import Generator, StateOwner
from xopt.generators import generators

from rahbo.errors import JournalError, SettingsError
from rahbo.integrations.gest.generator import RahboGenerator
from rahbo.journal import decode, encode
from rahbo.numerics import FORMER_KEYWORDS
from rahbo.optimizer import Optimizer

# Settings that are not plain values: Xopt's files hold them as our journals do.
RECORDS = ("risk", "repeats", "method")


class XoptGenerator(Generator, StateOwner):
    """`RahboGenerator` as a generator of Xopt, by the name ``rahbo``.

    Xopt writes it to YAML files and reads it from them. A setting that is an object is written by
    its name and fields, such as ``risk: {type: MeanStd, kappa: 1.0}``.

    Attributes:
        vocs: Variables, objective, constraints, constants and observables.
        risk: The risk measure, in the units of the objective.
        repeats: Evaluations per suggestion: an int, or `Adaptive` for as many as pay.
        n_initial: Distinct points of the initial design.
        noise_std: The noise standard deviation, if it is known and the same everywhere.
        safe: Whether to evaluate only settings that surely keep the constraints.
        seed: Seeds every random choice.
        method: How points are chosen and what the model assumes.
        probability: The probability with which each constraint must be kept, noise included.
        journal: File to which every suggestion and value is written. If it already holds a run,
            that run continues.

    >>> from gest_api.vocs import VOCS
    >>> vocs = VOCS(variables={"x": [0.0, 2.0]}, objectives={"f": "MAXIMIZE"})
    >>> generator = XoptGenerator(vocs=vocs, risk={"type": "MeanStd", "kappa": 2.0}, repeats=3)
    >>> generator.optimizer.settings.risk
    MeanStd(kappa=2.0)
    """

    name: ClassVar[str] = "rahbo"
    returns_id: ClassVar[bool] = True
    supports_batch_generation: bool = True
    supports_single_objective: bool = True
    supports_constraints: bool = True
    supports_discrete_variables: bool = True

    risk: Any = Field(None, description="risk measure")
    repeats: Any = Field(None, description="evaluations per suggestion")
    n_initial: int | None = Field(None, description="points of the initial design")
    noise_std: float | None = Field(None, description="noise standard deviation, if known")
    safe: bool = Field(False, description="whether every setting tried must keep the constraints")
    seed: int | None = Field(None, description="random seed")
    method: Any = Field(None, description="how points are chosen, and what the model assumes")
    probability: float = Field(0.95, description="with which each constraint must be kept")
    journal: str | None = Field(None, description="file to write the run to, or to continue")

    _made: RahboGenerator = PrivateAttr()

    @model_validator(mode="before")
    @classmethod
    def _without_former(cls, given: Any) -> Any:
        """Refuse keywords of earlier versions, with what to write instead."""
        for name in FORMER_KEYWORDS.keys() & set(given if isinstance(given, Mapping) else ()):
            raise SettingsError(f"XoptGenerator() does not take {name}=. {FORMER_KEYWORDS[name]}")
        return given

    @field_validator(*RECORDS, mode="before")
    @classmethod
    def _object(cls, given: Any) -> Any:
        """Return the object that a file holds by its name and fields."""
        if not isinstance(given, Mapping):
            return given
        try:
            if "type" not in given:
                raise TypeError("it needs a type")
            return decode(dict(given))
        except (JournalError, TypeError) as error:
            raise SettingsError(
                f"{dict(given)!r} is not a setting of rahbo: {error}. Write its type and its "
                "fields, such as {type: MeanStd, kappa: 1.0}."
            ) from error

    @field_serializer(*RECORDS)
    def _record(self, setting: Any) -> Any:
        return encode(setting)

    def model_post_init(self, context: Any) -> None:
        """Make the generator that does the work."""
        super().model_post_init(context)
        names = (*RECORDS, "n_initial", "noise_std", "safe", "seed")
        given: Any = {name: v for name in names if (v := getattr(self, name)) is not None}
        self._made = RahboGenerator(
            self.vocs, probability=self.probability, journal=self.journal, **given
        )

    @property
    def optimizer(self) -> Optimizer:
        """The run: `Optimizer.recommend`, `Optimizer.predict` and more."""
        return self._made.optimizer

    def generate(self, n_candidates: int | None = None) -> list[dict[str, Any]]:
        """Return exactly as many points as asked for, as `RahboGenerator.suggest` does."""
        return self._made.suggest(n_candidates)

    def ingest(self, results: Iterable[Mapping[str, Any]]) -> None:
        """Take the results of evaluations, as `RahboGenerator.ingest` does."""
        self._made.ingest(results)

    def add_data(self, new_data: Any) -> None:
        """Take the rows of a table."""
        self._made.ingest(new_data.to_dict(orient="records"))

    def set_data(self, data: Any) -> None:
        """Take all data of a file that Xopt reads; rows that the journal has are left out."""
        self._made.catch_up(data.to_dict(orient="records"))

    def finalize(self) -> None:
        """Release the journal."""
        self._made.finalize()


generators[XoptGenerator.name] = XoptGenerator
