"""Records as HTML for notebooks."""

import re
from html.parser import HTMLParser

import pytest

import rahbo
from rahbo.analysis import paragraph, shown, table, visible

EVIL = '<script>alert("1")</script>&\u202e'


class Reader(HTMLParser):
    """Checks that elements are closed in order, and collects tags and text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.styles, self.text = [], [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.styles += [value for name, value in attrs if name == "style"]
        assert {name for name, _ in attrs} <= {"style", "scope"}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + " "


@pytest.fixture(scope="module")
def run():
    opt = rahbo.Optimizer(
        {EVIL: (0.0, 1.0), "kind": [EVIL, "b"]}, seed=0, constraints={"<loss>": rahbo.AtMost(5.0)}
    )
    for x in (0.1, 0.3, 0.6, 0.9):
        outcomes = {"<loss>": [1.0 + x, 1.2]}
        opt.tell({EVIL: x, "kind": EVIL}, [x, x + 0.1], outcomes=outcomes, block=["<p>", "q"])
    return opt


def records(opt):
    return [opt.recommend(), opt.recommend(rule="best_observed"), opt.frontier(), opt.diagnose(),
            opt.predict({EVIL: 0.5, "kind": "b"})]  # fmt: skip


def test_tables_have_no_scripts_no_colours_and_only_escaped_text(run):
    for record in records(run):
        found = Reader(record._repr_html_())
        assert set(found.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "p"}
        assert set(found.styles) <= {"text-align:left"}
        assert "\u202e" not in found.text
    assert '<script>alert("1")</script>&' in Reader(run.recommend()._repr_html_()).text


def test_tables_say_what_the_text_says(run):
    found = run.recommend()
    text = Reader(found._repr_html_()).text
    for estimate in found.estimates:
        assert estimate.value in text
        assert f"{estimate.lower} to {estimate.upper}" in text
    assert f"Measured 2 times ({found.tried_in})." in text
    assert "Blocks differ" in text
    assert str(found.gain) in text
    for choice in run.frontier().choices:
        assert choice.prediction.estimates[0].value in Reader(run.frontier()._repr_html_()).text
    for question, answer in run.diagnose().answers:
        said = Reader(run.diagnose()._repr_html_()).text
        assert question in said
        assert visible(answer) in said


def test_no_number_has_more_digits_than_its_interval_justifies(run):
    numbers = re.findall(r"\d+\.\d+", Reader(run.recommend()._repr_html_()).text)
    assert numbers
    assert max(len(number.partition(".")[2]) for number in numbers) <= 4


def test_pieces():
    assert paragraph("") == ""
    assert paragraph("a < b") == "<p>a &lt; b</p>"
    assert shown("\x00") == "\\x00"
    assert Reader(table(["", "<a>"], [["b", 1]])).text.split() == ["<a>", "b", "1"]
