"""The generator in libEnsemble, with four workers of which one may be killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rahbo
from extras import imported

imported("libensemble")

PROGRAM = """
import os, signal, sys
import numpy as np
from gest_api.vocs import VOCS
from libensemble import Ensemble
from libensemble.alloc_funcs.start_only_persistent import only_persistent_gens
from libensemble.specs import AllocSpecs, ExitCriteria, GenSpecs, LibeSpecs, SimSpecs
import rahbo
from rahbo.integrations.gest import RahboGenerator
from rahbo.policy import RandomSearch

KILL, SECONDS = sys.argv[1] == "kill", float(sys.argv[2])

def simulate(point, libE_info):
    if KILL and libE_info["workerID"] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    noise = (0.05 + 0.2 * point["x"]) * np.random.default_rng().standard_normal()
    # A field that is left out becomes 0 in libEnsemble, so a failure must say NaN.
    failed = libE_info["H_rows"][0] == 5
    return {"f": np.nan if failed else -((point["x"] - 1.0) ** 2) + noise}

if __name__ == "__main__":
    vocs = VOCS(
        variables={"x": [0.0, 2.0], "n": {1, 2, 3}, "kind": {"a", "bc"}},
        objectives={"f": "MAXIMIZE"}, constants={"k": 1.5},
    )
    generator = RahboGenerator(
        vocs, repeats=3, seed=0, journal="run.jsonl", method=rahbo.Method(strategy=RandomSearch())
    )
    ensemble = Ensemble(
        libE_specs=LibeSpecs(
            comms="local", nworkers=4, gen_on_manager=True, final_gen_send=True,
            disable_log_files=True, save_H_and_persis_on_abort=False,
        ),
        gen_specs=GenSpecs(generator=generator, vocs=vocs, batch_size=4),
        sim_specs=SimSpecs(simulator=simulate, vocs=vocs),
        alloc_specs=AllocSpecs(alloc_f=only_persistent_gens, user={"async_return": True}),
        exit_criteria=ExitCriteria(sim_max=12, wallclock_max=SECONDS),
    )
    ensemble.run()
    generator.finalize()
    # Workers that are killed leave queues that would be waited for.
    os._exit(0)
"""


def run(folder: Path, *arguments: str) -> list:
    """Run the program and return the trials in its journal."""
    (folder / "program.py").write_text(PROGRAM, "utf-8")
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    env["PYTHONPATH"] = str(Path(rahbo.__file__).parents[1])
    command = [sys.executable, "program.py", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    optimizer = rahbo.Optimizer.resume(folder / "run.jsonl")
    optimizer.close()
    return list(optimizer.trials)


def evaluated(trials: list) -> int:
    return sum(trial.n_made for trial in trials)


@pytest.mark.slow
def test_a_run_with_four_workers_tells_values_and_failures(tmp_path) -> None:
    trials = run(tmp_path, "live", "60")
    assert evaluated(trials) == 12
    assert sum(len(trial.failures) for trial in trials) == 1
    assert [trial.n_requested for trial in trials] == [3] * len(trials)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_what_a_killed_worker_had_is_measured_by_the_run_that_goes_on(tmp_path) -> None:
    # libEnsemble does not notice: the others go on, and the run ends at wallclock_max.
    killed = run(tmp_path, "kill", "5")
    assert 1 <= evaluated(killed) <= 11
    (lost,) = [trial.missing for trial in killed if trial.values and trial.missing][:1]
    again = run(tmp_path, "live", "60")
    assert evaluated(again) == evaluated(killed) + 12
    assert [trial.missing for trial in again[: len(killed)]] == [()] * len(killed)
    assert lost
    for old, new in zip(killed, again, strict=False):
        assert old.values.items() <= new.values.items()
