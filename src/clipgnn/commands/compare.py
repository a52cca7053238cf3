"""`clipgnn compare`."""

from pathlib import Path
from typing import Annotated

import typer

from clipgnn.commands.learning import Quiet
from clipgnn.commands.output import check_output
from clipgnn.commands.terminal import terminal
from clipgnn.errors import InvalidParameterError, one_line
from clipgnn.parameters.datasets import DATA_FORMATS
from clipgnn.writing import write_file

MOST_STEPS = 256
"""Largest number of colorings of the slider."""


def _print_list(asked: bool) -> bool:
    if asked:
        from clipgnn.datasets.named_graphs import NAMED_GRAPHS, PATTERNS

        console = terminal()
        for name, own in NAMED_GRAPHS.items():
            console.print(f"{name:<17} {own.description}; compare with {own.partner}")
        for name, description in PATTERNS.items():
            console.print(f"{name:<17} {description}")
        raise typer.Exit
    return asked


Graph = (
    "A file with one graph, FILE#NUMBER for one of several graphs, a graph in graph6 or sparse6, "
    "smiles:SMILES, or the name of an example."
)


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=Graph)],
    second: Annotated[str, typer.Argument(metavar="B", help="The other graph, likewise.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File of the page (.html).")
    ] = Path("comparison.html"),
    colorings: Annotated[
        int, typer.Option(min=1, max=MOST_STEPS, help="Number of colorings to show.")
    ] = 32,
    enumerate_up_to: Annotated[
        int,
        typer.Option(
            min=0,
            max=10_000_000,
            help="Use all colorings (∞-CLIP) if no graph has more, and up to 1,024 in any case; "
            "3,628,800 take up to a minute.",
        ),
    ] = 50_000,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of weights and colorings.")
    ] = 0,
    node_attributes: Annotated[
        str | None,
        typer.Option(
            help='Attributes of nodes to use: element,charge; "" for none; by default all.'
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"Format of files: {', '.join(DATA_FORMATS)}; by default recognized.",
            autocompletion=lambda: list(DATA_FORMATS),
        ),
    ] = None,
    smiles_column: Annotated[
        str | None, typer.Option(help="Column of SMILES; by default 'smiles'.")
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(help="Folder of the TU data sets; by default $CLIPGNN_DATA or the cache."),
    ] = None,
    quiet: Quiet = False,
    list_: Annotated[
        bool,
        typer.Option(
            "--list", callback=_print_list, is_eager=True, help="List the examples and exit."
        ),
    ] = False,
) -> None:
    """Compare two graphs on one page: what message passing and colorings distinguish.

    The page needs no network. It has both graphs with the colors of color refinement, of random
    colorings and of canonical colorings, and the differences between their representations.

    Example: clipgnn compare hexagon two-triangles -o page.html
    """
    if output.suffix.lower() not in (".html", ".htm"):
        raise InvalidParameterError(
            f"output must end in .html or .htm. Got {output.name}.", parameter="output"
        )
    check_output(output)

    import torch  # slow to import; --help does not need it

    from clipgnn.comparison.compare import compare as compare_graphs
    from clipgnn.comparison.inputs import FileOptions, read_graph
    from clipgnn.report.comparison_page import render_comparison
    from clipgnn.report.comparison_texts import lead

    torch.set_num_threads(1)  # such small layers are not faster with more threads
    options = FileOptions(format, smiles_column, root)
    names = None
    if node_attributes is not None:
        names = [name.strip() for name in node_attributes.split(",") if name.strip()]
    console = terminal(stderr=True)
    console.quiet = quiet
    given = read_graph(first, options), read_graph(second, options)
    with console.status("Comparing the graphs…"):  # in a terminal only
        found = compare_graphs(
            *given,
            num_colorings=colorings,
            seed=seed,
            node_attributes=names,
            most_enumerated=enumerate_up_to,
        )
    write_file(output, render_comparison(found).encode())
    if not quiet:
        for note in found.notes:
            console.print(one_line(note), style="yellow")
        console.print(one_line(f"{lead(found)} Page: {output}"))
