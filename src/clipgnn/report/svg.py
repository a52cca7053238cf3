"""Figures as SVG elements of a page, whose style sheet has their colors and fonts."""

import re
from html import escape

from matplotlib.figure import Figure

from clipgnn.report.figures import GRAY, GRID, PALETTE, figure_bytes

COLORS = {
    **{color.lower(): f"var(--color-{number})" for number, color in enumerate(PALETTE)},
    GRAY.lower(): "var(--gray)",
    GRID.lower(): "var(--grid)",
    "#000000": "currentColor",
    "#ffffff": "var(--page)",
}
"""What replaces the colors of figures: variables of the style sheet."""


def inline_svg(figure: Figure, name: str, label: str) -> str:
    """Return a figure as an SVG element for an HTML page, scaled to the width of its parent.

    Args:
        figure: the figure.
        name: a name that no other figure of the page has; it is the prefix of all identifiers.
        label: description of the figure for screen readers.
    """
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    text = figure_bytes(figure, "svg", text="none", salt=name).decode()
    body = text[text.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.S)
    body = re.sub(r' font-family: [^;"]*;', "", body)
    body = re.sub(r"<[^>]*>", lambda found: _adapted(found[0], name), body)  # not in texts
    body = re.sub(r"\s*\n\s*", "\n", body)
    head, _, rest = body.partition(">")
    [box] = re.findall(r'viewBox="[^"]*"', head)
    return f'<svg {box} role="img" aria-label="{escape(label)}">{rest.strip()}'


def _adapted(tag: str, name: str) -> str:
    """Return a tag with identifiers of the figure, and with colors that follow the page."""
    tag = re.sub(r'\bid="', f'id="{name}-', tag)
    tag = re.sub(r'(url\(|href=")#', rf"\g<1>#{name}-", tag)
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: COLORS.get(found[0], found[0]), tag)
