"""What a run returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from rahbo.analysis import (
    LEVEL,
    Diagnosis,
    Frontier,
    Prediction,
    Recommendation,
    paragraph,
)
from rahbo.errors import MissingLibraryError, SettingsError
from rahbo.optimizer import Optimizer
from rahbo.trials import Trial, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What the results of other libraries are called, and what to use here.
KNOWN_ELSEWHERE = {
    **dict.fromkeys(("x", "best_params", "best_params_", "max", "argmax"), "params"),
    **dict.fromkeys(
        ("fun", "value", "values", "best_value", "best_score_", "mean"),
        "best.mean, the mean at the recommended setting",
    ),
    **dict.fromkeys(("risk", "noise_std"), "best.risk or best.noise_std"),
    **dict.fromkeys(("df", "dataframe", "trials_dataframe", "history"), "to_frame()"),
}

End = Literal["budget", "stop", "callback", "exhausted", "interrupt"]


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a run.

    `params` are the parameters to use, and `best` is everything that is known about them. Both are
    those of the recommendation. They are not those of the largest value, which may be luck.

    Attributes:
        recommendation: The point to use.
        optimizer: The optimizer of the run, to continue with.
        stopped_by: What ended the run: the ``"budget"``, the criterion ``"stop"``, the
            ``"callback"``, an ``"interrupt"``, or ``"exhausted"`` if nothing is left that may be
            evaluated.
    """

    recommendation: Recommendation
    optimizer: Optimizer
    stopped_by: End = "budget"

    @property
    def params(self) -> dict[str, Any]:
        """The parameters to use."""
        return dict(self.recommendation.params)

    @property
    def best(self) -> Recommendation:
        """The point to use with its mean, noise and risk value: short for ``recommendation``."""
        return self.recommendation

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every suggestion with all its values, in order."""
        return self.optimizer.trials

    @property
    def n_evaluations(self) -> int:
        """The number of single evaluations, failures and past results included."""
        return self.optimizer.n_evaluations

    # -- questions ---------------------------------------------------------------------------

    @overload
    def predict(self, params: Mapping[str, Any], *, level: float = LEVEL) -> Prediction: ...

    @overload
    def predict(
        self, params: Iterable[Mapping[str, Any]], *, level: float = LEVEL
    ) -> list[Prediction]: ...

    def predict(self, params: Any, *, level: float = LEVEL) -> Prediction | list[Prediction]:
        """Return the mean, noise and risk predicted at one setting, or at each of several."""
        found: Prediction | list[Prediction] = self.optimizer.predict(params, level=level)
        return found

    def frontier(self, *, level: float = LEVEL) -> Frontier:
        """Return mean against noise of the evaluated points, and what each alpha would report."""
        return self.optimizer.frontier(level=level)

    def diagnose(self) -> Diagnosis:
        """Return whether the noise is uneven, whether risk matters, and how many repeats pay."""
        return self.optimizer.diagnose()

    # -- as a table --------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each value and each failure, as dicts: see `Optimizer.rows`."""
        return self.optimizer.rows()

    def to_frame(self) -> Any:
        """Return the `rows` as a pandas DataFrame, with each ``time`` as a date in UTC.

        Raises:
            MissingLibraryError: pandas is not installed.
        """
        return self.optimizer.to_frame()

    def to_csv(self, path: str | PathLike[str]) -> Path:
        """Write the `rows` as a CSV file and return its path. An existing file is replaced."""
        return self.optimizer.to_csv(path)

    # -- pictures and pages ------------------------------------------------------------------

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draw the run in one figure: see `rahbo.plots.overview`.

        With one input it shows the fits of mean and noise, with two it shows maps, with more it
        shows the inputs that matter most, and for a list of candidates the best points.

        Args:
            path: Where to save the figure, such as ``run.png`` or ``run.pdf``; None to save none.

        Returns:
            The figure, which a notebook shows.

        Raises:
            MissingLibraryError: matplotlib is not installed.
        """
        try:
            from rahbo.plots import overview
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "matplotlib":
                raise
            raise MissingLibraryError(
                'plot() needs matplotlib: pip install "rahbo[plot]". Without it, report(path) '
                "writes a page with pictures."
            ) from error
        figure = overview(self.optimizer)
        if path is not None:
            drawn, kind = BytesIO(), Path(path).suffix[1:].lower()
            if kind not in figure.canvas.get_supported_filetypes():
                raise SettingsError(
                    f"plot() cannot save {str(path)!r}. Use a name such as run.png or run.pdf."
                )
            figure.savefig(drawn, format=kind)
            write_whole(path, drawn.getvalue())
        return figure

    def report(self, path: str | PathLike[str]) -> Path:
        """Write a report as one HTML file that needs no network, and return its path.

        It is the page of ``rahbo report``. An existing file is replaced.
        """
        from rahbo.pages import record_of, report_page

        record = record_of(self.optimizer, source=Path(path).stem)
        return write_whole(path, report_page(record).encode())

    # -- in words ----------------------------------------------------------------------------

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            hint = KNOWN_ELSEWHERE.get(name)
            said = f" Use {hint}." if hint else ""
            raise AttributeError(f"A Result has no {name!r}.{said}", name=name, obj=self)

    def __str__(self) -> str:
        return f"{self.recommendation}\n{self._spent}"

    def _repr_html_(self) -> str:
        return f"{self.recommendation._repr_html_()}{paragraph(self._spent)}"

    @property
    def _spent(self) -> str:
        failed = sum(len(trial.failures) for trial in self.trials)
        spent = f"{self.n_evaluations} evaluations at {self.optimizer.observations.n} points"
        spent += f", {failed} failed" if failed else ""
        ended = "" if self.stopped_by == "budget" else f"; ended by {self.stopped_by}"
        return f"from {spent}; seed {self.optimizer.settings.seed}{ended}"
