"""A journal in a database."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys

import pytest

import rahbo
from rahbo.errors import JournalError
from rahbo.journal import SQLiteStorage, read
from rahbo.testing import check_storage

LINE = {"x": (0.0, 1.0)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


@pytest.mark.slow
def test_a_database_keeps_what_a_storage_promises(path):
    check_storage(lambda: SQLiteStorage(path))


def test_other_programs_can_query_the_events(path):
    opt = rahbo.Optimizer(LINE, seed=0, journal=SQLiteStorage(path))
    opt.tell({"x": 0.5}, 1.5)
    told = "SELECT event ->> '$.values.0' FROM events WHERE position = 1"
    reader = sqlite3.connect(path)
    assert reader.execute(told).fetchall() == [(1.5,)]
    reader.close()


def test_what_is_not_the_database_of_a_journal_is_refused(path):
    with pytest.raises(JournalError, match=r"run.db cannot be read: there is no such file"):
        read(SQLiteStorage(path))
    path.write_bytes(b"shopping list" * 100)
    for use in (read, lambda storage: rahbo.Optimizer(LINE, journal=storage)):
        with pytest.raises(JournalError, match=r"run.db cannot be read: file is not a database"):
            use(SQLiteStorage(path))
    assert path.read_bytes() == b"shopping list" * 100


def test_a_deleted_database_is_noticed(path):
    opt = rahbo.Optimizer(LINE, seed=0, journal=SQLiteStorage(path))
    path.unlink()
    with pytest.raises(JournalError, match="changed or deleted"):
        opt.tell({"x": 0.5}, 1.5)


HOLDS = """
import sys, time, rahbo
from rahbo.journal import SQLiteStorage
opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=SQLiteStorage(sys.argv[1]))
opt.tell(opt.ask(), 1.0, repeat=0)
print("holds", flush=True)
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_writer_in_another_process_is_respected_until_it_dies(path):
    command = [sys.executable, "-c", HOLDS, str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as process:
        try:
            assert process.stdout.readline() == "holds\n"
            with pytest.raises(JournalError, match="being written by another"):
                rahbo.Optimizer.resume(SQLiteStorage(path))
            assert len(read(SQLiteStorage(path))[1]) == 1
        finally:
            process.kill()
    with contextlib.closing(rahbo.Optimizer.resume(SQLiteStorage(path))) as opt:
        assert opt.trials[0].values == {0: 1.0}
        opt.tell(0, 2.0, repeat=1)
