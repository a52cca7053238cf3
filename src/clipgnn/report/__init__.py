"""Tables of results, drawn from a store. Nothing here needs torch."""

from clipgnn.report.csv_text import render_csv
from clipgnn.report.latex import render_latex
from clipgnn.report.markdown import render_markdown
from clipgnn.report.provenance import provenance
from clipgnn.report.table import Table, make_table
from clipgnn.report.terminal import render_terminal

__all__ = [
    "Table",
    "make_table",
    "provenance",
    "render_csv",
    "render_latex",
    "render_markdown",
    "render_terminal",
]
