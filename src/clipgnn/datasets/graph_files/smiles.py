"""CSV files of SMILES."""

import csv
from collections.abc import Iterator
from pathlib import Path

from clipgnn.datasets.graph_files.entries import Entry
from clipgnn.errors import DatasetFileError, InvalidGraphError, suggestion

ENDINGS = (".csv", ".smi", ".tsv")
"""Endings of such files."""


def entries(path: Path, smiles_column: str | None = None) -> Iterator[Entry]:
    """Read the rows of a table with a column of SMILES.

    Args:
        path: a CSV file with a header; tabs separate the columns of a .tsv file.
        smiles_column: name of the column; by default the one that is named "smiles".

    Raises:
        DatasetFileError: if there is no such column, or a line is not valid.
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
                try:
                    as_molecule(smiles)
                except InvalidGraphError as error:
                    yield Entry(place, None, values, str(error))
                else:
                    yield Entry(place, smiles, values)
        except (csv.Error, UnicodeDecodeError) as error:
            raise DatasetFileError(
                f"{path.name} must be a CSV file in UTF-8. Line {rows.line_num + 1} is not: "
                f"{error}."
            ) from error


def _column(path: Path, header: list[str], chosen: str | None) -> str:
    if chosen is None:
        found = [name for name in header if name.strip().lower() == "smiles"]
        if len(found) == 1:
            return found[0]
        raise DatasetFileError(
            f"{path.name} must have a column 'smiles'. Got "
            f"{', '.join(map(repr, header)) or 'none'}. Name the column with --smiles-column."
        )
    if chosen not in header:
        raise DatasetFileError(
            f"{path.name} must have the column {chosen!r}. Got "
            f"{', '.join(map(repr, header)) or 'none'}.{suggestion(chosen, header)}"
        )
    return chosen
