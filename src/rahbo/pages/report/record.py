"""The contents of a report, as plain data computed from an `Optimizer`."""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from rahbo import __version__
from rahbo.analysis import Diagnosis, Frontier, Recommendation, envelope
from rahbo.journal import PARAMETERS, encode_settings, show
from rahbo.numerics import digits_of, rounded
from rahbo.optimizer import Optimizer
from rahbo.pages import words
from rahbo.pages.history import History, history_of
from rahbo.pages.outcomes import Compliance, compliance_of
from rahbo.pages.report.inputs import Place, ReportInput, cut, few_places, places, report_inputs
from rahbo.pages.report.maps import Maps, maps_through
from rahbo.risk import RiskMeasure
from rahbo.settings import Settings
from rahbo.space import Candidates, Float, Space

# The most failure reasons listed, and the most characters of a reason and of a setting.
REASONS, REASON, SETTING = 20, 500, 2000
# A page holds at most this many parameter values. With more, it shows only the best points.
CELLS = 50_000


@dataclass(frozen=True)
class Chosen:
    """A point that some coefficient would report.

    Attributes:
        point: The index of the point.
        start: The smallest coefficient that would report it.
        end: The largest such coefficient, which may be infinite.
    """

    point: int
    start: float
    end: float


@dataclass(frozen=True)
class Trade:
    """The trade-off between mean and noise that the slider controls.

    The score of a point is its mean minus a coefficient times its noise variance or noise standard
    deviation, each at the pessimistic bound of the strategy. This holds for maximisation.

    Attributes:
        symbol: The symbol of the coefficient.
        penalty: The quantity that the coefficient multiplies.
        own: The coefficient of the run itself; None if its risk measure has none.
        choices: The points that the coefficients from 0 to infinity would report.
    """

    symbol: str
    penalty: str
    own: float | None
    choices: tuple[Chosen, ...]


@dataclass(frozen=True)
class ReportPoints:
    """The evaluated points, column by column, in user units.

    Attributes:
        places: The place of each point on each axis.
        mean: Posterior means.
        mean_lower: Lower ends of the means' credible intervals.
        mean_upper: Upper ends of the means' credible intervals.
        noise: Standard deviations of a single evaluation.
        noise_lower: Lower ends of the standard deviations' credible intervals.
        noise_upper: Upper ends of the standard deviations' credible intervals.
        count: Numbers of values told.
        failures: Numbers of failed evaluations.
        sample_mean: Means of the values told.
        sample_std: Standard deviations of the values told; None for a single value.
        pessimistic: Pessimistic values, which decide what the strategy reports.
        recommended: The index of the recommended point.
        n: The number of all evaluated points. A large run lists only some of them.
        compliance: Whether they keep the limits of outcomes; None without limits.
    """

    places: list[list[Place]]
    mean: list[float]
    mean_lower: list[float]
    mean_upper: list[float]
    noise: list[float]
    noise_lower: list[float]
    noise_upper: list[float]
    count: list[int]
    failures: list[int]
    sample_mean: list[float]
    sample_std: list[float | None]
    pessimistic: list[float]
    recommended: int
    n: int
    compliance: Compliance | None = None


@dataclass(frozen=True)
class Pictures:
    """The data that the scripts of a page draw.

    Attributes:
        minimised: Whether smaller values are better.
        blocked: Whether values are in blocks.
        level: The probability of every interval.
        trade: The trade-off between mean and noise.
        inputs: The parameters.
        points: The evaluated points.
        history: The evaluations in order.
        maps: Mean and noise around the recommended point.
    """

    minimised: bool
    blocked: bool
    level: float
    trade: Trade
    inputs: tuple[ReportInput, ...]
    points: ReportPoints
    history: History
    maps: Maps


@dataclass(frozen=True)
class ReportRecord:
    """A report.

    Attributes:
        source: The name of the run or its file.
        made: When the report was made.
        digest: The SHA-256 of the source, if it is a file.
        basis: Sentences on the data and the goal.
        recommendation: The recommended point.
        frontier: What each alpha would report.
        diagnosis: The diagnosis of the noise.
        failures: The reasons for failures, with the number of times each was given.
        settings: The settings of the run, as a user would write them.
        versions: The versions of the software that computed the report.
        pictures: The data of the figures.
    """

    source: str
    made: str
    digest: str | None
    basis: str
    recommendation: Recommendation
    frontier: Frontier
    diagnosis: Diagnosis
    failures: dict[str, int]
    settings: dict[str, str]
    versions: dict[str, str]
    pictures: Pictures


def record_of(
    optimizer: Optimizer,
    *,
    source: str,
    made: str = "",
    digest: str | None = None,
) -> ReportRecord:
    """Return the report of a run.

    Args:
        optimizer: The run, with at least one value told.
        source: The name to show for the run.
        made: The time to show for the report; by default now.
        digest: The SHA-256 of the file that holds the run.

    Raises:
        NotReadyError: Nothing has been told yet.
    """
    settings = optimizer.settings
    found, whole = optimizer.recommend(), optimizer.frontier()
    at = optimizer.tried_at(found.params)
    kept = _kept(whole, at, settings)
    frontier = replace(
        whole,
        evaluated=tuple(whole.evaluated[i] for i in kept),
        worst=tuple(whole.worst[i] for i in kept),
        reportable=tuple(whole.reportable[i] for i in kept if whole.reportable),
    )
    diagnosis = optimizer.diagnose()
    shares = [one.share for one in diagnosis.inputs]
    pictures = Pictures(
        minimised=settings.sign < 0,
        blocked=found.blocks is not None,
        level=found.level,
        trade=trade_of(settings.risk, frontier, settings.sign < 0),
        inputs=report_inputs(settings.space, 2),
        points=_points(optimizer, frontier, at, kept),
        history=history_of(optimizer),
        maps=maps_through(optimizer, at, shares),
    )
    return ReportRecord(
        cut(source), made or f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", digest,
        words.basis(optimizer), found, frontier, diagnosis, failures=_failures(optimizer),
        settings=_settings(settings), versions=versions(), pictures=pictures,
    )  # fmt: skip


