import errno
import os
import threading
from contextlib import closing
from pathlib import Path

import pytest

import rahbo
from processes_left import wait_for
from rahbo.errors import DataError, JournalError, NotReadyError, SettingsError, SpaceError
from rahbo.pages.lab.notes import Notes
from rahbo.pages.lab.spec import Spec
from rahbo.pages.lab.study import OutdatedError, Study


def begun(path, **settings):
    space = {"x": rahbo.Float(0.0, 1.0)}
    keywords = {"seed": 0, "repeats": 2, **settings}
    study = Study.begin(path / "run.jsonl", Spec("run", space, keywords, "yield", "mJ"))
    chosen(study)
    return study


def chosen(study):
    wait_for(lambda: not study.state()["asking"])
    return study.state()


@pytest.fixture
def study(tmp_path):
    found = begun(tmp_path)
    yield found
    found.close()


def test_a_new_study_has_a_setting_and_a_told_one_brings_the_next(study):
    assert study.state()["known"] == [0]
    assert study.tell(0, 0, "1,5", {}) == 1.5
    assert study.state()["known"] == [0]
    study.tell(0, 1, "2", {}, note="good")
    state = chosen(study)
    assert state["known"] == [1]
    assert [m["value"] for m in state["told"][0]["made"]] == [1.5, 2.0]
    assert state["told"][0]["made"][1]["notes"] == ["good"]
    assert (state["outcome"], state["unit"]) == ("yield", "mJ")


def test_nothing_is_recorded_twice(study):
    study.tell(0, 0, "1.5", {})
    for value in ("1.5", "2.5"):
        with pytest.raises(OutdatedError, match=r"already recorded as 1\.5"):
            study.tell(0, 0, value, {})
    study.fail(0, 1, "trip")
    with pytest.raises(OutdatedError, match="already recorded as failed"):
        study.tell(0, 1, "2.5", {})
    with pytest.raises(OutdatedError, match="already recorded as failed"):
        study.fail(0, 1, "trip")
    chosen(study)
    assert study.tell(0, 1, "2.5", {}, corrects=True) == 2.5


def test_only_what_could_have_been_asked_for_is_taken(study):
    with pytest.raises(DataError, match="no suggestion 7"):
        study.tell(7, 0, "1", {})
    with pytest.raises(DataError, match="was not asked for"):
        study.tell(0, 5, "1", {})
    assert study.tell(0, 2, "1", {}) == 1.0


def test_two_pages_do_not_ask_twice(study):
    study.ask([0])
    with pytest.raises(OutdatedError):
        study.ask([0])
    assert chosen(study)["known"] == [0, 1]
    with pytest.raises(OutdatedError, match="Another page"):
        study.ask([0])
    with pytest.raises(OutdatedError, match="Another page"):
        study.try_own([0], {"x": "0.5"}, 1, None)


def test_a_setting_of_ones_own_in_place_of_a_suggestion(study, tmp_path):
    assert study.try_own([0], {"x": "0,25"}, 2, 0) == 1
    state = study.state()
    assert state["known"] == [1]
    assert state["open"][0]["params"] == [("x", "0.25")]
    for form, repeats in (({"x": "2"}, 1), ({"x": ""}, 1), ({"x": "0.5"}, 0), ({"x": "0.5"}, 1001)):
        with pytest.raises((DataError, SpaceError)):
            study.try_own([1], form, repeats, None)
    study.tell(1, 0, "3", {})
    study.close()
    with closing(rahbo.Optimizer.resume(tmp_path / "run.jsonl")) as run:
        assert run.trials[1].source == "user"
        assert [s.params for s in run.open] == [{"x": 0.25}]
        assert run.ask().indices == (1,)


def test_skipping_goes_on_and_is_refused_twice(study):
    study.skip(0)
    assert chosen(study)["known"] == [1]
    with pytest.raises(OutdatedError, match="not open"):
        study.skip(0)


def test_notes_on_anything_known(study):
    study.note(0, None, "remember")
    assert study.state()["open"][0]["notes"] == ["remember"]
    for number, text in ((5, "x"), (0, "")):
        with pytest.raises(DataError):
            study.note(number, None, text)
    with pytest.raises(DataError, match="Value 2 of suggestion 0 is not recorded"):
        study.note(0, 1, "remember")


