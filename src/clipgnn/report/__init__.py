"""Reports of experiments, rendered from a store without torch.

To add a format, write its function in a file of this folder, and add it to `FORMATS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps

from clipgnn.report.csv_text import render_csv
from clipgnn.report.latex import render_latex
from clipgnn.report.markdown import render_markdown
from clipgnn.report.page import render_html
from clipgnn.report.provenance import provenance
from clipgnn.report.report import Report, make_report
from clipgnn.report.table import Table, make_table
from clipgnn.report.terminal import render_text, terminal_table


@dataclass(frozen=True)
class Format:
    """A file format of reports.

    Attributes:
        render: function from a report to the text of the file.
        ending: usual ending of its files.
        figures: whether it shows figures; the reports of other formats can consist of the table.
    """

    render: Callable[[Report], str]
    ending: str
    figures: bool = False


def of_table(render: Callable[[Table], str]) -> Callable[[Report], str]:
    """Return a function that renders the table of a report."""

    @wraps(render)
    def rendered(report: Report) -> str:
        return render(report.table)

    return rendered


FORMATS: Mapping[str, Format] = {
    "terminal": Format(of_table(render_text), ".txt"),
    "markdown": Format(of_table(render_markdown), ".md"),
    "csv": Format(of_table(render_csv), ".csv"),
    "latex": Format(of_table(render_latex), ".tex"),
    "html": Format(render_html, ".html", figures=True),
}
"""Formats of reports by name."""

__all__ = [
    "FORMATS",
    "Format",
    "Report",
    "Table",
    "make_report",
    "make_table",
    "of_table",
    "provenance",
    "terminal_table",
]
