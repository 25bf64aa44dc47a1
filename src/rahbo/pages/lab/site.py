"""What `rahbo lab` serves: the studies of a folder, and the changes that its forms ask for."""

from __future__ import annotations

import os
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import quote, unquote

from rahbo.errors import DataError, NotReadyError
from rahbo.pages.answers import Answer, Query, Record, RefusedError, Site, json_answer, moved
from rahbo.pages.frame import KINDS, page, served
from rahbo.pages.lab.fields import LONGEST_TEXT, index_in, list_in, record_in, text_in
from rahbo.pages.lab.spec import spec_in
from rahbo.pages.lab.studies import Studies
from rahbo.pages.lab.study import OutdatedError, Study
from rahbo.pages.watch.site import LIVE, SCRIPTS, read_run

# A page that lost its server finds the next one at the same port.
PORT = 8237
OF_STUDY = (*SCRIPTS, "lab/lab.css", "lab/lab.js")
OF_OVERVIEW = ("style.css", "lab/lab.css", "common.js", "lab/overview.js")
KEPT = (
    "All that is recorded is in the journal, and what you typed is kept here. Start rahbo lab "
    "again: this page continues when it answers."
)
STUDY = "/study/"
FRAMED = {"Content-Security-Policy": "frame-ancestors 'self'", "X-Frame-Options": "SAMEORIGIN"}


def lab_site(studies: Studies) -> Site:
    """Return what is served of the studies of a folder."""
    lab = Lab(studies)
    return Site("rahbo lab", lab.read, lab.change)


class Lab:
    """Reads and changes the studies of a folder.

    Args:
        studies: The studies.
    """

    def __init__(self, studies: Studies) -> None:
        self._studies = studies
        self._pages = served({*OF_STUDY, *OF_OVERVIEW})
        parts = ("lab/next.html", LIVE, "lab/recorded.html")
        self._study = page("rahbo lab", parts, OF_STUDY, "../../", KEPT)
        if studies.only is None:
            self._pages["/"] = page("rahbo lab", ("lab/overview.html",), OF_OVERVIEW)
        else:
            self._pages["/"] = moved(f"{STUDY}{quote(os.fsencode(studies.only.stem))}/")

    def read(self, path: str, query: Query) -> Answer | None:
        """Return a page or its data."""
        if path == "/studies.json":
            folder, listed = str(self._studies.folder), self._studies.listed()
            return json_answer({"folder": folder, "studies": listed})
        return self._pages.get(path) or self._read_study(*self._study_in(path), query)

    def _read_study(self, name: str, path: str, query: Query) -> Answer | None:
        if path == "/":
            return self._study
        if path == "/lab.json":
            study = self._studies.study(name)
            return json_answer({"closed": True} if study is None else study.state())
        if path == "/report.html":
            try:
                return Answer(self._opened(name).report(), KINDS[".html"], headers=FRAMED)
            except NotReadyError:
                raise RefusedError(HTTPStatus.CONFLICT, "There are no values yet") from None
        return read_run(self._studies.live(name), path, query)

    def _study_in(self, path: str) -> tuple[str, str]:
        """Return the name of a study in a path, and the rest of the path."""
        written, slash, rest = path.removeprefix(STUDY).partition("/")
        name = unquote(written, errors="surrogateescape")
        if not path.startswith(STUDY) or not slash or name not in self._studies.paths():
            raise RefusedError(HTTPStatus.NOT_FOUND)
        return name, slash + rest

    def _opened(self, name: str) -> Study:
        study = self._studies.study(name)
        if study is None:
            raise OutdatedError("This study is closed. Open it again.")
        return study

    def change(self, path: str, record: Record) -> Answer | None:
        """Make a change."""
        if path == "/create":
            return json_answer({"study": self._studies.begin(spec_in(record))})
        name, action = self._study_in(path)
        changes = {"/open": self._studies.open, "/close": self._studies.close}
        try:
            if action in changes:
                changes[action](name)
                return json_answer({})
            if action in ACTIONS:
                return json_answer(ACTIONS[action](self._opened(name), record) or {})
        except OutdatedError as error:
            return json_answer({"error": str(error)}, HTTPStatus.CONFLICT)
        return None


# -- actions of a study --------------------------------------------------------------------------


def _note(record: Record) -> str:
    return text_in(record, "note", "The note", LONGEST_TEXT, needed=False)


def _block(record: Record) -> str:
    """Return the name of a block as it is, because a name may begin or end with a space."""
    block = record.get("block", "")
    if not isinstance(block, str):
        raise DataError("The block must be a text.")
    return block


def _tell(study: Study, record: Record) -> Record:
    outcomes = record_in(record.get("outcomes", {}), "outcomes")
    told = study.tell(
        index_in(record, "suggestion"), index_in(record, "repeat"), record.get("value"),
        outcomes, _note(record), record.get("corrects") is True,
        _block(record),
    )  # fmt: skip
    return {"value": told}


def _fail(study: Study, record: Record) -> None:
    reason = text_in(record, "reason", "The reason", LONGEST_TEXT, needed=False)
    study.fail(index_in(record, "suggestion"), index_in(record, "repeat"), reason, _note(record))


def _try_own(study: Study, record: Record) -> Record:
    instead = None if record.get("instead") is None else index_in(record, "instead")
    form = record_in(record.get("params"), "The setting")
    known, repeats = list_in(record, "known"), record.get("repeats", 1)
    return {"suggestion": study.try_own(known, form, repeats, instead)}


def _add_note(study: Study, record: Record) -> None:
    repeat = None if record.get("repeat") is None else index_in(record, "repeat")
    study.note(index_in(record, "suggestion"), repeat, _note(record))


ACTIONS: dict[str, Callable[[Study, Record], Record | None]] = {
    "/tell": _tell,
    "/fail": _fail,
    "/own": _try_own,
    "/note": _add_note,
    "/ask": lambda study, record: study.ask(list_in(record, "known")),
    "/confirm": lambda study, record: study.confirm(list_in(record, "known")),
    "/skip": lambda study, record: study.skip(index_in(record, "suggestion")),
}
