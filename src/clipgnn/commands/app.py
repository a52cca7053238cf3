"""The application of the command line, which collects the commands."""

from typing import Annotated

import typer

import clipgnn
from clipgnn.commands import experiment
from clipgnn.commands.bench import bench
from clipgnn.commands.data import data
from clipgnn.commands.demo import demo
from clipgnn.commands.report import report

app = typer.Typer(
    help="CLIP: graph neural networks that distinguish graphs by coloring their nodes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(data)
app.add_typer(experiment.app, name="experiment")
app.command()(report)
app.command()(bench)


def _print_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"clipgnn {clipgnn.__version__}")
        raise typer.Exit
    return asked


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """CLIP: graph neural networks that distinguish graphs by coloring their nodes."""
