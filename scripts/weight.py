"""Print how much there is to own: lines of code and tests by room, words of documentation by page.

    python scripts/weight.py              this checkout
    python scripts/weight.py ../before    this checkout beside another one

A room is a module or a folder of `src/rahbo`. Its tests are those at the mirrored path; what else
is in `tests` counts as a room of its own.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
Weights = dict[str, Counter[str]]


def room_of(path: Path) -> str:
    """Return the first part of a path, without the ending and the `test_` of a file.

    >>> room_of(Path("model/gp.py")), room_of(Path("test_risk.py")), room_of(Path("bands.py"))
    ('model', 'risk', 'bands')
    """
    return path.parts[0].removesuffix(".py").removeprefix("test_")


def weights(root: Path) -> Weights:
    """Return the lines of `src` and `tests` and the words of `docs`, by room and page."""
    found: Weights = {"src": Counter(), "tests": Counter(), "words": Counter()}
    for kind, folder in (("src", root / "src" / "rahbo"), ("tests", root / "tests")):
        for path in folder.rglob("*.py"):
            room = room_of(path.relative_to(folder))
            found[kind][room] += len(path.read_text("utf-8").splitlines())
    for page in (root / "README.md", *(root / "docs").rglob("*.md")):
        found["words"][str(page.relative_to(root))] = len(page.read_text("utf-8").split())
    return found


def table(now: Weights, before: Weights | None) -> str:
    """Return a table of rooms and pages, with what changed since before beside each number."""
    last = before or now
    names = {name for found in (now, last) for counts in found.values() for name in counts}
    lines = [" " * 36 + "".join(f"{kind:>9}{'change' if before else '':>9}" for kind in now)]
    for name in [*sorted(names, key=lambda name: (name.endswith(".md"), name)), "total"]:
        cells = ""
        for kind in now:
            n, was = (c.total() if name == "total" else c[name] for c in (now[kind], last[kind]))
            cells += f"{n if n or was else '':>9}{f'{n - was:+}' if n != was else '':>9}"
        lines.append(f"{name:36}{cells}".rstrip())
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Print lines of code and words of documentation.")
    parser.add_argument("before", nargs="?", type=Path, help="the folder of another checkout")
    given = parser.parse_args().before
    if given is not None and not (given / "src" / "rahbo").is_dir():
        parser.error(f"{given} is not a checkout of rahbo: it has no folder src/rahbo.")
    print(table(weights(ROOT), None if given is None else weights(given)))


if __name__ == "__main__":
    main()
