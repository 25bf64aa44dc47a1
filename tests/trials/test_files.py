import os
import stat
from pathlib import Path

import pytest

from rahbo.errors import SettingsError
from rahbo.trials.files import write_whole


def test_a_file_is_written_and_replaced(tmp_path):
    file = tmp_path / "a.txt"
    assert write_whole(str(file), b"one") == file
    if os.name == "posix":
        file.chmod(0o640)
    write_whole(file, b"two")
    assert file.read_bytes() == b"two"
    assert os.name != "posix" or stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [file]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "a.txt"
    file.write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SettingsError, match=r"a\.txt' cannot be written: No space left"):
        write_whole(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_the_home_folder_has_a_short_name(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert write_whole("~/a.txt", b"one") == tmp_path / "a.txt"
    assert (tmp_path / "a.txt").read_bytes() == b"one"


def test_what_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for path, why in (
        (tmp_path / "absent" / "a.txt", "there is no folder '.*absent'"),
        (tmp_path, "cannot be written"),
        (tmp_path / "file" / "a.txt", "cannot be written"),
        ("a\0b", "cannot be written"),
        ("~no-such-user-here/a.txt", "cannot be written"),
    ):
        with pytest.raises(SettingsError, match=why):
            write_whole(path, b"one")


@pytest.mark.skipif(os.name != "posix", reason="needs links and devices")
def test_links_stay_and_devices_are_written_directly(tmp_path):
    (tmp_path / "real").write_bytes(b"one")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert write_whole(tmp_path / "link", b"two") == tmp_path / "link"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"two"
    write_whole("/dev/null", b"one")
    assert not Path("/dev/null").is_file()
