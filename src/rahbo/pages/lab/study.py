"""One study: a run with its journal, its notes, and the changes that the page asks for.

A lock puts all changes in order. Choosing a setting can take seconds, so that is done by a thread,
and what the page shows meanwhile is the state after the last change.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unicodedata import normalize

from rahbo.errors import DataError, NotReadyError, RahboError, SettingsError, SpaceError
from rahbo.optimizer import Optimizer
from rahbo.pages.lab.fields import LONGEST_TEXT, number_in
from rahbo.pages.lab.notes import Notes, set_aside
from rahbo.pages.lab.spec import Spec, repeats_in
from rahbo.pages.lab.state import Json, free_repeat, params_in, state_of
from rahbo.pages.report import record_of, report_page
from rahbo.trials import Trial, block_of

# The most suggestions that may be open when another one is asked for.
MOST_OPEN = 12


class OutdatedError(DataError):
    """A page asked for a change that another page has made meanwhile."""


def is_free(path: Path) -> bool:
    """Return whether a journal may begin here: there is no file, or one that was left empty."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def _check_no_twin(path: Path) -> None:
    """Refuse a name that some disks take for that of another journal beside it."""
    twins = (other for other in path.parent.glob("*") if other.name != path.name)
    twin = next((other for other in twins if _same_name(other.name, path.name)), None)
    if twin is not None:
        raise SettingsError(
            f"There is already a file {twin.name!r} here, and many disks take {path.name!r} for "
            "the same one. Choose another name."
        )


def _same_name(*names: str) -> bool:
    """Return whether names differ at most in case, or in how accents are written."""
    return len({normalize("NFC", normalize("NFC", name).casefold()) for name in names}) == 1


