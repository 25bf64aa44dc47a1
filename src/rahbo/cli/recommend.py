"""`rahbo recommend`: the point to use, from evaluations that were made already."""

from __future__ import annotations

import click

from rahbo.cli.documents import about, document
from rahbo.cli.options import goal_options
from rahbo.cli.sources import Asked, recommendation_from, source_options
from rahbo.cli.tables import console, show


@click.command()
@source_options
@goal_options
@click.pass_context
def command(ctx: click.Context, /, source: str, as_json: bool, **options: object) -> None:
    """Say which point to use, by all that SOURCE holds, and how sure that is.

    SOURCE is a journal of rahbo, a CSV file of past results (columns are parameters and a value,
    rows are evaluations, equal parameters are repeats, an empty value is a failure), or an Optuna
    storage: sqlite:///study.db, another URL, or a journal file.
    """
    found, optimizer = recommendation_from(source, Asked.by(ctx))
    if as_json:
        click.echo(document(recommendation=found, about=about(optimizer)))
    else:
        show(found, optimizer, console())
