"""A program as an objective: each evaluation runs it in a process of its own."""

from __future__ import annotations

import errno
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import sleep
from typing import Any

from rahbo.cli.limits import Outcomes
from rahbo.cli.parameters import BLOCK, SEED
from rahbo.cli.printed import UnreadableError
from rahbo.cli.processes import END, REASON, Ended, Processes, StoppedError
from rahbo.cli.template import Template
from rahbo.cli.values import Reader

# Errors that say that the machine has no room for another process or file now, and how many seconds
# to wait before the next attempt. They say nothing about the program.
SCARCE = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
WAITS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
# The name of the value in a record with outcomes. No outcome can have it.
VALUE = ""
# Errors that say that a program is not there, may not be run or is not one, and what a shell exits
# with in these cases.
UNSTARTABLE = (errno.ENOENT, errno.EACCES, errno.ENOEXEC)
NOT_STARTED = (126, 127)
# The last line of a traceback of Python, as `rahbo.running.mistakes` has these errors.
PYTHON_MISTAKE = re.compile(
    rb"^(?:Name|UnboundLocal|Type|Import|ModuleNotFound|Attribute|Syntax|Indentation)"
    rb"Error: .*\s*\Z",
    re.MULTILINE,
)
# The first word of an output whose beginning is lost.
CUT_WORD = re.compile(r"\A\S*+")


class FailedError(Exception):
    """Raised when an evaluation gave no value; its text is what is recorded."""

    def __repr__(self) -> str:
        return str(self)


class BrokenProgramError(FailedError):
    """Raised when a program cannot be started, or has a mistake in its code."""


class Program:
    """Runs a command with parameters filled in, and reads the value that it prints.

    Args:
        template: The command.
        read: Finds the value in the output.
        processes: Runs the command.
        timeout: Seconds after which a process and all its children are killed; None for no limit.
        outcomes: Finds the outcomes with limits in the output.

    Attributes:
        values: The values that were read, by the seed of their evaluation.
        beside: The outcomes that were read beside each value, by the same seed.
    """

    def __init__(
        self,
        template: Template,
        read: Reader,
        processes: Processes,
        timeout: float | None = None,
        outcomes: Outcomes | None = None,
    ) -> None:
        self.values: dict[int, float] = {}
        self.beside: dict[int, dict[str, float | None]] = {}
        self._template = template
        self._read = read
        self._launcher = processes
        self._timeout = timeout
        self._outcomes = outcomes or Outcomes()

    def __call__(
        self, /, *, seed: int, block: Any = None, **params: Any
    ) -> float | dict[str, float | None]:
        """Run the program once and return its value, in a record if there are outcomes."""
        given = params if block is None else {**params, BLOCK: block}
        value, beside = self._evaluate(self._template.filled({**given, SEED: seed}))
        self.beside[seed] = beside
        self.values[seed] = value
        return {VALUE: value, **beside} if beside else value

    def _evaluate(self, arguments: list[str]) -> tuple[float, dict[str, float | None]]:
        try:
            ended = self._run(arguments)
            if ended.late:
                raise _failed(f"timed out after {self._timeout:g} s", ended)
            if ended.code < 0:
                raise _failed(f"killed by signal {_signal_name(-ended.code)}", ended)
            if ended.code > 0:
                raise _failed(f"exit code {ended.code}", ended, _is_broken(ended))
            output = _text(ended)
            value = self._read(output)
            return value, self._outcomes.read(output) if self._outcomes.names else {}
        except UnreadableError as error:
            limit = f" (its last {END} bytes)" if ended.n_out > END else ""
            raise _failed(f"{str(error)[:REASON]}{limit}", ended) from error
        except StoppedError as error:
            raise FailedError("stopped") from error
        except OSError as error:
            kind = BrokenProgramError if error.errno in UNSTARTABLE else FailedError
            raise kind(f"cannot be run: {error}"[:REASON]) from error

    def _run(self, arguments: list[str]) -> Ended:
        """Run the program, later if the machine has no room for another process now."""
        for pause in WAITS:
            try:
                return self._launcher.run(arguments, self._timeout)
            except OSError as error:
                if error.errno not in SCARCE:
                    raise
            sleep(pause)
        return self._launcher.run(arguments, self._timeout)

    def kill(self) -> None:
        """Kill all running processes, and let no other start."""
        self._launcher.kill()


class Workers(ThreadPoolExecutor):
    """Threads that wait for processes. Shutdown without waiting kills the processes."""

    def __init__(self, program: Program, jobs: int) -> None:
        super().__init__(jobs, thread_name_prefix="rahbo")
        self._program = program

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads. They have all ended when this returns."""
        if not wait:
            self._program.kill()
        super().shutdown(wait=True, cancel_futures=cancel_futures or not wait)


def _text(ended: Ended) -> str:
    """Return the output, or its end without a word that was cut."""
    text = ended.out.decode(errors="replace")
    if ended.n_out <= END:
        return text
    # Part of a number would be taken for the number.
    return CUT_WORD.sub("", text, count=1)


def _is_broken(ended: Ended) -> bool:
    """Return whether a shell could not start a program, or Python found a mistake in its code."""
    return ended.code in NOT_STARTED or PYTHON_MISTAKE.search(ended.err) is not None


def _failed(why: str, ended: Ended, is_broken: bool = False) -> FailedError:
    said = ended.err.decode(errors="replace").strip()
    kind = BrokenProgramError if is_broken else FailedError
    return kind(f"{why}: {said}" if said else why)


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return str(number)
