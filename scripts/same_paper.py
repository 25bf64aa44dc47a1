"""Check that two states of the source agree on the paper: its experiments and its theory.

    python scripts/same_paper.py OTHER/src            about four minutes on two idle cores
    python scripts/same_paper.py OTHER/src sine fel   some experiments, and the theory

Run it after a change that must not change the paper's part: check out the state before into
another folder, `git worktree add ../before COMMIT`, and pass its src. Every record of
`rahbo reproduce all --quick` is compared, and what `rahbo.theory` says of two runs of Algorithm 1.
"""

import argparse
import dataclasses
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

EXPERIMENTS = ("sine", "branin", "repeats", "fel", "euxfel", "forest")
# What may differ: who made the record.
STAMPS = ("version", "commit")
ALPHA, DELTA, NORM_F, NORM_NOISE = 2.0, 0.1, 1.5, 1.5


def theory() -> Any:
    """Return what the theory of the rahbo that is imported says, as text without lost bits."""
    import numpy as np

    from rahbo import theory as th
    from rahbo.model import RBF, DirectNoise, KnownNoise, Lemma1Beta

    def noise_var(x: float) -> float:
        return 0.1 + 0.5 * x * x

    kernel, noise_kernel, highest = RBF([0.2]), RBF([0.4], 0.25), noise_var(1.0)
    known = {"noise": KnownNoise(lambda params: noise_var(params["x"]))}
    learned = {
        "noise": DirectNoise(noise_kernel, max_noise_var=highest, kurtosis=1.8),
        "beta_noise": Lemma1Beta(NORM_NOISE, DELTA), "max_noise_var": highest,
    }  # fmt: skip
    found: dict[str, Any] = {}
    for name, noise in {"known": known, "learned": learned}.items():
        opt = _algorithm1({"kernel": kernel, "beta": Lemma1Beta(NORM_F, DELTA), **noise})
        rng = np.random.default_rng(1)
        for _ in range(11):
            asked = opt.ask()
            x = asked.params["x"]
            half_width = math.sqrt(3.0 * noise_var(x))
            opt.tell(asked, math.sin(6.0 * x) + rng.uniform(-half_width, half_width, asked.repeats))
        norm_noise = NORM_NOISE if name == "learned" else None
        bound = th.regret_bound(opt, NORM_F, norm_noise, DELTA, noise_var(0.0), highest)
        found[name] = exact([th.run_gains(opt, highest), bound])
    X = np.linspace(0.0, 1.0, 20)[:, None]
    setup = th.Theorem1(X, kernel, noise_kernel, 1.0, 0.1, 0.01, 0.02, alpha=1.0)
    found["bounds"] = exact([
        th.information_gain(kernel, X, 0.1), th.greedy_information_gain(kernel, X, 0.1, 12),
        th.beta_bound(3.0, NORM_F, DELTA), setup.bounds(12),
        th.sample_complexity(setup, epsilon=2.0, max_rounds=200),
    ])  # fmt: skip
    return found


def _algorithm1(method: dict[str, Any]) -> Any:
    """Return an optimizer for Algorithm 1 with kernels fixed in advance."""
    import rahbo
    from rahbo.model import Raw, Refit
    from rahbo.policy import Rahbo

    method = {"strategy": Rahbo(), "outputs": Raw(), "refit": Refit(math.inf), **method}
    given = {"method": rahbo.Method(**method)} if hasattr(rahbo, "Method") else method
    rows = [{"x": i / 40} for i in range(41)]
    return rahbo.Optimizer(
        rahbo.Candidates(rows), risk=rahbo.MeanVariance(ALPHA), repeats=4, n_initial=3, seed=3,
        **given,
    )  # fmt: skip


def exact(value: object) -> Any:
    """Return a value as JSON in which no bit of a float is lost."""
    if dataclasses.is_dataclass(value):
        return {f.name: exact(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [exact(inner) for inner in value]
    if hasattr(value, "tolist"):
        return exact(value.tolist())
    return value.hex() if isinstance(value, float) else str(value)


def made_by(source: Path, names: list[str]) -> dict[str, Any]:
    """Return all records of a source folder, made by processes of their own."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(threads, "1"), "PYTHONPATH": str(source)}

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"{source}: {' '.join(command)} failed:\n{done.stderr}")
        return done.stdout

    found: dict[str, Any] = {"theory": json.loads(run(__file__, "--make"))}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            run("-c", "from rahbo.cli import main; main()", "reproduce", name, "--quick",
                "--out", folder)  # fmt: skip
        for file in sorted(Path(folder).rglob("*.jsonl")):
            lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            rounds = [{k: v for k, v in line.items() if k not in STAMPS} for line in lines]
            found[str(file.relative_to(folder))] = rounds
    return found


def main() -> None:
    """Make or compare records, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="the src folder of the other state")
    parser.add_argument("names", nargs="*", metavar="EXPERIMENT", help=", ".join(EXPERIMENTS))
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.make:
        print(json.dumps(theory()))
        return
    if args.other is None or not (args.other / "rahbo").is_dir():
        parser.error("pass the src folder of the other state, which holds the folder rahbo")
    names = args.names or list(EXPERIMENTS)
    sources = (Path(__file__).resolve().parents[1] / "src", args.other.resolve())
    here, there = (made_by(source, names) for source in sources)
    different = sorted(k for k in here.keys() | there.keys() if here.get(k) != there.get(k))
    print("\n".join(different or [f"the theory and all {len(here) - 1} runs are the same"]))
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
