import json
import os

import pytest

import rahbo
from journal_lines import checked
from rahbo.journal import read
from rahbo.journal.lines import line_of
from rahbo.journal.texts import encoded
from rahbo.pages.watch import follow
from rahbo.pages.watch.follow import Arrival, Follower
from work import lines_run

SPACE = {"x": (0.0, 1.0), "kind": ["a", "b"]}


def begun(path, seed=0, rounds=3):
    """A run that goes on."""
    opt = rahbo.Optimizer(SPACE, repeats=2, seed=seed, journal=path)
    for i in range(rounds):
        opt.tell(opt.ask(), [float(i), i + 0.5])
    return opt


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


def looked(path):
    """A follower after its first look."""
    follower = Follower(path)
    follower.look()
    return follower


def as_read(follower):
    """What was followed, in a form that can be compared."""
    trials = [follower.trial(i) for i in range(follower.n_trials)]
    return list(map(parts_of, trials))


def as_journal(path):
    return list(map(parts_of, read(path)[1]))


def parts_of(t):
    return t.id, t.params, t.evaluations, times_of(t), t.cancelled


def times_of(t):
    return [told.time for told in t.evaluations.values()]


def test_what_is_new_is_taken(path):
    opt = begun(path)
    follower = looked(path)
    assert follower.problem == ""
    assert as_read(follower) == as_journal(path)
    suggestion = opt.ask()
    opt.tell(suggestion, 7.0, repeat=1)
    follower.look()
    assert as_read(follower) == as_journal(path)
    assert follower.arrivals[-1] == Arrival(suggestion.id, 1, 7.0)
    assert follower.unsettled == {suggestion.id}
    assert follower.outstanding(suggestion.id) == 1
    opt.tell_failure(suggestion, "beam trip")
    follower.look()
    assert follower.arrivals[-1] == Arrival(suggestion.id, 0, None)
    assert not follower.unsettled
    opt.cancel(opt.ask())
    follower.look()
    assert not follower.unsettled
    assert follower.epoch == 1
    opt.close()


def test_what_was_read_is_not_read_again(path):
    opt = begun(path, rounds=40)
    follower = looked(path)
    # Far from both ends of what was read, so that only reading it again would show it.
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:40], lines[40].replace(b'"', b"'", 1), *lines[41:]]))
    opt.tell(opt.ask(), [7.0, 8.0])
    opt.close()
    follower.look()
    assert (follower.problem, len(follower.arrivals)) == ("", 82)
    assert "line 41, is damaged" in looked(path).problem


def test_every_prefix_of_a_journal_leads_to_the_same(path, tmp_path):
    opt = begun(path)
    opt.tell_failure(opt.ask(), "no beam")
    opt.close()
    raw, grown = path.read_bytes(), tmp_path / "grown.jsonl"
    follower = Follower(grown)
    for end in [*range(0, len(raw), 97), len(raw)]:
        with grown.open("ab") as file:
            file.write(raw[grown.stat().st_size : end])
        follower.look()
        assert follower.problem == "" or "holds no run yet" in follower.problem
    assert as_read(follower) == as_journal(path)
    assert all(all(times_of(follower.trial(i))) for i in range(follower.n_trials))
    assert [a.value for a in follower.arrivals] == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, None, None]


def test_a_file_that_is_not_there_yet(path):
    follower = looked(path)
    assert "There is no file" in follower.problem
    assert follower.written is None
    begun(path).close()
    follower.look()
    assert follower.problem == ""
    assert len(follower.arrivals) == 6


def test_a_file_that_is_away_for_a_while_is_not_read_again(path):
    begun(path).close()
    follower = looked(path)
    aside = path.with_suffix(".1")
    path.rename(aside)
    follower.look()
    assert "There is no file" in follower.problem
    assert len(follower.arrivals) == 6
    aside.rename(path)
    follower.look()
    assert follower.problem == ""
    assert (follower.epoch, len(follower.arrivals)) == (1, 6)


def rotated(path):
    path.rename(path.with_suffix(".1"))
    begun(path, seed=1, rounds=2).close()


def replaced(path):
    other = path.with_suffix(".new")
    begun(other, seed=1, rounds=2).close()
    os.replace(other, path)


def overwritten(path):
    """The same file with longer contents, so that only these tell."""
    other = path.with_suffix(".new")
    begun(other, seed=1, rounds=8).close()
    path.write_bytes(other.read_bytes())


def emptied_and_begun(path):
    os.truncate(path, 0)
    begun(path, seed=1, rounds=2).close()


@pytest.mark.parametrize("change", [rotated, replaced, overwritten, emptied_and_begun])
def test_another_run_takes_the_place_of_the_first(path, change):
    begun(path).close()
    follower = looked(path)
    first = follower.arrivals
    change(path)
    follower.look()
    assert follower.problem == ""
    assert follower.epoch == 2
    assert follower.keywords["seed"] == 1
    assert follower.arrivals is not first
    assert as_read(follower) == as_journal(path)


