"""What a run did and says at its end, as JSON in which no bit of a float is lost."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from same_records import RECORD

import rahbo
from rahbo import Optimizer
from rahbo.errors import RahboError

# What differs each time: when, and by whom.
STAMPS = ("time", "times", "crc32", "rahbo")
OF_A_TRIAL = (
    "id", "source", "n_requested", "params", "x", "blocks", "values", "failures", "missing",
    "own_bound", "cancelled",
)  # fmt: skip

Record = dict[str, Any]


def exact(value: Any) -> Any:
    """Return a value as JSON in which no bit of a float is lost."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value) if f.name not in STAMPS]
        found = {name: exact(getattr(value, name)) for name in names}
        return {RECORD: type(value).__name__, **found}
    if isinstance(value, Mapping):
        return {str(key): exact(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [exact(inner) for inner in value]
    if isinstance(value, np.ndarray | np.generic):
        return exact(value.tolist())
    if isinstance(value, float):
        return value.hex()
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def answer(question: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Return the answer to a question, or which error refused it."""
    try:
        return exact(question(*args, **keywords))
    except RahboError as error:
        return {"refused": type(error).__name__}


def known(opt: Optimizer, **given: Any) -> Record:
    """Return what a run did and all that it says; ``given`` may be the ``context``.

    The last questions ask for more points, so nothing may be asked after it.
    """
    risks = (rahbo.MeanVariance(0.5), rahbo.Quantile(0.1), rahbo.ExpectedShortfall(0.2))
    rules = ("pessimistic", "own_round", "best_observed", "empirical")
    space, rng = opt.space, np.random.default_rng(1)
    new = [space.decode(rng.random(space.d)) for _ in range(3)]
    tried = [trial.params for trial in opt.trials[:2]]
    rows = [{name: v for name, v in row.items() if name != "time"} for row in opt.rows()]
    return {
        "trials": trials_of(opt),
        "rows": exact(rows),
        "open": exact(opt.open),
        **{f"recommend {rule}": answer(opt.recommend, rule=rule, **given) for rule in rules},
        **{f"recommend {risk}": answer(opt.recommend, risk=risk, **given) for risk in risks},
        "predict": answer(opt.predict, [*tried, *new], level=0.8),
        "frontier": answer(opt.frontier),
        "diagnose": answer(opt.diagnose),
        "blocks": answer(lambda: opt.blocks),
        "unconfirmed": answer(lambda: opt.unconfirmed),
        "replay": answer(replayed, opt),
        "ask": answer(opt.ask, 3, **given),
        "confirm": answer(opt.confirm, 4, **given),
    }


def finished(result: Any, **given: Any) -> Record:
    """Return what is known at the end of a call of `maximize`."""
    end = {"ended by": result.stopped_by, "result": exact(result.recommendation)}
    return {**known(result.optimizer, **given), **end}


def trials_of(run: Any) -> list[Any]:
    """Return the trials of a run. How their values are kept may be another in the other state."""
    return [
        {RECORD: "Trial", **{n: exact(getattr(trial, n)) for n in OF_A_TRIAL if hasattr(trial, n)}}
        for trial in run.trials
    ]


def replayed(opt: Optimizer) -> Any:
    """Return what the run would have reported at some times before its end."""
    from rahbo.plots import progress

    return progress(opt, marks=5)


def journal_of(path: Path) -> list[Any]:
    """Return the lines of a journal without what differs each time."""

    def unstamped(found: Record) -> Record:
        return {name: v for name, v in found.items() if name not in STAMPS}

    lines = path.read_text("utf-8").splitlines()
    header, *events = (json.loads(line, object_hook=unstamped) for line in lines)
    settings = {RECORD: "settings in a journal", **header.pop("settings")}
    return [exact(settings), *map(json.dumps, (header, *events))]
