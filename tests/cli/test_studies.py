"""Optuna storages: read, never written, and refused in a sentence."""

import html
import json
import socket
import sqlite3
import sys
from contextlib import suppress
from pathlib import Path

import optuna
import pytest
import sqlalchemy
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import postgres
import rahbo
from extras import needs
from rahbo.cli import main, studies
from rahbo.cli.studies import optimizer_in
from rahbo.errors import RahboError, SettingsError

HOSTILE = ["'; DROP TABLE studies; --", "a\nb\x1b[2J", "../é" * 50]


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("storages")


def add_study(storage, name, n_trials=3):
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(storage=storage, study_name=name, sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=n_trials)


@pytest.fixture(scope="module")
def base(folder):
    """A database with several studies."""
    path = folder / "a b.db"
    storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
    add_study(storage, "first")
    for name in HOSTILE:
        add_study(storage, name, n_trials=1)
    storage.remove_session()
    storage.engine.dispose()
    return path


def journal_storage(path):
    backend = optuna.storages.journal.JournalFileBackend(str(path))
    return optuna.storages.JournalStorage(backend)


@pytest.fixture(scope="module")
def log(folder):
    """A journal file with one study."""
    path = folder / "optuna.log"
    add_study(journal_storage(path), "only")
    return path


@pytest.mark.parametrize("name", ["first", *HOSTILE])
def test_a_study_of_a_data_base(base, name):
    before = base.read_bytes()
    for source in (str(base), f"sqlite:///{base}"):
        optimizer = optimizer_in(source, name, risk=rahbo.MeanStd(1.0))
        assert len(optimizer.trials) == (3 if name == "first" else 1)
        assert optimizer.settings.direction == "minimize"
        assert optimizer.settings.risk == rahbo.MeanStd(1.0)
    assert base.read_bytes() == before


def test_the_only_study_of_a_journal(log):
    before = log.read_bytes()
    assert optimizer_in(str(log), None).n_evaluations == 3
    assert log.read_bytes() == before


@pytest.mark.parametrize("name", [None, "none", "", "FIRST", "first' OR 'a'='a"])
def test_a_study_must_be_named_right(base, name):
    said = "several studies" if name is None else "no study"
    with pytest.raises(SettingsError, match=said) as refused:
        optimizer_in(str(base), name)
    assert "'first'" in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_there_must_be_a_storage(tmp_path):
    for source in (f"sqlite:///{tmp_path}/none.db", "sqlite://"):
        with pytest.raises(SettingsError, match="no file"):
            optimizer_in(source, None)
    assert list(tmp_path.iterdir()) == []


def said_of(source):
    """What a user reads on a storage that cannot be used, and that it holds no secret."""
    with pytest.raises(SettingsError) as refused:
        optimizer_in(source, None)
    text = str(refused.value)
    assert "\n" not in text
    assert "commit" not in text
    for secret in ("s3cret", "p@ss/word", "p%40ss%2Fword"):
        assert secret not in text
    assert refused.value.__cause__ is None
    return text


@needs("psycopg")
def test_a_refused_port_is_a_database_that_cannot_be_reached():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        port = taken.getsockname()[1]
        for login in ("me:s3cret", "me:p%40ss%2Fword"):
            said = said_of(f"postgresql+psycopg://{login}@127.0.0.1:{port}/db")
            assert said.startswith("The database at '127.0.0.1' cannot be reached: ")
            assert "refused" in said.lower()
            assert "Check that it runs" in said


@needs("psycopg")
def test_an_unknown_host():
    said = said_of("postgresql+psycopg://me:s3cret@nowhere.invalid/db?password=s3cret")
    assert said.startswith("The database at 'nowhere.invalid' cannot be reached: ")


@needs("psycopg")
@pytest.mark.slow
def test_a_wrong_password():
    binaries = postgres.binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL binaries are installed")
    with postgres.server(binaries) as url:
        home = Path(url.partition("host=")[2])
        engine = sqlalchemy.create_engine(url)
        with engine.connect() as database:
            database.execute(sqlalchemy.text("create role me login password 'right'"))
            rules = home / "data" / "pg_hba.conf"
            rules.write_text("local all me scram-sha-256\nlocal all all trust\n")
            database.execute(sqlalchemy.text("select pg_reload_conf()"))
            database.commit()
        engine.dispose()
        said = said_of(f"postgresql+psycopg://me:s3cret@/postgres?host={home}")
    assert said.startswith("The database cannot be reached: ")
    assert "password authentication failed" in said


