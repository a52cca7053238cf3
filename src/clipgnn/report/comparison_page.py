"""The page of a comparison of two graphs: one HTML file with one script, which loads nothing."""

from collections import Counter
from collections.abc import Sequence

from clipgnn.comparison.results import Comparison
from clipgnn.errors import counted
from clipgnn.report.comparison_texts import (
    attribute_rows,
    canonical_text,
    colorings_text,
    computation,
    difference_text,
    lead,
    level_text,
    message_passing_text,
    power,
    result_rows,
    value,
)
from clipgnn.report.difference_svg import DifferenceCurve
from clipgnn.report.document import document
from clipgnn.report.graph_svg import GraphDrawing, drawings
from clipgnn.report.page_parts import details, grid, items, paragraphs, text
from clipgnn.report.player import Player

_MOST_LISTED = 8
"""Number of colors of a histogram that are listed."""

_MOST_ATTRIBUTES = 12
"""Number of attributes of nodes that are shown without being opened."""

_MOST_ROUNDS = 12
"""Number of rounds whose histograms are shown without being opened."""


def render_comparison(comparison: Comparison) -> str:
    """Render a comparison as one HTML page."""
    drawn = drawings(comparison.first, comparison.second)
    first, second = comparison.first.name, comparison.second.name
    sections = {
        "result": ("Result", _result(comparison)),
        "message-passing": ("Message passing", _message_passing(comparison, drawn)),
        "colorings": ("Colorings", _colorings(comparison, drawn)),
        "canonical": ("Canonical colorings", _canonical(comparison, drawn)),
        "computation": ("How this was computed", items(computation(comparison))),
    }
    return document(
        f"{first} and {second}",
        sections,
        introduction=paragraphs([lead(comparison)], "lead") + paragraphs(comparison.notes),
        styles=("page.css", "comparison.css"),
        script="comparison.js",
    )


def _result(comparison: Comparison) -> str:
    rows = [
        (
            own.name,
            str(len(own.names)),
            str(len(own.edges)),
            power(own.num_colorings),
        )
        for own in (comparison.first, comparison.second)
    ]
    return (
        grid(("method", "result", "difference"), result_rows(comparison), "Results", words=[1])
        + paragraphs([difference_text(comparison)])
        + grid(("graph", "nodes", "edges", "colorings"), rows, "Sizes of the graphs")
    )


def _message_passing(comparison: Comparison, drawn: Sequence[GraphDrawing]) -> str:
    rounds = comparison.rounds
    rows = [
        (
            str(number),
            "equal" if own.equal else "different",
            _histogram(own.first),
            _histogram(own.second),
        )
        for number, own in enumerate(rounds)
    ]
    names = ("round", "result", comparison.first.name, comparison.second.name)
    player = Player(
        "rounds",
        "Round of color refinement",
        drawn,
        first=[own.first for own in rounds],
        second=[own.second for own in rounds],
        texts=[
            f"{f'Round {number} of {len(rounds) - 1}' if len(rounds) > 1 else 'Stable at once'}: "
            f"{counted(len({*own.first, *own.second}), 'color')}. The graphs have "
            f"{'the same numbers' if own.equal else 'different numbers'} of nodes of each color."
            for number, own in enumerate(rounds)
        ],
        names=False,
    )
    numbers = grid(names, rows, "Numbers of nodes of each color", words=[2, 3])
    if len(rows) > _MOST_ROUNDS:
        numbers = details("Numbers of nodes of each color", numbers)
    return (
        paragraphs(message_passing_text(comparison))
        + player.html()
        + numbers
        + _attributes(comparison)
    )


def _attributes(comparison: Comparison) -> str:
    """Say which attributes the colors of round 0 are; nothing without attributes."""
    found = attribute_rows(comparison)
    if not found:
        return ""
    names, *rows = found
    table = grid(names, rows, "Attributes of the nodes")
    if len(rows) > _MOST_ATTRIBUTES:
        table = details("Attributes of each color", table)
    return paragraphs(["The colors of round 0 are the attributes of the nodes:"]) + table


def _histogram(colors: Sequence[int]) -> str:
    """Return the number of nodes of each color, such as "1: 4 nodes, 2: 2 nodes"."""
    counts = sorted(Counter(colors).items())
    listed = [f"{color + 1}: {counted(count, 'node')}" for color, count in counts[:_MOST_LISTED]]
    more = len(counts) - _MOST_LISTED
    return ", ".join(listed) + (f" and {counted(more, 'more color')}" if more > 0 else "")


def _colorings(comparison: Comparison, drawn: Sequence[GraphDrawing]) -> str:
    steps = comparison.steps
    curve = DifferenceCurve(
        [(k, _rounded(comparison, own)) for k, own in comparison.curve],
        None if comparison.complete is None else _rounded(comparison, comparison.complete),
    )
    chart = (
        f"<figure>{curve.svg()}<figcaption>{text(level_text(comparison))}</figcaption></figure>\n"
    )
    player = Player(
        "steps",
        "Coloring",
        drawn,
        first=[own.first for own in steps],
        second=[own.second for own in steps],
        texts=[
            f"Coloring {number} of {len(steps)}: the representations for these two colorings "
            f"differ by {value(comparison, own.difference)}."
            + f" The maxima over colorings 1 to {number} differ by "
            f"{value(comparison, own.maximum)}." * (number > 1)
            for number, own in enumerate(steps, start=1)
        ],
        points=[
            curve.place(number, _rounded(comparison, own.maximum))
            for number, own in enumerate(steps, start=1)
        ],
        more=chart,
    )
    shown = [
        (str(number), value(comparison, own.difference), value(comparison, own.maximum))
        for number, own in enumerate(steps, start=1)
    ]
    later = [
        (f"{k:,}", "–", value(comparison, difference))
        for k, difference in comparison.curve
        if k > len(steps)
    ]
    names = ("k", "difference for coloring k", "difference between maxima over k colorings")
    return (
        paragraphs(colorings_text(comparison))
        + player.html()
        + details("Numbers", grid(names, shown + later, "Differences by number of colorings"))
    )


def _rounded(comparison: Comparison, difference: float) -> float:
    return 0.0 if comparison.is_zero(difference) else difference


def _canonical(comparison: Comparison, drawn: Sequence[GraphDrawing]) -> str:
    sentences = paragraphs(canonical_text(comparison))
    if comparison.canonical is None:
        return sentences
    own = comparison.canonical
    player = Player("canonical-colorings", "", drawn, [own.first], [own.second], texts=[])
    return sentences + player.html()