def trade_of(risk: RiskMeasure, frontier: Frontier, minimised: bool) -> Trade:
    """Return the trade-off of a risk measure; a custom measure gets that of mean-variance."""
    rows = frontier.candidates
    mean, noise_std = np.array([frontier.worst[i] for i in rows]).T
    worst = -mean if minimised else mean
    # A strategy that ignores the noise reports the same point as a coefficient of zero.
    neutral = 0.0 if frontier.alpha == 0.0 else None
    if risk.penalty == "noise std" and risk.weight is not None:
        choices = tuple(Chosen(rows[i], *ends) for i, *ends in envelope(worst, noise_std))
        own = risk.weight if neutral is None else neutral
        return Trade("κ", "noise standard deviation", own, choices)
    choices = tuple(Chosen(rows[i], *ends) for i, *ends in envelope(worst, noise_std**2))
    return Trade("α", "noise variance", frontier.alpha, choices)


def versions() -> dict[str, str]:
    """Return the versions of the software that the numbers and figures depend on."""
    return {
        "rahbo": __version__,
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy")},
        "platform": platform.platform(terse=True),
    }


def _kept(frontier: Frontier, at: Mapping[str, Any], settings: Settings) -> list[int]:
    """Return the indices of the points to list: all, or the best and those the slider reaches."""
    points, minimised = frontier.evaluated, settings.sign < 0
    most = CELLS // len(settings.space.names)
    if len(points) <= most:
        return list(range(len(points)))
    worst = [settings.sign * p.pessimistic for p in points]
    # Those that may be reported first.
    may = np.isin(np.arange(len(points)), frontier.candidates)
    best = np.lexsort((-np.array(worst), ~may))[:most].tolist()
    chosen = [c.point for c in trade_of(settings.risk, frontier, minimised).choices]
    return sorted({*best, *chosen, _index(at, [p.params for p in points])})


def _points(
    optimizer: Optimizer, frontier: Frontier, at: Mapping[str, Any], kept: list[int]
) -> ReportPoints:
    space, data = optimizer.settings.space, optimizer.observations
    allowed = np.flatnonzero(space.is_valid(data.X))
    legal = allowed[kept]
    failed: Counter[bytes] = Counter()
    for trial in optimizer.trials:
        failed[trial.x.tobytes()] += len(trial.failures)
    believed = frontier.evaluated
    there = places(space, [p.params for p in believed])
    means = [(p.mean, *p.mean_interval) for p in believed]
    stds = [(p.noise_std, *p.noise_std_interval) for p in believed]
    told = optimizer.model.units.signed(data.mean[legal]).tolist()
    told_std = [None if math.isnan(v) else math.sqrt(v) for v in data.sample_var[legal]]
    digits = digits_of(*means, told)
    mean, mean_lower, mean_upper = _columns(means, digits)
    noise, noise_lower, noise_upper = _columns(stds, digits_of(*stds))
    return ReportPoints(
        places=few_places(space, there),
        mean=mean,
        mean_lower=mean_lower,
        mean_upper=mean_upper,
        noise=noise,
        noise_lower=noise_lower,
        noise_upper=noise_upper,
        count=[int(c) for c in data.count[legal]],
        failures=[failed[x.tobytes()] for x in data.X[legal]],
        sample_mean=[rounded(m, digits) for m in told],
        sample_std=[None if v is None else rounded(v) for v in told_std],
        pessimistic=_column([p.pessimistic for p in believed]),
        recommended=_index(at, [p.params for p in believed]),
        n=len(allowed),
        compliance=compliance_of(optimizer, data.X[legal], believed),
    )


def _column(numbers: Sequence[float]) -> list[float]:
    digits = digits_of(numbers)
    return [rounded(number, digits) for number in numbers]


def _columns(rows: Sequence[Sequence[float]], digits: int) -> list[list[float]]:
    return [[rounded(number, digits) for number in column] for column in zip(*rows, strict=True)]


def _index(params: Mapping[str, Any], among: list[dict[str, Any]]) -> int:
    return among.index(dict(params))


def _failures(optimizer: Optimizer) -> dict[str, int]:
    """Return the reasons for failures with their counts, the most common first."""
    told = Counter(
        cut(reason or "no reason given", REASON)
        for trial in optimizer.trials
        for reason in trial.failures.values()
    )
    return dict(told.most_common(REASONS))


def _settings(settings: Settings) -> dict[str, str]:
    """Return the settings as a user would write them.

    A space that a journal cannot hold, such as Optuna's, is shown by its repr.
    """
    spec, shown = settings.space.spec, {}
    if not isinstance(spec, Candidates) and any(type(k) not in PARAMETERS for k in spec.values()):
        shown = {"space": repr(dict(spec))}
        settings = replace(settings, space=Space({"x": Float(0.0, 1.0)}))
    shown = {name: show(value) for name, value in encode_settings(settings).items()} | shown
    return {name: cut(value, SETTING) for name, value in shown.items()}
