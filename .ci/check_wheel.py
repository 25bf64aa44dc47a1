"""Fail unless the wheel in dist holds every file of the package."""

import sys
from pathlib import Path
from zipfile import ZipFile

SRC = Path(__file__).parents[1] / "src"

(wheel,) = (SRC.parent / "dist").glob("*.whl")
names = set(ZipFile(wheel).namelist())
sources = {p.relative_to(SRC).as_posix() for p in (SRC / "rahbo").rglob("*") if p.is_file()}
sources = {name for name in sources if "__pycache__" not in name}
missing = sorted(sources - names)
if missing:
    sys.exit(f"{wheel.name} lacks {', '.join(missing)}.")
print(f"{wheel.name} holds all {len(sources)} files of the package.")
