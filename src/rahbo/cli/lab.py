"""`rahbo lab`: serve a page that says what to try next and takes the measured values."""

from __future__ import annotations

from pathlib import Path

import click

from rahbo.cli.config import Config, read_config
from rahbo.cli.first import first_in
from rahbo.cli.limits import limits_in
from rahbo.cli.options import DIRECTIONS, RISKS, repeats_in
from rahbo.cli.parameters import blocks_in
from rahbo.cli.safe import RUNS as SAFE_REPEATS
from rahbo.cli.safe import start_of
from rahbo.cli.tables import visible
from rahbo.cli.watch import serve, served
from rahbo.errors import SettingsError
from rahbo.numerics import plain_number
from rahbo.pages import LAB_PORT, Spec, Studies, Study, lab_site
from rahbo.settings import Keywords

# What a file says about a study. The rest of a file for rahbo tune says how to run a program.
OPTIONS = {*RISKS, "repeats", "setup", "noise-std", "seed", "blocks", "journal", "outcome", "unit"}
SEVERAL = {"at-most", "at-least", "safe", "try-first"}
OF_TUNE = {
    "evaluations", "seconds", "confirm", "jobs", "timeout", "value-regex", "value-json",
    "stop-gap",
}  # fmt: skip
FLAGS = {*DIRECTIONS, "json"}


def studies_at(place: Path) -> Studies:
    """Return the studies of a folder, the one in a journal, or the one that a file describes."""
    if place.is_dir():
        return Studies(place)
    if place.suffix == ".toml":
        return _of_file(place)
    if not place.exists() and not place.suffix:
        return Studies(_new_folder(place))
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
    config = read_config(path, OPTIONS | SEVERAL | OF_TUNE, FLAGS, SEVERAL)
    journal = Path(_text(config, "journal") or path.with_suffix(".jsonl"))
    ignored = sorted((OF_TUNE & config.options.keys()) | ({"command"} if config.command else set()))
    if ignored:
        click.echo(f"{path.name}: rahbo lab runs no program and ignores {', '.join(ignored)}.",
                   err=True)  # fmt: skip
    studies = Studies(journal.parent, journal)
    studies.adopt(Study.begin(journal, spec_of(config, path)))
    return studies


def _text(config: Config, name: str) -> str | None:
    given = config.options.get(name)
    return given if isinstance(given, str) else None


def _number(config: Config, name: str, path: Path) -> float | None:
    given = _text(config, name)
    try:
        return None if given is None else plain_number(given)
    except ValueError:
        raise SettingsError(f"{name!r} in {path} must be a number, got {given!r}.") from None


def _seed(config: Config, path: Path) -> int | None:
    given = _text(config, "seed")
    if given is None:
        return None
    try:
        # Any text that int() takes beyond digits, such as 1_0, is more likely a slip.
        return int(given if given.isascii() and given.isdecimal() else "")
    except ValueError:
        raise SettingsError(
            f"'seed' in {path} must be a whole number of at least 0, got {given[:40]!r}."
        ) from None


def _one(found: list[str], path: Path) -> str | None:
    if len(found) > 1:
        raise SettingsError(f"{path} may hold only one of {', '.join(found)}. Remove the others.")
    return found[0] if found else None


def spec_of(config: Config, path: Path) -> Spec:
    """Return the study that a file describes."""
    if not config.space:
        raise SettingsError(f"{path} needs a table [parameters] with at least one parameter.")
    direction = _one([n for n in DIRECTIONS if config.options.get(n) is True], path)
    if direction is None:
        raise SettingsError(f"{path} must say maximize = true or minimize = true.")
    settings: Keywords = {
        "direction": DIRECTIONS[direction],
        "repeats": repeats_in(_text(config, "repeats") or "adaptive",
                              _number(config, "setup", path)),
        "noise_std": _number(config, "noise-std", path),
    }  # fmt: skip
    risk = _one([n for n in RISKS if n in config.options], path)
    if risk is not None:
        settings["risk"] = RISKS[risk](_number(config, risk, path) or 0.0)
    seed = _seed(config, path)
    if seed is not None:
        settings["seed"] = seed
    several = {name: list(config.options.get(name, [])) for name in SEVERAL}  # type: ignore[arg-type]
    limits, blocks = (
        limits_in(several["at-most"], several["at-least"]),
        blocks_in(_text(config, "blocks")),
    )
    start = start_of(several["safe"], config.space, limits, blocks)
    if limits:
        settings["constraints"] = limits
    if start.settings:
        settings["safe"] = True
    if blocks is not None:
        settings["blocks"] = blocks
    first = first_in(several["try-first"], config.space)
    if first:
        settings["try_first"] = first
    names = {name: given for name in ("outcome", "unit") if (given := _text(config, name))}
    return Spec(path.stem, config.space, settings, first=start.settings, repeats=SAFE_REPEATS,
                **names)  # fmt: skip


@click.command()
@click.argument("place", type=click.Path(path_type=Path), default=Path())
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="NAME",
    help="Address to listen on. Beyond this machine, the printed address with its token is needed.",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N",
    help=f"Port to listen on; 0 picks a free one.  [default: {LAB_PORT}, or a free one]",
)  # fmt: skip
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
def command(place: Path, host: str, port: int | None, no_browser: bool) -> None:
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
