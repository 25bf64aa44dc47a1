"""Records on disk."""

import json
import subprocess

import pytest

from rahbo.errors import DataError
from rahbo.experiments import Case, Store, records

CASE = Case("sine", "gpucb", 0.0, 2, 1, 2, 7)
ROUNDS = [{"round": i, "tried": {"f": 0.1 * i}} for i in range(3)]


def test_what_is_written_is_read_and_stamped(tmp_path):
    store = Store(tmp_path)
    assert store.missing([CASE]) == [CASE]
    store.write(CASE, ROUNDS)
    assert store.missing([CASE]) == []
    found = store.read(CASE)
    assert [{key: r[key] for key in ("round", "tried")} for r in found] == ROUNDS
    assert {"version", "commit"} <= set(found[0])
    assert (found[2]["seed"], found[2]["method"], found[2]["repeats"]) == (7, "gpucb", 2)
    assert store.first(CASE) == found[0]
    lines = store.path(CASE).read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == found


def test_a_write_that_fails_leaves_the_case_missing(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(TypeError):
        store.write(CASE, [*ROUNDS[:2], {"round": object()}])
    assert store.missing([CASE]) == [CASE]
    assert list(tmp_path.rglob("*.*")) == []


@pytest.mark.parametrize("text", ["", "{}\n{}\n", '{"a": 1}\n{"b"'])
def test_half_a_file_is_refused_by_name(tmp_path, text):
    store = Store(tmp_path)
    store.path(CASE).parent.mkdir(parents=True)
    store.path(CASE).write_text(text, "utf-8")
    with pytest.raises(DataError, match=r"seed07\.jsonl"):
        store.read(CASE)


def test_no_file_is_refused_by_name(tmp_path):
    for read in (Store(tmp_path).read, Store(tmp_path).first):
        with pytest.raises(DataError, match=r"seed07\.jsonl"):
            read(CASE)


def test_outside_a_checkout_the_commit_is_unknown(monkeypatch):
    def fail(*args, **kwargs):
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setattr(subprocess, "run", fail)
    records.source_commit.cache_clear()
    assert records.source_commit() == "unknown"
    records.source_commit.cache_clear()
