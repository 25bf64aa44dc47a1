import hashlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from extras import imported
from page_runs import run
from rahbo.cli import main
from rahbo.cli.report import digest_of, is_source, name_of


def called(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["report", *map(str, arguments)])
    return result.exit_code, result.output


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    run(journal=path).close()
    return path


def test_a_journal_becomes_a_file(journal, tmp_path):
    output = tmp_path / "out.html"
    before = journal.read_bytes()
    code, said = called(journal, "-o", output)
    assert (code, said.startswith(str(output))) == (0, True)
    text = output.read_text("utf-8")
    assert "Report of <bdi>run.jsonl</bdi>" in text
    assert hashlib.sha256(before).hexdigest() in text
    assert str(tmp_path) not in text
    assert journal.read_bytes() == before


def test_a_table_and_another_measure(tmp_path):
    table, output = tmp_path / "results.csv", tmp_path / "out.html"
    rows = [f"{x / 10},{y}" for x in range(8) for y in (x * (7 - x), x * (7 - x) + x)]
    table.write_text("\n".join(["x,value", *rows, "0.35,"]), "utf-8")
    code, _ = called(table, "--minimize", "--kappa", "2", "-o", output)
    assert code == 0
    text = output.read_text("utf-8")
    assert "Based on 17 evaluations (1 failed) at 8 points." in text
    assert "Minimising mean + 2 × noise standard deviation" in text


def test_a_study_of_optuna(tmp_path):
    optuna = imported("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage, output = f"sqlite:///{tmp_path}/study.db", tmp_path / "out.html"
    study = optuna.create_study(storage=storage, study_name="s")

    def objective(trial):
        level = trial.suggest_categorical("level", ["low", "high"]) == "low"
        return (
            trial.suggest_float("x", 0.0, 1.0) ** 2 + trial.suggest_int("n", 1, 9, step=2) - level
        )

    study.optimize(objective, n_trials=8)
    code, _ = called(storage, "-o", output)
    assert code == 0
    text = output.read_text("utf-8")
    assert "Report of <bdi>study.db</bdi>" in text
    assert "Minimising" in text


def test_what_cannot_be_is_said(journal, tmp_path):
    code, said = called(tmp_path / "absent.jsonl")
    assert (code, "There is no file" in said) == (2, True)
    code, said = called(journal, "-o", tmp_path / "absent" / "out.html")
    assert (code, "cannot be written" in said) == (2, True)


def test_names_tell_no_secrets(tmp_path):
    assert name_of("mysql+pymysql://me:secret@host/tuning") == "tuning"
    assert name_of("postgresql://me:secret@host") == "run"
    assert name_of("/home/me/laser.jsonl") == "laser.jsonl"
    assert digest_of("postgresql://me:secret@host/db") is None
    assert digest_of(str(tmp_path)) is None


def test_a_report_never_replaces_its_source(journal, tmp_path):
    before = journal.read_bytes()
    table = tmp_path / "past.csv"
    table.write_text("x,value\n0.5,1\n0.7,2\n")
    link = tmp_path / "link.html"
    link.symlink_to(journal)
    for source, output in ((journal, journal), (table, table), (journal, link)):
        code, said = called(source, "--maximize", "-o", output)
        assert (code, "would replace its source" in said) == (2, True)
    assert journal.read_bytes() == before
    assert table.read_text().startswith("x,value")
    assert is_source(table, f"sqlite:///{table}")
    assert not is_source(tmp_path / "new.html", str(table))
