"""A table for the terminal."""

from rich import box
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from clipgnn.errors import one_line
from clipgnn.report.layout import DIVERGED, Field, divergences, headings, lines
from clipgnn.report.table import Table


def render_terminal(table: Table) -> Group:
    """The table as something rich can print; names are never taken for its markup."""
    title = Text(one_line(table.title), style="bold")
    shown = RichTable(box=box.SIMPLE, title=title, expand=False)
    for number, heading in enumerate(headings(table)):
        shown.add_column(Text(one_line(heading)), justify="right" if number else "left")
    for line in lines(table):
        style = "" if line.ours else "dim"
        shown.add_row(*(_text(field) for field in line.fields), style=style)
    notes = [Text(one_line(f"{DIVERGED} {text}")) for text in divergences(table)]
    notes += [
        Text(table.caption),
        *(Text(one_line(text), style="dim") for text in table.provenance),
    ]
    return Group(shown, *notes)


def _text(field: Field) -> Text:
    text = one_line(field.text) + ("*" if field.star else "")
    return Text(text, style="bold" if field.bold else "")
