"""Colors and files of figures: readable with color blindness, the same bytes in every run."""

import os
import warnings
from io import BytesIO
from math import log10
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from clipgnn.errors import InvalidParameterError, one_line
from clipgnn.writing import write_file

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
"""Colors of Okabe and Ito, which most people with color blindness can distinguish."""

GRAY = "#555555"
"""Color of edges, notes and reference values."""

GRID = "#DDDDDD"
"""Color of the grid."""

ENDINGS = (".png", ".svg")
"""Formats in which every figure is written."""

COLUMNS = 3
"""Largest number of axes in a row."""

_DPI = 130
_NOTE_SIZE = 8
_UNREPEATABLE = {
    "png": ("Software",),
    "svg": ("Date", "Creator"),
    "pdf": ("CreationDate", "Creator", "Producer"),
}  # metadata that depend on the run


def color_of(number: int) -> str:
    """Return the color of a line; colors repeat after the whole palette."""
    return PALETTE[number % len(PALETTE)]


def grid_of(number: int) -> tuple[int, int]:
    """Return the rows and columns of a grid for a number of axes.

    Raises:
        InvalidParameterError: if there is nothing to draw.
    """
    if number < 1:
        raise InvalidParameterError("A figure must have at least one data set. Got none.")
    columns = min(number, COLUMNS)
    return -(-number // columns), columns


def panels(number: int, *, size: tuple[float, float] = (3.6, 3.0)) -> Figure:
    """Create a figure with axes in rows of `COLUMNS`; the last row can have fewer of them.

    Args:
        number: number of axes.
        size: width and height of one of them, in inches.
    """
    rows, columns = grid_of(number)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    for axes in figure.subplots(rows, columns, squeeze=False).flat[number:]:
        axes.remove()
    return figure


def add_note(figure: Figure, text: str) -> None:
    """Write a note below the axes: what is shown, over what, and what is missing."""
    figure.supxlabel(text, x=0.01, ha="left", fontsize=_NOTE_SIZE, color=GRAY)


def plain(text: str) -> str:
    """Return a name as the text of a figure: one line, and in the legend whatever it begins with.

    A dollar would begin a formula, and legends omit labels that begin with an underscore.
    """
    line = one_line(text).replace("$", r"\$")
    return f" {line}" if line.startswith("_") else line


def label_decades(axes: Axes, direction: Literal["x", "y"]) -> None:
    """Label a logarithmic axis with plain numbers: fewer inside a decade, the more there are."""
    axis = axes.xaxis if direction == "x" else axes.yaxis
    low, high = axes.get_xlim() if direction == "x" else axes.get_ylim()
    decades = log10(high / low)
    marks = (1, 2, 5) if decades < 2 or direction == "y" else (1, 3) if decades < 3 else (1,)
    axis.set_major_locator(LogLocator(subs=marks) if decades > 1 else MaxNLocator(5))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(NullLocator())


def lighten(axes: Axes) -> None:
    """Remove the frame above and to the right of the data, and add a horizontal grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def figure_bytes(figure: Figure, form: str, *, text: str = "path", salt: str = "clipgnn") -> bytes:
    """Return a figure as PNG, SVG or PDF, without dates and with repeatable names of elements.

    With the same version of matplotlib the bytes are the same in every run.

    Args:
        figure: the figure.
        form: "png", "svg" or "pdf".
        text: how an SVG has texts: as "path", which does not depend on the fonts of the reader, or
            "none" for text that can be searched.
        salt: what the names of elements are hashed with.
    """
    content = BytesIO()
    metadata = dict.fromkeys(_UNREPEATABLE[form])
    with (
        mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": text}),
        warnings.catch_warnings(),
    ):
        # Names can have characters that the font lacks; they are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph ", category=UserWarning)
        figure.savefig(content, format=form, dpi=_DPI, metadata=metadata)
    return content.getvalue()


def save_figure(figure: Figure, stem: str | os.PathLike[str]) -> list[Path]:
    """Write a figure as PNG and SVG, with texts as paths; see `figure_bytes`.

    Args:
        figure: the figure.
        stem: path of the files without their ending; the folder must exist.

    Returns:
        The paths of the files.

    Raises:
        OutputError: if a file cannot be written.
    """
    paths = [Path(f"{os.fspath(stem)}{ending}") for ending in ENDINGS]
    for path in paths:
        write_figure(figure, path)
    return paths


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure in the format of the file's ending, as `save_figure` does.

    Raises:
        OutputError: if the file cannot be written.
    """
    write_file(path, figure_bytes(figure, Path(path).suffix[1:].lower()))
