"""Make runs of every kind with the rahbo that is imported, and print all that they did as JSON.

`same_records.py` calls it for two states of the source. `KINDS` is the table of kinds: each is a
function of a seed that makes a run and returns what is known at its end. A new feature of a run
gets a line there.
"""

import argparse
import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
from records.by_hand import (
    batches,
    batches_of_blocks,
    conditions_by_hand,
    copied,
    limits_by_hand,
    resumed,
)
from records.known import Record, answer, finished, journal_of, trials_of
from records.objectives import (
    AT_BOTH,
    AT_MOST,
    FINITE,
    LIST,
    MIXED,
    PLANE,
    START,
    TOO_HARD,
    WARM,
    drifting,
    failing,
    failing_folded,
    folded,
    hill,
    limited,
    limited_or_failing,
    losing_folded,
    lossy,
    mixed,
    noise_var,
    normal,
    spiked,
    warm,
    warm_folded,
    warm_lossy,
)

import rahbo
from rahbo import AtMost, Candidates, Time, model, policy, problems

EVALUATIONS = 30
PROBLEMS = ("sine", "branin", "fel", "hartmann6")

Kind = Callable[[int], Record]

# -- settings in the words of the rahbo that is imported -------------------------------------------


def method(**parts: Any) -> Record:
    """Return what only a method's author sets, as keywords of `maximize`."""
    return {"method": rahbo.Method(**parts)} if hasattr(rahbo, "Method") else parts


def paper(repeats: int = 4, n_initial: int = 8) -> Record:
    """Return the settings of the paper's experiments, as keywords of `maximize`."""
    if not hasattr(rahbo, "paper"):
        return dict(rahbo.paper_preset(alpha=1.0, repeats=repeats, n_initial=n_initial))
    risk = rahbo.MeanVariance(1.0)
    return {"method": rahbo.paper(), "risk": risk, "repeats": repeats, "n_initial": n_initial}


# -- runs ------------------------------------------------------------------------------------------


def run(objective: Any, space: Any = PLANE, *, end: Record | None = None, **settings: Any) -> Kind:
    """Return the kind of a call of `maximize`; at its ``end`` questions have these keywords."""

    def made(seed: int) -> Record:
        budget = {} if "rounds" in settings else {"evaluations": EVALUATIONS}
        result = rahbo.maximize(objective, space, seed=seed, **{**budget, **settings})
        return finished(result, **(end or {}))

    return made


def problem(name: str, **settings: Any) -> Kind:
    """Return the kind of a run of 100 evaluations of a test problem."""

    def made(seed: int) -> Record:
        of = getattr(problems, name)()

        def objective(seed: int, **params: Any) -> float:
            return float(of.sample(params, np.random.default_rng(seed)))

        return run(objective, of.space, evaluations=100, **settings)(seed)

    return made


def minimized(seed: int) -> Record:
    """Minimise, with a limit."""
    result = rahbo.minimize(
        lambda x, y, seed: {**lossy(x, y, seed), "value": -hill(x, y, seed)}, PLANE,
        evaluations=EVALUATIONS, constraints=AT_MOST, seed=seed,
    )  # fmt: skip
    return finished(result)


def weather(**more: Any) -> Record:
    """Return settings for a run under conditions that change."""
    given = [{"warmth": 12.0 + 5 * (i % 4), "line": ("left", "right")[i % 3 == 0]}
             for i in range(200)]  # fmt: skip
    return {"context": given, "end": {"context": {"warmth": 22.5, "line": "right"}}, **more}


def conditions(seed: int) -> Record:
    """Ask for one setting for several conditions too."""
    result = rahbo.maximize(
        warm, WARM, context=weather()["context"], evaluations=EVALUATIONS, seed=seed
    )
    several = [{"warmth": w, "line": "left"} for w in (12.0, 20.0, 28.0)]
    recommend = result.optimizer.recommend
    return {
        "for all told": answer(recommend),
        "for some": answer(recommend, conditions=several),
        "their risk": answer(recommend, conditions=several, risk_over_conditions=True),
        **finished(result, **weather()["end"]),
    }


class AtOnce(Executor):
    """Evaluates where it is told to, so that a parallel run is the same each time."""

    def submit(self, fn: Any, /, *args: Any, **keywords: Any) -> Future[Any]:
        """Return a future that is done."""
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **keywords))
        except BaseException as error:
            done.set_exception(error)
        return done


