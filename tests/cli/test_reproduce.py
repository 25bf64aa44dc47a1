"""`rahbo reproduce` on an experiment of a few rounds."""

from io import StringIO

import pytest
from click.testing import CliRunner
from rich.console import Console

from rahbo.cli import main, reproduce
from rahbo.experiments import EXPERIMENTS, Experiment, Store, problem_named, runner
from rahbo.experiments.spec import PROBLEMS
from rahbo.problems import forest

TINY = Experiment("tiny", ("sine",), (1.0,), (2,), 3, 3, 3, quick_rounds=2)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "euxfel", (TINY,))


def invoke(*arguments):
    return CliRunner().invoke(main, ["reproduce", *map(str, arguments)])


def test_it_writes_records_summary_and_figures_and_prints_the_table(tmp_path, monkeypatch):
    done = invoke("euxfel", "--quick", "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    cases = TINY.quick().cases()
    assert {case.rounds for case in cases} == {2}
    assert Store(tmp_path / "euxfel-quick" / "records").missing(cases) == []
    assert len(list((tmp_path / "euxfel-quick" / "records").rglob("*.jsonl"))) == len(cases) == 6
    page = (tmp_path / "euxfel-quick" / "summary.md").read_text("utf-8")
    pictures = sorted(p.stem for p in (tmp_path / "euxfel-quick").glob("*.png"))
    assert pictures == sorted(p.stem for p in (tmp_path / "euxfel-quick").glob("*.pdf"))
    assert pictures
    assert all(f"]({name}.png)" in page for name in pictures)
    # The output is not a terminal, so there are plain lines without escape codes.
    assert "euxfel: 6 of 6 runs" in done.output
    assert "\x1b" not in done.output
    assert "sine, alpha = 1, k = 2, T = 2" in done.output
    regrets, _, places = page.partition("above RAHBO")
    lines = [line for line in regrets.splitlines() if line.startswith("| sine")]
    assert len(lines) == 4
    for line in lines:
        for cell in line.strip("| ").split(" | ")[4:]:
            assert cell in done.output
    assert sum(line.startswith("| sine") for line in places.splitlines()) == 4

    monkeypatch.setattr(runner, "run_case", None)
    again = invoke("euxfel", "--quick", "--out", tmp_path)
    assert again.exit_code == 0, again.output
    assert "6 of 6 runs are already in" in again.output.replace("\n", " ")
    assert (tmp_path / "euxfel-quick" / "summary.md").read_text("utf-8") == page


def test_all_runs_every_experiment_with_the_seeds_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "EXPERIMENTS", {"a": (TINY,), "b": (TINY,)})
    done = invoke("all", "--quick", "--seeds", 1, "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    for name in ("a-quick", "b-quick"):
        assert len(list((tmp_path / name / "records").rglob("*.jsonl"))) == 3


def test_an_unknown_experiment_is_refused_with_those_there_are(tmp_path):
    done = invoke("cosine", "--out", tmp_path)
    assert done.exit_code == 2
    known = "'sine', 'branin', 'repeats', 'fel', 'euxfel', 'forest', 'all'"
    assert f"'cosine' is not one of {known}" in " ".join(done.output.split())


def test_without_matplotlib_there_are_no_figures_but_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "find_spec", lambda name: None)
    done = invoke("euxfel", "--quick", "--seeds", 1, "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert 'pip install "rahbo[demo]"' in done.output
    assert sorted(p.name for p in (tmp_path / "euxfel-quick").iterdir()) == [
        "records",
        "summary.md",
    ]


@pytest.mark.slow
def test_the_forest_runs_on_its_table(smooth_forest, tmp_path):
    done = invoke("forest", "--quick", "--seeds", 1, "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "forest: 5 of 5 runs" in done.output
    assert "forest, alpha = 100, k = 5, T = 20" in done.output
    page = (tmp_path / "forest-quick" / "summary.md").read_text("utf-8")
    for name in ("data", "results", "regret", "reported"):
        assert f"](forest-{name}.png)" in page
        assert (tmp_path / "forest-quick" / f"forest-{name}.pdf").exists()


def test_without_its_table_the_forest_says_how_to_make_it(tmp_path, monkeypatch):
    monkeypatch.setitem(PROBLEMS, "forest", lambda: forest(tmp_path / "none.npz"))
    problem_named.cache_clear()
    done = invoke("forest", "--quick", "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 2
    assert "needs a table of results" in done.output.replace("\n", " ")


def test_on_a_terminal_there_is_a_bar_with_the_time_left():
    console = Console(file=StringIO(), force_terminal=True, width=100)
    cases = TINY.cases()
    with reproduce.cases_progress(console, "tiny", cases) as say:
        for case in cases:
            say(case)
    shown = console.file.getvalue()
    assert f"{len(cases)}/{len(cases)} runs" in shown
    assert "left" in shown


def test_plain_lines_come_now_and_then_with_the_time_left(monkeypatch):
    clock = iter([0.0, 4.0, 12.0, 13.0])
    monkeypatch.setattr(reproduce.time, "monotonic", lambda: next(clock))
    console = Console(file=StringIO(), width=100)
    cases = TINY.runs_of("sine", "rahbo", 1.0, 2)
    with reproduce.cases_progress(console, "tiny", cases) as say:
        for case in cases:
            say(case)
    assert console.file.getvalue().splitlines() == [
        "tiny: 2 of 3 runs, 12 s elapsed, about 6 s left",
        "tiny: 3 of 3 runs, 13 s elapsed, about 0 s left",
    ]
