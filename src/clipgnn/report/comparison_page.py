"""The page of a comparison of two graphs: one HTML file with one script, which loads nothing."""

from collections import Counter
from collections.abc import Sequence

from clipgnn.comparison.results import Comparison
from clipgnn.errors import counted
from clipgnn.report.comparison_texts import (
    canonical_text,
    colorings_text,
    computation,
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
        introduction=paragraphs([lead(comparison)], "lead"),
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
        + paragraphs(
            [
                "A difference is the largest one over the channels of the representations. Its "
                "size depends on the random weights; whether it is 0 does not, except by chance."
            ]
        )
        + grid(("graph", "nodes", "edges", "colorings"), rows, "Sizes of the graphs")
    )


def _message_passing(comparison: Comparison, drawn: Sequence[GraphDrawing]) -> str:
    rounds = comparison.rounds
    rows = [
        (
            str(number),
            _histogram(own.first),
            _histogram(own.second),
            "equal" if own.equal else "different",
        )
        for number, own in enumerate(rounds)
    ]
    names = ("round", comparison.first.name, comparison.second.name, "numbers of nodes")
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
    numbers = grid(names, rows, "Colors of color refinement", words=[1, 2])
    if len(rows) > _MOST_ROUNDS:
        numbers = details("Numbers of nodes of each color", numbers)
    return paragraphs(message_passing_text(comparison)) + player.html() + numbers


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
            f" The maxima over {'colorings 1 to ' if number > 1 else 'coloring '}{number} "
            "differ by "
            f"{value(comparison, own.maximum)}."
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
        (str(k), "–", value(comparison, difference))
        for k, difference in comparison.curve
        if k > len(steps)
    ]
    names = ("k", "difference for coloring k", "difference between maxima over k colorings")
    return (
        paragraphs(colorings_text(comparison))
        + player.html()
        + details("Numbers", grid(names, shown + later, "Differences by number of colorings"))
    )


def _canonical(comparison: Comparison, drawn: Sequence[GraphDrawing]) -> str:
    sentences = paragraphs(canonical_text(comparison))
    if comparison.canonical is None:
        return sentences
    own = comparison.canonical
    player = Player("canonical-colorings", "", drawn, [own.first], [own.second], texts=[])
    return sentences + player.html()


def _rounded(comparison: Comparison, difference: float) -> float:
    return 0.0 if comparison.is_zero(difference) else difference
