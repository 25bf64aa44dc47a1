"""The version stands in `rahbo.__version__` alone; what must repeat it agrees."""

import re
import tomllib
from pathlib import Path

import rahbo

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "rahbo" / "__init__.py"


def test_the_build_reads_the_version_from_the_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" in settings["project"]["dynamic"]
    assert "version" not in settings["project"]
    assert ROOT / settings["tool"]["hatch"]["version"]["path"] == SOURCE


def test_the_citation_names_the_same_version() -> None:
    (cited,) = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert cited == rahbo.__version__


def test_no_other_module_or_setting_states_the_version() -> None:
    assert SOURCE.read_text("utf-8").count(f'"{rahbo.__version__}"') == 1
    others = [*ROOT.glob("src/**/*.py"), *ROOT.glob("*.toml"), *ROOT.glob("*.yml")]
    stating = [
        path.relative_to(ROOT)
        for path in others
        if path != SOURCE and re.search(rf"['\"]{rahbo.__version__}['\"]", path.read_text("utf-8"))
    ]
    assert stating == []