class Study:
    """An open study. Nobody else can write its journal until `close`.

    Args:
        path: The journal.
        optimizer: The run in it.
        notes: The notes beside it.
    """

    def __init__(self, path: Path, optimizer: Optimizer, notes: Notes) -> None:
        space = optimizer.settings.space
        if space.conditions:
            optimizer.close()
            raise SettingsError(
                f"{path.name} has the conditions {', '.join(space.conditions)}, which rahbo lab "
                "cannot take. Continue the run in Python."
            )
        self.path, self._optimizer, self._notes = path, optimizer, notes
        self._lock, self._reporting = threading.Lock(), threading.Lock()
        self._asking, self._closed, self._problem = False, False, ""
        # How often the study has changed, and the report with the number that it was made at.
        self._n_changes, self._report = 0, (-1, b"")
        waiting = len(optimizer.open)
        if waiting:
            # Taken over from an earlier process, so that the next ask is for a new setting.
            optimizer.ask(waiting)
        self._shown = state_of(optimizer, notes)

    @classmethod
    def begin(cls, path: Path, spec: Spec) -> Study:
        """Begin a study, or continue one that was begun in the same way."""
        is_new, notes = is_free(path), None
        if is_new:
            _check_no_twin(path)
        optimizer = Optimizer(spec.space, **spec.settings, journal=path)
        try:
            if is_new:
                set_aside(path)
            notes = Notes(path)
            study = cls(path, optimizer, notes)
            with study._lock:
                notes.name(spec.outcome, spec.unit)
                if not optimizer.trials:
                    for params in spec.first:
                        study._open_own(params, spec.repeats)
                study._changed(goes_on=not optimizer.trials)
        except BaseException:
            # What is half begun would be in the way of beginning again.
            optimizer.close()
            if is_new:
                path.unlink(missing_ok=True)
                if notes is not None:
                    notes.discard()
            raise
        return study

    @classmethod
    def resume(cls, path: Path) -> Study:
        """Continue the study in a journal."""
        return cls(path, Optimizer.resume(path), Notes(path))

    def close(self) -> None:
        """Release the journal for others. A setting that is about to be chosen is not."""
        with self._lock:
            self._closed = True
            self._optimizer.close()

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Hold the lock of all changes. A closed study takes none: it would be locked again."""
        with self._lock:
            if self._closed:
                raise OutdatedError("This study is closed. Open it again.")
            yield

    def state(self) -> Json:
        """Return what the page shows. It does not wait for a change that is being made."""
        return {
            **self._shown,
            "name": self.path.stem,
            "asking": self._asking,
            "problem": self._problem,
        }

    # -- what to try -------------------------------------------------------------------------

    def ask(self, known: Sequence[object]) -> None:
        """Choose another setting, unless the page did not know the open ones."""
        self._choose(known, lambda: self._optimizer.ask())

    def confirm(self, known: Sequence[object]) -> None:
        """Ask for the leading settings again, before one of them is used."""
        if not self._shown["n_values"]:
            raise NotReadyError("There are no values yet, so there is nothing to measure again.")
        self._choose(known, self._confirm)

    def _confirm(self) -> None:
        if not self._optimizer.confirm():
            raise NotReadyError(
                "There is nothing to measure again now: the best settings have been measured "
                "often enough, or in each of their blocks, or are open already."
            )

    def _choose(self, known: Sequence[object], choose: Callable[[], object]) -> None:
        with self._change():
            self._check_known(known)
            if len(known) >= MOST_OPEN:
                raise DataError(f"{len(known)} settings are open. Measure or skip one first.")
            self._start(choose)

    def try_own(
        self, known: Sequence[object], form: Mapping[str, Any], repeats: object, instead: int | None
    ) -> int:
        """Open a setting of the user's own, and return its number.

        Args:
            known: The open suggestions that the page knew.
            form: The setting, as typed.
            repeats: How often it will be measured, as typed.
            instead: The suggestion that it replaces, which is skipped; None if there is none.
        """
        with self._change():
            self._check_known(known)
            params, n = params_in(form, self._optimizer), repeats_in(repeats)
            replaced = None if instead is None else self._trial(instead)
            opened = self._open_own(params, n)
            if replaced is not None and replaced.n_missing:
                self._optimizer.cancel(replaced.id)
            self._changed()
            return opened

    def _check_known(self, known: Sequence[object]) -> None:
        if self._asking:
            raise OutdatedError("A setting is being chosen already.")
        if list(known) != [suggestion.id for suggestion in self._optimizer.open]:
            raise OutdatedError("Another page has changed what is open. Look at it, then go on.")

    def _open_own(self, params: Mapping[str, Any], repeats: int) -> int:
        optimizer, space = self._optimizer, self._optimizer.settings.space
        x = space.encode(params)
        if not space.is_valid(x[None])[0]:
            raise SpaceError("This setting is not allowed in this study.")
        return optimizer.ask_at(params, repeats).id

    # -- what was measured -------------------------------------------------------------------

    def tell(
        self, number: int, repeat: int, value: object, outcomes: Mapping[str, Any],
        note: str = "", corrects: bool = False, block: str = "",
    ) -> float:  # fmt: skip
        """Record a measured value and return it.

        Args:
            number: The suggestion.
            repeat: The index of the repeat. A value for it is recorded only once.
            value: The value, as typed.
            outcomes: Outcomes with limits by name, as typed; empty where one is missing.
            note: A note on the value, or an empty text.
            corrects: Whether the repeat was recorded as failed by mistake.
            block: The block of the value; empty for the one that the suggestion states.
        """
        with self._change():
            trial = self._trial(number)
            self._check_free(trial, repeat, corrects)
            told = number_in(value, f"The {self._notes.outcome}")
            names = self._optimizer.settings.constraints
            unknown = [name for name in outcomes if name not in names]
            if unknown:
                raise DataError(f"This study has no outcome {unknown[0]!r}. Reload the page.")
            beside = {
                name: number_in(outcomes[name], f"The outcome {name!r}")
                for name in names
                if str(outcomes.get(name, "")).strip()
            }
            blocks = self._optimizer.settings.blocks
            if blocks and not block and block_of(trial, repeat) is None:
                raise DataError(f"Choose the block of this value: one of {', '.join(blocks)}.")
            self._optimizer.tell(
                number, told, repeat=repeat, outcomes=beside or None, block=block or None
            )
            self._write(number, repeat, note)
            return told

    def fail(self, number: int, repeat: int, reason: str, note: str = "") -> None:
        """Record that a measurement gave no value."""
        with self._change():
            self._check_free(self._trial(number), repeat, corrects=False)
            self._optimizer.tell_failure(number, reason, repeat=repeat)
            self._write(number, repeat, note)

    def skip(self, number: int) -> None:
        """Drop the repeats of a suggestion that are still missing."""
        with self._change():
            if not self._trial(number).n_missing:
                raise OutdatedError(f"Suggestion {number} is not open any more.")
            self._optimizer.cancel(number)
            self._changed()

    def note(self, number: int, repeat: int | None, text: str) -> None:
        """Keep a note on a suggestion, or on one of its values."""
        with self._change():
            trial = self._trial(number)
            if repeat is not None and repeat not in trial.evaluations:
                raise DataError(
                    f"Value {repeat + 1} of suggestion {number} is not recorded, so it has no note."
                )
            if not text:
                raise DataError("The note is empty. Write something.")
            self._write(number, repeat, text, goes_on=False)

    def _write(self, number: int, repeat: int | None, note: str, goes_on: bool = True) -> None:
        try:
            if note:
                self._notes.add(number, repeat, note[:LONGEST_TEXT])
        finally:
            self._changed(goes_on)

    def _trial(self, number: int) -> Trial:
        found = self._optimizer.state.trials.get(number)
        if found is None:
            raise DataError(f"There is no suggestion {number} in this study. Reload the page.")
        return found

    def _check_free(self, trial: Trial, repeat: int, corrects: bool) -> None:
        """Refuse a repeat that is already recorded, or that nobody could have been asked for."""
        which = f"Value {repeat + 1} of suggestion {trial.id}"
        if repeat in trial.values:
            raise OutdatedError(
                f"{which} is already recorded as {trial.values[repeat]:g}. It was not recorded "
                "again."
            )
        if repeat in trial.failures and not corrects:
            raise OutdatedError(f"{which} is already recorded as failed. Nothing was changed.")
        if repeat not in trial.failures and repeat not in (*trial.missing, free_repeat(trial)):
            raise DataError(f"{which} was not asked for. Reload the page.")

    # -- changes -----------------------------------------------------------------------------

    def _changed(self, goes_on: bool = True) -> None:
        """Show the new state, and choose the next setting if none is open."""
        self._problem = ""
        self._n_changes += 1
        self._shown = state_of(self._optimizer, self._notes)
        if goes_on and not self._shown["known"] and not self._asking:
            self._start(lambda: self._optimizer.ask())

    def _start(self, choose: Callable[[], object]) -> None:
        self._asking, self._problem = True, ""
        work = threading.Thread(target=self._work, args=(choose,), name="rahbo-ask", daemon=True)
        work.start()

    def _work(self, choose: Callable[[], object]) -> None:
        with self._lock:
            try:
                if not self._closed:
                    choose()
            except RahboError as error:
                self._problem = str(error)
            except Exception as error:
                # The page must go on: values can still be told.
                self._problem = f"No setting could be chosen: {error!r}."
            self._n_changes += 1
            with suppress(RahboError):
                self._shown = state_of(self._optimizer, self._notes)
            self._asking = False

    # -- the report --------------------------------------------------------------------------

    def report(self) -> bytes:
        """Return the report of the study as a page of its own."""
        with self._reporting:
            with self._lock:
                run = copy.copy(self._optimizer)
                run.reuse_fits(self._optimizer)
                n_changes = self._n_changes
            if self._report[0] != n_changes:
                if not run.observations.n:
                    raise NotReadyError("There are no values yet.")
                record = record_of(run, source=self.path.name)
                self._report = n_changes, report_page(record).encode()
            return self._report[1]
