"""Drawings of graphs as SVG elements of a page: nodes with the numbers of their colors."""

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from clipgnn.comparison.results import GraphView
from clipgnn.report.page_parts import details, text
from clipgnn.report.placement import SMALLEST_ROOM, place_alike, room, smallest_distance, turned

# Okabe and Ito, without black; `figures.PALETTE` has the same colors (it imports matplotlib).
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")
"""Fills of the nodes, which can be distinguished with color blindness."""

_SHADES = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")
"""Colors between which the fills of more colors are interpolated (cividis)."""

_UNIT = 58.0  # of the drawing, for an edge of mean length
_RADIUS = 17.0
_FONT = 14.0
_LARGEST_RADIUS = 24.0  # of nodes in a large drawing, which is reduced
_LARGE = 360.0  # width or height, without margins, of a drawing that gets more of the page
_HIGHEST = 560  # pixels of the page
_SMALLEST_FONT = 7.6  # pixels of the page
_DENSE = 1000  # number of edges that are drawn with thin lines

_HINT = (
    'The nodes are too small for their numbers.<span class="pointing"> Point at a node, or tap it, '
    "to read its color.</span>"
)


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


def _described(number: int, name: str, color: int) -> str:
    return f"Node {number + 1}{name and f', {name}'}: color {color + 1}"


def _hidden_labels(identifier: str, needed: float, largest: float) -> str:
    """Return the style that hides the labels of a drawing in a box that is less wide than needed.

    Args:
        identifier: that of the drawing.
        needed: width of the drawing, in pixels, at which labels can be read.
        largest: largest width that the drawing can have.
    """
    rules = (
        f"#{identifier} .nodes text {{ display: none; }} "
        f"#{identifier} + .hint {{ display: block; }}"
    )
    if needed <= largest:
        rules = f"@container (max-width: {needed:.0f}px) {{ {rules} }}"
    return f"<style>{rules}</style>\n"


@dataclass(frozen=True)
class GraphDrawing:
    """A graph with positions of its nodes, to be drawn with several colorings.

    Attributes:
        graph: the graph.
        places: `[nodes, 2]`, in units of the drawing.
        size: width and height of the drawing.
        radius: radius of the nodes.
        large: whether the drawing needs much of the width of the page.
    """

    graph: GraphView
    places: NDArray[np.float64]
    size: tuple[float, float]
    radius: float
    large: bool = False

    def svg(
        self,
        identifier: str,
        colors: Sequence[int],
        *,
        palette: int,
        most: int,
        names: Sequence[str] | None = None,
    ) -> str:
        """Return the graph with a coloring as an SVG element, which is as wide as its box.

        Labels that would be too small to read are hidden, by the width of the box.

        Args:
            identifier: a name that no other drawing of the page has.
            colors: the color of each node, from 0.
            palette: number of colors of this drawing and of the other one beside it.
            most: largest number of colors that the drawing will have.
            names: what is written before the color of each node; nothing by default.
        """
        width, height = self.size
        known = fills(palette)
        own_names = [""] * len(self.graph.names) if names is None else names
        font = self._font(own_names, most)
        described = [
            text(_described(number, name, color))
            for number, (name, color) in enumerate(zip(self.graph.names, colors, strict=True))
        ]
        nodes = "".join(
            f'<g data-name="{text(name)}"><circle cx="{x:.1f}" cy="{y:.1f}" r="{self.radius:.1f}" '
            f'fill="{known[color][0]}"/><text x="{x:.1f}" y="{y:.1f}" fill="{known[color][1]}">'
            f"{text(label(name, color))}</text>"
            f"<title>{described[number]}</title></g>\n"
            for number, ((x, y), name, color) in enumerate(
                zip(self.places, own_names, colors, strict=True)
            )
        )
        listed = "".join(f"<li>{own}</li>\n" for own in described)
        largest = min(1.25 * width, _HIGHEST * width / height)
        return (
            f'<div class="drawing{" large" if self.large else ""}">\n'
            f"{_hidden_labels(identifier, self.needed(own_names, most), largest)}"
            f'<svg id="{identifier}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
            f'style="max-width:{largest:.0f}px" '
            f'aria-labelledby="{identifier}-title {identifier}-desc">'
            f'<title id="{identifier}-title">{text(self.graph.name)}</title>'
            f'<desc id="{identifier}-desc">Colors of the nodes in their order: '
            f"{', '.join(str(color + 1) for color in colors)}</desc>\n"
            f'{self._edges()}<g class="nodes" font-size="{font:.1f}">\n{nodes}</g></svg>\n'
            f'<div class="hint note"><p>{_HINT}</p>\n'
            f"{details('Colors of the nodes', f'<ul>{listed}</ul>')}</div></div>\n"
        )

    def needed(self, names: Sequence[str], most: int) -> float:
        """Return the width of the drawing, in pixels, at which its labels can be read."""
        return _SMALLEST_FONT / self._font(names, most) * self.size[0]

    def _font(self, names: Sequence[str], most: int) -> float:
        longest = max(len(label(name, most - 1)) for name in names)
        return min(
            max(_FONT, 1.2 * self.radius) if self.large else _FONT,
            2.7 * self.radius / longest,
            1.5 * self.radius,
        )

    def _edges(self) -> str:
        spots = self.places
        lines = "".join(
            f"M{spots[one][0]:.1f} {spots[one][1]:.1f}L{spots[other][0]:.1f} {spots[other][1]:.1f}"
            for one, other in self.graph.edges
            if one != other
        )
        # A loop begins and ends at the center of its node, which covers a part of it.
        lines += "".join(
            f"M{x:.1f} {y:.1f}c{-2.4 * self.radius:.1f} {-2.6 * self.radius:.1f} "
            f"{2.4 * self.radius:.1f} {-2.6 * self.radius:.1f} 0 0"
            for x, y in (spots[one] for one, other in self.graph.edges if one == other)
        )
        kind = "edges dense" if len(self.graph.edges) > _DENSE else "edges"
        return f'<path class="{kind}" d="{lines}"/>\n' if lines else ""


def drawings(*graphs: GraphView) -> list[GraphDrawing]:
    """Place the nodes of graphs in the same way, in drawings of the same size."""
    plain = []
    for graph in graphs:
        own: nx.Graph[int] = nx.Graph()
        own.add_nodes_from(range(len(graph.names)))
        own.add_edges_from(graph.edges)
        plain.append(own)
    spots = [_UNIT * own * [1, -1] for own in place_alike(*plain)]
    if large := _extent(spots) > _LARGE:
        spots = [turned(own) for own in spots]
    nearest = min(smallest_distance(own) for own in spots)
    largest = min(max(_RADIUS, _RADIUS * _extent(spots) / _LARGE), _LARGEST_RADIUS)
    part = 0.42
    if large:  # Smaller nodes, so that the edges between them can be seen.
        part = 0.4 if min(map(room, spots)) >= SMALLEST_ROOM else 0.3
    radius = min(largest, part * nearest)
    margin = 2 * radius + 2
    extents = np.max([np.ptp(own, axis=0) for own in spots], axis=0) + 2 * margin
    extents = np.maximum(extents, [4 * _UNIT, 2 * _UNIT])
    return [
        GraphDrawing(
            graph,
            own - (own.min(axis=0) + own.max(axis=0)) / 2 + extents / 2,
            (float(extents[0]), float(extents[1])),
            radius,
            large,
        )
        for graph, own in zip(graphs, spots, strict=True)
    ]


def _extent(spots: Sequence[NDArray[np.float64]]) -> float:
    """Return the largest width or height of several drawings."""
    return max(float(np.ptp(own, axis=0).max()) for own in spots)
