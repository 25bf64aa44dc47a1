"""`rahbo frontier`: show mean against noise, and which point each alpha would choose."""

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
    """Show which point each alpha would choose, from SOURCE.

    Nothing is evaluated, so you can choose alpha after looking at the result. SOURCE is a journal,
    a CSV file or an Optuna storage, as for rahbo recommend.
    """
    optimizer = optimizer_from(source, Asked.by(ctx))
    print_report(optimizer.frontier(), optimizer, as_json)