def test_a_file_cut_short(path):
    begun(path).close()
    follower = looked(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    follower.look()
    assert follower.epoch == 2
    assert len(follower.arrivals) == 2
    path.write_bytes(b"")
    follower.look()
    assert "holds no run yet" in follower.problem
    path.write_bytes(b"".join(lines))
    follower.look()
    assert follower.problem == ""
    assert len(follower.arrivals) == 6


def test_a_torn_end_is_waited_for(path):
    begun(path).close()
    follower, raw = Follower(path), path.read_bytes()
    path.write_bytes(raw[:-5])
    follower.look()
    assert (follower.problem, len(follower.arrivals)) == ("", 4)
    path.write_bytes(raw)
    follower.look()
    assert (follower.problem, len(follower.arrivals), follower.epoch) == ("", 6, 1)


def test_damage_is_said_and_gone_on_after_repair(path):
    begun(path).close()
    follower, raw = Follower(path), path.read_bytes()
    follower.look()
    with path.open("ab") as file:
        file.write(line_of(encoded({"event": "ask", "id": 99}), 8))
    follower.look()
    assert "line 8, was not written by rahbo" in follower.problem
    assert len(follower.arrivals) == 6
    follower.look()
    assert "line 8" in follower.problem
    path.rename(path.with_suffix(".1"))
    follower.look()
    assert "There is no file" in follower.problem
    path.write_bytes(raw)
    follower.look()
    assert follower.problem == ""
    assert as_read(follower) == as_journal(path)


@pytest.mark.parametrize(
    ("contents", "problem"),
    [
        (b"a,b\n1,2\n", "is not a rahbo journal"),
        (b"\x00\xff", "is not a rahbo journal"),
        (b'{"event":"run","format":99}\n', "has format 99"),
        (checked(b'{"event":"run","format":2,"settings":{}}\n'), "was not written by rahbo"),
        (b"[" * 100_000 + b"\n", "is not a rahbo journal"),
    ],
)
def test_what_is_no_journal_is_said(path, contents, problem):
    path.write_bytes(contents)
    follower = looked(path)
    assert problem in follower.problem
    begun(path.with_suffix(".new")).close()
    os.replace(path.with_suffix(".new"), path)
    follower.look()
    assert (follower.problem, len(follower.arrivals)) == ("", 6)


def test_a_folder_and_a_file_too_large_are_said(tmp_path, path):
    assert "not a regular file" in looked(tmp_path).problem
    begun(path).close()
    # Nothing is written: the rest of the file is a hole.
    os.truncate(path, follow.LARGEST_JOURNAL + 1)
    assert "too large" in looked(path).problem


def test_past_results_and_a_million_repeats(path):
    data = [({"x": 0.5, "kind": "a"}, [1.0, 2.0])]
    rahbo.Optimizer(SPACE, data=data, seed=0, journal=path).close()
    ask = {
        "event": "ask", "id": 1, "params": {"x": 0.5, "kind": "a"}, "repeats": 1_000_000,
        "source": "strategy", "own_bound": None,
    }  # fmt: skip
    ask["x"] = json.loads(path.read_text().splitlines()[0])["trials"][0]["x"]
    with path.open("ab") as file:
        file.write(line_of(encoded(ask), 2))
    follower = looked(path)
    assert follower.problem == ""
    assert [a.value for a in follower.arrivals] == [1.0, 2.0]
    assert follower.outstanding(1) == 1_000_000


def damaged_in_place(raw):
    """The same file with one character of a line in its middle changed."""
    lines = raw.splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"', b"'", 1)
    return b"".join(lines)


def test_damage_to_what_was_read_is_said_and_what_was_read_is_kept(path):
    opt = begun(path)
    for i in range(40):
        opt.tell({"x": i / 40, "kind": "a"}, float(i))
    follower, raw = Follower(path), path.read_bytes()
    follower.look()
    before = as_read(follower)
    # Far from the start and from the end, and without a change of the size.
    assert follow.MARK < len(b"".join(raw.splitlines(keepends=True)[:3])) < len(raw) - follow.MARK
    path.write_bytes(damaged_in_place(raw))
    follower.look()
    assert "line 4, is damaged" in follower.problem
    assert (as_read(follower), follower.epoch) == (before, 1)
    # The run goes on: what is new cannot be read, and nothing is lost.
    with path.open("ab") as file:
        file.write(raw.splitlines(keepends=True)[-1])
    follower.look()
    assert "line 4, is damaged" in follower.problem
    assert as_read(follower) == before
    path.write_bytes(raw)
    follower.look()
    assert follower.problem == ""
    assert as_read(follower) == as_journal(path)
    opt.tell(opt.ask(), [7.0, 8.0])
    opt.close()
    follower.look()
    assert as_read(follower) == as_journal(path)


def test_a_damaged_file_in_the_place_of_a_good_one(path):
    begun(path).close()
    follower, good = Follower(path), path.read_bytes()
    follower.look()
    before = as_read(follower)
    for bad in (b"garbage\n" * 100, damaged_in_place(good), b"\x00" * 5000, good[100:]):
        other = path.with_suffix(".new")
        other.write_bytes(bad)
        os.replace(other, path)
        for _ in range(2):
            follower.look()
            assert follower.problem != ""
            assert as_read(follower) == before
    path.write_bytes(good)
    follower.look()
    assert follower.problem == ""
    assert as_read(follower) == before


def test_the_work_to_follow_repeats_that_were_told_one_by_one_is_linear(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda fd: None)

    def work(n):
        path = tmp_path / f"{n}.jsonl"
        opt = rahbo.Optimizer({"x": (0.0, 1.0)}, repeats=n + 1, seed=0, journal=path)
        suggestion = opt.ask()
        for i in range(n):
            opt.tell(suggestion, float(i), repeat=i)
        opt.close()
        follower = Follower(path)
        taken = lines_run(follower.look)
        assert follower.n_values == n
        assert follower.unsettled == {0}
        return taken

    few, many = work(150), work(600)
    assert many < 5 * few
