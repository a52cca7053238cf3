"""Figure of colorings: the attributes and colors of the nodes of one graph, as in Figure 3."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import networkx as nx
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
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
    frame = _Frame.around(np.array([places[node] for node in graph], dtype=np.float64), size)
    fills = _fills(max(color for own in colorings.values() for color in own.values()) + 1)
    for axes, (title, coloring) in zip(figure.axes, colorings.items(), strict=True):
        _draw(axes, graph, attributes, coloring, places, fills, frame)
        axes.set_title(title)
    legend = _legend(names, attributes, fills)
    figure.legend(
        handles=legend,
        loc="outside upper center",
        ncols=_legend_columns(legend, figure.get_figwidth()),
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


@dataclass(frozen=True)
class _Frame:
    """The part of the plane that is drawn.

    Attributes:
        x, y: its limits.
        diameter: diameter of nodes in points, at which no two of them overlap.
        node: the same in units of the plane.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    diameter: float
    node: float

    @classmethod
    def around(cls, places: NDArray[np.float64], size: tuple[float, float]) -> "_Frame":
        """Choose the limits for positions `[nodes, 2]` in a drawing of a size in inches."""
        inches = 0.7 * np.array(size)  # the rest is for margins, title and legend
        unit = float(max(np.ptp(places, axis=0) / inches)) or 1.0  # of the plane, for an inch
        center = (places.min(axis=0) + places.max(axis=0)) / 2
        low, high = center - unit * inches * 0.65, center + unit * inches * 0.65
        distances = np.linalg.norm(places[:, None] - places[None], axis=-1)
        nearest = distances[~np.eye(len(places), dtype=bool)].min(initial=np.inf)
        diameter = float(min(_DIAMETER, 0.62 * 72 * nearest / unit))
        return cls(
            x=(float(low[0]), float(high[0])),
            y=(float(low[1]), float(high[1])),
            diameter=diameter,
            node=diameter * unit / 72,
        )


def _draw(
    axes: Axes,
    graph: Graph,
    attributes: Mapping[Any, str],
    coloring: Mapping[Any, int],
    positions: Positions,
    fills: Sequence[str],
    frame: _Frame,
) -> None:
    diameter = frame.diameter
    node_size = int(diameter**2)
    names = sorted(set(attributes.values()))
    edges = [(one, other) for one, other in graph.edges() if one != other]
    nx.draw_networkx_edges(
        graph, positions, edges, ax=axes, edge_color=GRAY, width=1.5, node_size=node_size
    )
    for node in nx.nodes_with_selfloops(graph):
        x, y = positions[node]
        loop = Circle((x, y + 0.55 * frame.node), 0.45 * frame.node, fill=False, zorder=0)
        axes.add_patch(loop)
        loop.set(edgecolor=GRAY, linewidth=1.5)
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
    axes.set_xlim(*frame.x)
    axes.set_ylim(*frame.y)
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


def _legend_columns(legend: Sequence[Line2D], inches: float) -> int:
    """Number of columns that fit a width, by the longest text of the legend."""
    longest = max((len(str(own.get_label())) for own in legend), default=1)
    return max(1, min(len(legend), int(inches / (0.075 * longest + 0.5))))


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