def journal(objective: Any, space: Any = PLANE, *, torn: bool = False, **settings: Any) -> Kind:
    """Return the kind of a run that is stopped half-way, where its journal may be cut."""

    def made(seed: int) -> Record:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.jsonl")

            def go_on(**more: Any) -> Any:
                return rahbo.maximize(
                    objective, space, evaluations=EVALUATIONS, seed=seed, journal=path,
                    **settings, **more,
                )  # fmt: skip

            go_on(callback=lambda opt: opt.n_evaluations >= EVALUATIONS / 2)
            if torn:
                path.write_bytes(path.read_bytes()[:-100])
            half, result = journal_of(path) if not torn else [], go_on()
            return {"half": half, "journal": journal_of(path), **finished(result)}

    return made


def continued(seed: int) -> Record:
    """Continue from the trials of a run that a callback ended."""
    first = rahbo.maximize(hill, PLANE, evaluations=EVALUATIONS, seed=seed,
                           callback=lambda opt: opt.n_evaluations >= 17)  # fmt: skip
    return run(hill, trials=first.trials)(seed)


def interrupted(seed: int) -> Record:
    """Continue a run that Ctrl-C ended within the objective."""
    calls = []

    def objective(x: float, y: float, seed: int) -> float:
        calls.append(seed)
        if len(calls) == 18:
            raise KeyboardInterrupt
        return hill(x, y, seed)

    first = rahbo.maximize(objective, PLANE, evaluations=EVALUATIONS, seed=seed)
    again = run(objective, trials=first.trials)(seed)
    return {"first": first.stopped_by, "half": trials_of(first), **again}


def past(seed: int, **settings: Any) -> Record:
    """Begin with past results, repeated or not."""
    data = [({"x": i / 4, "y": (-1) ** i * 0.4}, [hill(i / 4, 0.4, seed=i + j)
             for j in range(1 + i % 3)]) for i in range(8)]  # fmt: skip
    return run(hill, data=data, **settings)(seed)


def past_blocks(seed: int) -> Record:
    """Begin with past results in blocks."""
    days = ("mon", "tue", "wed")
    data = [({"x": i / 4, "y": 0.1 * i}, [folded(i / 4, 0.1 * i, day) for day in days[i % 2 :]],
             list(days[i % 2 :])) for i in range(7)]  # fmt: skip
    return run(hill, data=data)(seed)


# -- the table -------------------------------------------------------------------------------------


