"""Tables in LaTeX, for the booktabs package."""

from clipgnn.errors import one_line
from clipgnn.report.layout import DIVERGED, EMPTY, Field, Line, divergences, headings, lines
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
    """Render the table as a LaTeX table environment; provenance is in comments."""
    names = headings(table)
    parts = [
        *(f"% {one_line(text)}" for text in table.provenance),
        r"\begin{table}[ht]\centering",
        rf"\caption{{{escape(f'{table.title}. {table.caption}')}}}",
        rf"\begin{{tabular}}{{l{'c' * (len(names) - 1)}}}",
        r"\toprule",
        _row([escape(name) for name in names]),
        r"\midrule",
        *(_line(line) for line in lines(table)),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par {escape(f'{DIVERGED} {text}')}" for text in divergences(table)),
        r"\end{table}",
    ]
    return "\n".join(parts) + "\n"


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
