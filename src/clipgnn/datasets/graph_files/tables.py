"""CSV files: a header, and rows with the number of their first line."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
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
    header, rows = stream_table(path)
    return Table(header, list(rows))


def stream_table(path: Path) -> tuple[Sequence[str], Iterator[Row]]:
    """Return the names of the columns, and rows that are read when they are used.

    Raises:
        DatasetNotFoundError: if there is no such file.
        DatasetFileError: as `read_table`; for what is wrong in a row, when it is read.
    """
    lines = stream_lines(path)
    first_line = next(lines, "")
    delimiter = ";" if ";" in first_line and "," not in first_line else ","
    if path.suffix.lower() == ".tsv":
        delimiter = "\t"
    reader = csv.reader(chain([first_line], lines), delimiter=delimiter, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise _no_table(path, 1, error) from error
    _check_header(path, header)

    def rows() -> Iterator[Row]:
        line = reader.line_num + 1
        try:
            for cells in reader:
                if cells or len(header) == 1:  # an empty line is an empty cell of the only column
                    yield _row(line, header, [own.strip() for own in cells])
                line = reader.line_num + 1
        except csv.Error as error:
            raise _no_table(path, line, error) from error

    return header, rows()


def stream_lines(path: Path) -> Iterator[str]:
    """Read the lines of a text file in UTF-8 one after the other, with their ends.

    Raises:
        DatasetNotFoundError: if there is no such file.
        DatasetFileError: if it is not UTF-8, when such a line is read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from file
    except FileNotFoundError as error:
        raise DatasetNotFoundError(f"There must be a file {str(path)!r}. It is missing.") from error
    except UnicodeDecodeError as error:
        read_text(path)  # whose error names the line
        raise DatasetFileError(f"{path.name} must be a text file in UTF-8.") from error


def _no_table(path: Path, line: int, error: csv.Error) -> DatasetFileError:
    return DatasetFileError(f"{path.name} must be a CSV file. Line {line} is not: {error}.")


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
