"""`rahbo report`: write a run as one HTML file that can be shared."""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import urlsplit

import click

from rahbo.cli.options import risk_options
from rahbo.cli.sources import Asked, OfSource, optimizer_from, source_options
from rahbo.cli.tables import visible
from rahbo.errors import SettingsError
from rahbo.pages import record_of, report_page
from rahbo.trials import write_whole


@click.command(cls=OfSource)
@source_options
@risk_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("report.html"),
    show_default=True, metavar="FILE", help="The file to write. An existing file is replaced.",
)  # fmt: skip
@click.pass_context
def command(ctx: click.Context, /, source: str, output: Path, **options: object) -> None:
    """Write an HTML report on the evaluations in SOURCE.

    The report says which point to use, how certain that is, and why. It is a single file
    and needs no network. SOURCE is a journal, a CSV file or an Optuna storage, as for rahbo
    recommend. Nothing is evaluated.
    """
    if is_source(output, source):
        raise SettingsError(
            f"The report would replace its source, {str(output)!r}. Name another file after -o."
        )
    optimizer = optimizer_from(source, Asked.by(ctx))
    record = record_of(optimizer, source=name_of(source), digest=digest_of(source))
    write_whole(output, report_page(record).encode())
    click.echo(visible(f"{output}: {' '.join(record.recommendation.sentences)}"))


def is_source(output: Path, source: str) -> bool:
    """Return whether a file is the source itself, or the database of an Optuna storage."""
    scheme, found, path = source.partition(":///")
    file = Path(path if found and scheme.startswith("sqlite") else source)
    return output.exists() and file.exists() and output.samefile(file)


def name_of(source: str) -> str:
    """Return a name for a source without its folders or the password of a storage.

    >>> name_of("postgresql://me:secret@host:5432/tuning?sslkey=k"), name_of("runs/laser.jsonl")
    ('tuning', 'laser.jsonl')
    """
    path = urlsplit(source).path if "://" in source else source
    return Path(path).name or "run"


def digest_of(source: str) -> str | None:
    """Return the SHA-256 of a file, so that readers can check they have the same one."""
    path = Path(source)
    if "://" in source or not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
