"""CSV files with a column of SMILES, and .smi files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from clipgnn.datasets.graph_files.entries import Entry
from clipgnn.datasets.graph_files.tables import read_table, read_text
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
    if path.suffix.lower() == ".smi":
        yield from _lines(path)
        return
    table = read_table(path)
    column = _column(path, table.header, smiles_column)
    for row in table.rows:
        if not any(row.cells.values()):
            continue  # an empty line
        smiles = row.cells.pop(column)
        yield _entry(f"line {row.line}", {column: smiles}, row.cells, row.problem)


def _lines(path: Path) -> Iterator[Entry]:
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        smiles, _, name = line.strip().partition(" ")
        if smiles and not (number == 1 and smiles.lower() == "smiles"):
            yield _entry(f"line {number}", {"smiles": smiles}, {"name": name.strip()}, None)


def _entry(place: str, given: dict[str, str], values: dict[str, str], problem: str | None) -> Entry:
    from clipgnn.graphs.formats.molecules import as_molecule

    [smiles] = given.values()
    if problem is None:
        try:
            as_molecule(smiles)
        except InvalidGraphError as error:
            problem = str(error)
    return Entry(place, smiles if problem is None else None, values, given, problem)


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
