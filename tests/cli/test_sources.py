"""Sources of past evaluations, and the three commands that report on them."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rahbo
from extras import imported
from rahbo.cli import main
from rahbo.cli import sources as module
from rahbo.cli.sources import Asked, optimizer_from
from rahbo.errors import DataError, JournalError, RahboError
from rahbo.space import Float

COMMANDS = ("recommend", "frontier", "doctor")


def invoke(*arguments):
    return CliRunner().invoke(main, list(arguments))


def values_at(x, n=4):
    rng = np.random.default_rng(int(1000 * x))
    return (1 - (x - 0.5) ** 2 + 0.02 * (1 + 5 * x) * rng.standard_normal(n)).tolist()


XS = [0.05, 0.2, 0.35, 0.45, 0.6, 0.75, 0.9]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sources")


@pytest.fixture(scope="module")
def table(folder):
    path = folder / "past.csv"
    rows = [f"{x},a,{value!r}\n" for x in XS for value in values_at(x)]
    path.write_text("x,kind,score\n" + "".join(rows) + "0.99,a,\n")
    return path


@pytest.fixture(scope="module")
def journal(folder):
    path = folder / "run.jsonl"
    opt = rahbo.Optimizer(
        {"x": (0.0, 1.0)}, seed=0, journal=path, direction="minimize", valid=lambda p: p["x"] < 2
    )
    for x in XS:
        opt.tell({"x": x}, [-value for value in values_at(x)])
    opt.close()
    return path


@pytest.fixture(scope="module")
def study(folder):
    optuna = imported("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path = folder / "study.db"
    storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
    made = optuna.create_study(storage=storage, study_name="s", direction="maximize")
    for x in XS:
        for value in values_at(x):
            made.add_trial(
                optuna.trial.create_trial(
                    params={"x": x}, value=value,
                    distributions={"x": optuna.distributions.FloatDistribution(0, 1)},
                )
            )  # fmt: skip
    storage.engine.dispose()
    return f"sqlite:///{path}"


def test_a_table_is_told_with_its_repeats_and_failures(table):
    asked = Asked(direction="maximize", value="score", space={"x": Float(0.0, 1.0)})
    optimizer = optimizer_from(str(table), asked)
    assert optimizer.settings.space.spec == {"x": Float(0.0, 1.0)}
    assert optimizer.n_evaluations == 4 * len(XS) + 1
    np.testing.assert_array_equal(optimizer.observations.count, 4)
    np.testing.assert_allclose(optimizer.observations.mean, [np.mean(values_at(x)) for x in XS])
    assert optimizer.settings.direction == "maximize"
    plain = Asked(direction="minimize", value="score")
    assert (
        optimizer_from(str(table), plain).recommend()
        == optimizer_from(str(table), plain).recommend()
    )


def test_a_recommendation_can_be_joined_with_its_table(tmp_path):
    rng = np.random.default_rng(0)
    table = [(float(x), float(10**lr)) for x, lr in rng.uniform([-1, -5], [2, 0], (6, 2))]
    path = tmp_path / "past.csv"
    lines = [f"{x!r},{lr!r},{rng.random()!r}" for x, lr in table for _ in range(2)]
    path.write_text("\n".join(["x,lr,value", *lines]))
    for command in ("recommend", "frontier"):
        done = invoke(command, str(path), "-p", "lr=1e-6:1:log", "--maximize", "--json")
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)["recommendation" if command == "recommend" else "frontier"]
        points = [found] if command == "recommend" else found["evaluated"]
        assert points
        assert all((p["params"]["x"], p["params"]["lr"]) in table for p in points)


def test_the_rows_of_a_table_are_named_as_its_editor_counts_them(tmp_path):
    table = tmp_path / "t.csv"
    lines = ["x,value", "0.1,1.0", "0.9,5.0", "0.5,", "0.1,1.2", "0.9,5.4"]
    table.write_text("\n".join(lines) + "\n", "utf-8")
    printed = invoke("recommend", str(table), "--maximize").stdout
    assert printed.splitlines()[0] == "x=0.9   (rows 3 and 6)"
    told = json.loads(invoke("recommend", str(table), "--maximize", "--json").stdout)
    found = told["recommendation"]
    assert (found["trials"], found["numbered"]) == ([3, 6], "row")
    assert found["luckiest"]["trial"] == 6
    report = tmp_path / "r.html"
    invoke("report", str(table), "--maximize", "-o", str(report))
    assert 'Use <strong><bdi id="use">x = 0.9</bdi></strong> (rows 3 and 6)' in report.read_text()


def test_a_journal_is_told_without_its_code_and_stays_as_it_is(journal):
    before = journal.read_bytes()
    optimizer = optimizer_from(str(journal), Asked())
    assert optimizer.settings.direction == "minimize"
    assert optimizer.n_evaluations == 4 * len(XS)
    averse = optimizer_from(str(journal), Asked(risk=rahbo.MeanVariance(50.0)))
    assert averse.settings.risk == rahbo.MeanVariance(50.0)
    assert journal.read_bytes() == before


def test_all_sources_of_the_same_results_recommend_the_same(table, journal, study):
    found = []
    of_table = [str(table), "--value", "score", "-p", "x=0.0:1.0", "--maximize"]
    for arguments in (of_table, [str(journal)], [study]):
        done = invoke("recommend", *arguments, "--alpha", "2", "--json")
        assert done.exit_code == 0, done.output
        found.append(json.loads(done.stdout))
    assert {each["recommendation"]["params"]["x"] for each in found} <= {0.35, 0.45, 0.6}
    assert found[0]["recommendation"]["params"] == found[2]["recommendation"]["params"]
    assert found[1]["recommendation"]["params"] == found[2]["recommendation"]["params"]
    np.testing.assert_allclose(
        found[1]["recommendation"]["mean"], -found[2]["recommendation"]["mean"], rtol=1e-6
    )
    assert [each["about"]["n_failures"] for each in found] == [1, 0, 0]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_prints_a_report_and_a_document(command, table):
    done = invoke(command, str(table), "--value", "score", "--minimize", "--kappa", "1")
    assert done.exit_code == 0, done.output
    assert "minimising MeanStd(kappa=1.0)" in done.stdout
    assert done.stderr == (
        "Parameters: x (0.05 to 0.99). Measured: score. Left out: kind (always 'a').\n"
    )
    again = invoke(command, str(table), "--value", "score", "--minimize", "--kappa", "1", "--json")
    keys = {"recommend": "recommendation", "frontier": "frontier", "doctor": "diagnosis"}
    assert json.loads(again.stdout).keys() == {keys[command], "about"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.csv"], "no file"),
        (["."], "no file"),
        (["\0"], "'\\x00'"),
        (["{table}"], "no column 'value'"),
        (["{table}", "--value", "score", "--study", "s"], "--study does not apply to a CSV"),
        (["{table}", "--value", "score", "--alpha", "1", "--kappa", "1"], "Only one of --"),
        (["{table}", "--value", "score", "--maximize", "--minimize"], "Only one of --"),
        (["{table}", "--value", "score", "--alpha", "-1"], "alpha >= 0"),
        (["{table}", "--value", "score", "--alpha", "nan"], "finite number"),
        (["{table}", "--value", "score", "--minimize", "-p", "x=2.0:3.0"], "does not fit Float"),
        (["{table}", "--value", "scores"], "Did you mean --value score?"),
        (["{table}", "--value", "score", "-p", "X=2.0:3.0"], "Did you mean -p x?"),
        (["{table}", "--value", "score", "-p", "x="], "it must be LOW:HIGH"),
        (
            ["{table}", "--value", "score", "-p", "x", "-p", "x=0.0:1.0"],
            "names the column 'x' twice",
        ),
        (["{table}", "--value", "score", "--ignore", "kinds"], "Did you mean --ignore kind?"),
        (["{journal}", "--value", "score"], "--value does not apply to a journal"),
        (["{journal}", "-p", "x=0.0:1.0"], "-p does not apply to a journal"),
        (["{journal}", "--maximize"], "its own direction, minimize"),
        (["{study}", "--minimize"], "its own direction, maximize"),
        (["{study}", "--study", "none"], "no study 'none'"),
        (["{study}", "--ignore", "x"], "--ignore does not apply to an Optuna"),
    ],
)
def test_what_is_wrong_is_one_sentence(arguments, said, table, journal, study):
    names = {"table": table, "journal": journal, "study": study}
    done = invoke("recommend", *(argument.format(**names) for argument in arguments))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_direction_takes_no_name(table):
    done = invoke("recommend", str(table), "--maximize", "score")
    assert done.exit_code == 2
    assert done.stderr.endswith("write: --value score --maximize\n")
    done = invoke("recommend", str(table), "another", "--maximize")
    assert done.stderr.endswith("unexpected extra argument (another)\n")


def test_files_of_no_kind(tmp_path, monkeypatch):
    path = tmp_path / "file"
    for raw in (b"", b"\0" * 50, b"SQLite format 3\0", b"SQLite format 3\0" + b"x" * 5000):
        path.write_bytes(raw)
        with pytest.raises(RahboError):
            optimizer_from(str(path), Asked())
    for raw in (b"{", b'{"event":"run","format":', b'{"event":"run"}\n', b"{}\n{}\n"):
        path.write_bytes(raw)
        with pytest.raises(JournalError):
            optimizer_from(str(path), Asked())
    monkeypatch.setattr(module, "LARGEST_FILE", 3)
    with pytest.raises(DataError, match="larger than"):
        optimizer_from(str(path), Asked())


def test_a_table_of_failures_only_says_so(tmp_path):
    path = tmp_path / "past.csv"
    path.write_text("x,value\n1.5,\n2.5,nan\n")
    done = invoke("doctor", str(path), "--maximize")
    assert done.exit_code == 2
    assert "no number in the column 'value'" in done.stderr


@pytest.mark.parametrize("command", [*COMMANDS, "report"])
def test_a_table_needs_a_direction(command, table):
    typed = f"{command} {table} --value score -p x --alpha 2.0"
    done = invoke(*typed.split())
    assert (done.exit_code, done.stdout) == (2, "")
    first, *lines = done.stderr.splitlines()
    assert first.startswith("Error: Are larger or smaller values of 'score' better?")
    assert [line.split(" ", 3)[3] for line in lines] == [
        f"{typed} --maximize", f"{typed} --minimize",
    ]  # fmt: skip


def unclear(folder):
    """Return a table of repeats with an id, a date, a seed and a second outcome."""
    path = folder / "unclear.csv"
    rows = [(x, repeat, value) for x in XS for repeat, value in enumerate(values_at(x, 2))]
    lines = [
        f"{i},2024-03-{1 + i},{x},{repeat},{value**2},{value}"
        for i, (x, repeat, value) in enumerate(rows)
    ]
    path.write_text("\n".join(["k,day,x,seed,purity,value", *lines]))
    return str(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_unclear_is_asked_once_and_then_taken_as_said(command, tmp_path):
    path = unclear(tmp_path)
    done = invoke(command, path, "--maximize")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "not clear which columns" in done.stderr
    *_, last = done.stderr.splitlines()
    # The options in the last line settle it.
    options = last.partition("add: ")[2].split()
    assert options == ["--ignore", "seed", "--ignore", "purity"]
    again = invoke(command, path, "--maximize", "--json", *options)
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["about"]["n_points"] == len(XS)
    assert len(again.stderr.splitlines()) == 1
    assert again.stderr.startswith("Parameters: x (0.05 to 0.9). Measured: value. Left out: k (")
    answered = invoke(command, path, "--maximize", "--json", "-p", "seed", "--ignore", "purity")
    assert json.loads(answered.stdout)["about"]["n_points"] == 2 * len(XS)


def test_the_documented_table_prints_what_the_page_shows(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "tune.md").read_text("utf-8")
    section = page.split("## A table of past results\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    assert [kind for kind, _ in blocks] == ["csv", "sh", "text", "sh", "text"]
    monkeypatch.chdir(tmp_path)
    Path("past.csv").write_text(blocks[0][1], "utf-8")
    for (_, line), (_, said) in (blocks[1:3], blocks[3:5]):
        done = invoke(*shlex.split(line)[1:])
        # What goes to stdout comes after it, and tests/test_docs.py compares that.
        assert done.stderr == (said.splitlines(keepends=True)[0] if done.stdout else said)
