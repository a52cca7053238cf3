"""Tables in Markdown, with the chosen configurations and the provenance."""

import re

from clipgnn.errors import one_line
from clipgnn.report.block import Block, Field
from clipgnn.report.layout import blocks, choices, notes
from clipgnn.report.pair_layout import pair_numbers
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
    parts = [f"# {escape(table.title)}", "", escape(table.caption)]
    for block in blocks(table):
        parts += ["", *_block(block)]
    for own in notes(table):
        parts += ["", own.heading, "", *(f"- {escape(text)}" for text in own.texts)]
    if table.protocol == "pairs" and (failed := list(pair_numbers(table))):
        parts += ["", "## Pairs that failed", "", *(f"- {escape(text)}" for text in failed)]
    parts += ["", "## Chosen configurations", ""]
    parts += [
        f"- {escape(f'{row} on {datasets}: {text}')}" for row, datasets, text in choices(table)
    ]
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


def _block(block: Block) -> list[str]:
    return [
        *([f"## {escape(block.title)}", ""] if block.title else []),
        _line([escape(name) for name in block.headings]),
        _line([":---"] + ["---:"] * (len(block.headings) - 1)),
        *(_line([_formatted(field) for field in line.fields]) for line in block.lines),
    ]


def _line(fields: list[str]) -> str:
    return "| " + " | ".join(fields) + " |"


def _formatted(field: Field) -> str:
    text = escape(field.text)
    text = f"**{text}**" if field.bold else text
    return text + "\\*" * field.star + "†" * field.dagger
