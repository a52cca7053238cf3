"""CSV files with a column of SMILES, and .smi files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from clipgnn.datasets.graph_files.entries import Entry, RawEntry
from clipgnn.datasets.graph_files.tables import stream_lines, stream_table
from clipgnn.errors import InvalidGraphError, InvalidParameterError, suggestion

ENDINGS = (".csv", ".tsv", ".smi")
"""Endings of such files."""

READS_FOLDERS = False
"""Whether a folder of files is a set of graphs."""


def entries(path: Path, smiles_column: str | None = None) -> Iterator[Entry]:
    """Read the rows of a table, or the lines of a .smi file: a SMILES, a space and a name.

    Args:
        path: the file.
        smiles_column: name of the column; by default the one that is named "smiles".

    Raises:
        InvalidParameterError: if there is no such column.
        DatasetFileError: if the file is not a table.
        MissingDependencyError: if RDKit is not installed.
    """
    _, raw = raw_entries(path, smiles_column)
    yield from map(read_entry, raw)


def raw_entries(
    path: Path, smiles_column: str | None = None
) -> tuple[list[str], Iterator[RawEntry]]:
    """Return the names of the other columns, and rows that are read when they are used.

    The content of a row is the name of its column and the SMILES. Errors are those of `entries`.
    """
    if path.suffix.lower() == ".smi":
        return ["name"], _lines(path)
    header, rows = stream_table(path)
    column = _column(path, header, smiles_column)
    raw = (
        RawEntry(f"line {row.line}", (column, row.cells.pop(column)), row.cells, row.problem)
        for row in rows
        if any(row.cells.values())  # not an empty line
    )
    return [name for name in header if name != column], raw


def _lines(path: Path) -> Iterator[RawEntry]:
    # Lines end as for str.splitlines, which also knows other characters than line breaks.
    lines = (part for line in stream_lines(path) for part in line.splitlines())
    for number, line in enumerate(lines, start=1):
        smiles, _, name = line.strip().partition(" ")
        if smiles and not (number == 1 and smiles.lower() == "smiles"):
            yield RawEntry(f"line {number}", ("smiles", smiles), {"name": name.strip()})


def read_entry(raw: RawEntry) -> Entry:
    """Parse a molecule; one that is not valid is an entry with a problem."""
    from clipgnn.graphs.formats.molecules import as_molecule

    column, smiles = raw.content
    problem = raw.problem
    if problem is None:
        try:
            as_molecule(smiles)
        except InvalidGraphError as error:
            problem = str(error)
    return Entry(
        raw.place, smiles if problem is None else None, raw.values, {column: smiles}, problem
    )


def _column(path: Path, header: Sequence[str], chosen: str | None) -> str:
    columns = f"Its columns are {', '.join(map(repr, header))}."
    if chosen is None:
        found = [name for name in header if name.lower() == "smiles"]
        if len(found) == 1:
            return found[0]
        number = "several columns" if found else "no column"
        raise InvalidParameterError(
            f"smiles_column must be given for {path.name}, which has {number} 'smiles'. {columns}",
            parameter="smiles_column",
        )
    if chosen not in header:
        raise InvalidParameterError(
            f"smiles_column must be a column of {path.name}. Got {chosen!r}. {columns}"
            f"{suggestion(chosen, header)}",
            parameter="smiles_column",
        )
    return chosen
