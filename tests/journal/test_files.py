"""Files with one writer: locks, whole writes, and what a fork may not do."""

import os

import pytest

from rahbo.errors import JournalError, SettingsError
from rahbo.journal import FileStorage, full_name
from rahbo.journal.files import append, contents, flush_folder, open_locked, release
from rahbo.testing import check_storage


@pytest.mark.slow
def test_a_file_keeps_what_a_storage_promises(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    check_storage(lambda: FileStorage(tmp_path / "run.jsonl"))


@pytest.fixture
def name(tmp_path):
    return str(tmp_path / "file")


def test_what_is_appended_is_there_whole(name, monkeypatch):
    fd, write = open_locked(name), os.write
    # The system may take less than it is given.
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    append(fd, b"0123456789")
    append(fd, b"ab")
    assert contents(name) == b"0123456789ab"
    release(fd)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_and_folders_are_no_files(name, tmp_path):
    os.mkfifo(name)
    for use in (open_locked, contents):
        with pytest.raises(JournalError, match="regular"):
            use(name)
        with pytest.raises(JournalError, match=r"regular|cannot be written"):
            use(str(tmp_path))


def test_a_file_system_without_locks_is_named(name, monkeypatch):
    def unsupported(fd):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("rahbo.journal.files.lock", unsupported)
    with pytest.raises(JournalError, match=r"cannot be locked.*file system that supports locks"):
        open_locked(name)
    assert not os.path.exists(name)
    with open(name, "wb") as file:
        file.write(b"mine")
    with pytest.raises(JournalError, match="cannot be locked"):
        open_locked(name)
    assert contents(name) == b"mine"


def test_names_are_absolute_and_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert full_name("run.jsonl") == str(tmp_path / "run.jsonl")
    assert full_name(tmp_path / "run.jsonl") == str(tmp_path / "run.jsonl")
    with pytest.raises(SettingsError, match="name of a file"):
        full_name(None)


def test_folders_are_flushed_where_they_can_be(name, tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda fd: flushed.append(os.fstat(fd).st_ino))
    flush_folder(name)
    flush_folder("/no/such/folder/file")
    assert flushed == [tmp_path.stat().st_ino]
