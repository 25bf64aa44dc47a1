"""`rahbo doctor`: diagnose the noise of past evaluations."""

from __future__ import annotations

import click

from rahbo.cli.options import goal_options
from rahbo.cli.sources import Asked, OfSource, optimizer_from, source_options
from rahbo.cli.tables import print_report


@click.command(cls=OfSource)
@source_options
@goal_options
@click.pass_context
def command(ctx: click.Context, /, source: str, as_json: bool, **options: object) -> None:
    """Say whether the noise is uneven and whether risk matters.

    The output also says which inputs the noise depends on, how many repeats are worth their cost,
    and whether the model is calibrated. Nothing is evaluated. SOURCE is a journal, a CSV file or
    an Optuna storage, as for rahbo recommend.
    """
    optimizer = optimizer_from(source, Asked.by(ctx))
    print_report(optimizer.diagnose(), optimizer, as_json)