def test_the_journal_is_that_of_everything_else(study, tmp_path):
    study.tell(0, 0, "1", {})
    study.close()
    with closing(rahbo.Optimizer.resume(tmp_path / "run.jsonl")) as run:
        run.tell(run.ask(), 2.0)
        run.ask()
        with pytest.raises(JournalError, match="another process"):
            Study.resume(tmp_path / "run.jsonl")
    again = Study.resume(tmp_path / "run.jsonl")
    assert again.state()["known"] == [1]
    again.ask([1])
    assert chosen(again)["known"] == [1, 2]
    again.close()


def test_outcomes_with_limits(tmp_path):
    study = begun(tmp_path, constraints={"heat": rahbo.AtMost(5.0)})
    with pytest.raises(DataError, match="heat"):
        study.tell(0, 0, "1", {"heat": "warm"})
    with pytest.raises(DataError, match="no outcome 'haet'"):
        study.tell(0, 0, "1", {"haet": "4,5"})
    study.tell(0, 0, "1", {"heat": "4,5"})
    study.tell(0, 1, "1", {"heat": " "})
    made = chosen(study)["told"][0]["made"]
    assert [one["outcomes"] for one in made] == [[4.5], [None]]
    study.close()


def test_a_problem_of_choosing_is_said_and_the_study_goes_on(tmp_path, monkeypatch):
    study = begun(tmp_path)

    def broken(self):
        raise ZeroDivisionError("oops")

    with monkeypatch.context() as patched:
        patched.setattr(rahbo.Optimizer, "ask", broken)
        study.skip(0)
        assert "oops" in chosen(study)["problem"]
    study.ask([])
    state = chosen(study)
    assert (state["problem"], state["known"]) == ("", [1])
    study.close()


@pytest.mark.slow
def test_the_report_and_what_to_measure_again(tmp_path):
    study = begun(tmp_path)
    with pytest.raises(NotReadyError):
        study.report()
    with pytest.raises(NotReadyError):
        study.confirm([0])
    study.tell(0, 0, "1", {})
    study.tell(0, 1, "2", {})
    known = chosen(study)["known"]
    study.confirm(known)
    assert chosen(study)["open"][-1]["source"] == "confirm"
    first = study.report()
    assert b"Noise map" in first
    assert study.report() is first
    study.close()


def test_a_closed_study_takes_nothing_and_chooses_nothing(tmp_path, monkeypatch):
    study, begun_threads = begun(tmp_path), []

    class Later(threading.Thread):
        """A thread that begins when the test says so."""

        def start(self):
            begun_threads.append(self)

    with monkeypatch.context() as patched:
        patched.setattr("rahbo.pages.lab.study.threading.Thread", Later)
        study.skip(0)
    study.close()
    begun_threads[0].run()
    assert chosen(study)["known"] == []
    with pytest.raises(OutdatedError, match="is closed"):
        study.tell(0, 0, "1", {})
    with closing(rahbo.Optimizer.resume(tmp_path / "run.jsonl")) as run:
        assert [t.cancelled for t in run.trials] == [True]


def test_conditions_are_left_to_python(tmp_path):
    path = tmp_path / "run.jsonl"
    space = {"x": (0.0, 1.0), "room": rahbo.Context(rahbo.Float(0.0, 1.0))}
    rahbo.Optimizer(space, seed=0, journal=path).close()
    with pytest.raises(SettingsError, match="room"):
        Study.resume(path)
    rahbo.Optimizer.resume(path).close()


@pytest.mark.slow
def test_a_failure_corrected_to_a_value_is_in_the_next_report(tmp_path):
    study = begun(tmp_path)
    study.tell(0, 0, "1", {})
    study.fail(0, 1, "trip")
    chosen(study)
    before = study.report()
    study.tell(0, 1, "2", {}, corrects=True)
    chosen(study)
    assert study.report() != before
    study.close()


def test_a_value_that_was_not_asked_for_needs_its_block(tmp_path):
    study = begun(tmp_path, blocks=["day 1", "day 2"])
    state = study.state()
    assert state["blocks"] == ["day 1", "day 2"]
    stated = state["open"][0]["blocks"]
    assert stated.keys() == {0, 1}
    own = study.try_own([0], {"x": "0.25"}, 1, None)
    assert study.state()["open"][1]["blocks"] == {}
    for number, repeat in ((own, 0), (0, 2)):
        with pytest.raises(DataError, match=r"Choose the block .* day 1, day 2"):
            study.tell(number, repeat, "1", {})
        with pytest.raises(DataError, match="must be one of"):
            study.tell(number, repeat, "1", {}, block="day 3")
        study.tell(number, repeat, "1", {}, block="day 2")
    study.fail(0, 0, "trip")
    assert study.state()["open"][0]["blocks"] == stated
    study.tell(0, 0, "3", {}, corrects=True)
    study.close()
    with closing(rahbo.Optimizer.resume(tmp_path / "run.jsonl")) as run:
        blocks = {(row["trial"], row["repeat"]): row["block"] for row in run.rows()}
    assert blocks == {(0, 0): stated[0], (0, 2): "day 2", (own, 0): "day 2"}


