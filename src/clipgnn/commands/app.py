"""The application of the command line, which collects the commands."""

from typing import Annotated

import typer

import clipgnn
from clipgnn.commands import experiment
from clipgnn.commands.bench import bench
from clipgnn.commands.compare import compare
from clipgnn.commands.convert import convert
from clipgnn.commands.cv import cv
from clipgnn.commands.data import data
from clipgnn.commands.demo import demo
from clipgnn.commands.draw import draw
from clipgnn.commands.evaluate import evaluate
from clipgnn.commands.expressivity import expressivity
from clipgnn.commands.inspect import inspect
from clipgnn.commands.predict import predict
from clipgnn.commands.report import report
from clipgnn.commands.train import train

app = typer.Typer(
    help="CLIP: graph neural networks that distinguish graphs by coloring their nodes.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for command in (train, predict, evaluate, cv, inspect, draw, compare, report, demo, data, convert):
    app.command()(command)
app.command()(expressivity)
app.add_typer(experiment.app, name="experiment")
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
