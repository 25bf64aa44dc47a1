"""Every Python block of the documentation runs and prints what is shown, and links lead somewhere.

``pytest tests/test_docs.py --write-docs`` writes what the blocks print into the pages.
"""

import importlib
import random
import re
import runpy
import shlex
import shutil
import sys
import urllib.request
from pathlib import Path
from types import ModuleType

import pytest

import rahbo
from extras import skipping_without_extras
from shown import Pairs, commands, differences, programs, table_before, with_outputs

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

# The notes on a release name the package index.
INSTALLED_BY_NAME = {"RELEASING.md"}

# The table of pictures: which guide draws each, and which are made elsewhere.
DRAWING = runpy.run_path(str(ROOT / "scripts" / "docs_figures.py"), run_name="docs_figures")
MADE = {*DRAWING["DRAWN"], *DRAWING["PAGES"]}
MAX_KB, MAX_KB_TOGETHER = 80, 1000

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
DOCUMENTED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The names by which the headings of a page are linked."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_pages_are_found() -> None:
    assert ROOT / "README.md" in PAGES
    assert programs((ROOT / "README.md").read_text("utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if programs(p.read_text("utf-8"))], ids=name)
def test_the_blocks_of_a_page_run_in_order_and_print_what_it_shows(
    page, tmp_path, monkeypatch, capsys, request
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "optunahub", "optunahub")  # a reader has a clone
    random.seed(0)  # the examples measure with it, unseeded, as a reader's do
    text = page.read_text("utf-8")
    module = ModuleType("page")  # so that classes of the page can be pickled
    monkeypatch.setitem(sys.modules, "page", module)
    namespace: dict[str, object] = vars(module)
    printed = []
    for block, _ in programs(text):
        # Blank lines before the source, so that a traceback names the line of the page.
        with skipping_without_extras():
            exec(compile("\n" * block.line + block.source, str(page), "exec"), namespace)
        printed.append([line.rstrip() for line in capsys.readouterr().out.splitlines()])
    for guide, file in DRAWING["DRAWN"].values():
        assert page.name != guide or Path(file).read_bytes().startswith(b"\x89PNG")
    compare(page, programs(text), printed, write=request.config.getoption("--write-docs"))


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if commands(p.read_text("utf-8"))], ids=name)
def test_the_commands_of_a_page_print_what_it_shows(page, tmp_path, monkeypatch, request) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    with skipping_without_extras():
        from click.testing import CliRunner

        from rahbo.cli import main
    text = page.read_text("utf-8")
    printed = []
    for block, _ in commands(text):
        words = shlex.split(block.source)[1:]
        (file,) = [word for word in words if word.endswith(".csv")]
        Path(file).write_text(table_before(text, block), "utf-8")
        output = CliRunner().invoke(main, words).output
        printed.append([line.rstrip() for line in output.splitlines()])
    compare(page, commands(text), printed, write=request.config.getoption("--write-docs"))


def compare(page: Path, pairs: Pairs, printed: list[list[str]], *, write: bool) -> None:
    """Check that a page shows what its blocks printed, or write that into the page."""
    if write:
        text = page.read_text("utf-8")
        page.write_text(with_outputs(text, printed, pairs), "utf-8")
        return
    for (block, shown), lines in zip(pairs, printed, strict=True):
        where = f"{name(page)}, line {block.line}"
        if shown is None:
            assert not lines, f"{where} shows no output"
        else:
            wrong = differences(shown.source.splitlines(), lines, example=shown.example)
            assert not wrong, "\n".join([where, *wrong])


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.is_file(), f"{name(page)} links to {target}"
        assert not anchor or anchor in anchors(linked.read_text("utf-8")), target


def shown_pictures(page: Path) -> set[str]:
    """The files in docs/figures that a page shows."""
    found = re.findall(r"!\[[^\]]+\]\(([^)\s]+)\)", page.read_text("utf-8"))
    return {Path(target).name for target in found}


def test_every_picture_is_shown_and_something_makes_it() -> None:
    stored = {path.name for path in (ROOT / "docs" / "figures").iterdir()}
    assert stored == MADE | set(DRAWING["ELSEWHERE"])
    assert stored == set().union(*map(shown_pictures, PAGES))
    assert not MADE & set(DRAWING["ELSEWHERE"])


@pytest.mark.parametrize("picture", sorted(DRAWING["DRAWN"]))
def test_a_picture_is_shown_by_the_guide_that_draws_it(picture) -> None:
    assert picture in shown_pictures(ROOT / "docs" / DRAWING["DRAWN"][picture][0])


def test_the_pictures_of_guides_are_small() -> None:
    sizes = [(ROOT / "docs" / "figures" / name).stat().st_size / 1024 for name in MADE]
    assert max(sizes) < MAX_KB
    assert sum(sizes) < MAX_KB_TOGETHER


@pytest.mark.slow
@pytest.mark.parametrize("picture", sorted(DRAWING["PAGES"]))
def test_the_page_of_a_picture_opens(picture, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened, _ = DRAWING["PAGES"][picture]
    with opened() as (address, _), urllib.request.urlopen(address, timeout=60) as answer:
        assert b"<html" in answer.read()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_nothing_is_installed_by_name_before_there_is_a_release(page) -> None:
    assert name(page) in INSTALLED_BY_NAME or not re.findall(
        r'pip install "?rahbo\[', page.read_text("utf-8")
    )


def in_navigation() -> list[str]:
    """The pages that mkdocs.yml names, in order."""
    lines = (ROOT / "mkdocs.yml").read_text("utf-8").splitlines()
    entries = [line.partition("#")[0].rstrip() for line in lines]
    return [re.split(r"[ :]", entry)[-1] for entry in entries if entry.endswith(".md")]


def documented() -> list[str]:
    """The names whose docstrings make the reference."""
    pages = sorted(ROOT.glob("docs/reference/*.md"))
    return [found for page in pages for found in DOCUMENTED.findall(page.read_text("utf-8"))]


def test_the_site_has_every_page_once() -> None:
    pages = [str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")]
    assert sorted(in_navigation()) == sorted(pages)


@pytest.mark.parametrize("identifier", documented())
def test_the_reference_names_what_exists(identifier) -> None:
    module, _, last = identifier.rpartition(".")
    with skipping_without_extras():
        found = getattr(importlib.import_module(module), last, None)
        assert (found or importlib.import_module(identifier)).__doc__


def test_the_reference_has_every_public_name() -> None:
    missing = {f"rahbo.{name}" for name in rahbo.__all__ if not name.startswith("_")}
    assert not missing - set(documented())


def test_the_luckiest_trial_is_drawn_and_counted(tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "luckiest.png"
    monkeypatch.setattr(sys, "argv", ["luckiest.py", "--out", str(out), "--seeds", "1"])
    with skipping_without_extras():
        runpy.run_path(str(ROOT / "scripts" / "luckiest.py"), run_name="__main__")
    _, lucky, reliable = capsys.readouterr().out.splitlines()
    assert "1 of 1" in lucky
    assert "0 of 1" in reliable
    assert out.read_bytes().startswith(b"\x89PNG")
