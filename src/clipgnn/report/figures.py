"""Colors and files of figures: readable with color blindness, the same bytes in every run."""

import os
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clipgnn.errors import InvalidParameterError
from clipgnn.writing import write_file

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
"""Colors of Okabe and Ito, which most people with color blindness can distinguish."""

GRAY = "#555555"
"""Color of edges, notes and reference values."""

ENDINGS = (".png", ".svg")
"""Formats in which every figure is written."""

COLUMNS = 3
"""Largest number of axes in a row."""

_DPI = 130
_NOTE_SIZE = 8


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


def lighten(axes: Axes) -> None:
    """Remove the frame above and to the right of the data, and add a horizontal grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)


def save_figure(figure: Figure, stem: str | os.PathLike[str]) -> list[Path]:
    """Write a figure as PNG and SVG, without dates and with repeatable names of elements.

    With the same version of matplotlib the files are the same in every run. Texts of the SVG are
    drawn as paths, so that they do not depend on the fonts of the reader.

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
    form = Path(path).suffix[1:].lower()
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    content = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "clipgnn", "svg.fonttype": "path"}):
        figure.savefig(content, format=form, dpi=_DPI, metadata=metadata[form])
    write_file(path, content.getvalue())
