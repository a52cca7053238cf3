"""CSV files: a header, and rows with the number of their first line."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clipgnn.errors import DatasetFileError, DatasetNotFoundError


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes:
        line: number of its first line.
        cells: text by column; empty where a cell is missing.
        problem: why it is not valid; None if it is.
    """

    line: int
    cells: dict[str, str]
    problem: str | None = None


@dataclass(frozen=True)
class Table:
    """The content of a CSV file."""

    header: Sequence[str]
    rows: Sequence[Row]


def read_text(path: Path) -> str:
    """Read a text file in UTF-8, with or without a byte order mark.

    Raises:
        DatasetNotFoundError: if there is no such file.
        DatasetFileError: if it is not UTF-8.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DatasetNotFoundError(f"There must be a file {str(path)!r}. It is missing.") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DatasetFileError(
            f"{path.name} must be a text file in UTF-8. Line {line} is not. Convert it."
        ) from error


def read_table(path: Path) -> Table:
    """Read a CSV file whose first line has the names of the columns.

    Columns are separated by commas, by tabs in a .tsv file, or by semicolons if the header has no
    commas. Spaces around names and cells are removed.

    Raises:
        DatasetNotFoundError: if there is no such file.
        DatasetFileError: if it is not a CSV file in UTF-8, or two columns have the same name.
    """
    text = read_text(path)
    first_line = text.partition("\n")[0]
    delimiter = ";" if ";" in first_line and "," not in first_line else ","
    if path.suffix.lower() == ".tsv":
        delimiter = "\t"
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[Row] = []
    line = 1
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_header(path, header)
        line = reader.line_num + 1
        for cells in reader:
            if cells or len(header) == 1:  # an empty line is an empty cell of the only column
                rows.append(_row(line, header, [own.strip() for own in cells]))
            line = reader.line_num + 1
    except csv.Error as error:
        raise DatasetFileError(
            f"{path.name} must be a CSV file. Line {line} is not: {error}."
        ) from error
    return Table(header, rows)


def _check_header(path: Path, header: Sequence[str]) -> None:
    if not any(header):
        raise DatasetFileError(f"{path.name} must have a line of column names. It is empty.")
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise DatasetFileError(
            f"The columns of {path.name} must have different names. Got {twice!r} twice."
        )


def _row(line: int, header: Sequence[str], cells: Sequence[str]) -> Row:
    problem = None
    if len(cells) > len(header):
        problem = f"The line must have at most {len(header)} columns. Got {len(cells)}."
    padded = [*cells, *[""] * (len(header) - len(cells))]
    return Row(line, dict(zip(header, padded, strict=False)), problem)
