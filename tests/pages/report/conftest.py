"""Reports in a browser."""

import pytest

from page_runs import page_of


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens the report of a run, or a page that was written already.

    At the end of the test, nothing may have gone wrong on any of them.
    """
    pages = []

    def opens(what, width=1280, dark=False):
        file = tmp_path / "report.html"
        file.write_text(what if isinstance(what, str) else page_of(what), "utf-8")
        page = browser.page(file.as_uri(), width=width, dark=dark)
        page.wait_until("document.documentElement.dataset.drawn === 'yes'")
        pages.append(page)
        return page

    yield opens
    for page in pages:
        assert (page.errors, page.dialogs, page.too_wide() <= 0) == ([], [], True)
        page.close()
