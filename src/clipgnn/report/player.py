"""Two graphs whose colors change with a slider, without the script in their first state."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from clipgnn.errors import counted
from clipgnn.report.graph_svg import GraphDrawing, fills
from clipgnn.report.node_labels import Labels
from clipgnn.report.page_parts import paragraphs, text


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
        numbers = self._numbers()
        labels = Labels.of(self.drawn, max(numbers), names=self.names)
        svg = partial(GraphDrawing.svg, palette=numbers[0], most=max(numbers))
        sides = zip(
            "ab",
            self.drawn,
            (self.first, self.second),
            (labels.first, labels.second),
            strict=True,
        )
        figures = "".join(
            f"<figure>{svg(own, f'{self.identifier}-{side}', steps[0], names=names)}<figcaption>"
            f"{text(own.graph.name)}: {counted(len(own.graph.names), 'node')}, "
            f"{counted(len(own.graph.edges), 'edge')}</figcaption></figure>\n"
            for side, own, steps, names in sides
        )
        kind = "pair wide" if any(own.large for own in self.drawn) else "pair"
        kind += " close" * labels.close
        key = paragraphs([labels.key] if labels.key else [])
        shown = f'<div class="{kind}">\n{figures}{self.more}</div>\n{key}'
        if not self.texts:
            return shown
        said = f'<output for="{self.identifier}">{text(self.texts[0])}</output>\n'
        if len(self.texts) == 1:
            return said + shown
        bar = f'<div class="bar">\n{self._controls()}{said}</div>\n'
        return f"<div data-player>\n{bar}{shown}{self._data(numbers)}</div>\n"

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

    def _numbers(self) -> list[int]:
        """Return the number of colors of each step, of both graphs together."""
        return [max(*one, *other) + 1 for one, other in zip(self.first, self.second, strict=True)]

    def _data(self, numbers: Sequence[int]) -> str:
        data = {
            "fills": {number: fills(number) for number in sorted(set(numbers))},
            "numbers": numbers,
            "first": self.first,
            "second": self.second,
            "texts": self.texts,
            "points": self.points,
        }
        content = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
        return f'<script type="application/json">{content}</script>\n'
