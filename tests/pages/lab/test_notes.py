import pytest

from rahbo.errors import JournalError
from rahbo.pages.lab.notes import Notes, set_aside


def test_notes_come_back(tmp_path):
    notes = Notes(tmp_path / "laser.jsonl")
    assert (notes.outcome, notes.unit, notes.notes) == ("value", "", [])
    notes.name("yield", "mJ")
    notes.name("yield", "mJ")
    notes.add(3, None, "door open")
    notes.add(3, 1, "again\u2028<b>")
    notes.add(3, 1, "again\u2028<b>")
    again = Notes(tmp_path / "laser.jsonl")
    assert (again.outcome, again.unit, again.notes) == ("yield", "mJ", notes.notes)
    assert [(n.suggestion, n.repeat, n.text) for n in again.notes] == [
        (3, None, "door open"),
        (3, 1, "again\u2028<b>"),
    ]
    assert len((tmp_path / "laser.jsonl.notes").read_text().splitlines()) == 3


def test_lines_that_cannot_be_read_are_ignored(tmp_path):
    path = tmp_path / "laser.jsonl.notes"
    path.write_bytes(b'[]\nnonsense\n{"note":"a"}\n{"note":"b","suggestion":1,"repeat":null}\n{"no')
    notes = Notes(tmp_path / "laser.jsonl")
    assert [n.text for n in notes.notes] == ["b"]
    notes.add(2, 0, "after a torn line")
    assert [n.text for n in Notes(tmp_path / "laser.jsonl").notes] == ["b", "after a torn line"]


def test_notes_of_a_study_that_is_gone_are_kept_aside(tmp_path):
    journal = tmp_path / "run.jsonl"
    set_aside(journal)
    for text in ("first", "second"):
        Notes(journal).add(0, None, text)
        set_aside(journal)
        assert Notes(journal).notes == []
    kept = [tmp_path / f"run.jsonl.notes.old{n}" for n in ("", 1)]
    assert sorted(tmp_path.iterdir()) == kept
    assert ["second" in path.read_text() for path in kept] == [False, True]


def test_a_note_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "laser.jsonl.notes").mkdir()
    notes = Notes(tmp_path / "laser.jsonl")
    with pytest.raises(JournalError, match="cannot be written"):
        notes.add(0, 0, "lost")
    assert notes.notes == []
