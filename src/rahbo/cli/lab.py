"""`rahbo lab`: serve a page that says what to try next and takes the measured values."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from rahbo.cli.config import Config
from rahbo.cli.options import chosen_direction, import_option
from rahbo.cli.safe import RUNS as SAFE_REPEATS
from rahbo.cli.tables import visible
from rahbo.cli.tune import CONFIG, settings_in
from rahbo.cli.tune import command as tune
from rahbo.cli.watch import host_option, serve, served
from rahbo.errors import SettingsError
from rahbo.pages import LAB_PORT, Spec, Studies, Study, lab_site
from rahbo.settings import Keywords

# Options of rahbo tune that say how to run a program.
OF_TUNE = {
    "evaluations", "seconds", "confirm", "jobs", "timeout", "value-regex", "value-json",
    "stop-gap",
}  # fmt: skip
# What a file may say of a study: the same as for rahbo tune, and what is measured.
FILE = click.Command(
    "lab", params=[*tune.params, click.Option(["--outcome"]), click.Option(["--unit"])]
)


def studies_at(place: Path) -> Studies:
    """Return the studies of a folder, the one in a journal, or the one that a file describes."""
    if place.is_dir():
        return Studies(place)
    if not place.exists() and not place.suffix:
        return Studies(_new_folder(place))
    if place.is_file() and place.suffix == ".toml":
        return _of_file(place)
    if not place.is_file():
        raise SettingsError(
            f"There is no file or folder {str(place)!r}. Name a folder for new studies, a journal, "
            "or a TOML file that describes a study."
        )
    studies = Studies(place.parent, place)
    studies.adopt(Study.resume(place))
    return studies


def _new_folder(place: Path) -> Path:
    try:
        place.mkdir()
    except OSError as error:
        raise SettingsError(
            f"The folder {str(place)!r} does not exist and cannot be made: {error.strerror}. Make "
            "it first, or name another one."
        ) from error
    click.echo(visible(f"The folder {place} is new."), err=True)
    return place


def _of_file(path: Path) -> Studies:
    try:
        ctx = FILE.make_context("lab", [str(path)])
    except click.UsageError as error:
        raise SettingsError(f"{path}: {error.format_message()}") from error
    config: Config = ctx.meta[CONFIG]
    journal = Path(ctx.params["journal"] or path.with_suffix(".jsonl"))
    ignored = sorted((OF_TUNE & config.options.keys()) | ({"command"} if config.command else set()))
    if ignored:
        click.echo(f"{path.name}: rahbo lab runs no program and ignores {', '.join(ignored)}.",
                   err=True)  # fmt: skip
    studies = Studies(journal.parent, journal)
    studies.adopt(Study.begin(journal, _spec_of(ctx, config, path)))
    return studies


def _spec_of(ctx: click.Context, config: Config, path: Path) -> Spec:
    """Return the study that a file describes."""
    if not config.space:
        raise SettingsError(f"{path} needs a table [parameters] with at least one parameter.")
    direction = chosen_direction(ctx)
    if direction is None:
        raise SettingsError(f"{path} must say maximize = true or minimize = true.")
    settings, start = settings_in(ctx, config.space)
    names = {name: given for name in ("outcome", "unit") if (given := ctx.params[name])}
    keywords = cast(Keywords, {"direction": direction, **settings})
    return Spec(path.stem, config.space, keywords,
                first=start.settings, repeats=SAFE_REPEATS, **names)  # fmt: skip


@click.command()
@click.argument("place", type=click.Path(path_type=Path), default=Path())
@import_option
@host_option
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N",
    help=f"Port to listen on; 0 picks a free one.  [default: {LAB_PORT}, or a free one]",
)  # fmt: skip
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
def command(place: Path, host: str, port: int | None, no_browser: bool, **options: object) -> None:
    """Say what to try next on a web page, and take the measured values there.

    PLACE is a folder, in which studies are begun and continued, by default the present one. It may
    also be the journal of one study, or a TOML file that describes a study, with the same names as
    for rahbo tune. Everything is written to journals, which the other commands and Python read.
    """
    studies = studies_at(place)
    ports = (LAB_PORT, 0) if port is None else (port,)
    try:
        with served(lab_site(studies), host, *ports) as server:
            serve(server, "The lab is open at", "record values", not no_browser)
    finally:
        studies.close_all()
