"""Options that commands share."""

import click
import pytest
from click.testing import CliRunner

import rahbo
from rahbo.cli.options import chosen_direction, chosen_risk, goal_options, typed
from rahbo.errors import SettingsError


def chosen(*arguments, defaults=None):
    found = []

    @click.command()
    @goal_options
    @click.pass_context
    def command(ctx, **options):
        found.append((chosen_risk(ctx), chosen_direction(ctx), options["as_json"]))

    CliRunner().invoke(command, list(arguments), default_map=defaults, catch_exceptions=False)
    return found[0]


@pytest.mark.parametrize(
    ("arguments", "risk"),
    [
        (["--alpha", "2"], rahbo.MeanVariance(2.0)),
        (["--alpha", "0"], rahbo.MeanVariance(0.0)),
        (["--kappa", "1.5"], rahbo.MeanStd(1.5)),
        (["--quantile", "0.1"], rahbo.Quantile(0.1)),
        (["--shortfall", "0.2"], rahbo.ExpectedShortfall(0.2)),
    ],
)
def test_each_risk_measure_has_its_option(arguments, risk):
    assert chosen(*arguments) == (risk, None, False)


def test_directions_and_documents():
    assert chosen("--maximize") == (None, "maximize", False)
    assert chosen("--minimize", "--json") == (None, "minimize", True)


def test_options_exclude_each_other():
    for arguments in (["--alpha", "0", "--kappa", "0"], ["--maximize", "--minimize"]):
        with pytest.raises(SettingsError, match="Only one of --"):
            chosen(*arguments)


def test_the_command_line_wins_over_a_file():
    file = {"alpha": "1", "maximize": True}
    assert chosen(defaults=file) == (rahbo.MeanVariance(1.0), "maximize", False)
    typed = chosen("--kappa", "2", "--minimize", defaults=file)
    assert typed == (rahbo.MeanStd(2.0), "minimize", False)


def test_the_command_as_it_was_typed():
    found = []

    @click.command("look")
    @click.option("-p", "--parameter", multiple=True)
    @click.argument("source")
    @goal_options
    @click.option("--unused", default="x")
    @click.pass_context
    def command(ctx, **options):
        found.append(typed(ctx))

    arguments = ["-p", "x y=1:2", "--json", "my file", "--kappa", "0", "--parameter", "z"]
    CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert found == ["look 'my file' -p 'x y=1:2' -p z --kappa 0.0 --json"]
