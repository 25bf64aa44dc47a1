"""Studies in an Optuna storage, which is only read."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from rahbo.analysis import Recommendation
from rahbo.errors import RahboError, SettingsError
from rahbo.optimizer import Optimizer
from rahbo.settings import Keywords

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import Study

Answer = TypeVar("Answer")


def optimizer_in(source: str, name: str | None, **settings: Unpack[Keywords]) -> Optimizer:
    """Return an `Optimizer` that was told the trials of a study.

    Args:
        source: The URL of a database, or the name of Optuna's SQLite or journal file.
        name: The name of the study; None if it is the only one.
        **settings: Settings of `Optimizer`.
    """

    def ask(study: Study) -> Optimizer:
        from rahbo.integrations.optuna import optimizer_of

        return optimizer_of(study, **settings)

    return _answer(source, name, ask)


def recommendation_in(
    source: str, name: str | None, **settings: Unpack[Keywords]
) -> Recommendation:
    """Return the recommendation of a study, with parameters as stored, conditional ones too."""

    def ask(study: Study) -> Recommendation:
        from rahbo.integrations.optuna import recommend

        return recommend(study, **settings)

    return _answer(source, name, ask)


def _answer(source: str, name: str | None, ask: Callable[[Study], Answer]) -> Answer:
    """Return ``ask`` of a study, or raise an error that says why the study cannot be read."""
    if find_spec("optuna") is None:
        raise SettingsError(
            'Reading an Optuna storage needs Optuna. Install it: pip install "rahbo[optuna]"'
        )
    import optuna

    try:
        storage = _storage(source)
        names = [study.study_name for study in storage.get_all_studies()]
        found = _chosen(names, name)
        return ask(optuna.load_study(study_name=found, storage=storage))
    except RahboError:
        raise
    except Exception as error:
        # Databases, their drivers and damaged files fail in many ways.
        why = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise SettingsError(f"The Optuna storage cannot be read: {why[:300]!r}.") from error


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
    # A database without tables is not an Optuna storage, and must not be turned into one.
    return RDBStorage(_url(source), skip_table_creation=True)


def is_sqlite(path: Path) -> bool:
    """Return whether a file is an SQLite database."""
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _url(source: str) -> Any:
    from sqlalchemy import URL, make_url

    url = make_url(source) if "://" in source else URL.create("sqlite", database=source)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise SettingsError(f"There is no file {url.database!r}. Check the name.")
    return url.render_as_string(hide_password=False)
