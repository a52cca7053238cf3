"""Files of graphs: SMILES, JSON lines, graph6, GraphML and GML."""

import csv
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from clipgnn.datasets.graph_files.entries import GraphFile
from clipgnn.errors import DatasetFileError, DatasetNotFoundError, InvalidParameterError, suggestion

FORMATS = {
    "smiles": "smiles",
    "json-lines": "node_link",
    "graph6": "graph6",
    "graphml": "markup",
}
"""Module of each format, by the name of the format."""


def read_graph_file(
    path: Path,
    *,
    format: str | None = None,
    labels: Path | None = None,
    smiles_column: str | None = None,
) -> GraphFile:
    """Read a file or a folder of graphs. Graphs that are not valid are entries with a problem.

    Args:
        path: the file or folder.
        format: one of `FORMATS`; by default recognized by the ending.
        labels: CSV file with values of the graphs: with a column "file" for files of a folder,
            otherwise a row for each graph, in their order.
        smiles_column: column of SMILES, by default "smiles".

    Raises:
        DatasetNotFoundError: if there is no such file.
        DatasetFileError: if the file as a whole, or that of labels, is not valid, or has no graphs.
        InvalidParameterError: if the format is not known or not recognized.
        MissingDependencyError: if the format needs a package that is not installed.
    """
    if not path.exists():
        raise DatasetNotFoundError(f"There must be a file or folder {path.name!r}. It is missing.")
    name = recognized_format(path) if format is None else format
    if name not in FORMATS:
        raise InvalidParameterError(
            f"--format must be one of {', '.join(FORMATS)}. Got {name!r}."
            f"{suggestion(name, FORMATS)}"
        )
    module = import_module(f"{__name__}.{FORMATS[name]}")
    options = {"smiles_column": smiles_column} if name == "smiles" else {}
    found = GraphFile(path.name, name, list(module.entries(path, **options)))
    if not found.entries:
        raise DatasetFileError(f"{path.name} must have at least one graph. Got none.")
    return found if labels is None else _with_labels(found, labels)


def recognized_format(path: Path) -> str:
    """Recognize the format of a file by its ending, and that of a folder by its files.

    Raises:
        InvalidParameterError: if it is not recognized.
    """
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    endings = {file.suffix.lower() for file in files}
    for name, module in FORMATS.items():
        known = import_module(f"{__name__}.{module}").ENDINGS
        if endings & set(known) and (name == "graphml" or not path.is_dir()):
            return name
    raise InvalidParameterError(
        f"The format of {path.name!r} is not recognized. Name it with --format: "
        f"{', '.join(FORMATS)}."
    )


def _with_labels(found: GraphFile, path: Path) -> GraphFile:
    """Add the columns of a table to the values of the entries."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file, strict=True))
    except FileNotFoundError as error:
        raise DatasetNotFoundError(f"There must be a file {path.name!r}. It is missing.") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise DatasetFileError(f"{path.name} must be a CSV file in UTF-8. {error}.") from error
    if rows and "file" in rows[0]:
        by_file = {row["file"]: row for row in rows}
        chosen = [by_file.get(own.values.get("file", ""), {}) for own in found.entries]
    elif len(rows) != len(found.entries):
        raise DatasetFileError(
            f"{path.name} must have a row for each of the {len(found.entries)} graphs of "
            f"{found.name}, or a column 'file'. Got {len(rows)} rows."
        )
    else:
        chosen = rows
    return replace(
        found,
        entries=[
            replace(
                own, values={**own.values, **{name: text for name, text in row.items() if name}}
            )
            for own, row in zip(found.entries, chosen, strict=True)
        ],
    )
