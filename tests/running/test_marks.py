"""Whoever is first to leave the mark of a task has it: its worker, or the loop."""

from pathlib import Path
from threading import Barrier, Thread

from rahbo.running.marks import Marks, starts


def test_a_task_starts_or_is_taken_back_but_never_both(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    marks = Marks(shared=True)
    started, taken = marks.new(), marks.new()
    assert starts(started)
    assert not marks.take_back(started)
    assert marks.take_back(taken)
    assert not starts(taken)
    marks.close()
    assert list(tmp_path.iterdir()) == []


def test_one_of_two_that_come_at_the_same_time_is_first(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    marks = Marks(shared=True)
    for _ in range(50):
        mark, both, won = marks.new(), Barrier(2), []

        def run(act, mark=mark, both=both, won=won):
            both.wait(30.0)
            won.append(act(mark))

        threads = [Thread(target=run, args=(act,)) for act in (starts, marks.take_back)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30.0)
        assert sorted(won) == [False, True]
    marks.close()


def test_without_a_folder_tasks_start_and_cannot_be_taken_back(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    for marks in (Marks(shared=False), Marks(shared=True)):
        mark = marks.new()
        assert isinstance(mark, Path)
        assert not marks.take_back(mark)
        assert starts(mark)
        assert not mark.exists()
        marks.close()
