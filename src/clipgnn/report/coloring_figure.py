"""Figure of colorings: the attributes and colors of the nodes of one graph, as in Figure 3."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from clipgnn.errors import InvalidColoringError
from clipgnn.report.figures import GRAY, PALETTE, panels

if TYPE_CHECKING:
    Graph = nx.Graph[Any]  # generic in its type stubs only
else:
    Graph = nx.Graph

Positions: TypeAlias = Mapping[Any, tuple[float | int, float | int] | NDArray[np.float64]]

SHAPES = "osDh^v"
"""Shapes of nodes, one for each attribute."""

_NODE_SIZE = 900
_DARK_COLORS = 3  # of the palette, on which white text can be read


def draw_colorings(
    graph: Graph,
    attributes: Mapping[Any, str],
    colorings: Mapping[str, Mapping[Any, int]],
    positions: Positions | None = None,
) -> Figure:
    """Draw colorings of one graph side by side.

    A node is filled with its color and shows its attribute and the number of its color, so that
    nothing depends on distinguishing hues; its shape depends on its attribute.

    Args:
        graph: the graph.
        attributes: the attribute of each node, as a short text.
        colorings: the color of each node, from 0, by title of the drawing.
        positions: coordinates of the nodes; a circle without them.

    Raises:
        InvalidColoringError: if nodes with the same attribute have the same color, or a color or an
            attribute cannot be drawn because there are too many.
    """
    names = sorted(set(attributes.values()))
    if len(names) > len(SHAPES):
        raise InvalidColoringError(
            f"At most {len(SHAPES)} different attributes can be drawn. Got {len(names)}."
        )
    for title, coloring in colorings.items():
        _check(title, graph, attributes, coloring)
    figure = panels(len(colorings), size=(4.2, 3.6))
    places: Positions = positions or nx.circular_layout(graph)
    for axes, (title, coloring) in zip(figure.axes, colorings.items(), strict=True):
        _draw(axes, graph, attributes, coloring, places, names)
        axes.set_title(title)
    legend = _legend(names, attributes, colorings)
    figure.legend(
        handles=legend,
        loc="outside upper center",
        ncols=len(legend),
        frameon=False,
        fontsize=9,
        columnspacing=1.2,
    )
    return figure


def _check(
    title: str, graph: Graph, attributes: Mapping[Any, str], coloring: Mapping[Any, int]
) -> None:
    seen: dict[tuple[str, int], Any] = {}
    for node in graph:
        color = coloring[node]
        if not 0 <= color < len(PALETTE):
            raise InvalidColoringError(
                f"{title}: colors must be from 0 to {len(PALETTE) - 1} to be drawn. Got {color} "
                f"for node {node}."
            )
        other = seen.setdefault((attributes[node], color), node)
        if other != node:
            raise InvalidColoringError(
                f"{title}: nodes with the same attribute must have distinct colors. Got color "
                f"{color} for the nodes {other} and {node}, both with attribute "
                f"{attributes[node]!r}."
            )


def _draw(
    axes: Axes,
    graph: Graph,
    attributes: Mapping[Any, str],
    coloring: Mapping[Any, int],
    positions: Positions,
    names: Sequence[str],
) -> None:
    nx.draw_networkx_edges(graph, positions, ax=axes, edge_color=GRAY, width=1.5)
    for name, shape in zip(names, SHAPES, strict=False):
        nodes = [node for node in graph if attributes[node] == name]
        nx.draw_networkx_nodes(
            graph,
            positions,
            nodelist=nodes,
            ax=axes,
            node_color=[PALETTE[coloring[node]] for node in nodes],
            node_shape=shape,
            node_size=_NODE_SIZE,
            edgecolors="black",
        )
    for node in graph:
        color = coloring[node]
        label = {node: f"{attributes[node]}, {color + 1}"}
        nx.draw_networkx_labels(
            graph,
            positions,
            label,
            ax=axes,
            font_size=10,
            font_weight="bold",
            font_color="white" if color < _DARK_COLORS else "black",
        )
    axes.margins(0.18)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _legend(
    names: Sequence[str],
    attributes: Mapping[Any, str],
    colorings: Mapping[str, Mapping[Any, int]],
) -> list[Line2D]:
    """Describe shapes (attributes, with the size of their group) and fills (colors)."""
    sizes = {name: list(attributes.values()).count(name) for name in names}
    shapes = [
        _handle(shape, "white", f"attribute {name}, {sizes[name]} node{'s'[: sizes[name] - 1]}")
        for name, shape in zip(names, SHAPES, strict=False)
    ]
    used = sorted({color for coloring in colorings.values() for color in coloring.values()})
    return shapes + [_handle("o", PALETTE[color], f"color {color + 1}") for color in used]


def _handle(marker: str, fill: str, label: str) -> Line2D:
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=marker,
        markersize=9,
        markerfacecolor=fill,
        markeredgecolor="black",
        label=label,
    )
