"""Drawings of graphs as SVG elements of a page: nodes with the numbers of their colors."""

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from clipgnn.comparison.results import GraphView
from clipgnn.report.page_parts import text
from clipgnn.report.placement import place_alike, smallest_distance

# Okabe and Ito, without yellow and black; `figures.PALETTE` has the same (it imports matplotlib).
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#b8a800")
"""Fills of the nodes, which can be distinguished with color blindness."""

_SHADES = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")
"""Colors between which the fills of more colors are interpolated (cividis)."""

_UNIT = 58.0  # of the drawing, for an edge of mean length
_RADIUS = 17.0
_FONT = 14.0
_SMALLEST = 0.62  # factor by which a drawing may be reduced; letters are readable at this size


def fills(number: int) -> list[tuple[str, str]]:
    """Return the fill of each color, and black or white for text on it.

    Example:
        >>> fills(2)
        [('#0072b2', '#ffffff'), ('#d55e00', '#000000')]
    """
    chosen: Sequence[str] = PALETTE[:number]
    if number > len(PALETTE):
        chosen = [_shade(color / (number - 1)) for color in range(number)]
    return [(fill, _ink(fill)) for fill in chosen]


def _channels(fill: str) -> NDArray[np.float64]:
    return np.array([int(fill[place : place + 2], 16) for place in (1, 3, 5)], dtype=np.float64)


def _shade(part: float) -> str:
    place = part * (len(_SHADES) - 1)
    low = min(int(place), len(_SHADES) - 2)
    one, other = _channels(_SHADES[low]), _channels(_SHADES[low + 1])
    mixed = np.rint(one + (place - low) * (other - one)).astype(int)
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _ink(fill: str) -> str:
    """Return the color of text with the larger contrast, by the definition of WCAG."""
    values = _channels(fill) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


def label(name: str, color: int) -> str:
    """Return the text in a node: its attribute, and the number of its color from 1."""
    return ", ".join(filter(None, (name, str(color + 1))))


@dataclass(frozen=True)
class GraphDrawing:
    """A graph with positions of its nodes, to be drawn with several colorings.

    Attributes:
        graph: the graph.
        places: `[nodes, 2]`, in units of the drawing.
        size: width and height of the drawing.
        radius: radius of the nodes.
    """

    graph: GraphView
    places: NDArray[np.float64]
    size: tuple[float, float]
    radius: float

    def svg(
        self, identifier: str, colors: Sequence[int], *, palette: int, most: int, names: bool
    ) -> str:
        """Return the graph with a coloring as an SVG element.

        Args:
            identifier: a name that no other drawing of the page has.
            colors: the color of each node, from 0.
            palette: number of colors of this drawing and of the other one beside it.
            most: largest number of colors that the drawing will have.
            names: whether to write the attributes of the nodes too.
        """
        width, height = self.size
        known = fills(palette)
        own_names = self.graph.names if names else [""] * len(self.graph.names)
        longest = max(len(label(name, most - 1)) for name in own_names)
        font = min(_FONT, 2.7 * self.radius / longest, 1.5 * self.radius)
        nodes = "".join(
            f'<g data-name="{text(name)}"><circle cx="{x:.1f}" cy="{y:.1f}" r="{self.radius:.1f}" '
            f'fill="{known[color][0]}"/><text x="{x:.1f}" y="{y:.1f}" fill="{known[color][1]}">'
            f"{text(label(name, color))}</text></g>\n"
            for (x, y), name, color in zip(self.places, own_names, colors, strict=True)
        )
        described = ", ".join(str(color + 1) for color in colors)
        return (
            f'<div class="scroll drawing" tabindex="0" role="region" '
            f'aria-label="Drawing of {text(self.graph.name)}">'
            f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" style="min-width:'
            f'{_SMALLEST * width:.0f}px;max-width:{1.25 * width:.0f}px" '
            f'aria-labelledby="{identifier}-title {identifier}-desc">'
            f'<title id="{identifier}-title">{text(self.graph.name)}</title>'
            f'<desc id="{identifier}-desc">Colors of the nodes in their order: {described}</desc>\n'
            f'{self._edges()}<g class="nodes" font-size="{font:.1f}">\n{nodes}</g></svg></div>\n'
        )

    def _edges(self) -> str:
        spots = self.places
        lines = "".join(
            f"M{spots[one][0]:.1f} {spots[one][1]:.1f}L{spots[other][0]:.1f} {spots[other][1]:.1f}"
            for one, other in self.graph.edges
            if one != other
        )
        loops = "".join(
            f'<circle class="edges" cx="{spots[one][0]:.1f}" '
            f'cy="{spots[one][1] - 1.1 * self.radius:.1f}" r="{0.8 * self.radius:.1f}"/>'
            for one, other in self.graph.edges
            if one == other
        )
        return f'<path class="edges" d="{lines}"/>{loops}\n' if lines else loops


def drawings(*graphs: GraphView) -> list[GraphDrawing]:
    """Place the nodes of graphs in the same way, in drawings of the same size."""
    plain = []
    for graph in graphs:
        own: nx.Graph[int] = nx.Graph()
        own.add_nodes_from(range(len(graph.names)))
        own.add_edges_from(graph.edges)
        plain.append(own)
    spots = [_UNIT * own * [1, -1] for own in place_alike(*plain)]
    nearest = min(smallest_distance(own) for own in spots)
    radius = min(_RADIUS, 0.42 * nearest)
    margin = 2 * radius + 2
    extents = np.max([np.ptp(own, axis=0) for own in spots], axis=0) + 2 * margin
    extents = np.maximum(extents, [4 * _UNIT, 2 * _UNIT])
    return [
        GraphDrawing(
            graph,
            own - (own.min(axis=0) + own.max(axis=0)) / 2 + extents / 2,
            (float(extents[0]), float(extents[1])),
            radius,
        )
        for graph, own in zip(graphs, spots, strict=True)
    ]
