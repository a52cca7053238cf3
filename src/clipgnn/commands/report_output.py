"""Reports, printed to the terminal or written to files."""

from pathlib import Path

from clipgnn.commands.output import check_output
from clipgnn.commands.terminal import terminal
from clipgnn.errors import InvalidParameterError, OutputError, suggestion
from clipgnn.report import FORMATS, Report, terminal_table
from clipgnn.writing import check_writable, write_file


def format_of(name: str | None, output: Path | None) -> str:
    """Return the name of the format to write: the given one, or that of the file's ending.

    Raises:
        InvalidParameterError: if there is no such format, or neither the name nor the ending of
            the file determines one.
        OutputError: if the file cannot be written.
    """
    if name is not None and name not in FORMATS:
        raise InvalidParameterError(
            f"--format must be one of {', '.join(FORMATS)}. Got {name!r}."
            f"{suggestion(name, FORMATS)}"
        )
    if output is None:
        return name or "terminal"
    check_output(output)
    endings = {own.ending: format_name for format_name, own in FORMATS.items()}
    ending = output.suffix.lower()
    if name is None and ending not in endings:
        raise InvalidParameterError(
            f"--output must end in {', '.join(endings)}, or --format must be given. Got {output}."
        )
    return name or endings[ending]


def write_report(report: Report, format_name: str, output: Path | None) -> None:
    """Print a report, or write it to a file atomically."""
    if output is not None:
        write_file(output, FORMATS[format_name].render(report).encode())
    elif format_name == "terminal":
        terminal().print(terminal_table(report.table), soft_wrap=False)
    else:
        print(FORMATS[format_name].render(report), end="")


def check_folder(folder: Path) -> None:
    """Check that figures can be written to the folder of `--figures`, and create it.

    Raises:
        OutputError: if they cannot.
    """
    try:
        folder.mkdir(exist_ok=True)
        check_writable(folder / "figure.png")
    except OutputError as error:
        raise OutputError(f"--figures {error}") from error
    except OSError as error:
        raise OutputError(
            f"--figures {str(folder)!r} must be a folder that can be written. {error.strerror}. "
            "Create the folder that it is in, or use another one."
        ) from error


def write_figures(report: Report, folder: Path) -> int:
    """Write the figures of a report as PNG and SVG, and return their number.

    Raises:
        OutputError: if a file cannot be written.
    """
    from clipgnn.report.drawings import drawings  # matplotlib is slow to import
    from clipgnn.report.figures import save_figure

    drawn = drawings(report)
    for drawing in drawn:
        save_figure(drawing.figure, folder / drawing.name)
    return len(drawn)
