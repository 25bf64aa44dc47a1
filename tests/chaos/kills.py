"""Runs of every kind, killed and interrupted at random times and resumed, until they end.

    python tests/chaos/kills.py --kills 1000

Each attempt is a child of this process, forked when all is loaded. A signal ends it at a random
time: SIGKILL, or one that can be handled, sent to the child alone or to its whole group as Ctrl-C
does. Then this is checked:

- Lines of the journal that were there before are there now, byte for byte.
- Each value that ``tell`` accepted is in the journal, once, and it is the one that was measured.
- A sequential run ends with the bytes of a run that was never disturbed.
- No process is left. This process is a subreaper, so that orphans become its children.

``tests/killed_runs.py`` goes further into sequential runs: it also dies within writes.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import rahbo
from rahbo.journal import events_of, parse, read
from rahbo.numerics import evaluation_seed
from rahbo.optimizer import Optimizer
from rahbo.policy import RandomSearch

if __name__ == "__main__":
    # The processes of n_jobs= import this file too, and need none of it.
    import optuna

    from rahbo.cli import main as command_line
    from rahbo.integrations.optuna import RahboSampler

SPACE = {"x": (0.0, 2.0), "kind": ["a", "b"]}
SETTINGS = {"repeats": 2, "n_initial": 4, "seed": 5}
EVALUATIONS = 16
# Seconds within which every process of an ended attempt must be gone, on a busy machine too.
GONE = 300.0
PR_SET_CHILD_SUBREAPER = 36
CHEAP = RandomSearch()
# The last line of a traceback, other than that of an interrupt, and of a process that was being
# started when its parent was killed.
ERROR = re.compile(r"^(?!EOFError: Ran out of input)[\w.]+Error\b", re.MULTILINE)


class BrokenPromiseError(AssertionError):
    """Raised when a run lost, changed or doubled something, or left a process behind."""


# -- what the children do ----------------------------------------------------------------------


def measured(params: dict[str, Any], seed: int) -> float:
    """The value of an evaluation, which depends on nothing else."""
    return round(params["x"] + (params["kind"] == "a") + Random(seed).gauss(0.0, 0.1), 9)


def objective(x: float, kind: str, seed: int) -> float:
    """A measurement that takes a while."""
    time.sleep(0.004 + 0.01 * Random(seed).random())
    if Random(seed).random() < 0.1:
        raise RuntimeError("beam trip")
    return measured({"x": x, "kind": kind}, seed)


def with_told_log(folder: Path) -> None:
    """Let `Optimizer.tell` note each value that it accepted, after it has returned."""
    fd = os.open(folder / "told", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    tell = Optimizer.tell

    def noting(self: Optimizer, suggestion: Any, values: Any, *, repeat: int | None = None) -> None:
        tell(self, suggestion, values, repeat=repeat)
        os.write(fd, f"{suggestion.id} {repeat} {values!r}\n".encode())

    Optimizer.tell = noting  # type: ignore[method-assign]


def maximized(folder: Path, **settings: Any) -> None:
    """A whole run of `maximize`; an interrupted one is not at its end."""
    with_told_log(folder)
    result = rahbo.maximize(
        objective, SPACE, evaluations=EVALUATIONS, journal=folder / "run", **SETTINGS, **settings
    )
    if result.stopped_by == "interrupt":
        raise KeyboardInterrupt


def sequential(folder: Path) -> None:
    maximized(folder)


def ask_and_tell(folder: Path) -> None:
    """The user's own loop, which goes on with the same object when it is interrupted."""
    with_told_log(folder)
    with closing(rahbo.Optimizer(SPACE, journal=folder / "run", **SETTINGS)) as opt:
        while len(opt.trials) < EVALUATIONS // 2 or opt.open:
            try:
                suggestion = opt.open[0] if opt.open else opt.ask()
                for repeat in suggestion.indices:
                    seed = evaluation_seed(opt.settings.seed, suggestion.id, repeat)
                    opt.tell(suggestion, measured(suggestion.params, seed), repeat=repeat)
            except KeyboardInterrupt:
                continue


def in_threads(folder: Path) -> None:
    with ThreadPoolExecutor(3) as executor:
        maximized(folder, method=rahbo.Method(strategy=CHEAP), executor=executor, parallel=3)


def in_processes(folder: Path) -> None:
    maximized(folder, method=rahbo.Method(strategy=CHEAP), n_jobs=3)


# A program that outlives `rahbo tune` stays for long enough to be seen.
PROGRAM = """
outlive() {{ case $(cut -d' ' -f3 /proc/$TUNE/stat 2>/dev/null) in ''|Z) sleep 300 ;; esac; }}
case $1 in *7) (sleep 300 &) ;; *3) setsid sleep 300 & ;; esac
outlive
sleep 0.0$(($1 % 4))
outlive
echo value $2$1
"""


