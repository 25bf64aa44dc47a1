"""The numbers of the pages' scripts, in a browser."""

import json
import math
import re
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from browser import Browser, Page, needs_chromium
from rahbo.numerics import Justified, digits_of, percent

pytestmark = [needs_chromium, pytest.mark.slow]

LARGEST = sys.float_info.max
# Intervals of an axis, down to one unit in the last place and beyond.
INTERVALS = (
    (0.0, 1.0), (-3.0, 17.0), (1.0, 1.0 + 2**-52), (1.0, 1.0 + 2**-51), (-1.0, -1.0 + 2**-53),
    (1e300, np.nextafter(1e300, math.inf)), (1e-300, np.nextafter(1e-300, 1.0)), (0.0, 5e-324),
    (5e-324, 1e-323), (1e12, 1e12 + 1e-4), (-1e12 - 1e-4, -1e12), (-LARGEST, LARGEST),
    (0.0, LARGEST),
    (1e-320, 2e-320), (-1e60, 1e60), (1.0, 1.0), (0.0, 0.0), (1e300, 1e300), (2.0, 1.0),
    (math.nan, 1.0), (0.0, math.inf), (-math.inf, math.inf), (math.inf, math.inf),
)  # fmt: skip


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Page:
    script = (files("rahbo.pages") / "numbers.js").read_text("utf-8")
    file: Path = tmp_path_factory.mktemp("numbers") / "numbers.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><script>{script}</script>", "utf-8")
    return browser.page(file.as_uri())


def js(number: float) -> str:
    return str(json.dumps(float(number)))


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
@pytest.mark.parametrize("n", [4, 6])
def test_the_ticks_of_every_interval_are_few(page, interval, n):
    found = page.evaluate(f"ticks({js(interval[0])}, {js(interval[1])}, {n})")
    assert len(found) <= 2 * n
    low, high = map(float, interval)
    if high > low and math.isfinite(high / 2 - low / 2):
        # Between neighbouring numbers there is nothing to be exact with.
        margin = 1e-8 * (high / 2 - low / 2) + float(4 * np.spacing(max(abs(low), abs(high)) / 2))
        assert all(low - margin <= tick <= high + margin for tick in found)
    else:
        assert found == []


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
def test_in_its_frame_every_interval_has_ticks_that_can_be_read(page, interval):
    """As the live page draws values: whatever they are, the axis has several different labels."""
    numbers = f"[{', '.join(map(js, interval))}, null]"
    drawn = page.evaluate(
        f"""(() => {{
          const frame = frameOf({numbers}), all = {numbers}.map(frame.at), found = extent(all);
          if (found === null) return null;
          const room = 0.05 * (found.high - found.low) || found.size * 0.1 || 1;
          const marks = ticks(found.low - room, found.high + room, 5);
          return [all, marks.map((tick) => number(tick, digitsOf(marks))), frame.title("value")];
        }})()"""
    )
    if drawn is None:
        assert not any(map(math.isfinite, interval))
        return
    places, labels, title = drawn
    assert 2 <= len(labels) == len(set(labels)) <= 10
    assert max(map(len, labels)) <= 12
    assert title.startswith("value")
    finite = [place for place in places if place is not None]
    assert len(finite) == sum(map(math.isfinite, interval))
    # Numbers that differ are drawn apart, in their order.
    assert (len(finite) < 2) or np.sign(finite[1] - finite[0]) == np.sign(interval[1] - interval[0])


def test_ordinary_numbers_are_drawn_as_they_are(page):
    assert page.evaluate("[3, 4.5, null].map(frameOf([3, 4.5, null]).at)") == [3, 4.5, None]
    assert page.evaluate("frameOf([3, 4.5]).title('mean')") == "mean"
    assert page.evaluate("frameOf([]).at(2)") == 2
    told = "frameOf([1e12, 1e12 + 1e-4]).title('mean')"
    assert page.evaluate(told) == "mean − 1000000000000"
    assert page.evaluate("frameOf([1e-200]).title('mean')") == "mean, in units of 1e-200"


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
def test_the_digits_are_those_of_the_package(page, interval):
    assert page.evaluate(f"digitsOf([{', '.join(map(js, interval))}], 6)") == digits_of(interval)


