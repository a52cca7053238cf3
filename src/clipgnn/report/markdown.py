"""Tables in Markdown, with the chosen configurations and the provenance."""

import re

from clipgnn.errors import one_line
from clipgnn.report.layout import DIVERGED, Field, choice_text, divergences, headings, lines
from clipgnn.report.table import Table

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

_SPECIAL = re.compile(
    r"[&<>\\`*\[\]|~$#]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # not inside a word such as num_layers
    r"|^[-+](?=\s|$)"  # start of a list
)

_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")

_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def render_markdown(table: Table) -> str:
    """Render the table as a Markdown document."""
    names = headings(table)
    parts = [
        f"# {escape(table.title)}",
        "",
        escape(table.caption),
        "",
        _line([escape(name) for name in names]),
        _line([":---"] + ["---:"] * (len(names) - 1)),
        *(_line([_formatted(field) for field in line.fields]) for line in lines(table)),
    ]
    if notes := divergences(table):
        parts += ["", DIVERGED, "", *(f"- {escape(text)}" for text in notes)]
    parts += ["", "## Chosen configurations", "", *_choices(table)]
    if table.provenance:
        parts += ["", "## Provenance", ""]
        parts += [f"- {_with_code(one_line(text))}" for text in table.provenance]
    return "\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Escape text for Markdown: one line, without markup, HTML or columns."""

    def escaped(found: re.Match[str]) -> str:
        character = found.group()
        return _ENTITIES.get(character, f"\\{character}")

    return _NUMBERED.sub(r"\1\\\2", _SPECIAL.sub(escaped, one_line(text)))


def _with_code(line: str) -> str:
    """Escape text except for parts between backticks, which Markdown prints unchanged."""
    parts, end = [], 0
    for found in _CODE.finditer(line):
        parts += [escape(line[end : found.start()]), found.group()]
        end = found.end()
    return "".join([*parts, escape(line[end:])])


def _choices(table: Table) -> list[str]:
    return [
        f"- {escape(f'{row.name} on {column.dataset}: {text}')}"
        for row in table.rows
        for entry, column in zip(row.entries, table.columns, strict=True)
        if entry.measurement is not None
        for text in choice_text(entry.measurement.choices)
    ]


def _line(fields: list[str]) -> str:
    return "| " + " | ".join(fields) + " |"


def _formatted(field: Field) -> str:
    text = escape(field.text)
    text = f"**{text}**" if field.bold else text
    return text + "\\*" * field.star + "†" * field.dagger
