"""Draw the pictures of the guides, each with the code of its guide.

    python scripts/docs_figures.py                      # all of them, into docs/figures
    python scripts/docs_figures.py watch-page.png       # some of them

A guide writes its pictures to files, as its readers do. This script runs the guide in an empty
folder and keeps these files, with fewer colours so that they stay small. The pictures of pages are
taken in headless Chromium.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import chdir, closing, contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np

import rahbo
from rahbo.pages import Live, Server, watch_site

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
sys.path.insert(0, str(ROOT / "tests"))

from browser import Page, open_browser  # noqa: E402
from shown import programs  # noqa: E402

# The picture, the guide that draws it, and the file to which the guide writes it.
DRAWN = {
    "constraints-loss.png": ("constraints.md", "loss.png"),
    "figures-run.png": ("figures.md", "run.png"),
    "figures-points.png": ("figures.md", "points.png"),
    "figures-slices.png": ("figures.md", "slices.png"),
    "figures-maps.png": ("figures.md", "maps.png"),
    "figures-regret.png": ("figures.md", "regret.png"),
    "start-fits.png": ("guide.md", "fits.png"),
}

# Pictures that other commands make.
ELSEWHERE = {
    "luckiest.png": "python scripts/luckiest.py --out docs/figures/luckiest.png",
    "regret.png": "python bench/regret.py --json runs.jsonl --figure docs/figures/regret.png",
} | dict.fromkeys(
    (
        "branin-s2-acquired.png", "branin-s2-landscape.png", "branin-s2-regret-alpha1.png",
        "branin-s2-repeats.png", "euxfel-reported.png", "fel-regret.png", "fel-reported.png",
        "fel-tried.png", "forest-data.png", "forest-regret.png", "forest-reported.png",
        "forest-results.png", "sine-fits-1.png", "sine-functions.png", "sine-regret-alpha1.png",
        "sine-repeats.png",
    ),
    "rahbo reproduce all",
)  # fmt: skip

WIDTH, COLOURS, NEARLY_WHITE = 900, 128, 248


def shrink(source: Path, target: Path) -> None:
    """Write a picture with few colours, and no wider than a page shows it."""
    from PIL import Image  # comes with matplotlib

    with Image.open(source) as picture:
        small = picture.convert("RGB")
        if small.width > WIDTH:
            height = round(small.height * WIDTH / small.width)
            small = small.resize((WIDTH, height), Image.Resampling.LANCZOS)
        # Covers rare colours too, such as that of a single star.
        palette = small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1)
        final = small.quantize(palette=palette, dither=Image.Dither.NONE)
        final.putpalette([255 if level >= NEARLY_WHITE else level for level in final.getpalette()])
        final.save(target, optimize=True)


def run_guide(guide: str) -> None:
    """Run the Python blocks of a guide, here."""
    random.seed(0)
    namespace: dict[str, object] = {"__name__": "page"}
    with redirect_stdout(StringIO()):
        for block, _ in programs((ROOT / "docs" / guide).read_text("utf-8")):
            exec(compile("\n" * block.line + block.source, guide, "exec"), namespace)


def draw(names: list[str]) -> None:
    """Draw the pictures that guides save, each guide once."""
    for guide in sorted({DRAWN[name][0] for name in names}):
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            run_guide(guide)
            for name in names:
                if DRAWN[name][0] == guide:
                    shrink(Path(DRAWN[name][1]), FIGURES / name)


def brew(temperature: float, speed: float, seed: int) -> float:
    """One noisy measurement of the run that is watched."""
    mean = 10.0 - ((temperature - 90.0) / 15.0) ** 2 + 2.0 * speed
    noise_std = 0.3 + 1.5 * speed**2
    return mean + noise_std * float(np.random.default_rng(seed).standard_normal())


@contextmanager
def report_page() -> Iterator[tuple[str, str]]:
    """The report that the guide writes: its address, and what is true when it is drawn."""
    run_guide("report.md")
    yield Path("report.html").absolute().as_uri(), "document.querySelector('.main-svg')"


@contextmanager
def watch_page() -> Iterator[tuple[str, str]]:
    """The live page of a run that is not at its end."""
    journal = Path("run.jsonl")
    space = {"temperature": (60.0, 120.0), "speed": (0.0, 1.0)}
    rahbo.maximize(brew, space, evaluations=40, confirm=0, seed=0, journal=journal)
    live = Live(journal)
    with closing(rahbo.Optimizer.resume(journal)) as under_way, Server(watch_site(live)) as server:
        under_way.ask(2)
        live.start()
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.address, "document.querySelector('#noise .chosen')"
        finally:
            server.shutdown()
            thread.join()


# The picture of a page, and the height of the window in which it is taken.
PAGES: dict[str, tuple[Callable, int]] = {
    "report-page.png": (report_page, 1650),
    "watch-page.png": (watch_page, 1250),
}


def photograph(names: list[str]) -> None:
    """Take the pictures of pages."""
    for name in names:
        opened, height = PAGES[name]
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            with opened() as (address, drawn), open_browser() as browser:
                page: Page = browser.page(address, width=1280, height=height)
                page.wait_until(drawn)
                page.screenshot(Path("page.png"), whole=False)
            shrink(Path("page.png"), FIGURES / name)


def main() -> None:
    """Make the pictures that were named, or all of them."""
    everything = [*DRAWN, *PAGES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=everything, metavar="PICTURE")
    names = parser.parse_args().names
    unknown = [name for name in names if name not in everything]
    if unknown:
        parser.error(f"{', '.join(unknown)}: not one of {', '.join(everything)}")
    os.environ.setdefault("MPLBACKEND", "Agg")
    draw([name for name in names if name in DRAWN])
    photograph([name for name in names if name in PAGES])
    for name in names:
        print(f"{name}: {(FIGURES / name).stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
