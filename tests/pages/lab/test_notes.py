from pathlib import Path

import pytest

import rahbo
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


def test_notes_that_cannot_be_set_aside_are_an_error(tmp_path, monkeypatch):
    def fails(*_):
        raise PermissionError(13, "Permission denied")

    Notes(tmp_path / "run.jsonl").add(0, None, "first")
    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(JournalError, match=r"earlier study .* Move it away"):
        set_aside(tmp_path / "run.jsonl")


def test_a_note_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "laser.jsonl.notes").mkdir()
    notes = Notes(tmp_path / "laser.jsonl")
    with pytest.raises(JournalError, match="cannot be written"):
        notes.add(0, 0, "lost")
    assert notes.notes == []


def test_notes_of_earlier_versions_are_read_and_set_aside(tmp_path):
    former = tmp_path / "run.notes.jsonl"
    former.write_text(
        '{"outcome":"yield","unit":"mJ"}\n{"note":"old","suggestion":0,"repeat":null,"time":""}\n{"no'
    )
    before = former.read_bytes()
    notes = Notes(tmp_path / "run.jsonl")
    assert (notes.outcome, notes.unit) == ("yield", "mJ")
    notes.add(0, None, "new")
    assert [n.text for n in Notes(tmp_path / "run.jsonl").notes] == ["old", "new"]
    assert former.read_bytes() == before
    set_aside(tmp_path / "run.jsonl")
    assert Notes(tmp_path / "run.jsonl").notes == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "run.jsonl.notes.old", "run.notes.jsonl.old",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["run.notes.jsonl", "run.jsonl.notes"])
def test_a_journal_is_never_taken_for_notes(name, tmp_path):
    run = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=tmp_path / name)
    run.tell({"x": 0.5}, 1.0)
    run.close()
    before = (tmp_path / name).read_bytes()
    journal = tmp_path / "run.jsonl"
    set_aside(journal)
    notes = Notes(journal)
    assert (notes.outcome, notes.notes) == ("value", [])
    if name == "run.jsonl.notes":
        with pytest.raises(JournalError, match="which is the journal of a run"):
            notes.add(0, None, "a")
    else:
        notes.add(0, None, "a")
        assert [n.text for n in Notes(journal).notes] == ["a"]
        notes.discard()
    notes.discard()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == before
