"""Tables of results, rendered from a store without torch.

To add a format, write its function in a file of this folder, and add it to `FORMATS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clipgnn.report.csv_text import render_csv
from clipgnn.report.latex import render_latex
from clipgnn.report.markdown import render_markdown
from clipgnn.report.provenance import provenance
from clipgnn.report.table import Table, make_table
from clipgnn.report.terminal import render_text, terminal_table


@dataclass(frozen=True)
class Format:
    """A file format of tables.

    Attributes:
        render: function from a table to the text of the file.
        ending: usual ending of its files.
    """

    render: Callable[[Table], str]
    ending: str


FORMATS: Mapping[str, Format] = {
    "terminal": Format(render_text, ".txt"),
    "markdown": Format(render_markdown, ".md"),
    "csv": Format(render_csv, ".csv"),
    "latex": Format(render_latex, ".tex"),
}
"""Formats of tables by name."""

__all__ = ["FORMATS", "Format", "Table", "make_table", "provenance", "terminal_table"]
