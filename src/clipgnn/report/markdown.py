"""A table in Markdown, with what was chosen and where the numbers come from."""

from clipgnn.report.layout import DIVERGED, Field, choice_text, divergences, headings, lines
from clipgnn.report.table import Table


def render_markdown(table: Table) -> str:
    """The table as a Markdown document."""
    names = headings(table)
    parts = [
        f"# {table.title}",
        "",
        table.caption.replace("*", "\\*"),
        "",
        _line(names),
        _line([":---"] + ["---:"] * (len(names) - 1)),
        *(_line([_text(field) for field in line.fields]) for line in lines(table)),
    ]
    if notes := divergences(table):
        parts += ["", DIVERGED, "", *(f"- {text}" for text in notes)]
    parts += ["", "## What was chosen", "", *_choices(table)]
    if table.provenance:
        parts += ["", "## Where the numbers come from", ""]
        parts += [f"- {text}" for text in table.provenance]
    return "\n".join(parts) + "\n"


def _choices(table: Table) -> list[str]:
    return [
        f"- {row.name} on {column.dataset}: {text}"
        for row in table.rows
        for entry, column in zip(row.entries, table.columns, strict=True)
        if entry.measurement is not None
        for text in choice_text(entry.measurement.choices)
    ]


def _line(fields: list[str]) -> str:
    return "| " + " | ".join(fields) + " |"


def _text(field: Field) -> str:
    text = field.text.replace("|", "\\|")
    return (f"**{text}**" if field.bold else text) + ("\\*" if field.star else "")