def tune(folder: Path) -> None:
    """Programs that leave processes behind, in their own session too."""
    os.environ["TUNE"] = str(os.getpid())
    command_line(
        ["tune", "--maximize", "--evaluations", str(EVALUATIONS), "--jobs", "5", "--repeats", "2",
         "--journal", str(folder / "run"), "-p", "x=1:9:int", "--seed", "5", "--",
         "sh", "-c", PROGRAM, "sh", "{seed}", "{x}"]
    )  # fmt: skip


def optuna_study(folder: Path) -> None:
    # If an interrupt comes while Optuna starts or stops a heartbeat, its thread is never told to
    # stop. A process would wait for it for ever; it does not wait for a daemon.
    optuna.storages._heartbeat.Thread = partial(threading.Thread, daemon=True)
    interrupts: list[int] = []

    def interrupt(number: int, _: object) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    # An interrupt while Optuna reads can leave SQLite locked for as long as the process lives.
    threading.excepthook = lambda told: None if interrupts else threading.__excepthook__(told)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{folder / 'study.db'}", heartbeat_interval=1, grace_period=2
    )
    study = optuna.create_study(
        study_name="chaos", storage=storage, direction="maximize", load_if_exists=True,
        sampler=RahboSampler(repeats=2, seed=0, method=rahbo.Method(strategy=CHEAP)),
    )  # fmt: skip

    def trial_value(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 2.0)
        time.sleep(0.01)
        return 3.0 * x

    def complete() -> int:
        return sum(t.state == optuna.trial.TrialState.COMPLETE for t in study.trials)

    while complete() < EVALUATIONS:
        try:
            study.optimize(trial_value, n_trials=1)
        except (UnboundLocalError, AssertionError):
            if not interrupts:
                raise
            # Optuna's answer to an interrupt while it stores a value, or where SQLite is locked.
            raise KeyboardInterrupt from None


# -- what must be left -------------------------------------------------------------------------


def check_values(folder: Path) -> None:
    """Every told value is in the journal, and every value there is the one that was measured."""
    if not whole_lines(folder):
        return
    settings, trials = read(folder / "run")
    kept = {(t.id, i): value for t in trials for i, value in t.values.items()}
    for trial in trials:
        for repeat, value in trial.values.items():
            seed = evaluation_seed(settings["seed"], trial.id, repeat)
            if value != measured(trial.params, seed):
                raise BrokenPromiseError(f"{folder}: another value than measured in {trial}")
    log = folder / "told"
    lines = log.read_text().splitlines() if log.exists() else []
    for line in lines:
        number, repeat, value = line.split()
        if kept.get((int(number), int(repeat))) != float(value):
            raise BrokenPromiseError(f"{folder}: {line!r} was told and is not in the journal")
    if len(set(lines)) != len(lines):
        raise BrokenPromiseError(f"{folder}: a value was told twice")


def check_tuned(folder: Path) -> None:
    """Every value is the one that the program printed, and no run became a failure."""
    if not whole_lines(folder):
        return
    settings, trials = read(folder / "run")
    for trial in trials:
        if trial.failures:
            raise BrokenPromiseError(f"{folder}: a good run became a failure, {trial}")
        for repeat, value in trial.values.items():
            seed = evaluation_seed(settings["seed"], trial.id, repeat)
            if value != float(f"{trial.params['x']}{seed}"):
                raise BrokenPromiseError(f"{folder}: another value than printed in {trial}")


def check_study(folder: Path) -> None:
    storage = f"sqlite:///{folder / 'study.db'}"
    try:
        study = optuna.load_study(study_name="chaos", storage=storage)
    except KeyError:
        # It was killed before the study was created.
        return
    complete = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    for trial in complete:
        if trial.value != 3.0 * trial.params["x"]:
            raise BrokenPromiseError(f"{folder}: another value than measured in {trial}")
    # A trial that chose while an earlier one had no parameters yet left a suggestion to that one.
    # If that one is killed, the next trial may draw the same random point, for two more values.
    if max(Counter(trial.params["x"] for trial in complete).values(), default=0) > 4:
        raise BrokenPromiseError(f"{folder}: a point was evaluated more often than asked for")
    study._storage.remove_session()
    study._storage._backend.engine.dispose()


ENDING = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
ALL = (*ENDING, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)


@dataclass(frozen=True)
class Mode:
    """A kind of run.

    Attributes:
        run: Makes a whole run in a folder, or what is left of it.
        check: Raises `BrokenPromiseError` if a folder does not hold what it must.
        signals: What ends an attempt.
        is_exact: Whether the journal must end with the bytes of an undisturbed run.
    """

    run: Callable[[Path], None]
    check: Callable[[Path], None] = check_values
    signals: tuple[int, ...] = ENDING
    is_exact: bool = False


MODES = {
    "sequential": Mode(sequential, is_exact=True),
    "ask_and_tell": Mode(ask_and_tell, is_exact=True, signals=(*ENDING, *[signal.SIGINT] * 6)),
    "threads": Mode(in_threads),
    "processes": Mode(in_processes),
    "tune": Mode(tune, check_tuned, ALL),
    "optuna": Mode(optuna_study, check_study, (signal.SIGKILL, signal.SIGINT)),
}


# -- one attempt -------------------------------------------------------------------------------


