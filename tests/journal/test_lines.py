"""Lines with checksums: no damage outside the last line is read."""

import contextlib
import json
from zlib import crc32

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import rahbo
from journal_lines import CHECKSUM
from rahbo.errors import JournalError
from rahbo.journal import parse
from rahbo.journal.lines import line_of
from rahbo.journal.texts import encoded

HEADER = {"event": "run", "format": 2, "settings": {}}


def written(*events):
    return b"".join(line_of(encoded(event), number) for number, event in enumerate(events, 1))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The journal of a run with every kind of event."""
    path = tmp_path_factory.mktemp("journal") / "run.jsonl"
    opt = rahbo.Optimizer({"x": (0.0, 2.0), "crc32": ["a", "b"]}, repeats=2, seed=0, journal=path)
    opt.tell(opt.ask(), [0.5, 0.25])
    opt.tell_failure(opt.ask(), "beam trip", repeat=0)
    opt.cancel(1)
    opt.tell({"x": 1.0, "crc32": "a"}, 1.0)
    for _ in range(12):
        suggestion = opt.ask()
        opt.tell(suggestion, [suggestion.params["x"], 0.1])
    opt.close()
    return path.read_bytes()


def test_a_line_is_json_and_its_checksum_is_that_of_zlib():
    line = line_of('{"event":"tell","id":0}', 3)
    body = b'{"event":"tell","id":0'
    assert line == body + b',"crc32":"%08x"}\n' % crc32(body, 3)
    assert json.loads(line)["id"] == 0


def test_single_flipped_bits_are_refused_everywhere_but_in_the_last_line(recorded):
    """In the last line, those that destroy its end look as if the line was never completed."""
    events, size = parse(recorded, "run.jsonl")
    assert size == len(recorded)
    last = recorded.rindex(b"\n", 0, -1) + 1
    rng = np.random.default_rng(0)
    for place in rng.integers(0, 8 * len(recorded), 2000):
        flipped = bytearray(recorded)
        flipped[place // 8] ^= 1 << (place % 8)
        if place // 8 < len(recorded) - len(',"crc32":"89abcdef"}\n'):
            with pytest.raises(JournalError, match=r"run\.jsonl"):
                parse(bytes(flipped), "run.jsonl")
            continue
        with contextlib.suppress(JournalError):
            assert parse(bytes(flipped), "run.jsonl") == (events[:-1], last)


def test_every_bit_of_a_small_journal_is_guarded():
    content = written(HEADER, {"event": "cancel", "id": 0}, {"event": "cancel", "id": 1})
    last = content.rindex(b"\n", 0, -1) + 1
    for place in range(8 * last):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << (place % 8)
        with pytest.raises(JournalError):
            parse(bytes(flipped), "run.jsonl")


@given(st.data())
@settings(max_examples=100)
def test_lines_that_are_missing_doubled_or_exchanged_are_refused(recorded, data):
    lines = recorded.splitlines(keepends=True)
    first, second = data.draw(
        st.lists(st.integers(1, len(lines) - 2), min_size=2, max_size=2, unique=True)
    )
    exchanged = list(lines)
    exchanged[first], exchanged[second] = lines[second], lines[first]
    missing = [*lines[:first], *lines[first + 1 :]]
    doubled = [*lines[:first], lines[first], *lines[first:]]
    for changed in (exchanged, missing, doubled):
        with pytest.raises(JournalError, match="its checksum does not match"):
            parse(b"".join(changed), "run.jsonl")


def test_the_rest_of_a_file_is_read_from_any_line_on(recorded):
    lines = recorded.splitlines(keepends=True)
    events = parse(recorded, "run.jsonl")[0]
    for before in range(1, len(lines)):
        assert parse(b"".join(lines[before:]), "run.jsonl", before)[0] == events[before:]
        with pytest.raises(JournalError, match=f"line {before + 2}, is damaged"):
            parse(b"".join(lines[before:]) + b"{}\n", "run.jsonl", before + 1)


def test_every_line_needs_a_checksum(recorded):
    bare = CHECKSUM.sub(b"}", recorded)
    with pytest.raises(JournalError, match="line 1, is damaged: its checksum is missing"):
        parse(bare, "run.jsonl")
    with pytest.raises(JournalError, match=r"run.jsonl has format 99, .* Update rahbo"):
        parse(bare.replace(b'"format":2', b'"format":99', 1), "run.jsonl")


def test_a_parameter_called_crc32_is_only_a_parameter():
    event = {"event": "ask", "params": {"x": 1, "crc32": "89abcdef"}, "own_bound": None}
    content = written(HEADER, event, {"event": "cancel", "id": 0})
    assert parse(content, "run.jsonl")[0][1] == encoded(event)
    torn = content[:-5] + b"\n"
    assert len(parse(torn, "run.jsonl")[0]) == 2


def test_a_whole_last_line_that_was_changed_is_damage_and_not_torn(recorded):
    last = recorded.rindex(b"\n", 0, -1) + 1
    for end in (
        recorded[last:].replace(b"0.1", b"0.2"),
        recorded[last:].replace(b"{", b"[", 1),
        b'{"event":"cancel","id":0}\n',
        recorded[last:].replace(b"0.1", b"9" * 5000),
    ):
        with pytest.raises(JournalError, match="is damaged"):
            parse(recorded[:last] + end, "run.jsonl")


def test_a_last_line_with_zeros_for_lost_data_is_torn(recorded):
    last = recorded.rindex(b"\n", 0, -1) + 1
    line = recorded[last:]
    zeros = b"\0" * 20 + line[20:]
    assert parse(recorded[:last] + zeros, "run.jsonl")[1] == last
