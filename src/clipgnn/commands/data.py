"""`clipgnn data`."""

import csv
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from clipgnn.commands.flags import with_flag
from clipgnn.commands.terminal import terminal
from clipgnn.errors import DatasetFileError, DatasetNotFoundError, one_line
from clipgnn.parameters.datasets import DATASETS
from clipgnn.report.markdown import escape


class TableFormat(StrEnum):
    """Format of the table."""

    text = "text"
    markdown = "markdown"
    csv = "csv"


def data(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Data sets, also others in the TU layout; by default all known ones."),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(help="Folder of the TU data sets; by default $CLIPGNN_DATA or the cache."),
    ] = None,
    format: Annotated[TableFormat, typer.Option("--format", help="Format of the table.")] = (
        TableFormat.text
    ),
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of the property tasks.")
    ] = 0,
    download: Annotated[
        bool, typer.Option("--download", help="Download missing data sets.")
    ] = False,
) -> None:
    """Print the characteristics of the data sets, as in the paper's table.

    The exit status is 1 if a data set given as an argument is missing or damaged.

    Example: clipgnn data MUTAG csl --format markdown
    """
    from clipgnn.datasets.characteristics import characteristics
    from clipgnn.datasets.registry import load_dataset

    mean = repr if format is TableFormat.csv else "{:.2f}".format
    rows: list[list[str]] = []
    problems: list[str] = []
    for name in names or DATASETS:
        try:
            graphs = load_dataset(name, root=root, seed=seed, download=download)
        except (DatasetNotFoundError, DatasetFileError) as error:
            absent = isinstance(error, DatasetNotFoundError)
            if absent and name not in DATASETS:
                raise
            problems.append(with_flag(str(error), "root" if absent else None))
            rows.append([name, *[""] * 8, "missing" if absent else "damaged"])
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
        print(
            "largest group: maximum number of nodes of a graph with identical attributes (the "
            "colors CLIP needs)\ndistinct: maximum number of graphs that message passing can "
            "distinguish"
        )
    errors = terminal(stderr=True)
    for problem in problems:
        errors.print(one_line(problem), style="yellow")
    if names and problems:
        raise typer.Exit(1)


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]], form: TableFormat) -> None:
    """Print rows of a name, numbers and a note; except in CSV, the note follows the name."""
    if form is TableFormat.csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([header, *rows])
        return
    shown = [[f"{name} ({note})" if note else name, *cells] for name, *cells, note in rows]
    if form is TableFormat.markdown:
        ruler = ["---", *["---:"] * (len(header) - 2)]
        named = [[escape(name), *cells] for name, *cells in shown]
        for row in (header[:-1], ruler, *named):
            print(f"| {' | '.join(row)} |")
        return
    console = terminal()
    if not console.is_terminal:
        console.width = max(console.width, 120)  # a file has no width
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
    console.print(table, soft_wrap=False)