def test_a_missing_driver_and_an_unknown_kind_of_database(monkeypatch):
    monkeypatch.setitem(sys.modules, "MySQLdb", None)
    said = said_of("mysql://me:s3cret@127.0.0.1:1/db")
    assert said.startswith("The driver for mysql is not installed: ")
    assert "MySQLdb" in said
    assert "unknown kind of database, 'nonsense'" in said_of("nonsense://me:s3cret@127.0.0.1/db")


@pytest.mark.parametrize("url", ["://s3cret", "mysql://me@h:s3cret/x"])
def test_a_url_that_cannot_be_parsed_is_not_quoted(url):
    assert said_of(url).startswith("The URL of the Optuna storage cannot be parsed.")


def test_a_text_file_is_not_a_database(tmp_path):
    path = tmp_path / "notes.db"
    path.write_text("hello, text")
    assert "cannot be read: 'file is not a database'" in said_of(f"sqlite:///{path}")
    assert path.read_text() == "hello, text"


def test_another_data_base_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("create table bookmarks (url text)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(SettingsError, match="cannot be read"):
        optimizer_in(str(path), None)
    assert path.read_bytes() == before


def test_an_empty_storage(tmp_path):
    path = tmp_path / "optuna.log"
    journal_storage(path)
    with pytest.raises(SettingsError, match="holds no study"):
        optimizer_in(str(path), None)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_storages_are_refused_or_read(base, log, tmp_path, data):
    source, name = data.draw(st.sampled_from([(log, "only"), (base, "first")]))
    raw = source.read_bytes()
    at = data.draw(st.integers(0, len(raw)))
    put = data.draw(st.binary(max_size=50))
    path = tmp_path / "damaged"
    path.write_bytes(raw[:at] + put + raw[at + data.draw(st.integers(0, 200)) :])
    with suppress(RahboError):
        optimizer_in(str(path), name)


def test_without_optuna_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(studies, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"rahbo\[optuna\]"):
        optimizer_in("sqlite:///x.db", None)


def test_what_is_recommended_is_what_the_study_stores(folder):
    storage = f"sqlite:///{folder}/conditional.db"
    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(storage=storage, study_name="s", sampler=sampler)

    def objective(trial):
        x = trial.suggest_float("x", 1e-5, 1.0, log=True)
        return x + (trial.suggest_float("momentum", 0, 1) if x < 0.9 else 0.0)

    study.optimize(objective, n_trials=8)
    found = studies.recommendation_in(storage, "s")
    assert found.params in [trial.params for trial in study.trials]
    assert "momentum" in found.params


def test_reports_of_a_conditional_study_say_what_was_compared(tmp_path):
    source, page = tmp_path / "study.db", tmp_path / "page.html"
    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(storage=f"sqlite:///{source}", sampler=sampler)

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        return x + (trial.suggest_float("momentum", 0, 1) if x < 0.3 else 0.0)

    study.optimize(objective, n_trials=8)
    lacking = "some trials lack parameters: 'momentum' is missing in trial "
    for command in ("recommend", "frontier", "doctor", "report"):
        more = ["--output", str(page)] if command == "report" else []
        done = CliRunner().invoke(main, [command, str(source), *more])
        assert done.exit_code == 0, done.output
        assert (lacking in done.output) == (command in ("recommend", "report"))
    assert lacking in html.unescape(page.read_text("utf-8"))
    done = CliRunner().invoke(main, ["recommend", str(source), "--json"])
    found = json.loads(done.output)["recommendation"]
    assert lacking in found["scope"]
    assert found["params"] in [trial.params for trial in study.trials]


@pytest.mark.parametrize("command", ["recommend", "report", "frontier", "doctor", "watch"])
@pytest.mark.parametrize(
    "source",
    [
        "mysql+nonsense://me:s3cret@127.0.0.1:1/db",
        "mysql://me:s3@s3cret@127.0.0.1:1/db?password=s3cret",
        "mysql:/me:s3cret@127.0.0.1:1/db",
        "mysql://me:/s3cret@127.0.0.1:1/db",
        "postgresql+psycopg://me:p[s3cret]@127.0.0.1:1/db",
        "mysql://me:s3cret@[1]:1/db",
    ],
)
def test_no_message_of_a_command_shows_a_password(command, source):
    for options in ([], ["--value", "y"], ["--study", "s"]):
        if not (command == "watch" and (options or "://" not in source)):
            result = CliRunner().invoke(main, [command, source, *options])
            assert result.exit_code != 0
            assert isinstance(result.exception, SystemExit)
            assert "s3cret" not in result.output
