"""Two graphs whose colors change with a slider, without the script in their first state."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from clipgnn.errors import counted
from clipgnn.report.graph_svg import GraphDrawing, fills
from clipgnn.report.page_parts import text


@dataclass(frozen=True)
class Player:
    """Steps of colors of two graphs.

    Attributes:
        identifier: a name that no other player of the page has.
        label: what a step is.
        drawn: the two graphs.
        first, second: colors of their nodes in each step.
        texts: description of each step.
        names: whether nodes show their attributes.
        points: position of the marker of a chart in each step.
        more: HTML of figures beside the graphs, such as the chart.
    """

    identifier: str
    label: str
    drawn: Sequence[GraphDrawing]
    first: Sequence[Sequence[int]]
    second: Sequence[Sequence[int]]
    texts: Sequence[str]
    names: bool = True
    points: Sequence[tuple[float, float]] = ()
    more: str = ""

    def html(self) -> str:
        """Return the figures in the first state and, for several steps, what changes them."""
        palette = max(
            color for steps in (self.first, self.second) for own in steps for color in own
        )
        palette += 1
        figures = "".join(
            f"<figure>{own.svg(f'{self.identifier}-{side}', steps[0], palette, names=self.names)}"
            f"<figcaption>{text(own.graph.name)}: {counted(len(own.graph.names), 'node')}, "
            f"{counted(len(own.graph.edges), 'edge')}</figcaption></figure>\n"
            for side, own, steps in zip("ab", self.drawn, (self.first, self.second), strict=True)
        )
        shown = f'<div class="pair">\n{figures}{self.more}</div>\n'
        if not self.texts:
            return shown
        said = f'<output for="{self.identifier}">{text(self.texts[0])}</output>\n'
        if len(self.texts) == 1:
            return said + shown
        return f"<div data-player>\n{self._controls()}{said}{shown}{self._data(palette)}</div>\n"

    def _controls(self) -> str:
        # Hidden without JavaScript, which they need.
        name = text(self.label)
        return (
            f'<div class="controls" hidden><label for="{self.identifier}">{name}</label>'
            f'<button type="button" aria-label="Previous: {name}">Previous</button>'
            f'<input type="range" id="{self.identifier}" min="1" max="{len(self.texts)}" step="1" '
            'value="1" autocomplete="off">'
            f'<button type="button" aria-label="Next: {name}">Next</button></div>\n'
        )

    def _data(self, palette: int) -> str:
        data = {
            "fills": fills(palette),
            "first": self.first,
            "second": self.second,
            "texts": self.texts,
            "points": self.points,
        }
        content = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
        return f'<script type="application/json">{content}</script>\n'
