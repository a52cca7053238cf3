"""Figure of colorings: the attributes and colors of the nodes of one graph, as in Figure 3."""

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import networkx as nx
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from clipgnn.errors import InvalidColoringError, counted
from clipgnn.report.figures import GRAY, PALETTE, panels

if TYPE_CHECKING:
    Graph = nx.Graph[Any]  # generic in its type stubs only
else:
    Graph = nx.Graph

Positions: TypeAlias = Mapping[Any, tuple[float | int, float | int] | NDArray[np.float64]]

SHAPES = "osDh^v"
"""Shapes of nodes, one for each attribute."""

_DIAMETER = 30.0  # of nodes, in points, where there is enough space
_FONT_SIZE = 10
_PANEL = (4.2, 3.6)  # inches, for up to twelve nodes
_FULL_SIZE = 12
_LEGEND_COLUMNS = 3  # for each drawing
_SHADES = "cividis"  # of more colors than the palette has; readable with color blindness


def draw_colorings(
    graph: Graph,
    attributes: Mapping[Any, str],
    colorings: Mapping[str, Mapping[Any, int]],
    positions: Positions | None = None,
) -> Figure:
    """Draw colorings of one graph side by side.

    A node is filled with its color and shows its attribute and the number of its color, so that
    nothing depends on distinguishing hues; its shape depends on its attribute. Shapes repeat if
    there are many attributes. More colors than the palette has are shades of one color map.

    Args:
        graph: the graph.
        attributes: the attribute of each node, as a short text.
        colorings: the color of each node, from 0, by title of the drawing.
        positions: coordinates of the nodes; a circle without them.

    Raises:
        InvalidColoringError: if nodes with the same attribute have the same color.
    """
    names = sorted(set(attributes.values()))
    for title, coloring in colorings.items():
        _check(title, graph, attributes, coloring)
    growth = min(max(1.0, (len(graph) / _FULL_SIZE) ** 0.5), 2.5)
    size = (_PANEL[0] * growth, _PANEL[1] * growth)
    figure = panels(len(colorings), size=size)
    places: Positions = positions or nx.circular_layout(graph)
    diameter = _diameter(np.array([places[node] for node in graph], dtype=np.float64), size)
    fills = _fills(max(color for own in colorings.values() for color in own.values()) + 1)
    for axes, (title, coloring) in zip(figure.axes, colorings.items(), strict=True):
        _draw(axes, graph, attributes, coloring, places, fills, diameter)
        axes.set_title(title)
    legend = _legend(names, attributes, fills)
    figure.legend(
        handles=legend,
        loc="outside upper center",
        ncols=min(len(legend), _LEGEND_COLUMNS * len(colorings)),
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
        if color < 0:
            raise InvalidColoringError(
                f"{title}: colors must not be negative. Got {color} for node {node}."
            )
        other = seen.setdefault((attributes[node], color), node)
        if other != node:
            raise InvalidColoringError(
                f"{title}: nodes with the same attribute must have distinct colors. Got color "
                f"{color} for the nodes {other} and {node}, both with attribute "
                f"{attributes[node]!r}."
            )


def _fills(number: int) -> Sequence[str]:
    """Return the fill of each color."""
    if number <= len(PALETTE):
        return PALETTE[:number]
    shades = colormaps[_SHADES]
    return [to_hex(shades(color / (number - 1))) for color in range(number)]


def _text_color(fill: str) -> str:
    """Return white or black, whichever can be read better on a fill."""
    luminance = sum(
        share * channel for share, channel in zip((0.299, 0.587, 0.114), to_rgb(fill), strict=True)
    )
    return "white" if luminance < 0.5 else "black"


def _diameter(places: NDArray[np.float64], size: tuple[float, float]) -> float:
    """Return a diameter of nodes, in points, at which no two of them overlap."""
    extent = np.maximum(np.ptp(places, axis=0), 1e-9)
    # 0.7 of a drawing is left for the nodes between margins, title and legend.
    points = float(min(0.7 * 72 * np.array(size) / extent))
    distances = np.linalg.norm(places[:, None] - places[None], axis=-1)
    nearest = distances[~np.eye(len(places), dtype=bool)].min(initial=np.inf)
    return float(min(_DIAMETER, 0.62 * points * nearest))


def _draw(
    axes: Axes,
    graph: Graph,
    attributes: Mapping[Any, str],
    coloring: Mapping[Any, int],
    positions: Positions,
    fills: Sequence[str],
    diameter: float,
) -> None:
    node_size = int(diameter**2)
    names = sorted(set(attributes.values()))
    nx.draw_networkx_edges(
        graph, positions, ax=axes, edge_color=GRAY, width=1.5, node_size=node_size
    )
    for name, shape in zip(names, itertools.cycle(SHAPES), strict=False):
        nodes = [node for node in graph if attributes[node] == name]
        nx.draw_networkx_nodes(
            graph,
            positions,
            nodelist=nodes,
            ax=axes,
            node_color=[fills[coloring[node]] for node in nodes],
            node_shape=shape,
            node_size=node_size,
            edgecolors="black",
        )
    for node in graph:
        color = coloring[node]
        nx.draw_networkx_labels(
            graph,
            positions,
            {node: ", ".join(filter(None, (attributes[node], str(color + 1))))},
            ax=axes,
            font_size=_FONT_SIZE * diameter / _DIAMETER,
            font_weight="bold",
            font_color=_text_color(fills[color]),
        )
    axes.margins(0.15)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _legend(
    names: Sequence[str], attributes: Mapping[Any, str], fills: Sequence[str]
) -> list[Line2D]:
    """Describe shapes (attributes, with the size of their group) and fills (colors).

    Shades are not described: the numbers in the nodes name them.
    """
    sizes = {name: list(attributes.values()).count(name) for name in names}
    shapes = [
        _handle(shape, "white", f"attribute {name}, {counted(sizes[name], 'node')}")
        for name, shape in zip(names, itertools.cycle(SHAPES), strict=False)
        if name
    ]
    if len(fills) > len(PALETTE):
        return shapes
    return shapes + [_handle("o", fill, f"color {color + 1}") for color, fill in enumerate(fills)]


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
