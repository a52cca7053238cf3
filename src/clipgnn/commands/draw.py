"""`clipgnn draw`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clipgnn.commands.attributes import AttributeOptions
from clipgnn.commands.learning import Quiet
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.output import check_output
from clipgnn.commands.sources import Data, SourceOptions
from clipgnn.commands.terminal import terminal
from clipgnn.errors import DatasetFileError, InvalidParameterError, counted, one_line

if TYPE_CHECKING:
    from clipgnn.graphs.packed import PackedGraphs

MOST_NODES = 200
"""Largest number of nodes of a graph that is drawn."""


@with_option_groups
def draw(
    data: Data,
    source: SourceOptions,
    attributes: AttributeOptions,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File of the figure (.png, .svg or .pdf).")
    ] = Path("colorings.png"),
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, help="Number of the graph in DATA.")
    ] = 1,
    colorings: Annotated[int, typer.Option(min=1, max=12, help="Number of colorings to draw.")] = 3,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the colorings.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Draw a graph with some of its random colorings.

    Nodes with identical attributes have the same shape and distinct colors; the numbers of the
    colors are written in the nodes.

    Example: clipgnn draw MUTAG --number 7 -o molecule.svg
    """
    if output.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InvalidParameterError(
            f"output must end in .png, .svg or .pdf. Got {output.name}.", parameter="output"
        )
    check_output(output)
    found = source.read(data)
    if number > len(found.entries):
        raise InvalidParameterError(
            f"number must be at most {len(found.entries)}, the number of graphs of {found.name}. "
            f"Got {number}.",
            parameter="number",
        )
    entry = found.entries[number - 1]
    if entry.problem is not None:
        raise DatasetFileError(f"{found.name}, {entry.place}: {entry.problem}")
    graph = attributes.read(found.graphs([number - 1]))
    if graph.x.shape[0] > MOST_NODES:
        raise DatasetFileError(
            f"A graph must have at most {MOST_NODES} nodes to be drawn. Got {graph.x.shape[0]}, "
            f"{entry.place}."
        )
    different = _write(graph, colorings, seed, output)
    if not quiet:
        coloring = counted(different, "coloring")
        message = f"Graph {number} ({entry.place}) of {found.name}, {coloring}. Figure: {output}"
        terminal(stderr=True).print(one_line(message))


def _write(graph: "PackedGraphs", k: int, seed: int, output: Path) -> int:
    """Draw a graph; return the number of different colorings."""
    import networkx as nx
    import torch

    from clipgnn.coloring import color_groups, num_colorings, sample_colorings
    from clipgnn.coloring.group_names import group_names
    from clipgnn.report.coloring_figure import draw_colorings
    from clipgnn.report.figures import write_figure
    from clipgnn.report.placement import place_nodes

    groups = color_groups(graph.x)
    total = num_colorings(groups)
    k = min(k, int(total[0] if isinstance(total, Sequence) else total))
    drawn = sample_colorings(groups, k, generator=torch.Generator().manual_seed(seed))
    [nodes] = graph.to_networkx()
    order = list(nodes)
    plain: Any = nx.DiGraph if graph.directed else nx.Graph
    skeleton = plain()
    skeleton.add_nodes_from(order)
    skeleton.add_edges_from(nodes.edges())
    figure = draw_colorings(
        skeleton,
        dict(zip(order, group_names(graph, groups), strict=True)),
        {
            f"coloring {number}": dict(zip(order, own, strict=True))
            for number, own in enumerate(drawn.tolist(), start=1)
        },
        place_nodes(skeleton),
    )
    write_figure(figure, output)
    return k
