"""Every Python block of the documentation runs, and every link in it leads somewhere."""

import importlib
import random
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

import rahbo
from extras import skipping_without_extras

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

FENCED = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OUTPUT = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
DOCUMENTED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def blocks(text: str) -> list[tuple[int, str]]:
    """Line number and source of each Python block."""
    return [(text.count("\n", 0, m.start(1)), m.group(1)) for m in FENCED.finditer(text)]


def shown(text: str) -> list[tuple[int, str]]:
    """Line number and text of each block of output."""
    return [(text.count("\n", 0, m.start(1)), m.group(1)) for m in OUTPUT.finditer(text)]


def wording(line: str) -> str:
    """A line of output without its numbers, which depend on chance and the machine's arithmetic."""
    numberless = re.sub(r"-?\b\d[\d.e+-]*|-?\binf\b", "#", line)
    return " ".join(re.sub(r"\btime\b", "times", numberless).split())


def anchors(text: str) -> set[str]:
    """The names by which the headings of a page are linked."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_pages_are_found() -> None:
    assert ROOT / "README.md" in PAGES
    assert blocks((ROOT / "README.md").read_text("utf-8"))


def test_blocks_are_told_apart() -> None:
    text = "# A\n```python\na = 1\n```\ntext\n```sh\nls\n```\n```python\nb = 2\n\nc = 3\n```\n"
    assert blocks(text) == [(2, "a = 1\n"), (9, "b = 2\n\nc = 3\n")]


def test_the_wording_of_a_line_is_the_same_for_one_and_for_many() -> None:
    assert wording("measured   1   time") == wording("measured  12   times") == "measured # times"


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p.read_text("utf-8"))], ids=name)
def test_the_blocks_of_a_page_run_in_order_and_print_what_it_shows(
    page, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "optunahub", "optunahub")  # a reader has a clone
    random.seed(0)  # the examples measure with it, unseeded, as a reader's do
    text = page.read_text("utf-8")
    namespace: dict[str, object] = {"__name__": "page"}
    printed: set[str] = set()
    outputs = shown(text)
    for line, source in [*blocks(text), (sys.maxsize, "")]:
        while outputs and outputs[0][0] < line:
            # Output that no block before it printed is that of a command, or of an error.
            lines = [wording(shown_line) for shown_line in outputs.pop(0)[1].splitlines()]
            if printed & set(lines):
                assert [each for each in lines if each not in printed | {"..."}] == []
        if source:
            # Blank lines before the source, so that a traceback names the line of the page.
            with skipping_without_extras():
                exec(compile("\n" * line + source, str(page), "exec"), namespace)
            printed |= {wording(each) for each in capsys.readouterr().out.splitlines()}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.is_file(), f"{name(page)} links to {target}"
        assert not anchor or anchor in anchors(linked.read_text("utf-8")), target


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