def test_whole_numbers_have_whole_ticks(page):
    assert page.evaluate("ticks(1, 2, 6, 1)") == [1, 2]
    assert page.evaluate("ticks(1, 3, 6)") == [1, 1.5, 2, 2.5, 3]


# An estimate and its interval: ordinary, one-sided, very large, very small, exact, unknown.
ESTIMATES = (
    (26.7386, 26.1173, 27.3599), (1.0069, 0.98836, 1.0262), (-0.0004, -0.05, 0.06),
    (56789.0, 56212.3, 57399.0), (3.21e12, 3.0e12, 3.4e12), (2e-7, 1e-7, 3e-7), (0.05, 0.01, 3.2),
    (0.123456789, 0.123456789, 0.123456789), (1.5, -math.inf, math.inf), (0.0, -1e-9, 1e-9),
    (-26.7386, -27.3599, -26.1173),
)  # fmt: skip


@pytest.mark.parametrize("estimate", ESTIMATES, ids=str)
def test_estimates_have_the_digits_of_the_package(page, estimate):
    value, *ends = estimate
    show = Justified.by(value, (ends[0], ends[1]))
    given = ", ".join("null" if math.isinf(number) else js(number) for number in estimate)
    texts = page.evaluate(f"[{given}].map(justified({given}))")
    # Scripts write the exponent -7 where Python writes -07.
    expected = [re.sub(r"e([+-])0", r"e\1", show.text(number)) for number in estimate]
    assert texts == ["–" if "inf" in text else text for text in expected]


def test_one_outlier_lies_outside_and_ordinary_numbers_do_not(page, rng):
    ordinary = rng.standard_normal(40).tolist()
    low, high = page.evaluate(f"((b) => [b.low, b.high])(bulkOf({[*ordinary, 5e4]}))")
    assert (low, high) == (min(ordinary), max(ordinary))
    for numbers in (ordinary, [0.0] * 20 + [5e4] * 20, [1.0] * 20 + [7.0], [1.0, 9.0], [3.0]):
        found = page.evaluate(f"((b) => [b.low, b.high])(bulkOf([{', '.join(map(js, numbers))}]))")
        assert found == [min(numbers), max(numbers)]
    assert page.evaluate("bulkOf([null])") is None
    # Nothing overflows.
    assert page.evaluate(f"bulkOf([{js(-LARGEST)}, {js(LARGEST)}, 0, 1, 2]).high") == 2
    widest = [-LARGEST, -LARGEST, 0.0, LARGEST, LARGEST]
    assert page.evaluate(f"bulkOf([{', '.join(map(js, widest))}]).high") == LARGEST


def test_colours_do_not_stretch_over_what_hardly_differs(page):
    low, high = page.evaluate("colourRange([0.00257, 0.0026], 0.001, 0)")
    assert (high - low, low > 0) == (pytest.approx(0.001), True)
    assert page.evaluate("colourRange([0.1, 0.9], 0.2, 0)") == [0.1, 0.9]
    assert page.evaluate("colourRange([0.0001, 0.0002], 0.1, 0)") == [0, 0.1]
    assert page.evaluate("colourRange([2, 2], 0)") == [2, 2]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((3e-3, 4e-2), [0.003, 0.005, 0.01, 0.02, 0.03]),
        ((1e-4, 1e-1), [1e-4, 1e-3, 1e-2, 1e-1]),
        ((1e-9, 1e3), [1e-9, 1e-7, 1e-5, 1e-3, 1e-1, 1e1, 1e3]),
        ((1.0, 4.0), [1, 2, 3, 4]),
        ((2.1, 2.9), [2 + i / 10 for i in range(1, 10)]),
    ],
)
def test_the_ticks_of_a_log_scale_are_whole_numbers_that_stand_alone(page, ends, expected):
    found = page.evaluate(f"logTicks({js(ends[0])}, {js(ends[1])}, 8)")
    assert found == pytest.approx(expected)


def test_a_probability_is_written_as_in_python(page):
    for share in (0.0, 0.000246, 0.001, 0.5, 0.98712, 0.999, 0.99999, 1.0):
        assert page.evaluate(f"percent({js(share)})") == percent(share)
