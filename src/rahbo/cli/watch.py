"""`rahbo watch`: serve a live page on a run, for the browser."""

from __future__ import annotations

import webbrowser
from contextlib import suppress

import click

from rahbo.cli.options import chosen_risk, import_option, measure_options
from rahbo.cli.studies import hidden
from rahbo.cli.tables import visible
from rahbo.errors import SettingsError
from rahbo.pages import Live, Server, Site, watch_site

host_option = click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="NAME",
    help="Address to listen on. Beyond this machine, the printed address with its token is needed.",
)  # fmt: skip


@click.command()
@click.argument("journal")
@measure_options
@import_option
@host_option
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N",
    help="Port to listen on; 0 picks a free one.  [default: 0]",
)  # fmt: skip
@click.option(
    "--evaluations", type=click.IntRange(min=1), metavar="N",
    help="Budget of the run, to show how much is left. A journal does not hold it.",
)  # fmt: skip
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.pass_context
def command(
    ctx: click.Context, /, journal: str, host: str, port: int, evaluations: int | None,
    opens: bool, **options: object,
) -> None:  # fmt: skip
    """Show the run in JOURNAL on a web page while it goes on.

    JOURNAL need not exist yet. It may be replaced or truncated meanwhile. It is only read.
    Ctrl-C stops the page and does not affect the run.
    """
    if "://" in journal:
        raise SettingsError(
            f"JOURNAL must be a file, got {hidden(journal)!r}. For an Optuna study use "
            "rahbo.integrations.optuna.publish() and optuna-dashboard."
        )
    live = Live(journal, chosen_risk(ctx), budget=evaluations)
    live.start()
    with served(watch_site(live), host, port) as server:
        serve(server, f"Watching {journal} at", "read the run", opens)


def served(site: Site, host: str, *ports: int) -> Server:
    """Return a server at the first of some ports that is free."""
    for port in ports[:-1]:
        with suppress(SettingsError):
            return Server(site, host, port)
    return Server(site, host, ports[-1])


def serve(server: Server, said: str, risk: str, opens: bool) -> None:
    """Say where a server is, and serve until Ctrl-C.

    Args:
        server: The server.
        said: What to say before the address.
        risk: What everyone can do who has the address.
        opens: Whether to open the page in a browser.
    """
    try:
        if server.is_guarded:
            click.echo(f"Anyone who has this address can {risk}. It is not encrypted.", err=True)
        click.echo(visible(f"{said} {server.address}  (Ctrl-C to stop)"))
        if opens:
            webbrowser.open(server.address)
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo("", err=True)
