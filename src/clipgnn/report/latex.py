"""Tables in LaTeX, for the booktabs package."""

from clipgnn.errors import one_line
from clipgnn.report.block import EMPTY, Block, Field, Line
from clipgnn.report.layout import blocks, notes
from clipgnn.report.table import Table

_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "†": r"$\dagger$",
    EMPTY: "--",
}


def render_latex(table: Table) -> str:
    """Render the table as LaTeX table environments; provenance is in comments.

    The first one has the whole caption, and the last one the notes.
    """
    below = [
        rf"\par {escape(f'{own.heading} {text}')}" for own in notes(table) for text in own.texts
    ]
    parts = [f"% {one_line(text)}" for text in table.provenance]
    shown = blocks(table)
    for number, block in enumerate(shown):
        caption = f"{table.title}: {block.title}." if block.title else f"{table.title}."
        parts += _environment(
            block,
            caption if number else f"{caption} {table.caption}",
            below if block is shown[-1] else [],
        )
    return "\n".join(parts) + "\n"


def _environment(block: Block, caption: str, below: list[str]) -> list[str]:
    return [
        r"\begin{table}[ht]\centering",
        rf"\caption{{{escape(caption)}}}",
        rf"\begin{{tabular}}{{l{'c' * (len(block.headings) - 1)}}}",
        r"\toprule",
        _row([escape(name) for name in block.headings]),
        r"\midrule",
        *map(_line, block.lines),
        r"\bottomrule",
        r"\end{tabular}",
        *below,
        r"\end{table}",
    ]


def escape(text: str) -> str:
    """Escape text for LaTeX: one line, without commands."""
    return "".join(_SPECIAL.get(character, character) for character in one_line(text))


def _line(line: Line) -> str:
    return _row([_formatted(field) for field in line.fields])


def _row(fields: list[str]) -> str:
    row = " & ".join(fields) + r" \\"
    # The line before ends with a command that would read [ or * as its argument.
    return f"{{}}{row}" if row.startswith(("[", "*")) else row


def _formatted(field: Field) -> str:
    text = escape(field.text)
    text = rf"\textbf{{{text}}}" if field.bold else text
    return text + "$^*$" * field.star + r"$^\dagger$" * field.dagger
