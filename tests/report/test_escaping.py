"""Names, titles and commands stay text in every format, whatever characters they have."""

import csv
import re
from io import StringIO

import pytest
from rich.console import Console
from tests.report.examples import measured

from clipgnn.errors import one_line
from clipgnn.report.csv_text import render_csv
from clipgnn.report.latex import render_latex
from clipgnn.report.markdown import render_markdown
from clipgnn.report.provenance import code
from clipgnn.report.table import Column, Entry, Row, Table
from clipgnn.report.terminal import terminal_table

NASTY = (
    "[/b]",
    "[bold]x[/bold] :smile: \x1b[31m",
    "two\nlines\r\n",
    "\\input{/etc/passwd}",
    "100 % & $x_1^2$ #1 ~ {a} \\\\",
    "a | b \\| c",
    "*bold* _it_ __x__ ~~y~~ `code` ``",
    "<script>alert(1)</script> &lt; <!--",
    "![image](x) [link](y)",
    '=1+1 "quoted", comma',
    "+a",
    "- a",
    "1. a",
    "@a",
    "# a",
    "[1em] a",
    "* a",
    "|",
    "\u2028 \u202e \t",
)
COMMAND = "clipgnn experiment run 'a`b ``` <b> |\n\\end{table}'"

TABLE = Table(
    title=" ".join(NASTY),
    protocol="gin",
    columns=tuple(Column(name, extremes=False, metric="accuracy") for name in NASTY),
    rows=tuple(
        Row(name, tuple(Entry(measured(0.5, 0.6), None, best=True, near_best=True) for _ in NASTY))
        for name in NASTY
    ),
    over="2 folds of one seed",
    provenance=(
        f"Commands: {code(COMMAND)}; {code('plain')}",
        *(f"Grid: {name}" for name in NASTY),
    ),
)


def test_latex_has_no_line_and_no_command_of_a_name() -> None:
    lines = render_latex(TABLE).splitlines()  # which also splits at \r, \u2028 and others
    comments = [line for line in lines if line.startswith("% ")]
    assert len(comments) == 1 + len(NASTY)
    body = lines[len(comments) :]
    assert len(body) == 9 + len(NASTY)
    allowed = re.compile(
        r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar)\{\}"
        r"|\\[&%$#_{}]|\\textbf(?=\{)|\$(\\pm|\\times|\\infty|\\dagger|\^\*)\$"
    )
    for line in (body[1], *body[4:5], *body[6:-3]):
        text = line.removeprefix(r"\caption{").removesuffix("}").removesuffix(r" \\")
        left = allowed.sub("", text)
        assert not set(left) & set("\\%$#_^~<>|"), line
        depth = 0  # braces are balanced and none closes the caption
        for brace in re.findall(r"[{}]", left):
            depth += 1 if brace == "{" else -1
            assert depth >= 0, line
        assert depth == 0, line
        if line is not body[1]:
            assert left.count("&") == len(NASTY)
            # After \\ and \midrule, a [ or * would be an argument.
            assert not line.startswith(("[", "*")), line


def _cells(line: str) -> list[str]:
    """Cells of a row of a Markdown table, split as GitHub does: at pipes without a backslash."""
    assert line.startswith("| ")
    assert line.endswith(" |")
    return re.split(r"(?<!\\)\|", line[1:-1])


def test_markdown_has_the_columns_and_lines_of_the_table() -> None:
    lines = render_markdown(TABLE).splitlines()
    assert lines[0].startswith("# ")
    assert lines[1] == ""
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(NASTY)
    for line in table:
        assert len(_cells(line)) == 1 + len(NASTY), line
    assert len(lines) == 5 + len(table) + 3 + len(NASTY) ** 2 + 3 + 1 + len(NASTY) - 1
    for line in lines:
        outside = re.sub(r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)", "", line)
        outside = re.sub(r"\\[!-/:-@\[-`{-~]|&(amp|lt|gt);", "", outside)
        assert not set(outside) & set("<>`[]~$\\&"), line
        if not line.startswith("|"):
            assert "*" not in outside, line


def test_markdown_shows_the_names_again() -> None:
    """What a reader of CommonMark makes of the lines is what went in."""
    markdown = pytest.importorskip("markdown_it")  # comes with rich
    reader = markdown.MarkdownIt("commonmark").enable("table").enable("strikethrough")
    tokens = reader.parse(render_markdown(TABLE))
    assert not [token for token in tokens if token.type == "html_block"]
    inline = [token for token in tokens if token.type == "inline"]
    kinds = {child.type for token in inline for child in token.children}
    assert kinds == {"text", "strong_open", "strong_close", "code_inline"}
    texts = ["".join(child.content for child in token.children) for token in inline]
    wanted = [one_line(name) for name in NASTY]
    assert texts[0] == " ".join(wanted)
    assert texts[3 : 3 + len(NASTY)] == wanted
    first = texts[3 + len(NASTY) :: 1 + len(NASTY)][: len(NASTY)]
    assert first == wanted
    shown = [text.replace("`", "") for text in texts[-len(NASTY) :]]
    assert shown == [f"Grid: {name}".replace("`", "") for name in wanted]
    codes = [
        child.content for token in inline for child in token.children if child.type == "code_inline"
    ]
    assert one_line(COMMAND) in codes
    assert sum(token.type == "list_item_open" for token in tokens) == len(NASTY) ** 2 + 1 + len(
        NASTY
    )


def test_csv_gives_the_names_back_and_no_formulas() -> None:
    text = render_csv(TABLE)
    rows = list(csv.DictReader(StringIO(text, newline="")))
    assert len(rows) == len(NASTY) ** 2 == text.count("\n") - 1
    assert rows[0]["provenance"] == one_line(" | ".join(TABLE.provenance))
    assert not any(row["provenance"] for row in rows[1:])
    for number, row in enumerate(rows):
        name = one_line(NASTY[number // len(NASTY)])
        assert row["model"] == (f"'{name}" if name[0] in "=+-@#" else name)
        assert row["mean"] == "0.55"
        assert None not in row
    assert "\r" not in text


@pytest.mark.parametrize("markup", [True, False])
def test_the_terminal_shows_the_names_as_they_are(markup: bool) -> None:
    console = Console(width=4000, markup=markup, file=StringIO())
    with console.capture() as capture:
        console.print(terminal_table(TABLE))
    text = capture.get()
    assert "\x1b[31m" not in text
    for name in NASTY:
        assert one_line(name).strip() in text
    assert len(text.splitlines()) == 1 + 1 + 2 + len(NASTY) + 1 + 1 + len(TABLE.provenance)
