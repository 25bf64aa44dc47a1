"""Settings to run first, as options and as files."""

import pytest

from rahbo.cli import first
from rahbo.cli.first import first_in
from rahbo.errors import SettingsError, SpaceError
from rahbo.space import Categorical, Float, Int

SPACE = {"lr": Float(1e-4, 1.0, log=True), "depth": Int(1, 8), "kind": Categorical(["a", "b, c"])}
A, B = {"lr": 0.1, "depth": 3, "kind": "a"}, {"lr": 0.01, "depth": 8, "kind": "b, c"}


def test_settings_are_written_out_or_in_a_file(tmp_path):
    table = tmp_path / "first.csv"
    # As a spreadsheet saves it, with a mark at the start; other columns are ignored.
    text = 'depth,lr,note,kind\r\n3,0.1,today,a\r\n8, 1e-2 ,,"b, c"\r\n3,0.10,again,a\r\n'
    table.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert first_in([str(table)], SPACE) == [A, B]
    assert first_in(["lr=0.1, depth=3, kind=a", str(table)], SPACE) == [A, B]
    assert first_in(["lr=0.5,depth=1,kind=a", "lr=0.1,depth=3.0,kind=a"], SPACE)[1] == A
    assert first_in([], SPACE) == []
    assert type(first_in([str(table)], SPACE)[0]["depth"]) is int


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", SettingsError, "needs a column .* has none for lr, depth, kind"),
        ("lr,depth\n0.1,3\n", SettingsError, "has none for kind. Its first row must name"),
        ("lr;depth;kind\n0.1;3;a\n", SettingsError, "separated by commas"),
        ("lr,depth,kind\n0.1,3,a\n7,3,a\n", SpaceError, "line 3: lr=7.0 is outside"),
        ("lr,depth,kind\n0.1,many,a\n", SpaceError, "line 2: depth='many' must be a number"),
        ("lr,depth,kind\n0.1,3.5,a\n", SpaceError, "line 2: depth=3.5"),
        ("lr,depth,kind\n0.1,3\n", SpaceError, "line 2: kind='' is not a choice"),
        ("lr,depth,kind\nnan,3,a\n", SpaceError, "line 2: lr=nan"),
        ('lr,depth,kind\n0.1,3,"a\n', SettingsError, "must be a CSV file in UTF-8"),
    ],
)
def test_a_wrong_file_says_where_it_is_wrong(text, error, said, tmp_path):
    table = tmp_path / "first.csv"
    table.write_text(text)
    with pytest.raises(error, match=f"--try-first.*{said}"):
        first_in([str(table)], SPACE)


def test_what_is_no_table_is_refused(tmp_path, monkeypatch):
    table = tmp_path / "first.csv"
    for text in ("none.csv", str(tmp_path), "0.1", "", "x" * 5000):
        with pytest.raises(SettingsError, match="--try-first"):
            first_in([text], SPACE)
    with pytest.raises(SpaceError, match="--try-first: A setting must name each"):
        first_in(["lr=0.1"], SPACE)
    table.write_bytes(b"lr,depth,kind\n\xff,3,a\n")
    with pytest.raises(SettingsError, match="UTF-8"):
        first_in([str(table)], SPACE)
    monkeypatch.setattr(first, "MOST_ROWS", 2)
    table.write_text("lr,depth,kind\n" + "0.1,3,a\n" * 3)
    with pytest.raises(SettingsError, match="more than 2 rows"):
        first_in([str(table)], SPACE)
