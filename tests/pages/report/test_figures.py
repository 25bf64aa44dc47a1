"""The figures and tables of a report in a browser: what a reader sees of them."""

import re
from importlib.resources import files

import numpy as np
import pytest

from browser import Page, needs_chromium
from rahbo import Categorical, Context, Float, Int, Optimizer

pytestmark = [needs_chromium, pytest.mark.slow]

MIXED = {
    "lr": Float(3e-3, 4e-2, log=True),
    "depth": Int(1, 4),
    "kind": Categorical(["adam", "sgd"]),
}
TICKS = "[...document.querySelectorAll('#{} .{}tick text')].map((t) => t.textContent)"


def told(space, n=24, noise_std=0.1, *, outlier=None, failures=0, **settings) -> Optimizer:
    """A run of two values a point, the last points of which fail."""
    rng = np.random.default_rng(5)
    optimizer = Optimizer(space, seed=0, **settings)
    cube = optimizer.settings.space
    for i, x in enumerate(cube.from_uniform(rng.random((n, cube.n_uniform)))):
        y = 5.0 + np.sin(3.0 * x[0]) + noise_std * rng.standard_normal(2)
        if i >= n - failures:
            optimizer.tell_failure(cube.decode(x), "beam trip")
        else:
            optimizer.tell(cube.decode(x), (y + (outlier or 0.0) * (i == n // 2)).tolist())
    return optimizer


def caption(page: Page, name: str) -> str:
    return page.evaluate(f"document.getElementById('{name}-caption').textContent")


@pytest.mark.parametrize(("width", "d"), [(1280, 5), (1280, 30), (390, 12)])
def test_results_are_read_without_scrolling(opened, width, d):
    page = opened(told({f"parameter_{i}": Float(0.0, 1.0) for i in range(d)}, 8), width)
    heads = page.evaluate(
        "[...document.querySelectorAll('#points-table th')].map("
        "(h) => [h.textContent, h.getBoundingClientRect().right])"
    )
    names = [name for name, _ in heads]
    assert names[:2] == ["mean", "noise std"]
    # Settings of many parameters are columns, and are whole on a small screen too.
    use = "[...document.querySelectorAll('#use dd')].map((e) => e.getBoundingClientRect().right)"
    assert len(page.evaluate(use)) == d
    assert max(page.evaluate(use)) <= width
    others = (
        "[...document.querySelectorAll('.stacked td.point')]"
        ".map((c) => c.getBoundingClientRect().right)"
    )
    assert max(page.evaluate(others), default=0) <= width
    assert names[-d:] == [f"parameter_{i}" for i in range(d)]
    visible = [name for name, right in heads if right <= width]
    assert len(visible) >= (6 if width == 1280 else 1)
    ends = (
        "[...document.querySelectorAll('main > section:first-child td.number')]"
        ".map((c) => c.getBoundingClientRect().right)"
    )
    assert max(page.evaluate(ends)) <= width
    # The digits are those that the interval justifies.
    first = page.evaluate("document.querySelector('#points-table tbody td').textContent")
    value, low, high = map(float, re.fullmatch(r"(\S+) \[(\S+), (\S+)\]", first).groups())
    decimals = len(first.split(" ")[0].split(".")[1])
    assert low <= value <= high
    assert 10.0**-decimals > 0.005 * (high - low)


def test_an_outlier_is_marked_at_the_edge_and_failures_are_apart(opened):
    space = {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}
    page = opened(told(space, outlier=5e4, failures=4), dark=True)
    for plot in ("frontier-plot", "history-plot"):
        low, high = page.evaluate(f"document.getElementById('{plot}').layout.yaxis.range")
        assert high - low < 10.0
        marks = page.evaluate(
            f"document.getElementById('{plot}').data.find((t) => t.name === 'outside the range').y"
        )
        assert all(low < mark < high for mark in marks)
    said = caption(page, "history")
    assert re.search(r"outside the range and marked by triangles at the edge: 5000\d", said)
    assert "Where the blue line leaves the plot" in said
    assert "1 mean is outside the range and marked by a triangle" in caption(page, "frontier")
    # The recommended point is the outlier. Its star can be seen, and its number is beside it.
    (label,) = page.evaluate("document.getElementById('frontier-plot').layout.annotations")
    assert re.fullmatch(r"mean 5000\d(\.\d)?", label["text"])
    # It is on the scale of the map of the mean too.
    page.choose(quantity="mean")
    assert page.evaluate("document.getElementById('map-plot').data[0].zmax") > 4e4
    star = page.evaluate("document.getElementById('frontier-plot').data[3].y[0]")
    assert star < page.evaluate("document.getElementById('frontier-plot').layout.yaxis.range[1]")
    failed = page.evaluate("document.getElementById('history-plot').data.at(-1)")
    assert (failed["name"], failed["yaxis"], len(failed["x"])) == ("failed", "y2", 4)
    strip, values = (
        page.evaluate(f"document.getElementById('history-plot').layout.{axis}.domain")
        for axis in ("yaxis2", "yaxis")
    )
    assert strip[1] < values[0]
    assert "failed" in page.evaluate(TICKS.format("history-plot", "y2"))
    assert "Crosses in the strip below" in caption(page, "history")


# The places of the words of some elements. A word that is broken has more than one.
WORDS = """[...document.querySelectorAll('{}')].flatMap((e) => {{
  const text = document.createTreeWalker(e, NodeFilter.SHOW_TEXT).nextNode();
  return [...text.data.matchAll(/\\S+/g)].map((word) => {{
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return [word[0], range.getClientRects().length];
  }});
}})"""


def test_on_a_small_screen_words_and_labels_are_whole(opened):
    space = {"kind": Categorical(["adam", "sgd"]), "x": Float(0.0, 1.0)}
    page = opened(told({**space, "temperature": Context(15.0, 25.0)}, noise_std=0.6), 390)
    heads = page.evaluate(WORDS.format(".stacked th:not(:last-child)"))
    assert ["pessimistic", 1] in heads
    assert all(n == 1 for _, n in heads)
    # The settings do not have to be moved sideways, and headings stand on one line.
    inside = "((e) => [e.scrollWidth, e.clientWidth])(document.querySelector('#repeat ~ .wide'))"
    assert page.evaluate(inside)[0] <= page.evaluate(inside)[1]
    ends = "[...document.querySelectorAll('#points-table th')].map((h) => getComputedStyle(h)"
    assert set(page.evaluate(f"{ends}.verticalAlign)")) == {"bottom"}
    # The arrow stays with its word.
    sorted_by = page.evaluate("document.querySelector('[aria-sort=descending]').textContent")
    assert sorted_by == "pessimistic value\u00a0↓"
    page = opened(told({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, outlier=5e4), 390)
    assert "e+" not in page.evaluate("document.querySelector('main > section').innerText")
    label = page.evaluate(
        "((e) => [e.left, e.right])(document.querySelector('#frontier-plot .annotation-text')"
        ".getBoundingClientRect())"
    )
    assert 0.0 <= label[0] < label[1] <= 390.0


def test_each_kind_of_input_has_its_own_ticks_and_its_own_caption(opened):
    page = opened(told(MIXED))
    page.choose(across="0", up="1")
    assert page.evaluate(TICKS.format("map-plot", "x")) == (
        ["0.003", "0.005", "0.01", "0.02", "0.03"]
    )
    assert page.evaluate(TICKS.format("map-plot", "y")) == ["1", "2", "3", "4"]
    assert caption(page, "map").startswith(
        "Colour: the noise standard deviation. Dots: evaluated points, whatever their other inputs."
    )
    assert "The other input stays at its recommended value." in page.text()
    page.choose(across="2", up="")
    assert page.evaluate(TICKS.format("map-plot", "x")) == ["adam", "sgd"]
    assert caption(page, "map") == "Bars: the 90 % interval. Star: the recommended point."
    page.choose(across="0", up="")
    assert caption(page, "map") == "Band: the 90 % interval. Star: the recommended point."
    # The line goes through the star, wherever its grid lies.
    line, star = page.evaluate("document.getElementById('map-plot').data.slice(-2)")
    assert line["y"][line["x"].index(star["x"][0])] == star["y"][0]
    legend = "[...document.querySelectorAll('#map-plot .legendtext')].map((t) => t.textContent)"
    assert set(page.evaluate(legend)) == {"90 % interval", "estimate", "recommended"}
    assert "triangles" not in page.text()


def test_even_noise_does_not_get_all_colours_and_marks_are_seen_on_them(opened):
    page = opened(told({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, noise_std=0.0026))
    page.choose(quantity="noise")
    # A map ends where its inputs do.
    for axis in ("xaxis", "yaxis"):
        assert page.evaluate(f"document.getElementById('map-plot').layout.{axis}.range") == [0, 1]
    assert "over the whole space" in page.text()
    found = page.evaluate(
        "((t) => [t.zmin, t.zmax, Math.min(...t.z.flat()), Math.max(...t.z.flat())])"
        "(document.getElementById('map-plot').data[0])"
    )
    low, high, least, most = found
    assert most - least < 0.5 * (high - low)
    assert low <= least < most <= high
    page.choose(quantity="mean")
    low, high, least, most = page.evaluate(
        "((t) => [t.zmin, t.zmax, Math.min(...t.z.flat()), Math.max(...t.z.flat())])"
        "(document.getElementById('map-plot').data[0])"
    )
    # The mean differs by far more than its intervals are wide, so it has all colours.
    assert most - least > 0.9 * (high - low)
    marks = page.evaluate("document.getElementById('map-plot').data[1].marker")
    assert (marks["color"], marks["line"]["color"]) == ("#ffffff", "#000000")


def test_one_value_of_one_input_and_conditions_say_what_is_there(opened):
    page = opened(told({"x": Float(0.0, 1.0)}, 1))
    assert page.evaluate(TICKS.format("history-plot", "x")) == ["1", "2"]
    assert not page.evaluate("document.getElementById('up-label').checkVisibility()")
    assert caption(page, "frontier") == "There is one point, with its 90 % intervals."
    assert "No other setting has been evaluated." in page.text()
    assert "other input" not in page.text()
    page = opened(told({"x": Float(0.0, 1.0), "room": Context(15.0, 25.0)}, 12))
    choice = page.evaluate("document.getElementById('choice').textContent")
    assert re.search(r"use x = \S+ \(tried at room = \S+\)", choice)
    assert "as in this report" not in choice
    assert "room (given)" in page.evaluate("document.getElementById('points-table').textContent")
    assert "under the conditions in which it was tried" in caption(page, "frontier")


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_marks_are_visible_on_light_and_on_dark():
    style = (files("rahbo.pages") / "style.css").read_text("utf-8")
    schemes = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)[:2]
    for scheme in schemes:
        colour = dict(re.findall(r"--(\w+): (#\w{6});", scheme))
        paper = luminance(colour["paper"])
        for name in ("faint", "blue", "red", "green"):
            light, shade = sorted((luminance(colour[name]), paper), reverse=True)
            assert (light + 0.05) / (shade + 0.05) >= 4.5, name
