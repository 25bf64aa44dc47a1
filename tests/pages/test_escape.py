import json

import numpy as np
import pytest

from rahbo.pages import shown, visible
from rahbo.pages.escape import embedded

HOSTILE = "</script><script>alert(1)</script><img src=x onerror='alert(1)'>&lt;\u2028\u2029"


def test_text_cannot_open_a_tag_or_close_an_attribute():
    assert not set("<>\"'") & set(shown(HOSTILE + '"'))
    assert shown("a & b") == "a &amp; b"


def test_a_script_element_cannot_be_ended_by_its_data():
    text = embedded({HOSTILE: [HOSTILE, 1.5, None, True]})
    assert not set("<>&'\u2028\u2029") & set(text)
    assert json.loads(text) == {visible(HOSTILE): [visible(HOSTILE), 1.5, None, True]}


@pytest.mark.parametrize("odd", ["\x00", "\x1b[2J", "\u202e", "\ud800", "\ufeff"])
def test_what_cannot_be_seen_is_spelt_out(odd):
    assert visible(odd).isascii()
    shown(odd).encode("utf-8")
    embedded({odd: odd}).encode("utf-8")


def test_numbers_of_numpy_and_infinite_ones_are_json():
    record = {"a": np.float64(0.1), "b": np.arange(2), "c": (np.nan, -np.inf), "d": np.bool_(True)}
    assert json.loads(embedded(record)) == {"a": 0.1, "b": [0, 1], "c": [None, None], "d": True}
