"""Tables for the terminal."""

from rich import box
from rich.console import Console, Group
from rich.table import Table as RichTable
from rich.text import Text

from clipgnn.errors import one_line
from clipgnn.report.block import Block, Field
from clipgnn.report.layout import blocks, notes
from clipgnn.report.table import Table

TEXT_WIDTH = 160
"""Width of a table that is written to a file, in characters."""


def terminal_table(table: Table) -> Group:
    """Return the table as an object that rich prints; names are never parsed as markup."""
    shown = [_shown(block, table.title) for block in blocks(table)]
    below = [Text(one_line(f"{own.heading} {text}")) for own in notes(table) for text in own.texts]
    below += [
        Text(table.caption),
        *(Text(one_line(text), style="dim") for text in table.provenance),
    ]
    return Group(*shown, *below)


def _shown(block: Block, title: str) -> RichTable:
    name = f"{title}: {block.title}" if block.title else title
    shown = RichTable(box=box.SIMPLE, title=Text(one_line(name), style="bold"), expand=False)
    for number, heading in enumerate(block.headings):
        shown.add_column(Text(one_line(heading)), justify="right" if number else "left")
    for line in block.lines:
        style = "" if line.ours else "dim"
        shown.add_row(*(_text(field) for field in line.fields), style=style)
    return shown


def render_text(table: Table) -> str:
    """Render the table as plain text of fixed width."""
    console = Console(highlight=False, width=TEXT_WIDTH, no_color=True)
    with console.capture() as capture:
        console.print(terminal_table(table))
    return capture.get()


def _text(field: Field) -> Text:
    text = one_line(field.text) + "*" * field.star + "†" * field.dagger
    return Text(text, style="bold" if field.bold else "")
