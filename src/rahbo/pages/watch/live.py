"""The data of the live page: the run in a journal, and the model's estimates.

Requests read the journal, which takes milliseconds. The model is fitted in a separate thread. After
a fit, the thread pauses for as long as the fit took, so that it does not slow down the run. While
nobody requests the page, nothing is computed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from rahbo.analysis import (
    SCORES,
    BlockEffects,
    Prediction,
    Recommendation,
    short,
)
from rahbo.errors import NotReadyError, RahboError, SettingsError
from rahbo.journal import Code, FileName
from rahbo.numerics import digits_of, rounded
from rahbo.optimizer import Optimizer
from rahbo.pages.history import history_of
from rahbo.pages.watch.follow import Arrival, Follower
from rahbo.pages.watch.rate import Seen, noted, rate_of, time_left
from rahbo.pages.words import LONGEST, blocks, cut, listed
from rahbo.risk import RiskMeasure
from rahbo.trials import Trial

# The least number of seconds between two fits.
PAUSE = 3.0
# The most values in one answer, and rows of a table.
MOST_VALUES, MOST_ROWS = 5000, 12
SHOWN_SETTINGS = ("direction", "risk", "repeats", "strategy", "n_initial", "seed")
# Settings that are shown only if they are used.
IF_USED = ("constraints", "safe", "blocks")

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class PageState:
    """The result of one fit.

    Attributes:
        version: Increases with each fit.
        of: The epoch of the run, and the number of evaluations that were fitted.
        page: The data for the page; None before the first fit.
        optimizer: The fitted optimizer; None if the run cannot be fitted.
    """

    version: int = 0
    of: tuple[int, int] = (0, 0)
    page: Json | None = None
    optimizer: Optimizer | None = None


class Live:
    """A run that is being watched.

    Args:
        path: The journal of the run, which need not exist yet.
        risk: Replaces the risk measure of the run, unless None.
        pause: The least number of seconds between two fits.
        budget: How many evaluations the run will have, if that is known. A journal does not say.
    """

    def __init__(
        self,
        path: FileName,
        risk: RiskMeasure | None = None,
        pause: float = PAUSE,
        budget: int | None = None,
    ) -> None:
        self._follower, self._risk, self._pause = Follower(path), risk, pause
        self._budget, self._seen = budget, (0, list[Seen]())
        self._lock, self._wanted = threading.Lock(), threading.Event()
        self._fit = PageState()
        self._fitting = False

    def start(self) -> None:
        """Start fitting, in a thread that ends with the process."""
        threading.Thread(target=self._fit_always, name="rahbo-fit", daemon=True).start()

    def run(self, epoch: int = 0, known: int = 0) -> Json:
        """Return the run in its current state.

        Args:
            epoch: The epoch of the run that the page shows.
            known: How many values of that run the page has; the answer brings the later ones.
        """
        with self._lock:
            follower = self._follower
            follower.look()
            now = follower.epoch, len(follower.arrivals)
            if self._fit.of != now and follower.arrivals:
                self._wanted.set()
            rate = self._rate(follower)
            first = max(known if epoch == follower.epoch else 0, now[1] - MOST_VALUES)
            return {
                **_run(follower),
                "first": first,
                "values": follower.arrivals[first:],
                "model": self._fit.version,
                "fitting": self._fitting,
                "budget": self._budget,
                "rate": rate,
                "left": time_left(rate, now[1], self._budget),
            }

    def _rate(self, follower: Follower) -> float | None:
        """Return the evaluations a second, after noting how many there are now."""
        if follower.written is None:
            return None
        epoch, seen = self._seen
        before = seen if epoch == follower.epoch else []
        now = noted(before, Seen(follower.written, len(follower.arrivals)))
        self._seen = follower.epoch, now
        return rate_of(now, time.time())

    def model(self) -> Json:
        """Return the estimates of the latest fit."""
        fit = self._fit
        return {"version": fit.version, "epoch": fit.of[0], **(fit.page or {})}

    def _fit_always(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            began = time.monotonic()
            self._fitting = True
            self.fit()
            self._fitting = False
            time.sleep(max(self._pause, time.monotonic() - began))

    def fit(self) -> None:
        """Fit the model to everything that was read."""
        with self._lock:
            follower, last = self._follower, self._fit
            of = follower.epoch, len(follower.arrivals)
            keywords = follower.keywords
            trials = [follower.trial(i) for i in range(follower.n_trials)]
        page: Json = {"n_evaluations": of[1]}
        optimizer = None
        try:
            optimizer = optimizer_of(keywords, trials, self._risk)
            if last.optimizer is not None and last.of[0] == of[0]:
                optimizer.reuse_fits(last.optimizer)
            page |= belief_of(optimizer, self._risk)
        except RahboError as error:
            page["problem"] = cut(str(error))
        except Exception as error:
            # The page must keep working, whatever the data in a journal do to the model.
            page["problem"] = cut(f"The model cannot be fitted: {error!r}")
        self._fit = PageState(last.version + 1, of, page, optimizer)


# -- the run -----------------------------------------------------------------------------------


def _run(follower: Follower) -> Json:
    unsettled = sorted(follower.unsettled)
    shown = [(follower.trial(i), follower.outstanding(i)) for i in unsettled[:MOST_ROWS]]
    failures = [arrival for arrival in follower.arrivals if arrival.value is None]
    known = dict(follower.keywords)
    if "method" in known:
        known["strategy"] = getattr(known["method"], "strategy", known["method"])
    return {
        "name": follower.name,
        "epoch": follower.epoch,
        "problem": cut(follower.problem, 10 * LONGEST),
        "written": follower.written,
        "settings": [
            (name, cut(_setting(known[name])))
            for name in (*SHOWN_SETTINGS, *IF_USED)
            if name in known and (name not in IF_USED or known[name])
        ],
        "outcomes": [cut(name) for name in follower.keywords.get("constraints") or ()],

        "n_evaluations": follower.n_values + follower.n_failures,
        "n_failures": follower.n_failures,
        "n_open": len(unsettled),
        "open": [
            {"id": t.id, "params": _params(t.params), "told": t.n_values,
             "failed": len(t.failures), "missing": missing}
            for t, missing in shown
        ],
        "newest": [_row(follower, one) for one in reversed(follower.arrivals[-MOST_ROWS:])],
        "failures": [_row(follower, one) for one in reversed(failures[-MOST_ROWS:])],
    }  # fmt: skip


def _row(follower: Follower, arrival: Arrival) -> Json:
    """Return one evaluation as the row of a table."""
    trial = follower.trial(arrival.trial)
    told = trial.evaluations[arrival.repeat]
    why = told.failure if arrival.value is None else None
    names = follower.keywords.get("constraints") or ()
    return {
        **arrival._asdict(),
        "params": _params(trial.params),
        "reason": cut(why or ""),
        "outcomes": [told.outcomes.get(name) for name in names],
        "block": cut(told.block or ""),
    }


def _setting(value: object) -> str:
    return value.description if isinstance(value, Code) else str(value)


def _params(params: Mapping[str, Any]) -> str:
    """Return parameters in one line, as many as fit, and how many are left out."""
    pairs = [cut(listed({name: value})) for name, value in params.items()]
    ends = accumulate(len(pair) + len(", ") for pair in pairs)
    n = max(1, sum(end <= LONGEST for end in ends))
    more = f" and {len(pairs) - n} more" if n < len(pairs) else ""
    return ", ".join(pairs[:n]) + more


# -- estimates ---------------------------------------------------------------------------------


def optimizer_of(
    keywords: Mapping[str, Any],
    trials: Sequence[Trial],
    risk: RiskMeasure | None,
    name: str = "The run",
) -> Optimizer:
    """Return an optimizer of the trials, without the code that a journal does not hold.

    Suggested points satisfied the constraint; only points told by hand may not have.
    """
    known = {**keywords, "valid": None}
    if risk is not None:
        known["risk"] = risk
    code = [value for value in known.values() if isinstance(value, Code)]
    if code:
        raise SettingsError(
            f"{name} was begun with {code[0]!r}. On the command line, --alpha, --kappa, "
            "--quantile or --shortfall can replace a risk measure. For other settings, use Python."
        )
    return Optimizer(**known, trials=trials)


def belief_of(optimizer: Optimizer, risk: RiskMeasure | None) -> Json:
    """Return what the page shows of a run."""
    if not optimizer.observations.n:
        raise NotReadyError("There are no values yet.")
    found = optimizer.recommend(risk=risk)
    points = optimizer.frontier().evaluated
    counts = optimizer.observations.count
    history = history_of(optimizer)
    return {
        "recommendation": _recommended(found),
        "minimised": optimizer.settings.sign < 0,
        "conditions": [cut(name) for name in optimizer.settings.space.conditions],
        "chosen": [point.params for point in points].index(optimizer.tried_at(found.params)),
        "points": _points(points, counts.tolist()),
        "best": list(zip(history.best_at, history.best, strict=True)),
    }


def _recommended(found: Recommendation) -> Json:
    return {
        "params": [(cut(name), cut(short(value))) for name, value in found.params.items()],
        "level": found.level,
        "known": [
            ("mean", found.mean, *found.mean_interval),
            ("noise std", found.noise_std, *found.noise_std_interval),
            ("risk value", found.risk, *found.risk_interval),
        ],
        "pessimistic": found.pessimistic,
        "certainty": " ".join(found.sentences),
        "trials": found.tried_in,
        "decided": SCORES[found.rule],
        "compared": [row[1:] for row in found.compared],
        "n_evaluations": found.n_evaluations,
        "sample_mean": found.sample_mean,
        "sample_std": found.sample_std,
        "limits": [
            (cut(check.name), check.constraint.described, check.quantile, *check.interval,
             check.pessimistic, check.chance, check.kept)
            for check in found.constraints
        ],
        "blocks": None if found.blocks is None else _blocks(found.blocks),
        "runner_ups": [
            {"params": _params(other.params), "risk": other.risk, "score": other.score,
             "expected": other.gain.expected, "bound": other.gain.bound}
            for other in found.runner_ups
        ],
    }  # fmt: skip


def _blocks(found: BlockEffects) -> Json:
    """Return how much blocks differ in words, and some effects, the largest first."""
    rows = sorted(found.effects.items(), key=lambda row: -abs(row[1]))[:MOST_ROWS]
    return {
        "said": blocks(found),
        "n": len(found.effects),
        "effects": [(cut(name), effect, *found.intervals[name]) for name, effect in rows],
    }


def _points(points: Sequence[Prediction], counts: Sequence[int]) -> list[list[Any]]:
    """Return mean and interval, noise and interval, the number of values, and parameters.

    If outcomes have limits, whether they are kept comes last.
    """
    means = [(p.mean, *p.mean_interval) for p in points]
    stds = [(p.noise_std, *p.noise_std_interval) for p in points]
    of_means, of_stds = digits_of(*means), digits_of(*stds)
    return [
        [
            *(rounded(number, of_means) for number in mean),
            *(rounded(number, of_stds) for number in std),
            int(n),
            _params(p.params),
            *([p.feasible] if p.constraints else []),
        ]
        for p, mean, std, n in zip(points, means, stds, counts, strict=True)
    ]
