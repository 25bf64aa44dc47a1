"""What the documentation shows is compared with what its code prints."""

import pytest

from shown import agree, commands, differences, programs, table_before, with_outputs, wording

PAGE = """# A
```python
print(1)
```

It prints, for example:

```text
1.5
```

```sh
ls
```

```text
a file
```
```python
b = 2

c = 3
```
"""


def test_a_block_of_text_belongs_to_the_python_block_before_it() -> None:
    (first, shown), (second, nothing) = programs(PAGE)
    assert (first.line, first.source) == (2, "print(1)\n")
    assert shown is not None
    assert (shown.source, shown.example) == ("1.5\n", True)
    assert (second.source, nothing) == ("b = 2\n\nc = 3\n", None)


def test_a_command_on_a_table_is_checked() -> None:
    first = "```csv\nx,value\n1,2\n```\n\n```sh\nrahbo doctor past.csv\n```\n\n```text\nyes\n```\n"
    rest = (
        "```sh\nrahbo tune \\\n  a.csv\n```\n\n```text\nno\n```\n\n```sh\nrahbo doctor b.csv\n```\n"
    )
    ((block, shown),) = commands(first + rest)
    assert shown is not None
    assert (block.source, shown.source) == ("rahbo doctor past.csv\n", "yes\n")
    assert table_before(first + rest, block) == "x,value\n1,2\n"
    written = with_outputs(first + rest, [["no"]], commands(first + rest))
    assert written == first.replace("yes", "no") + rest


def test_the_wording_of_a_line_is_the_same_for_one_and_for_many() -> None:
    assert wording("measured   1   time") == wording("measured  12   times") == "measured # times"


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        # As far as another processor rounds.
        ("mean 0.954", "mean   0.956", True),
        ("alpha to inf, -0.02", "alpha to inf, 0.01", True),
        ("x=0.639408", "x=0.64", True),
        ("2e+02 or more", "2.05e+02 or more", True),
        ("The expected gain is 0.12345.", "The expected gain is 0.11111.", True),
        ("mean 0.954", "mean 0.99", False),
        ("at 60 points", "at 68 points", False),
        ("The expected gain is 0.12345.", "The expected gain is 0.09.", False),
        ("0 to inf", "0 to 7.2", False),
        ("mean 1", "noise 1", False),
        ("catalyst=A", "catalyst=B", False),
        ("1 2", "1", False),
    ],
)
def test_numbers_agree_as_far_as_they_are_justified_and_words_exactly(shown, printed, same):
    assert agree(shown, printed) == same


def test_an_example_has_the_right_words() -> None:
    assert not differences(["x=1"], ["x=7"], example=True)
    assert differences(["x=1"], ["y=7"], example=True)


@pytest.mark.parametrize(
    "shown", [["a 1", "b 2", "c 3"], ["a 1", "..."], ["...", "c 3"], ["...", "b 2", "..."]]
)
def test_lines_may_be_left_out_only_where_the_page_says_so(shown) -> None:
    printed = ["a 1", "b 2", "c 3"]
    assert not differences(shown, printed)
    assert differences([line for line in shown if line != "..."], [*printed, "d 4"])
    assert differences([*shown, "e 5"], printed)


def test_outputs_are_written_where_they_are_wrong_or_missing() -> None:
    page = "```python\na\n```\n\n```text\nx 1\n...\nz 3\n```\n\n```python\nb\n```\nend\n"
    written = with_outputs(page, [["x 9", "y 8", "z 7"], ["new 1"]])
    assert written == (
        "```python\na\n```\n\n```text\nx 9\n...\nz 7\n```\n\n"
        "```python\nb\n```\n\nIt prints:\n\n```text\nnew 1\n```\nend\n"
    )
    assert with_outputs(written, [["x 9.01", "y 0", "z 7"], ["new 1"]]) == written
    changed = with_outputs(page, [["all", "else"], []])
    assert "```text\nall\nelse\n```" in changed