def start(mode: Mode, folder: Path) -> int:
    """Run in a child with a group of its own, and return its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setpgid(0, 0)
        quiet = os.open(os.devnull, os.O_WRONLY)
        errors = os.open(folder / "errors", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(quiet, 1)
        os.dup2(errors, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        mode.run(folder)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        # As an interpreter ends: what it started is waited for, until a second interrupt. No child
        # may return to what is the parent's to do.
        try:
            threading._shutdown()
        finally:
            os._exit(code)


def send(child: int, number: int, to_group: bool) -> None:
    try:
        if to_group:
            os.killpg(child, number)
        else:
            os.kill(child, number)
    except ProcessLookupError:
        pass


def wait_for_nobody(folder: Path) -> None:
    """Reap every child, and raise an error if one is left after `GONE` seconds."""
    end = time.monotonic() + GONE
    pause = 0.001
    while True:
        try:
            number, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if number:
            continue
        if time.monotonic() > end:
            left = children()
            for process in left:
                os.kill(process, signal.SIGKILL)
            raise BrokenPromiseError(f"{folder}: these processes are left: {left}")
        time.sleep(pause)
        pause = min(0.1, 2 * pause)


def children() -> dict[int, str]:
    """Return the children of this process, each with its command."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            continue
        if parent == os.getpid():
            found[int(entry.name)] = command
    return found


def whole_lines(folder: Path) -> bytes:
    journal = folder / "run"
    content = journal.read_bytes() if journal.exists() else b""
    return content[: parse(content, str(journal))[1]]


def without_times(folder: Path) -> list[Any]:
    """Return the events of a journal, without when values were told and without checksums."""
    events = events_of(parse(whole_lines(folder), str(folder))[0], str(folder))
    return [_untimed(event) for event in events]


def _untimed(part: Any) -> Any:
    if isinstance(part, dict):
        kept = part.keys() - {"times", "crc32"}
        return {name: _untimed(value) for name, value in part.items() if name in kept}
    return [_untimed(one) for one in part] if isinstance(part, list) else part


def run_until_done(
    mode: Mode, folder: Path, random: Random, seconds: float, kills: int
) -> Counter[str]:
    """Make a run, disturbed up to ``kills`` times, and return how often each signal ended it."""
    ended: Counter[str] = Counter()
    while True:
        before = whole_lines(folder)
        child = start(mode, folder)
        disturbed = False
        if kills > 0:
            time.sleep(random.random() * seconds)
            disturbed = is_running(child)
        if disturbed:
            number = random.choice(mode.signals)
            send(child, number, to_group=number == signal.SIGINT and random.random() < 0.5)
            if number == signal.SIGINT and random.random() < 0.3:
                send(child, number, to_group=False)
            kills -= 1
            ended[signal.Signals(number).name] += 1
        status = wait(child, folder)
        wait_for_nobody(folder)
        if not whole_lines(folder).startswith(before):
            raise BrokenPromiseError(f"{folder}: lines of the journal were lost or changed")
        mode.check(folder)
        errors = (folder / "errors").read_text() if (folder / "errors").exists() else ""
        # Workers of a pool answer an interrupt of their group with a traceback of their own.
        if ERROR.search(errors) or (status and not disturbed):
            raise BrokenPromiseError(f"{folder}: an attempt ended with {status}: {errors}")
        if status == 0 and not disturbed:
            return ended


def is_running(child: int) -> bool:
    """Return whether a child has not ended yet, and leave it to be waited for."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def wait(child: int, folder: Path) -> int:
    """Return the status of a child, which must end."""
    end = time.monotonic() + GONE
    pause = 0.001
    while True:
        number, status = os.waitpid(child, os.WNOHANG)
        if number:
            return status
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            raise BrokenPromiseError(f"{folder}: an attempt did not end within {GONE:g} s")
        time.sleep(pause)
        pause = min(0.05, 2 * pause)


def disturb(name: str, folder: Path, kills: int, seed: int) -> Counter[str]:
    """Make runs of one kind until they were disturbed often enough."""
    mode, random, total = MODES[name], Random(seed), Counter[str]()
    undisturbed = folder / "undisturbed"
    undisturbed.mkdir()
    begun = time.monotonic()
    run_until_done(mode, undisturbed, random, 0.0, 0)
    seconds = time.monotonic() - begun
    number = 0
    while total.total() < kills:
        number += 1
        one = folder / str(number)
        one.mkdir()
        total += run_until_done(mode, one, random, seconds, min(5, kills - total.total()))
        if mode.is_exact and without_times(one) != without_times(undisturbed):
            raise BrokenPromiseError(f"{one}: the run ended otherwise than an undisturbed one")
    total["runs"] = number
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000, help="in all, over the modes")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where to keep the runs; else they are deleted")
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    each = -(-given.kills // len(given.modes))
    found = {}
    for name in given.modes:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            folder = Path(given.folder or scratch) / name
            folder.mkdir(parents=True)
            found[name] = dict(disturb(name, folder, each, given.seed))
        print(f"{name}: {found[name]} in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
