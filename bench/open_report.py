"""How long a report takes to open in headless Chromium, all plots drawn.

    python bench/open_report.py                  1,000 points, five times at each of two widths

Milliseconds since the browser began to open the file, by its own clock.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import open_browser
from page_runs import run
from rahbo.pages import record_of, report_page

WIDTHS = (1280, 390)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=1, help="values a point (1)")
    parser.add_argument("--times", type=int, default=5)
    args = parser.parse_args()
    with TemporaryDirectory() as folder, open_browser() as browser:
        file = Path(folder) / "report.html"
        record = record_of(run(args.points, args.repeats), source="run.jsonl", made="now")
        file.write_text(report_page(record), "utf-8")
        print(f"{args.points} points, {file.stat().st_size / 1e6:.2f} MB")
        for width in WIDTHS:
            took = [opened(browser, file.as_uri(), width) for _ in range(args.times)]
            print(
                f"{width} pixels wide: median {np.median(took):.0f} ms, "
                f"{min(took):.0f} to {max(took):.0f}"
            )


def opened(browser, address, width):
    page = browser.page(address, width=width)
    page.wait_until("document.documentElement.dataset.drawn === 'yes'")
    took = page.evaluate("performance.now()")
    page.close()
    return took


if __name__ == "__main__":
    main()
