"""The command line: `clipgnn demo` and `clipgnn data`."""

import csv
import sys
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import clipgnn
from clipgnn.errors import ClipGNNError, DatasetFileError, DatasetNotFoundError

app = typer.Typer(
    help="CLIP: graph neural networks that tell graphs apart by coloring their nodes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """CLIP: graph neural networks that tell graphs apart by coloring their nodes."""


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the picture (PNG, PDF or SVG).")
    ] = Path("clipgnn-demo.png"),
    epochs: Annotated[int, typer.Option(min=1, help="Epochs to train each network.")] = 400,
    seed: Annotated[int, typer.Option(help="Seed of data, weights and colorings.")] = 0,
) -> None:
    """Show two graphs that only CLIP tells apart, then learn circular skip links."""
    import torch  # these take a while to import, which --help need not wait for

    from clipgnn import demo as show

    torch.set_num_threads(1)  # layers this small gain nothing from more, and share cores badly
    _check_picture(output)
    console = Console(highlight=False)
    pair = show.compare_pair(seed)
    console.print(f"[bold]1. {pair.names[0].capitalize()} and {pair.names[1]}[/bold]")
    console.print("   Same size, every node has two neighbors. Difference of representations by")
    console.print(f"   0-CLIP, which is plain message passing:  {pair.without_colors:.6f}")
    console.print(f"   ∞-CLIP, over all 720 colorings:          {pair.with_colors:.6f}")
    console.print("[bold]2. Circular skip links[/bold]")
    console.print(
        "   Ten classes of 4-regular graphs on 41 nodes, one fold of ten, chance is 10 %."
    )
    start = time.perf_counter()
    curves = []
    with Progress(
        TextColumn("   {task.description:>7}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("epochs"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as bars:
        for num_colorings in (0, 16):
            name = f"{num_colorings}-CLIP"
            learning = show.learn_circular_skip_links(num_colorings, epochs=epochs, seed=seed)
            tracked = bars.track(learning, total=epochs, description=name)
            curves.append(show.Curve(name, list(tracked)))
    for curve in curves:
        console.print(f"   {curve.name:>7}: {100 * curve.final:5.1f} % of the held-out graphs")
    show.draw(pair, curves, output)
    console.print(f"Took {time.perf_counter() - start:.0f} s. Picture: {output}")


class TableFormat(StrEnum):
    """How a table is printed."""

    text = "text"
    markdown = "markdown"
    csv = "csv"


@app.command()
def data(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Data sets to show, also others in the TU layout. All by default."),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(help="Folder of the TU data sets. Without it, $CLIPGNN_DATA or the cache."),
    ] = None,
    format: Annotated[TableFormat, typer.Option("--format", help="How to print.")] = (
        TableFormat.text
    ),
    seed: Annotated[int, typer.Option(help="Seed of the property tasks.")] = 0,
    download: Annotated[
        bool, typer.Option("--download", help="Download the data sets that are not there.")
    ] = False,
) -> None:
    """List the data sets and what is in them: the paper's table of characteristics.

    Exit status 1 if a data set named as an argument is not there or is damaged.
    """
    from clipgnn.graphs.characteristics import characteristics
    from clipgnn.graphs.datasets import DATASET_NAMES, load_dataset

    mean = repr if format is TableFormat.csv else "{:.2f}".format
    rows: list[list[str]] = []
    problems: list[str] = []
    for name in names or DATASET_NAMES:
        try:
            graphs = load_dataset(name, root=root, seed=seed, download=download)
        except (DatasetNotFoundError, DatasetFileError) as error:
            absent = isinstance(error, DatasetNotFoundError)
            if absent and name not in DATASET_NAMES:
                raise
            problems.append(str(error))
            rows.append([name, *[""] * 8, "not there" if absent else "damaged"])
            continue
        found = characteristics(graphs)
        rows.append(
            [
                name,
                str(found.num_graphs),
                "" if found.num_classes is None else str(found.num_classes),
                mean(found.mean_nodes),
                mean(found.mean_degree),
                str(found.max_nodes),
                str(found.num_labels),
                str(found.largest_group),
                str(found.num_distinguishable),
                "",
            ]
        )
    header = ["data set", "graphs", "classes", "avg nodes", "avg degree", "max nodes", "labels"]
    _print_table([*header, "largest group", "distinct", "note"], rows, format)
    if format is TableFormat.text:
        typer.echo(
            "largest group: most nodes of one graph with identical attributes (the colors CLIP "
            "needs)\ndistinct: graphs that message passing can tell apart at most"
        )
    errors = Console(stderr=True, highlight=False)
    for problem in problems:
        errors.print(problem, style="yellow", markup=False, soft_wrap=True)
    if names and problems:
        raise typer.Exit(1)


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]], form: TableFormat) -> None:
    """Print rows of a name, numbers and a note; people read the note beside the name."""
    if form is TableFormat.csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([header, *rows])
        return
    shown = [[f"{name} ({note})" if note else name, *cells] for name, *cells, note in rows]
    if form is TableFormat.markdown:
        ruler = ["---", *["---:"] * (len(header) - 2)]
        for row in (header[:-1], ruler, *shown):
            typer.echo(f"| {' | '.join(row)} |")
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 120)  # a file has no edge to wrap a table at
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=(0, 1 if console.width >= 100 else 0),
    )
    table.add_column("\ndata set", min_width=max(len(row[0]) for row in rows), overflow="fold")
    for column in header[1:-1]:
        name = column.replace(" ", "\n")
        table.add_column(name, justify="right", no_wrap=True, vertical="bottom")
    for row in shown:
        table.add_row(*row)
    console.print(table)


def _check_picture(path: Path) -> None:
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise typer.BadParameter(f"must end in .png, .pdf or .svg. Got {path}.")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"must lie in a folder that exists. {path.parent} does not.")


def main() -> None:
    """Run the command line; an error of ours is one line and exit status 2."""
    try:
        app()
    except ClipGNNError as error:
        Console(stderr=True, highlight=False).print(
            f"clipgnn: {error}", style="red", markup=False, soft_wrap=True
        )
        sys.exit(2)


if __name__ == "__main__":
    main()
