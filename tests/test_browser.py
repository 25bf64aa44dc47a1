"""The browser of the tests notices what it is there for."""

from pathlib import Path

import pytest

from browser import Browser, needs_chromium

pytestmark = needs_chromium

PAGE = """<!doctype html><meta charset="utf-8"><title>t</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="img-src data:">
<body style="width: 500px">seen<script>
console.error("logged"); fetch("http://elsewhere.example/x").catch(() => {});
new Image().src = "http://elsewhere.example/y.png";
setTimeout(() => { throw new Error("thrown"); });
</script>"""


def test_errors_requests_and_widths_are_seen(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(PAGE, "utf-8")
    page = browser.page(file.as_uri(), width=390)
    page.wait_until("true")
    assert page.text() == "seen"
    assert page.too_wide() > 100
    assert "http://elsewhere.example/x" in page.requests
    seen = "\n".join(page.errors)
    for error in ("logged", "thrown", "Content Security Policy"):
        assert error in seen
    page.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
    page.close()


def test_what_never_comes_is_said(browser: Browser) -> None:
    page = browser.page("data:text/html,<p>nothing")
    with pytest.raises(AssertionError, match="not within"):
        page.wait_until("false", seconds=0.1)
    page.close()
