"""Parts of the page of a report: text, tables and figures as HTML."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from clipgnn.errors import one_line
from clipgnn.report.block import Block, Field

if TYPE_CHECKING:
    from clipgnn.report.drawings import Drawing

_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def text(value: str) -> str:
    """Escape text for HTML, also in attributes: one line, without markup."""
    return escape(one_line(value))


def with_code(line: str) -> str:
    """Escape text, and mark parts between backticks as code."""
    parts, end, line = [], 0, one_line(line)
    for found in _CODE.finditer(line):
        parts += [escape(line[end : found.start()]), f"<code>{escape(found[2].strip())}</code>"]
        end = found.end()
    return "".join([*parts, escape(line[end:])])


def paragraphs(sentences: Iterable[str], kind: str = "note") -> str:
    """Return sentences as one paragraph; nothing without sentences."""
    words = " ".join(with_code(sentence) for sentence in sentences)
    return f'<p class="{kind}">{words}</p>\n' if words else ""


def items(lines: Iterable[str]) -> str:
    """Return lines as a list."""
    return "<ul>\n" + "".join(f"<li>{with_code(line)}</li>\n" for line in lines) + "</ul>\n"


def details(summary: str, content: str, *, closed: bool = True) -> str:
    """Return content that a reader can open and close."""
    state = "" if closed else " open"
    return f"<details{state}><summary>{text(summary)}</summary>\n{content}</details>\n"


def grid(
    names: Sequence[str], rows: Iterable[Sequence[str]], label: str, words: Sequence[int] = ()
) -> str:
    """Return a table of plain text, which is scrolled sideways if it is too wide.

    Args:
        names: headings of the columns.
        rows: the fields of each row; the first one is its heading.
        label: description of the table.
        words: numbers of the columns with long text, which is wrapped.
    """
    body = "".join(
        f'<tr><th scope="row">{text(row[0])}</th>'
        + "".join(
            f"<td{' class=text' if place in words else ''}>{text(field)}</td>"
            for place, field in enumerate(row[1:], start=1)
        )
        + "</tr>\n"
        for row in rows
    )
    return _scrolled(f"{_head(names, words)}<tbody>\n{body}</tbody>", label)


def results_table(block: Block, label: str) -> str:
    """Return a table of results, with marks and the lines of the paper.

    Args:
        block: the table.
        label: description of it.
    """
    body = ""
    for line in block.lines:
        name, *fields = line.fields
        cells = "".join(f"<td>{_marked(field)}</td>" for field in fields)
        kind = "" if line.ours else ' class="other"'
        body += f'<tr{kind}><th scope="row">{text(name.text)}</th>{cells}</tr>\n'
    title = f"<h3>{text(block.title)}</h3>\n" if block.title else ""
    return title + _scrolled(f"{_head(block.headings)}<tbody>\n{body}</tbody>", label)


def figure(drawing: "Drawing") -> str:
    """Return a figure with its description and its numbers."""
    from clipgnn.report.svg import inline_svg  # matplotlib is slow to import

    numbers = grid(drawing.headings, drawing.rows, f"Numbers: {drawing.description}")
    return (
        f'<figure id="{text(drawing.name)}">\n'
        f"{inline_svg(drawing.figure, drawing.name, one_line(drawing.description))}\n"
        f"<figcaption>{text(drawing.description)}</figcaption>\n"
        f"{details('Numbers', numbers)}</figure>\n"
    )


def _head(names: Sequence[str], words: Sequence[int] = ()) -> str:
    cells = "".join(
        f'<th scope="col"{" class=text" if place in words else ""}>{text(name)}</th>'
        for place, name in enumerate(names)
    )
    return f"<thead><tr>{cells}</tr></thead>\n"


def _scrolled(content: str, label: str) -> str:
    # With tabindex, the arrow keys can scroll it.
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(label)}">'
        f"<table>\n{content}</table></div>\n"
    )


def _marked(field: Field) -> str:
    shown = text(field.text)
    shown = f"<strong>{shown}</strong>" if field.bold else shown
    return shown + "*" * field.star + "†" * field.dagger
