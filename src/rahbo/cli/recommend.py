"""`rahbo recommend`: recommend a point from past evaluations."""

from __future__ import annotations

import click

from rahbo.cli.options import goal_options
from rahbo.cli.sources import Asked, OfSource, recommendation_from, source_options
from rahbo.cli.tables import print_report


@click.command(cls=OfSource)
@source_options
@goal_options
@click.option(
    "--context",
    metavar="NAME=VALUE",
    multiple=True,
    help="A condition to decide for. In a CSV file its column is a condition, not a parameter.",
)
@click.pass_context
def command(ctx: click.Context, /, source: str, as_json: bool, **options: object) -> None:
    """Recommend a point from the evaluations in SOURCE.

    The output also says how certain the recommendation is.

    SOURCE is a rahbo journal, a CSV file of past results, or an Optuna storage. An Optuna storage
    is sqlite:///study.db, another URL, or an Optuna journal file.

    Each row of a CSV file is one evaluation. One column is the value, and the columns that were
    varied are parameters. Rows with equal parameters are repeats. An empty value is a failure. Say
    which values are better with --maximize or --minimize. The command says on stderr what it took
    each column for, and asks where that is not clear.
    """
    print_report(*recommendation_from(source, Asked.by(ctx)), as_json)
