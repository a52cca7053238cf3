"""CSV files of SMILES."""

import csv
from collections.abc import Iterator
from pathlib import Path

from clipgnn.datasets.graph_files.entries import Entry
from clipgnn.errors import DatasetFileError, InvalidGraphError, InvalidParameterError, suggestion

ENDINGS = (".csv", ".smi", ".tsv")
"""Endings of such files."""


def entries(path: Path, smiles_column: str | None = None) -> Iterator[Entry]:
    """Read the rows of a table with a column of SMILES.

    Args:
        path: a CSV file with a header; tabs separate the columns of a .tsv file.
        smiles_column: name of the column; by default the one that is named "smiles".

    Raises:
        InvalidParameterError: if there is no such column.
        DatasetFileError: if a line is not valid.
        MissingDependencyError: if RDKit is not installed.
    """
    from clipgnn.graphs.formats.molecules import as_molecule

    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
        try:
            column = _column(path, list(rows.fieldnames or ()), smiles_column)
            for row in rows:
                place, smiles = f"line {rows.line_num}", row.pop(column) or ""
                values = {name: value for name, value in row.items() if name and value}
                given = {column: smiles}
                try:
                    as_molecule(smiles)
                except InvalidGraphError as error:
                    yield Entry(place, None, values, given, str(error))
                else:
                    yield Entry(place, smiles, values, given)
        except (csv.Error, UnicodeDecodeError) as error:
            raise DatasetFileError(
                f"{path.name} must be a CSV file in UTF-8. Line {rows.line_num + 1} is not: "
                f"{error}."
            ) from error


def _column(path: Path, header: list[str], chosen: str | None) -> str:
    if not header:
        raise DatasetFileError(f"{path.name} must have a line of column names. It is empty.")
    columns = f"Its columns are {', '.join(map(repr, header))}."
    if chosen is None:
        found = [name for name in header if name.strip().lower() == "smiles"]
        if len(found) == 1:
            return found[0]
        raise InvalidParameterError(
            f"smiles_column must be given for {path.name}, which has no column 'smiles'. {columns}",
            parameter="smiles_column",
        )
    if chosen not in header:
        raise InvalidParameterError(
            f"smiles_column must be a column of {path.name}. Got {chosen!r}. {columns}"
            f"{suggestion(chosen, header)}",
            parameter="smiles_column",
        )
    return chosen