def test_a_study_whose_name_cannot_be_written_is_not_begun(tmp_path):
    (tmp_path / "run.jsonl.notes").mkdir()
    with pytest.raises(JournalError, match=r"name of the outcome cannot be written .* try again"):
        begun(tmp_path)
    assert not (tmp_path / "run.jsonl").exists()
    (tmp_path / "run.jsonl.notes").rmdir()
    begun(tmp_path).close()


def test_a_new_study_has_no_notes_of_a_deleted_one(tmp_path):
    study = begun(tmp_path)
    study.note(0, None, "old")
    study.close()
    study = begun(tmp_path)
    assert study.state()["open"][0]["notes"] == ["old"]
    study.close()
    (tmp_path / "run.jsonl").unlink()
    study = Study.begin(
        tmp_path / "run.jsonl", Spec("run", {"x": rahbo.Float(0.0, 1.0)}, {"seed": 0})
    )
    state = chosen(study)
    study.close()
    assert (state["outcome"], state["unit"], state["open"][0]["notes"]) == ("value", "", [])
    assert "old" in (tmp_path / "run.jsonl.notes.old").read_text()


def test_a_study_that_cannot_be_continued_keeps_its_journal(tmp_path):
    study = begun(tmp_path)
    study.tell(0, 0, "1", {})
    study.close()
    (tmp_path / "run.jsonl.notes").unlink()
    (tmp_path / "run.jsonl.notes").mkdir()
    with pytest.raises(JournalError, match="name of the outcome"):
        begun(tmp_path)
    with closing(rahbo.Optimizer.resume(tmp_path / "run.jsonl")) as run:
        assert run.n_evaluations == 1


@pytest.mark.parametrize("steps", range(7))
def test_a_study_that_cannot_be_begun_leaves_nothing_behind(steps, tmp_path, monkeypatch):
    """The disk is full from some step on: of the journal, the notes or a first setting."""
    spec = Spec("run", {"x": rahbo.Float(0.0, 1.0)}, {"seed": 0}, outcome="yield",
                first=({"x": 0.5}, {"x": 0.75}))  # fmt: skip
    path, left, write, fsync = tmp_path / "run.jsonl", [steps], os.write, os.fsync

    def step():
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def full_write(fd, data):
        try:
            step()
        except OSError:
            write(fd, bytes(data)[: len(data) // 2])
            raise
        return write(fd, data)

    def full_fsync(fd):
        step()
        fsync(fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full_write)
        patched.setattr(os, "fsync", full_fsync)
        with pytest.raises(JournalError, match="No space left"):
            Study.begin(path, spec)
    assert list(tmp_path.iterdir()) == []
    study = Study.begin(path, spec)
    assert study.state()["known"] == [0, 1]
    study.close()


def test_notes_of_another_study_are_not_deleted_when_a_study_cannot_be_begun(tmp_path, monkeypatch):
    def fails(*_):
        raise PermissionError(13, "Permission denied")

    Notes(tmp_path / "run.jsonl").add(0, None, "old")
    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(JournalError, match=r"earlier study .* Move it away"):
        begun(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.jsonl.notes"]


def test_a_name_that_differs_in_case_or_accents_only_is_refused(tmp_path):
    spec = Spec("", {"x": rahbo.Float(0.0, 1.0)}, {"seed": 0})
    for name, twin in (
        ("Laser", "laser"), ("stra\u00dfe", "STRASSE"), ("caf\u00e9", "cafe\u0301")
    ):  # fmt: skip
        Study.begin(tmp_path / f"{name}.jsonl", spec).close()
        if (tmp_path / f"{twin}.jsonl").exists():
            pytest.skip("this disk takes them for the same")
        with pytest.raises(SettingsError, match=r"already a file .* Choose another name"):
            Study.begin(tmp_path / f"{twin}.jsonl", spec)
        # A study that exists is continued.
        Study.begin(tmp_path / f"{name}.jsonl", spec).close()
    assert len(list(tmp_path.glob("*.jsonl"))) == 3
