"""The package for OptunaHub: in the form that its registry asks for, and loaded without a network.

The checks of the form need no library. They restate what the registry's guide and its own check of
the header ask for.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from extras import needs

ROOT = Path(__file__).parents[2]
REGISTRY = ROOT / "optunahub"
PACKAGE = REGISTRY / "samplers" / "rahbo"
README = (PACKAGE / "README.md").read_text("utf-8")
# The library caches a package under the place that it was downloaded from.
CACHED = Path("github.com", "optuna", "optunahub-registry", "main", "package", "samplers", "rahbo")

with_optunahub = needs("optuna", "optunahub")


def header() -> dict[str, str | list[str]]:
    """The front matter of the README, which has one line for each key."""
    start, text, _ = re.split(r"^---$\n", README, maxsplit=2, flags=re.MULTILINE)
    assert start == ""
    pairs = [line.split(": ", 1) for line in text.splitlines()]
    return {k: v[1:-1].split(", ") if v.startswith("[") else v for k, v in pairs}


@pytest.fixture
def downloaded(tmp_path, monkeypatch) -> Path:
    """A cache with the package in it, so that `load_module` needs no network."""
    shutil.copytree(PACKAGE, tmp_path / CACHED)
    monkeypatch.setenv("OPTUNAHUB_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_the_header_has_what_the_registry_checks() -> None:
    found = header()
    assert set(found) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert found["license"] == "MIT License"
    assert "sampler" in found["tags"]
    # YAML reads 5.0 as a number, and the registry wants text.
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in found["optuna_versions"])
    assert not any(": " in str(value) for value in found.values())


def test_the_readme_has_the_sections_of_the_template_and_no_html() -> None:
    sections = re.findall(r"^## (.*)$", README, re.MULTILINE)
    assert sections == ["Abstract", "APIs", "Installation", "Example", "Others"]
    assert not re.search(r"</?[a-z]+", README)


def test_the_licence_is_ours() -> None:
    licence = (PACKAGE / "LICENSE").read_text("utf-8")
    assert licence == (ROOT / "LICENSE").read_text("utf-8")
    assert licence.startswith("MIT License")


def test_it_requires_the_published_package_with_its_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = (PACKAGE / "requirements.txt").read_text("utf-8").split()
    assert required == [f"{project['name']}[optuna]"]
    assert "optuna" in project["optional-dependencies"]


def test_nothing_makes_the_folder_a_package_that_hides_the_library() -> None:
    assert not (REGISTRY / "__init__.py").exists()


@with_optunahub
def test_the_local_module_offers_the_sampler_of_the_installed_package() -> None:
    import optuna
    import optunahub

    from rahbo.integrations.optuna import RahboSampler

    module = optunahub.load_local_module("samplers/rahbo", registry_root=str(REGISTRY))
    assert module.RahboSampler is RahboSampler
    assert all(f"`{name}(" in README for name in module.__all__)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=module.RahboSampler(repeats=2, seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", -1.0, 1.0) ** 2, n_trials=6)
    assert len({trial.params["x"] for trial in study.trials}) == 3
    assert module.recommend(study).params in [trial.params for trial in study.trials]


@with_optunahub
def test_the_listed_versions_of_optuna_are_of_the_major_version_in_use() -> None:
    import optuna

    major = optuna.__version__.partition(".")[0]
    assert major in {version.partition(".")[0] for version in header()["optuna_versions"]}


@with_optunahub
@pytest.mark.slow
def test_the_example_of_the_readme_runs_as_it_stands(downloaded, capsys) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    exec(compile(example, "README.md", "exec"), {"__name__": "page"})
    assert "risk value" in capsys.readouterr().out


@with_optunahub
@pytest.mark.slow
def test_the_example_finds_the_steady_spot(downloaded) -> None:
    program = downloaded / CACHED / "example.py"
    done = subprocess.run(
        [sys.executable, str(program)], cwd=downloaded, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    lucky, best = re.findall(r"\bx\D+([\d.]+)", done.stdout)[:2]
    assert abs(float(lucky) - 0.75) < 0.2
    assert abs(float(best) - 0.25) < 0.2
