"""Check that two states of the source make the same runs, bit for bit.

    python scripts/same_records.py OTHER/src            all runs, about a minute on two cores
    python scripts/same_records.py OTHER/src --seeds 1

Run it after a change that must not change results: check out the state before into another folder,
`git worktree add ../before COMMIT`, and pass its src. Every suggestion, value and bound of 100
evaluations is compared, and the recommendation with its intervals, on four problems, with the
defaults and with the paper's preset.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

PROBLEMS = ("sine", "branin", "fel", "hartmann6")
PRESETS = ("default", "paper")
EVALUATIONS = 100


def exact(value: object) -> Any:
    """Return a value as JSON in which no bit of a float is lost."""
    if dataclasses.is_dataclass(value):
        found = {f: getattr(value, f.name) for f in dataclasses.fields(value)}
        # A field for what few runs have may be newer than the other state.
        value = {f.name: v for f, v in found.items() if v or "if_used" not in f.metadata}
    if isinstance(value, dict):
        return {str(key): exact(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [exact(inner) for inner in value]
    return float(value).hex() if isinstance(value, float) else str(value)


def record(problem_name: str, preset: str, seed: int) -> Any:
    """Return all that a run of the rahbo that is imported did and recommends."""
    import numpy as np

    import rahbo
    from rahbo import problems

    problem = getattr(problems, problem_name)()

    def objective(seed: int, **params: Any) -> float:
        return float(problem.sample(params, np.random.default_rng(seed)))

    paper = rahbo.paper_preset(alpha=1.0, repeats=4, n_initial=8)
    result = rahbo.maximize(
        objective, problem.space, evaluations=EVALUATIONS, seed=seed,
        **(paper if preset == "paper" else {}),
    )  # fmt: skip
    trials = [
        [t.id, t.source, t.n_requested, t.x.tolist(), t.params, dict(t.values), t.own_bound]
        for t in result.trials
    ]
    return exact([trials, result.recommendation])


def records_of(source: Path, seeds: int) -> dict[str, Any]:
    """Return the records of a source folder, made by a process of their own."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(threads, "1"), "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "--make", "--seeds", str(seeds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Make or compare records, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="the src folder of the other state")
    parser.add_argument("--seeds", type=int, default=4, help="runs of each kind (4)")
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.make:
        warnings.simplefilter("ignore")
        made = {
            f"{name}, {preset}, seed {seed}": record(name, preset, seed)
            for name in PROBLEMS
            for preset in PRESETS
            for seed in range(args.seeds)
        }
        print(json.dumps(made))
        return
    if args.other is None or not (args.other / "rahbo").is_dir():
        parser.error("pass the src folder of the other state, which holds the folder rahbo")
    here, there = (
        records_of(s, args.seeds) for s in (Path(__file__).parents[1] / "src", args.other)
    )
    different = [name for name, found in here.items() if found != there[name]]
    print("\n".join(different or [f"all {len(here)} runs are the same bit for bit"]))
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
