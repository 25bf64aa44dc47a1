import os

import pytest

import rahbo
from rahbo.errors import SettingsError
from rahbo.pages.lab.spec import Spec
from rahbo.pages.lab.studies import Studies
from rahbo.pages.lab.study import OutdatedError

SPEC = Spec("one", {"x": rahbo.Float(0.0, 1.0)}, {"seed": 0})


@pytest.fixture
def studies(tmp_path):
    found = Studies(tmp_path)
    yield found
    found.close_all()


def test_journals_and_nothing_else_are_listed(studies, tmp_path):
    assert studies.listed() == []
    assert studies.begin(SPEC) == "one"
    rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=tmp_path / "b.jsonl").close()
    with (tmp_path / "b.jsonl").open("a") as file:
        file.write("damaged\nmore\n")
    for name in ("other.jsonl", "one.notes.jsonl", "notes.txt"):
        (tmp_path / name).write_text("{}\n")
    (tmp_path / "folder.jsonl").mkdir()
    damaged, one = studies.listed()
    assert one == {"name": "one", "evaluations": 0, "open": True}
    assert "is damaged" in damaged["evaluations"]


def test_a_study_is_begun_once(studies):
    studies.begin(SPEC)
    with pytest.raises(SettingsError, match="already a study"):
        studies.begin(SPEC)
    with pytest.raises(KeyError):
        studies.study("two")
    with pytest.raises(KeyError):
        studies.close("two")


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_study_is_begun_again_after_its_journal_was_deleted(studies, tmp_path, is_closed):
    studies.begin(SPEC)
    first = studies.study("one")
    if is_closed:
        studies.close("one")
    (tmp_path / "one.jsonl").unlink()
    assert studies.begin(SPEC) == "one"
    again = studies.study("one")
    assert again is not None
    assert again is not first
    with pytest.raises(OutdatedError, match="closed"):
        first.skip(0)
    assert studies.listed() == [{"name": "one", "evaluations": 0, "open": True}]


def test_one_journal_alone(tmp_path):
    rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=tmp_path / "a.jsonl").close()
    studies = Studies(tmp_path, tmp_path / "b.jsonl")
    assert list(studies.paths()) == ["b"]
    with pytest.raises(SettingsError, match="one study"):
        studies.begin(SPEC)


def test_the_live_page_of_a_study_is_made_once(studies):
    studies.begin(SPEC)
    assert studies.live("one") is studies.live("one")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_no_journal(studies, tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    studies.begin(SPEC)
    assert list(studies.paths()) == ["one"]


def test_a_journal_that_was_left_empty_takes_no_name(studies, tmp_path):
    (tmp_path / "one.jsonl").touch()
    assert studies.begin(SPEC) == "one"
    assert [each["name"] for each in studies.listed()] == ["one"]
