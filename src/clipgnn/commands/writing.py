"""Tables to the terminal or to a file."""

from pathlib import Path
from typing import Literal

from rich.console import Console

from clipgnn.commands.terminal import terminal
from clipgnn.errors import InvalidParameterError, OutputError
from clipgnn.experiments.evaluation import evaluate
from clipgnn.experiments.spec import Spec
from clipgnn.experiments.store import Store
from clipgnn.report import (
    make_table,
    provenance,
    render_csv,
    render_latex,
    render_markdown,
    render_terminal,
)
from clipgnn.writing import check_writable, write_file

FormatName = Literal["terminal", "markdown", "csv", "latex"]

_RENDERERS = {"markdown": render_markdown, "csv": render_csv, "latex": render_latex}
_ENDINGS: dict[str, FormatName] = {".md": "markdown", ".csv": "csv", ".tex": "latex"}


def format_of(name: FormatName | None, output: Path | None) -> FormatName:
    """The format to write: the one that was asked for, or that of the file's ending.

    Raises:
        InvalidParameterError: if neither the name nor the ending of the file says the format.
        OutputError: if the file cannot be written.
    """
    if output is None:
        return name or "terminal"
    try:
        check_writable(output)
    except OutputError as error:
        raise OutputError(f"--output {error}") from error
    ending = output.suffix.lower()
    if name is None and ending not in _ENDINGS:
        raise InvalidParameterError(
            f"--output must end in {', '.join(_ENDINGS)}, or --format must be given. Got {output}."
        )
    return name or _ENDINGS[ending]


def write_table(
    spec: Spec, store: Store, protocol: str, chosen: FormatName, output: Path | None
) -> None:
    """Print the table of an experiment, or write it to a file as a whole or not at all."""
    results = store.results()
    cells = evaluate(spec, results, protocol, store.diverged())
    table = make_table(spec, cells, protocol, provenance(spec, store, results))
    if chosen == "terminal" and output is None:
        terminal().print(render_terminal(table), soft_wrap=False)
        return
    if chosen == "terminal":
        console = Console(highlight=False, width=160, no_color=True)
        with console.capture() as capture:
            console.print(render_terminal(table))
        text = capture.get()
    else:
        text = _RENDERERS[chosen](table)
    if output is None:
        print(text, end="")
        return
    write_file(output, text.encode())
