"""Studies in an Optuna storage, which is only read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Unpack
from urllib.parse import unquote

from rahbo.analysis import Recommendation
from rahbo.errors import RahboError, SettingsError
from rahbo.optimizer import Optimizer
from rahbo.settings import Keywords

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import Study
    from sqlalchemy import URL

LONGEST_REASON = 300
# The names of query parameters whose values are secret.
_SECRET = re.compile("pass|pwd|key|token|secret", re.IGNORECASE)


def optimizer_in(source: str, name: str | None, **settings: Unpack[Keywords]) -> Optimizer:
    """Return an `Optimizer` that was told the trials of a study.

    Args:
        source: The URL of a database, or the name of Optuna's SQLite or journal file.
        name: The name of the study; None if it is the only one.
        **settings: Settings of `Optimizer`.
    """
    with _opened(source, name) as study:
        from rahbo.integrations.optuna import optimizer_of

        return optimizer_of(study, **settings)


def recommendation_in(
    source: str, name: str | None, **settings: Unpack[Keywords]
) -> Recommendation:
    """Return the recommendation of a study, with the parameters of a trial as stored."""
    with _opened(source, name) as study:
        from rahbo.integrations.optuna import recommend

        return recommend(study, **settings)


@contextmanager
def _opened(source: str, name: str | None) -> Iterator[Study]:
    """Yield a study. An error that comes from reading it says why it cannot be read."""
    if find_spec("optuna") is None:
        raise SettingsError(
            'Reading an Optuna storage needs Optuna. Install it: pip install "rahbo[optuna]"'
        )
    import optuna

    try:
        storage = _storage(source)
        names = [study.study_name for study in storage.get_all_studies()]
        found = _chosen(names, name)
        yield optuna.load_study(study_name=found, storage=storage)
    except RahboError:
        raise
    except Exception as error:
        # Databases, their drivers and damaged files fail in many ways.
        raise SettingsError(
            f"The Optuna storage cannot be read: {_why(error, source)!r}. Check that it is one, "
            "and that this version of Optuna can read it."
        ) from None


def _chosen(names: list[str], name: str | None) -> str:
    known = ", ".join(repr(n) for n in names[:20]) + (", ..." if len(names) > 20 else "")
    if not names:
        raise SettingsError("The Optuna storage holds no study. Check the name of the source.")
    if name is None and len(names) > 1:
        raise SettingsError(f"The Optuna storage holds several studies: {known}. Use --study NAME.")
    if name is not None and name not in names:
        raise SettingsError(f"The Optuna storage holds no study {name!r}. It holds {known}.")
    return names[0] if name is None else name


def _storage(source: str) -> BaseStorage:
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    if "://" not in source and not is_sqlite(Path(source)):
        return JournalStorage(JournalFileBackend(source))
    url = _url(source)
    _check_reachable(url, source)
    # A database without tables is not an Optuna storage, and must not be turned into one.
    return RDBStorage(url.render_as_string(hide_password=False), skip_table_creation=True)


def is_sqlite(path: Path) -> bool:
    """Return whether a file is an SQLite database."""
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _url(source: str) -> URL:
    from sqlalchemy import URL, make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(source) if "://" in source else URL.create("sqlite", database=source)
    except (ArgumentError, ValueError):
        # Its message may quote a part of the password.
        raise SettingsError(
            "The URL of the Optuna storage cannot be parsed. It must have the form "
            "DIALECT://USER:PASSWORD@HOST:PORT/DATABASE. Write special characters as "
            "percent codes: %40 for @, %2F for /, %3A for a colon."
        ) from None
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise SettingsError(f"There is no file {url.database!r}. Check the name.")
    return url


def _check_reachable(url: URL, source: str) -> None:
    """Raise an error that says why a database cannot be reached.

    Optuna would say that the data of a commit are invalid.
    """
    from sqlalchemy import create_engine
    from sqlalchemy.exc import NoSuchModuleError

    try:
        engine = create_engine(url)
        try:
            engine.connect().close()
        finally:
            engine.dispose()
    except NoSuchModuleError:
        raise SettingsError(
            f"The URL of the Optuna storage names an unknown kind of database, {url.drivername!r}. "
            "Use one that SQLAlchemy knows, such as postgresql+psycopg, mysql+pymysql or sqlite."
        ) from None
    except ImportError as error:
        raise SettingsError(
            f"The driver for {url.drivername} is not installed: {_why(error, source)!r}. "
            "Install it, or name another one in the URL, such as postgresql+psycopg://."
        ) from None
    except Exception as error:
        where = "" if url.host is None else f" at {url.host!r}"
        raise SettingsError(
            f"The database{where} cannot be reached: {_why(error, source)!r}. Check that it runs, "
            "and the host, port, user, password and database in the URL."
        ) from None


def _why(error: BaseException, source: str) -> str:
    """Return the first cause of an error in one line, without the secrets of its URL."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = " ".join(str(error).split()) or type(error).__name__
    for secret in _secrets(source):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return text[:LONGEST_REASON]


def hidden(source: str) -> str:
    """Return a source as a message may show it, without the login and the query of a URL.

    >>> hidden("mysql://me:p@ss@host/db?ssl_key=k"), hidden("mysql:/me:pass@host"), hidden("a.csv")
    ('mysql://***@host/db', 'mysql:***@host', 'a.csv')
    """
    scheme, mark, rest = source.partition("://")
    if not mark:
        return re.sub(":.*@", ":***@", source, flags=re.DOTALL)
    _, login, place = rest.rpartition("@")
    return f"{scheme}://{'***@' if login else ''}{place.partition('?')[0]}"


def _secrets(source: str) -> set[str]:
    """Return the parts of a URL that must not be shown, as written and decoded."""
    if "://" not in source:
        return set()
    login, _, _ = source.split("://", 1)[1].rpartition("@")
    _, _, password = login.partition(":")
    query = source.partition("?")[2].split("&")
    parts = {password, *(pair.partition("=")[2] for pair in query if _SECRET.search(pair))}
    return {text for part in parts for text in (part, unquote(part)) if text}