KINDS: dict[str, Kind] = {
    **{name: problem(name) for name in PROBLEMS},
    **{f"{name}-paper": problem(name, **paper()) for name in PROBLEMS},
    # Limits.
    "limits": run(limited, constraints=AT_BOTH),
    "limits-hard": run(limited, constraints=TOO_HARD),
    "limits-list": run(limited, Candidates(LIST), constraints=AT_BOTH),
    "limits-failures": run(limited_or_failing, constraints=AT_MOST),
    "limits-blocks": run(losing_folded, constraints=AT_MOST, blocks=4),
    "limits-conditions": run(warm_lossy, WARM, constraints=AT_MOST, **weather()),
    "safe": run(lossy, constraints=AT_MOST, safe=True, data=START),
    "safe-list": run(lossy, Candidates(LIST[:40:3]), data=START,
                     constraints=AT_MOST, safe=True),
    "safe-blocks": run(losing_folded, constraints={"loss": AtMost(2.5)}, safe=True, blocks=4,
                       try_first=[{"x": 0.3, "y": 0.0}, {"x": 0.5, "y": 0.2}]),
    "safe-conditions": run(warm_lossy, WARM, constraints={"loss": AtMost(2.0)}, safe=True,
                           try_first=[{"x": 0.3, "y": 0.0}, {"x": 0.5, "y": 0.2}], **weather()),
    "limits-by-hand": limits_by_hand,
    # Blocks and folds.
    "blocks": run(folded, blocks=5),
    "blocks-seeds": run(hill, blocks=["a", "b", "c"], repeats=2),
    "blocks-list": run(folded, Candidates(LIST[::4]), blocks=3),
    "blocks-failures": run(failing_folded, blocks=3),
    "blocks-conditions": run(warm_folded, WARM, blocks=3, **weather()),
    "blocks-by-hand": batches_of_blocks,
    "folds": run(hill, repeats=rahbo.Folds(3)),
    # Conditions.
    "conditions": conditions,
    "conditions-by-hand": conditions_by_hand,
    "conditions-valid": run(warm, WARM, valid=lambda p: p["x"] < p["warmth"] / 15, **weather()),
    "drift": run(drifting, {**PLANE, "time": Time(40.0)}),
    # Values that are missing, equal, wrong or hardly vary.
    "failures": run(failing),
    "failures-list": run(failing, Candidates(LIST)),
    "spikes": run(spiked),
    "cached": run(lambda x, y: hill(x, y, 3)),
    "flat": run(lambda x, y, seed: normal(seed)),
    "yes-no": run(lambda x, y, seed: float(hill(x, y, seed) > 0.3)),
    # By hand, and in parallel.
    "batches": batches,
    "batches-limits": lambda seed: batches(seed, lossy, constraints=AT_MOST),
    "batches-paper": lambda seed: batches(seed, **paper(2, 5)),
    "parallel": run(hill, executor=AtOnce(), parallel=3),
    # Spaces.
    "list": run(hill, Candidates(LIST)),
    "list-once": run(hill, Candidates(LIST[::3], revisit=False), repeats=2),
    "list-used-up": run(hill, Candidates(LIST[:9], revisit=False), evaluations=60),
    "mixed": run(mixed, MIXED, valid=lambda p: p["n"] < 8 or p["kind"] == "a"),
    "finite": run(mixed, FINITE),
    "valid": run(hill, valid=lambda p: p["x"] + p["y"] < 1.5),
    # What is evaluated first, and how often.
    "try-first": run(hill, try_first=[{"x": 1.0, "y": 0.0}, {"x": 0.5, "y": 0.5}]),
    "past": past,
    "past-once": lambda seed: past(seed, n_initial=3, repeats=1),
    "past-blocks": past_blocks,
    "trials": continued,
    "interrupt": interrupted,
    "copy": copied,
    "repeats": run(hill, repeats=3),
    "adaptive": run(hill, repeats=rahbo.Adaptive(min=1, max=6, setup=3.0)),
    "confirm": run(hill, confirm=8),
    "rounds": run(hill, rounds=12, confirm=3),
    "stop": run(hill, stop=rahbo.Gap(1.5), evaluations=60),
    # Risks and methods.
    "quantile": run(hill, risk=rahbo.Quantile(0.1)),
    "shortfall": run(hill, risk=rahbo.ExpectedShortfall(0.2)),
    "mean-variance": run(hill, risk=rahbo.MeanVariance(2.0)),
    "minimize": minimized,
    "rahbo": run(hill, **method(strategy=policy.Rahbo())),
    "gp-ucb": run(hill, **method(strategy=policy.GPUCB())),
    "rahbo-us": run(hill, **method(strategy=policy.RahboUS(4)), repeats=2),
    "random": run(hill, **method(strategy=policy.RandomSearch())),
    "known-noise": run(hill, **method(noise=model.KnownNoise(noise_var))),
    "no-noise": run(lambda x, y: hill(x, y, 3), **method(noise=model.KnownNoise(0.0))),
    "own-method": run(hill, **method(kernel=model.RBF, beta=2.0, beta_noise=0.5, lam=0.5,
                                     noise=model.DirectNoise(), refit=model.Refit(1.0))),
    # Journals.
    "journal": journal(hill),
    "journal-torn": journal(hill, torn=True),
    "journal-limits": journal(limited_or_failing, constraints=AT_MOST),
    "journal-blocks": journal(folded, blocks=5),
    "journal-list": journal(hill, Candidates(LIST)),
    "journal-resumed": resumed,
}  # fmt: skip


def record(kind: Kind, seed: int) -> Record:
    """Return the record of a run, or the error that ended it."""
    try:
        return kind(seed)
    except Exception:
        return {"error": traceback.format_exc()}


def main() -> None:
    """Print the records of the kinds that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default="", help="names from the table, with commas (all)")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each kind (1)")
    args = parser.parse_args()
    names = args.kinds.split(",") if args.kinds else list(KINDS)
    if unknown := [name for name in names if name not in KINDS]:
        parser.error(f"no such kind: {', '.join(unknown)}. There are {', '.join(KINDS)}.")
    warnings.simplefilter("ignore")
    json.dump({name: [record(KINDS[name], seed) for seed in range(args.seeds)]
               for name in names}, sys.stdout)  # fmt: skip


if __name__ == "__main__":
    main()
